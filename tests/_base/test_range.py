"""The declared range of lengths, times and weights: right inside, an error that names the cloud outside."""

import re

import numpy as np
import pytest

import heatfield as hf
from heatfield._base.check import GREATEST_POWER, check_times

POINTS = np.random.default_rng(0).normal(size=(40, 3))
INSIDE = [-50, -20, 20, 50]
OUTSIDE = [-139, -100, -60, 60, 100, 139]


def outputs(s):
    return [s.density, s.dimension, s.transition, s.energy, s.roughness, s.relative_roughness, s.hds.contrast]


@pytest.mark.parametrize("power", INSIDE)
def test_a_unit_within_the_range_changes_the_power_of_the_unit_only(power):
    unit = 10.0**power
    plain, scaled = hf.signatures(POINTS), hf.signatures(POINTS * unit)
    powers = [unit**-3, 1.0, 1.0, unit**-3, unit**-5, unit**-2, 1.0]
    for one, other, factor in zip(outputs(plain), outputs(scaled), powers, strict=True):
        np.testing.assert_allclose(other, one * factor, rtol=1e-9, atol=1e-12 * min(factor, 1.0))


@pytest.mark.parametrize("power", OUTSIDE)
def test_a_unit_beyond_the_range_is_an_error(power):
    points = POINTS * 10.0**power
    says = r"diffusion times from .* in 3 dimensions .* sqrt\(t\) lies between 1.23e-60 and 2.82e\+59"
    with pytest.raises(ValueError, match=f"^{says}$"):
        hf.signatures(points)
    with pytest.raises(ValueError, match=rf"^clouds\[1\]: {says}$"):
        hf.HFSDescriptor().fit_transform([POINTS, points])


@pytest.mark.parametrize("n", [1, 2, 3, 40])
def test_all_that_is_inside_is_a_number(n):
    points = np.random.default_rng(1).normal(size=(50, n))
    power = 1.0 / (0.5 * n + 1.0)
    most, least = GREATEST_POWER**power / (4.0 * np.pi), (50**2 / GREATEST_POWER) ** power / (4.0 * np.pi)
    for edge in (0.99 * most, 1.01 * least):
        # The farther end of two times is at the edge; the cloud has the size of its root.
        times = [edge / 2, edge] if edge > 1.0 else [edge, 2 * edge]
        s = hf.signatures(points * np.sqrt(edge), times, transition="exact")
        for table in outputs(s)[:-1]:
            assert np.isfinite(table).all()
        assert (s.density > 0).all()
        assert (s.energy > 0).all()
        with pytest.raises(ValueError, match="range of double precision"):
            check_times(np.array([1.03 * edge if edge > 1.0 else edge / 1.03]), 50, n)


def test_weights_further_apart_than_the_range_are_an_error():
    with pytest.raises(ValueError, match=re.escape("got weights[1] = 1e-200 and weights[2] = 1e+100")):
        hf.HeatField([[0.0], [1.0], [2.0]], [1.0, 1e-200, 1e100])
    with pytest.raises(ValueError, match=re.escape("weights[0] = 5e-324 and weights[1] = 1e+308")):
        hf.HeatField([[0.0], [1.0]], [5e-324, 1e308])
    field = hf.HeatField([[0.0], [100.0], [200.0]], [0.0, 1e-150, 1e120])  # one without heat does not count
    assert field.log_value([[100.0]], 1.0)[0] == pytest.approx(np.log(1e-150 / np.sqrt(4 * np.pi)))


def test_heat_above_the_largest_number_is_an_error():
    field = hf.HeatField(POINTS * 1e-130)
    at, t = POINTS[:2] * 1e-130, 1e-260
    assert np.isfinite(field.log_value(at, t)).all()
    for name in ("value", "gradient", "hessian"):
        with pytest.raises(ValueError, match="above 1e308 in this unit of length"):
            getattr(field, name)(at, t)


@pytest.mark.parametrize("targets", [np.empty(0, int), np.empty((0, 3))])
def test_no_targets_give_no_rows(targets):
    s = hf.signatures(POINTS, targets=targets)
    assert s.density.shape == s.dimension.shape == s.transition.shape == (0, 8)
    assert s.spectrum.shape == (0, 8, 3)
    assert np.isnan(s.energy).all()
    assert np.isnan(s.hds.composition).all()
    assert s.per_point().shape == (0, 48)
    assert str(s)


def test_no_places_give_no_rows():
    for method in ("dense", "fast"):
        field = hf.HeatField(POINTS, method=method)
        none = np.empty((0, 3))
        assert field.value(none, [1.0, 2.0]).shape == (0, 2)
        assert field.gradient(none, 1.0).shape == (0, 3)
        assert field.hessian(none, [1.0]).shape == (0, 1, 3, 3)
        assert field.dimension(none, 1.0).shape == (0,)
