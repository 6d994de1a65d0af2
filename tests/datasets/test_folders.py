"""Folders with one folder per class, and folds and splits of what they hold."""

from pathlib import Path

import numpy as np
import pytest

import heatfield as hf
from heatfield import datasets


def test_folder_and_list(tmp_path):
    for name in ("b", "a"):
        (tmp_path / name / "deep").mkdir(parents=True)
        hf.write_points(tmp_path / name / "deep" / "1.ply", np.eye(3))
        (tmp_path / name / "notes.md").write_text("not points")
    assert datasets.load_folder(tmp_path).classes == ("a", "b")
    (tmp_path / "list.csv").write_text("file,label\na/deep/1.ply,oak\nb/deep/1.ply,elm\n")
    dataset = datasets.load_folder(tmp_path, labels=tmp_path / "list.csv")
    assert [dataset.classes[k] for k in dataset.labels] == ["oak", "elm"]
    (tmp_path / "list.csv").write_text("file,label\na/deep/2.ply,oak\n")
    with pytest.raises(hf.ReadError, match=r"line 2: there is no file .*2\.ply"):
        datasets.load_folder(tmp_path, labels=tmp_path / "list.csv")


def test_folds_and_splits_depend_on_the_content():
    clouds, labels = datasets.make_orbit5k(n_per_class=11, n_points=10)
    folds = datasets.make_folds(clouds, labels)
    assert np.bincount(folds).tolist() == [11] * 5
    np.testing.assert_array_equal(folds, datasets.make_folds(clouds, labels))
    splits = datasets.make_splits(clouds, labels, 4, test_share=0.3)
    assert splits.shape == (4, 55)
    assert (splits.sum(axis=1) == 15).all()
    moved = [c + 1e-9 for c in clouds]
    assert not np.array_equal(folds, datasets.make_folds(moved, labels))


def test_a_linked_class_folder_adds_nothing(tmp_path):
    for name in ("cat", "dog"):
        (tmp_path / name).mkdir()
        hf.write_points(tmp_path / name / "1.npy", np.eye(3))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "a_link").symlink_to(tmp_path / "cat", target_is_directory=True)
    (tmp_path / "dog" / "again.npy").symlink_to(tmp_path / "cat" / "1.npy")
    dataset = datasets.load_folder(tmp_path)
    assert [(f.parent.name, f.name) for f in map(Path, dataset.files)] == [("cat", "1.npy"), ("dog", "1.npy")]
    # A class that lives elsewhere and is linked here stays a class.
    other = tmp_path / "root"
    other.mkdir()
    for name in ("cat", "dog"):
        (other / name).symlink_to(tmp_path / name, target_is_directory=True)
    assert datasets.load_folder(other).classes == ("cat", "dog")
