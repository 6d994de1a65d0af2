"""BinaryCIF: mmCIF's columns as packed arrays. MessagePack is read by msgpack, the arrays here.

The encodings are a few lines of NumPy, and each can claim more than it holds: it is checked as it is undone.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.optional import need
from ...options import Reading
from ..cloud import Cloud, Format, kept_sample
from ..limits import Source, damage
from .molecules import atom_site

_TYPES = {1: "<i1", 2: "<i2", 3: "<i4", 4: "<u1", 5: "<u2", 6: "<u4", 32: "<f4", 33: "<f8"}
_OBJECT = 100  # bytes of a list or a map in Python


def read_bcif(source: Source, reading: Reading) -> Cloud:
    """The chosen atoms, as of an mmCIF file."""
    msgpack = need("msgpack", "BinaryCIF files", "formats")
    left = source.allowance // _OBJECT

    def counted(one: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise source.error("holds more lists and maps than its size allows")
        return one

    def refused(*_: Any) -> Any:
        raise source.error("holds a type of MessagePack that BinaryCIF has not")

    with damage(source):
        tree = msgpack.unpackb(
            source.data, object_hook=counted, list_hook=counted, ext_hook=refused, timestamp=0
        )
        blocks = [block["categories"] for block in tree["dataBlocks"]]
        sites = [one for block in blocks for one in block if one["name"] == "_atom_site"]
        columns = {one["name"]: one for one in (sites[0]["columns"] if sites else ())}
        decoder = _Decoder(source)
        found: dict[str, Any] = {}

        def column(tag: str) -> Any:
            if tag not in found:
                found[tag] = decoder.column(columns[tag]) if tag in columns else []
            return found[tag]

        return atom_site(source, reading, column, str, "bcif")


class _Decoder:
    """Arrays of a file, under its limit together."""

    def __init__(self, source: Source) -> None:
        self.source, self.total = source, 0

    def column(self, column: dict[str, Any]) -> Any:
        """A column as words, with "." where its mask says that there is none, or as numbers with NaN."""
        values = self.data(column["data"])
        mask = self.data(column["mask"]) if column.get("mask") else None
        if mask is None or not mask.any():
            return values
        if len(mask) != len(values):
            raise ValueError("a mask has another length than its column")
        if isinstance(values, list):
            return [word if known == 0 else "." for word, known in zip(values, mask, strict=True)]
        return np.where(mask == 0, values, np.nan)

    def data(self, packed: dict[str, Any]) -> Any:
        """Bytes through all their encodings, the last one first."""
        values: Any = packed["data"]
        for encoding in reversed(packed["encoding"]):
            values = getattr(self, "_" + _NAMES[encoding["kind"]])(values, encoding)
            self.allow(8 * len(values))
        return values

    def allow(self, size: int) -> None:
        """Count what was unpacked."""
        self.total += size
        self.source.check_allowance(self.total, "all columns together", "data")

    def _byte_array(self, values: bytes, encoding: dict[str, Any]) -> NDArray[Any]:
        return np.frombuffer(values, _TYPES[encoding["type"]])

    def _fixed_point(self, values: NDArray[Any], encoding: dict[str, Any]) -> NDArray[Any]:
        return values / float(encoding["factor"])

    def _interval(self, values: NDArray[Any], encoding: dict[str, Any]) -> NDArray[Any]:
        low, high = float(encoding["min"]), float(encoding["max"])
        return low + values * ((high - low) / (int(encoding["numSteps"]) - 1))

    def _run_length(self, values: NDArray[Any], encoding: dict[str, Any]) -> NDArray[Any]:
        runs = values.astype(np.int64).reshape(-1, 2)
        if (runs[:, 1] < 0).any() or (runs[:, 1] > encoding["srcSize"]).any():
            raise ValueError("a run is longer than its column")
        total = int(runs[:, 1].sum())
        self.allow(8 * total)
        return np.repeat(runs[:, 0], runs[:, 1])

    def _delta(self, values: NDArray[Any], encoding: dict[str, Any]) -> NDArray[Any]:
        return np.cumsum(values, dtype=np.int64) + int(encoding["origin"])

    def _integer_packing(self, values: NDArray[Any], encoding: dict[str, Any]) -> NDArray[Any]:
        """Large integers as runs of the largest (or least) that the type holds, and the rest."""
        info = np.iinfo(values.dtype)
        more = (values == info.max) | ((values == info.min) & (info.min < 0))
        ends = np.flatnonzero(~more)
        sums = np.cumsum(values, dtype=np.int64)
        if len(ends) != encoding["srcSize"] or (more[-1:]).any():
            raise ValueError("a packed column has another length than it claims")
        return np.diff(sums[ends], prepend=0)

    def _string_array(self, values: bytes, encoding: dict[str, Any]) -> list[str]:
        text, part = encoding["stringData"], {"data": values, "encoding": encoding["dataEncoding"]}
        codes = self.data(part).astype(np.int64)
        offsets = self.data({"data": encoding["offsets"], "encoding": encoding["offsetEncoding"]})
        if (offsets[:1] < 0).any() or (offsets[1:] < offsets[:-1]).any():
            raise ValueError("the places of words must not fall")
        self.allow(64 * len(offsets))
        each = [text[a:b] for a, b in pairwise(offsets.tolist())]
        if len(codes) and not -1 <= codes.min() <= codes.max() < len(each):
            raise ValueError("a word is not in its list")
        each.append(".")  # what -1 means
        return [each[code] for code in codes.tolist()]


_NAMES = {
    "ByteArray": "byte_array", "FixedPoint": "fixed_point", "IntervalQuantization": "interval",
    "RunLength": "run_length", "Delta": "delta", "IntegerPacking": "integer_packing",
    "StringArray": "string_array",
}  # fmt: skip


def _is_bcif(source: Source) -> bool:
    start = source.data[:1]
    maps = start in (b"\xde", b"\xdf") or b"\x80" < start <= b"\x8f"
    return maps and b"dataBlocks" in source.data and b"encoder" in source.data


# Three atoms of glycine and a water: packed integers, fixed points, runs, lists of words.
_SAMPLE = kept_sample(
    b"c-pm;%TC)s6o!2Z>XKLJid}@%C&+~sBrZ{*i>|DRed3H_&xDzA8?y;Y=mVtcrrXwui9=cR3971F-lOVMbUY^DK!g+oi!;*bocY",
    b"gpe$RNAd;rEVCF9NVtMX<7#Gx**I6y9>E)uBfQ>Vj6gGn1ume{M*w^9cQ@F>H;N5hz)08$$X8rU2QIA`=@jfO;6i9`J`ApC1yG",
    b"ZRr4Y#s$o>c^S%K&^i)P1lWc)ff|R^eOIO;?52Qle-FID7whXw&wYP%1^720F{k1Sv}>dzAh`j@7E44X{*ISJbcJX@+zJo7^a+",
    b"=cYfupKYY{#KOYLacW4ds32DdswaUu8B~3T2QW5w9g`#acH0a*r)inJHc_(jn-)|pmuLx{v=GuK+Brn4=<9@4DS4P#1BI-<`ay",
    b"Y(2x~^xa*I~%GrC!=$;eI7G#00T>MZp(Zf2ZFspZ>cM`Z82P>1*5rw?Q!xlNNFWWmo3kgfr(z%D&8N#&z)J$B}Q+!{lmXeV#VY",
    b"RQhs<$QKK&fgHK@rcH^a9;u#U{*G|$5paKJhYs-xSj%l)GC;K8h*ogJe4HaE3xXvnGLN+t1%GzkX3uWat9Bs&XueItV8QJS)GB",
    b"Iz&YhgT4aqJLPqc45eAt)kuKxkbrzy(",
)
FORMAT = Format(
    name="bcif",
    suffixes=(".bcif",),
    magic=_is_bcif,
    read=read_bcif,
    sample=_SAMPLE,
    title="BinaryCIF",
    forms="category `_atom_site`",
    kept="the same",
    needs="`heatfield[formats]`",
)
