"""When two results agree: by the error relative to each element, never to the largest one."""

import numpy as np


def assert_agree(found, expected, tol, *, floor=0.0, what=""):
    """|found - expected| <= tol * max(|expected|, floor) in every element; NaN only where NaN is expected."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape, what
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected), err_msg=what)
    error = np.abs(found - expected)
    bad = error > tol * np.maximum(np.abs(expected), floor)
    if bad.any():
        relative = error / np.maximum(np.abs(expected), np.maximum(floor, 1e-300))
        worst = np.unravel_index(np.argmax(relative), error.shape)
        raise AssertionError(
            f"{what}: {bad.sum()} of {bad.size} beyond {tol:g}, worst at {tuple(map(int, worst))}: "
            f"found {found[worst]!r}, expected {expected[worst]!r}"
        )


# Whatever is computed as a difference of numbers of order one cannot be better than they are.
LOCAL = {"density": 0.0, "dimension": 1e-280, "transition": 1.0, "spectrum": 1.0}
GLOBAL = {"energy": 0.0, "response": 0.0, "roughness": 0.0, "relative_roughness": 0.0}


def assert_same_signatures(found, expected, tol, *, dimension_floor=1e-280, names=(*LOCAL, *GLOBAL)):
    """Two results of the same cloud, element by element. ``expected`` has the same names as `Signatures`."""
    floors = {**LOCAL, **GLOBAL, "dimension": dimension_floor}
    for name in names:
        assert_agree(getattr(found, name), getattr(expected, name), tol, floor=floors[name], what=name)
    for name in ("composition", "contrast"):
        assert_agree(getattr(found.hds, name), getattr(expected.hds, name), tol, floor=1.0, what=name)
