"""The benchmark of the first call: whose time is whose, and that one case runs."""

import pytest

from benchmarks import first_call


def test_a_kernel_has_its_own_seconds_and_those_of_numba():
    happened = [
        (1.0, "heatfield._sums.near.near_sums"),
        (3.0, "heatfield._sums.near._gather"),
        (4.0, "numba.np.arrayobj.impl"),
        (4.5, None),
        (5.0, None),
        (9.0, None),
        (20.0, "heatfield._sums.near._gather"),
        (21.0, None),
    ]
    found = first_call.own_seconds(happened)
    assert found == {"_sums.near.near_sums": 6.0, "_sums.near._gather": 3.0}


def test_one_case_compiles_in_the_first_process_only(monkeypatch):
    statement = "from heatfield._sums.columns import column_count; assert column_count(3, True) == 14"
    monkeypatch.setitem(first_call.CASES, "tiny", statement)
    found = first_call.measure("tiny", rounds=1)
    assert list(found["kernels"]) == ["_sums.columns.column_count"]
    assert found["first_s"] > found["compile_s"] > 0.0
    assert found["second_s"] > 0.0


def test_a_case_that_compiles_again_or_fails_is_an_error(monkeypatch):
    code = "import numba; numba.njit(lambda x: x)(1)"
    monkeypatch.setitem(first_call.CASES, "never kept", code)
    with pytest.raises(SystemExit, match="never kept: the second process compiled"):
        first_call.measure("never kept", rounds=1)
    monkeypatch.setitem(first_call.CASES, "broken", "1 / 0")
    with pytest.raises(SystemExit, match="failed: 1 / 0"):
        first_call.measure("broken", rounds=1)
