"""One cloud from many tiles: the same signatures as on one machine, at every point."""

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

import heatfield as hf
from heatfield.cluster import InProcess, _work_folder, survey
from heatfield.cluster._work_folder import WORK, tiles_in
from heatfield.core import bounds
from heatfield.core.costs import Costs, fixed_costs
from tests.helpers.tiles import cut, landscape, read_back, write_tiles

pytest.importorskip("pyarrow")
TOL = 1e-4


def errors(table, s, exact, tol=TOL):
    """The largest error of each output over all points and scales, in units of what is promised."""
    steps = len(s.scales)
    found = {}
    for name in ("density", "dimension", "transition"):
        got = np.stack([table[f"{name}_s{a}"] for a in range(steps)], axis=1)
        wanted = getattr(exact, name)
        unit = np.abs(wanted) if name in bounds.RELATIVE else 1.0
        found[name] = (np.abs(got - wanted) / unit).max() / (bounds.SIGNATURES[name] * tol)
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
    s = survey(paths, folder / "out", transition="exact", tol=TOL, point_dtype="float64", n_jobs=2)
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
    methods = {entry["method"] for entry in s.plan}
    assert methods == {"tile and halo", "common grid"}  # both ways were taken
    assert sum(entry.get("isolated", 0) for entry in s.plan) > 0


def test_scales_are_those_of_the_whole(forest):
    _, points, _, s, _ = forest
    np.testing.assert_allclose(s.scales, hf.scale_schedule(points), rtol=1e-12)


def test_the_descriptor_is_that_of_the_whole(forest):
    _, points, _, s, _ = forest
    estimator = hf.HFSDescriptor("desc", transition="exact", tol=1e-7, n_jobs=2)
    wanted = estimator.fit_transform([points])[0]
    assert list(s.descriptor) == estimator.get_feature_names_out().tolist()
    got = np.array(list(s.descriptor.values()))
    percentile = np.array([any(f"_p{q}_" in name for q in (10, 50, 90)) for name in s.descriptor])
    most = np.abs(wanted) * (s.percentile_error * percentile + 4 * TOL) + 16 * TOL
    assert (np.abs(got - wanted) <= most).all()


def test_kept_columns_and_the_file_of_the_whole(forest):
    folder, points, paths, s, _ = forest
    table = read_back(folder / "out", paths, len(points))
    np.testing.assert_array_equal(table["id"], np.arange(len(points)))
    stored = json.loads((folder / "out" / "survey.json").read_text())
    assert stored["points"] == len(points)
    assert stored["energy"] == s.energy.tolist()
    assert not [p for p in (folder / "out" / WORK).iterdir() if not p.name.startswith(("done", "costs"))]


@pytest.fixture
def small(tmp_path):
    """6,000 points in 4 tiles."""
    points = landscape(6_000, seed=3)
    return points, write_tiles(tmp_path / "in", points, cut(points, 2)), tmp_path


def test_a_small_tol_is_held_by_direct_sums(tmp_path):
    points = landscape(12_000, seed=9)
    paths = write_tiles(tmp_path / "in", points, cut(points, 3))
    # At these prices the common grid takes a scale at which thousands of points are too isolated for it.
    with fixed_costs(Costs(fourier=4e-9, read=1e-9)):
        s = survey(paths, tmp_path / "out", tol=1e-11, point_dtype="float64", n_jobs=2)
    assert sum(entry.get("isolated", 0) for entry in s.plan) > 1000  # more than a grid can hold
    exact = hf.signatures(points, s.scales, method="dense", n_jobs=2)
    found = errors(read_back(tmp_path / "out", paths, len(points)), s, exact, 1e-11)
    assert max(found.values()) < 1.0, found


def bytes_of(folder):
    return {path.name: path.read_bytes() for path in folder.glob("*.parquet")}


def test_threads_and_tiles_at_a_time_change_no_bit(small):
    _, paths, folder = small
    one = survey(paths, folder / "one", n_jobs=1)
    two = survey(paths, folder / "two", InProcess(2, at_once=2))
    assert bytes_of(folder / "one") == bytes_of(folder / "two")
    assert one.descriptor == two.descriptor


class StoppedError(Exception):
    """Raised in the middle."""


class Interrupted(InProcess):
    """Ends after so many tasks."""

    def __init__(self, tasks):
        super().__init__(1)
        self.left = tasks

    def map(self, work, tasks):
        for found in super().map(work, tasks):
            self.left -= 1
            if self.left < 0:
                raise StoppedError
            yield found


def test_stopped_at_any_time_it_goes_on_to_the_same_bytes(tmp_path):
    folder, points = tmp_path, landscape(20_000, seed=3)
    paths = write_tiles(folder / "in", points, cut(points, 3))
    s = survey(paths, folder / "whole")
    assert {entry["method"] for entry in s.plan} == {"tile and halo", "common grid"}
    stops = 0
    for tasks in range(3, 200, 12):
        try:
            survey(paths, folder / "parts", Interrupted(tasks))
        except StoppedError:
            stops += 1
        else:
            break
    assert 4 < stops < 16
    assert bytes_of(folder / "parts") == bytes_of(folder / "whole")
    # A whole survey is not done again: not one task is run.
    survey(paths, folder / "parts", Interrupted(0))


def test_a_tile_that_was_removed_is_written_again(small):
    _, paths, folder = small
    survey(paths, folder / "out")
    before = bytes_of(folder / "out")
    (folder / "out" / "tile02.parquet").unlink()
    (folder / "out" / ".tile02.parquet.0a1b2c3d.part").write_bytes(b"half")  # as a killed process leaves it
    survey(paths, folder / "out")
    assert bytes_of(folder / "out") == before
    assert not list(folder.rglob(".*.part"))


def test_a_broken_tile_is_named_and_the_rest_is_done(small):
    points, paths, folder = small
    whole = paths[1].read_bytes()
    paths[1].write_bytes(whole[: len(whole) // 2])
    s = survey(paths, folder / "out", point_dtype="float64")
    assert [file for file, _, _ in s.errors] == [str(paths[1])]
    assert sorted(p.name for p in (folder / "out").glob("*.parquet")) == [
        "tile00.parquet", "tile02.parquet", "tile03.parquet",
    ]  # fmt: skip
    rest = points[cut(points, 2) != 1]
    assert s.points == len(rest)
    np.testing.assert_allclose(s.scales, hf.scale_schedule(rest), rtol=1e-12)


def test_one_tile_is_a_survey_too(tmp_path):
    points = landscape(2_000, seed=2)
    paths = write_tiles(tmp_path / "in", points, np.zeros(len(points), int))
    s = survey(paths, tmp_path / "out", point_dtype="float64")
    exact = hf.signatures(points, s.scales, method="dense")
    np.testing.assert_allclose(s.scales, hf.scale_schedule(points), rtol=1e-12)
    assert max(errors(read_back(tmp_path / "out", paths, len(points)), s, exact).values()) < 1.0


def test_no_sound_tile_is_an_error(tmp_path):
    (tmp_path / "a.las").write_bytes(b"nothing")
    with pytest.raises(ValueError, match="none of the 1 tiles can be used"):
        survey([tmp_path / "a.las"], tmp_path / "out")


def test_overlapping_tiles_count_every_point_unless_told_otherwise(tmp_path):
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


def test_copies_in_several_tiles_are_one_place_for_the_spacing(tmp_path):
    rng = np.random.default_rng(5)
    points = rng.random((500, 3))
    paths = write_tiles(tmp_path / "in", np.concatenate([points, points, points[:7]]), np.arange(1007) // 400)
    s = survey(paths, tmp_path / "out")
    np.testing.assert_allclose(s.scales, hf.scale_schedule(points), rtol=1e-12)


def test_what_does_not_fit_is_said_before_the_work(small):
    _, paths, folder = small
    with pytest.raises(ValueError, match=r"does not fit into.*use smaller tiles"):
        survey(paths, folder / "out", memory=1e5)
    assert not list((folder / "out").glob("*.parquet"))


def test_the_memory_of_a_worker_decides_what_fits(small):
    _, paths, folder = small

    class Small(InProcess):
        def memory(self):
            return 2e5

    with pytest.raises(ValueError, match=r"does not fit into 0\.000186 GiB per task.*allow more memory"):
        survey(paths, folder / "out", Small(1))
    assert not list((folder / "out").glob("*.parquet"))


def test_the_time_of_the_last_pass_is_known_by_step(small):
    _, paths, folder = small
    s = survey(paths, folder / "out")
    assert {"halo", "signatures", "statistics", "writing"} < set(s.steps)
    assert 0.0 < sum(s.steps.values()) <= 1.01 * s.seconds["tiles"]  # one tile after the other


def test_a_folder_of_somebody_else_is_refused(small):
    _, paths, folder = small
    (folder / "mine").mkdir()
    (folder / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(ValueError, match="is not one of a survey"):
        survey(paths, folder / "mine")
    with pytest.raises(ValueError, match="would replace its own tile"):
        survey(paths, paths[0].parent)
    with pytest.raises(ValueError, match="is given twice"):
        survey([paths[0], paths[0]], folder / "out")


@pytest.mark.parametrize(("suffix", "format"), [(".las", None), (".laz", None), (".las", "parquet")])
def test_las_tiles_keep_what_they_had(tmp_path, suffix, format):
    pytest.importorskip("lazrs")
    points = landscape(3_000, seed=6)
    paths = write_tiles(tmp_path / "in", points, cut(points, 2), suffix)
    s = survey(paths, tmp_path / "out", format=format, channels=["density", "dimension"])
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


def test_the_bytes_of_las_tiles_do_not_depend_on_the_folder(tmp_path):
    points = landscape(3_000, seed=6)
    paths = write_tiles(tmp_path / "in", points, cut(points, 2), ".las")
    survey(paths, tmp_path / "one")
    (tmp_path / "two" / WORK).mkdir(parents=True)  # prices are measured per folder, and decide the last bits
    (tmp_path / "two" / WORK / "costs.json").write_bytes(
        (tmp_path / "one" / WORK / "costs.json").read_bytes()
    )
    survey(paths, tmp_path / "two")
    assert len(paths) == 4
    for path in paths:
        assert (tmp_path / "one" / path.name).read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_points_in_the_plane_and_scales_of_ones_own(tmp_path):
    rng = np.random.default_rng(7)
    points = rng.random((4_000, 2))
    paths = write_tiles(tmp_path / "in", points, (points[:, 0] * 3).astype(int))
    s = survey(paths, tmp_path / "out", scales=[1e-4, 1e-2, 1.0], point_dtype="float64")
    exact = hf.signatures(points, s.scales, method="dense")
    table = read_back(tmp_path / "out", paths, len(points))
    got = np.stack([table[f"density_s{a}"] for a in range(3)], axis=1)
    assert np.abs(got / exact.density - 1).max() < TOL
    np.testing.assert_allclose(s.energy, exact.energy, rtol=TOL)


def test_urls_are_read_through_fsspec(tmp_path):
    fsspec = pytest.importorskip("fsspec")
    points = landscape(2_000, seed=8)
    paths = write_tiles(tmp_path / "in", points, cut(points, 2))
    memory = fsspec.filesystem("memory")
    for path in paths:
        memory.pipe(f"/tiles/{path.name}", path.read_bytes())
    s = survey([f"memory://tiles/{path.name}" for path in paths], tmp_path / "out")
    survey(paths, tmp_path / "local")
    assert s.points == len(points)
    assert bytes_of(tmp_path / "out") == bytes_of(tmp_path / "local")


def test_a_tile_that_could_not_be_written_is_tried_again(small, monkeypatch):
    _, paths, folder = small
    wanted = survey(paths, folder / "whole")

    def full(target, *words, **options):
        if "tile01" in target:
            raise OSError(28, "No space left on device")
        return write(target, *words, **options)

    import heatfield.cluster._third_pass as third

    write = third.write_signatures
    monkeypatch.setattr(third, "write_signatures", full)
    (folder / "out" / WORK).mkdir(parents=True)
    prices = (folder / "whole" / WORK / "costs.json").read_bytes()
    (folder / "out" / WORK / "costs.json").write_bytes(prices)
    s = survey(paths, folder / "out")
    assert [(file, "No space left" in problem) for file, _, problem in s.errors] == [(str(paths[1]), True)]
    monkeypatch.undo()
    again = survey(paths, folder / "out")
    assert not again.errors
    assert again.descriptor == wanted.descriptor
    assert bytes_of(folder / "out") == bytes_of(folder / "whole")


def test_without_dask_it_is_said_what_to_install(small, monkeypatch):
    _, paths, folder = small
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"A cluster needs distributed: pip install 'heatfield\[cluster\]'"):
        survey(paths, folder / "out", "local:2")


def test_names_of_tiles_that_are_written(tmp_path):
    names = ["/a/x.copc.laz", "/a/b/x.las", "/a/y.parquet.gz", "/a/z.npy", "s3://a/x.LAZ", "/a/b/c/y.las"]
    found = tiles_in(tmp_path, [name for name in names if "://" not in name], None)
    short = [str(Path(tile.target).relative_to(tmp_path)) for tile in found]
    assert short == ["x.laz", "b/x.las", "y.parquet", "z.parquet", "b/c/y.las"]
    same = tiles_in(tmp_path, ["/a/x.las", "/a/x.laz", "/a/X.npy"], "parquet")
    assert len({tile.target.casefold() for tile in same}) == 3
    assert tiles_in(tmp_path, ["s3://bucket/x.LAZ"], None)[0].target.endswith("x.laz")


def test_a_url_that_is_not_there_is_named():
    pytest.importorskip("fsspec")
    with pytest.raises(hf.ReadError, match=r"memory://nothing\.npy.*cannot be fetched"):
        hf.read_cloud("memory://nothing.npy")


@pytest.mark.parametrize(
    "forge",
    [
        lambda place: place.write_text(100_000 * "["),
        lambda place: place.write_text(json.dumps(dict.fromkeys(Costs.__dataclass_fields__, float("nan")))),
        lambda place: place.write_text(json.dumps(dict.fromkeys(Costs.__dataclass_fields__, 10**400))),
        os.mkfifo,
    ],
    ids=["nested", "no numbers", "too large", "a pipe"],
)
def test_forged_prices_are_measured_again(tmp_path, forge, monkeypatch):
    monkeypatch.setattr(_work_folder, "costs", lambda: Costs(ring=2e-9))
    (tmp_path / WORK).mkdir()
    forge(tmp_path / WORK / "costs.json")
    assert _work_folder.fixed_costs(tmp_path) == Costs(ring=2e-9)
    monkeypatch.setattr(_work_folder, "costs", lambda: Costs(ring=9e-9))
    assert _work_folder.fixed_costs(tmp_path) == Costs(ring=2e-9)  # kept from then on
