"""Feather, Arrow, E57, BinaryCIF: what libraries write, what files may not claim, and what is refused."""

import json
import struct
import sys
import zipfile

import numpy as np
import pytest

import heatfield as hf
from heatfield.io.formats import REGISTRY
from tests.helpers import raw
from tests.helpers.e57 import logical, sealed
from tests.helpers.scenes import POINTS
from tests.io.test_foreign_files import said_of, same

# Feather and Arrow.


def arrow_table(pa, **more):
    return pa.table({name: POINTS[:, i] for i, name in enumerate("xyz")} | more)


def write_arrow(path, table, kind="file", compression=None):
    ipc = pytest.importorskip("pyarrow.ipc")
    opened = ipc.new_stream if kind == "stream" else ipc.new_file
    with opened(path, table.schema, options=ipc.IpcWriteOptions(compression=compression)) as file:
        file.write_table(table, max_chunksize=3)
    return path


@pytest.mark.parametrize("kind", ["file", "stream"])
@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
def test_arrow(tmp_path, kind, compression):
    pa = pytest.importorskip("pyarrow")
    more = {"word": pa.array(["a", "b", None, "d"]), "kind": pa.array(list("uuvv")).dictionary_encode()}
    more |= {"when": pa.array([0, 1, 2, 3], pa.timestamp("s")), "flag": [True, False, True, True]}
    cloud = raw.read_cloud(write_arrow(tmp_path / "a.arrow", arrow_table(pa, **more), kind, compression))
    np.testing.assert_array_equal(cloud.points, POINTS)
    assert cloud.format == "arrow"
    assert cloud.columns["word"].tolist() == ["a", "b", "", "d"]
    assert cloud.columns["kind"].tolist() == list("uuvv")
    assert cloud.columns["flag"].dtype == bool
    assert cloud.notes["left_out"] == ["when"]


def test_feather_by_pandas(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    pandas.DataFrame(POINTS, columns=list("xyz")).to_feather(tmp_path / "a.feather")
    np.testing.assert_array_equal(raw.read_points(tmp_path / "a.feather"), POINTS)


def test_nulls_of_arrow(tmp_path):
    pa = pytest.importorskip("pyarrow")
    columns = {name: pa.array([*POINTS[:, i], None if i == 0 else 1.0]) for i, name in enumerate("xyz")}
    path = write_arrow(tmp_path / "a.feather", pa.table(columns))
    assert "pass invalid='drop'" in said_of(path)
    assert same(said_of(path, invalid="drop"))


def test_what_arrow_may_not_claim(tmp_path):
    """Zeros that pack a thousand to one, and a batch of more rows than there are."""
    pa = pytest.importorskip("pyarrow")
    zeros = pa.array(np.zeros(8_000_000))
    path = tmp_path / "a.arrow"
    ipc = pytest.importorskip("pyarrow.ipc")
    table = pa.table({"x": zeros, "y": zeros, "z": zeros})
    with ipc.new_file(path, table.schema, options=ipc.IpcWriteOptions(compression="zstd")) as file:
        file.write_table(table)
    assert "all batches together unpacks to" in said_of(path)
    content = write_arrow(path, arrow_table(pa)).read_bytes()
    for claim in (10**12, 2**62):
        path.write_bytes(content.replace(struct.pack("<q", 3), struct.pack("<q", claim)))
        assert isinstance(said_of(path), str)
    path.write_bytes(content[:-6])
    assert "does not end with a footer" in said_of(path)


# E57.


def write_e57(path, scans):
    pye57 = pytest.importorskip("pye57")
    with pye57.E57(str(path), mode="w") as file:
        for points, pose in scans:
            data = {"cartesian" + a: points[:, i].copy() for i, a in enumerate("XYZ")}
            data["intensity"] = np.arange(len(points), dtype=float)
            file.write_scan_raw(data, rotation=np.array(pose), translation=np.array([1.0, 2.0, 3.0]))
    return path


def test_scans_of_e57_stand_together(tmp_path):
    """The second scan is turned by 90 degrees about z."""
    half = np.sqrt(0.5)
    path = write_e57(tmp_path / "a.e57", [(POINTS, [1.0, 0, 0, 0]), (POINTS, [half, 0, 0, half])])
    cloud = raw.read_cloud(path)
    turned = np.column_stack([-POINTS[:, 1], POINTS[:, 0], POINTS[:, 2]])
    np.testing.assert_allclose(cloud.points, np.vstack([POINTS, turned]) + np.arange(1, 4), atol=1e-12)
    assert cloud.columns["scan"].tolist() == 4 * [0] + 4 * [1]
    assert cloud.columns["intensity"].tolist() == 2 * [0, 1, 2, 3]


def test_damage_in_e57(tmp_path):
    """Counts in its XML are compared before the library sees them; pages are held against their checksums."""
    content = REGISTRY["e57"].sample()
    path = tmp_path / "a.e57"
    assert sealed(logical(content)) == content
    path.write_bytes(content[:200] + b"\x7f" + content[201:])
    assert isinstance(said_of(path), str)
    claimed = logical(content).replace(b'"48" recordCount="9"', b'"48" recordCount="9' + 10 * b"0" + b'"')
    length = struct.unpack_from("<Q", claimed, 32)[0]
    path.write_bytes(sealed(claimed[:32] + struct.pack("<Q", length + 10) + claimed[40 : len(claimed) - 10]))
    assert "the table of its points unpacks to" in said_of(path)
    path.write_bytes(content + content)
    assert "claims version 1" in said_of(path)


def test_an_e57_of_one_page_is_named(tmp_path):
    head = b"ASTM-E57" + struct.pack("<IIQQQQ", 1, 0, 1024, 48, 16, 1024)
    (tmp_path / "a.e57").write_bytes(head.ljust(1024, b"\0"))
    assert "not sound XML" in said_of(tmp_path / "a.e57")


# BinaryCIF.


def test_binary_cif(tmp_path):
    (tmp_path / "a.bcif").write_bytes(REGISTRY["bcif"].sample())
    cloud = raw.read_cloud(tmp_path / "a.bcif", atoms="all")
    np.testing.assert_allclose(cloud.points[:, 0], [10.0, 10.2, 10.5, 10.35], rtol=1e-15)
    assert cloud.points[:, 1:].tolist() == [[0, 5], [1, 5], [2, 5], [3, 6]]
    assert cloud.columns["atom"].tolist() == ["N", "CA", "C", "O"]
    assert cloud.columns["residue_number"].tolist() == ["1", "1", "1", "2"]
    assert cloud.notes["chains"] == ["A", "B"]
    assert raw.read_points(tmp_path / "a.bcif").shape == (1, 3)


def test_binary_cif_by_biotite(tmp_path):
    """All encodings that biotite chooses, beside the same entry as text."""
    pdbx = pytest.importorskip("biotite.structure.io.pdbx")
    rng = np.random.default_rng(0)
    m = 700
    columns = {
        "group_PDB": ["ATOM"] * m,
        "type_symbol": ["C"] * m,
        "label_atom_id": rng.choice(["CA", "CB", "N"], m).tolist(),
        "auth_comp_id": rng.choice(["GLY", "ALA"], m).tolist(),
        "auth_asym_id": sorted(rng.choice(["A", "B"], m).tolist()),
        "auth_seq_id": np.sort(rng.integers(-200, 40_000, m)),
        "pdbx_PDB_model_num": np.ones(m, int),
        "occupancy": rng.integers(0, 101, m) / 100,
    } | {f"Cartn_{axis}": rng.normal(0, 900, m).round(3) for axis in "xyz"}
    block = pdbx.BinaryCIFBlock({"atom_site": pdbx.BinaryCIFCategory(columns)})
    file = pdbx.compress(pdbx.BinaryCIFFile({"made": block}))
    file.write(tmp_path / "a.bcif")
    text = "data_made\nloop_\n" + "".join(f"_atom_site.{name}\n" for name in columns)
    text += "".join(" ".join(map(str, row)) + "\n" for row in zip(*columns.values(), strict=True))
    (tmp_path / "a.cif").write_text(text)
    found, wanted = (raw.read_cloud(tmp_path / f"a.{kind}", atoms="all") for kind in ("bcif", "cif"))
    np.testing.assert_allclose(found.points, wanted.points, atol=1e-9)
    for name, column in wanted.columns.items():
        if column.dtype.kind == "f":
            np.testing.assert_allclose(found.columns[name], column, atol=1e-9)
        else:
            assert found.columns[name].tolist() == column.tolist()


def packed_cif(**changes):
    msgpack = pytest.importorskip("msgpack")
    tree = msgpack.unpackb(REGISTRY["bcif"].sample())
    (site,) = tree["dataBlocks"][0]["categories"]
    for name, data in changes.items():
        next(one for one in site["columns"] if one["name"] == name)["data"] = data
    return msgpack.packb(tree)


RUNS = {"data": np.array([1, 2**30], "<i4").tobytes()}
RUNS["encoding"] = [{"kind": "RunLength", "srcSize": 2**30}, {"kind": "ByteArray", "type": 3}]
SHORT = {"data": np.zeros(3, "<i4").tobytes(), "encoding": [{"kind": "ByteArray", "type": 3}]}
PACKED = {
    "data": b"\x7f\x7f",
    "encoding": [{"kind": "IntegerPacking", "srcSize": 4}, {"kind": "ByteArray", "type": 1}],
}


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (RUNS, "all columns together unpacks to"),
        (SHORT, "_atom_site: Cartn_y has 4 values for 3 atoms"),
        (PACKED, "another length than it claims"),
        ({"data": b"", "encoding": [{"kind": "Magic"}]}, r"damaged: KeyError\('Magic'\)"),
        (None, "damaged"),
    ],
)
def test_what_binary_cif_may_not_claim(read, data, problem):
    with pytest.raises(hf.ReadError, match=problem):
        read("a.bcif", packed_cif(Cartn_x=data))


def test_an_entry_without_atoms_is_named(read):
    msgpack = pytest.importorskip("msgpack")
    entry = {"encoder": "none", "version": "0.3.0", "dataBlocks": [{"header": "1ABC", "categories": []}]}
    with pytest.raises(hf.ReadError, match="holds no atoms"):
        read("a.bcif", msgpack.packb(entry))
    with pytest.raises(hf.ReadError, match="more lists and maps than its size allows"):
        read("a.bcif", msgpack.packb(entry | {"more": [[] for _ in range(200_000)]}))


# What is not read, or not without a library.


@pytest.mark.parametrize(
    ("name", "library"), [("bcif", "msgpack"), ("e57", "pye57"), ("asc", "morphio"), ("arrow", "pyarrow")]
)
def test_a_missing_library_is_named(tmp_path, monkeypatch, name, library):
    content, suffix = REGISTRY[name].sample(), REGISTRY[name].suffixes[0]
    (tmp_path / f"a{suffix}").write_bytes(content)
    monkeypatch.setitem(sys.modules, library, None)
    extra = "io" if library == "pyarrow" else "formats"
    assert f"need {library}: pip install 'heatfield[{extra}]'" in said_of(tmp_path / f"a{suffix}")


@pytest.mark.parametrize(
    ("name", "content", "words", "way"),
    [
        ("a.xlsx", None, "XLSX", "CSV"),
        ("a.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "XLS", "CSV"),
        ("a.tif", b"II*\0\x08\0\0\0" + bytes(200), "TIFF", "NPY"),
        ("a.tiff", b"MM\0*\0\0\0\x08" + bytes(200), "TIFF", "NPY"),
        ("a.png", b"\x89PNG\r\n\x1a\n" + bytes(200), "an image", "NPY"),
        ("a.feather", b"FEA1" + bytes(200), "Feather file of version 1", "version 2"),
        ("a.fbx", b"Kaydara FBX Binary  \0" + bytes(200), "FBX", "GLB"),
    ],
)
def test_what_is_not_read_is_named_with_the_way_out(tmp_path, name, content, words, way):
    path = tmp_path / name
    if content is None:
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("[Content_Types].xml", "<Types/>")
            file.writestr("xl/workbook.xml", "<workbook/>")
    else:
        path.write_bytes(content)
    said = said_of(path)
    assert words in said
    assert way in said


def test_a_zarr_store_is_named(tmp_path):
    (tmp_path / "a.zarr").mkdir()
    (tmp_path / "a.zarr" / "zarr.json").write_text(json.dumps({"zarr_format": 3, "node_type": "group"}))
    said = said_of(tmp_path / "a.zarr")
    assert "zarr" in said.replace("a.zarr", "")
    assert "HDF5" in said
