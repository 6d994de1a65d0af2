"""What stands in a table of features beside the features, and the dictionary beside it."""

import csv
import json

import numpy as np
import pytest

import heatfield as hf
from heatfield.cli import main

WORDS = ["--variant", "simple", "--scales", "3", "--jobs", "1", "--quiet"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("clouds")
    rng = np.random.default_rng(0)
    for kind, scale in (("flat", [1, 1, 0]), ("full", [1, 1, 1])):
        (root / kind).mkdir()
        for i in range(3):
            hf.write_points(root / kind / f"{i}.csv", rng.normal(size=(30, 3)) * scale)
    return root


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_labels_lengths_and_extents(folder, tmp_path):
    out = tmp_path / "t.csv"
    assert main(["describe", str(folder), "-o", str(out), *WORDS]) == 0
    rows = rows_of(out)
    assert [row["label"] for row in rows] == ["flat"] * 3 + ["full"] * 3
    for row in rows:
        scales = hf.scale_schedule(hf.read_points(row["file"]), 3)
        assert float(row["r_nn"]) == pytest.approx(np.sqrt(scales[0] / 0.05), rel=1e-12)
        assert float(row["diameter"]) == pytest.approx(np.sqrt(scales[-1] / 0.25), rel=1e-12)
        found = [float(row[f"length_s{a}"]) for a in range(3)]
        np.testing.assert_allclose(found, np.sqrt(scales), rtol=1e-12)
    metadata = json.loads((tmp_path / "t.meta.json").read_text())
    assert metadata["facts"] == ["label", "r_nn", "diameter", "length_s0", "length_s1", "length_s2"]


def test_every_column_is_in_the_dictionary(folder, tmp_path):
    for variant in ("simple", "joint"):
        out = tmp_path / f"{variant}.csv"
        words = ["--variant", variant, "--scales", "3", "--jobs", "1", "--quiet"]
        assert main(["describe", str(folder / "flat"), "-o", str(out), *words]) == 0
        known = rows_of(tmp_path / f"{variant}.columns.csv")
        assert [row["column"] for row in known] == list(rows_of(out)[0])
        assert all(row["meaning"] for row in known)
        assert "label" not in rows_of(out)[0], "one folder is no choice of classes"
        by_name = {row["column"]: row for row in known}
        assert by_name["dimension_p90_s2"]["scales"] == "2"
        assert by_name["dimension_p90_s2"]["block"] == "dimension"


def test_lengths_of_all_clouds(folder, tmp_path):
    out = tmp_path / "t.npz"
    words = ["describe", str(folder), "-o", str(out), "--variant", "simple", "--jobs", "1", "--quiet"]
    assert main([*words, "--lengths", "0.5,1"]) == 0
    with np.load(out) as table:
        assert (table["length_s0"] == 0.5).all()
        assert "length_s2" not in table.files
        expected = hf.HFSDescriptor("simple", lengths=[0.5, 1.0]).fit_transform(
            [hf.read_points(str(f)) for f in table["files"]]
        )
        np.testing.assert_allclose(table["features"], expected, rtol=1e-12)


def test_labels_from_a_table(folder, tmp_path):
    (tmp_path / "l.csv").write_text("file,label\nflat/0.csv,a\nfull/1.csv,b\n")
    out = tmp_path / "t.csv"
    assert main(["describe", str(folder), "-o", str(out), "--labels", str(tmp_path / "l.csv"), *WORDS]) == 0
    assert [row["label"] for row in rows_of(out)] == ["a", "", "", "", "b", ""]


def test_a_dictionary_of_someone_else_stays(folder, tmp_path, capsys):
    (tmp_path / "t.columns.csv").write_text("mine\n")
    assert main(["describe", str(folder), "-o", str(tmp_path / "t.csv"), *WORDS]) == 2
    assert "t.columns.csv': it exists and is not the dictionary" in capsys.readouterr().err
    assert (tmp_path / "t.columns.csv").read_text() == "mine\n"


def test_directions_as_columns_of_points(folder, tmp_path):
    words = ["describe", str(folder / "flat" / "0.csv"), "-o", str(tmp_path / "t.npz"), *WORDS]
    words += ["--per-point", "csv", "--point-channels", "normal,verticality,planarity"]
    assert main(words) == 0
    points, columns = hf.read_points(tmp_path / "t_points" / "0.csv", columns=True)
    s = hf.signatures(points, n_scales=3, with_directions=True)
    assert list(columns)[:3] == ["planarity_s0", "planarity_s1", "planarity_s2"]
    np.testing.assert_allclose(columns["normalz_s2"], s.normals[:, 2, 2], atol=1e-12)


def test_figures_of_the_report_as_svg(folder, tmp_path):
    pytest.importorskip("matplotlib")
    words = ["report", str(folder), "--scales", "3", "--folds", "3", "--jobs", "1", "--quiet"]
    assert main([*words, "-o", str(tmp_path / "svg.html"), "--svg"]) == 0
    assert main([*words, "-o", str(tmp_path / "png.html")]) == 0
    assert "data:image/svg+xml;base64," in (tmp_path / "svg.html").read_text()
    assert "data:image/svg" not in (tmp_path / "png.html").read_text()


def test_many_classes_can_be_told_apart():
    from heatfield.plot._style import CLASS_COLORS, class_color, class_line

    colors = [class_color(k) for k in range(40)]
    assert colors[:8] == [*CLASS_COLORS]
    rgb = np.array([[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in colors], dtype=float)
    apart = np.sqrt(((rgb[:, None] - rgb[None]) ** 2).sum(axis=2)) + 1e9 * np.eye(40)
    styles = [(c, tuple(class_line(k).values())) for k, c in enumerate(colors)]
    assert len({*styles}) == 40
    assert apart[8:20, :20].min() > 80  # those by hand are nearer to each other
    assert apart.min() > 50
    assert class_color(64) == colors[0]
