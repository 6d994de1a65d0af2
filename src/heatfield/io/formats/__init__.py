"""Every format, in the order in which a file's content is held against them."""

from __future__ import annotations

import re

from ..cloud import Format
from ..limits import Source
from ..text import first_numbers
from . import bcif, e57, las, obj, off, pcd, ply, stl, table, vtk, xyz
from .arrays import HDF5, NPY, NPZ
from .arrow import ARROW, PARQUET
from .molecules import CIF, PDB
from .neurons import ASC, NML, SWC
from .scenes import GLTF, THREE_MF

# A new format is a module with a `Format`, and a place here.
REGISTRY: dict[str, Format] = {
    one.name: one
    for one in (
        ply.FORMAT, pcd.FORMAT, las.FORMAT, e57.FORMAT, SWC, ASC, NML, PDB, CIF, bcif.FORMAT, xyz.FORMAT,
        table.FORMAT, NPY, THREE_MF, NPZ, HDF5, off.FORMAT, obj.FORMAT, stl.FORMAT, GLTF, vtk.FORMAT, PARQUET,
        ARROW,
    )
}  # fmt: skip
FORMATS = tuple(REGISTRY)
SUFFIXES = {suffix: one.name for one in REGISTRY.values() for suffix in one.suffixes}
WRITERS = {suffix: one.write for one in REGISTRY.values() if one.write for suffix in one.writes}
WRITABLE = tuple(WRITERS)


def detect(source: Source) -> str:
    """The name of a format. A magic number or an unmistakable line beats the suffix."""
    _name_the_unreadable(source)
    for one in REGISTRY.values():
        if one.magic(source):
            return one.name
    named = REGISTRY.get(SUFFIXES.get(source.suffix, ""))
    if named is not None and named.unmarked:
        return named.name
    head = source.head
    if b"\0" in head[:4096]:
        raise source.error(
            f"cannot tell what this is: no known format starts with the bytes {head[:8]!r}", "byte 0"
        )
    first = head.lstrip(b"\xef\xbb\xbf").split(b"\n", 1)[0].decode("latin-1").strip().replace('"', "")
    header = len(source.coordinates(re.split(r"[\s,;]+", first))) >= 2
    if named is None or header or first_numbers(head):
        return table.FORMAT.name
    raise source.error(
        f"not a {named.name.upper()} file, and no other format that can be told by its content", "byte 0"
    )


# Files that are often met in the place of points: how they start, what they are and what to do.
_UNREADABLE = (
    (rb"(\.\./)*(\.git/annex|/?annex/objects)/", "a git-annex pointer, not the file: run 'git annex get'"),
    (rb"(<\?xml[^>]*>\s*)?<mbf\b", "a Neurolucida file in XML, which is not read: save it as ASC or SWC"),
    (rb"(?i)<!doctype html|<html\b", "a web page, not a file of points: the download went wrong"),
    (rb"PK\x03\x04(?=.*xl/workbook)", "an Excel workbook (XLSX), which is not read: save its sheet as CSV"),
    (rb"\xd0\xcf\x11\xe0", "an Office file (XLS), which is not read: save its sheet as CSV"),
    (rb"II[*+]\0|MM\0[*+]", "a TIFF image, which is not read: save its points as CSV or NPY"),
    (rb"\x89PNG\r\n|\xff\xd8\xff", "an image, which is not read: save its points as CSV or NPY"),
    (rb"FEA1", "a Feather file of version 1, which is not read: save it in version 2, or as Parquet"),
    (rb"Kaydara FBX", "an FBX scene, which is not read: save it as GLB, PLY or OBJ"),
)  # fmt: skip


def _name_the_unreadable(source: Source) -> None:
    """Refuse by their names what cannot be read."""
    start = source.data[:512].lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith(b"version https://git-lfs.github.com/spec/"):
        size = re.search(rb"^size (\d{1,18})\s*$", source.data[:512], re.M)
        of = f" of {int(size[1])} bytes" if size else ""
        raise source.error(f"is a Git LFS pointer to a file{of}, not the file itself: run 'git lfs pull'")
    # The list of a ZIP archive stands at its end.
    looked = start + source.data[-65_536:] if start.startswith(b"PK") else start
    for pattern, what in _UNREADABLE:
        if re.match(pattern, looked, re.S):
            raise source.error(f"is {what}")
