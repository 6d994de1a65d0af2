"""The tolerances that docstrings repeat are those of `_sums.promise`."""

import heatfield as hf
from heatfield._sums import promise


def words(docstring):
    return " ".join(docstring.split())


def test_docstrings_repeat_the_promise():
    dimension, spectrum = f"{promise.DIMENSION:g} tol", f"{promise.SPECTRUM:g} tol"
    assert promise.SPECTRUM == promise.TRANSITION
    assert promise.DENSITY == promise.ENERGY == 1.0
    text = words(hf.signatures.__doc__)
    assert f"the density to ``tol`` relative to itself, dimension to {dimension}" in text
    assert f"spectrum and closed-form transition to {spectrum} absolute, energy to tol" in text
    text = words(hf.HeatField.__doc__)
    assert f"`dimension` to {dimension} relative to 1 + d, 2t `log_hessian` to {spectrum} absolute" in text
    deviation = f"its square to {promise.DEVIATION_SQUARED:g} tol of the range squared"
    assert deviation in words(hf.HFSDescriptor.__doc__)
