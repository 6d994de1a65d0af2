"""Pictures show the values they are given."""

import numpy as np
import pytest

import heatfield as hf


@pytest.mark.parametrize("n", [2, 3])
def test_dimensions_are_drawn_scale_by_scale(n):
    points = np.random.default_rng(0).normal(size=(60, n))
    s = hf.signatures(points, n_scales=5)
    pictures = hf.plot.dimension_over_scales(points, s, scales=[0, 2, 4])
    assert [axis.get_title().split(":")[0] for axis in pictures] == ["s0", "s2", "s4"]
    for axis, a in zip(pictures, [0, 2, 4], strict=True):
        drawn = axis.collections[0]
        np.testing.assert_array_equal(drawn.get_array(), s.dimension[:, a])
        assert drawn.get_clim() == (0, n)


def test_axes_show_lengths():
    """Each tick of a scale is its length over its index; of several clouds, the median; with the unit."""
    points = np.random.default_rng(0).normal(size=(60, 3))
    s = hf.signatures(points, lengths=[0.25, 0.5, 1.0])
    ax = hf.plot.dimension_spectrum(s, unit="m")
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["0.25\ns0", "0.5\ns1", "1\ns2"]
    assert ax.get_xlabel() == "length $\\sqrt{t}$, m"
    rows = np.array([[0.1, 0.2, 0.4], [0.3, 0.6, 1.2], [0.2, 0.4, 0.8]])
    ax = hf.plot.class_curves(np.ones((3, 3)), ["a", "b", "a"], lengths=rows)
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["0.2\ns0", "0.4\ns1", "0.8\ns2"]
    assert ax.get_xlabel() == "median length $\\sqrt{t}$"
    below = hf.plot.spectra_by_class(np.full((3, 3, 2), 0.5), ["a", "b", "a"], lengths=rows[:1], unit="$")[1]
    assert below[1].get_xticklabels()[0].get_text() == "0.1\ns0"
    assert r"\$" in below[0].get_xlabel()
    assert hf.plot.class_curves(np.ones((3, 3)), ["a", "b", "a"]).get_xlabel() == "scale, fine to coarse"
    with pytest.raises(ValueError, match=r"lengths must have shape \(T,\) or \(N, T\) for T = 3 scales"):
        hf.plot.class_curves(np.ones((3, 3)), ["a", "b", "a"], lengths=[1, 2])
    curves = hf.plot.global_curves(s, unit="m")
    np.testing.assert_allclose(curves[0].lines[0].get_xdata(), [0.25, 0.5, 1.0])
    assert curves[0].get_xlabel() == "length $\\sqrt{t}$, m"
    assert hf.plot.local_signatures(points, s, [1], unit="m")[0, 0].get_title().endswith("= 0.5 m")
    assert hf.plot.dimension_over_scales(points, s, unit="m")[2].get_title().startswith("s2:")
    panels = hf.plot.pipeline(points, n_scales=3, unit="m")
    assert panels[1, 1].get_xticklabels()[1].get_text().endswith("\ns2")
    assert "m" in panels[1, 2].get_xlabel()


def test_dimension_over_scales_refuses_other_clouds():
    points = np.random.default_rng(0).normal(size=(20, 4))
    with pytest.raises(ValueError, match="points must have 2 or 3 coordinates to be drawn, got 4"):
        hf.plot.dimension_over_scales(points, hf.signatures(points))
    with pytest.raises(ValueError, match="signatures are of 20 points, but points has 10"):
        hf.plot.dimension_over_scales(points[:10, :2], hf.signatures(points[:, :2]))


def test_spectra_show_the_median_of_a_class():
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.ones(3), size=(12, 8))
    labels = ["a", "b"] * 6
    below = hf.plot.spectra_by_class(shares, labels, names={"a": "first"})[1]
    assert [line.get_label() for line in below[0].lines[1:]] == ["first", "b"]
    expected = 100 * np.median(shares[::2, :, 1] - shares[:, :, 1].mean(axis=0), axis=0)
    np.testing.assert_allclose(below[1].lines[1].get_ydata(), expected)
    with pytest.raises(ValueError, match=r"compositions must have shape \(N, T, K\) for N = 3 labels"):
        hf.plot.spectra_by_class(shares, ["a"] * 3)


def test_a_confusion_matrix_shows_its_numbers():
    ax = hf.plot.confusion_matrix([[8, 2, 0], [1, 9, 0], [0, 0, 0]], ["oak", "pine", "<b>elm</b>"])
    assert [text.get_text() for text in ax.texts] == ["8", "2", "1", "9"]
    np.testing.assert_allclose(ax.images[0].get_array()[:2, :2], [[0.8, 0.2], [0.1, 0.9]])
    assert ax.get_title() == "85.0 % right"
    assert [label.get_text() for label in ax.get_yticklabels()] == ["oak", "pine", "<b>elm</b>"]
    with pytest.raises(ValueError, match=r"matrix must have shape \(2, 2\) for 2 labels, got \(3, 3\)"):
        hf.plot.confusion_matrix(np.eye(3), ["a", "b"])
    with pytest.raises(ValueError, match="negative or not finite"):
        hf.plot.confusion_matrix([[1, -1], [0, 1]], ["a", "b"])


def test_axes_that_are_given_are_used():
    import matplotlib.pyplot as plt

    s = hf.signatures(np.random.default_rng(0).normal(size=(40, 2)))
    draws = (
        lambda ax: hf.plot.confusion_matrix([[1, 0], [0, 1]], "ab", ax=ax),
        lambda ax: hf.plot.dimension_spectrum(s, ax=ax),
        lambda ax: hf.plot.class_curves([[1, 2], [3, 4]], "ab", ax=ax),
        lambda ax: hf.plot.accuracy_by_scales([2, 4], {"a": [0.5, 0.6]}, ax=ax),
    )
    for draw in draws:
        given = plt.figure().add_subplot()
        assert draw(given) is given
        plt.close("all")


@pytest.mark.parametrize(
    ("draw", "problem"),
    [
        (lambda _: hf.plot.heat_landscape(np.eye(3)), "points must have 2 coordinates, got 3"),
        (lambda s: hf.plot.local_signatures(np.eye(3), s), "signatures are of 30 points, but points has 3"),
        (lambda _: hf.plot.pipeline(np.eye(4)), "points must have 2 or 3 coordinates to be drawn, got 4"),
        (lambda s: hf.plot.global_curves([s], names=["a", "b"]), "names has 2 names for 1 cloud"),
        (lambda _: hf.plot.class_curves([[1, 2]], "ab"), r"values must have shape \(N, T\) for N = 2 labels"),
        (lambda _: hf.plot.accuracy_by_scales([2, 4], {"x": [1.0]}), r"accuracies\['x'\] must have 2 rows"),
    ],
)
def test_wrong_arrays_are_named(draw, problem):
    s = hf.signatures(np.random.default_rng(0).normal(size=(30, 2)))
    with pytest.raises(ValueError, match=problem):
        draw(s)


def test_global_curves_need_the_whole_cloud():
    points = np.random.default_rng(0).normal(size=(30, 2))
    with pytest.raises(ValueError, match="has no global curves"):
        hf.plot.global_curves(hf.signatures(points, targets=[1, 2, 3]))


def test_many_classes_can_be_told_apart():
    from heatfield.plot._style import CLASS_COLORS, class_color, class_line

    colors = [class_color(k) for k in range(40)]
    assert colors[:8] == [*CLASS_COLORS]
    rgb = np.array([[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in colors], dtype=float)
    apart = np.sqrt(((rgb[:, None] - rgb[None]) ** 2).sum(axis=2)) + 1e9 * np.eye(40)
    styles = [(c, tuple(class_line(k).values())) for k, c in enumerate(colors)]
    assert len({*styles}) == 40
    assert apart[8:20, :20].min() > 80  # those by hand are nearer to each other
    assert apart.min() > 50
    assert class_color(64) == colors[0]
