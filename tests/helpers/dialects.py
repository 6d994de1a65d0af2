# ruff: noqa: E501  (small files are easier to check in one piece)
"""Sound files in every dialect of every format, made here, with the numbers that they hold.

The tests read them with this library and with those of others; tools/fuzz_readers.py damages them.
"""

from __future__ import annotations

import gzip
import io
import struct
from dataclasses import dataclass, field
from typing import Any

import numpy as np

RNG = np.random.default_rng(12)
POINTS = np.round(RNG.normal(size=(12, 3)) * 10, 3)
# Triangles, a square and a pentagon.
POLYGONS = [[0, 1, 2], [3, 4, 5, 6], [7, 8, 9, 10, 11], [2, 1, 11]]
TRIANGLES = [[p[0], p[i], p[i + 1]] for p in POLYGONS for i in range(1, len(p) - 1)]
FLAT = [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]


@dataclass(frozen=True)
class Dialect:
    """A file, what it holds, and who else can read it."""

    name: str
    content: bytes
    points: np.ndarray
    faces: list[list[int]] | None = None
    peers: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)


def _text(values, mark: str = " ") -> str:
    return mark.join(repr(float(v)) for v in values)


def _lines(rows) -> bytes:
    return "".join(f"{row}\n" for row in rows).encode()


def ply(
    form: str, *, rich: bool, first: str, polygons=POLYGONS, kind: str = "double", lists: bool = False
) -> bytes:
    """A mesh; ``rich``: colours and flags beside vertices and corners; ``first``: which element comes first.

    ``lists``: vertices with a list each, of one or two numbers.
    """
    order = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}[form]
    letter = {"double": "d", "float": "f"}[kind]

    def put(code, *values) -> bytes:
        return (
            ("".join(f"{v!r} " for v in values)).encode() if not order else struct.pack(order + code, *values)
        )

    end = b"" if order else b"\n"
    head = {"vertex": f"element vertex {len(POINTS)}\n" + "".join(f"property {kind} {a}\n" for a in "xyz")}
    head["face"] = f"element face {len(polygons)}\n" + ("property uchar flags\n" if rich else "")
    head["face"] += "property list uchar int vertex_indices\n"
    if rich:
        head["vertex"] += "property uchar red\nproperty short i\n"
        head["face"] += "property list uchar float texcoord\nproperty float quality\n"
    if lists:
        head["vertex"] += "property list uchar float weights\nproperty uchar last\n"
    body = {"vertex": b"", "face": b""}
    for k, p in enumerate(POINTS.tolist()):
        more = put("Bh", k, -k) if rich else b""
        if lists:
            more += put("B" + "f" * (1 + k % 2), 1 + k % 2, *[0.5] * (1 + k % 2)) + put("B", 3)
        body["vertex"] += put(3 * letter, *p) + more + end
    for p in polygons:
        row = put("B", 7) if rich else b""
        row += put(f"B{len(p)}i", len(p), *p)
        row += put("B6f", 6, *[0.5] * 6) + put("f", 0.25) if rich else b""
        body["face"] += row + end
    parts = ["vertex", "face"] if first == "vertex" else ["face", "vertex"]
    text = f"ply\nformat {form} 1.0\ncomment made up\n" + "".join(head[p] for p in parts) + "end_header\n"
    return text.encode() + b"".join(body[p] for p in parts)


def _ply() -> list[Dialect]:
    made = []
    for form in ("ascii", "binary_little_endian", "binary_big_endian"):
        for rich in (False, True):
            for first in ("vertex", "face"):
                content = ply(form, rich=rich, first=first)
                name = f"{form}_{'rich' if rich else 'plain'}_{first}.ply"
                made.append(Dialect(name, content, POINTS, TRIANGLES, ("plyfile",)))
        plain = ply(form, rich=False, first="vertex", polygons=FLAT)
        made.append(Dialect(f"{form}_flat.ply", plain, POINTS, FLAT, ("plyfile", "trimesh", "meshio")))
        listed = ply(form, rich=True, first="vertex", lists=True)
        made.append(Dialect(f"{form}_listed.ply", listed, POINTS, TRIANGLES, ("plyfile",)))
    return made


def _off() -> list[Dialect]:
    vertices = [_text(p) for p in POINTS]
    faces = [f"{len(p)} {' '.join(map(str, p))}" for p in POLYGONS]
    count = f"{len(POINTS)} {len(POLYGONS)} 0"
    flat = [f"3 {' '.join(map(str, p))}" for p in FLAT]
    forms = {
        "plain": _lines(["OFF", count, *vertices, *faces]),
        "comments": _lines(
            ["# made", "OFF # here", "", count, "# v", *(f"{v} # x" for v in vertices), "#", *faces]
        ),
        "colours": _lines(
            ["COFF", count, *(f"{v} 0.1 0.2 0.3 1.0" for v in vertices), *(f"{f} 255 0 0" for f in faces)]
        ),
        "normals": _lines(["NOFF", count, *(f"{v} 0 0 1" for v in vertices), *faces]),
        "dims": _lines(["nOFF", "3", count, *vertices, *faces]),
        "tokens": " ".join(["OFF", count, *vertices, *faces]).encode(),
        "broken": _lines(["OFF", count, *vertices, *(f.replace(" ", "\n") for f in faces)]),
        "glued": _lines(["OFF" + count, *vertices, *faces]),
    }
    made = [Dialect(f"{name}.off", content, POINTS, TRIANGLES) for name, content in forms.items()]
    lines = _lines(["OFF", f"{len(POINTS)} {len(FLAT)} 0", *vertices, *flat])
    made.append(Dialect("flat.off", lines, POINTS, FLAT, ("trimesh", "meshio")))
    four = np.c_[POINTS, np.arange(12.0)]
    made.append(Dialect("four.off", _lines(["4OFF", "12 0 0", *(_text(p) for p in four)]), four))
    return made


def _obj() -> list[Dialect]:
    vertices = [f"v {_text(p)}" for p in POINTS]
    some = [f"{v} 0.5 0.25 1" if i % 3 else v for i, v in enumerate(vertices)]
    faces = [f"f {' '.join(str(c + 1) for c in p)}" for p in POLYGONS]
    slashes = [f"f {' '.join(f'{c + 1}/1/1' for c in p)}" for p in POLYGONS]
    back = [f"f {' '.join(str(c - 12) for c in p)}" for p in POLYGONS]
    flat = [f"f {' '.join(str(c + 1) for c in p)}" for p in FLAT]
    forms = {
        "plain": ["# made", *vertices, *faces],
        "slashes": ["mtllib a.mtl", "o a", *vertices, "vt 0 0", "vn 0 0 1", "usemtl b", "s 1", *slashes],
        "back": [*vertices, *back],
        "continued": [
            *(v.replace(" ", " \\\n", 2) for v in vertices),
            *(f.replace(" ", " \\\n ") for f in faces),
        ],
        "some_colours": [*some, *faces],
    }
    made = [Dialect(f"{name}.obj", _lines(lines), POINTS, TRIANGLES) for name, lines in forms.items()]
    made.append(Dialect("flat.obj", _lines([*vertices, *flat]), POINTS, FLAT, ("trimesh", "meshio")))
    return made


def _stl() -> list[Dialect]:
    corners = POINTS.astype(np.float32)[FLAT]
    text = "".join(
        "facet normal 0 0 1\n outer loop\n"
        + "".join(f"  vertex {_text(c)}\n" for c in t)
        + " endloop\nendfacet\n"
        for t in corners
    )
    rows = np.zeros(len(FLAT), np.dtype([("n", "<f4", 3), ("c", "<f4", (3, 3)), ("m", "<u2")]))
    rows["c"] = corners
    binary = b"solid, but binary".ljust(80) + struct.pack("<I", len(rows)) + rows.tobytes()
    points, back = np.unique(corners.reshape(-1, 3).astype(np.float64), axis=0, return_inverse=True)
    faces = back.reshape(-1, 3).tolist()
    solid = f"solid a\n{text}endsolid a\n".encode()
    return [
        Dialect("text.stl", solid, points, faces, ("trimesh", "meshio")),
        Dialect("blank.stl", b"\n" + solid, points, faces),
        Dialect("binary.stl", binary, points, faces, ("trimesh", "meshio")),
    ]


def _pcd() -> list[Dialect]:
    head = (
        f"VERSION 0.7\nFIELDS X Y Z Intensity\nSIZE 8 8 8 2\nTYPE F F F U\nCOUNT 1 1 1 1\nWIDTH {len(POINTS)}\nHEIGHT 1\n"
        f"VIEWPOINT 0 0 0 1 0 0 0\nPOINTS {len(POINTS)}\nDATA "
    )
    rows = np.zeros(len(POINTS), np.dtype([("X", "<f8"), ("Y", "<f8"), ("Z", "<f8"), ("I", "<u2")]))
    rows["X"], rows["Y"], rows["Z"], rows["I"] = *POINTS.T, np.arange(len(POINTS))
    block = b"".join(np.ascontiguousarray(rows[name]).tobytes() for name in rows.dtype.names)
    runs = b"".join(bytes([len(block[i : i + 32]) - 1]) + block[i : i + 32] for i in range(0, len(block), 32))
    bodies = {
        "ascii": _lines(f"{_text(p)} {i}" for i, p in enumerate(POINTS)),
        "binary": rows.tobytes(),
        "binary_compressed": struct.pack("<II", len(runs), len(block)) + runs,
    }
    return [Dialect(f"{k}_pdal.pcd", (head + k + "\n").encode() + body, POINTS) for k, body in bodies.items()]


def _las() -> list[Dialect]:
    import laspy

    made = []
    for number in range(11):
        header = laspy.LasHeader(version="1.4", point_format=number)
        header.scales, header.offsets = [0.001] * 3, [0.0] * 3
        header.add_extra_dim(laspy.ExtraBytesParams(name="extra", type="f4", description="more"))
        header.vlrs.append(laspy.VLR("LASF_Projection", 2112, "wkt", b'LOCAL_CS["a",UNIT["metre",1]]\0'))
        las = laspy.LasData(header, points=laspy.ScaleAwarePointRecord.zeros(len(POINTS), header=header))
        las.x, las.y, las.z = POINTS.T
        las.intensity = np.arange(len(POINTS))
        las["extra"] = np.arange(len(POINTS))
        points = np.stack([las.x, las.y, las.z], axis=1)
        for suffix in ("las", "laz") if number not in (4, 5, 9, 10) else ("las",):
            buffer = io.BytesIO()
            las.header.creation_date = None
            las.write(buffer, do_compress=suffix == "laz")
            made.append(Dialect(f"format{number}.{suffix}", buffer.getvalue(), points, peers=("laspy",)))
            if suffix == "laz" and number <= 3:
                made.append(Dialect(f"stream{number}.laz", one_stream(buffer.getvalue()), points))
    return made


def one_stream(data: bytes) -> bytes:
    """As the first LASzip wrote it: no chunks, no table of them."""
    (start,) = struct.unpack_from("<I", data, 96)
    (table,) = struct.unpack_from("<q", data, start)
    head, place = bytearray(data[:start]), data.index(b"laszip encoded") - 2 + 54
    head[place : place + 2] = struct.pack("<H", 1)
    head[place + 12 : place + 16] = struct.pack("<I", 0)
    return bytes(head) + data[start + 8 : table]


def pdb_line(serial, name, residue, point, *, record="ATOM  ", element="", number=1) -> str:
    x, y, z = point
    text = (
        f"{record}{serial:>5} {name} {residue:<4}A{number:>4}    {x:8.3f}{y:8.3f}{z:8.3f}{1.0:6.2f}{0.0:6.2f}"
    )
    return text.ljust(76) + f"{element:>2}"


def _molecules() -> list[Dialect]:
    names = ("ALA", "GLY", "SER", "LYS")
    usual = [pdb_line(i, " CA ", names[i % 4], p, element="C", number=i) for i, p in enumerate(POINTS, 1)]
    charmm = [pdb_line(i, "CA  ", names[i % 4], p, number=i) for i, p in enumerate(POINTS, 1)]
    hybrid = [
        pdb_line(f"A{i:04}", " CA ", names[i % 4], p, element="C", number=i) for i, p in enumerate(POINTS, 1)
    ]
    calcium = pdb_line(99, "CA  ", "CA", (1, 2, 3), record="HETATM", element="CA", number=99)
    nitrogen = pdb_line(98, " N  ", "ALA", (1, 2, 3), element="N", number=98)
    pushed = [line[:6] + f"{100_000 + i}" + line[11:] for i, line in enumerate(usual)]
    frames = ["CRYST1", *usual, "END", *usual[:3], "END"]
    tags = (
        "group_PDB id type_symbol label_atom_id label_alt_id label_comp_id label_asym_id label_entity_id label_seq_id "
        "pdbx_PDB_ins_code Cartn_x Cartn_y Cartn_z occupancy B_iso_or_equiv auth_seq_id auth_asym_id pdbx_PDB_model_num"
    )
    head = ["data_MADE", "#", "_entry.id MADE", "loop_", *(f"_atom_site.{t}" for t in tags.split())]
    rows = [
        f"ATOM {i} C 'CA' . {names[i % 4]} A 1 {i} ? {_text(p)} 1.00 0.00 {i} A 1"
        for i, p in enumerate(POINTS, 1)
    ]
    rows.append("HETATM 99 CA CA . CA B 2 . ? 1.0 2.0 3.0 1.00 0.00 99 B 1")
    broken = [row.replace(" A 1 ", "\nA 1\n", 1) for row in rows]
    elements = ["C", "N", "O", "Fe"]
    chemistry = [
        f"{len(POINTS)}",
        "made up",
        *(f"{elements[i % 4]} {_text(p)}" for i, p in enumerate(POINTS)),
    ]
    comment = 'Lattice="1 0 0 0 1 0 0 0 1" Properties=species:S:1:pos:R:3:q:R:1'
    extended = [chemistry[0], comment, *(f"{line} 0.5" for line in chemistry[2:])]
    digits = [chemistry[0], "", *(f"{i % 90 + 1} {_text(p)}" for i, p in enumerate(POINTS))]
    return [
        Dialect("usual.pdb", _lines([*usual, nitrogen, calcium, "END"]), POINTS, peers=("gemmi",)),
        Dialect("charmm.pdb", _lines([*charmm, "END"]), POINTS),
        Dialect("hybrid.pdb", _lines([*hybrid, "END"]), POINTS, peers=("gemmi",)),
        Dialect("pushed.pdb", _lines([*pushed, "END"]), POINTS),
        Dialect("frames.pdb", _lines(frames), POINTS),
        Dialect("usual.cif", _lines([*head, *rows, "#"]), POINTS, peers=("gemmi",)),
        Dialect("broken.cif", _lines([*head, *broken, "#"]), POINTS, peers=("gemmi",)),
        Dialect("chemistry.xyz", _lines(chemistry), POINTS),
        Dialect("frames.xyz", _lines([*chemistry, *chemistry]), POINTS),
        Dialect("extended.xyz", _lines(extended), POINTS),
        Dialect("numbers.xyz", _lines(digits), POINTS),
    ]


def _swc() -> list[Dialect]:
    parents = [-1, 1, 2, 3, 3, 5, 1, 7, 8, 8, 10, 1]
    rows = [
        f"{i} {1 if i == 1 else 3} {_text(p)} 0.5 {q}"
        for i, (p, q) in enumerate(zip(POINTS, parents, strict=True), 1)
    ]
    remarks = ["# made", *(f"{row} # node" for row in rows)]
    return [
        Dialect("plain.swc", _lines(["# made", *rows]), POINTS, peers=("morphio",)),
        Dialect("remarks.swc", _lines(remarks), POINTS, peers=("morphio",)),
        Dialect("windows.swc", _lines(rows).replace(b"\n", b"\r\n"), POINTS),
    ]


def _arrays() -> list[Dialect]:
    import h5py
    import pyarrow as pa
    import pyarrow.parquet as pq

    more = {
        "normals": POINTS + 1,
        "label": np.arange(12),
        "image": np.zeros((4, 4, 3)),
        "scale": np.float64(2),
    }
    plain, fortran, big = io.BytesIO(), io.BytesIO(), io.BytesIO()
    np.save(plain, POINTS.astype("f4"))
    np.save(fortran, np.asfortranarray(POINTS))
    np.save(big, POINTS.astype(">f8"))
    archive, many = io.BytesIO(), io.BytesIO()
    np.savez(archive, xyz=POINTS, **more)
    np.savez_compressed(many, points=POINTS, offsets=np.array([0, 5, 12]), labels=np.array([1, 0]))
    hdf5, old = io.BytesIO(), io.BytesIO()
    with h5py.File(hdf5, "w", libver="latest") as file:
        file.create_dataset("points", data=POINTS, chunks=(5, 3), compression="gzip", shuffle=True)
        for name, values in more.items():
            file[name] = values
    with h5py.File(old, "w") as file:
        file["data"] = POINTS.astype("f4")
        file.create_dataset("label", data=np.arange(12, dtype="u1")[:, None], compression="lzf")
    table = {
        **{a: POINTS[:, i] for i, a in enumerate("xyz")},
        "word": pa.array(["a", None, "ccc"] * 4),
        "flag": pa.array([True, None, False] * 4),
        "when": pa.array(range(12), pa.timestamp("s")),
    }
    made = [
        Dialect("single.npy", plain.getvalue(), POINTS.astype("f4").astype(float)),
        Dialect("fortran.npy", fortran.getvalue(), POINTS),
        Dialect("big.npy", big.getvalue(), POINTS),
        Dialect("more.npz", archive.getvalue(), POINTS),
        Dialect("more.h5", hdf5.getvalue(), POINTS),
        Dialect("old.h5", old.getvalue(), POINTS.astype("f4").astype(float)),
    ]
    for k, how in enumerate(
        (
            {"compression": "snappy"},
            {"compression": "zstd", "data_page_version": "2.0"},
            {"row_group_size": 5},
        )
    ):
        buffer = io.BytesIO()
        pq.write_table(pa.table(table), buffer, **how)
        made.append(Dialect(f"table{k}.parquet", buffer.getvalue(), POINTS))
    return made


def _tables() -> list[Dialect]:
    rows = [_text(p) for p in POINTS]
    words = [f'{_text(p, ",")},"tree, tall",{i}' for i, p in enumerate(POINTS)]
    comma = [";".join(repr(float(v)).replace(".", ",") for v in p) for p in POINTS]
    return [
        Dialect("plain.xyz", _lines(rows), POINTS),
        Dialect("commented.txt", _lines(["// X Y Z", *rows]), POINTS),
        Dialect("quoted.csv", _lines(["x,y,z,kind,i", *words]), POINTS),
        Dialect(
            "holes.csv",
            _lines(["x,y,z,i", *(f"{_text(p, ',')},{'' if i % 2 else i}" for i, p in enumerate(POINTS))]),
            POINTS,
        ),
        Dialect("comma.csv", _lines(["x;y;z", *comma]), POINTS),
        Dialect(
            "tabs.tsv",
            _lines(["id\tx\ty\tz", *(f"{i}\t{_text(p, chr(9))}" for i, p in enumerate(POINTS))]),
            POINTS,
        ),
        Dialect("count.pts", _lines([str(len(rows)), *(f"{row} 7 1 2 3" for row in rows)]), POINTS),
        Dialect(
            "packed.xyz.gz",
            gzip.compress(_lines(rows[:5]), mtime=0) + gzip.compress(_lines(rows[5:]), mtime=0),
            POINTS,
        ),
    ]


DIALECTS = [
    *_ply(),
    *_off(),
    *_obj(),
    *_stl(),
    *_pcd(),
    *_las(),
    *_molecules(),
    *_swc(),
    *_arrays(),
    *_tables(),
]
