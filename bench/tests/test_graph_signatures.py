"""HKS and WKS: beside the plain reference, and on graphs where eigenvectors are a matter of choice."""

import re

import numpy as np
import pytest

import reference_descriptors as reference
from heatfield_bench.baselines import HKS, WKS
from heatfield_bench.baselines import spectral as graphs
from tests.helpers.agreement import assert_agree
from tests.helpers.clouds import cloud, rotation

METHODS = [pytest.param(HKS, reference.hks, id="HKS"), pytest.param(WKS, reference.wks, id="WKS")]


def clustered(count=85, size=12, seed=0):
    """So many small clusters, far apart, that the graph has more components than eigenpairs are kept."""
    rng = np.random.default_rng(seed)
    centres = 100.0 * np.stack(np.meshgrid(*[np.arange(5)] * 3), axis=-1).reshape(-1, 3)[:count]
    return (centres[:, None] + rng.normal(size=(count, size, 3))).reshape(-1, 3)


def torus(side):
    """A regular grid on a torus in four dimensions: most eigenvalues are multiple."""
    a = np.arange(side) * 2 * np.pi / side
    a, b = (g.ravel() for g in np.meshgrid(a, a))
    return np.stack([np.cos(a), np.sin(a), np.cos(b), np.sin(b)], axis=1)


def lattice():
    return np.stack(np.meshgrid(*[np.arange(8.0)] * 3), axis=-1).reshape(-1, 3)


@pytest.mark.parametrize(("method", "plain"), METHODS)
@pytest.mark.parametrize("name", ["sphere", "curve", "ball", "clusters", "large", "few", "clustered"])
def test_agrees_with_the_reference(method, plain, name):
    """Several hundred points go through Lanczos iterations, the others through the dense solver."""
    points = {"large": cloud("ball", m=600), "few": cloud("ball")[:30], "clustered": clustered()}.get(name)
    points = cloud(name) if points is None else points
    found = method().per_point(points).T[None]
    assert_agree(found, plain(points), 1e-9, floor=1e-6, what=name)
    assert_agree(method().fit_transform([points])[0], reference.pooled(plain(points)), 1e-9, floor=1e-6)


@pytest.mark.parametrize("method", [HKS, WKS])
@pytest.mark.parametrize(
    "points",
    [cloud("sphere"), cloud("curve", m=600), cloud("duplicates"), clustered(), torus(22), lattice()],
    ids=["sphere", "curve", "duplicates", "clustered", "torus", "lattice"],
)
def test_invariance(method, points):
    """Also where neighbours tie, eigenvalues coincide and the graph falls apart."""
    n = points.shape[1]
    order = np.random.default_rng(3).permutation(len(points))
    here = method().per_point(points)
    for moved in (
        points @ rotation(n).T,
        points * ([-1.0] + [1.0] * (n - 1)) @ rotation(n, 1).T,
        points + 1.0 / 3.0,
        points / 7.0,
    ):
        np.testing.assert_allclose(method().per_point(moved[order]), here[order], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("method", [HKS, WKS])
def test_copies_share_the_values_of_their_place(method):
    points = cloud("ball")
    twice = np.concatenate([points, points[:100], points[:100]])
    found = method().per_point(twice)
    np.testing.assert_allclose(found[:240], method().per_point(points), rtol=1e-9)
    np.testing.assert_array_equal(found[240:340], found[:100])
    np.testing.assert_array_equal(found[340:], found[:100])


def test_each_cluster_has_its_own_spectrum():
    """A cluster of 12 keeps all its heat: the sum over it is its trace, and at late times 1."""
    found = HKS().per_point(clustered()).reshape(85, 12, 16)
    assert np.isfinite(found).all()
    assert (found.sum(axis=1) > 1.0).all()
    assert np.ptp(found[:, :, 0]) > 1e-4  # not the same constant everywhere
    np.testing.assert_allclose(found[:, :, -1], 1 / 12, atol=1e-4)


def test_all_points_neighbours_of_each_other():
    """One eigenvalue, 5, four times: any basis will do, and every point is like every other."""
    points = cloud("ball")[:5]
    t = 4 * np.log(10) / 5
    np.testing.assert_allclose(HKS().per_point(points), 1 / 5 + 4 / 5 * np.exp(-5 * t), rtol=1e-12)
    np.testing.assert_allclose(WKS().per_point(points), 1 / 5, rtol=1e-12)


def test_heat_of_a_whole_spectrum_is_one_at_the_start():
    """With all eigenpairs and t towards 0 the heat kernel is the identity."""
    values, vectors = graphs.lowest_pairs(graphs._laplacian(graphs.neighbour_graph(cloud("ball"), 10)), 240)
    assert len(values) == 240
    np.testing.assert_allclose((vectors**2).sum(axis=1), 1.0, rtol=1e-12)


def test_an_eigenspace_is_not_cut():
    """Eigenvalues of the regular torus come in groups of up to eight, and 80 ends inside one."""
    L = graphs._laplacian(graphs.neighbour_graph(torus(22), 10))
    values, vectors = graphs.lowest_pairs(L, 80)
    every = np.linalg.eigvalsh(L.toarray())
    assert every[80] - every[79] < 1e-12
    assert len(values) > 80
    assert every[len(values)] - every[len(values) - 1] > 1e-3
    np.testing.assert_allclose(values, every[: len(values)], atol=1e-11)
    np.testing.assert_allclose(np.ptp((vectors**2).sum(axis=1)), 0.0, atol=1e-12)  # all points are alike


def test_a_missed_copy_is_found(monkeypatch):
    """Lanczos iterations may overlook one of several equal eigenvalues."""
    L = graphs._laplacian(graphs.neighbour_graph(torus(22), 10))
    whole, plain = np.linalg.eigvalsh(L.toarray()), graphs.eigsh

    def overlooks(A, k, **options):
        if k == 1:
            return plain(A, k, **options)
        values, vectors = plain(A, k + 2, **options)
        order = np.argsort(values)
        keep = np.delete(order, [2, 7])
        return values[keep], vectors[:, keep]

    monkeypatch.setattr(graphs, "eigsh", overlooks)
    values, vectors = graphs._lanczos(L, 84, 1e-6)
    np.testing.assert_allclose(values, whole[:84], atol=1e-9)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(84), atol=1e-9)


def test_ties_are_all_neighbours():
    """Inside the lattice six are at distance 1 and twelve at sqrt 2: the tenth is one of twelve."""
    points = lattice()
    degree = graphs.neighbour_graph(points, 10).sum(axis=1)
    inside = ((points > 0) & (points < 7)).all(axis=1)
    deep = ((points > 1) & (points < 6)).all(axis=1)
    assert (degree[deep] == 18).all()
    assert (degree[inside] >= 18).all()


def test_a_centre_has_all_as_neighbours():
    points = np.concatenate([np.zeros((1, 3)), cloud("sphere")])
    graph = graphs.neighbour_graph(points, 10)
    assert graph[[0]].sum() == 240


def test_places_that_rounding_tells_apart_are_one():
    points = cloud("ball")
    shaken = np.concatenate([points, points * (1 + 4e-16)])
    places, place = graphs.distinct_places(shaken)
    assert len(places) == 240
    np.testing.assert_array_equal(place[:240], place[240:])
    np.testing.assert_array_equal(place[:240], np.arange(240))


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (HKS(n_neighbors=0), "n_neighbors must be an integer of at least 1, got 0"),
        (HKS(n_pairs=1), "n_pairs must be an integer of at least 2, got 1"),
        (HKS(n_times=2.5), "n_times must be an integer of at least 1, got 2.5"),
        (WKS(n_energies=0), "n_energies must be an integer of at least 1, got 0"),
        (WKS(width=0.5), "width must be a number above 0 and below 0.25, got 0.5"),
        (WKS(width="wide"), "width must be a number above 0 and below 0.25, got 'wide'"),
    ],
)
def test_wrong_parameters(estimator, message):
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        estimator.fit([cloud("ball")])


def test_a_narrow_wave_is_defined():
    found = WKS(width=1e-4).per_point(cloud("clusters"))
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found.sum(axis=0), 1.0, rtol=1e-9)
