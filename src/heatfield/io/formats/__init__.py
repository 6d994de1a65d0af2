"""Every format, in the order in which a file's content is held against them."""

from __future__ import annotations

import re

from ..cloud import Format
from ..limits import Source
from ..text import first_numbers
from . import las, obj, off, parquet, pcd, ply, stl, swc, table, xyz
from .arrays import HDF5, NPY, NPZ
from .molecules import CIF, PDB

# A new format is a module with a `Format`, and a place here.
REGISTRY: dict[str, Format] = {
    one.name: one
    for one in (
        ply.FORMAT, pcd.FORMAT, las.FORMAT, swc.FORMAT, PDB, CIF, xyz.FORMAT, table.FORMAT, NPY, NPZ, HDF5,
        off.FORMAT, obj.FORMAT, stl.FORMAT, parquet.FORMAT,
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
        and re.search(rb"\((ImageCoords|CellBody|Dendrite|Axon|Apical|Color |Sections)", source.head)
    )
    if neurolucida or re.search(rb"<mbf\b", start):
        raise source.error(
            "is a Neurolucida file, which is not read here: convert it to SWC, for example with MorphIO"
        )
    if re.match(rb"(?i)<!doctype html|<html\b", start):
        raise source.error("is a web page, not a file of points: the download went wrong")
