"""What commands show on a terminal before their first long step, and how much they say is left."""

import importlib
import re
import sys

import pytest

import heatfield as hf
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


TRAIN = ["train", "in", "-o", "m", "--variant", "simple", "--scales", "3", "--folds", "2", "--jobs", "1"]
REPORT = ["report", "in", "-o", "r.html", "--scales", "3", "--folds", "2", "--embedding", "pca"]


def test_training_shows_what_it_reads_describes_and_learns(monkeypatch):
    screen = screen_of(monkeypatch)
    from heatfield._classifier import closed_form
    from heatfield.cli import _train_kept

    read = noted(monkeypatch, "heatfield.io.read_cloud", screen)
    described = noted(monkeypatch, f"{_train_kept.__name__}.describe_piece", screen)
    learnt = noted(monkeypatch, f"{closed_form.__name__}.fit_head", screen)
    assert main([*TRAIN, "--head", "lda"]) == 0
    assert bar("files", 12).search(read[0])
    assert bar("clouds", 12).search(described[0])
    assert re.search(r"^fold 1 of 2$", learnt[0], re.MULTILINE)
    assert re.search(r"^fold 2 of 2, about \d+ min \d\d s left for all folds$", learnt[1], re.MULTILINE)
    assert re.search(r"^training on all clouds$", learnt[2], re.MULTILINE)


def test_a_report_shows_what_it_describes_draws_and_learns(monkeypatch):
    screen = screen_of(monkeypatch)
    described = noted(monkeypatch, "heatfield.cli._shards.read_cloud", screen)
    drawn = noted(monkeypatch, "heatfield.io.read_cloud", screen)
    learnt = noted(monkeypatch, "heatfield.report._separation.cross_validate", screen)
    assert main([*REPORT, "--jobs", "1"]) == 0
    assert bar("clouds", 12).search(described[0])
    assert bar("thumbnails", 12).search(drawn[0])
    assert bar("folds", 2).search(learnt[0])


def test_one_large_file_shows_progress_before_its_points_are_computed(monkeypatch):
    screen = screen_of(monkeypatch)
    seen = noted(monkeypatch, "heatfield.cli._shards.write_per_point", screen)
    words = ["--per-point", "npz", "--scales", "3", "--jobs", "1"]
    assert main(["describe", "in/ball/0.npy", "-o", "t.npz", *words]) == 0
    assert bar("clouds", 1).search(seen[0])


def test_a_learned_training_counts_all_that_is_to_come(monkeypatch):
    pytest.importorskip("torch")
    from heatfield._base import progress
    from heatfield.nn import training

    counted = []

    def show(_line, _epoch, _entry, _seconds):
        counted.append(progress.trainings_to_come.get())

    monkeypatch.setattr(training._Line, "show", show)
    words = [*TRAIN, "--epochs", "1", "--quiet"]
    words[words.index("simple")] = "full"
    assert main(words) == 0
    assert counted == [2, 1, 0]  # two folds, then all clouds
    assert hf.HFSClassifier.load("m").variant == "full"
