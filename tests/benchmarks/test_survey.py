"""The landscape in tiles of ``benchmarks.survey``, its cases, and what is fitted and forecast from them."""

from dataclasses import asdict

import numpy as np
import pytest

from benchmarks.lib import terrain
from benchmarks.lib.survey_forecast import growth, model
from benchmarks.survey import CASES, case_named
from heatfield.core.planner import Costs


def test_tiles_own_half_open_cells_and_cut_no_tree():
    m, side = 60_000, terrain.SIDE
    size = terrain.tile_size(m)
    total = 0
    for row in range(side):
        for column in range(side):
            points = terrain.make_tile(m, row, column) - terrain.ORIGIN
            cell = np.floor((points[:, :2] + 1e-9) / size)
            # Rounded to millimetres, a point may lie on the border.
            assert (np.abs(cell - [column, row]).max(axis=1) > 0).sum() <= 0.01 * len(points)
            total += len(points)
    trees = np.concatenate([
        part for row in range(side) for column in range(side)
        for part in terrain.trees_of(m, row, column, edge_only=False)
    ])  # fmt: skip
    inside = ((trees[:, :2] >= 0) & (trees[:, :2] < side * size)).all(axis=1).sum()
    assert total == inside + side**2 * (round(0.5 * m / side**2) + 2)  # ground and birds


def test_a_neighbour_makes_the_same_trees_at_the_border():
    m, size = 200_000, terrain.tile_size(200_000)
    own = np.concatenate(list(terrain.trees_of(m, 2, 3, edge_only=False)))
    edge = np.concatenate(list(terrain.trees_of(m, 2, 3, edge_only=True)))
    low = size * np.array([3, 2])
    over = ((own[:, :2] < low) | (own[:, :2] >= low + size)).any(axis=1)
    assert 0 < len(edge) < len(own)
    assert set(map(tuple, own[over])) <= set(map(tuple, edge))


def case(points, seconds, jobs=2):
    share = {"reading": 0.05, "neighbours": 0.1, "spreading": 0.1, "fields": 0.05, "tiles": 0.7}
    steps = {"near": 0.4, "coarse": 0.1, "writing": 0.2}
    return {
        "jobs": jobs, "tol": 1e-4, "points": points, "seconds": seconds, "spacing": 0.2,
        "costs": asdict(Costs()), "passes": {k: v * seconds for k, v in share.items()},
        "steps": {k: v * seconds for k, v in steps.items()},
    }  # fmt: skip


RUNS = {f"survey/{m}/2": case(m, 1e-5 * m**1.1) for m in (10**6, 10**7)} | {"survey/x/2": {"failed": "no"}}


def test_exponents_are_those_of_a_power():
    found = growth(RUNS, 2)
    assert found["sizes"] == [10**6, 10**7]
    assert found["all"] == pytest.approx(1.1)
    assert found["passes"]["tiles"] == pytest.approx(1.1)
    assert found["steps"]["writing"] == pytest.approx(1.1)
    assert growth(RUNS, 1)["all"] is None


def test_the_forecast_divides_passes_over_tiles_among_workers():
    some, twice = model(RUNS, 2, workers=32), model(RUNS, 2, workers=64)
    tiles = some["seconds"] - some["longest_transform"]
    assert twice["seconds"] - twice["longest_transform"] == pytest.approx(tiles / 2)
    assert tiles == pytest.approx(sum(some["core_seconds"].values()) / 32)
    # Without a price: reading of the largest case, on two cores, a hundred times as many points.
    assert some["core_seconds"]["reading"] == pytest.approx(
        100 * 2 * RUNS["survey/10000000/2"]["passes"]["reading"]
    )
    assert [entry["way"] for entry in some["scales"]][::7] == ["near sums", "common grid"]
    assert model({}, 2) is None


def test_names_of_cases():
    assert case_named("survey/1e8/2") == "survey/100000000/2"
    assert case_named("memory/1e7/1") in CASES
    assert "memory/100000000/1" not in CASES
    for word in ("survey/1e8", "disk/1e8/2", "survey/many/2"):
        with pytest.raises(SystemExit, match="--cases must be"):
            case_named(word)
