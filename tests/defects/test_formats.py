"""Files that other programs write: read as their own libraries do, or refused by name with the way out."""

import json
import struct
import zipfile

import pytest

from tests.defects import defect
from tests.io.test_foreign_files import FACES, POINTS, said_of, same


def read_or_named(path, *names):
    """The points of the tetrahedron, or an error with the name of the format and what to install."""
    found = said_of(path)
    if isinstance(found, str):
        return "pip install" in found and any(name.lower() in found.lower() for name in names)
    return same(found)


# Formats that are not read yet.


@pytest.mark.parametrize("kind", ["glb", "gltf"])
@defect("unknown, or taken for a table")
def test_gltf(tmp_path, kind):
    trimesh = pytest.importorskip("trimesh")
    content = trimesh.Trimesh(POINTS, FACES, process=False).export(file_type=kind)
    if isinstance(content, dict):
        for name, part in content.items():
            (tmp_path / name.replace("model.gltf", "a.gltf")).write_bytes(part)
    else:
        (tmp_path / f"a.{kind}").write_bytes(content)
    assert read_or_named(tmp_path / f"a.{kind}", "glTF", "GLB")


@defect("taken for NPZ")
def test_3mf(tmp_path):
    vertices = "".join(f'<vertex x="{x}" y="{y}" z="{z}"/>' for x, y, z in POINTS)
    triangles = "".join(f'<triangle v1="{a}" v2="{b}" v3="{c}"/>' for a, b, c in FACES)
    model = (
        '<?xml version="1.0"?><model unit="millimeter" '
        'xmlns="http://schemas.microsoft.com/3dmanufacturing/core/2015/02"><resources>'
        f'<object id="1" type="model"><mesh><vertices>{vertices}</vertices><triangles>{triangles}</triangles>'
        '</mesh></object></resources><build><item objectid="1"/></build></model>'
    )
    with zipfile.ZipFile(tmp_path / "a.3mf", "w") as file:
        file.writestr(
            "[Content_Types].xml",
            '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
            '<Default Extension="model" '
            'ContentType="application/vnd.ms-package.3dmanufacturing-3dmodel+xml"/>'
            "</Types>",
        )
        file.writestr(
            "_rels/.rels",
            '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
            '<Relationship Target="/3D/3dmodel.model" Id="rel0" '
            'Type="http://schemas.microsoft.com/3dmanufacturing/2013/01/3dmodel"/></Relationships>',
        )
        file.writestr("3D/3dmodel.model", model)
    assert read_or_named(tmp_path / "a.3mf", "3MF")


@pytest.mark.parametrize("kind", ["vtk", "vtu"])
@pytest.mark.parametrize("binary", [True, False], ids=["binary", "text"])
@defect("unknown, or taken for a table")
def test_vtk_by_meshio(tmp_path, kind, binary):
    meshio = pytest.importorskip("meshio")
    meshio.write(tmp_path / f"a.{kind}", meshio.Mesh(POINTS, [("triangle", FACES)]), binary=binary)
    assert read_or_named(tmp_path / f"a.{kind}", "VTK", kind)


@defect("taken for a table")
def test_vtp(tmp_path):
    numbers = " ".join(map(str, POINTS.ravel().tolist()))
    (tmp_path / "a.vtp").write_text(
        '<?xml version="1.0"?>\n<VTKFile type="PolyData" version="0.1" byte_order="LittleEndian"><PolyData>'
        '<Piece NumberOfPoints="4" NumberOfVerts="0" NumberOfLines="0" NumberOfStrips="0" NumberOfPolys="0">'
        f'<Points><DataArray type="Float64" NumberOfComponents="3" format="ascii">{numbers}</DataArray>'
        "</Points></Piece></PolyData></VTKFile>\n"
    )
    assert read_or_named(tmp_path / "a.vtp", "VTK", "VTP")


@pytest.mark.parametrize("kind", ["feather", "arrow", "stream"])
@defect("unknown")
def test_arrow(tmp_path, kind):
    pa = pytest.importorskip("pyarrow")
    table = pa.table({name: POINTS[:, i] for i, name in enumerate("xyz")})
    path = tmp_path / f"a.{'feather' if kind == 'feather' else 'arrow'}"
    if kind == "feather":
        pytest.importorskip("pyarrow.feather").write_feather(table, path)
    else:
        opened = pa.ipc.new_stream if kind == "stream" else pa.ipc.new_file
        with opened(path, table.schema) as file:
            file.write_table(table)
    assert same(said_of(path))


@defect("unknown")
def test_e57(tmp_path):
    """The first page alone: refused in any case, but by its name."""
    head = b"ASTM-E57" + struct.pack("<IIQQQQ", 1, 0, 1024, 48, 16, 1024)
    (tmp_path / "a.e57").write_bytes(head.ljust(1024, b"\0"))
    assert "e57" in said_of(tmp_path / "a.e57").lower().replace("astm-e57", "")


@defect("taken for a table")
def test_binary_cif(tmp_path):
    """An entry without atoms: refused in any case, but by its name."""
    text = ("version", "0.3.0"), ("encoder", "none")
    content = b"\x83" + b"".join(bytes([0xA0 + len(w)]) + w.encode() for pair in text for w in pair)
    content += b"\xaadataBlocks\x91\x82\xa6header\xa41ABC\xaacategories\x90"
    (tmp_path / "a.bcif").write_bytes(content)
    said = said_of(tmp_path / "a.bcif").lower()
    assert any(word in said for word in ("bcif", "binarycif", "binary cif"))


@pytest.mark.parametrize(
    ("name", "words"),
    [("a.xlsx", ("xlsx", "excel")), ("a.tif", ("tiff",)), ("a.zarr", ("zarr",))],
)
@defect("not called by its name")
def test_what_is_not_read_is_named(tmp_path, name, words):
    """With what to do instead, such as the format to save it in."""
    path = tmp_path / name
    if name == "a.xlsx":
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("[Content_Types].xml", "<Types/>")
            file.writestr("xl/workbook.xml", "<workbook/>")
    elif name == "a.tif":
        path.write_bytes(b"II*\0\x08\0\0\0" + bytes(200))
    else:
        path.mkdir()
        (path / "zarr.json").write_text(json.dumps({"zarr_format": 3, "node_type": "group"}))
    said = said_of(path).lower()
    assert any(word in said for word in words)
    assert any(way in said for way in ("csv", "npy", "npz", "parquet", "hdf5", "numpy"))
