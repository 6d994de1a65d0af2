"""Which files are meant, their classes and groups, and what is written beside them."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest

import heatfield as hf
from heatfield.options import Reading
from heatfield.workflows.files import (
    FileError,
    check_overwrite,
    find_files,
    is_ours,
    printable,
    safe_cell,
    skeleton_words,
    unsafe_cell,
    write_csv,
    write_errors,
)


@pytest.fixture
def root(tmp_path):
    """Two folders of three files each, and what is no cloud."""
    for name in ("cat", "dog"):
        (tmp_path / "in" / name).mkdir(parents=True)
        for k in range(3):
            hf.write_points(tmp_path / "in" / name / f"{k}.npy", np.random.default_rng(k).random((9, 3)))
    (tmp_path / "in" / "notes.txt.bak").write_text("no cloud")
    (tmp_path / "in" / ".hidden.npy").write_text("no cloud")
    return tmp_path / "in"


def test_folders_are_searched_to_the_bottom(root):
    found = find_files(root)
    assert len(found.paths) == 6
    assert {*found.labels.values()} == {"cat", "dog"}
    assert len(find_files([root / "cat", root / "dog" / "0.npy"]).paths) == 4


def test_patterns_and_single_files(root):
    assert len(find_files(str(root / "**" / "1.npy")).paths) == 2
    assert find_files(root / "cat" / "0.npy").labels == {}
    for wrong, said in (("none.npy", "there is no file or folder"), ("none*.npy", "no file matches")):
        with pytest.raises(ValueError, match=said):
            find_files(root / wrong)


def test_earlier_results_are_left_out(root):
    found = find_files(root, leave_out=[root / "cat", root / "dog" / "0.npy"])
    assert [os.path.basename(file) for file in found.paths] == ["1.npy", "2.npy"]
    with pytest.raises(ValueError, match="but earlier results"):
        find_files(root / "cat", leave_out=[root])


def test_work_that_is_kept_is_no_cloud(root):
    (root / "t.npz.parts").mkdir()
    np.savez(root / "t.npz.parts" / ("a" * 32 + ".npz"), points=np.eye(3))
    assert len(find_files(root).paths) == 6


@pytest.mark.parametrize("form", ["table", "bare table", "mapping"])
def test_classes_and_groups_from_a_table(form, root, tmp_path):
    words = {"cat/0.npy": "a", "dog/1.npy": "b"}
    table = tmp_path / "labels.csv"
    head = [] if form == "bare table" else [("file", "label")]
    write_csv(table, *(([*head, *words.items()][0]), [*head, *words.items()][1:]))
    found = find_files(root, labels=words if form == "mapping" else table)
    assert {os.path.relpath(file, root): label for file, label in found.labels.items()} == words


def test_every_file_needs_a_group(root):
    groups = {f"{name}/{k}.npy": f"lab{k}" for name in ("cat", "dog") for k in range(3)}
    found = find_files(root, groups=groups)
    assert {*found.groups.values()} == {"lab0", "lab1", "lab2"}
    del groups["dog/2.npy"]
    with pytest.raises(ValueError, match=r"names no group of .*dog/2\.npy"):
        find_files(root, groups=groups)


def test_wrong_tables_are_named(root, tmp_path):
    (tmp_path / "t.csv").write_text("file,kind\ncat/0.npy,a\n")
    with pytest.raises(ValueError, match="has no column 'label', only file, kind"):
        find_files(root, labels=tmp_path / "t.csv")
    with pytest.raises(ValueError, match="labels names none of the 6 files"):
        find_files(root, labels={"bird/0.npy": "a"})


def test_results_are_known_as_ours(tmp_path):
    (tmp_path / "mine.csv").write_text("x,y\n")
    (tmp_path / "empty.csv").touch()
    write_errors(tmp_path / "e.csv", [FileError("a", "line 1", "bad")])
    assert is_ours(tmp_path / "e.csv")
    assert is_ours(tmp_path / "empty.csv")
    assert not is_ours(tmp_path / "mine.csv")
    with pytest.raises(ValueError, match="was not written by heatfield"):
        check_overwrite(tmp_path / "mine.csv")
    with pytest.raises(ValueError, match="it is a folder"):
        check_overwrite(tmp_path)
    with pytest.raises(ValueError, match="no such folder"):
        check_overwrite(tmp_path / "no" / "t.csv")
    write_errors(tmp_path / "e.csv", [])
    assert not (tmp_path / "e.csv").exists()


def test_cells_are_no_formulas():
    for text in ("=1+1", "+cmd", "-x", "@sum", "\tx", "plain", "'quoted"):
        assert unsafe_cell(safe_cell(text)) == text
        assert safe_cell(text)[0] not in "=+-@\t"
    assert (safe_cell(float("nan")), safe_cell(0.1)) == ("", "0.1")


def test_errors_say_where_and_what():
    assert str(FileError.of("a.ply", hf.ReadError("a.ply", "is cut", "line 3"))) == "a.ply, line 3: is cut"
    assert str(FileError.of("a.ply", KeyError("x"))) == "a.ply: KeyError: 'x'"
    assert str(FileError.of("a.ply", OSError("full"))) == "a.ply: full"


@pytest.mark.skipif(sys.platform != "linux", reason="names are bytes")
def test_names_that_are_not_utf8(tmp_path):
    name = os.fsdecode(os.fsencode(tmp_path) + b"/b\xff.xyz")
    np.savetxt(name, np.random.default_rng(0).random((9, 3)))
    table = hf.describe_files(tmp_path, tmp_path / "t.csv", variant="simple", progress=False)
    assert table.files == [name]
    assert hf.FeatureTable.read(tmp_path / "t.csv").files == [name]
    assert printable(name).endswith("b\ufffd.xyz")


def test_how_skeletons_are_read_is_said():
    assert skeleton_words(["a.ply"], Reading()) == ""
    assert "1024 points each" in skeleton_words(["a.ply", "B.SWC.GZ"], Reading())
    assert "70 points each" in skeleton_words(["a.swc"], Reading(budget=70))
    assert "nodes as they are" in skeleton_words(["a.swc"], Reading(nodes=True))


def test_skeletons_and_meshes_are_sampled_everywhere(tmp_path):
    swc = tmp_path / "a.swc"
    swc.write_text("1 1 0 0 0 1 -1\n2 3 10 0 0 1 1\n3 3 10 5 0 1 2\n")
    off = Path(tmp_path / "a.off")
    off.write_text("OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n")
    for file, nodes in ((swc, 3), (off, 3)):
        assert len(hf.read_points(file)) == 1024
        assert len(hf.read_points(file, nodes=True)) == nodes
        assert len(hf.read_points(file, budget=70)) == 70
        assert len(hf.read_points(file, nodes=True, budget=2)) == 2
        table = hf.describe_files(file, variant="simple", progress=False)
        assert (table.points.tolist(), table.points_in_file.tolist()) == ([1024], [nodes])


def write_tracing(path, kind, seed, pieces):
    """Six straight arms (a star) or one winding path, every segment traced in so many pieces."""
    rng, nodes, lines = np.random.default_rng(seed), 1, ["1 1 0 0 0 1 -1"]
    for _ in range(6 if kind == "star" else 1):
        at, last, step = np.zeros(3), 1, rng.normal(size=3)
        for _ in range(10 if kind == "star" else 50):
            step = step / np.linalg.norm(step) + (0.7 * rng.normal(size=3) if kind == "path" else 0.0)
            step /= np.linalg.norm(step)
            for k in range(1, pieces + 1):
                x, y, z = at + k / pieces * step
                nodes += 1
                lines.append(f"{nodes} 3 {x:.6f} {y:.6f} {z:.6f} 1 {last}")
                last = nodes
            at = at + step
    path.write_text("\n".join(lines) + "\n")


def test_how_densely_a_branch_was_traced_does_not_matter(tmp_path):
    clouds = {}
    for pieces in (1, 5):
        files = [tmp_path / f"{kind}{seed}.swc" for kind in ("star", "path") for seed in range(8)]
        for file in files:
            write_tracing(file, file.stem[:4], int(file.stem[4:]), pieces)
        clouds[pieces] = [hf.read_points(file) for file in files]
    nodes = hf.read_points(files[0], nodes=True)
    assert len(nodes) == 301
    model = hf.HFSClassifier("simple", head="lda", n_scales=4).fit(clouds[1], ["star"] * 8 + ["path"] * 8)
    plain, dense = (model.predict_proba(clouds[pieces]) for pieces in (1, 5))
    assert (plain.argmax(axis=1) == dense.argmax(axis=1)).all()
    np.testing.assert_allclose(plain, dense, atol=0.05)
