"""Groups of clouds: folds split none, their results are a column of their own, other keys stay."""

from pathlib import Path

import numpy as np
import pytest

import heatfield as hf
import heatfield_bench as hb
from heatfield.cli import main
from heatfield_bench._results import Store
from heatfield_bench._run import asked_jobs, new_context
from heatfield_bench._sets import Size

KEPT = Path(__file__).parents[1] / "results"


@pytest.fixture
def folder(tmp_path):
    """Two classes of twelve clouds, the first of each laboratory first by name."""
    rng = np.random.default_rng(0)
    rows = ["file,laboratory,group"]
    for name, flat in (("flat", 0.05), ("round", 1.0)):
        (tmp_path / "clouds" / name).mkdir(parents=True)
        for k in range(12):
            hf.write_points(
                tmp_path / "clouds" / name / f"{k:02}.ply", rng.normal(size=(30, 3)) * [1, 1, flat]
            )
            rows.append(f"{name}/{k:02}.ply,x,lab {k // 3}")
    (tmp_path / "labs.csv").write_text("\n".join(rows))
    return tmp_path


def loaded(folder, size, **groups):
    context = new_context("smoke", {"mine": folder / "clouds"}, folder / "out", ["mine"], None, groups)
    (entry,) = context.available()
    return entry, context.load(entry, size)


@pytest.mark.parametrize("size", [Size(), Size(clouds=4), Size(clouds=5, points=8)], ids=str)
def test_no_fold_splits_a_group(folder, size):
    entry, data = loaded(folder, size, mine=folder / "labs.csv")
    assert entry.name == "mine.grouped"
    assert entry.protocol.count == len(data.tests) == 4
    count = 12 if size.clouds is None else size.clouds
    assert len(data.labels) == 2 * count
    if size.clouds is None:
        lab = np.tile(np.arange(12) // 3, 2)
        assert all({*lab[test]}.isdisjoint(lab[~test]) for test in data.tests)
    assert (np.sum(data.tests, axis=0) == 1).all()


def test_a_mapping_is_a_table(folder):
    rows = [line.split(",") for line in (folder / "labs.csv").read_text().splitlines()[1:]]
    read = loaded(folder, Size(), mine=folder / "labs.csv")[1].metadata()
    assert loaded(folder, Size(), mine={file: group for file, _, group in rows})[1].metadata() == read


def test_keys_without_groups_are_the_same_with_the_option(folder):
    def keys(**groups):
        data = {"mine": folder / "clouds", "other": folder / "clouds"}
        context = new_context("paper", data, folder / "out", ["other"], ["HFS-desc"], groups)
        found = asked_jobs(context, ["main"])
        return [(job.key.name, job.metadata(context)) for job in found]

    plain = keys()
    assert keys(mine=folder / "labs.csv") == plain
    assert [name.split("/")[0] for name, _ in plain] == ["other"]
    (job,) = asked_jobs(new_context("paper", None, folder / "out", ["orbit5k"], ["HFS-desc"]), ["main"])
    assert job.key.name in {record.key.name for record in Store(KEPT).records()}


def test_the_page_shows_groups_as_a_column(folder, capsys):
    words = ["bench", "main", "--methods", "HFS-simple", "--sets", "mine", "--results", str(folder / "out")]
    words += ["--data", f"mine={folder / 'clouds'}"]
    assert main(words) == 0
    assert main([*words, "--groups", f"mine={folder / 'labs.csv'}"]) == 0
    assert "2 cells computed, 0 were there" in capsys.readouterr().out
    page = (folder / "out" / "tables-smoke.md").read_text()
    assert "| mine | mine, whole groups |" in page
    assert "mine, whole groups: 4 folds of whole groups, of which there are 4." in page


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ({"other": "labs.csv"}, "groups of 'other', which has no folder"),
        ({"mine": {"flat/00.ply": "a"}}, "name no group of '.*flat/01.ply'; every file needs one"),
        ({"mine": "one.csv"}, "mine: class 'flat' lies in one group"),
        ({"mine": "none.csv"}, "names none of the 24 files"),
    ],
)
def test_wrong_groups_are_said_before_the_work(folder, groups, message):
    lines = (folder / "labs.csv").read_text().splitlines()
    one = [line.rpartition(",")[0] + ",a" if line.startswith("flat") else line for line in lines]
    (folder / "one.csv").write_text("\n".join(one))
    (folder / "none.csv").write_text("file,group\nx.ply,a\n")
    given = {name: table if isinstance(table, dict) else folder / table for name, table in groups.items()}
    with pytest.raises(ValueError, match=message):
        hb.run("main", data={"mine": folder / "clouds"}, groups=given, results=folder / "out", progress=False)


def test_a_made_data_set_takes_no_groups(folder):
    with pytest.raises(ValueError, match="groups of 'orbit5k', which has no folder"):
        hb.run("main", groups={"orbit5k": {}}, results=folder / "out", progress=False)
