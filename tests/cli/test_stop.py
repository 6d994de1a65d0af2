"""Ctrl-C: what a stopped command leaves behind, and that it does stop."""

import os
import signal
import subprocess
import sys
import time

import pytest

import heatfield as hf
from tests.helpers.estimator_checks import some_clouds
from tests.helpers.process import environment

LONG = 60  # seconds after which a process that should have ended long ago counts as hanging


@pytest.fixture
def folder(tmp_path):
    """Two classes in two folders."""
    clouds, labels = some_clouds(20)
    for i, (points, label) in enumerate(zip(clouds, labels, strict=True)):
        (tmp_path / "in" / label).mkdir(parents=True, exist_ok=True)
        hf.write_points(tmp_path / "in" / label / f"c{i:02d}.npy", points)
    return tmp_path / "in"


def start(code, *words, **changes):
    """A process in a group of its own, as a shell starts it on a terminal."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, words)],
        env=environment(OMP_NUM_THREADS="1", **changes),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for(path, process):
    while not path.exists():
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.05)


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize(
    ("by", "whom"), [("threads", "command"), ("processes", "command"), ("processes", "group")]
)
def test_describe_leaves_its_queue_when_stopped(folder, tmp_path, whom, by):
    code = """
import sys
from heatfield.cli import main
from heatfield.workflows import describe
from tests.helpers.workers import slow_work
describe.describe_some, describe._TOGETHER = slow_work, 4
sys.exit(main())
"""
    out = tmp_path / "f.npz"
    words = ["describe", folder, "-o", out, "--n-jobs", "2", "--executor", by, "--quiet"]
    process = start(code, *words, SLOW_WORK_FOLDER=str(tmp_path))
    while not list(tmp_path.glob("begun-*")):
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.05)
    if whom == "group":
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=LONG)
    assert process.returncode == 130
    assert said.strip() == "heatfield: stopped"
    assert not list(tmp_path.glob("done-*"))
    assert not out.exists()


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_a_long_call_into_compiled_code_does_not_delay_the_stop(tmp_path):
    code = """
import hashlib, pathlib, sys
from heatfield.cli import main, verbs
def busy(options):
    pathlib.Path(sys.argv[2]).touch()
    try:
        hashlib.pbkdf2_hmac("sha256", b"a", b"b", 400_000_000)  # many seconds without a step of Python
    finally:
        print("worked off")
verbs.run_info = busy
sys.exit(main())
"""
    process = start(code, "info", tmp_path / "begun")
    wait_for(tmp_path / "begun", process)
    process.send_signal(signal.SIGINT)
    out, said = process.communicate(timeout=LONG)
    assert process.returncode == 130
    assert said.strip() == "heatfield: stopped"
    assert out == ""


def test_what_is_being_written_is_removed_by_a_stop(tmp_path):
    from heatfield._base.files import open_atomically, remove_unfinished

    def stopped():
        with open_atomically(tmp_path / "a.bin") as file:
            file.write(b"half")
            remove_unfinished()
            assert not list(tmp_path.iterdir())

    with pytest.raises(FileNotFoundError):
        stopped()
