"""Tables read at once by pyarrow and cell by cell: the same values, types and errors."""

import numpy as np
import pytest

import heatfield as hf
from tests.helpers import raw

TABLES = {
    "plain.csv": "x,y,z\n1,2,3\n4.5,-6e-3,.7\n",
    "words.csv": 'id,x,y,z,kind\n7,1,2,3,leaf\n8,4,5,6,"wood, old"\n9,4,5,6, bark \n',
    "empty.csv": "x,y,z,a,b\n1,2,3,,NA\n4,5,6,1,2\n7,8,9,n/a,None\n",
    "blank.csv": "x,y,z,a\n1,2,3, NA\n4,5,6,1\n",
    "comma.csv": "x;y;kind\n1,5;2;a\n3;4,25;b\n",
    "tabs.tsv": "id\tx\ty\tz\n9007199254740993\t1\t2\t3\n4\t4\t5\t6\n",
    "whole.csv": "id,x,y,z\n1,1,2,3\n2,4,5,6\n-3,7,8,9\n",
    "count.pts": "2\n1 2 3 100 255 0 0\n4 5 6 200 0 255 0\n",
    "blanks.xyz": "  1   2\t3\n\n 4 5  6.5 \n",
    "commented.txt": "//X Y Z Intensity\n1 2 3 4\n# a remark\n4 5 6.5 7\n",
    "windows.csv": "\ufeffX,Y,Z\r\n1,2,3\r\n4,5,6\r\n",
    "mixed.txt": "//X Y Z Intensity\r1 2 3 4\n4 5 6.5 7\n",
    "divided.txt": "//X Y Z Intensity\n1\r 2 3 4\n4 5 6.5 7\n",
    "special.csv": "x,y,z,v\n1,2,3,nan\n1,2,3,-inf\n1,2,3,+5\n1,2,3,1e400\n",
    "text.csv": "x,y,z,name\n1,2,3,1_0\n1,2,3,größe\n1,2,3,5\n",
    "short.csv": "x,y,z\n1,2,3\n1,2\n",
    "word.csv": "x,y,z\n1,2,3\n1,2,zwei\n",
    "hole.csv": "x,y,z\n1,2,3\n1,,3\n",
    "quote.csv": 'x,y,z,n\n1,2,3,"a\n1,2,3,b"\n',
    "claim.pts": "3\n1 2 3 4\n",
    "bare.txt": "1 2 3\n1 2 drei\n",
}


@pytest.mark.parametrize("name", TABLES)
def test_both_ways_read_the_same(tmp_path, monkeypatch, name):
    pytest.importorskip("pyarrow.csv")
    path = tmp_path / name
    path.write_bytes(TABLES[name].encode())
    found = []
    for missing in (False, True):
        with monkeypatch.context() as patch:
            if missing:
                patch.setattr("heatfield.io.text.need", _missing)
            try:
                found.append(raw.read_cloud(path))
            except hf.ReadError as error:
                found.append(str(error))
    at_once, by_cells = found
    if isinstance(by_cells, str):
        assert at_once == by_cells
        return
    np.testing.assert_array_equal(at_once.points, by_cells.points)
    assert list(at_once.columns) == list(by_cells.columns)
    for column, values in by_cells.columns.items():
        assert at_once.columns[column].dtype == values.dtype
        np.testing.assert_array_equal(at_once.columns[column], values)


def _missing(*_):
    raise ImportError


def test_large_tables_go_through_pyarrow(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow.csv")
    points = np.random.default_rng(0).normal(size=(20_000, 3))
    hf.write_points(tmp_path / "a.csv", points, {"word": np.array(["leaf", "wood"] * 10_000)})
    monkeypatch.setattr("heatfield.io.formats.table._columns", None)
    cloud = hf.read_cloud(tmp_path / "a.csv")
    np.testing.assert_array_equal(cloud.points, points)
    assert cloud.columns["word"][:2].tolist() == ["leaf", "wood"]
