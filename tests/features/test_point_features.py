"""The features of a point that learned pooling starts from, against the specification."""

import numpy as np
import pytest

from heatfield.features.points import POINT_BLOCKS, WHOLE_BLOCKS, PointSettings, features_of, point_table
from tests.helpers import reference, reference_joint

STEPS = 5


def expected(points, recipe):
    """Every block of a point by name, in plain NumPy."""
    scales = reference.scale_schedule(points, recipe.n_scales)
    u, d, tau, spectrum = reference.local_signatures(points, scales, recipe.transition)
    r, D2 = reference.pair_differences(points)
    fields = {"density": u, "log_density": np.log(u), "dimension": d, "transition": tau}
    fields |= {f"spectrum_{k + 1}": spectrum[:, :, k] for k in range(points.shape[1])}
    gradient = []
    for t in scales:
        w = np.exp(-D2 / (4 * t))
        mean_r = np.einsum("ij,ijk->ik", w, r) / w.sum(axis=1)[:, None]
        gradient.append(np.linalg.norm(mean_r, axis=1) / np.sqrt(2 * t))
    fields["gradient"] = np.stack(gradient, axis=1)
    found = {f"{name}_s{a}": field[:, a] for name, field in fields.items() for a in range(recipe.n_scales)}
    for name in ("log_density", "dimension", *(f"spectrum_{k + 1}" for k in range(points.shape[1]))):
        for a in range(recipe.n_scales):
            for b in (a + 1, a + 3):
                if b < recipe.n_scales:
                    spread = reference_joint.neighbourhood_spread(points, scales, fields[name], a, b)
                    found[f"neighbourhood_{name}_s{a}_s{b}"] = spread
    return found


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("transition", ["difference", "exact"])
def test_every_point_feature_equals_the_reference(n, transition):
    points = np.random.default_rng(n).normal(size=(90, n)) * np.arange(1, n + 1)
    recipe = PointSettings(n, POINT_BLOCKS, n_scales=STEPS, transition=transition)
    rows, whole = features_of(points, recipe)
    wanted = expected(points, recipe)
    assert set(recipe.point_names) == set(wanted)
    assert rows.shape == (90, len(wanted))
    assert whole.shape == (0,)
    for column, name in zip(rows.T, recipe.point_names, strict=True):
        # A deviation is the square root of a difference: its square is right to rounding.
        power = 2 if name.startswith("neighbourhood") else 1
        np.testing.assert_allclose(column**power, wanted[name] ** power, rtol=1e-10, atol=1e-11, err_msg=name)


@pytest.mark.parametrize("method", ["dense", "fast"])
def test_a_small_gradient_keeps_its_digits(method):
    """The root of d - n - the sum of the spectrum would have lost half of them."""
    line = np.arange(-40.0, 41.0)[:, None] * [0.1, 0.05]
    line[40] += [1e-6, 0.0]
    settings = PointSettings(2, ["gradient"], n_scales=4, method=method, tol=1e-12)
    rows, _ = features_of(line, settings)
    wanted = expected(line, settings)
    for a in range(4):
        assert 1e-8 < rows[40, a] < 1e-4
        np.testing.assert_allclose(rows[40, a], wanted[f"gradient_s{a}"][40], rtol=1e-7)


def test_the_second_layer_alone_and_beside_others():
    points = np.random.default_rng(0).normal(size=(40, 2))
    alone, _ = features_of(points, PointSettings(2, ["neighbourhood"], n_scales=STEPS))
    both = PointSettings(2, ["neighbourhood", "gradient", "hds"], n_scales=STEPS)
    rows, whole = features_of(points, both)
    assert rows.shape[1] == STEPS + alone.shape[1]
    assert whole.shape == (2 * 3 * STEPS,)
    np.testing.assert_array_equal(rows[:, STEPS:], alone)


def test_the_fast_path_keeps_its_promise_of_the_second_layer():
    points = np.random.default_rng(4).normal(size=(500, 2))
    options = {"n_scales": STEPS, "transition": "exact"}
    blocks = ["log_density", "dimension", "spectrum", "neighbourhood"]
    dense = PointSettings(2, blocks, method="dense", **options)
    exact, _ = features_of(points, dense)
    fast, _ = features_of(points, PointSettings(2, blocks, method="fast", tol=1e-7, **options))
    assert not np.array_equal(exact, fast)
    ranges = dict(zip(dense.point_names, np.ptp(exact, axis=0), strict=True))
    for a, b, name in zip(fast.T, exact.T, dense.point_names, strict=True):
        if name.startswith("neighbourhood"):
            field = name.removeprefix("neighbourhood_").rpartition("_s")[0]
            assert np.abs(a**2 - b**2).max() <= 16e-7 * ranges[field] ** 2, name


def test_a_single_place_has_gaps_in_every_feature():
    recipe = PointSettings(3, (*WHOLE_BLOCKS, *POINT_BLOCKS), n_scales=STEPS)
    rows, whole = features_of(np.ones((4, 3)), recipe)
    assert rows.shape == (4, len(recipe.point_names))
    assert np.isnan(rows).all()
    assert np.isnan(whole).all()


def test_magnitudes_follow_the_names():
    recipe = PointSettings(2, POINT_BLOCKS, n_scales=STEPS)
    points, _ = recipe.magnitudes()
    own = [n for n, m in zip(recipe.point_names, points, strict=True) if m == 0.0]
    assert own == [f"{b}_s{a}" for a in range(STEPS) for b in ("density", "dimension")]


def test_a_table_of_some_blocks_is_as_if_only_these_had_been_asked_for():
    clouds = [np.random.default_rng(i).normal(size=(20 + i, 2)) for i in range(3)]
    some = ("log_global", "hds", "log_density", "spectrum", "neighbourhood")
    every = point_table(clouds, PointSettings(2, (*WHOLE_BLOCKS, *POINT_BLOCKS), n_scales=STEPS))
    alone = point_table(clouds, PointSettings(2, some, n_scales=STEPS))
    chosen = every.with_blocks(some)
    assert chosen.recipe == alone.recipe
    for name in ("rows", "starts", "whole", "coordinates", "shift", "unit"):
        np.testing.assert_allclose(getattr(chosen, name), getattr(alone, name), rtol=1e-12, err_msg=name)
    with pytest.raises(ValueError, match="no block 'gradient'"):
        alone.with_blocks(["gradient", "spectrum"])


@pytest.mark.parametrize("count", [1, 5, 130])
def test_features_of_a_cloud_are_computed_once(count, monkeypatch):
    """Also those of the sample that sets the unit of the table."""
    rng = np.random.default_rng(0)
    clouds = [rng.normal(size=(6 + i % 5, 2)) for i in range(count)]
    recipe = PointSettings(2, ["log_density", "hds"], n_scales=3)
    seen = []

    def counted(points, asked, n_threads):
        seen.append(next(i for i, cloud in enumerate(clouds) if cloud is points))
        return features_of(points, asked, n_threads)

    monkeypatch.setattr("heatfield.features.points.features_of", counted)
    table = point_table(clouds, recipe, n_jobs=2)
    assert sorted(seen) == list(range(count))
    # The unit is that of the sample, and every row that of its own cloud.
    found = [features_of(cloud, recipe) for cloud in clouds]
    sample = sorted({int(i) for i in np.linspace(0, count - 1, min(64, count))})
    pilots = np.concatenate([found[i][0] for i in sample])
    np.testing.assert_array_equal(table.shift, pilots.mean(axis=0))
    np.testing.assert_array_equal(table.unit, pilots.std(axis=0))
    for i, (rows, whole) in enumerate(found):
        stored = ((rows - table.shift) / table.unit).astype(np.float32)
        np.testing.assert_array_equal(table.rows[table.starts[i] : table.starts[i + 1]], stored)
        np.testing.assert_array_equal(table.whole[i], whole)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("unit", lambda a: a * np.nan),
        ("starts", lambda a: a[::-1].copy()),
        ("rows", lambda a: a[:-1]),
        ("rows", lambda a: a.astype(np.float64)),
        ("coordinates", lambda a: a + np.float32(np.inf)),
    ],
)
def test_a_forged_cache_is_computed_again(tmp_path, name, change):
    """Its name is right and it is a sound NPZ, but not a table of these clouds."""
    clouds = [np.random.default_rng(i).normal(size=(20 + i, 3)) for i in range(3)]
    recipe = PointSettings(3, n_scales=3)
    made = point_table(clouds, recipe, cache=tmp_path)
    arrays = {n: getattr(made, n) for n in ("rows", "starts", "whole", "coordinates", "shift", "unit")}
    (place,) = tmp_path.glob("*.npz")
    np.savez(place, **{**arrays, name: change(arrays[name])})
    again = point_table(clouds, recipe, cache=tmp_path)
    for n, expected in arrays.items():
        np.testing.assert_array_equal(getattr(again, n), expected)
        assert getattr(again, n).dtype == expected.dtype
