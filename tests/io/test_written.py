# ruff: noqa: E501  (small files are easier to check in one piece)
"""Files written with all the freedom that their formats allow: read, and with the right numbers."""

import gzip
import io
import struct
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.helpers import raw

FREE = settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
    ],
)
FLOATS = st.floats(-1e6, 1e6, allow_nan=False).map(lambda v: v + 0.0)  # no minus zero: text may lose its sign
SINGLES = st.floats(-1e6, 1e6, width=32).map(lambda v: v + 0.0)
BLANKS = st.sampled_from([" ", "  ", "\t", " \t "])
ENDS = st.sampled_from(["\n", "\r\n"])
WORDS = st.text("abcdefghXYZ_0123456789", min_size=1, max_size=8).filter(lambda w: not w[0].isdigit())
NOT_AXES = WORDS.filter(lambda w: w.lower() not in ("x", "y", "z") and w[0].lower() != "x")


def numbers(kind=FLOATS, n=3, least=1, most=8):
    return st.lists(st.tuples(*[kind] * n), min_size=least, max_size=most)


def polygons(draw, m):
    corner = st.integers(0, m - 1)
    return draw(st.lists(st.lists(corner, min_size=0, max_size=6), max_size=6))


def fan(faces):
    return [[p[0], p[i], p[i + 1]] for p in faces for i in range(1, len(p) - 1)]


def number_text(draw, value):
    """One of the ways to write a number that give it back."""
    texts = [
        repr(value),
        f"{value:.17g}",
        f"{value:.17e}",
        f"{value:.17E}",
        f"+{value!r}" if value >= 0 else repr(value),
    ]
    if value == int(value):
        texts.append(str(int(value)))
    return draw(st.sampled_from(texts))


def check(tmp_path, name, content, points, faces=None, **options):
    path = tmp_path / name
    path.write_bytes(content)
    cloud = raw.read_cloud(path, **options)
    np.testing.assert_array_equal(cloud.points, np.array(points, dtype=float).reshape(cloud.points.shape))
    assert (cloud.faces.tolist() if cloud.faces is not None else []) == (faces or [])
    path.write_bytes(gzip.compress(content, 1))
    np.testing.assert_array_equal(raw.read_cloud(path, **options).points, cloud.points)
    return cloud


PLY_TYPES = {
    "char": ("b", -128, 127), "uint8": ("B", 0, 255), "short": ("h", -(2**15), 2**15 - 1), "uint16": ("H", 0, 2**16 - 1),
    "int32": ("i", -(2**31), 2**31 - 1), "uint": ("I", 0, 2**32 - 1),
}  # fmt: skip


@FREE
@given(data=st.data())
def test_ply(tmp_path, data):
    """Any order of elements and properties, any types, lists of any kind, comments anywhere."""
    draw = data.draw
    order = draw(st.sampled_from(["", "<", ">"]))
    form = {"": "ascii", "<": "binary_little_endian", ">": "binary_big_endian"}[order]
    end = draw(ENDS) if not order else "\n"
    double = draw(st.booleans())
    points = draw(numbers(FLOATS if double else SINGLES))
    faces = polygons(draw, len(points))
    more = draw(
        st.lists(st.tuples(NOT_AXES, st.sampled_from(list(PLY_TYPES))), max_size=3, unique_by=lambda t: t[0])
    )
    columns = {n: [draw(st.integers(*PLY_TYPES[t][1:])) for _ in points] for n, t in more}

    def put(code, value):
        if order:
            return struct.pack(order + code, value)
        text = number_text(draw, value) if isinstance(value, float) else str(value)
        return (text + draw(BLANKS)).encode()

    def row(parts):
        return b"".join(parts) + (end.encode() if not order else b"")

    axis = "d" if double else "f"
    names = draw(st.permutations([*"xyz", *columns]))
    kinds = {
        **dict.fromkeys(
            "xyz", draw(st.sampled_from(["double", "float64"] if double else ["float", "float32"]))
        ),
        **dict(more),
    }
    vertex = [f"element vertex {len(points)}", *(f"property {kinds[n]} {n}" for n in names)]
    rows = [
        row(
            [
                put(axis, p["xyz".index(n)]) if n in "xyz" else put(PLY_TYPES[kinds[n]][0], columns[n][i])
                for n in names
            ]
        )
        for i, p in enumerate(points)
    ]
    length, item = (
        draw(st.sampled_from(["uint8", "int32", "uint16"])),
        draw(st.sampled_from(["int32", "uint", "short", "uint8"])),
    )
    beside = draw(
        st.permutations(
            ["corners", *draw(st.lists(st.sampled_from(["flag", "texcoord"]), unique=True, max_size=2))]
        )
    )
    header = {
        "corners": f"property list {length} {item} {draw(st.sampled_from(['vertex_indices', 'vertex_index']))}",
        "flag": "property uchar flag", "texcoord": "property list uchar float texcoord",
    }  # fmt: skip
    face = [f"element face {len(faces)}", *(header[b] for b in beside)]

    def part(b, p):
        if b == "flag":
            return [put("B", 200)]
        if b == "texcoord":
            return [put("B", 2), put("f", 0.5), put("f", 0.25)]
        return [put(PLY_TYPES[length][0], len(p)), *(put(PLY_TYPES[item][0], c) for c in p)]

    face_rows = [row([x for b in beside for x in part(b, p)]) for p in faces]
    edges = (
        ["element edge 2", "property int a", "property float b"],
        [row([put("i", 1), put("f", 0.5)])] * 2,
    )
    elements = draw(
        st.permutations([(vertex, rows), (face, face_rows), *([edges] if draw(st.booleans()) else [])])
    )
    comments = draw(st.sampled_from([[], ["comment made"], ["obj_info 1", "comment property float x"]]))
    head = [
        "ply",
        f"format {form} 1.0",
        *comments,
        *(line for e, _ in elements for line in e),
        *comments[:1],
        "end_header",
    ]
    content = (end.join(head) + end).encode() + b"".join(r for _, rs in elements for r in rs)
    cloud = check(tmp_path, "a.ply", content, points, fan(faces))
    for name, values in columns.items():
        assert cloud.columns[name].tolist() == values


@FREE
@given(data=st.data())
def test_off(tmp_path, data):
    """Keyword or none, letters before it, comments and line breaks anywhere between tokens."""
    draw = data.draw
    letters = draw(st.sampled_from(["", "N", "C", "CN", "n", "4", "STN", "none"]))
    dims = {"n": draw(st.integers(1, 6)), "4": 4}.get(letters, 3)
    points = draw(numbers(n=dims))
    faces = polygons(draw, len(points))
    extra = 3 * ("N" in letters) + 4 * ("C" in letters) + 2 * ("ST" in letters)
    end = draw(ENDS)
    free = draw(st.booleans()) and letters != "none"  # tokens without regard to lines

    def noise():
        return draw(st.sampled_from(["", "", "", f"# remark 1 2 3{end}", f"{end}", f"  # x{end}{end}"]))

    words = [[number_text(draw, v) for v in p] + ["0.5"] * extra for p in points]
    rows = [[str(len(p)), *map(str, p)] for p in faces]
    head = ([] if letters == "none" else [f"{letters}OFF"]) + ([str(dims)] if letters == "n" else [])
    counts = [str(len(points)), str(len(faces)), "0"]
    if free:
        tokens = [*head, *counts, *(w for r in words + rows for w in r)]
        text = "".join(t + draw(st.sampled_from([" ", end, f" # c{end}", "\t"])) for t in tokens)
    else:
        colour = draw(st.sampled_from(["", " 255 0 0", " 0.1 0.2 0.3 1.0"]))
        lines = [
            *head,
            " ".join(counts),
            *(draw(BLANKS).join(w) for w in words),
            *(" ".join(r) + colour for r in rows),
        ]
        text = (noise() if head else "") + "".join(
            line + draw(st.sampled_from(["", " # r"])) + end + noise() for line in lines
        )
    check(tmp_path, "a.off", text.encode(), points, fan(faces) if dims == 3 else None)


@FREE
@given(data=st.data())
def test_obj(tmp_path, data):
    """Vertices with or without colours, corners in four notations and two directions, lines that go on."""
    draw = data.draw
    points = draw(numbers(least=3))
    faces = [p for p in polygons(draw, len(points)) if len(p) >= 3]
    end = draw(ENDS)
    go_on = draw(st.booleans())
    m = len(points)

    def corner(c):
        number = str(c + 1) if draw(st.booleans()) else str(c - m)
        return number + draw(st.sampled_from(["", "/1", "//1", "/1/1"]))

    lines = ["# made", "mtllib a.mtl", "vt 0 0", "vn 0 0 1"]
    lines += [
        " ".join(
            ["v", *(number_text(draw, v) for v in p), *draw(st.sampled_from([[], ["1", "0.5", "0.25"]]))]
        )
        for p in points
    ]
    lines += ["usemtl b", "s off", "g a b"]
    lines += [" ".join(["f", *(corner(c) for c in p)]) for p in faces]
    if go_on:
        lines = [
            line.replace(" ", f" \\{end} ", draw(st.integers(0, 2))) if line[0] in "vf" else line
            for line in lines
        ]
    lines = [line + draw(st.sampled_from(["", "  ", " # r"])) if not go_on else line for line in lines]
    check(tmp_path, "a.obj", end.join(lines).encode(), points, fan(faces))


@FREE
@given(
    triangles=st.lists(numbers(SINGLES, least=3, most=3), min_size=1, max_size=5),
    binary=st.booleans(),
    data=st.data(),
)
def test_stl(tmp_path, triangles, binary, data):
    draw = data.draw
    if binary:
        content = draw(st.binary(min_size=80, max_size=80)) + struct.pack("<I", len(triangles))
        for t in triangles:
            content += struct.pack(
                "<12fH", 0, 0, 1, *(v for p in t for v in p), draw(st.integers(0, 2**16 - 1))
            )
    else:
        end, name = draw(ENDS), draw(st.sampled_from(["", " a", " solid of stone"]))
        lines = [*draw(st.sampled_from([[], [""], ["", "  "]])), f"solid{name}"]
        for t in triangles:
            lines += [" facet normal 0 0 1", "outer loop"]
            lines += ["vertex" + "".join(draw(BLANKS) + number_text(draw, v) for v in p) for p in t]
            lines += ["endloop", "endfacet"]
        content = end.join([*lines, f"endsolid{name}", ""]).encode()
        if draw(st.booleans()) and "e" not in name:
            content = (
                content.replace(b"vertex", b"VERTEX").replace(b"facet", b"FACET").replace(b"solid", b"SOLID")
            )
    (tmp_path / "a.stl").write_bytes(content)
    cloud = raw.read_cloud(tmp_path / "a.stl")
    np.testing.assert_array_equal(cloud.points[cloud.faces], np.array(triangles))


@FREE
@given(data=st.data())
def test_pcd(tmp_path, data):
    """Fields in any order and case, of any type, with counts and padding; three ways to store them."""
    draw = data.draw
    kinds = {
        ("F", 4): "<f4",
        ("F", 8): "<f8",
        ("U", 1): "<u1",
        ("U", 2): "<u2",
        ("U", 4): "<u4",
        ("I", 1): "<i1",
        ("I", 4): "<i4",
    }
    double = draw(st.booleans())
    points = draw(numbers(FLOATS if double else SINGLES))
    upper = draw(st.booleans())
    fields = [(a.upper() if upper else a, ("F", 8 if double else 4), 1) for a in "xyz"]
    for name in draw(st.lists(NOT_AXES, max_size=3, unique_by=str.lower)):
        fields.append((name, draw(st.sampled_from(list(kinds))), draw(st.integers(1, 3))))
    if draw(st.booleans()):
        fields.append(("_", ("U", 1), draw(st.integers(1, 5))))
    fields = draw(st.permutations(fields))
    table = {}
    for name, kind, count in fields:
        if name.lower() in "xyz":
            column = np.array([p["xyz".index(name.lower())] for p in points], dtype=kinds[kind]).reshape(
                -1, 1
            )
        else:
            column = np.array(
                draw(
                    st.lists(st.integers(0, 100), min_size=len(points) * count, max_size=len(points) * count)
                )
            )
            column = column.reshape(len(points), count).astype(kinds[kind])
        table[name] = column
    form = draw(st.sampled_from(["ascii", "binary", "binary_compressed"]))
    m = len(points)
    size = draw(
        st.sampled_from(
            [[f"WIDTH {m}", "HEIGHT 1", f"POINTS {m}"], [f"WIDTH {m}", "HEIGHT 1"], [f"POINTS {m}"]]
        )
    )
    head = [
        *draw(st.sampled_from([[], ["# .PCD v0.7 - Point Cloud Data file format"], ["# remark"]])), "VERSION .7",
        "FIELDS " + " ".join(n for n, _, _ in fields), "SIZE " + " ".join(str(k[1]) for _, k, _ in fields),
        "TYPE " + " ".join(k[0] for _, k, _ in fields), "COUNT " + " ".join(str(c) for _, _, c in fields), *size,
        "VIEWPOINT 0 0 0 1 0 0 0", f"DATA {form}",
    ]  # fmt: skip
    if form == "ascii":
        body = "".join(
            " ".join(repr(v.item()) for n, _, _ in fields for v in table[n][i]) + "\n" for i in range(m)
        ).encode()
    elif form == "binary":
        body = b"".join(table[n][i].tobytes() for i in range(m) for n, _, _ in fields)
    else:
        block = b"".join(np.ascontiguousarray(table[n]).tobytes() for n, _, _ in fields)
        step = draw(st.integers(1, 32))
        packed = b"".join(
            bytes([len(block[i : i + step]) - 1]) + block[i : i + step] for i in range(0, len(block), step)
        )
        body = struct.pack("<II", len(packed), len(block)) + packed
    cloud = check(tmp_path, "a.pcd", ("\n".join(head) + "\n").encode() + body, points)
    for name, _, count in fields:
        if name.lower() not in "xyz" and name != "_":
            for part in range(count):
                key = name if count == 1 else f"{name}_{part}"
                np.testing.assert_array_equal(cloud.columns[key], table[name][:, part])


@FREE
@given(data=st.data())
def test_swc(tmp_path, data):
    """Ids in any order with gaps, several roots, remarks, blank lines, integers as floats."""
    draw = data.draw
    points = draw(numbers())
    m = len(points)
    ids = draw(st.lists(st.integers(0, 10**6), min_size=m, max_size=m, unique=True))
    parents = [-1] + [draw(st.integers(-1, i - 1)) for i in range(1, m)]
    order = draw(st.permutations(range(m)))
    end = draw(ENDS)
    lines = ["# made up", ""]
    for i in order:
        words = [str(ids[i]), str(draw(st.integers(0, 7))), *(number_text(draw, v) for v in points[i]), "0.5"]
        words.append(str(-1 if parents[i] < 0 else ids[parents[i]]))
        lines.append(
            draw(st.sampled_from(["", " "]))
            + draw(BLANKS).join(words)
            + draw(st.sampled_from(["", " ", " # r", "#r"]))
        )
    cloud = check(tmp_path, "a.swc", end.join([*lines, ""]).encode(), [points[i] for i in order])
    assert [ids[order[p]] if p >= 0 else -1 for p in cloud.parents] == [
        -1 if parents[i] < 0 else ids[parents[i]] for i in order
    ]


COORDINATES = st.integers(-999_999, 999_999).map(lambda v: v / 1000)
RESIDUES = st.sampled_from(["ALA", "GLY", "HSD", "MSE", "LYSN", "SEC"])


@FREE
@given(data=st.data())
def test_pdb(tmp_path, data):
    """Names from column 13 or 14, elements or none, long serials of four kinds, frames, other records between."""
    draw = data.draw
    frames = draw(st.lists(numbers(COORDINATES, most=4), min_size=1, max_size=3))
    left, element = draw(st.booleans()), draw(st.booleans())
    serials = draw(st.sampled_from(["usual", "hybrid", "wide", "pushed"]))
    style = draw(st.sampled_from(["model", "end"]))
    lines = ["HEADER    MADE UP", "REMARK   1 ATOM"]
    for k, points in enumerate(frames, 1):
        lines += [f"MODEL     {k:>4}"] if style == "model" else []
        for i, (x, y, z) in enumerate(points):
            record = draw(st.sampled_from(["ATOM  ", "HETATM"]))
            residue = "MSE" if record == "HETATM" else draw(RESIDUES)
            name = "CA  " if left else " CA "
            number = 100_000 + i
            start = {
                "usual": f"{record}{i + 1:>5}", "hybrid": f"{record}A{i:04}", "pushed": f"{record}{number}",
                "wide": f"ATOM {number}" if record == "ATOM  " else f"{record}{i + 1:>5}",
            }[serials]  # fmt: skip
            body = f" {name} {residue:<4}A{i + 1:>4}    {x:8.3f}{y:8.3f}{z:8.3f}  1.00  0.00"
            lines.append((start + body).ljust(76 + (len(start) - 11)) + (" C" if element else ""))
            lines += draw(st.sampled_from([[], ["ANISOU    1  CA  ALA A   1     1  2  3  4  5  6"], ["TER"]]))
        other = f"ATOM  {90:>5}  N   ALA A   1    {1:8.3f}{2:8.3f}{3:8.3f}"
        lines += [other, "ENDMDL" if style == "model" else "END"]
    content = (draw(ENDS).join(lines) + "\n").encode()
    which = draw(st.integers(1, len(frames)))
    check(tmp_path, "a.pdb", content, frames[which - 1], model=which)
    check(tmp_path, "a.pdb", content, [p for f in frames for p in f], model=None)


@FREE
@given(data=st.data())
def test_cif(tmp_path, data):
    """Columns in any order, quoted or not, rows over several lines, texts, remarks and other loops around."""
    draw = data.draw
    points = draw(numbers())
    tags = draw(
        st.permutations(
            ["type_symbol", "label_atom_id", "label_comp_id", "auth_asym_id", "Cartn_x", "Cartn_y", "Cartn_z"]
        )
    )
    quote = st.sampled_from(["{}", "'{}'", '"{}"'])

    def cells(p):
        values = {
            "type_symbol": draw(quote).format("C"), "label_atom_id": draw(quote).format("CA"),
            "label_comp_id": draw(quote).format("GLY"), "auth_asym_id": draw(st.sampled_from(["A", "'B C'", '"x\'y"'])),
            **{f"Cartn_{a}": number_text(draw, v) + ("" if "e" in repr(v) else draw(st.sampled_from(["", "(3)"]))) for a, v in zip("xyz", p, strict=True)},
        }  # fmt: skip
        for axis in "xyz":  # an uncertainty belongs to plain decimals
            if "e" in values[f"Cartn_{axis}"].lower():
                values[f"Cartn_{axis}"] = values[f"Cartn_{axis}"].removesuffix("(3)")
        return [values[t] for t in tags]

    end = draw(ENDS)
    breaks = st.sampled_from([" ", "  ", end, f" # remark{end}"])
    lines = ["data_MADE", "_entry.id MADE", "_struct.title", ";A text with", "loop_ in it", ";"]
    lines += draw(st.sampled_from([[], ["loop_", "_other.id", "_other.x", "1 'a b'", "2 c", "#"]]))
    lines += ["loop_", *(f"_atom_site.{t}" for t in tags)]
    for p in points:
        row = cells(p)
        lines.append("".join(c + (draw(breaks) if i < len(row) - 1 else "") for i, c in enumerate(row)))
    lines += draw(st.sampled_from([["#"], ["loop_", "_more.id", "1"], []]))
    check(tmp_path, "a.cif", (end.join(lines) + end).encode(), points)


@FREE
@given(data=st.data())
def test_chemistry(tmp_path, data):
    draw = data.draw
    frames = draw(st.lists(numbers(), min_size=1, max_size=3))
    symbols = draw(st.sampled_from([["C", "Fe", "H1"], ["6", "26", "1"]]))
    end = draw(ENDS)
    lines = []
    for points in frames:
        lines += [
            draw(st.sampled_from(["{}", "  {}", "{} "])).format(len(points)),
            draw(st.sampled_from(["", "made", "E = -1.5", "1.0 2.0"])),
        ]
        for p in points:
            words = [draw(st.sampled_from(symbols)), *(number_text(draw, v) for v in p)]
            lines.append(draw(st.sampled_from(["", " "])) + draw(BLANKS).join(words))
    content = (end.join(lines) + end).encode()
    which = draw(st.integers(1, len(frames)))
    cloud = check(tmp_path, "a.xyz", content, frames[which - 1], model=which)
    assert set(cloud.columns["element"]) <= set(symbols)


@FREE
@given(data=st.data())
def test_tables(tmp_path, data):
    """Header or none, in a comment or not; blanks, commas, semicolons, tabs; empty cells and words beside numbers."""
    draw = data.draw
    points = draw(numbers(least=1))
    mark = draw(st.sampled_from([",", ";", "\t", " "]))
    header = draw(st.sampled_from(["none", "plain", "comment"]))
    if header == "comment" and mark in ",;":
        header = "plain"
    names = [draw(st.sampled_from(["x", "X", '"x"'])) if header == "plain" else "x", "y", "z"]
    more = draw(st.lists(NOT_AXES, max_size=2, unique=True)) if header != "none" else []
    cells = {n: draw(st.sampled_from(["number", "word"])) for n in more}
    order = draw(st.permutations([*names, *more])) if header != "none" else names
    end = draw(ENDS)
    rows = []
    for p in points:
        row = []
        for n in order:
            if n in names:
                row.append(number_text(draw, p[names.index(n)]))
            elif cells[n] == "number":
                row.append(draw(st.sampled_from(["1", "2.5", ""] if mark not in " \t" else ["1", "2.5"])))
            else:
                row.append(
                    draw(st.sampled_from(["oak", "Fagus", '"a, b; c"'] if mark in ",;" else ["oak", "Fagus"]))
                )
        rows.append(mark.join(row))
    head = {
        "none": [],
        "plain": [mark.join(order)],
        "comment": [draw(st.sampled_from(["# ", "//", "#"])) + " ".join(order)],
    }[header]
    mark_of_order = draw(st.sampled_from([b"", b"\xef\xbb\xbf"]))
    content = mark_of_order + (end.join([*head, *rows]) + draw(st.sampled_from(["", end, end * 3]))).encode()
    check(tmp_path, draw(st.sampled_from(["a.csv", "a.txt", "a.xyz"])), content, points)


@FREE
@given(data=st.data())
def test_arrays(tmp_path, data):
    """NPY of any type and order; NPZ and HDF5 with other arrays around, stored in several ways."""
    draw = data.draw
    h5py = pytest.importorskip("h5py")
    kind = draw(st.sampled_from(["<f8", ">f8", "<f4", ">f4", "<i4", ">i2", "|u1", "|i1", "<u8"]))
    points = np.array(draw(numbers(st.integers(0, 100), n=draw(st.integers(1, 5)))), dtype=kind)
    array = draw(st.sampled_from([np.ascontiguousarray, np.asfortranarray]))(points)
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, version=draw(st.sampled_from([(1, 0), (2, 0)])))
    check(tmp_path, "a.npy", buffer.getvalue(), points, dims=points.shape[1])
    name = draw(st.sampled_from(["points", "xyz", "pos", "coords", "vertices", "data"]))
    others = {
        "labels": np.arange(len(points)), "image": np.zeros((2, 3, 4, 5)), "scale": np.float32(3), "eye": np.eye(7),
        "names": np.array(["a", "bc"]),
    }  # fmt: skip
    chosen = draw(st.lists(st.sampled_from(list(others)), unique=True))
    arrays = draw(st.permutations([(name, array), *((k, others[k]) for k in chosen)]))
    buffer = io.BytesIO()
    with zipfile.ZipFile(
        buffer, "w", draw(st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]))
    ) as archive:
        for key, value in arrays:
            inner = io.BytesIO()
            np.save(inner, value)
            archive.writestr(f"{key}.npy", inner.getvalue())
    check(tmp_path, "a.npz", buffer.getvalue(), points, dims=points.shape[1])
    buffer = io.BytesIO()
    how = draw(
        st.sampled_from(
            [
                {},
                {"compression": "gzip"},
                {"compression": "lzf", "shuffle": True},
                {"chunks": True, "fletcher32": True},
            ]
        )
    )
    with h5py.File(buffer, "w", libver=draw(st.sampled_from(["earliest", "latest"]))) as file:
        for key, value in arrays:
            if value.dtype.kind != "U":
                file.create_dataset(key, data=value, **(how if value.ndim else {}))
        file.create_group("group")["points"] = np.zeros((2, 2))
    check(tmp_path, "a.h5", buffer.getvalue(), points, dims=points.shape[1])


@FREE
@given(data=st.data())
def test_parquet(tmp_path, data):
    draw = data.draw
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    points = np.array(draw(numbers()))
    m = len(points)
    makers = {
        "flag": lambda: pa.array(
            draw(st.lists(st.sampled_from([True, False, None]), min_size=m, max_size=m)), pa.bool_()
        ),
        "word": lambda: pa.array(
            draw(st.lists(st.sampled_from(["a", "bcd", "", None]), min_size=m, max_size=m)), pa.string()
        ),
        "long": lambda: pa.array(["é"] * m, pa.large_string()),
        "kind": lambda: pa.array(["u"] * m).dictionary_encode(),
        "code": lambda: pa.array([3] * m, pa.int16()).dictionary_encode(),
        "half": lambda: pa.array(np.zeros(m, np.float16)),
        "when": lambda: pa.array(range(m), pa.timestamp("s")),
        "many": lambda: pa.array([[1, 2]] * m),
    }
    chosen = draw(st.lists(st.sampled_from(list(makers)), unique=True))
    columns = [*(("xyz"[i], pa.array(points[:, i])) for i in range(3)), *((k, makers[k]()) for k in chosen)]
    buffer = io.BytesIO()
    pq.write_table(
        pa.table(dict(draw(st.permutations(columns)))), buffer, data_page_version=draw(st.sampled_from(["1.0", "2.0"])),
        compression=draw(st.sampled_from(["none", "snappy", "gzip", "zstd", "lz4"])), row_group_size=draw(st.integers(1, 9)),
        use_dictionary=draw(st.booleans()), write_statistics=draw(st.booleans()),
    )  # fmt: skip
    cloud = check(tmp_path, "a.parquet", buffer.getvalue(), points)
    assert set(cloud.columns) == set(chosen) - {"when", "many"}


@settings(FREE, max_examples=10)
@given(data=st.data())
def test_las(tmp_path, data):
    """Any version and point format, compressed in chunks or as one stream, with records and extra dimensions."""
    from tests.helpers.dialects import one_stream

    draw = data.draw
    laspy = pytest.importorskip("laspy")
    number = draw(st.sampled_from([0, 1, 2, 3, 6, 7, 8]))
    version = draw(st.sampled_from(["1.2", "1.3", "1.4"] if number < 4 else ["1.4"]))
    header = laspy.LasHeader(version=version, point_format=number)
    header.scales, header.offsets = (
        draw(st.sampled_from([[0.01] * 3, [1e-3, 0.5, 1e-7]])),
        draw(st.sampled_from([[0.0] * 3, [4e5, 5e6, 0]])),
    )
    for k, kind in enumerate(
        draw(st.lists(st.sampled_from(["u1", "i2", "f4", "f8", "3f8", "u8"]), max_size=3))
    ):
        header.add_extra_dim(laspy.ExtraBytesParams(name=f"e{k}", type=kind, description="more"))
    for k in range(draw(st.integers(0, 3))):
        header.vlrs.append(laspy.VLR("someone", k, "", draw(st.binary(max_size=40))))
    m = draw(st.integers(1, 40))
    las = laspy.LasData(header, points=laspy.ScaleAwarePointRecord.zeros(m, header=header))
    las.X, las.Y, las.Z = (
        draw(st.lists(st.integers(-(2**31), 2**31 - 1), min_size=m, max_size=m)) for _ in range(3)
    )
    las.intensity = draw(st.lists(st.integers(0, 2**16 - 1), min_size=m, max_size=m))
    packed = draw(st.booleans())
    buffer = io.BytesIO()
    las.write(buffer, do_compress=packed)
    content = buffer.getvalue()
    if packed and number <= 3 and draw(st.booleans()):
        content = one_stream(content)
    cloud = check(tmp_path, "a.las", content, np.stack([las.x, las.y, las.z], axis=1))
    assert cloud.columns["intensity"].tolist() == las.intensity.tolist()
