"""glTF, GLB, 3MF and VTK: as trimesh and meshio write them, and by hand where these write less."""

import base64
import json
import struct
import zipfile
import zlib

import numpy as np
import pytest

import heatfield as hf
from tests.helpers import raw
from tests.helpers.scenes import FACES, LEGACY, POINTS, gltf, legacy_binary, vtp
from tests.io.test_foreign_files import said_of, same


def area(cloud):
    a, b, c = (cloud.points[cloud.faces[:, i]] for i in range(3))
    return float(np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2)


def is_the_tetrahedron(cloud):
    assert same(cloud.points)
    assert len(cloud.faces) == 4
    sides = np.sort(cloud.points[cloud.faces].sum(axis=1), axis=0)
    np.testing.assert_allclose(sides, np.sort(POINTS[FACES].sum(axis=1), axis=0))
    return True


@pytest.mark.parametrize("kind", ["glb", "gltf"])
def test_a_mesh_by_trimesh(tmp_path, kind):
    """The numbers of a .gltf stand in a file beside it."""
    trimesh = pytest.importorskip("trimesh")
    content = trimesh.Trimesh(POINTS, FACES, process=False).export(file_type=kind)
    for name, part in (content if isinstance(content, dict) else {"model.glb": content}).items():
        (tmp_path / name).write_bytes(part)
    assert is_the_tetrahedron(raw.read_cloud(tmp_path / f"model.{kind}"))


@pytest.mark.parametrize("kind", ["glb", "3mf"])
def test_a_scene_by_trimesh(tmp_path, kind):
    """One mesh in two places, turned and moved."""
    trimesh = pytest.importorskip("trimesh")
    if kind == "3mf":
        pytest.importorskip("lxml")
    mesh = trimesh.Trimesh(POINTS, FACES, process=False)
    scene = trimesh.Scene()
    turned = trimesh.transformations.rotation_matrix(0.7, [1, 2, 3], [0.5, 0, 0])
    scene.add_geometry(mesh, node_name="first")
    scene.add_geometry(mesh, node_name="second", transform=turned)
    (tmp_path / f"a.{kind}").write_bytes(scene.export(file_type=kind))
    cloud = raw.read_cloud(tmp_path / f"a.{kind}")
    wanted = np.vstack([POINTS, trimesh.transform_points(POINTS, turned)])
    order, other = (np.lexsort(p.round(4).T) for p in (cloud.points, wanted))
    np.testing.assert_allclose(cloud.points[order], wanted[other], atol=1e-5)
    assert area(cloud) == pytest.approx(2 * mesh.area, rel=1e-5)


def test_gltf_with_a_data_uri(read):
    assert is_the_tetrahedron(read("a.gltf", gltf(), nodes=True))
    assert is_the_tetrahedron(read("b.json", gltf(), nodes=True))


def test_nodes_multiply_from_the_root_down(read):
    """A child of a node that is scaled and moved, turned by 90 degrees about z."""
    half = np.sqrt(0.5)
    nodes = [
        {"children": [1], "scale": [2, 2, 2], "translation": [0, 0, 10]},
        {"mesh": 0, "rotation": [0, 0, half, half], "translation": [1, 0, 0]},
    ]
    turned = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1.0]])
    wanted = 2 * (POINTS @ turned.T + [1, 0, 0]) + [0, 0, 10]
    np.testing.assert_allclose(read("a.gltf", gltf(nodes=nodes), nodes=True).points, wanted, atol=1e-12)


LOOP = [{"mesh": 0, "children": [1]}, {"children": [0]}]
BUSH = [{"mesh": 0, "children": [i + 1] * 8} for i in range(20)] + [{"mesh": 0}]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"nodes": LOOP, "scenes": [{"nodes": [0]}]}, "contain itself"),
        ({"nodes": BUSH, "scenes": [{"nodes": [0]}]}, "the scene unpacks to|places more than 50000 objects"),
        ({"buffers": [{"uri": "../secret.bin"}]}, "not a file beside it"),
        ({"buffers": [{"uri": "/etc/passwd"}]}, "not a file beside it"),
        ({"buffers": [{"uri": "http://a.b/c"}]}, "not a file beside it"),
        ({"buffers": [{"uri": "absent.bin"}]}, "no such file"),
        (
            {"extensionsRequired": ["KHR_draco_mesh_compression"]},
            "KHR_draco_mesh_compression.*save it without",
        ),
        (
            {"accessors": [{"componentType": 5126, "count": 10**9, "type": "VEC3"}] * 2},
            "sparse or has no data",
        ),
        (
            {"accessors": [{"bufferView": 0, "componentType": 5126, "count": 10**12, "type": "VEC3"}] * 2},
            "more than its buffer holds",
        ),
        ({"nodes": [{}]}, "holds no points"),
        ({"meshes": 7}, "its JSON makes no sense"),
    ],
)
def test_what_gltf_may_not_claim(read, changes, problem):
    with pytest.raises(hf.ReadError, match=problem):
        read("a.gltf", gltf(**changes))


def test_an_index_beyond_the_vertices(read):
    trees = json.loads(gltf())
    trees["accessors"][0]["count"] = 3
    with pytest.raises(hf.ReadError, match="a corner that is none of 3 vertices"):
        read("a.gltf", json.dumps(trees).encode())


MODEL = "http://schemas.microsoft.com/3dmanufacturing/core/2015/02"
MESH = (
    "<mesh><vertices>" + "".join(f'<vertex x="{x}" y="{y}" z="{z}"/>' for x, y, z in POINTS) + "</vertices>"
    "<triangles>"
    + "".join(f'<triangle v1="{a}" v2="{b}" v3="{c}"/>' for a, b, c in FACES)
    + "</triangles></mesh>"
)


def write_3mf(path, resources, build, doctype=""):
    text = f'<?xml version="1.0"?>{doctype}<model unit="millimeter" xmlns="{MODEL}">'
    text += f"<resources>{resources}</resources>"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("[Content_Types].xml", "<Types/>")
        file.writestr("3D/3dmodel.model", text + f"<build>{build}</build></model>")
    return path


def test_3mf(tmp_path):
    path = write_3mf(tmp_path / "a.3mf", f'<object id="1">{MESH}</object>', '<item objectid="1"/>')
    assert is_the_tetrahedron(raw.read_cloud(path))


def test_components_of_components(tmp_path):
    """A shift inside a turn by 90 degrees about z: what is nearer to the mesh comes first."""
    resources = (
        f'<object id="1">{MESH}</object>'
        '<object id="2"><components><component objectid="1" transform="1 0 0 0 1 0 0 0 1 5 0 0"/>'
        "</components></object>"
    )
    item = '<item objectid="2" transform="0 1 0 -1 0 0 0 0 1 0 0 0"/>'
    moved = POINTS + np.eye(3)[0] * 5
    found = raw.read_points(write_3mf(tmp_path / "a.3mf", resources, item))
    np.testing.assert_array_equal(found, np.column_stack([-moved[:, 1], moved[:, 0], moved[:, 2]]))


def test_what_3mf_may_not_claim(tmp_path):
    def said(resources, build='<item objectid="1"/>', **more):
        return said_of(write_3mf(tmp_path / "a.3mf", resources, build, **more))

    bush = "".join(
        f'<object id="{i}"><components>' + f'<component objectid="{i + 1}"/>' * 10 + "</components></object>"
        for i in range(1, 20)
    )
    assert "places more than 50000 objects" in said(f'{bush}<object id="20">{MESH}</object>')
    assert "contain itself" in said(
        '<object id="1"><components><component objectid="1"/></components></object>'
    )
    assert "does not exist" in said("", '<item objectid="9"/>')
    assert "holds no points" in said(f'<object id="1">{MESH}</object>', "")
    entity = '<!DOCTYPE model [<!ENTITY a "aaaa">]>'
    assert "document type" in said(f'<object id="1">{MESH}</object>', doctype=entity)
    with zipfile.ZipFile(tmp_path / "b.3mf", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("3D/3dmodel.model", bytes(100_000_000))
    assert "its models unpacks to 100000000 bytes" in said_of(tmp_path / "b.3mf")


# VTK.


@pytest.mark.parametrize("kind", ["vtk", "vtk42", "vtu", "lzma"])
@pytest.mark.parametrize("binary", [True, False], ids=["binary", "text"])
def test_vtk_by_meshio(tmp_path, kind, binary):
    meshio = pytest.importorskip("meshio")
    mesh = meshio.Mesh(POINTS, [("triangle", FACES), ("tetra", [[0, 1, 2, 3]])], {"n": np.arange(4)})
    path = tmp_path / ("a.vtk" if kind.startswith("vtk4") or kind == "vtk" else "a.vtu")
    if kind == "lzma":
        meshio.vtu.write(path, mesh, binary=binary, compression="lzma" if binary else None)
    else:
        meshio.write(path, mesh, file_format=kind, binary=binary)
    cloud = raw.read_cloud(path)
    assert is_the_tetrahedron(cloud)
    assert cloud.columns["n"].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("form", ["ascii", "binary", "raw", "base64"])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("how", [{}, {"wide": True}, {"big": True}, {"apart": True}])
def test_vtp(read, form, packed, how):
    cloud = read("a.vtp", vtp(form, packed=packed, **how), nodes=True)
    assert is_the_tetrahedron(cloud)
    assert cloud.columns["v_1"].tolist() == [1, 3, 5, 7]


def test_a_vtp_that_unfolds(read):
    bomb = zlib.compress(bytes(50_000_000))
    head = base64.b64encode(struct.pack("<4I", 1, 50_000_000, 0, len(bomb)))
    content = vtp("binary", packed=True)
    first = content.index(b'format="binary">') + 16
    content = content[:first] + head + base64.b64encode(bomb) + content[content.index(b"</DataArray>") :]
    with pytest.raises(hf.ReadError, match="all arrays together unpacks to 50000000 bytes"):
        read("a.vtp", content)
    small = base64.b64encode(struct.pack("<4I", 1, 32, 0, len(bomb)))
    content = content.replace(head, small)
    assert isinstance(
        read("a.vtp", content, nodes=True), hf.Cloud
    )  # what a block holds beyond its size is not unpacked


def test_legacy_polygons(read):
    cloud = read("a.vtk", LEGACY, nodes=True)
    assert is_the_tetrahedron(cloud)
    assert cloud.columns["height"].tolist() == [0, 0, 0, 3]
    np.testing.assert_array_equal(cloud.columns["two words"], [np.nan, 1, 2, 3])


@pytest.mark.parametrize("version", ["4.2", "5.1"])
def test_legacy_polygons_in_binary(read, version):
    cloud = read("a.vtk", legacy_binary(version), nodes=True)
    assert is_the_tetrahedron(cloud)
    assert cloud.columns["v_2"].tolist() == [2, 5, 8, 11]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("POINTS 4 float", "POINTS 1000000000000 float", "claims 3000000000000 values"),
        ("POLYGONS 4 16", "POLYGONS 4 1000000000000", "claims 1000000000000 values"),
        ("POLYGONS 4 16", "TRIANGLE_STRIPS 4 16", "triangle strips, which are not read"),
        ("3 0 2 1", "3 0 2 9", "a corner that is none of 4 points"),
        ("DATASET POLYDATA\nPOINTS", "DATASET STRUCTURED_POINTS\nNONE", "holds no points"),
    ],
)
def test_what_legacy_vtk_may_not_claim(read, old, new, problem):
    with pytest.raises(hf.ReadError, match=problem):
        read("a.vtk", LEGACY.replace(old, new))


def test_vtk_of_other_kinds_is_named(read):
    with pytest.raises(hf.ReadError, match=r"type 'ImageData'; PolyData and UnstructuredGrid"):
        read("a.vti", vtp("ascii").replace(b'type="PolyData"', b'type="ImageData"'))
    with pytest.raises(hf.ReadError, match=r"vtkLZ4DataCompressor.*save it with vtkZLib"):
        read("a.vtp", vtp("binary", packed=True).replace(b"vtkZLib", b"vtkLZ4"))
