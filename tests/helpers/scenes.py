"""A tetrahedron as glTF and VTK write it, in forms that their libraries do not."""

from __future__ import annotations

import base64
import json
import zlib

import numpy as np

POINTS = np.array([[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]], dtype=float)
FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])


def gltf(**changes):
    """A tetrahedron whose buffer is a data URI."""
    data = POINTS.astype("<f4").tobytes() + FACES.astype("u1").tobytes()
    tree = {
        "asset": {"version": "2.0"},
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3"},
            {"bufferView": 1, "componentType": 5121, "count": 12, "type": "SCALAR"},
        ],
        "bufferViews": [
            {"buffer": 0, "byteLength": 48},
            {"buffer": 0, "byteOffset": 48, "byteLength": 12},
        ],
        "buffers": [{"byteLength": 60, "uri": "data:;base64," + base64.b64encode(data).decode()}],
    }
    return json.dumps(tree | changes).encode()


def arrays():
    """Name of the element, attributes, and numbers of a tetrahedron in VTP."""
    return [
        (
            "PointData",
            'type="Float32" Name="v" NumberOfComponents="2"',
            np.arange(8, dtype="f4").reshape(4, 2),
        ),
        ("Points", 'type="Float64" NumberOfComponents="3"', POINTS),
        ("Polys", 'type="Int32" Name="connectivity"', FACES.astype("i4")),
        ("Polys", 'type="Int32" Name="offsets"', np.arange(3, 15, 3, dtype="i4")),
    ]


def vtp(form, *, packed=False, wide=False, big=False, apart=False):
    """A file of XML in one of the forms that VTK writes."""
    order, size = ">" if big else "<", 8 if wide else 4
    appended, body = b"", {"PointData": "", "Points": "", "Polys": ""}
    for element, given, values in arrays():
        raw_bytes = values.astype(values.dtype.newbyteorder(order)).tobytes()
        if packed:  # in blocks of 32 bytes
            blocks = [raw_bytes[i : i + 32] for i in range(0, len(raw_bytes), 32)]
            small = [zlib.compress(block) for block in blocks]
            head = [len(blocks), 32, len(blocks[-1]) % 32, *map(len, small)]
            parts = [np.array(head, f"{order}u{size}").tobytes(), b"".join(small)]
        else:
            parts = [np.array(len(raw_bytes), f"{order}u{size}").tobytes(), raw_bytes]
        if form == "raw":
            text, where = "", f'format="appended" offset="{len(appended)}"'
            appended += b"".join(parts)
        else:
            apart_ = parts if packed or apart else [b"".join(parts)]
            encoded = b"".join(base64.b64encode(part) for part in apart_)
            text, where = encoded.decode(), 'format="binary"'
            if form == "base64":
                text, where = "", f'format="appended" offset="{len(appended)}"'
                appended += encoded
        if form == "ascii":
            text, where = " ".join(map(str, values.ravel().tolist())), 'format="ascii"'
        body[element] += f"<DataArray {given} {where}>{text}</DataArray>"
    head = f'byte_order="{"Big" if big else "Little"}Endian" header_type="UInt{8 * size}"'
    head += ' compressor="vtkZLibDataCompressor"' if packed else ""
    middle = "".join(f"<{name}>\n{text}\n</{name}>" for name, text in body.items())
    content = f'<?xml version="1.0"?>\n<VTKFile type="PolyData" version="1.0" {head}>\n<PolyData>'
    content = f"{content}<Piece>{middle}</Piece></PolyData>\n".encode()
    if appended:
        encoding = b"raw" if form == "raw" else b"base64"
        content += b'<AppendedData encoding="' + encoding + b'">\n _' + appended + b"\n</AppendedData>"
    return content + b"</VTKFile>\n"


LEGACY = f"""# vtk DataFile Version 4.2

ASCII
DATASET POLYDATA
POINTS 4 float
{" ".join(map(str, POINTS.ravel().tolist()))}
METADATA
INFORMATION 0

POLYGONS 4 16
{chr(10).join("3 " + " ".join(map(str, f)) for f in FACES.tolist())}
CELL_DATA 4
SCALARS side int
LOOKUP_TABLE default
1 2 3 4
POINT_DATA 4
SCALARS height float 1
LOOKUP_TABLE default
0 0 0 3
FIELD FieldData 1
two%20words 1 4 double
nan 1 2 3
"""


def legacy_binary(version):
    """The same in binary; from 5.1 on cells are given by where they end."""
    head = f"# vtk DataFile Version {version}\ntitle\nBINARY\nDATASET POLYDATA\nPOINTS 4 double\n".encode()
    if version == "5.1":
        cells = b"POLYGONS 5 12\nOFFSETS vtktypeint64\n" + np.arange(0, 13, 3, dtype=">i8").tobytes()
        cells += b"\nCONNECTIVITY vtktypeint64\n" + FACES.astype(">i8").tobytes()
    else:
        cells = b"POLYGONS 4 16\n" + np.insert(FACES, 0, 3, axis=1).astype(">i4").tobytes()
    data = b"\nPOINT_DATA 4\nVECTORS v float\n" + np.arange(12, dtype=">f4").tobytes() + b"\n"
    return head + POINTS.astype(">f8").tobytes() + b"\n" + cells + data


# For the fuzzer.
SCENES = {
    "text.gltf": gltf(),
    "inline.vtp": vtp("binary", packed=True),
    "plain.vtp": vtp("binary", wide=True),
    "raw.vtp": vtp("raw", packed=True, wide=True),
    "end.vtp": vtp("base64"),
    "text.vtk": LEGACY.encode(),
    "old.vtk": legacy_binary("4.2"),
    "new.vtk": legacy_binary("5.1"),
}
