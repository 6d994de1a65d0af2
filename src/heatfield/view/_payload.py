"""The data of the page: points and signatures as small integers, and a header that explains them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.check import Array
from .._signatures.channels import Column, drawn_columns
from .._signatures.local_type import LOCAL_TYPES, local_type_codes
from .._signatures.signatures import Signatures

# Numbers take two bytes each up to so many points, then one: 200,000 points at 8 scales make about 10 MB.
FINE_POINTS = 50_000
MOST_COLUMNS = 6
_MOST_AXES = 3


class Payload:
    """Arrays one after the other, and where each begins."""

    def __init__(self, codes: type[np.unsignedinteger]) -> None:
        self.parts: list[bytes] = []
        self.arrays: list[tuple[str, str, int, int]] = []
        self.quantities: dict[str, dict[str, Any]] = {}
        self.size = 0
        self.codes = codes
        self.top = int(np.iinfo(codes).max) - 1  # the largest code says that there is no value

    def add(self, name: str, values: NDArray[Any]) -> None:
        """An array as it is, aligned to four bytes."""
        kind = {"f": "f", "u": "u"}[values.dtype.kind] + str(values.dtype.itemsize)
        data = np.ascontiguousarray(values).astype(values.dtype.newbyteorder("<"), copy=False).tobytes()
        self.arrays.append((name, kind, self.size, int(values.size)))
        data += bytes(-len(data) % 4)
        self.parts.append(data)
        self.size += len(data)

    def add_quantity(self, name: str, label: str, kind: str, values: Array, colours: Array) -> None:
        """Values (m, T), each scale over its own range; ``colours`` (T, 2) are the ends of the ramp."""
        codes = np.full(values.T.shape, self.top + 1, self.codes)
        lows, highs = [], []
        for row, column in zip(codes, values.T, strict=True):
            known = np.isfinite(column)
            low, high = (
                (float(column[known].min()), float(column[known].max())) if known.any() else (0.0, 0.0)
            )
            share = (column[known] - low) / ((high - low) or 1.0)
            row[known] = np.rint(share * self.top).astype(self.codes)
            lows.append(low)
            highs.append(high)
        self.add(name, codes)
        self._describe(name, label, kind, lows, highs, colours)

    def add_types(self, codes: NDArray[np.uint8]) -> None:
        """Local types (m, T)."""
        self.add("type", np.ascontiguousarray(codes.T))
        steps = codes.shape[1]
        last = len(LOCAL_TYPES) - 1.0
        ends = np.tile([0.0, last], (steps, 1))
        self._describe("type", "local type", "type", [0.0] * steps, [last] * steps, ends)

    def _describe(
        self, name: str, label: str, kind: str, lows: list[float], highs: list[float], colours: Array
    ) -> None:
        self.quantities[name] = {
            "label": label,
            "kind": kind,
            "array": name,
            "steps": len(lows),
            "low": lows,
            "high": highs,
            "first": colours[:, 0].tolist(),
            "last": colours[:, 1].tolist(),
        }


def pack(
    places: Array, rows: NDArray[np.int64], s: Signatures, columns: Mapping[str, NDArray[Any]]
) -> Payload:
    """Everything that is drawn: places (q, 3) in units of the page, their rows in the file, signatures."""
    assert s.spectrum is not None
    n = s.spectrum.shape[2]
    out = Payload(np.uint16 if len(places) <= FINE_POINTS else np.uint8)
    out.add("points", places.astype(np.float32))
    out.add("rows", rows.astype(np.uint32))

    for shown in sorted(drawn_columns(s), key=lambda column: column.channel.menu):
        if shown.axis is None or shown.axis < _MOST_AXES:
            _add_signature(out, shown, n)
        if shown.name == "dimension":
            out.add_types(local_type_codes(s.dimension, s.transition, s.spectrum))
    for k, (name, column) in enumerate(columns.items()):
        values = column.astype(np.float64)[:, None]
        values[~np.isfinite(values)] = np.nan
        ends = np.nanpercentile(values, [1, 99], axis=0).T
        out.add_quantity(f"column{k}", f"column {name}", "column", values, ends)
    return out


def _add_signature(out: Payload, shown: Column, n: int) -> None:
    """One signature with its colours; the logarithm to the base 10 of what spans decades."""
    channel, values, label = shown.channel, shown.values, shown.label
    if channel.log:
        with np.errstate(divide="ignore"):
            values = np.log10(values)
        # The page itself shows powers of ten for the ramp of the density.
        label = label if channel.ramp == "density" else f"log₁₀ {label}"
    if channel.ends is None:
        ends = np.nanpercentile(np.where(np.isfinite(values), values, np.nan), [2, 98], axis=0).T
    else:
        ends = np.tile(channel.ends(values, n), (values.shape[1], 1))
    out.add_quantity(shown.name, label, channel.ramp, values, ends)


def drawable(columns: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The first columns of numbers that are not all the same."""
    kept: dict[str, NDArray[Any]] = {}
    for name, column in columns.items():
        if column.ndim != 1 or column.dtype.kind not in "fiub" or len(kept) == MOST_COLUMNS:
            continue
        known = column[np.isfinite(column)] if column.dtype.kind == "f" else column
        if len(known) and known.min() < known.max():
            kept[name] = column
    return kept
