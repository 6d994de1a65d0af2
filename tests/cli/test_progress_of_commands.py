"""What commands show on a terminal before their first long step, and how much they say is left."""

import importlib
import re
import sys

import pytest

from heatfield.cli import main
from tests.helpers.class_folder import write_two_classes
from tests.helpers.terminal import Terminal


def screen_of(monkeypatch):
    """A terminal as standard error: in the test itself, since pytest puts its own there before each."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    return terminal


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Two classes of six clouds."""
    monkeypatch.chdir(tmp_path)
    return write_two_classes("in", 6, 40, ".npy")


def noted(monkeypatch, place, screen):
    """What the screen shows when the function at ``place`` is called for the first time."""
    module, _, name = place.rpartition(".")
    function = getattr(importlib.import_module(module), name)
    shown = []

    def wrapped(*words, **more):
        shown.append(screen.getvalue())
        return function(*words, **more)

    monkeypatch.setattr(place, wrapped)
    return shown


def bar(unit, total):
    """A bar at which nothing is done yet."""
    return re.compile(rf"\| 0/{total} \[00:00<\?, \? {unit}/s\]")


REPORT = ["report", "in", "-o", "r.html", "--n-scales", "3", "--folds", "2", "--embedding", "pca"]


def test_a_report_shows_what_it_describes_and_learns(monkeypatch):
    screen = screen_of(monkeypatch)
    described = noted(monkeypatch, "heatfield.workflows.describe.read_cloud", screen)
    learnt = noted(monkeypatch, "heatfield.report._collection.clone", screen)
    assert main([*REPORT, "--head", "lda", "--n-jobs", "1"]) == 0
    assert bar("clouds", 12).search(described[0])
    assert bar("folds", 2).search(learnt[0])


def test_one_large_file_shows_progress_before_its_points_are_computed(monkeypatch):
    screen = screen_of(monkeypatch)
    seen = noted(monkeypatch, "heatfield.workflows.describe.write_signatures", screen)
    words = ["--per-point", "npz", "--n-scales", "3", "--n-jobs", "1"]
    assert main(["describe", "in/ball/0.npy", "-o", "t.npz", *words]) == 0
    assert bar("clouds", 1).search(seen[0])


def test_queries_show_what_is_described(monkeypatch):
    screen = screen_of(monkeypatch)
    words = ["--variant", "simple", "--n-scales", "3", "--quiet"]
    assert main(["search", "build", "in", "-o", "index", *words]) == 0
    described = noted(monkeypatch, "heatfield.workflows.describe.read_cloud", screen)
    assert main(["search", "query", "index", "in", "-k", "1", "--n-jobs", "1"]) == 0
    assert bar("clouds", 12).search(described[0])
