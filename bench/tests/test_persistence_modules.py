"""Bars of slices, the maps between them, and generalised ranks over worms, beside plain linear algebra."""

import itertools

import numpy as np
import pytest

from heatfield_bench import baselines
from heatfield_bench.baselines.bifiltration import Bifiltration, bifiltration, sliced
from heatfield_bench.baselines.worms import worm_widths
from reference_homology import Module

gudhi = pytest.importorskip("gudhi", reason="needs gudhi: pip install 'heatfield-bench[persistence]'")


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


def random_complex(seed, vertices=6):
    """All edges and half of the triangles on some vertices; values respect faces and nothing else."""
    rng = np.random.default_rng(seed)
    simplices = [np.array(list(itertools.combinations(range(vertices), d + 1))) for d in range(3)]
    simplices[2] = simplices[2][np.sort(rng.permutation(len(simplices[2]))[: len(simplices[2]) // 2])]
    values = [0.1 * rng.random((vertices, 2))]
    for d, spread in ((1, 0.5), (2, 1.0)):
        place = {tuple(cell): i for i, cell in enumerate(simplices[d - 1].tolist())}
        faces = [[place[face] for face in itertools.combinations(cell, d)] for cell in simplices[d].tolist()]
        values.append(values[-1][np.array(faces)].max(axis=1) + spread * rng.random((len(faces), 2)) ** 3)
    return Bifiltration(tuple(simplices), tuple(v[:, 0] for v in values), tuple(v[:, 1] for v in values))


def geometric_complex(seed, m=12):
    cloud = np.random.default_rng(seed).random((m, 2))
    found = bifiltration(cloud, 2, bandwidth=0.15, max_radius=0.3)
    values = found.codensity[0]
    return found.scaled(0.3, values.min(), values.max())


def worm(i, j, d, length):
    """All nodes (radius, codensity) of the union of squares."""
    reach = (length - 1) * d
    steps = range(-d, d + 1)
    return {(j + a + x, i - a + y) for a in range(-reach, reach + 1) for x in steps for y in steps}


def widths_by_definition(complex_, degree, resolution, length, count):
    nodes = np.linspace(0.0, 1.0, resolution)
    module = Module(complex_, degree)
    out = np.zeros((count, resolution, resolution))
    for i in range(resolution):
        for j in range(resolution):
            for d in range(1, resolution):
                squares = worm(i, j, d, length)
                if min(map(min, squares)) < 0:
                    break
                inside = sorted({tuple(min(c, resolution - 1) for c in node) for node in squares})
                rank = module.generalised_rank([(nodes[r], nodes[c]) for r, c in inside])
                if rank == 0:
                    break
                out[:rank, i, j] = d
    return out


@pytest.mark.parametrize(
    ("make", "seed", "degree", "resolution", "length"),
    [(random_complex, 0, 0, 6, 2), (random_complex, 1, 1, 6, 2), (random_complex, 2, 1, 6, 2),
     (random_complex, 3, 1, 5, 1), (random_complex, 4, 1, 8, 3), (geometric_complex, 0, 0, 6, 2)],
)  # fmt: skip
def test_widths_are_those_of_the_definition(make, seed, degree, resolution, length):
    complex_ = make(seed)
    found = worm_widths(complex_, degree, resolution, length, 4)
    np.testing.assert_array_equal(found, widths_by_definition(complex_, degree, resolution, length, 4))
    assert found.sum() > 0


def test_worms_tell_more_than_squares():
    """Over a longer set the rank is smaller, and here it truly is."""
    short, long = (worm_widths(random_complex(1), 1, 6, length, 4) for length in (1, 2))
    assert (long <= short).all()
    assert long.sum() < short.sum()


def test_ranks_above_one_occur():
    """So that the test above is one of ranks, not of the first class alone."""
    assert any(worm_widths(random_complex(seed), 1, 6, 2, 2)[1].any() for seed in (1, 2))


def test_more_than_64_bars():
    """Beyond one machine word."""
    complex_ = geometric_complex(3, m=150)
    found = worm_widths(complex_, 0, 30, 1, 60)
    nodes = np.linspace(0.0, 1.0, 30)
    module = Module(complex_, 0)
    for i, j in ((6, 1), (15, 1), (28, 1), (27, 2), (29, 3)):
        # A square's rank is that of the map from its lower to its upper corner.
        for d in range(1, min(i, j) + 1):
            lower = nodes[j - d], nodes[i - d]
            upper = nodes[min(29, j + d)], nodes[min(29, i + d)]
            rank = min(60, module.rank(lower, upper))
            np.testing.assert_array_equal(found[:, i, j] >= d, np.arange(60) < rank)
    assert found[:, 28, 1].sum() > 2


def test_empty_complex_has_no_width():
    none = tuple(np.zeros((0, d + 1), np.int64) for d in range(3))
    complex_ = Bifiltration(none, (np.zeros(0),) * 3, (np.zeros(0),) * 3)
    assert not worm_widths(complex_, 1, 5, 2, 2).any()


@pytest.mark.parametrize(("name", "value"), [("length", 0), ("n_ranks", 0), ("resolution", 1)])
def test_wrong_options_are_named(name, value):
    clouds = [np.random.default_rng(i).random((9, 2)) for i in range(4)]
    with pytest.raises(ValueError, match=f"{name} must be an integer of at least"):
        baselines.GRIL(**{name: value}).fit(clouds, [0, 1, 0, 1])
