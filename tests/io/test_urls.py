"""Files named by URLs: listed and read through fsspec, by this process and by workers."""

import csv
import sys

import numpy as np
import pytest

import heatfield as hf
from heatfield.cli import main
from heatfield.io import file_stamp, is_remote, remote_files


@pytest.fixture
def clouds(tmp_path):
    """Six clouds of two classes, a broken one, a note and a hidden file."""
    rng = np.random.default_rng(0)
    for name, flat in (("flat", 0.2), ("round", 1.0)):
        (tmp_path / "in" / name).mkdir(parents=True)
        for k in range(3):
            hf.write_points(tmp_path / "in" / name / f"{k}.npy", rng.normal(size=(50, 3)) * [1, 1, flat])
    (tmp_path / "in" / "flat" / "cut.npy").write_bytes(b"\x93NUMPY")
    (tmp_path / "in" / "note.md").write_text("not a cloud")
    (tmp_path / "in" / ".hidden.npy").write_bytes(b"x")
    return tmp_path


@pytest.fixture
def memory(clouds):
    """The same in the memory of this process."""
    fsspec = pytest.importorskip("fsspec")
    system = fsspec.filesystem("memory")
    for path in sorted((clouds / "in").rglob("*")):
        if path.is_file():
            system.pipe(f"/shelf/{path.relative_to(clouds / 'in').as_posix()}", path.read_bytes())
    yield "memory://shelf"
    system.rm("/shelf", recursive=True)


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def same_but_names(found, wanted, url, folder):
    """Tables agree in all but the names of files, which begin with the URL instead of the folder."""
    found, wanted = rows(found), rows(wanted)
    for row in wanted:
        row["file"] = url + row["file"].removeprefix(str(folder))
    assert found == wanted


def describe(out, *words):
    return main(["describe", *map(str, words), "-o", str(out), "--n-jobs", "1"])


def test_a_folder_is_listed_with_its_classes(clouds, memory, capsys):
    assert describe(clouds / "here.csv", clouds / "in") == 1
    assert describe(clouds / "url.csv", memory) == 1
    assert capsys.readouterr().out.count("6 of 7 clouds") == 2
    same_but_names(clouds / "url.csv", clouds / "here.csv", memory, clouds / "in")
    same_but_names(clouds / "url.errors.csv", clouds / "here.errors.csv", memory, clouds / "in")
    assert {row["label"] for row in rows(clouds / "url.csv")} == {"flat", "round"}


def test_patterns_and_single_files(clouds, memory):
    assert describe(clouds / "glob.csv", f"{memory}/*/[01].npy", f"{memory}/flat/2.npy") == 0
    names = [row["file"] for row in rows(clouds / "glob.csv")]
    assert names == sorted(
        [f"{memory}/{kind}/{k}.npy" for kind in ("flat", "round") for k in (0, 1)] + [f"{memory}/flat/2.npy"]
    )


def test_labels_of_a_table(clouds, memory):
    (clouds / "labels.csv").write_text(f"file,label\n{memory}/flat/0.npy,thin\n{memory}/round/0.npy,thick\n")
    words = [f"{memory}/flat/0.npy", f"{memory}/round/0.npy", "--labels", str(clouds / "labels.csv")]
    assert describe(clouds / "labelled.csv", *words) == 0
    assert [row["label"] for row in rows(clouds / "labelled.csv")] == ["thin", "thick"]


def test_per_point_files_keep_the_folders_of_urls(clouds, memory):
    assert describe(clouds / "points.csv", f"{memory}/*/0.npy", "--per-point", "npz") == 0
    found = sorted(path.relative_to(clouds / "points_points").as_posix()
                   for path in (clouds / "points_points").rglob("*.npz"))  # fmt: skip
    assert found == ["flat/0.npz", "round/0.npz"]


def test_a_url_that_changed_is_described_again(clouds, memory, monkeypatch):
    import fsspec

    def stop(_table, _path):
        raise KeyboardInterrupt

    monkeypatch.setattr(hf.FeatureTable, "write", stop)
    with pytest.raises(KeyboardInterrupt):
        hf.describe_files(memory, clouds / "new.csv", progress=False)
    monkeypatch.undo()
    assert list((clouds / "new.csv.parts").glob("*.npz"))
    before = file_stamp(f"{memory}/flat/0.npy")
    other = np.random.default_rng(9).normal(size=(70, 3))
    hf.write_points(clouds / "other.npy", other)
    fsspec.filesystem("memory").pipe("/shelf/flat/0.npy", (clouds / "other.npy").read_bytes())
    assert file_stamp(f"{memory}/flat/0.npy") != before
    assert describe(clouds / "new.csv", memory) == 1
    assert rows(clouds / "new.csv")[0]["points"] == "70"


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("memory://shelf/nothing.npy", "there is no file or folder 'memory://shelf/nothing.npy'"),
        ("memory://shelf/*.laz", "no file matches 'memory://shelf/*.laz'"),
        ("nosuch://shelf", "'nosuch://shelf' cannot be listed: Protocol not known: nosuch"),
    ],
)
@pytest.mark.usefixtures("memory")
def test_what_is_not_there_is_named(clouds, word, said, capsys):
    assert describe(clouds / "t.csv", word) == 2
    assert said in capsys.readouterr().err


def test_without_fsspec_one_sentence_names_the_extra(clouds, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    assert describe(clouds / "t.csv", "s3://bucket/clouds") == 2
    said = capsys.readouterr().err
    assert "files named by a URL need fsspec: pip install 'heatfield[cluster]'" in said.replace("\n", " ")
    with pytest.raises(hf.ReadError, match=r"heatfield\[cluster\]"):
        hf.read_points("s3://bucket/a.ply")


def test_only_regular_files_are_read(clouds):
    pytest.importorskip("fsspec")
    points = hf.read_points(f"file://{clouds}/in/flat/0.npy")
    np.testing.assert_array_equal(points, hf.read_points(clouds / "in" / "flat" / "0.npy"))
    with pytest.raises(hf.ReadError, match="is a folder, not a file"):
        hf.read_points(f"file://{clouds}/in")
    with pytest.raises(hf.ReadError, match="is not a regular file"):
        hf.read_points("file:///dev/zero")


def test_a_server_need_not_tell_the_size(clouds, memory, monkeypatch):
    from fsspec.implementations.memory import MemoryFileSystem

    def info(self, path, **more):
        return whole(self, path, **more) | {"size": None}

    whole = MemoryFileSystem.info
    monkeypatch.setattr(MemoryFileSystem, "info", info)
    assert file_stamp(f"{memory}/flat/0.npy")[0] == -1
    assert describe(clouds / "t.csv", f"{memory}/flat/0.npy") == 0


def test_what_is_a_url():
    assert is_remote("simplecache::s3://bucket/a.laz")
    assert not is_remote("C://clouds/a.ply")
    assert not is_remote("/data/a:b/c.ply")


def test_a_folder_keeps_the_spelling_of_its_url(clouds):
    pytest.importorskip("fsspec")
    url = f"file://{clouds}/in/flat/"
    assert remote_files(url) == [f"{url}{name}.npy" for name in ("0", "1", "2", "cut")]


def test_workers_read_urls(clouds, shared_cluster):
    url = f"file://{clouds}/in"
    assert describe(clouds / "here.csv", url) == 1
    words = ["describe", url, "-o", str(clouds / "by.csv")]
    assert main([*words, "--executor", shared_cluster.address]) == 1
    for ending in (".csv", ".errors.csv", ".meta.json"):
        assert (clouds / f"by{ending}").read_bytes() == (clouds / f"here{ending}").read_bytes()
