"""`describe_files`: the table, the errors, and what is not done again."""

import csv
import fcntl
import json
import os
from pathlib import Path

import numpy as np
import pytest

import heatfield as hf
from heatfield import jobs
from heatfield.cli import main
from heatfield.workflows import describe as module

FAST = {"variant": "simple", "n_scales": 3, "n_jobs": 1, "progress": False}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Forty clouds of several formats in two folders."""
    root = tmp_path_factory.mktemp("clouds") / "in"
    rng = np.random.default_rng(0)
    for i in range(40):
        place = root / ("a" if i % 2 else "b")
        place.mkdir(parents=True, exist_ok=True)
        suffix = (".ply", ".npy", ".csv", ".las", ".xyz.gz")[i % 5]
        hf.write_points(place / f"c{i:02d}{suffix}", rng.normal(size=(30 + i, 3)).round(3))
    (root / "README.md").write_text("not points")
    return root


def names_in(place):
    return sorted(path.name for path in Path(place).iterdir())


def test_rows_are_those_of_the_descriptor(folder):
    table = hf.describe_files(folder, progress=False)
    assert table.files == sorted(table.files)
    assert len(table) == 40
    clouds = [hf.read_points(file) for file in table.files]
    np.testing.assert_array_equal(table.features, hf.HFSDescriptor().fit_transform(clouds))
    assert table.names == tuple(hf.HFSDescriptor().get_feature_names_out())
    assert table.points.tolist() == [len(cloud) for cloud in clouds]
    assert {*table.labels} == {"a", "b"}
    for row, cloud in enumerate(clouds[:3]):
        np.testing.assert_allclose(table.lengths[row] ** 2, hf.scale_schedule(cloud), rtol=1e-12)
        np.testing.assert_allclose(table.diameter[row], np.sqrt(hf.scale_schedule(cloud)[-1] / 0.25))
    assert (table.errors, table.resumed, table.empty) == ([], 0, 0)


@pytest.mark.parametrize("suffix", ["csv", "npz", "parquet"])
def test_tables_are_read_as_written(suffix, folder, tmp_path):
    table = hf.describe_files(folder, tmp_path / f"t.{suffix}", **FAST)
    again = hf.FeatureTable.read(tmp_path / f"t.{suffix}")
    for name in ("files", "names", "labels", "n_dims", "settings"):
        found = getattr(again, name)
        assert (
            {k: v for k, v in found.items() if k != "heatfield"} if name == "settings" else found
        ) == getattr(table, name)
    for name in ("features", "points", "points_in_file", "spacing", "diameter", "lengths"):
        np.testing.assert_array_equal(getattr(again, name), getattr(table, name))
    with open(tmp_path / "t.columns.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["column"] for row in rows] == list(table.columns())
    assert all(row["meaning"] for row in rows)
    assert not list(tmp_path.glob("*.parts"))
    pytest.importorskip("pandas")
    assert list(table.to_frame().columns) == list(table.columns())


def test_a_table_of_something_else_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    np.savez(tmp_path / "a.npz", points=np.eye(3))
    for name in ("a.csv", "a.npz", "no.csv"):
        with pytest.raises(ValueError, match="is not a table of features"):
            hf.FeatureTable.read(tmp_path / name)


@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_executors_give_the_same_bytes(executor, folder, tmp_path):
    own = FAST | {"n_jobs": 2}
    for name, who in (("one", None), ("two", executor)):
        hf.describe_files(folder, tmp_path / f"{name}.npz", **own | {"executor": who})
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()


def test_order_of_paths_does_not_matter(folder):
    whole = hf.describe_files(folder, **FAST)
    some = hf.describe_files([*reversed(whole.files)], **FAST)
    assert some.files == whole.files
    np.testing.assert_array_equal(some.features, whole.features)
    assert some.labels is None


def test_bad_files_are_listed_and_stop_nothing(folder, tmp_path):
    for file in folder.rglob("c0*"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "broken.ply").write_bytes(b"ply\nformat ascii 1.0\nelement vertex 9\n")
    (tmp_path / "flat.csv").write_text("x,y\n1,2\n3,4\n")
    (tmp_path / "one.xyz").write_text("1 2 3\n")
    table = hf.describe_files(tmp_path, tmp_path / "t.npz", **FAST)
    assert [Path(error.file).name for error in table.errors] == ["broken.ply", "flat.csv"]
    assert "does not end" in table.errors[0].problem
    assert "2 coordinates where most files have 3; dims=2 takes it instead" in table.errors[1].problem
    assert (len(table), table.empty) == (11, 1)
    assert (tmp_path / "t.errors.csv").read_text().startswith("file,place,problem\n")
    (tmp_path / "broken.ply").unlink()
    (tmp_path / "flat.csv").unlink()
    hf.describe_files(tmp_path, tmp_path / "t.npz", **FAST)
    assert not (tmp_path / "t.errors.csv").exists()


def test_whatever_a_reader_raises_costs_one_file(folder, monkeypatch):
    def faulty(path, **options):
        if "c07" in str(path):
            raise RecursionError("deep")
        return hf.read_cloud(path, **options)

    monkeypatch.setattr(module, "read_cloud", faulty)
    table = hf.describe_files(folder, **FAST)
    assert [error.problem for error in table.errors] == ["RecursionError: deep"]
    assert len(table) == 39


def stopped_after(count, function):
    """The function, but Ctrl-C at a later call."""
    done = []

    def wrapped(*words):
        if len(done) == count:
            done.append(None)
            raise KeyboardInterrupt
        done.append(words)
        return function(*words)

    return wrapped, done


def test_finished_work_is_not_done_again(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_TOGETHER", 8)
    work, done = stopped_after(3, module.describe_some)
    monkeypatch.setattr(module, "describe_some", work)
    with pytest.raises(KeyboardInterrupt):
        hf.describe_files(folder, tmp_path / "t.npz", **FAST)
    assert names_in(tmp_path) == ["t.npz.parts"]
    table = hf.describe_files(folder, tmp_path / "t.npz", **FAST)
    assert (table.resumed, len(done)) == (24, 6)
    hf.describe_files(folder, tmp_path / "whole.npz", **FAST)
    assert (tmp_path / "t.npz").read_bytes() == (tmp_path / "whole.npz").read_bytes()


@pytest.mark.parametrize("change", ["option", "file"])
def test_other_questions_are_answered_anew(change, tmp_path, monkeypatch):
    for k in range(4):
        hf.write_points(tmp_path / f"{k}.npy", np.random.default_rng(k).random((20, 3)))
    monkeypatch.setattr(module, "_TOGETHER", 2)
    work, _ = stopped_after(1, module.describe_some)
    with monkeypatch.context() as patch:
        patch.setattr(module, "describe_some", work)
        with pytest.raises(KeyboardInterrupt):
            hf.describe_files(tmp_path, tmp_path / "t.npz", **FAST)
    options = FAST | ({"n_scales": 4} if change == "option" else {})
    if change == "file":
        os.utime(tmp_path / "0.npy", ns=(0, 0))
    assert hf.describe_files(tmp_path, tmp_path / "t.npz", **options).resumed == 0


def test_damaged_work_is_done_again(tmp_path, monkeypatch):
    hf.write_points(tmp_path / "a.npy", np.random.default_rng(0).random((20, 3)))
    kept = {}
    real = jobs.Job._clear

    def copied(self):
        kept.update({path.name: path.read_bytes() for path in self.folder.glob("*.npz")})
        real(self)

    monkeypatch.setattr(jobs.Job, "_clear", copied)
    hf.describe_files(tmp_path / "a.npy", tmp_path / "t.npz", **FAST)
    first = (tmp_path / "t.npz").read_bytes()
    ((name, data),) = kept.items()
    wrong = data.replace(b"NUMPY", b"NUMPI"), data.replace(b"'<i8'", b"'|O8'")
    for damaged in (data[: len(data) // 2], b"", *wrong):
        (tmp_path / "t.npz.parts").mkdir()
        (tmp_path / "t.npz.parts" / name).write_bytes(damaged)
        assert hf.describe_files(tmp_path / "a.npy", tmp_path / "t.npz", **FAST).resumed == 0
        assert (tmp_path / "t.npz").read_bytes() == first
    os.mkfifo(tmp_path / "pipe.npz")
    assert jobs.Job(tmp_path / "x")._read(tmp_path / "pipe.npz") is None


def test_files_that_change_meanwhile_are_an_error(tmp_path, monkeypatch):
    file = tmp_path / "a.npy"
    hf.write_points(file, np.random.default_rng(0).random((20, 3)))

    def changing(*words):
        os.utime(file, ns=(0, 0))
        return real(*words)

    real = module.describe_some
    monkeypatch.setattr(module, "describe_some", changing)
    with pytest.raises(ValueError, match="files changed while they were described"):
        hf.describe_files(file, tmp_path / "t.npz", **FAST)


@pytest.mark.parametrize(
    "theirs", ["t.csv", "t.errors.csv", "t.meta.json", "t.columns.csv", "t_points/notes.txt"]
)
def test_files_of_others_stay(theirs, tmp_path):
    hf.write_points(tmp_path / "a.npy", np.random.default_rng(0).random((20, 3)))
    (tmp_path / theirs).parent.mkdir(exist_ok=True)
    (tmp_path / theirs).write_text('{"my": "own"}\n')
    before = names_in(tmp_path)
    with pytest.raises(ValueError, match="was not written by heatfield"):
        hf.describe_files(tmp_path / "a.npy", tmp_path / "t.csv", per_point="npz", **FAST)
    assert (tmp_path / theirs).read_text() == '{"my": "own"}\n'
    assert names_in(tmp_path) == before


def test_own_results_are_replaced_and_not_read(tmp_path):
    hf.write_points(tmp_path / "a.npy", np.random.default_rng(0).random((20, 3)))
    for _ in range(2):
        table = hf.describe_files(tmp_path, tmp_path / "t.csv", per_point="csv", **FAST)
        assert [Path(file).name for file in table.files] == ["a.npy"]


def test_a_second_process_is_told(tmp_path):
    hf.write_points(tmp_path / "a.npy", np.random.default_rng(0).random((20, 3)))
    (tmp_path / "t.npz.parts").mkdir()
    with open(tmp_path / "t.npz.parts" / ".heatfield-lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(ValueError, match="being written by another process"):
            hf.describe_files(tmp_path / "a.npy", tmp_path / "t.npz", **FAST)
    hf.describe_files(tmp_path / "a.npy", tmp_path / "t.npz", **FAST)
    assert names_in(tmp_path) == ["a.npy", "t.columns.csv", "t.npz"]


def test_what_others_keep_in_the_folder_stays(tmp_path):
    hf.write_points(tmp_path / "a.npy", np.random.default_rng(0).random((20, 3)))
    (tmp_path / "t.npz.parts").mkdir()
    (tmp_path / "t.npz.parts" / "notes.txt").write_text("mine")
    hf.describe_files(tmp_path / "a.npy", tmp_path / "t.npz", **FAST)
    assert names_in(tmp_path / "t.npz.parts") == ["notes.txt"]


@pytest.mark.parametrize("suffix", ["ply", "las", "parquet"])
def test_signatures_at_every_point(folder, tmp_path, suffix):
    options = FAST | {"point_dtype": "float64", "per_point": suffix}
    hf.describe_files(folder / "a", tmp_path / "f.npz", **options)
    made = sorted((tmp_path / "f_points").glob("[!.]*"))
    assert len(made) == 20
    source = folder / "a" / f"{made[0].stem}.npy"
    cloud, expected = hf.read_cloud(made[0]), hf.signatures(hf.read_points(source), n_scales=3)
    np.testing.assert_allclose(cloud.points, hf.read_points(source), atol=1e-12)
    np.testing.assert_array_equal(cloud.columns["dimension_s1"], expected.dimension[:, 1])
    np.testing.assert_array_equal(cloud.columns["spectrum3_s2"], expected.spectrum[:, 2, 2])


def test_chosen_channels_at_every_point(tmp_path):
    (tmp_path / "in").mkdir()
    for name in ("twice.ply", "twice.npy"):
        hf.write_points(tmp_path / "in" / name, np.random.default_rng(1).random((40, 3)))
    options = FAST | {"per_point": "csv", "point_channels": ["normal", "local_type", "planarity"]}
    hf.describe_files(tmp_path / "in", tmp_path / "t.npz", **options)
    assert names_in(tmp_path / "t_points") == [".heatfield-points", "twice.npy.csv", "twice.ply.csv"]
    points, columns = hf.read_points(tmp_path / "t_points" / "twice.npy.csv", columns=True)
    s = hf.signatures(points, n_scales=3, with_directions=True)
    np.testing.assert_allclose(columns["normalz_s2"], s.normals[:, 2, 2], atol=1e-6)
    with pytest.raises(ValueError, match="point_channels must be some of density, dimension"):
        hf.describe_files(tmp_path / "in", tmp_path / "t.npz", **options | {"point_channels": ["colour"]})
    with pytest.raises(ValueError, match="per_point needs out"):
        hf.describe_files(tmp_path / "in", **options)


def test_lengths_are_those_of_all_clouds(folder):
    table = hf.describe_files(folder / "a", variant="simple", lengths=[0.5, 1.0], progress=False)
    assert (table.lengths == [0.5, 1.0]).all()
    expected = hf.describe([hf.read_points(file) for file in table.files], "simple", lengths=[0.5, 1.0])
    np.testing.assert_array_equal(table.features, expected)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"n_scales": 1}, "n_scales must be an integer"),
        ({"tol": 5.0}, "tol must be a number"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"blocks": ["colour"]}, "blocks must be some of"),
        ({"c_min": 2.0}, "c_min and c_max must satisfy"),
        ({"budget": 0}, "budget must be"),
        ({"variant": "huge"}, "variant must be one of"),
        ({"executor": "everyone"}, "executor must be"),
    ],
)
def test_wrong_options_are_named(options, problem, folder, tmp_path):
    with pytest.raises(ValueError, match=problem):
        hf.describe_files(folder / "a", tmp_path / "t.npz", **options)
    assert names_in(tmp_path) == []


def test_the_verb_writes_the_same_bytes(folder, tmp_path, capsys):
    hf.describe_files(folder, tmp_path / "one.npz", variant="simple", n_scales=4, budget=20, n_jobs=1)
    words = ["--variant", "simple", "--n-scales", "4", "--budget", "20", "--n-jobs", "1"]
    assert main(["describe", str(folder), "-o", str(tmp_path / "two.npz"), *words]) == 0
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
    assert "40 of 40 clouds" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["describe"], "required"),
        (["describe", "x", "-o", "f.docx"], "must end in .parquet, .csv, .npz"),
        (["describe", "nothing.ply", "-o", "f.npz"], "there is no file or folder 'nothing.ply'"),
        (["describe", "no*.ply", "-o", "f.npz"], "no file matches"),
        (["describe", "x.xyz", "-o", "f.npz", "--budget", "0"], "budget must be"),
        (["describe", "x.xyz", "-o", "f.npz", "--budget", "many"], "invalid int value"),
        (["describe", "x.xyz", "-o", "f.npz", "--lengths", "1,a"], "got 'a' in '1,a'"),
        (["describe", "x.xyz", "-o", "no/such/f.npz"], "no such folder"),
        (["describe", "x.xyz", "-o", "f.npz", "--variant", "huge"], "invalid choice"),
        (["inform"], "invalid choice"),
    ],
)
def test_a_wrong_command_is_one_sentence(tmp_path, monkeypatch, capsys, words, problem):
    monkeypatch.chdir(tmp_path)
    Path("x.xyz").write_text("1 2 3\n4 5 6\n")
    try:
        code = main(words)
    except SystemExit as stop:
        code = stop.code
    said = capsys.readouterr().err
    assert code == 2
    assert problem in said
    assert said.count("\n") == 1


def test_metadata_of_a_csv_lies_beside_it(folder, tmp_path):
    hf.describe_files(folder / "a", tmp_path / "t.csv", **FAST)
    found = json.loads((tmp_path / "t.meta.json").read_text())
    assert found["features"]["variant"] == "simple"
    assert found["reading"]["budget"] is None
    assert found["heatfield"] == hf.__version__
