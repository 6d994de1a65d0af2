"""Variable-length records of LAS: the coordinate reference system, and whatever else a program left there."""

from __future__ import annotations

import re
import struct
from typing import NamedTuple

from ._source import Source

PROJECTION = "LASF_Projection"
_GEO_KEYS = 34735
_WKT = (2111, 2112)
_LONGEST = 65_535  # bytes of a record in front of the points
# Linear units of GeoTIFF keys and names of WKT, as they are shown.
_UNITS = {9001: "m", 9002: "ft", 9003: "us-ft"}
_NAMES = {
    "metre": "m",
    "meter": "m",
    "m": "m",
    "foot": "ft",
    "us survey foot": "us-ft",
    "foot_us": "us-ft",
    "degree": "deg",
}


class Record(NamedTuple):
    """One record as it stands in the file.

    Guide: ``heatfield docs guide/formats``.

    Attributes
    ----------
    user : str
        Whose record it is, such as ``"LASF_Projection"``.
    number : int
    description : str
    data : bytes

    Examples
    --------
    >>> from heatfield.io import Record
    >>> Record("me", 1, "a note", b"text").data
    b'text'
    """

    user: str
    number: int
    description: str
    data: bytes


def kept_records(source: Source) -> list[Record]:
    """All records but those that belong to the way the points were stored.

    Behind the points (1.4) only the coordinate system is looked for.
    """
    data = source.data
    position, start, count = struct.unpack_from("<H", data, 94)[0], *struct.unpack_from("<II", data, 96)
    records = []
    for _ in range(count):
        if position + 54 > start:
            break
        number, length = struct.unpack_from("<HH", data, position + 18)
        body = position + 54
        if body + length > start:
            break
        records.append(_record(data, position, number, 22, body, length))
        position = body + length
    if data[25] >= 4:
        position, count = struct.unpack_from("<QI", data, 235)
        for _ in range(min(count, 1000)):
            if position + 60 > len(data):
                break
            number, length = struct.unpack_from("<HQ", data, position + 18)
            body = position + 60
            if body + length > len(data):
                break
            if length <= _LONGEST and data[position + 2 : position + 18].rstrip(b"\0") == PROJECTION.encode():
                records.append(_record(data, position, number, 28, body, length))
            position = body + length
    return [record for record in records if not _belongs_to_storage(record)]


def _record(data: bytes, position: int, number: int, text: int, body: int, length: int) -> Record:
    user = data[position + 2 : position + 18].split(b"\0")[0].decode("latin-1")
    description = data[position + text : position + text + 32].split(b"\0")[0].decode("latin-1")
    return Record(user, number, description, bytes(data[body : body + length]))


def _belongs_to_storage(record: Record) -> bool:
    if record.user == "LASF_Spec":  # extra bytes, superseded records, waveforms
        return record.number in (4, 7) or 99 < record.number < 355
    return record.user in ("laszip encoded", "copc", "lascompatible")


def is_wkt(records: list[Record]) -> bool:
    """Whether the coordinate system is given as WKT and not as GeoTIFF keys."""
    kinds = {r.number for r in records if r.user == PROJECTION}
    return bool(kinds & set(_WKT)) and _GEO_KEYS not in kinds


def length_unit(records: list[Record]) -> str:
    """The unit of the coordinates by the coordinate system: "m", "ft", ...; "" where it is not told.

    Guide: ``heatfield docs guide/formats``.

    Parameters
    ----------
    records : list of Record
        ``cloud.notes["vlrs"]`` of a LAS file.

    Returns
    -------
    unit : str

    Examples
    --------
    >>> from heatfield.io import Record, length_unit
    >>> wkt = b'PROJCS["here",UNIT["metre",1]]'
    >>> length_unit([Record("LASF_Projection", 2112, "", wkt)]), length_unit([])
    ('m', '')
    """
    for record in records:
        if record.user != PROJECTION:
            continue
        if record.number in _WKT:
            text = record.data.split(b"\0")[0].decode("utf-8", "replace")
            horizontal = re.split(r"VERT_?CS|VERTCRS", text)[0]
            found = re.findall(r'(?:LENGTH|ANGLE)?UNIT\["([^"]+)"', horizontal)
            if found:
                return _NAMES.get(found[-1].lower(), "")
        if record.number == _GEO_KEYS and len(record.data) >= 8:
            keys = struct.unpack_from(f"<{len(record.data) // 2}H", record.data)
            table = {keys[i]: keys[i + 3] for i in range(4, len(keys) - 3, 4) if keys[i + 1] == 0}
            if 3076 in table:
                return _UNITS.get(table[3076], "")
            if table.get(1024) == 1:
                return "m"  # projected, and no other unit is named
    return ""
