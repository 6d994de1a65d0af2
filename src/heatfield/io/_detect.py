"""What a file is, by its content first and its name second."""

from __future__ import annotations

import re
import struct

from ._cloud import find_coordinates
from ._off import KEYWORD
from ._source import Source

SUFFIXES = {
    ".ply": "ply", ".pcd": "pcd", ".las": "las", ".laz": "las", ".swc": "swc", ".pdb": "pdb", ".ent": "pdb",
    ".cif": "cif", ".mmcif": "cif", ".xyz": "table", ".txt": "table", ".csv": "table", ".tsv": "table",
    ".pts": "table", ".asc": "table", ".ad": "table", ".dat": "table", ".npy": "npy", ".npz": "npz",
    ".off": "off", ".obj": "obj", ".stl": "stl", ".parquet": "parquet", ".pq": "parquet",
}  # fmt: skip
FORMATS = tuple(dict.fromkeys(SUFFIXES.values()))
_MAGIC = (
    (b"LASF", "las"),
    (b"\x93NUMPY", "npy"),
    (b"PK\x03\x04", "npz"),
    (b"PK\x05\x06", "npz"),
    (b"PAR1", "parquet"),
)
_NUMBER = re.compile(rb"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")  # one way to match: linear time
_LOOK = 65_536


def detect(source: Source) -> str:
    """One of ``FORMATS``. A magic number or an unmistakable line beats the suffix."""
    data = source.data
    for magic, kind in _MAGIC:
        if data.startswith(magic):
            return kind
    if re.match(rb"ply[ \t]*[\r\n]", data):
        return "ply"
    named = SUFFIXES.get(source.suffix)
    if (
        len(data) >= (84 if named == "stl" else 134)
        and len(data) == 84 + 50 * struct.unpack_from("<I", data, 80)[0]
    ):
        return "stl"
    head = data[:_LOOK]
    if b"\0" in head[:4096] and not (
        re.match(rb"\s*#? ?\.?(PCD|VERSION)", head) or named in ("pdb", "swc", "table")
    ):
        if named == "pcd" or b"\nDATA binary" in head:
            return "pcd"
        raise source.error(
            f"cannot tell what this is: no known format starts with the bytes {data[:8]!r}", "byte 0"
        )
    told = _by_lines(head)
    if told:
        return told
    words = _first_numbers(head)
    if named == "off" and len(words) == 3 and all(word.isdigit() for word in words):
        return "off"  # the word OFF may be left out
    if named in ("swc", "pdb", "cif", "obj", "table"):  # formats that have no mark of their own
        return named
    if named is None or words or _names_coordinates(head):
        return "table"
    raise source.error(
        f"is no {named.upper()} file, and no other format that can be told by its content", "byte 0"
    )


def _by_lines(head: bytes) -> str | None:
    """The format, where a line near the top leaves no doubt."""
    first = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:64]
    if re.match(rb"# ?\.PCD", first) or (
        re.search(rb"^FIELDS .*\bx\b", head, re.M | re.I) and re.search(rb"^DATA ", head, re.M)
    ):
        return "pcd"
    if KEYWORD.match(first) or (re.match(rb"#", first) and KEYWORD.match(_without_comments(head))):
        return "off"
    if re.match(rb"solid\b", first, re.I) and re.search(rb"^[ \t]*(facet|endsolid)\b", head, re.M | re.I):
        return "stl"
    if re.search(rb"^data_", head, re.M) and re.search(rb"^(loop_|_\w+\.\w+)", head, re.M):
        return "cif"
    if re.search(rb"^(ATOM  |HETATM).{24}", head, re.M) or re.match(rb"HEADER    ", first):
        return "pdb"
    if re.search(rb"^v[ \t]+[-+.\d]\S*[ \t]+[-+.\d]\S*[ \t]+[-+.\d]", head, re.M):
        return "obj"
    words = _first_numbers(head)
    if len(words) == 7 and words[6] == b"-1" and words[0].isdigit() and words[1].isdigit():
        return "swc"
    return None


def _without_comments(head: bytes) -> bytes:
    return re.sub(rb"#[^\r\n]*", b"", head).lstrip()


def _first_numbers(head: bytes) -> list[bytes]:
    """The words of the first line that is no comment, if all of them are numbers."""
    for line in head.splitlines():
        line = line.strip()
        if line and not line.startswith((b"#", b"//")):
            words = re.split(rb"[\s,;]+", line)
            return words if all(_NUMBER.fullmatch(word) for word in words) else []
    return []


def _names_coordinates(head: bytes) -> bool:
    """Whether the first line is a header with x and y in it."""
    first = head.lstrip(b"\xef\xbb\xbf").split(b"\n", 1)[0].decode("latin-1")
    return len(find_coordinates(re.split(r"[\s,;]+", first.strip().replace('"', "")))) >= 2
