"""Files that other programs write: read as their own libraries do."""

import io
import struct
import zipfile

import numpy as np
import pytest

import heatfield as hf
from heatfield.io.formats import REGISTRY, SUFFIXES
from tests.helpers.e57 import logical, sealed
from tests.helpers.scenes import FACES, POINTS


def said_of(path, **options):
    """The points, or what is said instead."""
    try:
        return hf.read_points(path, **{"nodes": True, **options})
    except hf.ReadError as error:
        return str(error).replace(str(path), "")


def same(found, points=POINTS):
    """Whether these points were read, in any order."""
    if isinstance(found, str) or found.shape != points.shape:
        return False
    return np.array_equal(found[np.lexsort(found.T)], points[np.lexsort(points.T)])


# Dialects of formats that are read.


def test_binary_stl_with_a_byte_more(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    content = trimesh.Trimesh(POINTS, FACES, process=False).export(file_type="stl")
    (tmp_path / "a.stl").write_bytes(content)
    assert same(said_of(tmp_path / "a.stl"))
    (tmp_path / "b.stl").write_bytes(content + b"\0")
    assert same(said_of(tmp_path / "b.stl"))


def as_copc(points, chunk_size):
    """One node of COPC, with this size of chunks in its record for LASzip."""
    laspy, lazrs = pytest.importorskip("laspy"), pytest.importorskip("lazrs")
    header = laspy.LasHeader(point_format=6, version="1.4")
    header.scales = 3 * [0.001]
    las = laspy.LasData(header)
    las.x, las.y, las.z = points.T
    plain = io.BytesIO()
    las.write(plain)
    first = struct.unpack_from("<I", plain.getvalue(), 96)[0]
    records = np.frombuffer(plain.getvalue(), np.uint8)[first : first + 30 * len(points)]
    vlr = lazrs.LazVlr.new_for_compression(6, 0, True)
    laszip = bytearray(vlr.record_data())
    begin = 375 + 54 + 160 + 54 + len(laszip)
    stream = io.BytesIO(bytes(begin))
    stream.seek(begin)
    packer = lazrs.LasZipCompressor(stream, vlr)
    packer.compress_many(records)
    packer.done()
    packed = stream.getvalue()[begin:]
    chunk = struct.unpack_from("<q", packed)[0] - begin - 8
    struct.pack_into("<I", laszip, 12, chunk_size)
    middle, half = (points.max(axis=0) + points.min(axis=0)) / 2, np.ptp(points, axis=0).max() / 2
    info = struct.pack("<5d2Q2d", *middle, half, half, begin + len(packed) + 60, 32, 0.0, 0.0).ljust(
        160, b"\0"
    )
    node = struct.pack("<4iQii", 0, 0, 0, 0, begin + 8, chunk, len(points))
    head = bytearray(plain.getvalue()[:375])
    struct.pack_into("<II", head, 96, begin, 2)
    head[104] |= 128  # compressed
    struct.pack_into("<QI", head, 235, begin + len(packed), 1)
    parts = [bytes(head)]
    for user, number, body in ((b"copc", 1, info), (b"laszip encoded", 22204, bytes(laszip))):
        parts.append(struct.pack("<H16sHH32s", 0, user, number, len(body), b"") + body)
    return b"".join([*parts, packed, struct.pack("<H16sHQ32s", 0, b"copc", 1000, len(node), b""), node])


@pytest.mark.parametrize("size", [2**32 - 1, 0])
def test_copc_with_chunks_of_any_size(tmp_path, size):
    """Both numbers are met for chunks of different sizes."""
    points = np.random.default_rng(0).random((40, 3)).round(3)
    (tmp_path / "a.copc.laz").write_bytes(as_copc(points, size))
    peer = np.array(pytest.importorskip("laspy").read(tmp_path / "a.copc.laz").xyz)
    np.testing.assert_allclose(peer, points, atol=1e-9)
    assert same(said_of(tmp_path / "a.copc.laz"), peer)


def test_records_of_picasso(tmp_path):
    h5py = pytest.importorskip("h5py")
    names = ("x", "y", "photons", "sx", "sy")
    records = np.zeros(4, dtype=[("frame", "u4"), *((name, "f4") for name in names)])
    records["x"], records["y"] = POINTS[:, 1], POINTS[:, 2]
    with h5py.File(tmp_path / "a_locs.hdf5", "w") as file:
        file["locs"] = records
    assert same(said_of(tmp_path / "a_locs.hdf5"), POINTS[:, 1:])


@pytest.mark.parametrize("quote", ['"', ""])
def test_r_write_table(tmp_path, quote):
    """The names of rows have no name of their own."""
    lines = [" ".join(f"{quote}{name}{quote}" for name in "xyz")]
    lines += [f"{quote}{i + 1}{quote} " + " ".join(map(str, row)) for i, row in enumerate(POINTS.tolist())]
    (tmp_path / "a.txt").write_text("\n".join(lines) + "\n")
    assert same(said_of(tmp_path / "a.txt"))


@pytest.mark.parametrize("cell", ["NA", ""])
def test_missing_numbers_are_dropped(tmp_path, cell):
    lines = [",".join(map(str, row)) for row in POINTS.tolist()]
    (tmp_path / "a.csv").write_text("\n".join(["x,y,z", *lines, f"{cell},1,1", f"1,{cell},1"]) + "\n")
    assert same(said_of(tmp_path / "a.csv", invalid="drop"))


def test_nulls_of_parquet_are_dropped(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {name: pa.array([*POINTS[:, i], None if i == 0 else 1.0]) for i, name in enumerate("xyz")}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    assert same(said_of(tmp_path / "a.parquet", invalid="drop"))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "latin-1"])
def test_encodings(tmp_path, encoding):
    lines = [",".join([*map(str, row), "Jürgen"]) for row in POINTS.tolist()]
    mark = "\ufeff" if encoding == "utf-16-le" else ""
    (tmp_path / "a.csv").write_bytes((mark + "\n".join(["x,y,z,größe", *lines]) + "\n").encode(encoding))
    found = said_of(tmp_path / "a.csv")
    assert same(found)
    assert hf.read_cloud(tmp_path / "a.csv").columns["größe"].tolist() == 4 * ["Jürgen"]


def test_many_clouds_in_one_array(tmp_path):
    np.save(tmp_path / "a.npy", np.stack([POINTS, POINTS + 1]))
    said = said_of(tmp_path / "a.npy")
    assert isinstance(said, str)
    if "read_clouds" in said:
        try:
            clouds = hf.io.read_clouds(tmp_path / "a.npy")[0]
        except hf.ReadError as error:
            clouds = str(error)
        assert not isinstance(clouds, str), clouds
        assert len(clouds) == 2
        np.testing.assert_array_equal(clouds[1], POINTS + 1)


# Files without a point.

PLY = (
    "ply\nformat ascii 1.0\nelement vertex 0\nproperty float x\nproperty float y\nproperty float z\n"
    "end_header\n"
)
PCD = (
    "# .PCD v0.7\nVERSION 0.7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\nWIDTH 0\nHEIGHT 1\n"
    "POINTS 0\nDATA ascii\n"
)
CIF = "data_x\nloop_\n_atom_site.id\n_atom_site.label_atom_id\n_atom_site.Cartn_x\n"
TEXTS = {
    "csv": "x,y,z\n", "ply": PLY, "pcd": PCD, "off": "OFF\n0 0 0\n", "pts": "0\n", "xyz": "0\n\n",
    "stl": "solid a\nendsolid a\n", "obj": "# nothing\n", "swc": "# nothing\n", "txt": "# nothing\n",
    "pdb": "HEADER    X\nEND\n", "cif": CIF, "nml": "<things></things>\n",
    "asc": "; V3 text file written for MicroBrightField products.\n", "gltf": '{"asset": {"version": "2.0"}}',
    "vtk": "# vtk DataFile Version 4.2\n\nASCII\nDATASET POLYDATA\nPOINTS 0 float\n",
    "vtp": '<VTKFile type="PolyData"><PolyData><Piece><Points><DataArray type="Float32" '
    'NumberOfComponents="3"/></Points></Piece></PolyData></VTKFile>',
}  # fmt: skip


def write_nothing(path):
    """A sound file of the kind that its suffix says, without a point."""
    kind = path.suffix[1:]
    nothing = np.empty((0, 3))
    if kind in TEXTS:
        path.write_text(TEXTS[kind])
    elif kind == "npy":
        np.save(path, nothing)
    elif kind == "npz":
        np.savez(path, points=nothing)
    elif kind == "h5":
        with pytest.importorskip("h5py").File(path, "w") as file:
            file["points"] = nothing
    elif kind == "3mf":
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("3D/3dmodel.model", "<model><resources/><build/></model>")
    elif kind == "arrow":
        pa, ipc = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.ipc")
        table = pa.table({name: pa.array([], pa.float64()) for name in "xyz"})
        with ipc.new_file(path, table.schema) as file:
            file.write_table(table)
    elif kind == "bcif":
        tree = {"encoder": "none", "dataBlocks": [{"header": "1ABC", "categories": []}]}
        path.write_bytes(pytest.importorskip("msgpack").packb(tree))
    elif kind == "e57":
        pytest.importorskip("pye57")
        sample = logical(REGISTRY["e57"].sample())
        path.write_bytes(sealed(sample.replace(b'recordCount="9"', b'recordCount="0"')))
    elif kind == "parquet":
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        pq.write_table(pa.table({name: pa.array([], pa.float64()) for name in "xyz"}), path)
    else:
        file = io.BytesIO()
        pytest.importorskip("laspy").create().write(file, do_compress=kind == "laz")
        path.write_bytes(file.getvalue())
    return path


KINDS = [*TEXTS, "npy", "npz", "h5", "parquet", "las", "laz", "3mf", "arrow", "bcif", "e57"]


def test_kinds_are_those_of_all_formats():
    assert {SUFFIXES[f".{kind}"] for kind in KINDS} >= set(REGISTRY) - {"asc", "xyz"}  # tables end so too


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_without_points_says_so(tmp_path, kind):
    if kind == "asc":
        pytest.importorskip("morphio")
    found = said_of(write_nothing(tmp_path / f"a.{kind}"))
    assert isinstance(found, str)
    assert any(
        words in found for words in (" no points", " no point", " no vertices", " no atoms", " no ATOM")
    )
