"""Small files made to take memory or time, or to break out of ReadError. Content by name of the file."""

from __future__ import annotations

import gzip
import io
import struct
import zipfile
from collections.abc import Callable

import numpy as np

from heatfield.io.formats.arrays import write_npy

DIGITS = b"9" * 4299  # Python reads integers of up to 4,300 digits, but does not print longer products


def npy_header(text: str) -> bytes:
    """The first bytes of an NPY file."""
    body = text.encode().ljust(118) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(body)) + body


def _zip(method: int, name: str = "points.npy") -> bytes:
    """An archive whose only entry is damaged after it was packed."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        archive.writestr(name, write_npy(np.eye(3), {}))
    data = bytearray(buffer.getvalue())
    start = 30 + len(name)
    data[start + 4 : start + 40] = b"\xff" * 36
    return bytes(data)


def _parquet(columns: Callable, **options: object) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    pq.write_table(pa.table(columns(pa)), buffer, **options)
    return buffer.getvalue()


def _long_words(pa, rows: int = 60_000, width: int = 5_000) -> dict:
    """One long word in every row: the file holds it once."""
    numbers = pa.array(np.zeros(rows))
    words = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array(["a" * width]))
    return {"x": numbers, "y": numbers, "z": numbers, "word": words}


def _plain_words(pa) -> dict:
    table = _long_words(pa)
    return {**table, "word": table["word"].cast(pa.string())}


def _one_word(pa) -> dict:
    """A page that is 120 MB long once unpacked."""
    one = pa.array([0.0])
    return {"x": one, "y": one, "z": one, "word": pa.array(["a" * 120_000_000])}


def _cif(rows: int) -> bytes:
    tags = ["type_symbol", "label_atom_id", "label_comp_id", "Cartn_x", "Cartn_y", "Cartn_z"]
    head = "data_a\nloop_\n" + "".join(f"_atom_site.{t}\n" for t in tags)
    return (head + "C CA " + "G" * 60_000 + " 0 0 0\n" + "C CA GLY 1 1 1\n" * rows).encode()


def _ply(elements: bytes, body: bytes, form: bytes = b"binary_little_endian") -> bytes:
    return b"ply\nformat " + form + b" 1.0\n" + elements + b"end_header\n" + body


_XYZ = b"property float x\nproperty float y\nproperty float z\n"
_FACE = b"property list uint uchar vertex_indices\n"

# What once escaped as another error.
ESCAPES: dict[str, bytes] = {
    "lzma.npz": _zip(zipfile.ZIP_LZMA),
    "bzip2.npz": _zip(zipfile.ZIP_BZIP2),
    "true.npy": npy_header("{'descr': '<f8', 'fortran_order': False, 'shape': (True, 3), }") + bytes(24),
    "big.npy": npy_header(f"{{'descr': '|V{2**31 - 1}', 'fortran_order': False, 'shape': (0, {2**61}), }}"),
    "wide.npy": npy_header(f"{{'descr': '<f8', 'fortran_order': False, 'shape': (0, {2**62}), }}"),
    "digits.npy": b"\x93NUMPY\x01\x00"
    + struct.pack("<H", 4400)
    + (b"{'descr': '<f8', 'fortran_order': False, 'shape': (" + DIGITS + b", 3), }").ljust(4399)
    + b"\n",
    "digits.ply": _ply(b"element vertex " + DIGITS + b"\n" + _XYZ, b""),
    "text.ply": _ply(b"element vertex " + DIGITS + b"\n" + _XYZ, b"", b"ascii"),
    "points.pcd": b"FIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\nPOINTS " + DIGITS + b"\nDATA binary\n",
    "width.pcd": b"FIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nWIDTH "
    + DIGITS
    + b"\nHEIGHT "
    + DIGITS
    + b"\nDATA ascii\n",
    "count.pcd": b"FIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 " + DIGITS + b"\nPOINTS 1\nDATA ascii\n",
    "digits.off": b"OFF\n" + DIGITS + b" 1 0\n0 0 0\n",
    "faces.off": b"OFF\n1 " + DIGITS + b" 0\n0 0 0\n",
    "corners.off": b"OFF\n1 1 0\n0 0 0\n" + DIGITS + b" 0\n",
    "digits.xyz": DIGITS + b"\ncomment\nC 0 0 0\n",
    "blank.pts": b"\x1f2\n1 2 3 4\n5 6 7 8\n",  # a blank to str.isspace, none to int
}


def _gzipped(content: bytes) -> bytes:
    return gzip.compress(content, 1, mtime=0)


# What once took gigabytes, or time that grew with the square of the length. Made when they are needed.
HUNGRY: dict[str, Callable[[], bytes]] = {
    "dictionary.parquet": lambda: _parquet(_long_words),
    "words.parquet": lambda: _parquet(_plain_words),
    "page.parquet": lambda: _parquet(_one_word, compression="zstd", use_dictionary=False),
    "residue.cif": lambda: _cif(20_000),
    "face.ply": lambda: _ply(
        b"element vertex 1\n" + _XYZ + b"element face 1\n" + _FACE,
        bytes(12) + struct.pack("<I", 8_000_000) + bytes(8_000_000),
    ),
    "polygon.obj": lambda: b"v 0 0 0\n" + (b"f" + b" 1" * 500_000 + b"\n") * 9,
    "polygon.off": lambda: b"OFF\n1 9 0\n0 0 0\n" + (b"500000" + b" 0" * 500_000 + b"\n") * 9,
    "polygon.ply": lambda: _ply(
        b"element vertex 1\n" + _XYZ + b"element face 9\n" + _FACE,
        b"0 0 0\n" + (b"500000" + b" 0" * 500_000 + b"\n") * 9,
        b"ascii",
    ),
    # Words of two letters beyond ASCII take thirty times their bytes.
    "header.pcd": lambda: b"# .PCD v0.7\nVERSION .7\nFIELDS" + b" \xe4\xe4" * 3_300_000,
    "text.xyz.gz": lambda: _gzipped(b"0\n" * 40_000_000) + _gzipped(b"\n") * 400_000,
    "bytes.npy.gz": lambda: _gzipped(
        npy_header("{'descr': '|u1', 'fortran_order': False, 'shape': (80000000, 1), }") + bytes(80_000_000)
    ),
    "table.csv": lambda: b"x,y,z,w\n" + b"1,2,3,\n" * 1_000_000 + b"1,2,3,a\n",
    "words.csv": lambda: b"x,y,word\n" + b"1,2,ab\n" * 1_000_000 + b"1,2," + b"a" * 100_000 + b"\n",
    "blanks.txt": lambda: b"w x y\n" + b"ab 1 2\n" * 1_400_000,
    "digits.xyz": lambda: b"9" * 64_000 + b"x 1 2\n",
    "digits.csv": lambda: b"1 2 3\n" + (b"9" * 500_000 + b" 1 1\n") * 4,
    "names.txt": lambda: b"# " + b" ".join(b"x%d" % i for i in range(100_000)) + b"\n1 2 3\n",
    "elements.ply": lambda: _ply(
        b"".join(b"element e%d 0\nproperty char a\n" % i for i in range(30_000)), b"", b"ascii"
    ),
    "members.xyz.gz": lambda: _gzipped(b"") * 450_000 + _gzipped(b"1 2 3\n4 5 6\n"),
    "little.xyz.gz": lambda: _gzipped(b"1 2 3\n") * 100_000,
    "lines.ply": lambda: _ply(b"element vertex 1\n" + _XYZ + b"comment\n" * 120_000, bytes(12)),
    "solid.stl": lambda: b"solid a\n" + b"vertex 0 0 0\n" * 750_000 + b"endsolid\n",
    "corners.stl.gz": lambda: _gzipped(bytes(80) + struct.pack("<I", 1_600_000) + bytes(80_000_000)),
    "atoms.pdb.gz": lambda: _gzipped(b"ATOM      1  CA  GLY A   1      10.000  11.000  12.000\n" * 1_400_000),
    "chains.pdb": lambda: b"".join(
        b"ATOM      1  CA  GLY%2d%4d      10.000  11.000  12.000\n" % (i * 37 % 100, i % 9999)
        for i in range(180_000)
    ),
    "blocks.cif": lambda: b"".join(b"data_a%d\n_a.b c\n" % i for i in range(500_000)),
    "nested.gltf": lambda: b'{"asset":{},"nodes":[' + b"{}," * 3_000_000 + b"{}]}",
    "elements.nml": lambda: b"<things>" + b'<node id="1" x="1" y="1" z="1"/>' * 280_000 + b"</things>",
    "empty.nml": lambda: b"<things>" + b"<a/>" * 2_400_000 + b"</things>",
    "deep.nml": lambda: b"<things>" + b"<a>" * 3_000_000,
    "arrays.vtp": lambda: (
        b'<VTKFile type="PolyData"><PolyData><Piece><PointData>'
        + b'<DataArray type="Int8"/>' * 390_000
        + b"</PointData></Piece></PolyData></VTKFile>"
    ),
    "ones.vtp": lambda: (
        b'<VTKFile type="PolyData"><PolyData><Piece><Points><DataArray type="Float32" NumberOfComponents="3">'
        + b"1 " * 4_800_000
        + b"</DataArray></Points></Piece></PolyData></VTKFile>"
    ),
    "ones.vtk": lambda: (
        b"# vtk DataFile Version 4.2\n\nASCII\nDATASET POLYDATA\nPOINTS 1500000 float\n" + b"1 " * 4_500_000
    ),
    "lists.bcif": lambda: (
        b"\x82\xa7encoder\xdd\x00\x90\x00\x00" + b"\x90" * 9_437_184 + b"\xaadataBlocks\x90"
    ),
    "words.bcif": lambda: (
        b"\x82\xa7encoder\xdd\x00\x30\x00\x00" + b"\xa2ab" * 3_145_728 + b"\xaadataBlocks\x90"
    ),
    "brackets.asc": lambda: b"((Dendrite)\n" + b"(0 0 0 1)" * 1_000_000 + b")",
    "branches.asc": lambda: b"((Dendrite)\n(0 0 0 1)" + b"((0 0 1 1))" * 800_000 + b")",
    "values.cif": lambda: (
        b"data_a\nloop_\n_atom_site.Cartn_x\n_atom_site.Cartn_y\n_atom_site.Cartn_z\n"
        + b"_atom_site.label_atom_id\n"
        + b"11.1 2.2 1.1 CA\n" * 610_000
    ),
    "atoms.cif": lambda: _cif(400_000).replace(b"G" * 60_000, b"GLY"),
    "rows.swc.gz": lambda: _gzipped(b"1 1 0 0 0 1 -1\n" * 5_000_000),
    "packed.ply.gz": lambda: _gzipped(
        _ply(
            b"element vertex 26000000\n" + _XYZ.replace(b"float", b"char"),
            bytes(78_000_000),
        )
    ),
}
