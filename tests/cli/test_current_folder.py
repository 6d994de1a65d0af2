"""No process that a command starts runs what lies in the current folder, whatever its name."""

import subprocess
import sys

import numpy as np
import pytest

from tests.helpers.process import environment

# As the installed command: the folder of the script is first on its path, not the current one.
SCRIPT = """
import sys
from heatfield.cli import main
if __name__ == "__main__":
    sys.exit(main())
"""
NAMES = (
    "contextlib", "multiprocessing", "threading", "signal", "struct", "pickle", "json", "random", "logging",
    "socket", "subprocess", "tempfile", "numpy", "scipy", "sklearn", "torch", "dask",
    "distributed", "heatfield",
)  # fmt: skip


@pytest.fixture
def place(tmp_path):
    """A current folder of somebody else: clouds in it, and modules that say so when they are run."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "command.py").write_text(SCRIPT)
    here = tmp_path / "here"
    rng = np.random.default_rng(0)
    for label in "ab":
        (here / "in" / label).mkdir(parents=True)
        for i in range(4):
            np.save(here / "in" / label / f"{i}.npy", rng.normal(size=(30, 3)))
    for name in NAMES:
        (here / f"{name}.py").write_text(
            f"open({str(tmp_path / f'ran-{name}')!r}, 'w').close()\nraise ImportError('the wrong {name}')\n"
        )
    return tmp_path


def start(place, *words, **changes):
    return subprocess.Popen(
        [sys.executable, place / "bin" / "command.py", *words],
        cwd=place / "here", env=environment(**changes), text=True, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def ran(place):
    return sorted(path.name for path in place.glob("ran-*"))


def end(place, *words, **changes):
    """What the command says. It is looked at after what was run, which explains why it failed."""
    process = start(place, *words, **changes)
    said = process.communicate()[0]
    assert ran(place) == []
    assert process.returncode == 0, said


def test_the_modules_would_be_run(place):
    """What the other tests look for shows where the current folder is on the path."""
    code = "import contextlib, numpy"
    done = subprocess.run([sys.executable, "-c", code], cwd=place / "here", capture_output=True, check=False)
    assert done.returncode == 1
    assert ran(place) == ["ran-contextlib"]


@pytest.mark.parametrize(
    "words",
    [
        "describe in -o t.csv --variant simple",
        "describe in -o t.csv --variant simple --n-jobs 2 --executor processes --quiet",
        "describe in -o t.csv --variant simple --executor local:1",
        "train in -o m --variant simple --head lda --folds 2 --executor local:1",
    ],
)
def test_no_command_runs_them(place, words):
    if "local" in words:
        pytest.importorskip("distributed")
    end(place, *words.split())
