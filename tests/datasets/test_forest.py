"""The synthetic forest: labels that mean what they say, as a scanner sees them."""

import numpy as np
import pytest

import heatfield as hf
from heatfield.datasets import FOREST_CLASSES, make_forest


@pytest.fixture(scope="module")
def plots():
    return make_forest(2, n_points=4000, random_state=1)


def test_shapes_and_classes(plots):
    clouds, labels = plots
    assert [c.shape for c in clouds] == [(4000, 3)] * 2
    for own in labels:
        counts = np.bincount(own, minlength=5)
        assert (counts[:4] > 100).all(), dict(zip(FOREST_CLASSES, counts, strict=True))
        assert counts[4] == round(0.003 * 4000)


def test_a_plot_does_not_depend_on_the_others(plots):
    clouds, labels = make_forest(1, n_points=4000, random_state=1)
    np.testing.assert_array_equal(clouds[0], plots[0][0])
    np.testing.assert_array_equal(labels[0], plots[1][0])
    assert not np.array_equal(plots[0][0], plots[0][1])


def test_labels_mean_what_they_say(plots):
    for cloud, own in zip(*plots, strict=True):
        heights = [np.median(cloud[own == k, 2]) for k in range(4)]
        assert heights[0] < heights[1] < heights[3]
        s = hf.signatures(cloud[own == 0], lengths=[0.3, 1.0], with_directions=True)
        assert np.nanmedian(s.verticality[:, 1]) < 0.1, "ground lies flat"
        s = hf.signatures(cloud[own == 1], lengths=[0.1, 0.8])
        assert np.nanmedian(s.dimension[:, 1]) < 1.6, "from afar a trunk is a line"


def test_density_falls_with_distance():
    clouds, labels = make_forest(3, n_points=6000, n_scans=1, random_state=5)
    for cloud, own in zip(clouds, labels, strict=True):
        ground = cloud[own == 0][:, :2]
        counts, _, _ = np.histogram2d(*ground.T, bins=6, range=[[0, 12], [0, 12]])
        assert counts.max() > 10 * max(1.0, np.percentile(counts, 10))


@pytest.mark.parametrize(
    "wrong", [{"n_plots": 0}, {"n_points": 10}, {"n_trees": 0}, {"size": 0.1}, {"n_scans": 0}]
)
def test_wrong_arguments(wrong):
    name = next(iter(wrong))
    with pytest.raises(ValueError, match=f"{name} must be"):
        make_forest(**{"n_points": 500, **wrong})
