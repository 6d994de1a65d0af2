"""The benchmarks of large clouds and of surveys: their clouds, their arithmetic, and that one case runs."""

import json
import math
import sys
from dataclasses import asdict
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import real_clouds, scaling
from benchmarks.lib import landscape as terrain
from benchmarks.lib.clouds import LARGE_CLOUDS, make_large_cloud
from benchmarks.lib.landscape import growth, model
from benchmarks.scaling import exponent, exponents
from benchmarks.survey import CASES, case_named
from heatfield.channels import BOUNDS
from heatfield.core.planner import Costs


def test_clouds_are_what_they_are_called():
    for name in LARGE_CLOUDS:
        points = make_large_cloud(name, 1000)
        assert points.shape == (1000, 3)
        assert np.isfinite(points).all()
        np.testing.assert_array_equal(points, make_large_cloud(name, 1000))
    np.testing.assert_allclose(np.linalg.norm(make_large_cloud("sphere", 100), axis=1), 1.0)
    assert np.linalg.norm(make_large_cloud("clustered", 1000)[:500], axis=1).max() < 0.01


def test_dense_is_extrapolated_by_the_square_and_marked():
    runs = {"ball/dense/20000": {"seconds": 3.0, "jobs": 1, "tol": 1e-6, "date": "today"}}
    scaling.extrapolate(runs, 1e6)
    assert runs["ball/dense/1000000"]["seconds"] == pytest.approx(3.0 * 2500)
    assert runs["ball/dense/1000000"]["extrapolated"]
    assert "peak_bytes" not in runs["ball/dense/1000000"]
    # What was not measured is in no fit.
    assert exponents(runs) == {}


def test_exponents_are_fitted_from_ten_thousand_on():
    m = np.array([1e2, 1e3, 1e4, 1e5, 1e6])
    assert exponent(m, np.maximum(0.01, 1e-6 * m**1.2)) == pytest.approx(1.2, abs=1e-9)
    assert math.isnan(exponent(m[:3], m[:3]))


def test_cases():
    assert scaling.cases("tree/auto", 1e3) == [("tree", "auto", 100), ("tree", "auto", 1000)]
    assert ("ball", "dense", 20_000) in scaling.cases("ball/dense", 1e6)
    assert ("ball", "dense", 100_000) not in scaling.cases("ball/dense", 1e6)
    with pytest.raises(SystemExit, match="unknown case 'ball/quick'"):
        scaling.cases("ball/quick", 1e3)


def test_a_run_is_kept_and_not_run_again(tmp_path, monkeypatch, capsys):
    out, picture = tmp_path / "scaling.json", tmp_path / "scaling.png"
    arguments = ["scaling.py", "--largest", "100", "--cases", "ball/auto", "--jobs", "1"]
    monkeypatch.setattr(sys, "argv", [*arguments, "--out", str(out), "--picture", str(picture)])
    seen = []

    def run(case, options):
        seen.append(case)
        return scaling.measure(case[0], case[2], case[1], options.jobs, options.tol)

    monkeypatch.setattr(scaling, "run", run)
    scaling.main()
    found = json.loads(out.read_text())
    entry = found["runs"]["ball/auto/100"]
    assert entry["seconds"] > 0.0
    assert entry["peak_bytes"] >= entry["peak_bytes_before"] > 0
    assert entry["plan"].split() == ["dense"] * 8
    assert "machine" in found
    assert picture.stat().st_size > 1000
    scaling.main()
    assert seen == [("ball", "auto", 100)]
    assert "ball/auto/100" in capsys.readouterr().out


def test_real_clouds_gives_errors_in_units_of_the_tolerance(tmp_path):
    exact = {name: np.full((2, 2), 4.0) for name in BOUNDS}
    off = {name: values + 1e-6 for name, values in exact.items()}
    found = real_clouds.errors(SimpleNamespace(**off), SimpleNamespace(**exact), 1e-6)
    assert found["density"] == pytest.approx(0.25)
    assert found["dimension"] == pytest.approx(0.25)
    assert found["spectrum"] == pytest.approx(1 / 16)
    for i in range(5):
        np.save(tmp_path / f"{i}.npy", np.random.default_rng(i).normal(size=(50 + 10 * i, 3)))
    files, total = real_clouds.files_of(tmp_path, 3)
    assert total == 5
    assert len(files) == 3
    assert files[0].name == "4.npy"
    table = {}
    assert real_clouds.compare(files[0], table) == 90
    assert table["auto tol=1e-06"]["worst"]["density"] == 0.0
    assert table["fast tol=1e-06"]["scales"] == {"near": 8}
    assert max(table["fast tol=1e-06"]["worst"].values()) <= 1.0


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
