"""Blocks of the cloud as a whole: energies, and the heat dimension spectrum."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..._base.check import Array
from ...core import formulas
from ...core.evaluate import heat_dimension_spectrum
from . import ALL, Block, Found, Meaning, Shape, logarithm, scale_words

# What it is, unit, what a high value means.
_WORDS = {
    "energy": ("E₂ = ∫u² dy", "length⁻ⁿ", "heat is concentrated: points overlap strongly"),
    "response": (
        "C₂ = -t ∂ log E₂/∂t",
        "pure number",
        "E₂ falls fast with the scale: about (n - d)/2 in a regime of dimension d, so high means thin parts",
    ),
    "roughness": ("Dirichlet energy ∫|∇u|² dy", "length⁻ⁿ⁻²", "the heat landscape is steep"),
    "relative_roughness": ("Dirichlet energy over E₂", "length⁻²", "steep for its height: fine structure"),
}


def _global_names(shape: Shape) -> Iterator[str]:
    for name in _WORDS:
        log = "log_" if shape.joint and name != "response" else ""
        yield from (f"{log}{name}_s{a}" for a in range(shape.n_scales))


def global_block(energy: Array, response: Array, times: Array, *, log: bool) -> Array:
    """E2, C2, Dirichlet energy and its ratio to E2, (..., 4 T); on demand the logarithms of all but C2."""
    with np.errstate(invalid="ignore", divide="ignore"):
        dirichlet = formulas.roughness(energy, response, times)
        relative = formulas.relative_roughness(energy, dirichlet)
    if log:
        energy, dirichlet, relative = logarithm(energy), logarithm(dirichlet), logarithm(relative)
    return np.concatenate([energy, response, dirichlet, relative], axis=-1)


def _global_meaning(block: str, what: str, a: str, log: str | None) -> Meaning:
    text, unit, high = _WORDS[what]
    text, unit = (f"log of {text}", f"log of {unit}") if log else (text, unit)
    return Meaning(block, text, "one number per cloud", scale_words(a), unit, high)


def _hds_names(shape: Shape) -> Iterator[str]:
    for part in ("composition", "contrast"):
        for center in shape.centers:
            yield from (f"{part}_d{center:g}_s{a}" for a in range(shape.n_scales))


def _hds_values(found: Found) -> Array:
    density, dimension = found.local.density, found.local.dimension
    with found.around.buffers.take((len(found.centers), *density.shape)) as members:
        parts = heat_dimension_spectrum(
            density, dimension, found.ends, found.centers, found.hds_sigma, members=members
        )
    return np.concatenate(parts, axis=1).reshape(len(found.ends), -1)


def _hds_meaning(block: str, part: str, d: str, a: str) -> Meaning:
    if part == "composition":
        what, how = f"share of the points near dimension {d}", "mean of soft shares, 0 to 1"
        high = f"much of the cloud has dimension {d} at this scale"
    else:
        what = f"share near dimension {d} weighted by heat, minus the plain share"
        how = "difference of two means, -1 to 1"
        high = f"dense places have dimension {d} more often than the rest; below 0, less often"
    return Meaning(block, what, how, scale_words(a), "share", high)


BLOCKS = (
    Block(
        "global",
        0,
        ALL,
        "of the cloud as a whole: energy E2, response C2, roughness, relative roughness",
        _global_names,
        lambda found: global_block(found.energy, found.response, found.times.T, log=found.joint),
        (rf"(?P<log>log_)?(?P<what>{'|'.join(_WORDS)})_s(?P<a>\d+)", _global_meaning),
        needs=("energy",),
    ),
    Block(
        "hds",
        1,
        ALL,
        "heat dimension spectrum: share of the points near a dimension; contrast: that share "
        "weighted by heat, minus the plain share",
        _hds_names,
        _hds_values,
        (r"(?P<part>composition|contrast)_d(?P<d>[\d.]+)_s(?P<a>\d+)", _hds_meaning),
        order_one=True,
    ),
)
