"""``heatfield bench``: words of the command line in, pages out, clear errors."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import heatfield as hf
from heatfield.cli import main
from heatfield_bench._results import Store
from tests.helpers.process import environment


def test_a_table_on_a_folder_of_one_s_own(tmp_path, capsys):
    rng = np.random.default_rng(0)
    for name, flat in (("flat", 0.05), ("round", 1.0)):
        (tmp_path / "clouds" / name).mkdir(parents=True)
        for k in range(8):
            hf.write_points(tmp_path / "clouds" / name / f"{k}.ply", rng.normal(size=(40, 3)) * [1, 1, flat])
    words = ["bench", "main", "--methods", "HFS-simple", "HFS-desc, LDA", "--sets", "mine"]
    words += ["--data", f"mine={tmp_path / 'clouds'}", "--results", str(tmp_path / "out")]
    assert main(words) == 0
    said = capsys.readouterr()
    assert "4 cells computed, 0 were there" in said.out
    assert main(words) == 0
    assert "0 cells computed, 4 were there" in capsys.readouterr().out
    assert main(["bench", "--show", "--budget", "smoke", "--results", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr().out
    assert "| | mine |" in shown
    assert "HFS-desc, LDA" in shown
    assert (tmp_path / "out" / "tables-smoke.md").is_file()


def test_without_arguments_it_prints_its_help(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["bench"]) == 0
    assert "usage: heatfield bench" in (said := capsys.readouterr().out)
    assert "  rotation     Table 3: rotation" in said
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["bench", "mian"], "there is no table 'mian'; there are main,"),
        (
            ["bench", "main", "--budget", "huge"],
            "budget must be one of 'smoke', 'reduced', 'paper', got 'huge'",
        ),
        (["bench", "main", "--data", "cath15"], "--data must be NAME=FOLDER, got 'cath15'"),
        (["bench", "main", "--data", "cath15=nowhere"], "the folder of cath15 must exist, got 'nowhere'"),
        (["bench", "main", "--data", "orbit5k=."], "orbit5k is made, not read"),
        (["bench", "main", "--methods", "HFS"], "there is no method 'HFS'"),
        (
            ["bench", "main", "--methods", "HFS-desc,LDA"],
            "there is no method 'HFS-desc,LDA'; did you mean 'HFS-desc, LDA'? there are 'FPFH', ",
        ),
        (["bench", "main", "--sets", "mnist"], "there is no data set 'mnist'"),
        (["bench", "--show"], "there is no folder 'heatfield-experiments'; run without --show first"),
        (["bench", "rotation", "--sets", "processes"], "data sets is in the table rotation\n"),
        (["bench", "scales", "--methods", "HFS-simple"], "data sets is in the table scales\n"),
        (["bench", "main", "--methods", "TwoNN"], "data sets is in the table main\n"),
        (["bench", "dimension", "--sets", "processes"], "the table dimension has manifolds of its own"),
        (["bench", "main", "--data", "..=."], "the name of a data set must be of a to z, 0 to 9 and _"),
        (["bench", "main", "--data", "mine=.", "--data", "mine=/"], "--data gives mine twice: '.' and '/'"),
        (["bench", "main", "--n-jobs", "0"], "n_jobs must be a positive integer, -1 for all cores"),
        (["bench", "main", "--splits", "0"], "splits must be an integer of at least 1, got 0"),
        (["bench", "--show", "--again"], "--show computes nothing: leave out --again"),
        (["bench", "--show", "--sets", "processes"], "--show computes nothing: leave out --sets"),
        (["bench", "--show", "--methods", "HKS"], "--show computes nothing: leave out --methods"),
        (["bench", "--show", "--splits", "0"], "--show computes nothing: leave out --splits"),
        (["bench", "--show", "--data", "mine=."], "--show computes nothing: leave out --data"),
        (["bench", "--show", "--n-jobs", "0"], "--show computes nothing: leave out --n-jobs"),
        (["bench", "--show", "--executor", "local:1"], "--show computes nothing: leave out --executor"),
    ],
)
def test_what_is_wrong_is_said_before_the_work(words, message, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_splits_and_again(tmp_path, capsys):
    words = ["bench", "main", "--methods", "HFS-desc, LDA", "--sets", "four_shapes"]
    words += ["--results", str(tmp_path)]

    def said(*more):
        assert main([*words, *more]) == 0
        return capsys.readouterr().out

    assert "1 cells computed, 0 were there" in said("--splits", "1")
    assert "1 cells computed, 1 were there" in said()
    assert "0 cells computed, 2 were there" in said()
    assert "1 cells computed, 0 were there" in said("--again", "--splits", "1")
    assert "2 cells computed, 0 were there" in said("--again")


def test_a_file_of_the_user_is_not_replaced(tmp_path, capsys):
    name = "tables-smoke.md"
    (tmp_path / name).write_text("mine")
    words = ["bench", "main", "--methods", "HFS-simple", "--sets", "four_shapes"]
    assert main([*words, "--results", str(tmp_path)]) == 2
    assert f"{name} was not written by heatfield bench: give another folder" in capsys.readouterr().err
    assert (tmp_path / name).read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == [name]  # nothing was computed


def test_pages_of_before_are_replaced(tmp_path):
    words = ["bench", "main", "--methods", "HFS-desc, LDA", "--sets", "four_shapes", "--quiet"]
    assert main([*words, "--results", str(tmp_path)]) == 0
    first = {path: path.stat().st_mtime_ns for path in tmp_path.glob("tables*")}
    assert len(first) == 1
    assert main([*words, "--results", str(tmp_path)]) == 0
    assert all(path.stat().st_mtime_ns > when for path, when in first.items())


def test_a_damaged_line_is_said_and_the_rest_goes_on(tmp_path, capsys):
    words = ["bench", "main", "--methods", "HFS-desc, LDA", "--sets", "four_shapes"]
    words += ["--results", str(tmp_path)]
    assert main(words) == 0
    place = tmp_path / "main.jsonl"
    place.write_text(place.read_text().replace('"scores":', '"score":', 1))
    capsys.readouterr()
    assert main(words) == 0
    said = capsys.readouterr()
    assert f"{place}, line 4: a result whose 'scores' cannot be; passed over" in said.err
    assert "1 cells computed, 1 were there" in said.out


DAMAGES = {"of another kind": b"{}", "of nothing": b"null", "too deep": 20_000 * b"[", "cut off": None}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_of_results_is_gone_on_with_or_refused(tmp_path, capsys, damage):
    words = ["bench", "main", "--methods", "HFS-desc, LDA", "--sets", "four_shapes"]
    words += ["--results", str(tmp_path)]
    assert main(words) == 0
    place = tmp_path / "main.jsonl"
    content = place.read_bytes()
    place.write_bytes(content[: len(content) * 3 // 4] if DAMAGES[damage] is None else DAMAGES[damage])
    capsys.readouterr()
    if damage == "cut off":
        assert main(words) == 0
        assert "1 cells computed, 1 were there" in capsys.readouterr().out
    else:  # it may be anything, and so stays as it is
        assert main(words) == 2
        assert "main.jsonl was not written by heatfield bench" in capsys.readouterr().err
        assert place.read_bytes() == DAMAGES[damage]


def test_without_a_result_at_a_budget_the_others_are_named(tmp_path, capsys):
    show = ["bench", "--show", "--results", str(tmp_path)]
    assert main(show) == 2
    assert f"{str(tmp_path)!r} has no result at the budget smoke; run without --show first" in (
        capsys.readouterr().err
    )
    assert main(["bench", "main", "--methods", "HFS-simple", "--sets", "four_shapes", *show[2:]]) == 0
    capsys.readouterr()
    assert main([*show, "--budget", "paper"]) == 2
    assert "no result at the budget paper; there are records of the budgets smoke" in capsys.readouterr().err
    assert not (tmp_path / "tables.md").exists()
    assert main(["bench", "scales", *show[1:]]) == 2
    assert "has no result of scales at the budget smoke" in capsys.readouterr().err
    assert main(show) == 0
    assert "| HFS-simple | " in capsys.readouterr().out


def test_ctrl_c_keeps_what_is_finished_and_the_same_command_goes_on(tmp_path):
    words = ["bench", "main", "curve", "--sets", "processes", "--results", str(tmp_path)]
    words += ["--methods", "HFS-simple", "HFS-desc", "HFS-joint", "LocalCovariance"]
    process = subprocess.Popen(
        [sys.executable, "-m", "heatfield", *words], env=environment(OMP_NUM_THREADS="1"),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    while not Store(tmp_path).records():
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "stopped" in said
    kept = {record.key.name: record.cells for record in Store(tmp_path).records()}
    assert 0 < len(kept) < 12  # all read: no line is half written
    assert main(words) == 0
    after = {record.key.name: record.cells for record in Store(tmp_path).records()}
    assert len(after) == 12
    assert all(after[path][k] == cell for path, cells in kept.items() for k, cell in cells.items())
