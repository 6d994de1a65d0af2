"""The options of reading are the same in every verb that reads."""

import argparse
import importlib
import inspect

import pytest

from heatfield.cli import VERBS
from heatfield.cli._reading import SKELETON_POINTS, add_reading, reading_options
from heatfield.io import read_cloud

READING = ("describe", "train", "view", "report", "info")
POSITIONAL = {"describe": ["x", "-o", "t.npz"], "train": ["x", "-o", "m"], "view": ["x"], "report": ["x"]}


def parsed(verb, *words):
    parser = argparse.ArgumentParser()
    importlib.import_module(VERBS[verb][0], "heatfield.cli").add_arguments(parser)
    return parser.parse_args([*POSITIONAL.get(verb, ["x"]), *words])


@pytest.mark.parametrize("verb", READING)
def test_every_verb_has_all_of_them(verb):
    words = ["--budget", "9", "--sampling", "voxel", "--seed", "4", "--atoms", "N,CA", "--chain", "B"]
    words += ["--soma", "drop", "--drop-invalid", "--nodes", "--max-bytes", "5000", "--dims", "2"]
    found = reading_options(parsed(verb, *words))
    assert found == {
        "budget": 9,
        "sampling": "voxel",
        "seed": 4,
        "atoms": ["N", "CA"],
        "chain": "B",
        "soma": "drop",
        "skeleton": "nodes",
        "invalid": "drop",
        "max_bytes": 5000,
        "dims": 2,
    }
    assert set(found) <= set(inspect.signature(read_cloud).parameters)


@pytest.mark.parametrize("verb", READING)
def test_defaults_are_those_of_read_cloud(verb):
    known = inspect.signature(read_cloud).parameters
    defaults = {name: known[name].default for name in reading_options(parsed(verb))}
    defaults["skeleton"] = SKELETON_POINTS
    if verb == "report":
        defaults["budget"] = 1024
    assert reading_options(parsed(verb)) == defaults


def test_a_budget_of_nothing_is_refused():
    parser = argparse.ArgumentParser()
    add_reading(parser)
    with pytest.raises(ValueError, match=r"^--budget must be an integer of at least 1, got 0"):
        reading_options(parser.parse_args(["--budget", "0"]))
