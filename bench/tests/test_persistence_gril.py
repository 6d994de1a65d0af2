"""GRIL beside its definition: the rank from limit to colimit over all nodes of a worm, by linear algebra."""

import itertools

import numpy as np
import pytest

from reference_homology import Module

pytest.importorskip("gudhi", reason="needs gudhi: pip install 'heatfield-bench[persistence]'")

from heatfield_bench import baselines
from heatfield_bench.baselines.bifiltration import Bifiltration, bifiltration
from heatfield_bench.baselines.worms import worm_widths


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
