"""`survey`: points lost, tiles mixed, files written elsewhere, two surveys at once."""

import contextlib
import subprocess
import sys
import threading

import numpy as np
import pytest

import heatfield as hf
from tests.defects import defect
from tests.helpers.process import environment

pytest.importorskip("pyarrow")


def tile(path, count=60, seed=0):
    path.parent.mkdir(parents=True, exist_ok=True)
    hf.write_points(path, np.random.default_rng(seed).random((count, 3)) + seed)
    return path


def survey(tiles, out, **options):
    return hf.cluster.survey(tiles, out, **{"n_scales": 2, **options})


def files_of(folder):
    return {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}


@defect("a name that is made up for a tile is that of another tile")
def test_every_point_is_written(tmp_path):
    tiles = [tile(tmp_path / "in" / n, 60 + i, i) for i, n in enumerate(("a.ply", "a.xyz", "a-000000.ply"))]
    s = survey(tiles, tmp_path / "out")
    written = [len(hf.read_points(path)) for path in (tmp_path / "out").glob("*.parquet")]
    assert s.points == 183
    assert sorted(written) == [60, 61, 62]


@defect("old signatures are written beside new coordinates")
def test_a_tile_that_changes_during_the_run(tmp_path, memory, monkeypatch, as_npy):
    """Every time that it is opened, the file holds other points, of the same number."""
    pipe, opened = memory.pipe, type(memory)._open
    pipe("/shelf/a.npy", as_npy(np.random.default_rng(0).random((60, 3))))
    count = iter(range(1, 1000))

    def changing(self, path, mode="rb", **more):
        if mode == "rb":
            pipe("/shelf/a.npy", as_npy(np.random.default_rng(next(count)).random((60, 3))))
        return opened(self, path, mode, **more)

    monkeypatch.setattr(type(memory), "_open", changing)
    try:
        s = survey(["memory://shelf/a.npy"], tmp_path / "out", scales=[0.01, 0.1], point_dtype="float64")
    except (ValueError, OSError):
        return
    if not s.errors:
        (path,) = (tmp_path / "out").glob("*.parquet")
        points, columns = hf.read_points(path, columns=True)
        density = hf.signatures(points, scales=[0.01, 0.1]).density
        assert np.allclose(columns["density_s0"], density[:, 0], rtol=1e-3)


@defect("a path with '..' in it is written outside of the folder")
def test_a_url_with_steps_upwards(tmp_path):
    pytest.importorskip("fsspec")
    tile(tmp_path / "in" / "deep" / "a.npy")
    tile(tmp_path / "x.npy", seed=1)
    before = files_of(tmp_path)
    out = tmp_path / "place" / "below" / "out"
    with contextlib.suppress(ValueError, OSError):
        survey([f"file://{tmp_path}/in/deep/a.npy", f"file://{tmp_path}/in/deep/../../x.npy"], out)
    new = files_of(tmp_path) - before
    assert {path for path in new if not (tmp_path / path).is_relative_to(out)} == set()


@defect("a listing leads to files outside of the folder")
def test_a_listing_with_steps_upwards(tmp_path, memory, monkeypatch, as_npy, command):
    evil = "/shelf/in/../../evil.npy"
    memory.pipe("/shelf/in/a.npy", as_npy(np.random.default_rng(0).random((60, 3))))
    memory.pipe("/shelf/evil.npy", as_npy(np.random.default_rng(1).random((60, 3))))
    memory.store[evil] = memory.store["/shelf/evil.npy"]
    found = type(memory).glob
    monkeypatch.setattr(type(memory), "glob", lambda self, path, **o: [*found(self, path, **o), evil])
    out = tmp_path / "place" / "below" / "out"
    try:
        code, said = command("survey", "memory://shelf/in/*.npy", "-o", out, "--scales", "2", "--quiet")
    finally:
        memory.store.pop(evil, None)
    assert code in (0, 1, 2), said
    assert {path for path in files_of(tmp_path) if not (tmp_path / path).is_relative_to(out)} == set()


@defect("targets of another folder count as written")
def test_a_renamed_folder_with_a_missing_tile(tmp_path):
    tiles = [tile(tmp_path / "in" / f"{name}.npy", seed=i) for i, name in enumerate("ab")]
    survey(tiles, tmp_path / "out")
    (tmp_path / "out").rename(tmp_path / "renamed")
    (tmp_path / "renamed" / "a.parquet").unlink()
    survey(tiles, tmp_path / "renamed")
    assert (tmp_path / "renamed" / "a.parquet").is_file()


@pytest.mark.parametrize("time", [1e300, 1e-300])
@defect("times beyond the range of the numbers are accepted")
@pytest.mark.filterwarnings("ignore")
def test_impossible_times(tmp_path, time):
    errors = ["refused"]
    with contextlib.suppress(ValueError):
        errors = survey([tile(tmp_path / "a.npy")], tmp_path / "out", scales=sorted([time, 1.0])).errors
    assert errors


@defect("the function has no lock")
@pytest.mark.filterwarnings("ignore")
def test_a_second_survey_of_the_same_folder(tmp_path, memory, monkeypatch, as_npy):
    """It begins while the first one reads its tiles. It may wait or be refused: the first one ends well."""
    opened = type(memory)._open
    for i, name in enumerate("ab"):
        memory.pipe(f"/shelf/{name}.npy", as_npy(np.random.default_rng(i).random((60, 3)) + i))
    tiles = [f"memory://shelf/{name}.npy" for name in "ab"]
    main, seconds, problems = threading.current_thread(), [], []

    def second():
        try:
            survey(tiles, tmp_path / "out", n_scales=2 + len(seconds))
        except Exception as error:
            problems.append(error)

    def interrupted(self, path, mode="rb", **more):
        if threading.current_thread() is main and len(seconds) < 4:
            seconds.append(threading.Thread(target=second))
            seconds[-1].start()
            seconds[-1].join(2)
        return opened(self, path, mode, **more)

    monkeypatch.setattr(type(memory), "_open", interrupted)
    try:
        s = survey(tiles, tmp_path / "out")
    except OSError as error:
        s = error
    for thread in seconds:
        thread.join(20)
    assert not isinstance(s, Exception)
    assert s.points == 120
    assert not any(isinstance(problem, FileNotFoundError) for problem in problems)


FULL = """
import resource, sys
import heatfield as hf
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))  # as a disk without space for more
try:
    print(hf.cluster.survey([sys.argv[1]], sys.argv[2], n_scales=2).errors)
except OSError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits of files are of Unix")
@defect("a full disk is told by numpy's counts of items")
def test_a_full_disk_is_named(tmp_path):
    path = tile(tmp_path / "a.npy", 2000)
    done = subprocess.run(
        [sys.executable, "-c", FULL, path, tmp_path / "out"],
        env=environment(), capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() not in ("", "[]")
    assert "requested and" not in done.stdout
