"""What a file is, by its content first and its name second."""

from __future__ import annotations

import re
import struct

from .._base.check import find_coordinates
from ._off import KEYWORD
from ._source import Source
from ._xyz import is_chemistry

SUFFIXES = {
    ".ply": "ply", ".pcd": "pcd", ".las": "las", ".laz": "las", ".swc": "swc", ".pdb": "pdb", ".ent": "pdb",
    ".cif": "cif", ".mmcif": "cif", ".extxyz": "xyz", ".xyz": "table", ".txt": "table", ".csv": "table",
    ".tsv": "table", ".pts": "table", ".asc": "table", ".ad": "table", ".dat": "table", ".npy": "npy",
    ".npz": "npz", ".h5": "hdf5", ".hdf5": "hdf5",
    ".off": "off", ".obj": "obj", ".stl": "stl", ".parquet": "parquet", ".pq": "parquet",
}  # fmt: skip
FORMATS = tuple(dict.fromkeys(SUFFIXES.values()))
_MAGIC = (
    (b"LASF", "las"),
    (b"\x93NUMPY", "npy"),
    (b"PK\x03\x04", "npz"),
    (b"PK\x05\x06", "npz"),
    (b"PAR1", "parquet"),
    (b"\x89HDF\r\n\x1a\n", "hdf5"),
)
_NUMBER = re.compile(rb"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")  # one way to match: linear time
_ATOM_LINE = re.compile(rb"^(ATOM  |HETATM).{24}", re.M)
_LOOK = 65_536


def detect(source: Source) -> str:
    """One of ``FORMATS``. A magic number or an unmistakable line beats the suffix."""
    data = source.data
    _name_the_unreadable(source)
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
    if is_chemistry(source):
        return "xyz"
    words = _first_numbers(head)
    bare = _first_numbers(_without_comments(head)) if named == "off" else []
    if len(bare) == 3 and all(word.isdigit() for word in bare):
        return "off"  # the word OFF may be left out
    if named in ("swc", "pdb", "cif", "obj", "xyz", "table"):  # formats that have no mark of their own
        return named
    if named is None or words or _names_coordinates(head):
        return "table"
    raise source.error(
        f"is no {named.upper()} file, and no other format that can be told by its content", "byte 0"
    )


def _name_the_unreadable(source: Source) -> None:
    """Files that are often met in the place of points, said by their name."""
    start = source.data[:512].lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith(b"version https://git-lfs.github.com/spec/"):
        size = re.search(rb"^size (\d{1,18})\s*$", source.data[:512], re.M)
        of = f" of {int(size[1])} bytes" if size else ""
        raise source.error(f"is a Git LFS pointer to a file{of}, not the file itself: run 'git lfs pull'")
    if re.match(rb"(\.\./)*(\.git/annex/|/?annex/objects/)", start):
        raise source.error("is a git-annex pointer, not the file itself: run 'git annex get'")
    neurolucida = re.match(rb";\s*V\d+ text file written for MicroBrightField", start) or (
        start[:1] in b";("
        and re.search(rb"\((ImageCoords|CellBody|Dendrite|Axon|Apical|Color |Sections)", source.data[:_LOOK])
    )
    if neurolucida or re.search(rb"<mbf\b", start):
        raise source.error(
            "is a Neurolucida file, which is not read here: convert it to SWC, for example with MorphIO"
        )
    if re.match(rb"(?i)<!doctype html|<html\b", start):
        raise source.error("is a web page, not a file of points: the download went wrong")


def _by_lines(head: bytes) -> str | None:
    """The format, where a line near the top leaves no doubt."""
    first = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:64]
    if _ATOM_LINE.match(head):  # before the searches below, which look through all of the head
        return "pdb"
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
    if _ATOM_LINE.search(head) or re.match(rb"HEADER    ", first):
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
