"""Files in, a table of features out: what stands in it, what fails, and what is not done again."""

import csv
import json
import os

import numpy as np
import pytest

import heatfield as hf
from heatfield.jobs import Job
from heatfield.workflows import describe
from tests.helpers.files import write_two_classes
from tests.helpers.process import interrupted_at

QUICK = {"variant": "simple", "n_scales": 3, "n_jobs": 1}


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def folder(place):
    """Forty clouds of several formats in two folders."""
    rng = np.random.default_rng(0)
    for i in range(40):
        inner = place / "in" / ("a" if i % 2 else "b")
        inner.mkdir(parents=True, exist_ok=True)
        suffix = (".ply", ".npy", ".csv", ".las", ".xyz.gz")[i % 5]
        hf.write_points(inner / f"c{i:02d}{suffix}", rng.normal(size=(30 + i, 3)).round(3))
    (place / "in" / "README.md").write_text("not points")
    return place / "in"


def rows_of(path):
    with open(path, newline="", encoding="utf-8", errors="surrogateescape") as file:
        return list(csv.DictReader(file))


def same(one, two):
    """Two tables with the same rows."""
    assert one.files == two.files
    assert one.labels == two.labels
    for name in ("features", "points_in_file", "points", "spacing", "diameter", "lengths"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name), err_msg=name)


# What stands in the table.


def test_the_table_holds_what_the_descriptor_gives(folder, place):
    pq = pytest.importorskip("pyarrow.parquet")
    found = hf.describe_files("in", "f.parquet")
    table = pq.read_table("f.parquet")
    files = table["file"].to_pylist()
    assert files == found.files == sorted(files)
    clouds = [hf.read_points(f) for f in files]
    names = hf.HFSDescriptor(n_dims=3).layout().names
    beside = ["label", "isolated", "r_nn", "diameter", *(f"length_s{a}" for a in range(8))]
    assert table.column_names == ["file", "points_in_file", "points", *beside, *names]
    expected = hf.HFSDescriptor().fit_transform(clouds)
    np.testing.assert_array_equal(np.stack([table[n].to_numpy() for n in names], axis=1), expected)
    assert table["points"].to_pylist() == [len(c) for c in clouds]
    assert set(found.labels) == {"a", "b"}
    meta = json.loads(table.schema.metadata[b"heatfield"])
    assert (meta["heatfield"], meta["features"]["variant"]) == (hf.__version__, "joint")
    assert sorted(p.name for p in place.iterdir()) == ["f.columns.csv", "f.parquet", "in"]
    assert folder.is_dir()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("suffix", ["csv", "npz", "parquet"])
def test_a_table_is_read_as_it_was_written(suffix):
    found = hf.describe_files("in", f"t.{suffix}", budget=20, blocks=["global", "hds"], **QUICK)
    assert set(found.points) == {20}
    assert found.points_in_file.max() == 69
    again = hf.FeatureTable.read(f"t.{suffix}")
    same(again, found)
    assert again.names == found.names
    assert again.settings["features"] == found.settings["features"]
    assert again.settings["reading"]["budget"] == 20
    assert again.descriptor.get_params()["blocks"] == ["global", "hds"]
    assert list(found.to_frame().columns) == list(found.columns())


def test_a_table_of_something_else_is_refused(place):
    (place / "a.csv").write_text("x,y\n1,2\n")
    np.savez(place / "a.npz", points=np.eye(3))
    for name in ("a.csv", "a.npz", "no.csv"):
        with pytest.raises(ValueError, match="is not a table of features"):
            hf.FeatureTable.read(name)


@pytest.mark.usefixtures("place")
def test_isolated_points_are_counted():
    points = np.random.default_rng(0).random((60, 3))
    hf.write_points("near.ply", points)
    hf.write_points("far.ply", np.concatenate([points, [[30.0, 0.0, 0.0], [0.0, -40.0, 0.0]]]))
    found = hf.describe_files(["near.ply", "far.ply"], "table.csv", **{**QUICK, "variant": "joint"})
    assert dict(zip(found.files, found.isolated.tolist(), strict=True)) == {"near.ply": 0, "far.ply": 2}
    assert found.points.max() == 62
    np.testing.assert_allclose(found.features[0], found.features[1], atol=1e-6)  # files are single precision
    np.testing.assert_array_equal(hf.FeatureTable.read("table.csv").isolated, found.isolated)


@pytest.mark.usefixtures("folder")
def test_lengths_and_extents_of_clouds():
    found = hf.describe_files("in/a", **QUICK)
    for i, file in enumerate(found.files):
        scales = hf.scale_schedule(hf.read_points(file), 3)
        np.testing.assert_allclose(found.lengths[i], np.sqrt(scales), rtol=1e-12)
        assert found.spacing[i] == pytest.approx(np.sqrt(scales[0] / 0.05), rel=1e-12)
        assert found.diameter[i] == pytest.approx(np.sqrt(scales[-1] / 0.25), rel=1e-12)
    assert found.labels is None, "one folder is no choice of classes"
    fixed = hf.describe_files("in/a", lengths=[0.5, 1.0], variant="simple", n_jobs=1)
    assert (fixed.lengths == [0.5, 1.0]).all()
    clouds = [hf.read_points(file) for file in fixed.files]
    expected = hf.HFSDescriptor("simple", lengths=[0.5, 1.0]).fit_transform(clouds)
    np.testing.assert_allclose(fixed.features, expected, rtol=1e-12)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("variant", ["simple", "joint"])
def test_every_column_is_in_the_dictionary(variant):
    found = hf.describe_files("in/a", "t.csv", **{**QUICK, "variant": variant})
    known = rows_of("t.columns.csv")
    assert [row["column"] for row in known] == list(found.columns()) == list(rows_of("t.csv")[0])
    assert all(row["meaning"] for row in known)
    by_name = {row["column"]: row for row in known}
    assert (by_name["dimension_p90_s2"]["scales"], by_name["dimension_p90_s2"]["block"]) == ("2", "dimension")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "run", [{"n_jobs": 2}, {"executor": "processes", "n_jobs": 2}, {"executor": "threads"}], ids=str
)
def test_who_does_the_work_does_not_matter(run, monkeypatch):
    monkeypatch.setattr(describe, "_TOGETHER", 6)
    options = {"budget": 25, **QUICK}
    one, two = hf.describe_files("in", **options), hf.describe_files("in", **{**options, **run})
    same(one, two)
    files = sorted((file for file in one.files), reverse=True)
    same(hf.describe_files(files, labels={f: "ab"["/b/" in f] for f in files}, **options), one)


# What fails.


def test_a_bad_file_is_reported_and_stops_nothing(folder):
    (folder / "a" / "broken.ply").write_bytes(b"ply\nformat ascii 1.0\nelement vertex 9\n")
    (folder / "a" / "flat.csv").write_text("x,y\n1,2\n3,4\n")
    (folder / "b" / "one.xyz").write_text("1 2 3\n")
    found = hf.describe_files("in", "f.npz", **QUICK)
    assert len(found) == 41
    assert found.empty == 1
    rows = rows_of("f.errors.csv")
    assert [error.file for error in found.errors] == [row["file"] for row in rows]
    assert [os.path.basename(row["file"]) for row in rows] == ["broken.ply", "flat.csv"]
    assert "does not end" in rows[0]["problem"]
    assert "2 coordinates where most files have 3; dims=2 takes it instead" in rows[1]["problem"]
    usable = found.usable()
    assert (len(usable), usable.empty, len(usable.errors)) == (40, 0, 3)
    (folder / "a" / "broken.ply").unlink()
    (folder / "a" / "flat.csv").unlink()
    hf.describe_files("in", "f.npz", **QUICK)
    assert not os.path.exists("f.errors.csv")


def test_the_dimension_is_that_of_most_files_or_what_is_asked():
    write_two_classes("in", 3, 30, ".npy")
    hf.write_points("in/ball/0_stray.npy", np.random.default_rng(9).normal(size=(30, 2)))
    (error,) = hf.describe_files("in", **QUICK).errors
    assert error.file.endswith("0_stray.npy")
    plane = hf.describe_files("in", dims=2, **QUICK)  # of an array without names the first two columns
    assert (len(plane), plane.n_dims, plane.errors) == (7, 2, [])
    hf.write_points("in/ball/named.ply", np.random.default_rng(5).normal(size=(30, 3)))
    (error,) = hf.describe_files("in", dims=2, **QUICK).errors
    assert error.problem == "its points have 3 coordinates, 2 are expected"


def test_whatever_a_reader_throws_costs_its_file_only(monkeypatch):
    write_two_classes("in", 2, 30, ".npy")

    def faulty(path, **options):
        if path.endswith("ball/0.npy"):
            raise RecursionError("deep")
        return hf.read_cloud(path, **options)

    monkeypatch.setattr(describe, "read_cloud", faulty)
    found = hf.describe_files("in", **QUICK)
    assert len(found) == 3
    assert found.errors[0].problem == "RecursionError: deep"


def test_cells_that_a_spreadsheet_would_compute(place):
    for name in ("=1+1", "+cmd", "-x", "@sum", "plain"):
        hf.write_points(f"{name}.npy", np.random.default_rng(1).normal(size=(40, 3)))
    (place / "=bad.npy").write_bytes(b"nothing")
    hf.describe_files(".", "t.csv", labels={"=1+1.npy": "=2"}, **QUICK)
    names = ["+cmd.npy", "-x.npy", "=1+1.npy", "@sum.npy", "plain.npy"]
    assert sorted(r["file"] for r in rows_of("t.csv")) == sorted([*(f"'{n}" for n in names[:4]), names[4]])
    assert rows_of("t.errors.csv")[0]["file"] == "'=bad.npy"
    again = hf.FeatureTable.read("t.csv")
    assert sorted(again.files) == names
    assert set(again.labels) == {"=2", ""}


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"paths": "nothing.ply"}, "there is no file or folder 'nothing.ply'"),
        ({"out": "f.docx"}, "out must end in .parquet, .csv, .npz"),
        ({"out": "no/such/f.npz"}, "no such folder"),
        ({"blocks": ["colour"]}, "blocks must be some of"),
        ({"c_min": 2}, "c_min and c_max must satisfy"),
        ({"tol": 1e-20}, "tol=1e-20 is out of reach"),
        ({"per_point": "ply"}, "per_point needs out"),
        (
            {"out": "f.npz", "per_point": "ply", "point_channels": ["colour"]},
            "point_channels must be some of",
        ),
        ({"executor": "local:x"}, "executor must be 'local:N'"),
    ],
)
def test_wrong_options_are_said_before_the_work(place, options, problem):
    (place / "x.xyz").write_text("1 2 3\n4 5 6\n")
    with pytest.raises(ValueError, match=problem):
        hf.describe_files(**{"paths": "x.xyz", **options})
    assert sorted(p.name for p in place.iterdir()) == ["x.xyz"]


def test_an_unknown_option_has_a_suggestion():
    with pytest.raises(TypeError, match="has no option 'scales'; did you mean 'n_scales'"):
        hf.describe_files("in", scales=3)


# What is kept, replaced and left alone.


@pytest.mark.usefixtures("folder")
def test_what_is_finished_is_not_done_again(place, monkeypatch):
    monkeypatch.setattr(describe, "_TOGETHER", 8)
    whole = hf.describe_files("in", "whole.npz", **QUICK)
    real = describe.describe_some
    with monkeypatch.context() as patch:
        patch.setattr(describe, "describe_some", interrupted_at(4, real))
        with pytest.raises(KeyboardInterrupt):
            hf.describe_files("in", "f.npz", **QUICK)
    kept = len(list((place / "f.npz.parts").iterdir()))
    assert kept in (2, 3)
    assert not (place / "f.npz").exists()
    other = hf.describe_files("in", "g.npz", **{**QUICK, "n_scales": 4})
    assert other.resumed == 0
    found = hf.describe_files("in", "f.npz", **QUICK)
    assert found.resumed == 8 * kept
    same(found, whole)
    assert (place / "f.npz").read_bytes() == (place / "whole.npz").read_bytes()
    assert not (place / "f.npz.parts").exists()


def test_a_changed_file_is_read_again(place, monkeypatch):
    write_two_classes("in", 6, 30, ".npy")
    monkeypatch.setattr(Job, "_clear", lambda _: None)
    hf.describe_files("in", "t.npz", **QUICK)
    os.utime(place / "in" / "ball" / "0.npy", ns=(0, 0))
    assert hf.describe_files("in", "t.npz", **QUICK).resumed == 0


def test_a_file_that_changes_meanwhile_is_an_error(place, monkeypatch):
    write_two_classes("in", 2, 30, ".npy")
    real = describe.describe_some

    def changing(*load):
        found = real(*load)
        os.utime(place / "in" / "ball" / "0.npy", ns=(0, 0))
        return found

    monkeypatch.setattr(describe, "describe_some", changing)
    with pytest.raises(ValueError, match="files changed while they were read"):
        hf.describe_files("in", "t.npz", **QUICK)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("suffix", ["csv", "npz", "parquet"])
def test_its_own_table_is_replaced_but_no_other_file(suffix, place):
    out = place / "in" / "a" / f"features.{suffix}"  # among the clouds
    first = hf.describe_files("in", out, budget=20, **QUICK)
    written = out.read_bytes()
    same(hf.describe_files("in", out, budget=20, **QUICK), first)
    assert out.read_bytes() == written
    cloud = place / "in" / "a" / f"cloud.{suffix}"
    hf.write_points(cloud, np.eye(3))
    before = cloud.read_bytes()
    with pytest.raises(ValueError, match="it exists and was not written by heatfield; give another name"):
        hf.describe_files(cloud, cloud)
    assert cloud.read_bytes() == before


@pytest.mark.parametrize("theirs", ["t.errors.csv", "t.meta.json", "t.columns.csv", "t_points/mine.npz"])
def test_files_of_someone_else_stay(theirs, place):
    write_two_classes("in", 1, 30, ".npy")
    (place / theirs).parent.mkdir(exist_ok=True)
    (place / theirs).write_text('{"my": "own"}\n')
    with pytest.raises(ValueError, match="cannot write"):
        hf.describe_files("in", "t.csv", per_point="npz", **QUICK)
    assert (place / theirs).read_text() == '{"my": "own"}\n'
    assert sorted(p.name for p in place.iterdir()) == sorted({"in", theirs.split("/")[0]})


# Signatures at every point.


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("suffix", ["ply", "las", "parquet"])
def test_per_point_files(suffix, place):
    hf.describe_files("in/a", "f.npz", per_point=suffix, **QUICK)
    made = sorted((place / "f_points").glob("[!.]*"))
    assert len(made) == 20
    source = place / "in" / "a" / f"{made[0].stem}.npy"
    cloud, expected = hf.read_cloud(made[0]), hf.signatures(hf.read_points(source), n_scales=3)
    np.testing.assert_allclose(cloud.points, hf.read_points(source), atol=1e-12)
    for name, column in (
        ("dimension_s1", expected.dimension[:, 1]), ("spectrum3_s2", expected.spectrum[:, 2, 2])
    ):  # fmt: skip
        np.testing.assert_array_equal(cloud.columns[name], column.astype(np.float32))
    hf.describe_files("in/a", "f.npz", per_point=suffix, **QUICK)  # its own files are replaced


def test_directions_as_columns_of_points():
    hf.write_points("0.csv", np.random.default_rng(0).normal(size=(30, 3)) * [1, 1, 0])
    more = {"point_channels": ["normal", "verticality", "planarity"], "point_dtype": "float64"}
    hf.describe_files("0.csv", "t.npz", per_point="csv", **more, **QUICK)
    points, columns = hf.read_points("t_points/0.csv", columns=True)
    s = hf.signatures(points, n_scales=3, with_directions=True)
    assert list(columns)[:3] == ["planarity_s0", "planarity_s1", "planarity_s2"]
    np.testing.assert_allclose(columns["normalz_s2"], s.normals[:, 2, 2], atol=1e-12)


def test_per_point_las_keeps_its_header(place):
    laspy = pytest.importorskip("laspy")
    (place / "in").mkdir()
    header = laspy.LasHeader(version="1.4", point_format=1)
    header.scales, header.offsets = [0.01] * 3, [100.0] * 3
    las = laspy.LasData(header)
    las.x, las.y, las.z = 100 + 10 * np.random.default_rng(0).random((3, 80))
    keys = np.array([1, 1, 0, 2, 1024, 0, 1, 1, 3076, 0, 1, 9001], "<u2").tobytes()
    las.header.vlrs.append(laspy.VLR("LASF_Projection", 34735, "keys", keys))
    las.write(place / "in" / "tile.las")
    for name in ("twice.ply", "twice.npy"):
        hf.write_points(place / "in" / name, np.random.default_rng(1).normal(size=(40, 3)))
    hf.describe_files("in", "f.npz", per_point="las", point_channels=["dimension", "local_type"], **QUICK)
    made = sorted(p.name for p in (place / "f_points").glob("[!.]*"))
    assert made == ["tile.las", "twice.npy.las", "twice.ply.las"]
    again = laspy.read(place / "f_points" / "tile.las")
    names = list(again.point_format.extra_dimension_names)
    assert names == [f"{c}_s{a}" for c in ("dimension", "local_type") for a in range(3)]
    s = hf.signatures(hf.read_points("in/tile.las"), n_scales=3)
    from heatfield.local_type import LOCAL_TYPES

    for a in range(3):
        dimension = again.point_format.dimension_by_name(f"dimension_s{a}")
        assert dimension.dtype == np.float32
        assert dimension.description == f"sqrt(t)={np.sqrt(s.scales[a]):.5g} m"
        np.testing.assert_array_equal(again[f"dimension_s{a}"], s.dimension[:, a].astype(np.float32))
        kind = again.point_format.dimension_by_name(f"local_type_s{a}")
        assert (kind.dtype, kind.description) == (np.uint8, "0pt 1fil 2surf 3vol 4junc 5undef")
        assert [LOCAL_TYPES[c] for c in again[f"local_type_s{a}"]] == s.local_type(a).tolist()
    (text,) = [v.record_data_bytes().decode() for v in again.header.vlrs if v.user_id == "heatfield"]
    assert "local_type_s0: 0 point, 1 filament, 2 surface" in text
    assert [v.record_id for v in again.header.vlrs if v.user_id == "LASF_Projection"] == [34735]
    assert again.header.scales.tolist() == [0.01] * 3
    np.testing.assert_array_equal(np.stack([again.X, again.Y, again.Z]), np.stack([las.X, las.Y, las.Z]))
