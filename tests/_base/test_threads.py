"""Work cut into pieces."""

import time

import numpy as np
import pytest

from heatfield._base.threads import Stopped, as_finished, even_pieces, stop_if_asked


@pytest.mark.parametrize("sizes", [[], [0], [5000], [10] * 7, [0, 3000, 3000, 1], [2000] * 5, [100] * 3000])
def test_even_pieces_cover_every_cloud_once(sizes):
    found = even_pieces(np.array(sizes, dtype=int))
    assert [i for first, last in found for i in range(first, last)] == list(range(len(sizes)))
    # A piece is closed by the cloud that fills it: without its last cloud it is below the load.
    for first, last in found:
        assert sum(m * m for m in sizes[first : last - 1]) < 4e6
    assert even_pieces(sizes) == found


def test_as_finished_gives_every_item_with_its_result():
    found = dict(as_finished(lambda k: k * k, range(20), 3))
    assert found == {k: k * k for k in range(20)}
    assert list(as_finished(abs, [], 2)) == []


def test_as_finished_takes_an_item_only_when_a_thread_is_free():
    taken = []

    def items():
        for k in range(100):
            taken.append(k)
            yield k

    for number, _ in enumerate(as_finished(abs, items(), 2)):
        if number == 3:
            break
    assert len(taken) <= 2 + 4


def test_as_finished_stops_what_is_under_way():
    """An error in one thread ends the others, and reaches the caller."""
    ended = []

    def work(k):
        if k == 0:
            raise KeyError("zero")
        until = time.monotonic() + 30
        try:
            while time.monotonic() < until:
                stop_if_asked()
                time.sleep(0.01)
        except Stopped:
            ended.append(k)
            raise

    with pytest.raises(KeyError, match="zero"):
        list(as_finished(work, range(2), 2))
    assert ended == [1]
