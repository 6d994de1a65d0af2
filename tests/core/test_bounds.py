"""The tolerances that docstrings repeat are those of `core.bounds`."""

import heatfield as hf
from heatfield.core import bounds


def words(docstring):
    return " ".join(docstring.split())


def test_docstrings_repeat_the_promise():
    dimension, spectrum = f"{bounds.DIMENSION:g} tol", f"{bounds.SPECTRUM:g} tol"
    assert bounds.SPECTRUM == bounds.TRANSITION
    assert bounds.DENSITY == bounds.ENERGY == 1.0
    text = words(hf.signatures.__doc__)
    assert f"the density to ``tol`` relative to itself, dimension to {dimension}" in text
    assert f"spectrum and closed-form transition to {spectrum} absolute, energy to tol" in text
    text = words(hf.HeatField.__doc__)
    assert f"`dimension` to {dimension} relative to 1 + d, 2t `log_hessian` to {spectrum} absolute" in text
    deviation = f"its square to {bounds.DEVIATION_SQUARED:g} tol of the range squared"
    assert deviation in words(hf.HFSDescriptor.__doc__)
