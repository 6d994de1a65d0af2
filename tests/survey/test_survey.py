"""One cloud from many tiles: the same signatures as on one machine, at every point."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

import heatfield as hf
from heatfield import survey
from heatfield.channels import BOUNDS, RELATIVE
from heatfield.core import bounds
from heatfield.core.planner import Costs
from tests.helpers.files import cut, landscape, read_back, write_tiles

pytest.importorskip("pyarrow")
TOL = 1e-6


def errors(table, s, exact, tol=TOL):
    """The largest error of each output over all points and scales, in units of what is promised."""
    steps = len(s.scales)
    found = {}
    for name in ("density", "dimension", "transition"):
        got = np.stack([table[f"{name}_s{a}"] for a in range(steps)], axis=1)
        wanted = getattr(exact, name)
        unit = np.abs(wanted) if name in RELATIVE else 1.0
        found[name] = (np.abs(got - wanted) / unit).max() / (BOUNDS[name] * tol)
    axes = [np.stack([table[f"spectrum{k + 1}_s{a}"] for a in range(steps)], axis=1) for k in range(3)]
    off = np.abs(np.stack(axes, axis=2) - exact.spectrum).max()
    found["spectrum"] = off / (bounds.SPECTRUM * tol)
    found["energy"] = np.abs(s.energy / exact.energy - 1).max() / (bounds.ENERGY * tol)
    found["response"] = np.abs(s.response - exact.response).max() / (bounds.RESPONSE * tol)
    return found


@pytest.fixture(scope="module")
def forest(tmp_path_factory):
    """80,000 points in 16 tiles, their survey, and what one machine finds."""
    folder = tmp_path_factory.mktemp("forest")
    points = landscape(80_000)
    paths = write_tiles(folder / "in", points, cut(points, 4))
    s = survey(paths, folder / "out", transition="exact", point_dtype="float64")
    exact = hf.signatures(points, s.scales, transition="exact", tol=1e-9, method="fast", n_jobs=2)
    return folder, points, paths, s, exact


def test_every_point_is_as_on_one_machine(forest):
    folder, points, paths, s, exact = forest
    table = read_back(folder / "out", paths, len(points))
    # All points: corners of tiles, isolated ones, copies and the densest ones are among them.
    assert np.isfinite(table["dimension_s0"]).all()
    found = errors(table, s, exact)
    assert max(found.values()) < 1.0, found
    assert s.points == len(points) == sum(tile["points"] for tile in s.tiles)
    np.testing.assert_allclose(s.scales, hf.scale_schedule(points), rtol=1e-12)
    methods = {entry["method"] for entry in s.plan}
    assert methods == {"tile and halo", "common grid"}  # both ways were taken
    assert sum(entry.get("isolated", 0) for entry in s.plan) > 0


def test_the_descriptor_is_that_of_the_whole(forest):
    _, points, _, s, _ = forest
    estimator = hf.HFSDescriptor("desc", transition="exact", tol=1e-7, n_jobs=2)
    wanted = estimator.fit_transform([points])[0]
    assert list(s.descriptor) == estimator.get_feature_names_out().tolist()
    got = np.array(list(s.descriptor.values()))
    percentile = np.array([any(f"_p{q}_" in name for q in (10, 50, 90)) for name in s.descriptor])
    most = np.abs(wanted) * (s.percentile_error * percentile + 4 * TOL) + 17 * TOL
    assert (np.abs(got - wanted) <= most).all()


def test_columns_and_the_result_are_kept(forest):
    folder, points, paths, s, _ = forest
    table = read_back(folder / "out", paths, len(points))
    np.testing.assert_array_equal(table["id"], np.arange(len(points)))
    stored = json.loads((folder / "out" / "survey.json").read_text())
    assert stored["points"] == len(points)
    assert stored["energy"] == s.energy.tolist()
    again = hf.Survey.read(folder / "out")
    assert again.descriptor == s.descriptor
    assert [again.tiles, again.plan, again.errors] == [s.tiles, s.plan, s.errors]
    assert not (folder / "out.parts").exists()


@pytest.fixture
def small(tmp_path):
    """6,000 points in 4 tiles."""
    points = landscape(6_000, seed=3)
    return points, write_tiles(tmp_path / "in", points, cut(points, 2)), tmp_path


def test_small_tolerances_are_held_by_direct_sums(tmp_path, monkeypatch):
    points = landscape(6_000, seed=9)
    paths = write_tiles(tmp_path / "in", points, cut(points, 3))
    # At these costs the common grid takes a scale at which many points are too isolated for it.
    settings = import_module("heatfield._survey.tiles").SurveySettings
    made, costs = settings.of, Costs(fourier=4e-9, read=1e-9)
    monkeypatch.setattr(settings, "of", lambda *options: replace(made(*options), costs=costs))
    s = survey(paths, tmp_path / "out", tol=3e-12, point_dtype="float64")
    assert sum(entry.get("isolated", 0) for entry in s.plan) > 300  # more than a grid can hold
    exact = hf.signatures(points, s.scales, method="dense", n_jobs=2)
    found = errors(read_back(tmp_path / "out", paths, len(points)), s, exact, 3e-12)
    assert max(found.values()) < 1.0, found


def bytes_of(folder):
    return {path.name: path.read_bytes() for path in folder.glob("*.parquet")}


def test_executors_change_no_bit(small):
    _, paths, folder = small
    one = survey(paths, folder / "one", n_jobs=1)
    assert {"halo", "signatures", "statistics", "writing"} < set(one.steps)
    assert 0.0 < sum(one.steps.values()) <= 1.01 * one.seconds["tiles"]  # one tile after the other
    with ThreadPoolExecutor(3) as pool:
        others = {"threads": {"n_jobs": 3}, "given": {"executor": pool}, "little memory": {"memory": 0.02}}
        for name, options in (others | {"processes": {"executor": "processes", "n_jobs": 2}}).items():
            assert survey(paths, folder / name, **options).descriptor == one.descriptor
            assert bytes_of(folder / name) == bytes_of(folder / "one")


class StoppedError(Exception):
    """Raised in the middle."""


class Interrupted(ThreadPoolExecutor):
    """Ends after so many tasks."""

    def __init__(self, tasks):
        super().__init__(1)
        self.left = tasks

    def submit(self, *words):
        self.left -= 1
        if self.left < 0:
            raise StoppedError
        return super().submit(*words)


def test_stopped_anywhere_it_ends_with_the_same_bytes(tmp_path):
    folder, points = tmp_path, landscape(20_000, seed=3)
    paths = write_tiles(folder / "in", points, cut(points, 3))
    s = survey(paths, folder / "whole")
    assert {entry["method"] for entry in s.plan} == {"tile and halo", "common grid"}
    stops = 0
    for tasks in range(3, 200, 12):
        try:
            survey(paths, folder / "parts", executor=Interrupted(tasks), n_jobs=1)
        except StoppedError:
            stops += 1
        else:
            break
    assert 2 < stops < 16
    assert bytes_of(folder / "parts") == bytes_of(folder / "whole")
    # A whole survey is not done again: not one task is run.
    survey(paths, folder / "parts", executor=Interrupted(0))


def test_a_tile_that_was_removed_is_written_again(small):
    _, paths, folder = small
    survey(paths, folder / "out")
    before = bytes_of(folder / "out")
    (folder / "out" / "tile02.parquet").unlink()
    (folder / "out" / ".tile02.parquet.0a1b2c3d.part").write_bytes(b"half")  # as a killed process leaves it
    survey(paths, folder / "out")
    assert bytes_of(folder / "out") == before
    assert not list(folder.rglob(".*.part"))


def test_a_broken_tile_is_named(small):
    points, paths, folder = small
    whole = paths[1].read_bytes()
    paths[1].write_bytes(whole[: len(whole) // 2])
    s = survey(paths, folder / "out", point_dtype="float64")
    assert [error.file for error in s.errors] == [str(paths[1])]
    assert sorted(p.name for p in (folder / "out").glob("*.parquet")) == [
        "tile00.parquet", "tile02.parquet", "tile03.parquet",
    ]  # fmt: skip
    rest = points[cut(points, 2) != 1]
    assert s.points == len(rest)
    np.testing.assert_allclose(s.scales, hf.scale_schedule(rest), rtol=1e-12)
    hf.write_points(paths[1], points[:50, :2])
    s = survey(paths, folder / "flat")
    assert [error.problem for error in s.errors] == ["its points have 2 coordinates, 3 are expected"]
    paths[1].write_bytes(b"nothing")
    with pytest.raises(ValueError, match="none of the 1 tiles can be used"):
        survey(paths[1], folder / "none")


@pytest.mark.parametrize(("n", "strips"), [(3, 1), (2, 3)])
def test_one_tile_and_points_in_the_plane(tmp_path, n, strips):
    points = np.random.default_rng(7).random((3_000, n))
    paths = write_tiles(tmp_path / "in", points, (points[:, 0] * strips).astype(int))
    s = survey(paths, tmp_path / "out", lengths=[1e-2, 1e-1, 1.0], point_dtype="float64")
    exact = hf.signatures(points, s.scales, method="dense")
    table = read_back(tmp_path / "out", paths, len(points))
    got = np.stack([table[f"density_s{a}"] for a in range(3)], axis=1)
    assert np.abs(got / exact.density - 1).max() < TOL
    np.testing.assert_allclose(s.energy, exact.energy, rtol=TOL)


def test_overlapping_tiles_keep_or_drop_points(tmp_path):
    points = landscape(6_000, seed=4)
    low = points[:, :2].min(axis=0)
    paths, ids = [], []
    for k in range(4):  # squares of 100 with borders of 15
        corner = low + 100 * np.array([k % 2, k // 2])
        inside = ((points[:, :2] >= corner - 15) & (points[:, :2] < corner + 115)).all(axis=1)
        paths.append(tmp_path / f"t{k}.parquet")
        hf.write_points(paths[-1], points[inside], {"id": np.flatnonzero(inside)})
        ids.append(np.flatnonzero(inside))
    together = np.concatenate(ids)
    kept = survey(paths, tmp_path / "keep")
    assert kept.points == together.size > len(points)
    np.testing.assert_allclose(kept.scales, hf.scale_schedule(points[together]), rtol=1e-12)

    dropped = survey(paths, tmp_path / "drop", overlap="drop", point_dtype="float64")
    assert dropped.points == len(points)
    written = np.concatenate([
        hf.read_cloud(tmp_path / "drop" / path.name).columns["id"] for path in paths
    ])  # fmt: skip
    np.testing.assert_array_equal(np.sort(written), np.arange(len(points)))  # every point once
    table = read_back(tmp_path / "drop", paths, len(points))
    exact = hf.signatures(points, dropped.scales, method="dense")
    assert max(errors(table, dropped, exact).values()) < 1.0


def test_too_many_isolated_points_make_a_scale_local(tmp_path, monkeypatch):
    points = landscape(12_000, seed=9)
    paths = write_tiles(tmp_path / "in", points, cut(points, 3))
    expected = survey(paths, tmp_path / "one")
    coarse = [entry["isolated"] for entry in expected.plan if "isolated" in entry]
    assert max(coarse) > 20
    monkeypatch.setattr(import_module("heatfield._survey.grid"), "_MOST", 20)
    s = survey(paths, tmp_path / "two", point_dtype="float64")
    assert max(entry.get("isolated", 0) for entry in s.plan) <= 20
    exact = hf.signatures(points, s.scales, method="dense")
    assert max(errors(read_back(tmp_path / "two", paths, len(points)), s, exact).values()) < 1.0
    # Where that does not fit either, it is an error with a way out.
    needed = max(entry["halo"] for entry in s.plan if "halo" in entry)
    assert needed > max(entry["halo"] for entry in expected.plan if "halo" in entry)


@pytest.mark.parametrize(("suffix", "format"), [(".las", None), (".laz", None), (".las", "parquet")])
def test_las_tiles_keep_what_they_had(tmp_path, suffix, format):
    pytest.importorskip("lazrs")
    points = landscape(3_000, seed=6)
    paths = write_tiles(tmp_path / "in", points, cut(points, 2), suffix)
    s = survey(paths, tmp_path / "out", format=format, point_channels=["density", "dimension"])
    kind = f".{format}" if format else suffix
    table = read_back(tmp_path / "out", paths, len(points), kind)
    np.testing.assert_array_equal(table["id"], np.arange(len(points)))
    exact = hf.signatures(points, s.scales, with_spectrum=False, method="dense")
    got = np.stack([table[f"dimension_s{a}"] for a in range(8)], axis=1)
    assert np.abs(got - exact.dimension).max() < 4 * TOL
    assert not [name for name in table if name.startswith("spectrum")]
    if not format:
        records = hf.read_cloud(tmp_path / "out" / f"tile00{kind}").notes["vlrs"]
        assert any(r.user == "heatfield" and s.digest.encode() in r.data for r in records)


def test_channels_that_follow_from_the_spectrum(small):
    points, paths, folder = small
    names = ["planarity", "local_type", "dimension"]
    s = survey(paths, folder / "out", point_channels=names, point_dtype="float64")
    table = read_back(folder / "out", paths, len(points))
    exact = hf.signatures(points, s.scales, method="dense")
    np.testing.assert_allclose(table["planarity_s3"], exact.per_point(["planarity"])[:, 3], atol=1e-4)
    assert {name.rpartition("_s")[0] for name in table} - {""} == set(names)
    with pytest.raises(ValueError, match=r"point_channels must be one of .*'local_type', got 'normal'"):
        survey(paths, folder / "none", point_channels=["normal"])


def test_a_full_disk_stops_it_until_later(small, monkeypatch):
    _, paths, folder = small
    survey(paths, folder / "whole")

    def full(target, *words, **options):
        if "tile01" in target:
            raise OSError(28, "No space left on device")
        return write(target, *words, **options)

    third = import_module("heatfield._survey.finish")
    write = third.write_signatures
    monkeypatch.setattr(third, "write_signatures", full)
    with pytest.raises(OSError, match="No space left on device"):
        survey(paths, folder / "out", n_jobs=1)
    monkeypatch.undo()
    before = (folder / "out" / "tile00.parquet").stat().st_mtime_ns
    assert not survey(paths, folder / "out").errors
    assert (folder / "out" / "tile00.parquet").stat().st_mtime_ns == before
    assert bytes_of(folder / "out") == bytes_of(folder / "whole")


def test_a_tile_no_format_can_hold_is_named(small, monkeypatch):
    _, paths, folder = small
    third = import_module("heatfield._survey.finish")
    write = third.write_signatures

    def unable(target, *words, **options):
        if "tile01" in target:
            raise ValueError("LAS cannot hold it")
        return write(target, *words, **options)

    monkeypatch.setattr(third, "write_signatures", unable)
    s = survey(paths, folder / "out")
    assert [(error.file, error.problem) for error in s.errors] == [(str(paths[1]), "LAS cannot hold it")]
    assert s.points == 6000
    assert survey(paths, folder / "out").errors == s.errors  # the same without work
