"""Files in all their variety through the verbs: dimensions, names, failures, files of signatures."""

import csv
import os
import sys

import numpy as np
import pytest

import heatfield as hf
from heatfield.cli import main


def cloud(seed, n=3, m=40):
    return np.random.default_rng(seed).normal(size=(m, n))


def rows_of(path):
    with open(path, newline="", encoding="utf-8", errors="surrogateescape") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def mixed(tmp_path):
    """Two classes of clouds in space; the first file by name is flat."""
    for k, name in enumerate(("cat", "dog")):
        (tmp_path / "in" / name).mkdir(parents=True)
        for i in range(6):
            hf.write_points(tmp_path / "in" / name / f"c{i}.npy", cloud(10 * k + i) * [1, 1, 0.1 + k])
    hf.write_points(tmp_path / "in" / "cat" / "0_stray.npy", cloud(99, 2))
    return tmp_path / "in"


def test_describe_takes_the_dimension_of_most_files(mixed, tmp_path):
    out = tmp_path / "t.csv"
    assert main(["describe", str(mixed), "-o", str(out), "--jobs", "1", "--quiet"]) == 1
    assert len(rows_of(out)) == 12
    (error,) = rows_of(tmp_path / "t.errors.csv")
    assert error["file"].endswith("0_stray.npy")
    assert (
        error["problem"] == "its points have 2 coordinates where most files have 3; --dims 2 takes it instead"
    )


def test_describe_takes_the_dimension_that_it_is_told(mixed, tmp_path):
    out = tmp_path / "t.csv"
    assert main(["describe", str(mixed), "-o", str(out), "--jobs", "1", "--quiet", "--dims", "2"]) == 0
    assert len(rows_of(out)) == 13  # of an array without names the first two columns
    table = tmp_path / "named.csv"
    hf.write_points(tmp_path / "in" / "cat" / "named.ply", cloud(5))
    assert main(["describe", str(mixed), "-o", str(table), "--jobs", "1", "--quiet", "--dims", "2"]) == 1
    (error,) = rows_of(tmp_path / "named.errors.csv")
    assert os.path.basename(error["file"]) == "named.ply"
    assert error["problem"] == "its points have 3 coordinates, 2 are expected"


def test_train_takes_the_dimension_of_most_files(mixed, tmp_path):
    words = [
        "--folds",
        "2",
        "--head",
        "lda",
        "--quiet",
        "--variant",
        "simple",
        "--scales",
        "3",
        "--jobs",
        "1",
    ]
    code = main(["train", str(mixed), "-o", str(tmp_path / "model"), *words])
    assert code in (0, 1)
    assert (tmp_path / "model").is_dir()
    (error,) = rows_of(tmp_path / "model.errors.csv")
    assert "where most files have 3; --dims 2" in error["problem"]


def test_messages_name_the_options_of_the_command_line(tmp_path, capsys):
    (tmp_path / "nan.xyz").write_bytes(b"1 2 3\nnan 1 1\n4 5 6\n7 8 10\n")
    (tmp_path / "good.xyz").write_bytes(b"1 2 3\n4 5 6\n7 8 10\n")
    out = tmp_path / "t.csv"
    assert (
        main(["describe", str(tmp_path / "nan.xyz"), str(tmp_path / "good.xyz"), "-o", str(out), "--quiet"])
        == 1
    )
    problem = rows_of(tmp_path / "t.errors.csv")[0]["problem"]
    assert "--drop-invalid leaves them out" in problem
    assert "invalid=" not in problem
    for verb in (["info"], ["view", "-o", str(tmp_path / "page.html")]):
        capsys.readouterr()
        assert main([verb[0], str(tmp_path / "nan.xyz"), *verb[1:]]) == 1
        assert "--drop-invalid" in capsys.readouterr().err
        assert main([verb[0], str(tmp_path / "nan.xyz"), "--drop-invalid", *verb[1:]]) == 0


def test_verbs_survive_whatever_a_reader_throws(mixed, tmp_path, monkeypatch):
    """Errors that no reader should raise: the file is named, the others are described."""
    import heatfield.cli._shards as shards

    def faulty(path, **options):
        if "stray" in str(path):
            raise RecursionError("deep")
        return hf.read_cloud(path, **options)

    monkeypatch.setattr(shards, "read_cloud", faulty)
    assert main(["describe", str(mixed), "-o", str(tmp_path / "t.csv"), "--jobs", "1", "--quiet"]) == 1
    assert len(rows_of(tmp_path / "t.csv")) == 12
    assert rows_of(tmp_path / "t.errors.csv")[0]["problem"] == "RecursionError: deep"

    import heatfield.io as hio
    from heatfield.cli._reading import read_clouds

    monkeypatch.setattr(hio, "read_cloud", faulty)
    clouds, errors = read_clouds([str(p) for p in sorted(mixed.rglob("*.npy"))], {})
    assert len(clouds) == 12
    assert errors[0][2] == "RecursionError: deep"


def test_cells_that_a_spreadsheet_would_compute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("=1+1", "+cmd", "-x", "@sum", "plain"):
        hf.write_points(tmp_path / f"{name}.npy", cloud(1))
    (tmp_path / "=bad.npy").write_bytes(b"nothing")
    assert main(["describe", ".", "-o", "t.csv", "--jobs", "1", "--quiet"]) == 1
    assert sorted(r["file"] for r in rows_of("t.csv")) == [
        "'+cmd.npy",
        "'-x.npy",
        "'=1+1.npy",
        "'@sum.npy",
        "plain.npy",
    ]
    assert rows_of("t.errors.csv")[0]["file"] == "'=bad.npy"


@pytest.mark.skipif(sys.platform != "linux", reason="names are bytes")
def test_names_that_are_not_utf8(tmp_path):
    """In a process of its own, whose output is strict UTF-8."""
    import subprocess

    name = os.fsencode(tmp_path) + b"/b\xff\xe9.xyz"
    with open(name, "wb") as file:
        np.savetxt(file, cloud(3))
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8:strict", "PYTHONUTF8": "1"}
    for words in ([b"info", name], [b"view", name, b"-o", os.fsencode(tmp_path / "page.html")]):
        done = subprocess.run(
            [sys.executable, "-m", "heatfield", *words], capture_output=True, env=environment, check=False
        )
        assert done.returncode == 0, done.stderr.decode()
        assert "b\ufffd\ufffd.xyz" in done.stdout.decode()
    assert r"b\ufffd\ufffd.xyz" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_per_point_names_types_and_channels(tmp_path):
    laspy = pytest.importorskip("laspy")
    (tmp_path / "in").mkdir()
    header = laspy.LasHeader(version="1.4", point_format=1)
    header.scales, header.offsets = [0.01] * 3, [100.0] * 3
    las = laspy.LasData(header)
    las.x, las.y, las.z = 100 + 10 * np.random.default_rng(0).random((3, 80))
    keys = np.array([1, 1, 0, 2, 1024, 0, 1, 1, 3076, 0, 1, 9001], "<u2").tobytes()
    las.header.vlrs.append(laspy.VLR("LASF_Projection", 34735, "keys", keys))
    las.write(tmp_path / "in" / "tile.las")
    hf.write_points(tmp_path / "in" / "twice.ply", cloud(1))
    hf.write_points(tmp_path / "in" / "twice.npy", cloud(2))
    words = ["--jobs", "1", "--quiet", "--scales", "3", "--per-point", "las", "--point-dtype", "float32"]
    words += ["--point-channels", "dimension,local_type"]
    assert main(["describe", str(tmp_path / "in"), "-o", str(tmp_path / "f.npz"), *words]) == 0
    made = sorted(p.name for p in (tmp_path / "f_points").glob("[!.]*"))
    assert made == ["tile.las", "twice.npy.las", "twice.ply.las"]
    again = laspy.read(tmp_path / "f_points" / "tile.las")
    names = list(again.point_format.extra_dimension_names)
    assert names == [f"{c}_s{a}" for c in ("dimension", "local_type") for a in range(3)]
    points = hf.read_points(tmp_path / "in" / "tile.las")
    s = hf.signatures(points, n_scales=3)
    for a in range(3):
        dimension = again.point_format.dimension_by_name(f"dimension_s{a}")
        assert dimension.dtype == np.float32
        assert dimension.description == f"sqrt(t)={np.sqrt(s.scales[a]):.5g} m"
        np.testing.assert_array_equal(again[f"dimension_s{a}"], s.dimension[:, a].astype(np.float32))
        kind = again.point_format.dimension_by_name(f"local_type_s{a}")
        assert kind.dtype == np.uint8
        assert kind.description == "0pt 1fil 2surf 3vol 4junc 5undef"
        from heatfield._signatures.local_type import LOCAL_TYPES

        assert [LOCAL_TYPES[c] for c in again[f"local_type_s{a}"]] == s.local_type(a).tolist()
    (text,) = [v.record_data_bytes().decode() for v in again.header.vlrs if v.user_id == "heatfield"]
    assert "local_type_s0: 0 point, 1 filament, 2 surface" in text
    assert [v.record_id for v in again.header.vlrs if v.user_id == "LASF_Projection"] == [34735]
    assert again.header.scales.tolist() == [0.01] * 3
    np.testing.assert_array_equal(np.stack([again.X, again.Y, again.Z]), np.stack([las.X, las.Y, las.Z]))


def test_wrong_channels_are_said(tmp_path, capsys):
    hf.write_points(tmp_path / "a.npy", cloud(1))
    words = ["--per-point", "ply", "--point-channels", "colour"]
    assert main(["describe", str(tmp_path / "a.npy"), "-o", str(tmp_path / "f.npz"), *words]) == 2
    assert "--point-channels must be some of density,dimension" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["--scales", "1"], "--scales must be an integer"),
        (["--tol", "5"], "--tol must be a number"),
        (["--tol", "1e-20"], "--tol=1e-20 is out of reach"),
        (["--jobs", "0"], "--jobs must be"),
        (["--blocks", "colour"], "--blocks must be some of"),
        (["--c-min", "2"], "--c-min and --c-max must satisfy"),
        (["--dims", "0"], "--dims must be"),
        (["--max-bytes", "0"], "--max-bytes must be"),
    ],
)
def test_wrong_options_are_named_as_they_were_given(tmp_path, capsys, words, option):
    hf.write_points(tmp_path / "a.npy", cloud(1))
    assert main(["describe", str(tmp_path / "a.npy"), "-o", str(tmp_path / "f.npz"), *words]) == 2
    assert f"heatfield describe: {option}" in capsys.readouterr().err
