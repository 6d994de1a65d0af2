"""Pictures hold what they claim to show."""

import numpy as np
import pytest

import heatfield as hf


@pytest.mark.parametrize("n", [2, 3])
def test_dimension_over_scales(n):
    points = np.random.default_rng(0).normal(size=(60, n))
    s = hf.signatures(points, n_scales=5)
    figure = hf.plot.dimension_over_scales(points, s, scales=[0, 2, 4])
    pictures = [axis for axis in figure.axes if axis.get_title().startswith("scale")]
    assert [axis.get_title().split(":")[0] for axis in pictures] == ["scale 0", "scale 2", "scale 4"]
    for axis, a in zip(pictures, [0, 2, 4], strict=True):
        drawn = axis.collections[0]
        np.testing.assert_array_equal(drawn.get_array(), s.dimension[:, a])
        assert drawn.get_clim() == (0, n)


def test_dimension_over_scales_refuses_other_clouds():
    points = np.random.default_rng(0).normal(size=(20, 4))
    with pytest.raises(ValueError, match="points must have 2 or 3 coordinates to be drawn, got 4"):
        hf.plot.dimension_over_scales(points, hf.signatures(points))
    with pytest.raises(ValueError, match="signatures are of 20 points, but points has 10"):
        hf.plot.dimension_over_scales(points[:10, :2], hf.signatures(points[:, :2]))


def test_spectra_by_class():
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.ones(3), size=(12, 8))
    labels = ["a", "b"] * 6
    figure = hf.plot.spectra_by_class(shares, labels, names={"a": "first"})
    below = figure.axes[3:6]
    assert [line.get_label() for line in below[0].lines[1:]] == ["first", "b"]
    expected = 100 * np.median(shares[::2, :, 1] - shares[:, :, 1].mean(axis=0), axis=0)
    np.testing.assert_allclose(below[1].lines[1].get_ydata(), expected)
    with pytest.raises(ValueError, match=r"compositions must have shape \(N, T, K\) for N = 3 labels"):
        hf.plot.spectra_by_class(shares, ["a"] * 3)
