"""Arrays used again: never by two at a time, and only where they fit."""

import threading

import numpy as np

from heatfield.core.clouds import Buffers


def test_memory_is_used_again_where_it_fits():
    buffers = Buffers()
    with buffers.take((100, 10)) as first:
        pass
    with buffers.take((400,), np.complex128) as second:  # 6,400 of 8,000 bytes
        assert np.shares_memory(first, second)
    with buffers.take((100, 20)) as larger:
        assert not np.shares_memory(first, larger)
    with buffers.take((4,)) as small:  # a large array is not spent on a few numbers
        assert not np.shares_memory(larger, small)


def test_an_empty_array_is_one_too():
    with Buffers().take((0, 0, 0), np.complex128) as nothing:
        assert nothing.shape == (0, 0, 0)


def test_two_threads_never_have_the_same_array():
    buffers, mixed = Buffers(), []

    def work(number):
        for _ in range(300):
            with buffers.take((50,)) as mine:
                mine[:] = number
                if not (mine == number).all():
                    mixed.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not mixed
    with buffers.take((50,)) as one, buffers.take((50,)) as other:
        assert not np.shares_memory(one, other)
