"""Work cut into pieces."""

import numpy as np
import pytest

from heatfield._base.threads import even_pieces


@pytest.mark.parametrize("sizes", [[], [0], [5000], [10] * 7, [0, 3000, 3000, 1], [2000] * 5, [100] * 3000])
def test_even_pieces_cover_every_cloud_once(sizes):
    found = even_pieces(np.array(sizes, dtype=int))
    assert [i for first, last in found for i in range(first, last)] == list(range(len(sizes)))
    # A piece is closed by the cloud that fills it: without its last cloud it is below the load.
    for first, last in found:
        assert sum(m * m for m in sizes[first : last - 1]) < 4e6
    assert even_pieces(sizes) == found
