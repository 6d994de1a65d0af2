"""Vectors of multiparameter persistence beside their definitions, by linear algebra on small clouds."""

import numpy as np
import pytest
from sklearn.base import clone

from reference_homology import Module
from shared import chance_band, coin_labels

pytest.importorskip("gudhi", reason="needs gudhi: pip install 'heatfield-bench[persistence]'")
pytest.importorskip("xgboost", reason="needs xgboost: pip install 'heatfield-bench[persistence]'")

import heatfield_bench as hb
from heatfield_bench.baselines.bifiltration import bifiltration, codensities, distinct
from heatfield_bench.baselines.persistence import landscapes, signed_measure


def unit_complex(m=22, seed=0, degree=1):
    """A bifiltration whose values run from 0 to 1."""
    cloud = np.random.default_rng(seed).random((m, 2))
    found = bifiltration(cloud, degree + 1, bandwidth=0.15, max_radius=0.3)
    values = found.codensity[0]
    return found.scaled(0.3, values.min(), values.max())


# --- the bifiltration --------------------------------------------------------------


def test_codensity_is_the_gaussian_mean_over_all_points():
    cloud = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0], [3.0, 4.0]])
    points, counts = distinct(cloud)
    expected = [-np.log(np.mean([np.exp(-((p - q) ** 2).sum() / 8.0) for q in cloud])) for p in points]
    np.testing.assert_allclose(codensities(points, counts, 2.0), expected, rtol=1e-14)
    assert len(points) == 3


def test_alpha_radii_of_a_triangle():
    """An acute triangle enters at its circumradius, edges at half their lengths."""
    corners = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 2.0]])
    found = bifiltration(corners, 2, bandwidth=1.0, max_radius=np.inf)
    a, b, c = np.sqrt(5.0), np.sqrt(5.0), 2.0
    np.testing.assert_allclose(found.radius[2], [a * b * c / (4 * 2.0)], rtol=1e-12)
    np.testing.assert_allclose(np.sort(found.radius[1]), [c / 2, a / 2, a / 2], rtol=1e-12)
    np.testing.assert_array_equal(found.radius[0], 0.0)
    # A simplex enters with the last of its vertices.
    for cells, values in zip(found.simplices, found.codensity, strict=True):
        np.testing.assert_array_equal(values, found.codensity[0][cells].max(axis=1))


# --- the vectors -------------------------------------------------------------------


@pytest.mark.parametrize("degree", [0, 1])
def test_signed_measure_sums_to_the_hilbert_function(degree):
    complex_ = unit_complex(40)
    nodes = np.linspace(0.0, 1.0, 9)
    masses = signed_measure(complex_, degree, nodes)
    module = Module(complex_, degree)
    expected = [[module.rank((r, c), (r, c)) for r in nodes] for c in nodes]
    np.testing.assert_array_equal(masses.cumsum(axis=0).cumsum(axis=1), expected)
    assert np.sum(expected) > 3


def test_signed_measure_of_multipers_is_the_same():
    multipers = pytest.importorskip(
        "multipers", reason="needs multipers: pip install 'heatfield-bench[persistence]'"
    )
    from multipers.simplex_tree_multi import SimplexTreeMulti

    complex_ = unit_complex(60)
    # On a grid of integers, since multipers rounds to one.
    nodes = np.linspace(0.0, 1.0, 9)
    tree = SimplexTreeMulti(num_parameters=2)
    for cells, radius, codensity in zip(complex_.simplices, complex_.radius, complex_.codensity, strict=True):
        keep = (radius <= 1.0) & (codensity <= 1.0)
        both = np.stack([np.searchsorted(nodes, v[keep]) for v in (radius, codensity)], axis=1)
        tree.insert_batch(cells[keep].T.astype(np.int32), both.astype(float))
    ((places, weights),) = multipers.signed_measure(
        tree, degree=1, grid_strategy="exact", invariant="hilbert", n_jobs=1
    )
    theirs = np.zeros((9, 9))
    np.add.at(theirs, (places[:, 1].astype(int), places[:, 0].astype(int)), weights)
    np.testing.assert_array_equal(signed_measure(complex_, 1, nodes), theirs)


@pytest.mark.parametrize("degree", [0, 1])
def test_landscape_is_the_largest_e_of_such_a_rank(degree):
    """At every node, just below the value the rank is at least k, just above it is not."""
    complex_ = unit_complex(16, seed=3)
    table = landscapes(complex_, degree, 7, 2)
    module = Module(complex_, degree)
    nodes = np.linspace(0.0, 1.0, 7)
    checked = 0
    for k in range(2):
        for i, c in enumerate(nodes):
            for j, r in enumerate(nodes):
                value = table[k, i, j]
                if value > 1e-6:
                    e = value - 1e-9
                    assert module.rank((r - e, c - e), (r + e, c + e)) > k
                    checked += 1
                e = value + 1e-9
                assert module.rank((r - e, c - e), (r + e, c + e)) <= k
    assert checked > 5


def test_image_is_a_sum_over_the_intervals():
    """The definition on the intervals that multipers gives, pixel by pixel."""
    pytest.importorskip("multipers", reason="needs multipers: pip install 'heatfield-bench[persistence]'")
    from heatfield_bench.baselines.persistence import candidate_decomposition

    complex_ = unit_complex(14)
    intervals = candidate_decomposition(complex_, 0.02)
    model = hb.baselines.MPImage(resolution=5, smoothing=0.1)
    image = model._vector(complex_).reshape(2, 5, 5)  # degree, codensity, radius
    nodes = np.linspace(0.0, 1.0, 5)
    expected = np.zeros((2, 5, 5))
    for part in intervals:
        births, deaths = (
            np.array(list(ends)).reshape(-1, 2) for ends in (part.get_birth_list(), part.get_death_list())
        )
        if part.degree > 1:
            continue
        # What lives on beyond the box ends with it, as far as the weight goes.
        widths = [(np.clip(d, 0, 1) - np.clip(b, 0, 1)).min() for b in births for d in deaths]
        for i, r in enumerate(nodes):
            for j, c in enumerate(nodes):
                to_birth = (births - (r, c)).max(axis=1).min()
                to_death = ((r, c) - deaths).max(axis=1).min()
                distance = max(to_birth, to_death, 0.0)
                expected[part.degree, j, i] += max(widths) * np.exp(-(distance**2) / (2 * 0.1**2))
    np.testing.assert_allclose(image, expected, rtol=1e-9, atol=1e-12)


# --- learning ----------------------------------------------------------------------


def two_kinds(count=24, m=40, more=100):
    """Rings and disks in turn, of m, m + 1, ..., m + more - 1, m, ... points."""
    rng = np.random.default_rng(7)
    clouds, labels = [], []
    for i in range(count):
        size = m + i % more
        angle = rng.uniform(0, 2 * np.pi, size)
        radius = np.sqrt(rng.random(size)) if i % 2 else rng.normal(1.0, 0.05, size)
        clouds.append(np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1))
        labels.append("disk" if i % 2 else "ring")
    return clouds, np.array(labels)


SMALL = {"resolution": 8, "n_estimators": 10, "random_state": 0, "progress": False}


@pytest.mark.parametrize("name", ["MPSignedMeasure", "MPLandscape", "MPImage"])
def test_they_learn_rings_and_disks(name):
    if name == "MPImage":
        pytest.importorskip("multipers", reason="needs multipers: pip install 'heatfield-bench[persistence]'")
    clouds, labels = two_kinds(36)
    model = getattr(hb.baselines, name)(**SMALL).fit(clouds[:24], labels[:24])
    assert model.score(clouds[24:], labels[24:]) > 0.9
    np.testing.assert_allclose(model.predict_proba(clouds).sum(axis=1), 1.0)


@pytest.mark.parametrize("name", ["MPSignedMeasure", "MPLandscape", "MPImage", "GRIL"])
def test_labels_by_a_coin_are_not_predicted(name):
    """Of 50 clouds 14 to 36 are right by chance, in all but one of 1,000 cases.

    Trained with the labels of these clouds, the same model knows more of them; nothing of that is left when
    it is trained again, on other clouds.
    """
    if name == "MPImage":
        pytest.importorskip("multipers", reason="needs multipers: pip install 'heatfield-bench[persistence]'")
    clouds, _ = two_kinds(100, m=20, more=5)
    labels = coin_labels(100, seed=0)
    model = getattr(hb.baselines, name)(**{**SMALL, "resolution": 16 if name == "GRIL" else 8})
    low, high = chance_band(50)
    assert (low, high) == (14, 36)

    def right():
        return np.sum(model.predict(clouds[50:]) == labels[50:])

    model.fit(clouds, labels)
    assert right() > high
    model.fit(clouds[:50], coin_labels(50, seed=1))
    assert low <= right() <= high


def test_features_do_not_change_under_motions():
    clouds, labels = two_kinds(12)
    model = hb.baselines.MPSignedMeasure(**SMALL).fit(clouds, labels)
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    moved = [(cloud @ turn + (3.0, -2.0))[::-1] for cloud in clouds]
    # Values move by round-off, so that a value on a node may go to the next: on few of the nodes.
    before, after = model.transform(clouds), model.transform(moved)
    assert np.mean(np.abs(before - after) > 1e-6) < 0.02
    stretched = model.transform([1.3 * cloud for cloud in clouds])
    assert np.mean(np.abs(before - stretched) > 1e-6) > 0.2


def test_grid_is_fixed_by_the_training_set():
    clouds, labels = two_kinds(12)
    model = hb.baselines.MPSignedMeasure(**SMALL).fit(clouds, labels)
    frame = model.frame_
    np.testing.assert_array_equal(clone(model).fit_transform(clouds, labels), model.transform(clouds))
    model.transform(clouds[:3])
    assert model.frame_ is frame
    assert 0 < frame.bandwidth < 0.3
    assert 0 < frame.max_radius < 1
    given = hb.baselines.MPSignedMeasure(**SMALL, bandwidth=0.5, max_radius=0.7).fit(clouds, labels).frame_
    assert (given.bandwidth, given.max_radius) == (0.5, 0.7)


def test_empty_and_single_points_have_features():
    clouds, labels = two_kinds(12)
    model = hb.baselines.MPSignedMeasure(**SMALL).fit(
        [*clouds, clouds[0][:1], np.zeros((0, 2))], [*labels, "ring", "disk"]
    )
    rows = model.transform([np.zeros((0, 2)), np.zeros((1, 2)), np.zeros((5, 2))])
    assert np.isfinite(rows).all()
    np.testing.assert_array_equal(rows[0], 0.0)
