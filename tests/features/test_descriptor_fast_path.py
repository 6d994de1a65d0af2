"""Descriptors by the fast path: method and tol take effect, and pooling keeps the tolerance."""

import numpy as np
import pytest
from tqdm import tqdm

import heatfield as hf
from heatfield.core import bounds
from heatfield.core.clouds import ArrangedCloud
from heatfield.core.moments import WEIGHT
from heatfield.core.planner import Costs, Request
from heatfield.core.sums import scale_sums
from heatfield.features.blocks import neighbourhood
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
@pytest.mark.parametrize("name", ["ball", "curve", "clusters"])
def test_squared_spreads_keep_the_promise(name, costs):
    tol = 1e-6
    points = cloud(name, 3, 500)
    scales = hf.scale_schedule(points, 4)
    field = np.log(hf.signatures(points, scales, method="dense").density)
    around = ArrangedCloud.of(points)
    order = around.order
    request = Request(tol=tol, costs=COSTS[costs])
    for a, b in [(0, 1), (1, 2), (2, 3), (0, 3)]:
        t = float(np.ldexp(scales[b], -2 * around.exponent))
        mass = scale_sums(around, around, np.array([t]), request)[0][:, WEIGHT]
        with tqdm(disable=True) as bar:
            found = neighbourhood._deviation(around, t, mass, field[order, a], request, bar)
        expected = reference_joint.neighbourhood_spread(points, scales, field, a, b)[order]
        unit = np.ptp(field[:, a])
        assert np.abs(found**2 - expected**2).max() <= bounds.DEVIATION_SQUARED * tol * unit**2
        assert np.abs(found - expected).max() <= 4 * np.sqrt(tol) * unit


def test_a_field_that_does_not_vary_has_no_spread():
    around = ArrangedCloud.of(cloud("ball", 2, 100))
    values, request = np.full(100, 3.0), Request(tol=1e-6)
    with tqdm(disable=True) as bar:
        found = neighbourhood._deviation(around, 0.1, np.ones(100), values, request, bar)
    assert (found == 0.0).all()


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
        assert model.fit_features(features, labels, n_dims=2).readout_.constant[7] != varies
        assert model.descriptor_.tol == 1e-6
