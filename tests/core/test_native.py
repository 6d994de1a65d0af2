"""The native module: every instruction set, equal results, and arrays that do not fit."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from heatfield import _core
from heatfield.core.clouds import arrange, grow
from tests.helpers.process import ROOT, environment, run_python

FOLDER = str(Path(_core.__file__).parent)


@pytest.mark.parametrize("isa", _core.isas())
def test_random_clouds_on_every_instruction_set(isa):
    """Compared with plain NumPy, bit by bit: see tools/random_clouds.py."""
    done = subprocess.run(
        [sys.executable, "-P", str(ROOT / "tools" / "random_clouds.py"), FOLDER, "150"],
        env=environment(HEATFIELD_ISA=isa), capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"150 clouds with {isa}: as NumPy has them\n"


def test_the_best_instruction_set_is_taken():
    assert (
        run_python("from heatfield import _core; print(_core.isa())", HEATFIELD_ISA="").strip()
        == (_core.isas()[-1])
    )


def test_an_unknown_instruction_set_is_named():
    done = subprocess.run(
        [sys.executable, "-c", "from heatfield import _core"],
        env=environment(HEATFIELD_ISA="sse9"), capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 1
    assert "HEATFIELD_ISA must be one of baseline" in done.stderr
    assert "got 'sse9'" in done.stderr


SOURCES, BOXES, ORDER, *_ = arrange(np.random.default_rng(0).random((100, 3)))
TREE = grow(BOXES)
ROWS = np.random.default_rng(0).random((100, 3))
# A grid, the polynomials of a kernel of six grid points, its width, the centre and the steps; a box of it.
STENCIL = np.zeros((9, 9, 17)), np.zeros((5, 8)), 6, np.zeros(3), np.ones(3)
WHOLE_BOX = np.array([[0, 100, 0, 0, 0, 9, 9, 9]])


def walk(starts=(0, 3), feature=(0, 0, 0), left=(1, -1, -1), right=(2, -1, -1), rows=5):
    """One tree of three nodes, unless an option breaks it."""
    feature, left, right = (np.array(a, np.int32) for a in (feature, left, right))
    nodes = np.zeros(3)
    _core.walk(
        np.zeros((5, 4), np.float32), np.array(starts), feature, nodes, left, right, nodes > 0, nodes,
        np.empty((rows, 1)),
    )  # fmt: skip


def back(points=100, rows=50, last=100, tables=2, directions=False):
    """Two scales of one cloud, unless an option breaks it."""
    _core.dense_back(
        SOURCES.ravel(), BOXES.ravel(), np.array([100]), np.ones(100), np.ones((2, 1)), 3, 37.0, False,
        np.zeros((5, 2, points)), False, directions, False, np.array([rows]), 0, last,
        np.empty((tables, 3, 100)), np.empty((tables, 2, 1)),
    )  # fmt: skip


@pytest.mark.parametrize(
    "call",
    [
        lambda: _core.nearest(SOURCES, BOXES[:, :, :-1].copy(), np.empty(100), np.empty(100, np.int64)),
        lambda: _core.nearest(SOURCES, BOXES, np.empty(99), np.empty(100, np.int64)),
        lambda: _core.sort(ROWS, np.arange(99), np.empty(100), 0, 100),
        lambda: _core.sort(ROWS, np.arange(100), np.empty(100), 0, 101),
        lambda: _core.sort(ROWS, np.arange(100), np.empty(100), -1, 100),
        lambda: _core.halve(ROWS, np.arange(100), np.empty(100), 0, 16),
        lambda: _core.gather(ROWS, ORDER, np.zeros(2), 1.0, 0, 100, np.empty((3, 100))),
        lambda: _core.grow(BOXES, np.empty((3, 2, 3)), np.empty(3, np.int64), np.empty(3, np.int64)),
        lambda: _core.nearest_by_tree(
            SOURCES[:, :50].copy(), *TREE, 0, 1, np.empty(50), np.empty(50, np.int64)
        ),
        lambda: _core.nearest_by_tree(SOURCES, *TREE, 0, 8, np.empty(100), np.empty(100, np.int64)),
        lambda: _core.clouds(
            ROWS, np.array([60, 40]), np.empty(300), np.empty(42), np.empty(100), np.empty((2, 2)),
            np.empty(2, np.int64),
        ),
        lambda: _core.clouds(
            ROWS, np.array([40]), np.empty(300), np.empty(42), np.empty(100), np.empty((1, 2)),
            np.empty(1, np.int64),
        ),
        lambda: _core.farthest(SOURCES, np.empty(99), np.zeros(5, np.int64), 0, 4),
        lambda: _core.farthest(SOURCES, np.empty(100), np.zeros(5, np.int64), 0, 5),
        lambda: _core.farthest(SOURCES, np.empty(100), np.full(5, 100), 0, 4),
        lambda: _core.strauss(np.zeros(1, np.uint64), 1.0, 0.5, 0.1, 9, 2, np.empty((2, 10))),
        lambda: _core.smallest(np.zeros((1, 9, 9)), np.array([0, 10]), 0, np.empty((10, 3), np.int64)),
        lambda: _core.smallest(np.zeros((1, 9, 9)), np.array([0, 9]), 0, np.empty((8, 3), np.int64)),
        lambda: _core.smallest(np.zeros((1, 9, 9)), np.array([0, 9]), -1, np.empty((9, 3), np.int64)),
        lambda: _core.smallest(np.zeros((2, 9, 9)), np.array([0, 9]), 0, np.empty((9, 3), np.int64)),
        lambda: _core.extremes(ROWS, np.array([101]), 0, 9, ORDER.copy(), np.empty(100), ORDER.copy()),
        lambda: _core.extremes(ROWS, np.array([100]), 0, 101, ORDER.copy(), np.empty(100), ORDER.copy()),
        lambda: _core.eigenvalues_back(np.zeros((6, 5)), np.zeros((3, 5)), np.zeros((6, 4))),
        lambda: _core.eigenvalues_back(np.zeros((10, 5)), np.zeros((4, 5)), np.zeros((10, 5))),
        lambda: back(points=99),
        lambda: back(rows=49),
        lambda: back(rows=0),
        lambda: back(last=101),
        lambda: back(tables=1),
        lambda: back(directions=True),
        lambda: walk(left=[1, -1]),
        lambda: walk(left=[0, -1, -1]),
        lambda: walk(right=[3, -1, -1]),
        lambda: walk(feature=[4, 0, 0]),
        lambda: walk(starts=[0, 4]),
        lambda: walk(starts=[0, 3, 3]),
        lambda: walk(rows=2),
        lambda: _core.interpolate(*STENCIL, SOURCES, 0, 101, np.ones((1, 1)), 0, np.empty((100, 1))),
        lambda: _core.interpolate(*STENCIL, SOURCES, 0, 100, np.ones((2, 1)), 0, np.empty((100, 1))),
        lambda: _core.interpolate(*STENCIL, SOURCES, 0, 100, np.ones((1, 1)), 1, np.empty((100, 1))),
        lambda: _core.interpolate(*STENCIL, SOURCES[:2], 0, 100, np.ones((1, 1)), 0, np.empty((100, 1))),
        lambda: _core.interpolate(
            np.zeros((9, 5, 17)), *STENCIL[1:], SOURCES, 0, 100, np.ones((1, 1)), 0, np.empty((100, 1))
        ),
        lambda: _core.interpolate(*STENCIL, ROWS.T, 0, 100, np.ones((1, 1)), 0, np.empty((100, 1))),
        lambda: _core.boxes_of_runs(SOURCES, 6, np.zeros(3), np.ones(3), 0, 100, np.empty((99, 8), np.int64)),
        lambda: _core.spread(SOURCES, np.empty(99), *STENCIL[1:], WHOLE_BOX, np.empty(2000)),
        lambda: _core.spread(SOURCES, np.empty(0), *STENCIL[1:], WHOLE_BOX, np.empty(10)),
        lambda: _core.spread(SOURCES, np.empty(0), *STENCIL[1:], WHOLE_BOX // 2, np.empty(2000)),
        lambda: _core.add_boxes(WHOLE_BOX, 2, np.empty(10), 9, np.empty((9, 9, 9))),
        lambda: _core.add_boxes(WHOLE_BOX, 2, np.empty(2000), 10, np.empty((9, 9, 9))),
        lambda: _core.apply_heat(
            np.empty((2, 3, 4)), np.empty((2, 3, 4)), np.empty((3, 2)), np.empty((3, 3)), np.empty((3, 2)),
            np.empty(3), np.empty((0, 0, 0)), np.empty((0, 2)),
        ),
    ],
)  # fmt: skip
def test_arrays_that_do_not_fit_are_an_error(call):
    with pytest.raises(ValueError, match=r"must|not"):
        call()


@pytest.mark.parametrize(
    "points", [np.zeros((3, 2), np.float32), np.zeros((2, 6))[:, ::2], np.zeros(3), [[0.0, 1.0]], None]
)
def test_other_types_and_layouts_are_refused(points):
    with pytest.raises(TypeError):
        _core.origin(points, np.empty(2))


def test_a_result_is_not_written_into_a_read_only_array():
    kept = np.zeros(3)
    kept.setflags(write=False)
    with pytest.raises(TypeError):
        _core.origin(ROWS, kept)


def near(**other):
    """Near sums of a hundred points, unless an option breaks them."""
    none, places = np.empty(0), np.empty(0, np.int64)
    given = {"targets": SOURCES, "rows": places, "times": np.ones(1), "offsets": none, "sources": SOURCES}
    given |= {"roots": none, "boxes": BOXES, "nodes": TREE[0], "begin": TREE[1], "size": TREE[2]}
    given |= {"near_cutoff": 1.0, "weight_cutoff": 2.0, "energy_cutoff": 3.0, "tol": 1e-3}
    given |= {"directions": True, "fourth": False, "energy": False, "single": False, "first": 0, "last": 100}
    _core.near(**{**given, "sums": np.empty((100, 14)), **other})


def field_by_tree(nearest=0, columns=10):
    """The field at one of the points, unless an option breaks it."""
    out, heaviest = np.empty((1, columns)), np.zeros(TREE[1].size)
    where = np.array([nearest])
    _core.field_by_tree(SOURCES, np.zeros(100), *TREE, heaviest, 1.0, ROWS[:1], where, 0, 1, 9.0, True, out)


@pytest.mark.parametrize(
    "call",
    [
        lambda: near(targets=SOURCES[:2].copy()),
        lambda: near(rows=np.arange(99)),
        lambda: near(times=np.ones(2)),
        lambda: near(offsets=np.zeros(99)),
        lambda: near(roots=np.ones(99)),
        lambda: near(boxes=BOXES[:, :, 1:].copy()),
        lambda: near(last=101),
        lambda: near(sums=np.empty((100, 5))),
        lambda: near(directions=False),
        lambda: _core.blocks_within(*TREE, np.zeros(3), np.zeros(3), 1.0, np.empty(6, np.int64)),
        lambda: _core.blocks_within(*TREE, np.zeros(2), np.zeros(3), 1.0, np.empty(7, np.int64)),
        lambda: _core.estimate_within(*TREE, np.zeros(3), np.zeros(3), 1.0, 200),
        lambda: _core.heaviest(*TREE, np.zeros(7), np.empty(12)),
        lambda: _core.field(
            SOURCES, BOXES, np.zeros(100), np.zeros(7), np.ones(2), ROWS, 0, 100, 9.0, True,
            np.empty((100, 1, 10)),
        ),
        lambda: field_by_tree(nearest=100),
        lambda: field_by_tree(nearest=-2),
        lambda: field_by_tree(columns=1),
    ],
)  # fmt: skip
def test_sums_into_arrays_that_do_not_fit_are_an_error(call):
    near()
    field_by_tree()
    with pytest.raises(ValueError, match=r"must|not"):
        call()
