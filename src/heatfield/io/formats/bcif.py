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
from ..cloud import Cloud, Format
from ..limits import ReadError, Source
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

    try:
        tree = msgpack.unpackb(
            source.data, object_hook=counted, list_hook=counted, ext_hook=refused, timestamp=0
        )
        blocks = [block["categories"] for block in tree["dataBlocks"]]
        sites = [one for block in blocks for one in block if one["name"] == "_atom_site"]
        columns = {one["name"]: one for one in (sites[0]["columns"] if sites else ())}
        rows = sites[0]["rowCount"] if sites else 0
        decoder = _Decoder(source)
        found: dict[str, Any] = {}

        def column(tag: str) -> Any:
            if tag not in found:
                found[tag] = decoder.column(columns[tag]) if tag in columns else []
                if len(found[tag]) not in (0, rows):
                    raise source.error(f"has {len(found[tag])} of {rows} rows", f"column {tag}")
            return found[tag]

        return atom_site(source, reading, column, str, "bcif")
    except ReadError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise source.error(f"damaged: {type(error).__name__}: {error}") from None


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
        offsets = self.data({"data": encoding["offsets"], "encoding": encoding["offsetEncoding"]}).tolist()
        each = [text[a:b] for a, b in pairwise(offsets)]
        self.allow(64 * len(each) + sum(map(len, each)))
        if len(codes) and not -1 <= codes.min() <= codes.max() < len(each):
            raise ValueError("a word is not in its list")
        each.append(".")  # what -1 means
        return [each[code] for code in codes.tolist()]


_NAMES = {
    "ByteArray": "byte_array", "FixedPoint": "fixed_point", "IntervalQuantization": "interval",
    "RunLength": "run_length", "Delta": "delta", "IntegerPacking": "integer_packing",
    "StringArray": "string_array",
}  # fmt: skip


def _sample() -> bytes:
    """Four atoms: three of glycine and a water."""
    packb = need("msgpack", "BinaryCIF files", "formats").packb

    def whole(values: list[int], code: int = 3) -> dict[str, Any]:
        data = np.array(values, _TYPES[code]).tobytes()
        return {"data": data, "encoding": [{"kind": "ByteArray", "type": code}]}

    def words(values: list[str]) -> dict[str, Any]:
        each = list(dict.fromkeys(values))
        codes, ends = whole([each.index(v) for v in values], 1), np.cumsum([0, *map(len, each)]).tolist()
        offsets = whole(ends, 4)
        one = {"kind": "StringArray", "dataEncoding": codes["encoding"], "stringData": "".join(each)}
        one |= {"offsetEncoding": offsets["encoding"], "offsets": offsets["data"]}
        return {"data": codes["data"], "encoding": [one]}

    fixed = {"kind": "FixedPoint", "factor": 1000, "srcType": 33}
    delta = {"kind": "Delta", "origin": 10_000, "srcType": 3}
    packed = {"kind": "IntegerPacking", "byteCount": 1, "isUnsigned": False, "srcSize": 4}
    x: dict[str, Any] = {"data": np.array([0, 127, 73, 127, 127, 46, -128, -22], "i1").tobytes()}
    x["encoding"] = [fixed, delta, packed, {"kind": "ByteArray", "type": 1}]
    models = whole([1, 4])
    models["encoding"] = [{"kind": "RunLength", "srcType": 3, "srcSize": 4}, *models["encoding"]]
    columns = {
        "type_symbol": words(["N", "C", "C", "O"]),
        "label_atom_id": words(["N", "CA", "C", "O"]),
        "auth_comp_id": words(["GLY", "GLY", "GLY", "HOH"]),
        "auth_asym_id": words(["A", "A", "A", "B"]),
        "auth_seq_id": whole([1, 1, 1, 2]),
        "Cartn_x": x,
        "Cartn_y": whole([0, 1, 2, 3]),
        "Cartn_z": whole([5, 5, 5, 6]),
        "pdbx_PDB_model_num": models,
    }
    table = [{"name": name, "data": data, "mask": None} for name, data in columns.items()]
    site = {"name": "_atom_site", "rowCount": 4, "columns": table}
    block = {"header": "MADE", "categories": [site]}
    return bytes(packb({"version": "0.3.0", "encoder": "made", "dataBlocks": [block]}))


def _is_bcif(source: Source) -> bool:
    start = source.data[:1]
    maps = start in (b"\xde", b"\xdf") or b"\x80" < start <= b"\x8f"
    return maps and b"dataBlocks" in source.data and b"encoder" in source.data


FORMAT = Format(
    name="bcif",
    suffixes=(".bcif",),
    magic=_is_bcif,
    read=read_bcif,
    sample=_sample,
    title="BinaryCIF",
    forms="category `_atom_site`",
    kept="the same",
    needs="`heatfield[formats]`",
)
