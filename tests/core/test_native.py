"""The native module: every instruction set, its arithmetic, and arrays that do not fit."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from heatfield import _core
from heatfield.core.clouds import arrange, grow
from tests.helpers.process import ROOT, environment, run_python

LOG_2 = np.log(2.0)


@pytest.mark.parametrize("isa", _core.isas())
def test_random_clouds_on_every_instruction_set(isa):
    """Compared with plain NumPy, bit by bit: see tools/random_clouds.py."""
    command = [sys.executable, "-P", ROOT / "tools" / "random_clouds.py", Path(_core.__file__).parent, "100"]
    done = subprocess.run(command, env=environment(HEATFIELD_ISA=isa), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"100 clouds with {isa}: as NumPy has them\n"


def test_the_best_instruction_set_is_taken():
    code = "from heatfield import _core; print(_core.isa())"
    assert run_python(code, HEATFIELD_ISA="").strip() == _core.isas()[-1]
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment(HEATFIELD_ISA="sse9"), capture_output=True, text=True)
    assert done.returncode == 1
    assert "HEATFIELD_ISA must be one of baseline" in done.stderr
    assert "got 'sse9'" in done.stderr


def test_works_where_home_cannot_be_written():
    code = "import heatfield as hf; print(hf.signatures([[0], [1], [3]], lengths=[1, 2]).density.shape)"
    home = "/proc/nowhere"
    assert run_python(code, HOME=home, XDG_CACHE_HOME=home).strip() == "(3, 2)"


# --- arithmetic ----------------------------------------------------------------------


def powers(y):
    """exp(y) for y <= 0, as the share of a second number beside 1."""
    logs = np.stack([np.zeros_like(y), y])
    _core.shares(logs)
    return logs[1] / logs[0]


def test_exponentials_have_a_small_relative_error():
    y = -np.random.default_rng(0).uniform(0.0, 690.0, 100_001)
    np.testing.assert_allclose(powers(y), np.exp(y), rtol=4e-15 + 700 * 2.3e-16)
    y = -LOG_2 * np.arange(0.0, 900.0, 0.25)
    np.testing.assert_allclose(powers(y), 2.0 ** (y / LOG_2), rtol=2e-13)
    assert (powers(-LOG_2 * np.array([1000.5, 1040.0, 1e5, 1e300])) == 0.0).all()  # before subnormals
    assert (powers(-LOG_2 * np.array([999.0])) > 0.0).all()
    assert np.isnan(powers(np.array([np.nan, -1.0]))).tolist() == [True, False]


def pooled(values):
    out = np.empty((1, 1, 5))
    _core.pool(values[None], np.array([values.size]), out)
    return out[0, 0]


@settings(deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow])
@given(arrays(np.float64, st.integers(1, 60), elements=st.floats(-1e3, 1e3) | st.sampled_from([0.0, 1.0])))
def test_percentiles_are_those_of_numpy(values):
    expected = [values.mean(), values.std(), *np.percentile(values, [10, 50, 90])]
    np.testing.assert_allclose(pooled(values), expected, rtol=1e-12, atol=1e-10)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_deviations_keep_their_range(size):
    values = np.random.default_rng(0).normal(size=50) * size
    np.testing.assert_allclose(pooled(values)[1] / size, (values / size).std(), rtol=1e-12)


# --- arrays that do not fit ------------------------------------------------------------

SOURCES, BOXES, ORDER, *_ = arrange(np.random.default_rng(0).random((100, 3)))
TREE = grow(BOXES)
ROWS = np.random.default_rng(0).random((100, 3))
# A grid, the polynomials of a kernel of six grid points, its width, the centre and the steps; a box of it.
STENCIL = np.zeros((9, 9, 17)), np.zeros((5, 8)), 6, np.zeros(3), np.ones(3)
WHOLE_BOX = np.array([[0, 100, 0, 0, 0, 9, 9, 9]])
EMPTY, NONE = np.empty, np.empty(0)


def walk(starts=(0, 3), feature=(0, 0, 0), left=(1, -1, -1), right=(2, -1, -1), rows=5):
    """One tree of three nodes, unless an option breaks it."""
    feature, left, right = (np.array(a, np.int32) for a in (feature, left, right))
    nodes = np.zeros(3)
    table = np.zeros((5, 4), np.float32)
    _core.walk(table, np.array(starts), feature, nodes, left, right, nodes > 0, nodes, EMPTY((rows, 1)))


def back(points=100, rows=50, last=100, tables=2, directions=False):
    """Gradients at two scales of one cloud, unless an option breaks them."""
    _core.dense_back(
        SOURCES.ravel(), BOXES.ravel(), np.array([100]), np.ones(100), np.ones((2, 1)), 3, 37.0, False,
        np.zeros((5, 2, points)), False, directions, False, np.array([rows]), 0, last,
        EMPTY((tables, 3, 100)), EMPTY((tables, 2, 1)),
    )  # fmt: skip


def near(**other):
    """Near sums of a hundred points, unless an option breaks them."""
    given = {"targets": SOURCES, "rows": EMPTY(0, np.int64), "times": np.ones(1), "offsets": NONE}
    given |= {"sources": SOURCES, "roots": NONE, "boxes": BOXES}
    given |= {"nodes": TREE[0], "begin": TREE[1], "size": TREE[2]}
    given |= {"near_cutoff": 1.0, "weight_cutoff": 2.0, "energy_cutoff": 3.0, "tol": 1e-3}
    given |= {"directions": True, "fourth": False, "energy": False, "single": False, "first": 0, "last": 100}
    _core.near(**{**given, "sums": EMPTY((100, 14)), **other})


def field_by_tree(nearest=0, columns=10):
    """The field at one of the points, unless an option breaks it."""
    heaviest, out = np.zeros(TREE[1].size), EMPTY((1, columns))
    where = np.array([nearest])
    _core.field_by_tree(SOURCES, np.zeros(100), *TREE, heaviest, 1.0, ROWS[:1], where, 0, 1, 9.0, True, out)


def interpolate(stencil=STENCIL, points=SOURCES, last=100, matrix=(1, 1), column=0):
    _core.interpolate(*stencil, points, 0, last, np.ones(matrix), column, EMPTY((100, 1)))


def smallest(tables=1, last=9, first=0, rows=9):
    _core.smallest(np.zeros((tables, 9, 9)), np.array([0, last]), first, EMPTY((rows, 3), np.int64))


MISFITS = [
    lambda: _core.nearest(SOURCES, BOXES[:, :, :-1].copy(), EMPTY(100), EMPTY(100, np.int64)),
    lambda: _core.nearest(SOURCES, BOXES, EMPTY(99), EMPTY(100, np.int64)),
    lambda: _core.sort(ROWS, np.arange(99), EMPTY(100), 0, 100),
    lambda: _core.sort(ROWS, np.arange(100), EMPTY(100), -1, 100),
    lambda: _core.halve(ROWS, np.arange(100), EMPTY(100), 0, 16),
    lambda: _core.gather(ROWS, ORDER, np.zeros(2), 1.0, 0, 100, EMPTY((3, 100))),
    lambda: _core.grow(BOXES, EMPTY((3, 2, 3)), EMPTY(3, np.int64), EMPTY(3, np.int64)),
    lambda: _core.nearest_by_tree(SOURCES[:, :50].copy(), *TREE, 0, 1, EMPTY(50), EMPTY(50, np.int64)),
    lambda: _core.nearest_by_tree(SOURCES, *TREE, 0, 8, EMPTY(100), EMPTY(100, np.int64)),
    lambda: _core.farthest(SOURCES, EMPTY(99), np.zeros(5, np.int64), 0, 4),
    lambda: _core.farthest(SOURCES, EMPTY(100), np.full(5, 100), 0, 4),
    lambda: _core.strauss(np.zeros(1, np.uint64), 1.0, 0.5, 0.1, 9, 2, EMPTY((2, 10))),
    lambda: smallest(last=10, rows=10),
    lambda: smallest(rows=8),
    lambda: smallest(first=-1),
    lambda: smallest(tables=2),
    lambda: _core.extremes(ROWS, np.array([101]), 0, 9, ORDER.copy(), EMPTY(100), ORDER.copy()),
    lambda: _core.extremes(ROWS, np.array([100]), 0, 101, ORDER.copy(), EMPTY(100), ORDER.copy()),
    lambda: _core.eigenvalues_back(np.zeros((6, 5)), np.zeros((3, 5)), np.zeros((6, 4))),
    lambda: back(points=99),
    lambda: back(rows=49),
    lambda: back(last=101),
    lambda: back(tables=1),
    lambda: back(directions=True),
    lambda: walk(left=[0, -1, -1]),
    lambda: walk(right=[3, -1, -1]),
    lambda: walk(feature=[4, 0, 0]),
    lambda: walk(starts=[0, 4]),
    lambda: walk(rows=2),
    lambda: interpolate(last=101),
    lambda: interpolate(matrix=(2, 1)),
    lambda: interpolate(column=1),
    lambda: interpolate(points=SOURCES[:2]),
    lambda: interpolate(stencil=(np.zeros((9, 5, 17)), *STENCIL[1:])),
    lambda: _core.boxes_of_runs(SOURCES, 6, np.zeros(3), np.ones(3), 0, 100, EMPTY((99, 8), np.int64)),
    lambda: _core.spread(SOURCES, EMPTY(99), *STENCIL[1:], WHOLE_BOX, EMPTY(2000)),
    lambda: _core.spread(SOURCES, NONE, *STENCIL[1:], WHOLE_BOX, EMPTY(10)),
    lambda: _core.add_boxes(WHOLE_BOX, 2, EMPTY(10), 9, EMPTY((9, 9, 9))),
    lambda: near(targets=SOURCES[:2].copy()),
    lambda: near(rows=np.arange(99)),
    lambda: near(times=np.ones(2)),
    lambda: near(offsets=np.zeros(99)),
    lambda: near(boxes=BOXES[:, :, 1:].copy()),
    lambda: near(last=101),
    lambda: near(sums=EMPTY((100, 5))),
    lambda: _core.blocks_within(*TREE, np.zeros(3), np.zeros(3), 1.0, EMPTY(6, np.int64)),
    lambda: _core.estimate_within(*TREE, np.zeros(3), np.zeros(3), 1.0, 200),
    lambda: _core.heaviest(*TREE, np.zeros(7), EMPTY(12)),
    lambda: field_by_tree(nearest=100),
    lambda: field_by_tree(nearest=-2),
    lambda: field_by_tree(columns=1),
]


@pytest.mark.parametrize("call", MISFITS)
def test_arrays_that_do_not_fit_are_an_error(call):
    for sound in (walk, back, near, field_by_tree, smallest):
        sound()
    with pytest.raises(ValueError, match=r"must|not"):
        call()


@pytest.mark.parametrize(
    "points", [np.zeros((3, 2), np.float32), np.zeros((2, 6))[:, ::2], np.zeros(3), [[0.0, 1.0]], None]
)
def test_other_types_and_layouts_are_refused(points):
    with pytest.raises(TypeError):
        _core.origin(points, np.empty(2))


def test_read_only_results_are_refused():
    kept = np.zeros(3)
    kept.setflags(write=False)
    with pytest.raises(TypeError):
        _core.origin(ROWS, kept)
