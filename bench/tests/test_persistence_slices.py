"""Barcodes of density slices beside gudhi's, and the maps between slices beside linear algebra."""

import numpy as np
import pytest

from reference_homology import Module

gudhi = pytest.importorskip("gudhi", reason="needs gudhi: pip install 'heatfield-bench[persistence]'")

from heatfield_bench.baselines.bifiltration import bifiltration, sliced  # noqa: E402


def some_complex(m, n=2, seed=0, degree=1):
    cloud = np.random.default_rng(seed).random((m, n))
    return bifiltration(cloud, degree + 1, bandwidth=0.2, max_radius=np.inf)


def some_thresholds(complex_, count):
    return np.quantile(complex_.codensity[0], np.arange(1, count + 1) / count)


def bars_by_gudhi(complex_, degree, threshold):
    tree = gudhi.SimplexTree()
    for cells, radius, codensity in zip(complex_.simplices, complex_.radius, complex_.codensity, strict=True):
        for cell, value in zip(cells[codensity <= threshold], radius[codensity <= threshold], strict=True):
            tree.insert(cell.tolist(), value)
    tree.compute_persistence(homology_coeff_field=2, min_persistence=0, persistence_dim_max=True)
    return tree.persistence_intervals_in_dimension(degree).reshape(-1, 2)


def in_order(bars):
    return bars[np.lexsort(bars.T)]


@pytest.mark.parametrize(
    ("m", "n", "degree"),
    [(1, 2, 0), (2, 2, 1), (60, 2, 0), (60, 2, 1), (300, 2, 1), (40, 3, 1), (40, 3, 2)],
)
def test_every_slice_has_the_bars_of_gudhi(m, n, degree):
    complex_ = some_complex(m, n, degree=degree)
    thresholds = some_thresholds(complex_, 7)
    found = sliced(complex_, degree, thresholds, maps=True)
    for s, threshold in enumerate(thresholds):
        mine = slice(found.starts[s], found.starts[s + 1])
        bars = np.stack([found.birth[mine], found.death[mine]], axis=1)
        np.testing.assert_array_equal(in_order(bars), in_order(bars_by_gudhi(complex_, degree, threshold)))


def test_without_maps_the_bars_are_the_same():
    complex_ = some_complex(80)
    one, other = (sliced(complex_, 1, some_thresholds(complex_, 5), maps=m) for m in (False, True))
    np.testing.assert_array_equal(one.birth, other.birth)
    np.testing.assert_array_equal(one.death, other.death)
    assert len(one.source) == 0 < len(other.source)


def test_maps_go_to_the_next_slice_where_a_map_can_be():
    complex_ = some_complex(150)
    for degree in (0, 1):
        found = sliced(complex_, degree, some_thresholds(complex_, 6), maps=True)
        owner = np.repeat(np.arange(6), np.diff(found.starts))
        np.testing.assert_array_equal(owner[found.target], owner[found.source] + 1)
        assert (found.birth[found.target] <= found.birth[found.source]).all()
        assert (found.birth[found.source] < found.death[found.target]).all()
        assert (found.death[found.target] <= found.death[found.source]).all()
        assert len(np.unique(np.stack([found.source, found.target]), axis=1).T) == len(found.source)


@pytest.mark.parametrize(("degree", "seed"), [(0, 1), (1, 2), (1, 3), (1, 4)])
def test_maps_give_the_ranks_of_linear_algebra(degree, seed):
    """All ranks from one slice and radius to others: bars and maps describe the module completely."""
    complex_ = some_complex(24, seed=seed)
    thresholds = some_thresholds(complex_, 5)
    found = sliced(complex_, degree, thresholds, maps=True)
    steps = np.zeros((len(found.birth), len(found.birth)), int)
    steps[found.source, found.target] = 1
    module = Module(complex_, degree)
    radii = np.quantile(np.concatenate(complex_.radius[degree:]), [0.1, 0.4, 0.5, 0.6, 0.7, 0.9])
    positive = 0
    for s in range(5):
        for i, r in enumerate(radii):
            start = np.arange(found.starts[s], found.starts[s + 1])
            start = start[(found.birth[start] <= r) & (r < found.death[start])]
            table = np.eye(len(found.birth), dtype=int)[start]
            for t in range(s, 5):
                for q in radii[i:]:
                    end = np.arange(found.starts[t], found.starts[t + 1])
                    end = end[(found.birth[end] <= q) & (q < found.death[end])]
                    small = table[:, end].astype(bool)
                    got = _rank(small)
                    expected = module.rank((r, thresholds[s]), (q, thresholds[t]))
                    assert got == expected
                    positive += expected > 0
                table = table @ steps % 2
    assert positive > 20


def _rank(table):
    from reference_homology import rank

    return rank(table) if table.size else 0
