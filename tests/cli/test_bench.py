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
from heatfield.experiments._store import Store
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
    assert (
        main(["bench", "--show", "--figures", "--budget", "smoke", "--results", str(tmp_path / "out")]) == 0
    )
    shown = capsys.readouterr().out
    assert "| | mine |" in shown
    assert "HFS-desc, LDA" in shown
    assert (tmp_path / "out" / "tables-smoke.html").is_file()
    assert (tmp_path / "out" / "figure1.png").stat().st_size > 10_000
    assert (tmp_path / "out" / "figure2.png").stat().st_size > 10_000


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
            "there is no method 'HFS-desc,LDA'; did you mean 'HFS-desc, LDA'? there are 'HFS-simple', ",
        ),
        (["bench", "main", "--sets", "mnist"], "there is no data set 'mnist'"),
        (["bench", "--show"], "there is no folder 'heatfield-experiments'; run without --show first"),
    ],
)
def test_what_is_wrong_is_said_before_the_work(words, message, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    assert message in capsys.readouterr().err


def test_ctrl_c_keeps_what_is_finished_and_the_same_command_goes_on(tmp_path):
    words = ["bench", "main", "curve", "--sets", "processes", "--results", str(tmp_path)]
    words += ["--methods", "HFS-simple", "HFS-desc", "HFS-joint", "LocalCovariance"]
    process = subprocess.Popen(
        [sys.executable, "-m", "heatfield", *words], env=environment(OMP_NUM_THREADS="1"),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    while not list(tmp_path.glob("processes/*.json")):
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "stopped" in said
    kept = {path: record["splits"] for path, record in Store(tmp_path).records()}
    assert 0 < len(kept) < 12  # all read: no file is half written
    assert main(words) == 0
    after = {path: record["splits"] for path, record in Store(tmp_path).records()}
    assert len(after) == 12
    assert all(after[path][k] == cell for path, cells in kept.items() for k, cell in cells.items())
    assert not list((tmp_path / "cache" / "claims").iterdir())
