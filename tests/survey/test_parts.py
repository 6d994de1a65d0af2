"""The parts of a survey against plain NumPy: statistics that merge, hulls, halos, spacing, batches."""

import numpy as np
import pytest

import heatfield as hf
from heatfield._survey.finish import PERCENTILE_ERROR, Pooled, merge, statistics
from heatfield._survey.grid import batches
from heatfield._survey.plan import hull_vertices, measure_tile, spacing_sums, whole_cloud
from heatfield._survey.tiles import (
    Context,
    Source,
    SurveySettings,
    Tile,
    halo,
    load_tiles,
    read_tile,
    save_tiles,
)
from heatfield.io import file_stamp
from heatfield.jobs import key_of
from heatfield.workflows.files import target_names
from tests.helpers.clouds import cloud

VALUES = {
    "density": lambda rng: np.exp(20 * rng.normal(size=5000)),
    "around zero": lambda rng: rng.normal(size=5000),
    "tiny and huge": lambda rng: rng.choice([-1e200, -1.0, 0.0, 1e-300, 3.0, 1e200], size=5000),
    "constant": lambda _: np.full(5000, -0.75),
    "two far values": lambda rng: np.where(rng.random(5000) < 0.1, 1.0, 1000.0),
}


@pytest.mark.parametrize("name", VALUES)
def test_statistics_of_parts_merge(name):
    rng = np.random.default_rng(0)
    values = VALUES[name](rng)
    parts = [Pooled.of(part) for part in np.split(values, [1, 700, 3000])]
    mean, std, *percentiles = statistics(merge(parts))
    scale = np.abs(values).max()
    assert abs(mean - values.mean()) <= 1e-12 * scale
    wanted = scale * np.std(values / scale)
    assert abs(std - wanted) <= 1e-12 * scale
    for got, wanted in zip(percentiles, np.percentile(values, [10, 50, 90]), strict=True):
        assert abs(got - wanted) <= PERCENTILE_ERROR * abs(wanted)
    assert statistics(merge(parts[::-1]))[2:] == percentiles


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("name", ["ball", "sphere", "collinear", "duplicates", "map_coordinates", "lattice"])
def test_hull_vertices_hold_the_diameter(name, n):
    points = cloud(name, n, 500)
    kept = hull_vertices(points)
    assert {tuple(row) for row in kept.tolist()} <= {tuple(row) for row in points.tolist()}

    def largest(rows):
        return np.sqrt(((rows[:, None] - rows[None]) ** 2).sum(axis=2).max())

    assert largest(kept) == pytest.approx(largest(points), rel=1e-12)


def test_a_tile_in_a_plane_keeps_few_vertices():
    plane = np.random.default_rng(2).random((5000, 2)) @ np.array([[1.0, 0.5, 0.25], [0.5, -1.0, 2.0]])
    kept = hull_vertices(plane)
    assert len(kept) < 200
    both = [((rows[:, None] - rows[None]) ** 2).sum(axis=2).max() for rows in (kept, plane[::5], plane)[:2]]
    assert both[0] >= both[1]


def read_all(folder, parts, **options):
    """What tasks are told of tiles that hold these points, which were read."""
    context = Context(SurveySettings(parts[0].shape[1], **options), str(folder), key_of(len(parts)))
    tiles = []
    for number, points in enumerate(parts):
        path = str(folder / f"{number}.npy")
        hf.write_points(path, points)
        source = Source(path, f"{number}.parquet", file_stamp(path), key_of(number))
        tiles.append(Tile.of(source.key, read_tile((context, source), 1)))
    save_tiles(context, tiles)
    return context


def test_a_halo_is_all_points_within_reach(tmp_path):
    rng = np.random.default_rng(3)
    points = rng.random((9000, 3))
    parts = [points[:4000], points[4000:4100], points[4100:]]
    context = read_all(tmp_path, parts)
    low, high = np.array([0.2, 0.3, 0.4]), np.array([0.5, 0.5, 0.5])
    for reach in (0.0, 0.05, 0.3, 2.0):
        found = halo(context, load_tiles(context), 1, low, high, reach)
        others = np.concatenate([parts[0], parts[2]])
        gap = np.maximum(0, np.maximum(low - others, others - high))
        wanted = others[(gap**2).sum(axis=1) <= reach**2]
        assert sorted(map(tuple, found.tolist())) == sorted(map(tuple, wanted.tolist()))


def tilings(rng):
    plane = rng.random((3000, 3)) * [1, 1, 0.01]
    column = (plane[:, 0] * 4).astype(int)
    yield "strips", [plane[column == k] for k in range(4)]
    single = np.array([[0.5, 0.5, 9.0]])
    yield "a tile of one point", [plane, single]
    yield "two single points", [single, single + 1]
    yield "copies across tiles", [plane, plane[:50], np.concatenate([plane[:7], single, single])]
    yield "interleaved", [plane[k::3] for k in range(3)]
    far = rng.random((200, 3)) * 1e-3
    yield "clusters far apart", [far, far + 100, np.concatenate([far[:1] + 50, far + 200])]


@pytest.mark.parametrize("number", range(6))
def test_spacing_diameter_and_scales_of_all_tiles(number, tmp_path):
    name, parts = list(tilings(np.random.default_rng(4)))[number]
    context = read_all(tmp_path, parts)
    tiles = load_tiles(context)
    sums = np.array([spacing_sums(context, k, tiles, 1) for k in range(len(parts))])
    distinct = np.unique(np.concatenate(parts), axis=0)
    square = ((distinct[:, None] - distinct[None]) ** 2).sum(axis=2)
    np.fill_diagonal(square, np.inf)
    total, places = sums.sum(axis=0)
    assert places == pytest.approx(len(distinct), rel=1e-12), name
    assert total / places == pytest.approx(np.sqrt(square.min(axis=1)).mean(), rel=1e-9), name
    whole = whole_cloud(context.settings, tiles, [measure_tile((context, k), 1) for k in range(len(parts))])
    np.fill_diagonal(square, 0.0)
    assert whole.diameter == pytest.approx(np.sqrt(square.max()), rel=1e-12)
    np.testing.assert_allclose(whole.scales, hf.scale_schedule(np.concatenate(parts)), rtol=1e-9)


def test_batches_hold_every_tile_once_in_order():
    for tiles in (1, 31, 32, 33, 1000):
        for grid in (1e3, 1e7, 1e8, 1e9):
            groups = batches(range(tiles), grid)
            assert [k for group in groups for k in group] == list(range(tiles))
            assert len(groups) <= 32
            assert len(groups) * 8 * grid <= max(4e9, 8 * grid)


def test_names_of_tiles_that_are_written():
    names = ["/a/x.copc.laz", "/a/b/x.las", "/a/y.parquet.gz", "/a/z.npy", "/a/b/c/y.las"]
    found = target_names(names, lambda path: path[-3:])
    assert found == ["x.laz", "b/x.las", "y..gz", "z.npy", "b/c/y.las"]
    same = ["/a/x.las", "/a/x.laz", "/a/X.npy", "/a/x.las.csv", "/a/x.csv/b.las"]
    found = target_names(same, lambda _: "csv")
    assert found == ["x.las-.csv", "x.laz.csv", "X.npy.csv", "x.las.csv", "x.csv/b.csv"]
    urls = ["s3://bucket/x.LAZ", "/data/x.laz", "http://host/../../a.ply?key=1/2"]
    urls = target_names(urls, lambda _: "ply")
    assert urls == ["bucket/x.ply", "data/x.ply", "a.ply"]
