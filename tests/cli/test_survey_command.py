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


def test_a_cut_tile_is_exit_code_one(tiles, tmp_path, capsys):
    points, paths = tiles
    whole = paths[2].read_bytes()
    paths[2].write_bytes(whole[:-300])
    out = tmp_path / "in" / "out"  # among the tiles: no input of the next call
    words = ["survey", str(tmp_path / "in"), "-o", str(out), "--n-scales", "4", "--n-jobs", "1"]
    assert main([*words, "--quiet"]) == 1
    assert f"1 of 4 files failed, see {out / 'survey.errors.csv'}" in capsys.readouterr().err
    with open(out / "survey.errors.csv") as file:
        assert [row["file"] for row in csv.DictReader(file)] == [str(paths[2])]
    assert len(list(out.glob("*.parquet"))) == 3
    paths[2].write_bytes(whole)  # mended, the tile belongs to the cloud again
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "4,000 points of 4 of 4 tiles" in said
    assert "scale 3 (sqrt(t) = " in said
    assert np.isfinite(read_back(out, paths, len(points))["transition_s3"]).all()
    assert not (out / "survey.errors.csv").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--lengths", "3,2"], "lengths must increase"),
        (["--point-channels", "colour"], "point_channels must be one of"),
        (["--memory", "0.0001"], "does not fit into 0.0001 GiB"),
        (["--variant", "joint"], "unrecognized arguments"),
    ],
)
def test_what_cannot_start_says_why(tiles, tmp_path, capsys, words, said):
    try:
        code = main(["survey", *map(str, tiles[1]), "-o", str(tmp_path / "out"), "--quiet", *words])
    except SystemExit as end:  # the parser's own
        code = end.code
    assert code == 2
    assert said in capsys.readouterr().err
