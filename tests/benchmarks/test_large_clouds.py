"""The benchmarks of large clouds: their clouds, their arithmetic, and that one case runs."""

import json
import math
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import real_clouds, scaling
from benchmarks.lib.clouds import LARGE_CLOUDS, make_large_cloud
from benchmarks.lib.scaling_picture import exponent, exponents
from heatfield.core import bounds


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
    exact = {name: np.full((2, 2), 4.0) for name in bounds.SIGNATURES}
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
