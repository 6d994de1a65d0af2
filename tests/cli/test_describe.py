"""``heatfield describe`` from a shell: the table, the errors, and what is not done again."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import heatfield as hf
from heatfield.cli import main
from tests.helpers.process import environment


@pytest.fixture
def folder(tmp_path):
    """Forty clouds of several formats in two folders."""
    rng = np.random.default_rng(0)
    for i in range(40):
        place = tmp_path / "in" / ("a" if i % 2 else "b")
        place.mkdir(parents=True, exist_ok=True)
        suffix = (".ply", ".npy", ".csv", ".las", ".xyz.gz")[i % 5]
        hf.write_points(place / f"c{i:02d}{suffix}", rng.normal(size=(30 + i, 3)).round(3))
    (tmp_path / "in" / "README.md").write_text("not points")
    return tmp_path / "in"


def test_the_table_holds_what_the_descriptor_gives(folder, tmp_path, capsys):
    pq = pytest.importorskip("pyarrow.parquet")
    out = tmp_path / "f.parquet"
    assert main(["describe", str(folder), "-o", str(out), "--jobs", "1", "--shard", "7"]) == 0
    table = pq.read_table(out)
    assert table.num_rows == 40
    files = table["file"].to_pylist()
    assert files == sorted(files)
    clouds = [hf.read_points(f) for f in files]
    expected = hf.HFSDescriptor("desc").fit_transform(clouds)
    names = hf.HFSDescriptor("desc").get_feature_names_out().tolist()
    facts = ["label", "r_nn", "diameter", *(f"length_s{a}" for a in range(8))]
    assert table.column_names == ["file", "points_in_file", "points", *facts, *names]
    np.testing.assert_array_equal(np.stack([table[n].to_numpy() for n in names], axis=1), expected)
    assert table["points"].to_pylist() == [len(c) for c in clouds]
    meta = json.loads(table.schema.metadata[b"heatfield"])
    assert meta["version"] == hf.__version__
    assert meta["schema"] >= 1
    assert meta["descriptor"]["variant"] == "desc"
    assert "1 files of other kinds" in capsys.readouterr().out
    assert not out.with_name("f.parquet.parts").exists()
    assert not out.with_suffix(".errors.csv").exists()


def test_csv_npz_and_options(folder, tmp_path):
    words = [
        "--jobs",
        "1",
        "--quiet",
        "--variant",
        "simple",
        "--scales",
        "4",
        "--budget",
        "20",
        "--blocks",
        "global,hds",
    ]
    assert main(["describe", str(folder), "-o", str(tmp_path / "f.csv"), *words]) == 0
    assert main(["describe", str(folder), "-o", str(tmp_path / "f.npz"), *words]) == 0
    with open(tmp_path / "f.csv", newline="") as file:
        rows = list(csv.reader(file))
    with np.load(tmp_path / "f.npz") as data:
        assert rows[0][3:10] == ["label", "r_nn", "diameter", *(f"length_s{a}" for a in range(4))]
        assert [r[3] for r in rows[1:]] == data["label"].tolist()
        assert rows[0][10:] == data["names"].tolist()
        np.testing.assert_array_equal(np.array([r[10:] for r in rows[1:]], dtype=float), data["features"])
        assert set(data["points"]) == {20}
        assert data["points_in_file"].max() == 69
        assert json.loads(str(data["metadata"])) == json.loads((tmp_path / "f.meta.json").read_text())


@pytest.mark.parametrize("how", ["threads", "both"])
def test_processes_and_order_do_not_matter(how, folder, tmp_path, monkeypatch):
    from heatfield.cli import _run_shards

    used = []
    real = _run_shards._in_processes
    monkeypatch.setattr(_run_shards, "_in_processes", lambda *a: (used.append(len(a[0])), real(*a))[1])
    if how == "both":  # as if what is left took long
        monkeypatch.setattr(_run_shards, "_START_SECONDS", 0.0)
    outs = [tmp_path / f"{i}.npz" for i in range(3)]
    main(["describe", str(folder), "-o", str(outs[0]), "--jobs", "1", "--quiet", "--budget", "25"])
    main(
        [
            "describe",
            str(folder),
            "-o",
            str(outs[1]),
            "--jobs",
            "2",
            "--quiet",
            "--budget",
            "25",
            "--shard",
            "6",
        ]
    )
    assert len(used) == (how != "threads")
    files = sorted(map(str, folder.rglob("*.*")), reverse=True)
    files = [f for f in files if not f.endswith(".md")]
    main(
        ["describe", *files, "-o", str(outs[2]), "--jobs", "1", "--quiet", "--budget", "25", "--shard", "11"]
    )
    assert outs[0].read_bytes() == outs[1].read_bytes()
    with np.load(outs[0]) as one, np.load(outs[2]) as other:  # files that are named one by one have no class
        assert {*one.files} - {*other.files} == {"label"}
        for name in {*other.files} - {"metadata"}:
            np.testing.assert_array_equal(one[name], other[name], err_msg=name)


def test_a_bad_file_is_reported_and_stops_nothing(folder, tmp_path, capsys):
    (folder / "a" / "broken.ply").write_bytes(b"ply\nformat ascii 1.0\nelement vertex 9\n")
    (folder / "a" / "flat.csv").write_text("x,y\n1,2\n3,4\n")
    (folder / "b" / "one.xyz").write_text("1 2 3\n")
    out = tmp_path / "f.npz"
    assert main(["describe", str(folder), "-o", str(out), "--jobs", "1"]) == 1
    with np.load(out) as data:
        assert len(data["files"]) == 41
        assert int(np.isnan(data["features"]).all(axis=1).sum()) == 1
    with open(tmp_path / "f.errors.csv", newline="") as file:
        rows = list(csv.reader(file))
    assert [Path(r[0]).name for r in rows] == ["file", "broken.ply", "flat.csv"]
    assert "does not end" in rows[1][2]
    assert "2 coordinates" in rows[2][2]
    captured = capsys.readouterr()
    assert "2 of 43 files failed" in captured.err
    assert "fewer than two distinct points" in captured.out


def test_finished_shards_are_not_done_again(folder, tmp_path, monkeypatch):
    from heatfield.cli import _run_shards

    real, done = _run_shards.run_shard, []

    def counted(shard):
        if len(done) == 3:
            done.append(None)
            raise KeyboardInterrupt
        done.append(shard.number)
        return real(shard)

    monkeypatch.setattr(_run_shards, "run_shard", counted)
    out = tmp_path / "f.npz"
    words = ["describe", str(folder), "-o", str(out), "--jobs", "1", "--shard", "8", "--quiet"]
    assert main(words) == 130
    assert not out.exists()
    assert main([*words, "--scales", "4"]) == 0  # another question: nothing of what is there answers it
    assert done == [0, 1, 2, None, 0, 1, 2, 3, 4]
    assert main(words) == 0  # the parts of the first attempt went with the second's
    assert len(done) == 14


@pytest.mark.parametrize("suffix", ["csv", "npz", "parquet"])
def test_its_own_table_is_replaced_but_no_other_file(folder, suffix, capsys):
    out = folder / "a" / f"features.{suffix}"  # among the clouds
    command = ["describe", str(folder), "-o", str(out), "--jobs", "1", "--budget", "20"]
    assert main(command) == 0
    first = out.read_bytes()
    assert main(command) == 0
    assert out.read_bytes() == first
    cloud = folder / "a" / f"cloud.{suffix}"
    hf.write_points(cloud, np.eye(3))
    before = cloud.read_bytes()
    assert main(["describe", str(cloud), "-o", str(cloud), "--jobs", "1"]) == 2
    assert "it exists and is not a table of features; give another name" in capsys.readouterr().err
    assert cloud.read_bytes() == before


def test_what_others_put_beside_the_shards_stays(folder, tmp_path):
    out = tmp_path / "f.csv"
    mine = tmp_path / "f.csv.parts" / "notes.txt"
    mine.parent.mkdir()
    mine.write_text("mine")
    assert main(["describe", str(folder), "-o", str(out), "--jobs", "1", "--quiet"]) == 0
    assert [f.name for f in mine.parent.iterdir()] == ["notes.txt"]


def test_a_changed_file_is_read_again(folder, tmp_path):
    from heatfield.cli._shards import Settings, Shard

    file = str(next(folder.rglob("*.npy")))
    shard = Shard(0, (file,), Settings({}, {}), str(tmp_path), ())
    before = shard.path
    assert before == shard.path
    os.utime(file, ns=(0, 0))
    assert shard.path != before


@pytest.mark.parametrize("suffix", ["ply", "las", "parquet"])
def test_per_point_files(folder, tmp_path, suffix):
    out = tmp_path / "f.npz"
    words = ["--jobs", "1", "--quiet", "--per-point", suffix, "--scales", "3"]
    assert main(["describe", str(folder / "a"), "-o", str(out), *words]) == 0
    made = sorted((tmp_path / "f_points").glob("[!.]*"))
    assert len(made) == 20
    source = folder / "a" / f"{made[0].stem}.npy"
    cloud, expected = hf.read_cloud(made[0]), hf.signatures(hf.read_points(source), n_scales=3)
    np.testing.assert_allclose(cloud.points, hf.read_points(source), atol=1e-12)
    np.testing.assert_array_equal(cloud.columns["dimension_s1"], expected.dimension[:, 1])
    np.testing.assert_array_equal(cloud.columns["spectrum3_s2"], expected.spectrum[:, 2, 2])


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["describe"], "required"),
        (["describe", "x", "-o", "f.docx"], "must end in .parquet, .csv, .npz"),
        (["describe", "nothing.ply", "-o", "f.npz"], "there is no file or folder 'nothing.ply'"),
        (["describe", "no*.ply", "-o", "f.npz"], "no file matches"),
        (["describe", "x.xyz", "-o", "f.npz", "--budget", "0"], "--budget must be"),
        (["describe", "x.xyz", "-o", "f.npz", "--budget", "many"], "invalid int value"),
        (["describe", "x.xyz", "-o", "f.npz", "--blocks", "colour"], "colour"),
        (["describe", "x.xyz", "-o", "f.npz", "--c-min", "2"], "--c-min and --c-max"),
        (["describe", "x.xyz", "-o", "no/such/f.npz"], "no such folder"),
        (["describe", "x.xyz", "-o", "f.npz", "--variant", "huge"], "invalid choice"),
        (["inform"], "invalid choice"),
    ],
)
def test_a_wrong_command_line_is_one_sentence(tmp_path, monkeypatch, capsys, words, problem):
    monkeypatch.chdir(tmp_path)
    Path("x.xyz").write_text("1 2 3\n4 5 6\n")
    try:
        code = main(words)
    except SystemExit as stop:
        code = stop.code
    captured = capsys.readouterr()
    assert code == 2
    assert problem in captured.err
    assert captured.err.count("\n") == 1
    assert "Traceback" not in captured.err


def test_info(tmp_path, capsys):
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.normal(size=(50, 3)), np.zeros((2, 3))])
    hf.write_points(tmp_path / "a.ply", points, {"red": np.zeros(52, np.uint8)})
    (tmp_path / "n.swc").write_text("1 1 0 0 0 1 -1\n2 3 10 0 0 1 1\n")
    (tmp_path / "one.xyz").write_text("1 2 3\n")
    assert main(["info", str(tmp_path / "a.ply"), str(tmp_path / "n.swc"), str(tmp_path / "one.xyz")]) == 0
    text = capsys.readouterr().out
    for piece in (
        "52 in 3 dimensions",
        "red (uint8)",
        "duplicates  1",
        "r_nn",
        "1 segments, 10 long",
        "two distinct",
    ):
        assert piece in text
    schedule = hf.scale_schedule(points)
    assert f"{schedule[0]:.4g}" in text
    assert main(["info", str(tmp_path / "absent.ply")]) == 1
    assert "no such file" in capsys.readouterr().err


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from heatfield.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "print([m for m in ('numpy', 'numba', 'scipy', 'sklearn', 'pyarrow') if m in sys.modules])"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=environment(),
    )
    assert answer.stdout.splitlines()[-1] == "[]"
