"""Small valid files of every format, made here, to be read, cut and damaged."""

from __future__ import annotations

import gzip
import io
import struct

import numpy as np

from heatfield.io.formats import REGISTRY, WRITERS

POINTS = np.round(np.random.default_rng(7).normal(size=(9, 3)) * 10, 3)
COLUMNS = {"charge": np.arange(9, dtype=np.int32) - 4, "weight": np.linspace(0, 1, 9)}

# The one sample that each format brings along.
OWN = {one.name: one.sample() for one in REGISTRY.values()}
SWC, PDB, CIF = OWN["swc"], OWN["pdb"], OWN["cif"]
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


def written(suffix: str, columns: bool = True) -> bytes:
    """Nine points by the writer of a suffix."""
    return WRITERS[suffix](POINTS, dict(COLUMNS) if columns else {}, suffix=suffix, notes={}, descriptions={})


_COUNTS = {
    "table": 2,
    "pcd": 2,
    "cif": 2,
    "pdb": 3,
    "stl": 3,
    "xyz": 3,
    "swc": 4,
    "nml": 4,
    "bcif": 1,
    "vtk": 4,
    "3mf": 6,
    "gltf": 8,
    "asc": 10,
    "obj": 4,
    "off": 4,
    "ply": 4,
}

# name of the file: (content, number of points)
SAMPLES: dict[str, tuple[bytes, int]] = {
    f"a{one.suffixes[0]}": (OWN[name], _COUNTS.get(name, 9)) for name, one in REGISTRY.items()
} | {
    "a.csv": (OWN["table"], 2),
    "text.stl": (STL_TEXT, 3),
    "big.ply": (_ply_big(), 3),
    "little.ply": (written(".ply"), 9),
    "binary.pcd": (written(".pcd"), 9),
    "packed.pcd": (_pcd_packed(), 2),
    "a.las": (written(".las"), 9),
    "a.laz": (written(".laz"), 9),
    "a.npy": (written(".npy", columns=False), 9),
    "records.npy": (written(".npy"), 9),
    "a.npz": (written(".npz"), 9),
    "plain.npz": (_npz_plain(), 9),
    "a.parquet": (written(".parquet"), 9),
    "a.xyz": (b"1 2 3\n4 5 6.5\n", 2),
    "a.txt": (b"//X Y Z Intensity\n1 2 3 4\n4 5 6.5 7\n", 2),
    "a.pts": (b"2\n1 2 3 100 255 0 0\n4 5 6 200 0 255 0\n", 2),
    "a.swc.gz": (gzip.compress(SWC, mtime=0), 4),
    "a.las.gz": (gzip.compress(written(".las"), mtime=0), 9),
}
