"""No process that a command starts runs what lies in the current folder, whatever its name."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from tests.helpers.process import environment

# As the installed command: the folder of the script is first on its path, not the current one.
SCRIPT = "import sys\nfrom heatfield.cli import main\nif __name__ == '__main__':\n    sys.exit(main())\n"
NAMES = (
    "contextlib", "multiprocessing", "threading", "signal", "struct", "pickle", "json", "random", "logging",
    "socket", "subprocess", "tempfile", "numpy", "numba", "llvmlite", "scipy", "sklearn", "torch", "dask",
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


def test_describe(place):
    end(place, "describe", "in", "-o", "t.csv", "--variant", "simple")


def test_describe_in_processes(place):
    np.save(place / "here" / "in" / "large.npy", np.random.default_rng(0).normal(size=(2_900_000, 3)))
    end(place, "describe", "in", "-o", "t.csv", "--jobs", "2", "--shard", "3", "--budget", "20", "--quiet")


def test_describe_over_dask(place):
    pytest.importorskip("distributed")
    end(place, "describe", "in", "-o", "t.csv", "--cluster", "local:2", "--shard", "3")


def test_train_over_dask(place):
    pytest.importorskip("distributed")
    end(place, "train", "in", "-o", "m", "--head", "lda", "--folds", "2", "--cluster", "local:2")


def test_warm_up(place):
    """Stopped as soon as something is compiled: then everything was imported."""
    process = start(place, "warm-up", "--jobs", "1", NUMBA_CACHE_DIR=str(place / "code"))
    try:
        while process.poll() is None and not ran(place) and not any((place / "code").rglob("*.nbc")):
            time.sleep(0.1)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        said = process.communicate()[0]
    assert ran(place) == []
    assert any((place / "code").rglob("*.nbc")), said


def test_settings_of_the_current_folder_do_not_choose_the_cache(tmp_path):
    """Numba reads them where PyYAML is installed; what lies in a cache of machine code is unpickled."""
    pytest.importorskip("yaml")
    (tmp_path / ".numba_config.yaml").write_text(f"cache_dir: {tmp_path / 'theirs'}\n")
    code = "from heatfield._base import compile; print(compile.config.CACHE_DIR, compile._folders('_base'))"
    settings = {k: v for k, v in environment(HOME=str(tmp_path / "home")).items() if k != "NUMBA_CACHE_DIR"}
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], cwd=tmp_path, env=settings, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    read, chosen = done.stdout.split(" ", 1)
    assert read == str(tmp_path / "theirs")  # numba itself believes them
    assert "theirs" not in chosen
