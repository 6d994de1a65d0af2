"""What is shown on a terminal before a long step, and how much is said to be left."""

import re
import sys

import pytest

import heatfield as hf
from heatfield.report import _collection
from heatfield.workflows import describe, predict, train
from tests.helpers.files import write_two_classes
from tests.helpers.process import Terminal

FAST = {"variant": "simple", "n_scales": 3}


@pytest.fixture
def folder(tmp_path):
    """Two classes of six clouds."""
    return write_two_classes(tmp_path / "in", 6, 40, ".npy")


def screen_of(monkeypatch):
    """A terminal as standard error: in the test itself, since pytest puts its own there before each."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    return terminal


def noted(monkeypatch, module, name, screen):
    """What the screen shows when the function is called."""
    function, shown = getattr(module, name), []

    def wrapped(*words, **more):
        shown.append(screen.getvalue())
        return function(*words, **more)

    monkeypatch.setattr(module, name, wrapped)
    return shown


def bar(unit, total, done=0):
    return re.compile(rf"\| {done}/{total} \[.* {unit}")


def test_training_shows_what_it_describes_and_learns(folder, tmp_path, monkeypatch):
    screen = screen_of(monkeypatch)
    described = noted(monkeypatch, describe, "describe_some", screen)
    learnt = noted(monkeypatch, train, "_fit_rows", screen)
    hf.train_files(folder, tmp_path / "m", head="lda", folds=2, n_jobs=1, **FAST)
    assert bar("clouds", 12).search(described[0])
    assert bar("folds", 2).search(learnt[0])


def test_a_report_shows_what_it_describes_and_learns(folder, tmp_path, monkeypatch):
    screen = screen_of(monkeypatch)
    described = noted(monkeypatch, describe, "read_cloud", screen)
    learnt = noted(monkeypatch, _collection, "clone", screen)
    hf.report_files(folder, tmp_path / "r.html", head="lda", folds=2, embedding="pca", n_jobs=1, n_scales=3)
    assert bar("clouds", 12).search(described[0])
    assert bar("folds", 2).search(learnt[0])


def test_a_large_file_shows_progress_before_its_points(folder, tmp_path, monkeypatch):
    screen = screen_of(monkeypatch)
    seen = noted(monkeypatch, describe, "write_signatures", screen)
    hf.describe_files(folder / "ball" / "0.npy", tmp_path / "t.npz", per_point="npz", n_jobs=1, **FAST)
    assert bar("clouds", 1).search(seen[0])


def test_prediction_shows_how_many_files_are_done(folder, monkeypatch):
    model = hf.train_files(folder, head="lda", folds=0, **FAST)
    screen = screen_of(monkeypatch)
    monkeypatch.setattr(predict, "_TOGETHER", 6)
    read = noted(monkeypatch, predict, "_read", screen)
    hf.predict_files(model, folder)
    assert bar("files", 12).search(read[0])


def test_nothing_is_shown_where_none_is_wanted(folder, monkeypatch):
    screen = screen_of(monkeypatch)
    model = hf.train_files(folder, head="lda", folds=2, progress=False, **FAST)
    hf.predict_files(model, folder, progress=False)
    hf.describe_files(folder, progress=False, **FAST)
    assert screen.getvalue() == ""


def test_a_network_counts_all_trainings_to_come(folder, monkeypatch):
    pytest.importorskip("torch")
    from heatfield._base import progress
    from heatfield.nn import training

    counted = []

    def show(_line, _epoch, _entry, _seconds):
        counted.append(progress.remaining_fits.get())

    monkeypatch.setattr(training._Line, "show", show)
    hf.train_files(folder, variant="full", n_scales=3, epochs=1, folds=2)
    assert counted == [2, 1, 0]  # two folds, then all clouds
