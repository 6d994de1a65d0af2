"""Surveys that could lose points, mix tiles, write elsewhere, or run twice: each is refused or done right."""

import contextlib
import io

import numpy as np
import pytest

import heatfield as hf
from heatfield.cli import main

pytest.importorskip("pyarrow")


def tile(path, count=60, seed=0):
    path.parent.mkdir(parents=True, exist_ok=True)
    hf.write_points(path, np.random.default_rng(seed).random((count, 3)) + seed)
    return path


def survey(tiles, out, **options):
    return hf.survey(tiles, out, **{"n_scales": 2, **options})


def files_of(folder):
    return {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}


def outside(folder, out, before=frozenset()):
    return {path for path in files_of(folder) - before if not (folder / path).is_relative_to(out)}


def as_npy(seed, shift=0.0):
    file = io.BytesIO()
    np.save(file, np.random.default_rng(seed).random((60, 3)) + shift)
    return file.getvalue()


@pytest.fixture
def memory():
    """The file system behind ``memory://``; what a test puts below ``/shelf`` goes with it."""
    system = pytest.importorskip("fsspec").filesystem("memory")
    yield system
    for path in [name for name in system.store if name.startswith("/shelf")]:
        del system.store[path]


def test_tiles_of_one_name_are_all_written(tmp_path):
    names = ("a.ply", "a.xyz", "a.ply.npy", "A.ply", "a-.npy")
    tiles = [tile(tmp_path / "in" / name, 60 + i, i) for i, name in enumerate(names)]
    s = survey(tiles, tmp_path / "out")
    written = [len(hf.read_points(path)) for path in (tmp_path / "out").glob("*.parquet")]
    assert s.points == 310
    assert sorted(written) == [60, 61, 62, 63, 64]
    assert len({entry["target"].casefold() for entry in s.tiles}) == 5


@pytest.mark.parametrize("stamped", [True, False])
def test_a_tile_that_changes_is_an_error(tmp_path, memory, monkeypatch, stamped):
    """Every time that it is opened, the file holds other points, of the same number."""
    opened, count = type(memory)._open, iter(range(1, 1000))
    memory.pipe("/shelf/a.npy", as_npy(0))

    def changing(self, path, mode="rb", **more):
        if mode == "rb":
            memory.pipe("/shelf/a.npy", as_npy(next(count)))
        return opened(self, path, mode, **more)

    monkeypatch.setattr(type(memory), "_open", changing)
    if not stamped:  # a server that knows no times
        monkeypatch.setattr(type(memory), "info", lambda *_, **__: {"type": "file", "size": 1568})
    with pytest.raises(ValueError, match=r"'memory://shelf/a\.npy' changed while the survey ran"):
        survey(["memory://shelf/a.npy"], tmp_path / "out")
    assert not list((tmp_path / "out").glob("*.parquet"))


def test_a_url_with_steps_upwards_stays_inside(tmp_path):
    pytest.importorskip("fsspec")
    tile(tmp_path / "in" / "deep" / "a.npy")
    tile(tmp_path / "x.npy", seed=1)
    before = files_of(tmp_path)
    out = tmp_path / "place" / "below" / "out"
    s = survey([f"file://{tmp_path}/in/deep/a.npy", f"file://{tmp_path}/in/deep/../../x.npy"], out)
    assert outside(tmp_path, out, before) == set()
    assert [entry["target"] for entry in s.tiles] == ["x.parquet", "in/deep/a.parquet"]


def test_a_listing_with_steps_upwards_stays_inside(tmp_path, memory, monkeypatch):
    evil = "/shelf/in/../../evil.npy"
    memory.pipe("/shelf/in/a.npy", as_npy(0))
    memory.pipe("/shelf/evil.npy", as_npy(1))
    memory.store[evil] = memory.store["/shelf/evil.npy"]
    found = type(memory).glob
    monkeypatch.setattr(type(memory), "glob", lambda self, path, **o: [*found(self, path, **o), evil])
    out = tmp_path / "place" / "below" / "out"
    words = ["survey", "memory://shelf/in/*.npy", "-o", str(out), "--n-scales", "2", "--quiet"]
    assert main(words) in (0, 1, 2)
    assert outside(tmp_path, out) == set()


def test_a_link_out_of_the_folder_is_refused(tmp_path):
    tiles = [tile(tmp_path / "in" / name, seed=i) for i, name in enumerate(("a.npy", "b/c.npy"))]
    survey(tiles, tmp_path / "out")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out" / "b" / "c.parquet").unlink()
    (tmp_path / "out" / "b").rmdir()
    (tmp_path / "out" / "b").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ValueError, match=r"c\.npy' would be written to .*elsewhere.*outside of"):
        survey(tiles, tmp_path / "out")
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_renamed_folder_lacks_a_tile(tmp_path):
    tiles = [tile(tmp_path / "in" / f"{name}.npy", seed=i) for i, name in enumerate("ab")]
    survey(tiles, tmp_path / "out")
    (tmp_path / "out").rename(tmp_path / "renamed")
    (tmp_path / "renamed" / "a.parquet").unlink()
    survey(tiles, tmp_path / "renamed")
    assert (tmp_path / "renamed" / "a.parquet").is_file()


@pytest.mark.parametrize("length", [1e300, 1e-300, 1e70, 1e-70])
def test_impossible_lengths_are_refused(tmp_path, length):
    with pytest.raises(ValueError, match=r"lengths must lie between|change the unit of length"):
        survey([tile(tmp_path / "a.npy")], tmp_path / "out", lengths=sorted([length, 1.0]))


def test_a_folder_of_somebody_else_is_refused(tmp_path):
    path = tile(tmp_path / "in" / "a.npy")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    for folder in (tmp_path / "mine", path.parent):
        with pytest.raises(ValueError, match="was not written by heatfield"):
            survey(path, folder)
    with contextlib.suppress(ValueError):
        survey(path, path)
    assert files_of(tmp_path / "mine") | files_of(path.parent) == {
        (tmp_path / "mine" / "letter.txt").relative_to(tmp_path / "mine"), path.relative_to(path.parent),
    }  # fmt: skip
