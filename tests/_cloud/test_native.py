"""The native module: every instruction set, equal results, and arrays that do not fit."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from heatfield import _core
from heatfield._cloud.arrange import arrange
from heatfield._cloud.box_tree import grow
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
