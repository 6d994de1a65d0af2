"""Pieces in threads: what `equations` gives for the whole table, the same bits for any number of threads."""

import numpy as np

from heatfield._signatures import by_pieces, equations


def test_pieces_give_what_the_whole_table_gives():
    rng = np.random.default_rng(0)
    u, d = rng.random((150_000, 3)) + 0.1, 3.0 * rng.random((150_000, 3))
    d[:70_000] *= 0.3  # so that a mean of means, not weighted, would be another
    u[:70_000] *= 9.0
    centers = np.arange(4.0)
    expected = equations.heat_dimension_spectrum(u, d, centers, 0.5)
    one = by_pieces.heat_dimension_spectrum(u, d, centers, 0.5, 1)
    many = by_pieces.heat_dimension_spectrum(u, d, centers, 0.5, 3)
    np.testing.assert_allclose(one, expected, rtol=0, atol=1e-13)
    np.testing.assert_array_equal(many, one)
    shared, own = np.array([[1.0, 2.0, 5.0]]), np.cumsum(rng.random((150_000, 3)) + 0.5, axis=1)
    for times in (shared, own):
        found = by_pieces.transition_by_difference(d, times, 2)
        np.testing.assert_array_equal(found, equations.transition_by_difference(d, times))
