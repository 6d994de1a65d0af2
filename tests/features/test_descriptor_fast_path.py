"""Descriptors by the fast path: method and tol take effect, and pooling keeps the tolerance."""

import re

import numpy as np
import pytest

import heatfield as hf
from heatfield.core import bounds
from heatfield.core.clouds import ArrangedCloud, Buffers
from heatfield.core.moments import WEIGHT
from heatfield.core.planner import Costs, Request
from heatfield.core.sums import scale_sums
from heatfield.features.around import Around
from tests.helpers import reference_joint
from tests.helpers.clouds import cloud

# Costs at which transforms are taken at most scales, and costs at which none is.
COSTS = {"transforms": Costs(pair=6e-8, ring=3e-8, call=1e-6), "neighbours": Costs(call=1e3)}
# In units of tol; relative to itself for the density and the energies, else absolute (docs/theory/fast.md).
PROMISE = {"hds": 12.0, "dimension": 4.0, "transition": 16.0, "spectrum": 16.0, "gradient": 4.0}


def pair_of(points, variant, tol, **options):
    descriptor = hf.HFSDescriptor(variant, transition="exact", method="fast", tol=tol, **options)
    dense = hf.HFSDescriptor(variant, transition="exact", method="dense", **options)
    return descriptor.fit_transform([points])[0], dense.fit_transform([points])[0], descriptor.layout()


@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("tol", [1e-4, 1e-8])
@pytest.mark.parametrize("name", ["sphere", "clusters"])
def test_joint_keeps_the_promise(name, tol, costs, monkeypatch):
    monkeypatch.setattr("heatfield.core.planner.COSTS", COSTS[costs])
    found, exact, columns = pair_of(cloud(name, 3, 600), "joint", tol, n_scales=5)
    assert not np.array_equal(found, exact)  # another path
    error = np.abs(found - exact)
    value = dict(zip(columns.names, exact, strict=True))
    for block, factor in PROMISE.items():
        assert error[columns.columns[block]].max() <= factor * tol, block
    assert error[columns.columns["density"]].max() <= 2 * tol  # of the logarithm
    assert error[columns.columns["global"]][:5].max() <= 2 * tol  # log energy
    assert error[columns.columns["global"]][5:10].max() <= 4 * tol  # response

    def spread(channel, scale):
        stem = f"spectrum_{channel[-1]}" if channel.startswith("spectrum") else channel
        return value[f"{stem}_log_std_{scale}" if stem == "density" else f"{stem}_std_{scale}"]

    compared = 0
    for block in ("correlation", "coupling"):
        for c in range(*columns.columns[block].indices(len(found))):
            words = columns.names[c].split("_")[1:]
            pair = [(words[0], words[2]), (words[1], words[2])] if block == "correlation" else None
            smallest = min(spread(*p) for p in pair or [(words[0], words[1]), (words[0], words[2])])
            if smallest < 90 * tol:
                assert np.isnan(found[c]), columns.names[c]
            elif np.isfinite(found[c]):
                compared += 1
                assert error[c] <= 64 * tol / smallest, columns.names[c]
    assert compared > 40
    assert np.isfinite(found[columns.columns["neighbourhood"]]).all()


@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("tol", [1e-4, 1e-8])
@pytest.mark.parametrize("name", ["sphere", "curve", "clusters"])
def test_orientation_keeps_the_promise(name, tol, costs, monkeypatch):
    """Errors are over the smallest size of what a column compares; below 100 tol there is no direction."""
    monkeypatch.setattr("heatfield.core.planner.COSTS", COSTS[costs])
    least = max(1e-4, 100 * tol)
    monkeypatch.setattr("heatfield.features.blocks.orientation._LEAST_SIZE", least)
    points, steps = cloud(name, 3, 500), 4
    found, exact, columns = pair_of(points, "oriented", tol, n_scales=steps, blocks=["orientation"])
    scales = hf.scale_schedule(points, steps)
    S, G = reference_joint.tensors_and_gradients(points, scales)
    size = np.sqrt((S**2).sum(axis=(2, 3)))
    s = hf.signatures(points, scales, method="dense", transition="exact")
    channels = {"density": np.log(s.density), "dimension": s.dimension, "transition": s.transition}
    channels |= {f"spectrum{k + 1}": s.spectrum[:, :, k] for k in range(3)}
    slope = np.linalg.norm(G, axis=2)

    def rms(values):
        return np.sqrt((values**2).mean())

    def smallest(what, a, b):
        if what.startswith("slope_") and what != "slope_along_axes":
            other = slope[b] if what == "slope_slope" else channels[what.removeprefix("slope_")][:, a]
            return min(slope[a].std(), other.std())
        if what == "slope":
            return min(rms(slope[a]), rms(slope[b]))
        if what == "slope_along_axes":
            return min(rms(slope[a]), size[b].mean())
        smooth = np.sqrt((reference_joint.around(points, scales[b], S[a]) ** 2).sum(axis=(1, 2)))
        known = (size[a] > 0.9 * least) & (smooth > 0.9 * least)
        return {
            "length": lambda: size[a].mean(),
            "cosine": lambda: min(size[a][known].min(initial=1.0), smooth[known].min(initial=1.0)),
            "axes": lambda: min(rms(size[a]), rms(size[b])),
        }.get(what, lambda: min(rms(size[a]), rms(size[b]), rms(smooth)))()

    compared = 0
    for c, column in enumerate(columns.names):
        what, *places = re.fullmatch(
            r"orientation_(\w+?)(?:_(?:mean|p\d+))?_s(\d)(?:_s(\d))?", column
        ).groups()
        if np.isfinite(found[c]) and np.isfinite(exact[c]):
            compared += 1
            bound = smallest(what, int(places[0]), int(places[1] or 0))
            assert abs(found[c] - exact[c]) <= bounds.ORIENTATION * tol / bound, column
    assert compared >= 0.5 * len(exact)  # a loose tolerance leaves fewer directions


def around_of(points, times, tol, costs):
    """The points as what sums around them need, and their order."""
    arranged = ArrangedCloud.of(points)
    unit = np.ldexp(times, -2 * arranged.exponent)[:, None]
    request = Request(tol=tol, costs=costs)
    weight = np.array([scale_sums(arranged, arranged, t, request)[0][:, WEIGHT] for t in unit])
    return Around(arranged, unit, lambda: weight, request, Buffers()), arranged.order


@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("name", ["ball", "curve", "clusters"])
def test_means_and_squared_spreads_keep_the_promise(name, costs):
    tol, points = 1e-6, cloud(name, 3, 500)
    scales = hf.scale_schedule(points, 4)
    field = np.log(hf.signatures(points, scales, method="dense").density)
    pairs = np.array([(0, 1), (1, 2), (2, 3), (0, 3)])
    around, order = around_of(points, scales, tol, COSTS[costs])
    means = list(around.means(field[order].T[None], pairs))
    # Spreads are summed to a hundredth of the tolerance.
    around, _ = around_of(points, scales, 100 * tol, COSTS[costs])
    spreads = [rows[0] for _, rows in around.deviations(field[order].T[None], pairs)]
    for (a, b), mean, found in zip(pairs, means, spreads, strict=True):
        unit = np.ptp(field[:, a])
        expected = reference_joint.around(points, scales[b], field[:, a])[order]
        assert np.abs(mean[0] - expected).max() <= bounds.MEAN * tol * unit
        expected = reference_joint.neighbourhood_spread(points, scales, field, a, b)[order]
        assert np.abs(found**2 - expected**2).max() <= bounds.DEVIATION_SQUARED * tol * unit**2
        assert np.abs(found - expected).max() <= 4 * np.sqrt(tol) * unit


def test_a_field_that_does_not_vary_has_no_spread():
    around, _ = around_of(cloud("ball", 2, 100), np.array([0.1]), 1e-6, Costs())
    values, pairs = np.full((1, 1, 100), 3.0), np.array([(0, 0)])
    assert (next(around.deviations(values, pairs))[1] == 0.0).all()
    assert (next(around.means(values, pairs)) == 3.0).all()


@pytest.mark.parametrize("variant", ["simple", "desc"])
def test_a_large_cloud_leaves_the_dense_path(variant):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(20_000, 2))
    large = hf.HFSDescriptor(variant, n_scales=4, tol=1e-5).fit_transform([points, points[:50]])
    exact = hf.HFSDescriptor(variant, n_scales=4, method="dense").fit_transform([points, points[:50]])
    assert (large[0] != exact[0]).any()
    np.testing.assert_array_equal(large[1], exact[1])
    s = hf.signatures(points, n_scales=4, tol=1e-5, with_spectrum=variant == "desc")
    columns = hf.HFSDescriptor(variant, n_scales=4, n_dims=2).layout().columns
    np.testing.assert_allclose(large[0][columns["density"]][:4], s.density.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(large[0], exact[0], rtol=1e-4, atol=4e-4)
    np.testing.assert_allclose(s.per_point()[:, 0], s.density[:, 0])


def test_threads_change_no_bit_on_the_near_path(monkeypatch):
    monkeypatch.setattr("heatfield.core.planner.COSTS", COSTS["neighbours"])
    points = cloud("clusters", 3, 3000)
    one, two = (
        hf.HFSDescriptor("joint", n_scales=3, method="fast", n_jobs=j).fit_transform([points]) for j in (1, 3)
    )
    np.testing.assert_array_equal(one, two)


def test_options_are_checked():
    points = [cloud("ball", 2, 50)]
    for options, message in (
        ({"method": "quick"}, "method must be one of 'auto', 'dense', 'fast', got 'quick'"),
        ({"tol": 1e-15}, "tol=1e-15 is out of reach in float64"),
    ):
        with pytest.raises(ValueError, match=message):
            hf.HFSDescriptor(**options).fit_transform(points)
        with pytest.raises(ValueError, match=message):
            hf.HFSClassifier(**options).fit(points * 4, [0, 0, 1, 1])


def test_the_classifier_sets_to_zero_what_varies_less_than_the_tolerance():
    rng = np.random.default_rng(3)
    clouds = [rng.normal(size=(60, 2)) * s for s in (1, 1, 1, 2, 2, 2)]
    labels = [0, 0, 0, 1, 1, 1]
    features = hf.HFSDescriptor("simple", n_scales=3).fit_transform(clouds)
    features[:, 7] = 5.0 * (1.0 + 1e-5 * rng.normal(size=6))
    for options, varies in (({"method": "fast"}, False), ({}, True)):
        model = hf.HFSClassifier("simple", head="lda", tol=1e-6, n_scales=3, **options)
        assert model.fit_features(features, labels, n_dims=2).readout_.scaling.constant[7] != varies
        assert model.descriptor_.tol == 1e-6
