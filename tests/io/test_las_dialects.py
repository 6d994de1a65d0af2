# ruff: noqa: E501  (small files are easier to check in one piece)
"""LAZ of early and of later writers; what LAS files keep on the way through."""

import io
import struct

import numpy as np
import pytest

import heatfield as hf
from tests.helpers import raw

laspy = pytest.importorskip("laspy")
lazrs = pytest.importorskip("lazrs")

WKT = (
    'PROJCS["ETRS89 / UTM zone 33N",GEOGCS["ETRS89",DATUM["ETRS89",SPHEROID["GRS 1980",6378137,298.257222101]],'
    'PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]],PROJECTION["Transverse_Mercator"],UNIT["metre",1]]'
)


def tile(point_format: int, m: int = 300, version: str = "1.4") -> "laspy.LasData":
    rng = np.random.default_rng(point_format)
    header = laspy.LasHeader(version=version, point_format=point_format)
    header.scales, header.offsets = [0.01, 0.01, 0.002], [4e5, 5.1e6, 100.0]
    header.add_extra_dim(laspy.ExtraBytesParams(name="echo", type="u2", description="width of the echo"))
    las = laspy.LasData(header, points=laspy.ScaleAwarePointRecord.zeros(m, header=header))
    las.X, las.Y, las.Z = rng.integers(-(2**20), 2**20, size=(3, m))
    las.intensity, las.echo = rng.integers(0, 2**16, size=(2, m))
    las.classification = rng.integers(0, 20, m)
    if "gps_time" in las.point_format.dimension_names:
        las.gps_time = rng.random(m)
    return las


def written(las, compress: bool) -> bytes:
    buffer = io.BytesIO()
    las.write(buffer, do_compress=compress)
    return buffer.getvalue()


def laszip_record(data: bytes) -> int:
    return data.index(b"laszip encoded") - 2 + 54


def pointwise(data: bytes) -> bytes:
    """As LASzip 1 wrote it: one stream, no chunks, no table of them."""
    start, table = struct.unpack_from("<I", data, 96)[0], 0
    (table,) = struct.unpack_from("<q", data, start)
    head, place = bytearray(data[:start]), laszip_record(data)
    head[place : place + 2] = struct.pack("<H", 1)
    head[place + 12 : place + 16] = struct.pack("<I", 0)
    return bytes(head) + data[start + 8 : table]


@pytest.mark.parametrize("point_format", [0, 1, 2, 3])
def test_laz_without_a_chunk_table(tmp_path, point_format):
    las = tile(point_format, version="1.2")
    data = pointwise(written(las, True))
    (tmp_path / "a.laz").write_bytes(data)
    cloud = raw.read_cloud(tmp_path / "a.laz")
    np.testing.assert_array_equal(cloud.points, np.stack([las.x, las.y, las.z], axis=1))
    for name in las.point_format.dimension_names:
        if name not in "XYZ":
            np.testing.assert_array_equal(cloud.columns[name], np.asarray(las[name]), err_msg=name)
    if "Laszip" in dir(laspy.LazBackend) and laspy.LazBackend.Laszip.is_available():  # LASzip itself agrees
        other = laspy.read(io.BytesIO(data), laz_backend=laspy.LazBackend.Laszip)
        np.testing.assert_array_equal(cloud.points, np.stack([other.x, other.y, other.z], axis=1))
    for size in range(len(data) - 200, len(data), 40):  # cut off inside the stream: never other points
        (tmp_path / "b.laz").write_bytes(data[:size])
        try:
            assert len(raw.read_points(tmp_path / "b.laz")) == 300
        except hf.ReadError:
            continue


@pytest.mark.parametrize(
    ("place", "value"),
    [(0, struct.pack("<H", 4)), (38, struct.pack("<H", 9)), (34, struct.pack("<H", 15))],
    ids=["way", "version of an item", "item"],
)
def test_what_is_newer_is_not_called_damaged(tmp_path, place, value):
    data = bytearray(written(tile(6), True))
    at = laszip_record(data) + place
    data[at : at + 2] = value
    (tmp_path / "a.laz").write_bytes(data)
    with pytest.raises(hf.ReadError, match="newer than this reader") as caught:
        raw.read_points(tmp_path / "a.laz")
    assert "damaged" not in str(caught.value)


def test_a_newer_las_version(tmp_path):
    data = bytearray(written(tile(6), False))
    data[25] = 5
    (tmp_path / "a.las").write_bytes(data)
    with pytest.raises(hf.ReadError, match=r"LAS version 1\.5, newer than this reader"):
        raw.read_points(tmp_path / "a.las")


def with_wkt(las, behind: bool = False):
    las.header.global_encoding.wkt = True
    record = laspy.VLR("LASF_Projection", 2112, "a projection", WKT.encode() + b"\0")
    if behind:
        las.evlrs = laspy.vlrs.vlrlist.VLRList([record])
    else:
        las.header.vlrs.append(record)
    return las


@pytest.mark.parametrize("suffix", [".las", ".laz"])
@pytest.mark.parametrize("behind", [False, True])
def test_wkt_survives(tmp_path, suffix, behind):
    las = with_wkt(tile(6), behind)
    las.header.global_encoding.gps_time_type = laspy.header.GpsTimeType.STANDARD
    (tmp_path / "a.las").write_bytes(written(las, False))
    cloud = raw.read_cloud(tmp_path / "a.las")
    hf.write_points(tmp_path / f"b{suffix}", cloud.points, cloud.columns, notes=cloud.notes)
    again = laspy.read(tmp_path / f"b{suffix}")
    assert again.header.global_encoding.wkt
    assert again.header.global_encoding.gps_time_type == laspy.header.GpsTimeType.STANDARD
    (record,) = [v for v in again.header.vlrs if v.user_id == "LASF_Projection"]
    assert record.string.rstrip("\0") == WKT
    assert again.header.scales.tolist() == [0.01, 0.01, 0.002]
    assert again.header.offsets.tolist() == [4e5, 5.1e6, 100.0]
    np.testing.assert_array_equal(np.stack([again.X, again.Y, again.Z]), np.stack([las.X, las.Y, las.Z]))


@pytest.mark.parametrize("point_format", [0, 1, 2, 3, 6, 7, 8])
def test_geotiff_keys_and_point_format_survive(tmp_path, point_format):
    las = tile(point_format)
    keys = struct.pack("<16H", 1, 1, 0, 3, 1024, 0, 1, 1, 3072, 0, 1, 25833, 3076, 0, 1, 9001)
    las.header.vlrs.append(laspy.VLR("LASF_Projection", 34735, "keys", keys))
    las.header.vlrs.append(laspy.VLR("someone", 7, "else", b"\x00\x01\x02"))
    (tmp_path / "a.las").write_bytes(written(las, False))
    cloud = raw.read_cloud(tmp_path / "a.las", budget=100)
    hf.write_points(
        tmp_path / "b.laz", cloud.points, {**cloud.columns, "made": np.arange(100.0)}, notes=cloud.notes
    )
    again = laspy.read(tmp_path / "b.laz")
    assert again.point_format.id == point_format
    assert not again.header.global_encoding.wkt
    records = {(v.user_id, v.record_id): v.record_data_bytes() for v in again.header.vlrs}
    assert records[("LASF_Projection", 34735)] == keys
    assert records[("someone", 7)] == b"\x00\x01\x02"
    assert [d.description for d in again.point_format.extra_dimensions] == ["width of the echo", ""]
    for name in cloud.columns:
        np.testing.assert_array_equal(np.asarray(again[name]), cloud.columns[name], err_msg=name)
    assert raw.read_cloud(tmp_path / "b.laz").notes["vlrs"] == cloud.notes["vlrs"]


def test_columns_that_the_old_format_cannot_hold(tmp_path):
    """Class 200 does not fit into format 1, but into format 6."""
    (tmp_path / "a.las").write_bytes(written(tile(1), False))
    cloud = raw.read_cloud(tmp_path / "a.las")
    columns = {**cloud.columns, "classification": np.full(300, 200, np.uint8)}
    hf.write_points(tmp_path / "b.las", cloud.points, columns, notes=cloud.notes)
    assert laspy.read(tmp_path / "b.las").classification.tolist() == [200] * 300
    grey = {"red": np.arange(300, dtype=np.uint16), "green": np.zeros(300, "u2"), "blue": np.zeros(300, "u2")}
    hf.write_points(tmp_path / "c.las", cloud.points, {**cloud.columns, **grey}, notes=cloud.notes)
    assert laspy.read(tmp_path / "c.las").point_format.id == 3


def test_descriptions(tmp_path):
    columns = {"made": np.arange(3.0, dtype="f4"), "other": np.arange(3)}
    texts = {"made": "sqrt(t) = 0.25 m, and a lot more than 32 bytes"}
    for suffix in (".las", ".ply", ".parquet", ".csv"):
        hf.write_points(tmp_path / f"a{suffix}", np.eye(3), columns, descriptions=texts)
        np.testing.assert_array_equal(
            raw.read_cloud(tmp_path / f"a{suffix}").columns["made"], columns["made"]
        )
    dimension = laspy.read(tmp_path / "a.las").point_format.dimension_by_name("made")
    assert dimension.description == texts["made"][:32]
    assert dimension.dtype == np.float32
    assert b"comment made: sqrt(t) = 0.25 m" in (tmp_path / "a.ply").read_bytes()
    import pyarrow.parquet as pq

    assert (
        pq.read_schema(tmp_path / "a.parquet").field("made").metadata[b"description"].startswith(b"sqrt(t)")
    )


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        (WKT, "m"),
        (WKT.replace('UNIT["metre",1]', 'UNIT["US survey foot",0.3048006]'), "us-ft"),
        ('GEOGCS["WGS 84",UNIT["degree",0.0174532925199433]]', "deg"),
        ('COMPD_CS["x",' + WKT + ',VERT_CS["h",UNIT["foot",0.3048]]]', "m"),
        ("LOCAL", ""),
    ],
)
def test_the_unit_of_length_is_that_of_the_coordinate_system(text, unit):
    from heatfield.io import Record, length_unit

    assert length_unit([Record("LASF_Projection", 2112, "", text.encode())]) == unit
