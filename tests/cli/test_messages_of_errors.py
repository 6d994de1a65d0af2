"""What is said where something is wrong."""

import csv
import signal
import subprocess
import sys

import numpy as np
import pytest

from tests.helpers.process import environment

rng = np.random.default_rng(0)
clouds = [rng.random((200, 3)) for _ in range(2)]
labels = [(c[:, 0] > 0.5).astype(int) for c in clouds]


def test_an_option_of_another_verb(tmp_path, command):
    (tmp_path / "in").mkdir()
    for i in range(3):
        np.save(tmp_path / "in" / f"{i}.npy", rng.random((20, 3)))
    assert command("search", "build", tmp_path / "in", "-o", tmp_path / "index")[0] == 0
    code, said = command("search", "query", tmp_path / "index", tmp_path / "in" / "0.npy", "--chain", "A")
    assert code == 0 or "heatfield search query --help" in said, said


@pytest.mark.skipif(sys.platform == "win32", reason="no file can have such a name")
@pytest.mark.parametrize("content", ["x,y,z\n1,2,3\n4,5,6\n", "x,y,z\n1,2,three\n"])
def test_escapes_in_the_name_of_a_file(tmp_path, command, content):
    path = tmp_path / "a\x1b[31m\x07b.csv"
    path.write_text(content)
    said = command("info", path)[1]
    assert "b.csv" in said
    assert "\x1b" not in said
    assert "\x07" not in said


@pytest.mark.skipif(sys.platform == "win32", reason="no file can have such a name")
def test_formulas_in_cells(tmp_path, command, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("\n=1+1.npy", clouds[0][:20])
    code, said = command("describe", ".", "-o", "t.csv", "--n-scales", "2")
    assert code == 0, said
    with open("t.csv", newline="") as file:
        (row,) = csv.DictReader(file)
    assert row["file"].endswith("=1+1.npy")
    assert not row["file"].lstrip().startswith("=")


# As the installed command; Ctrl-C arrives when a module is looked for.
STOPPED = """
import os, signal, sys
class Stop:
    def find_spec(self, name, path=None, target=None):
        if name == MODULE:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Stop())
from heatfield.cli import main
if __name__ == "__main__":
    sys.exit(main())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are of Unix")
def test_a_stop_while_the_verb_is_imported(tmp_path):
    stopped_at("heatfield.cli.verbs", tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="signals are of Unix")
def test_a_stop_while_numpy_is_imported(tmp_path):
    stopped_at("numpy", tmp_path)


def stopped_at(module, tmp_path):
    script = tmp_path / "heatfield"
    script.write_text(STOPPED.replace("MODULE", repr(module)))
    done = subprocess.run(
        [sys.executable, script, "info", "nothing.csv"], env=environment(), capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode in (130, -signal.SIGINT)
    assert "Traceback" not in done.stderr
