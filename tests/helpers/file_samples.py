"""Small valid files of every format, made here, to be read, cut and damaged."""

from __future__ import annotations

import gzip
import io
import struct

import numpy as np

from heatfield.io._las_write import las_bytes
from heatfield.io._numpy import npy_bytes, npz_bytes
from heatfield.io._parquet import parquet_bytes
from heatfield.io._pcd import pcd_bytes
from heatfield.io._ply_write import ply_bytes

POINTS = np.round(np.random.default_rng(7).normal(size=(9, 3)) * 10, 3)
COLUMNS = {"charge": np.arange(9, dtype=np.int32) - 4, "weight": np.linspace(0, 1, 9)}

SWC = b"""# Zeichner: M\xfcller
1 1 0 0 0 3.0 -1
2 3 1.5 0 0 1.0 1
5 3 1.5 2 0 1.0 2
4 2 0 0 4 0.5 1
"""
PDB = b"""HEADER    MADE UP
MODEL        1
ATOM      1  N   GLY A   1      10.000  11.000  12.000  1.00 10.00           N
ATOM      2  CA AGLY A   1      11.000  11.000  12.000  0.40 10.00           C
ATOM      3  CA BGLY A   1      11.500  11.000  12.000  0.60 10.00           C
ATOM      4  CA  SER B   2A     14.000  12.000  13.000  1.00 11.00           C
HETATM    5 CA    CA B   3      20.000  20.000  20.000  1.00 11.00          CA
HETATM    6  CA  MSE B   4      17.000  12.500  13.000  1.00 11.00           C
ENDMDL
MODEL        2
ATOM      2  CA  GLY A   1      99.000  11.000  12.000  1.00 10.00           C
ENDMDL
END
"""
CIF = b"""data_MADE
_entry.id   MADE
_struct.title
;A text with
loop_ in it
;
loop_
_atom_site.group_PDB
_atom_site.id
_atom_site.type_symbol
_atom_site.label_atom_id
_atom_site.label_alt_id
_atom_site.label_comp_id
_atom_site.auth_asym_id
_atom_site.auth_seq_id
_atom_site.Cartn_x
_atom_site.Cartn_y
_atom_site.Cartn_z
_atom_site.occupancy
_atom_site.B_iso_or_equiv
_atom_site.pdbx_PDB_model_num
ATOM 1 N N . GLY A 1 10.0 11.0 12.0 1.0 10.0 1
ATOM 2 C CA A GLY A 1 11.0 11.0 12.0 0.4 10.0 1
ATOM 3 C CA B GLY A 1 11.5 11.0 12.0 0.6 10.0 1
ATOM 4 C CA . SER B 2 14.0 12.0 13.0 1.0 11.0 1
ATOM 5 O "O5'" . SER B 2 14.5 12.0 13.0 1.0 11.0 1
HETATM 6 CA CA . CA B 3 20.0 20.0 20.0 1.0 11.0 1
ATOM 7 C CA . GLY A 1 99.0 11.0 12.0 1.0 10.0 2
#
loop_
_other.id
1
"""
OBJ = b"# square\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvn 0 0 1\nf 1//1 2//1 3//1 4//1\n"
OFF = b"OFF\n4 1 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n4 0 1 2 3\n"
STL_TEXT = b"""solid made
facet normal 0 0 1
outer loop
vertex 0 0 0
vertex 1 0 0
vertex 1 1 0
endloop
endfacet
endsolid made
"""
PLY_TEXT = b"""ply
format ascii 1.0
comment made up
element vertex 4
property float z
property float y
property double x
property uchar red
element face 1
property list uchar int vertex_indices
end_header
0 0 0 255
0 0 1 0
0 1 1 7
0 1 0 9
4 0 1 2 3
"""
PCD_TEXT = b"""# .PCD v0.7
VERSION 0.7
FIELDS x y z h
SIZE 4 4 4 4
TYPE F F F U
COUNT 1 1 1 2
WIDTH 2
HEIGHT 1
POINTS 2
DATA ascii
1 2 3 4 5
6 7 8 9 10
"""


def _stl() -> bytes:
    triangle = struct.pack("<12fH", 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 1, 0, 0)
    return b"made".ljust(80, b"\0") + struct.pack("<I", 2) + triangle + triangle


def _ply_big() -> bytes:
    rows = np.zeros(3, np.dtype([("x", ">f8"), ("y", ">f8"), ("z", ">f4"), ("i", ">i2")]))
    rows["x"], rows["y"], rows["z"], rows["i"] = [1, 2, 3], [0, 0, 1], [5, 5, 5], [-1, 0, 300]
    head = "ply\nformat binary_big_endian 1.0\nelement vertex 3\nproperty double x\nproperty double y\n"
    head += "property float z\nproperty short i\nelement face 2\n"
    head += "property list uchar int vertex_indices\nend_header\n"
    return head.encode() + rows.tobytes() + struct.pack(">B3iB3i", 3, 0, 1, 2, 3, 0, 2, 1)


def _pcd_packed() -> bytes:
    """Two points x y z, packed by hand: literals, and one copy of four bytes."""
    plain = np.array([[1, 1], [2, 2], [3, 4]], "<f4").tobytes()  # x x, y y, z z
    stream = bytes([3]) + plain[:4] + bytes([(2 << 5) | 0, 3]) + bytes([15]) + plain[8:]
    head = "VERSION .7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\nWIDTH 2\nHEIGHT 1\nPOINTS 2\n"
    return head.encode() + b"DATA binary_compressed\n" + struct.pack("<II", len(stream), len(plain)) + stream


def _npz_plain() -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, x=POINTS[:, 0], y=POINTS[:, 1], z=POINTS[:, 2], name=np.array(list("abcdefghi")))
    return buffer.getvalue()


# name of the file: (content, number of points)
SAMPLES: dict[str, tuple[bytes, int]] = {
    "a.swc": (SWC, 4),
    "a.pdb": (PDB, 3),
    "a.cif": (CIF, 2),
    "a.obj": (OBJ, 4),
    "a.off": (OFF, 4),
    "text.stl": (STL_TEXT, 3),
    "binary.stl": (_stl(), 3),
    "text.ply": (PLY_TEXT, 4),
    "big.ply": (_ply_big(), 3),
    "little.ply": (ply_bytes(POINTS, COLUMNS), 9),
    "text.pcd": (PCD_TEXT, 2),
    "binary.pcd": (pcd_bytes(POINTS, COLUMNS), 9),
    "packed.pcd": (_pcd_packed(), 2),
    "a.las": (las_bytes(POINTS, COLUMNS), 9),
    "a.laz": (las_bytes(POINTS, COLUMNS, compress=True), 9),
    "a.npy": (npy_bytes(POINTS, {}), 9),
    "records.npy": (npy_bytes(POINTS, COLUMNS), 9),
    "a.npz": (npz_bytes(POINTS, COLUMNS), 9),
    "plain.npz": (_npz_plain(), 9),
    "a.parquet": (parquet_bytes(POINTS, COLUMNS), 9),
    "a.csv": (b'id,x,y,z,kind\n7,1,2,3,leaf\n8,4,5,6,"wood"\n', 2),
    "a.xyz": (b"1 2 3\n4 5 6.5\n", 2),
    "a.txt": (b"//X Y Z Intensity\n1 2 3 4\n4 5 6.5 7\n", 2),
    "a.pts": (b"2\n1 2 3 100 255 0 0\n4 5 6 200 0 255 0\n", 2),
    "a.swc.gz": (gzip.compress(SWC, mtime=0), 4),
    "a.las.gz": (gzip.compress(las_bytes(POINTS, COLUMNS), mtime=0), 9),
}
