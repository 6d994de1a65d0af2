"""`patterns.Polygon`: rings that are none, and thin windows."""

import subprocess
import sys

import numpy as np
import pytest

from heatfield.patterns import Polygon
from tests.defects import defect
from tests.helpers.process import environment

SQUARE = [[0, 0], [1, 0], [1, 1], [0, 1]]


def square(x, y, side):
    return [[x, y], [x + side, y], [x + side, y + side], [x, y + side]]


CASES = {
    "a hole outside": (SQUARE, [square(2, 2, 0.5)]),
    "a hole across the boundary": (SQUARE, [square(0.75, 0.25, 0.5)]),
    "holes that overlap": (SQUARE, [square(0.1, 0.1, 0.5), square(0.3, 0.3, 0.5)]),
    "a hole given twice": (SQUARE, [square(0.1, 0.1, 0.3), square(0.1, 0.1, 0.3)]),
    "a ring that crosses itself": ([[0, 0], [1, 1], [1, 0], [0, 0.5]], []),
    "a hole that crosses itself": (SQUARE, [[[0.1, 0.1], [0.9, 0.9], [0.9, 0.1], [0.1, 0.6]]]),
}


def area(window):
    """Of what the window contains, by points of a grid."""
    axis = np.arange(400) / 100 - 1.4988
    return 16 * window.contains(np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)).mean()


def test_a_sound_window():
    window = Polygon(SQUARE, [square(0.1, 0.1, 0.5)])
    assert window.volume == pytest.approx(area(window), rel=0.02)


@pytest.mark.parametrize("case", CASES)
@defect("rings are not checked")
def test_the_area_is_that_of_what_is_contained(case):
    """Or the window is refused."""
    try:
        window = Polygon(*CASES[case])
    except ValueError:
        return
    assert window.volume == pytest.approx(area(window), rel=0.02)


THIN = """
import resource, sys
import numpy as np
from heatfield.patterns import Polygon
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
width = float(sys.argv[1])
print("begun", flush=True)
found = Polygon([[0, 0], [1, 1], [1, 1 + width], [0, width]]).sample(np.random.default_rng(0), 100)
print(found.shape, bool((np.abs(found[:, 1] - found[:, 0]) <= 2 * width).all()))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits of memory are of Unix")
@pytest.mark.parametrize("width", [1e-6, 1e-9])
@defect("points are drawn from the bounding box")
def test_a_thin_slanting_window_is_sampled(width):
    process = subprocess.Popen(
        [sys.executable, "-c", THIN, str(width)], env=environment(OMP_NUM_THREADS="1"), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout.readline() == "begun\n", process.stderr.read()
    try:
        said, problem = process.communicate(timeout=5)
    except subprocess.TimeoutExpired:
        process.kill()
        said, problem = process.communicate()
    assert said == "(100, 2) True\n", problem
