"""Compiled functions that call each other: one version per type, and none that Python must not call."""

import gc

import numpy as np
import pytest
from numba import config

from heatfield._base.compile import compiled


@compiled(inner=True)
def add_from(values, first, twice):
    total = 0.0
    for i in range(first, values.shape[0]):
        total += 2.0 * values[i] if twice else values[i]
    return total


@compiled()
def add_twice(values, first):
    return add_from(values, 0, True) + add_from(values, first, False)


def test_constants_do_not_make_versions_of_their_own(tmp_path, monkeypatch):
    # In an empty folder: of code that another process has kept, what it calls has no versions here.
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))

    from_place = compiled(inner=True)(add_from.py_func)

    @compiled()
    def three_times(values, first):
        place = 0
        total = from_place(values, 0, True) + from_place(values, first, False)
        while place < first:  # a constant before the loop, a number after its first turn
            total += from_place(values, place, False)
            place += 1
        return total

    assert three_times(np.arange(4.0), 1) == 12.0 + 6.0 + 6.0
    assert len(from_place.signatures) == 1


def test_python_cannot_call_what_has_no_code_for_it():
    add_twice(np.arange(3.0), 1)
    with pytest.raises(TypeError, match="add_from can only be called by compiled code"):
        add_from(np.arange(3.0), 0, True)


def test_the_collector_is_as_before_when_a_function_was_compiled():
    assert gc.isenabled()
    add_twice(np.arange(3.0), np.int32(1))
    assert gc.isenabled()
    gc.disable()
    try:
        add_twice(np.arange(3.0, dtype=np.float32), 1)
        assert not gc.isenabled()
    finally:
        gc.enable()
