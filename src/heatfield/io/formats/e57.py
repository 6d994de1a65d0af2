"""E57, scans of ASTM, by pye57 behind a check of what its list of scans claims."""

from __future__ import annotations

import struct
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.optional import need
from ...options import Reading
from ..cloud import Cloud, Format, kept_sample, starts_with
from ..limits import Source, damage
from ..text import read_xml

_MARK = b"ASTM-E57"
_PAGE = 1024  # bytes, of which the last four are a checksum
_NAMES = {"colorRed": "red", "colorGreen": "green", "colorBlue": "blue", "intensity": "intensity"}


def read_e57(source: Source, _: Reading) -> Cloud:
    """The points of all scans where they stand together; ``scan`` counts them."""
    pye57 = need("pye57", "E57 files", "formats")
    count = _check_scans(source)
    scans: list[dict[str, NDArray[Any]]] = []
    with damage(source), tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.e57"  # the library reads from files alone
        path.write_bytes(source.data)
        with pye57.E57(str(path)) as file:
            for number in range(min(count, file.scan_count)):
                fields = file.get_header(number).point_fields
                wanted = {"intensity": "intensity" in fields, "colors": "colorRed" in fields}
                found = file.read_scan(number, ignore_missing_fields=True, **wanted)
                scans.append(found | {"scan": np.full(len(found["cartesianX"]), number)})
    if not sum(len(scan["scan"]) for scan in scans):
        raise source.error("holds no points")
    joined = {}
    for name in scans[0]:
        if all(name in scan for scan in scans):
            joined[_NAMES.get(name, name)] = np.concatenate([scan[name] for scan in scans])
    points = np.column_stack([joined.pop("cartesian" + axis) for axis in "XYZ"])
    return Cloud(points.astype(np.float64), joined, "e57")


def _check_scans(source: Source) -> int:
    """How many scans there are; a ReadError where they claim more points than the file may unpack to."""
    data = source.data
    if len(data) < 48:
        raise source.error("ends inside the header of 48 bytes", f"byte {len(data)}")
    major, _, length, place, size, page = struct.unpack_from("<IIQQQQ", data, 8)
    if major != 1 or page != _PAGE or length != len(data) or length % _PAGE:
        problem = f"claims version {major}, {length} bytes and pages of {page}; it has {len(data)} bytes"
        raise source.error(problem, "header")
    pages = np.frombuffer(data, np.uint8).reshape(-1, _PAGE)[:, : _PAGE - 4]
    start = place // _PAGE * (_PAGE - 4) + place % _PAGE
    source.check_count(size, 1, start, "bytes of XML", "header")
    text = pages.tobytes()[start : start + size]
    inside: list[str] = []
    rows = fields = scans = 0
    total = 0

    def begin(name: str, given: dict[str, str]) -> None:
        nonlocal rows, fields, scans
        if name == "points" and given.get("type") == "CompressedVector":
            rows, fields = int(given["recordCount"]), 0
            scans += 1
            if rows < 0:
                raise ValueError
        fields += bool(inside) and inside[-1] == "prototype"
        inside.append(name)

    def end(name: str) -> None:
        nonlocal total
        inside.pop()
        if name == "prototype":
            total += 8 * rows * (fields + 3)
            source.check_allowance(total, "the table of its points", "XML")

    read_xml(source, text, begin, end, place="XML")
    return scans


# One page: nine points with an intensity.
_SAMPLE = kept_sample(
    b"c-obczi$&U6vrJ}esyAj*|J!ZOG={_bazRW5|JUaq5%OD=I-U{>drpdzNX!fSXhu4S&%v~FfuZBWMtqE;7{Q>cS&f|f%^2(+3$",
    b"Vdd-k)p_eaC}<Mw8aRAaUL{jQdGSI*mKy06uLkDMPh@*bu4r{C?$*6k2-hTQ4m9LbSS$T#E+c^4w+|ASCm?>QUt8TpR<L<ss$J",
    b"1!X^P2>&o0Xao}Aiuh#c5P+#`i+~nh~GKRQhEg12qgp7YBU)I8L3#vBw)`+{rVQ`glj&uH=ikGsXfUdVEa}Vku5YZis8}(?7-U",
    b"mk>^b&lLj|7Ybc#~z1`t(F!Hct-g>jutYeP)k*g5;W2G~0pYjYA8L=V@x3R|*Bj|%2I>>l}M!Lf-r+txv?=9j&KPg0fA)5Q1vx",
    b"a_kpdmk0y3!1!g#<JUTfX<Ndm$EbN$iDwjMZ^7rTqm&R%u3gnySeYu%J}}5>#P&2O^C%xE?Z>(&?tQrIuZ~^S85|=SoOxDsN9^",
    b"xdvk(o)sQr8+ONI12$kATa0Rml#Y9<kZ5>_xpS?oa?zL6jkva81eY%>XFpZkGKw`KQ9b~JyGg;FdoF%;74hr;5aR(s8evZ^G@E",
    b"8Zimb>2hL14g$K`yz-F89V{9ss3#Sob*UCA`Vw6&qT{`u|Ts=Q#FRBt?7Bg^CCy)PSo0ot1@CI",
)
FORMAT = Format(
    name="e57",
    suffixes=(".e57",),
    magic=starts_with(_MARK),
    read=read_e57,
    sample=_SAMPLE,
    title="E57",
    forms="all scans in common coordinates",
    kept="colours, intensity, number of the scan",
    needs="`heatfield[formats]`",
)
