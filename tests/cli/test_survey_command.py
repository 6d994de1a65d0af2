"""``heatfield survey`` from the command line: exit codes, errors by name, and what it prints."""

import csv

import numpy as np
import pytest

from heatfield.cli import main
from tests.helpers.files import cut, landscape, read_back, write_tiles

pytest.importorskip("pyarrow")


@pytest.fixture
def tiles(tmp_path):
    points = landscape(4_000, seed=1)
    return points, write_tiles(tmp_path / "in", points, cut(points, 2))


def test_a_folder_of_tiles(tiles, tmp_path, capsys):
    points, paths = tiles
    out = tmp_path / "out"
    words = ["survey", str(tmp_path / "in"), "-o", str(out), "--n-scales", "4", "--n-jobs", "1"]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "4,000 points of 4 of 4 tiles" in said
    assert "scale 3 (sqrt(t) = " in said
    table = read_back(out, paths, len(points))
    assert np.isfinite(table["transition_s3"]).all()
    assert not (out / "survey.errors.csv").exists()


def test_a_cut_tile_is_exit_code_one(tiles, tmp_path, capsys):
    _, paths = tiles
    paths[2].write_bytes(paths[2].read_bytes()[:-300])
    out = tmp_path / "out"
    words = ["survey", *map(str, paths), "-o", str(out), "--n-jobs", "1", "--quiet"]
    assert main(words) == 1
    assert f"1 of 4 files failed, see {out / 'survey.errors.csv'}" in capsys.readouterr().err
    with open(out / "survey.errors.csv") as file:
        rows = list(csv.DictReader(file))
    assert [row["file"] for row in rows] == [str(paths[2])]
    assert len(list(out.glob("*.parquet"))) == 3
    assert main(words) == 1  # the same without work
    # Mended, the tile belongs to the cloud again.
    points, _ = tiles
    write_tiles(tmp_path / "in", points, cut(points, 2))
    assert main(words) == 0
    assert len(list(out.glob("*.parquet"))) == 4
    assert not (out / "survey.errors.csv").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--lengths", "1,b"], "must be comma-separated numbers, got 'b'"),
        (["--lengths", "3,2"], "lengths must increase"),
        (["--point-channels", "colour"], "point_channels must be one of"),
        (["--memory", "0.0001"], "does not fit into 0.0001 GiB"),
        (["--memory", "0"], "memory must be a number above 0"),
        (["--overlap", "both"], "invalid choice: 'both'"),
        (["--variant", "joint"], "unrecognized arguments"),
        (["--executor", "somewhere"], "executor must be 'threads'"),
        (["--executor", "local:0"], "executor must be 'local:N'"),
    ],
)
def test_what_cannot_start_says_why(tiles, tmp_path, capsys, words, said):
    if "--executor" in words:
        pytest.importorskip("distributed")
    _, paths = tiles
    try:
        code = main(["survey", *map(str, paths), "-o", str(tmp_path / "out"), "--quiet", *words])
    except SystemExit as end:  # the parser's own
        code = end.code
    assert code == 2
    assert said in capsys.readouterr().err


def test_its_own_folder_is_no_input(tiles, tmp_path):
    _, paths = tiles
    out = tmp_path / "in" / "out"
    assert main(["survey", str(tmp_path / "in"), "-o", str(out), "--quiet", "--n-jobs", "1"]) == 0
    first = {path.name: path.read_bytes() for path in out.glob("*.parquet")}
    assert main(["survey", str(tmp_path / "in"), "-o", str(out), "--quiet", "--n-jobs", "1"]) == 0
    assert {path.name: path.read_bytes() for path in out.glob("*.parquet")} == first
    assert len(first) == len(paths)
