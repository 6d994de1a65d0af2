"""Hostile files under limits: only ReadError, at most 300 MB and 10 s of computing for a file under 10 MB."""

import os
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

import heatfield as hf
from heatfield.io.formats import REGISTRY
from tests.helpers import raw
from tests.helpers.attacks import ESCAPES, HUNGRY


@pytest.mark.parametrize("name", ESCAPES)
def test_only_read_errors_escape(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(ESCAPES[name])
    with pytest.raises(hf.ReadError) as caught:
        raw.read_cloud(path)
    assert str(path) in str(caught.value)
    assert caught.value.__cause__ is None, "found by the last guard only, not by the reader"
    assert len(str(caught.value)) < 1000 + len(str(path))


def test_whatever_a_reader_throws_becomes_a_read_error(tmp_path, monkeypatch):
    """The last guard: a fault of the reader itself names the file and keeps its cause."""
    (tmp_path / "a.xyz").write_bytes(b"1 2 3\n")
    monkeypatch.setitem(REGISTRY, "table", replace(REGISTRY["table"], read=lambda *_: 1 / 0))
    with pytest.raises(hf.ReadError, match=r"a\.xyz.*ZeroDivisionError") as caught:
        raw.read_cloud(tmp_path / "a.xyz")
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


CHILD = """
    import gc, resource, sys, heatfield as hf
    import gemmi, h5py, laspy, lazrs, pyarrow.parquet
    memory = lambda key: int(next(l for l in open("/proc/self/status") if l.startswith(key)).split()[1])
    for path in sys.argv[1:]:
        gc.collect()
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")  # the peak starts anew from what is held now
        used = resource.getrusage(resource.RUSAGE_SELF)
        spent = int(used.ru_utime + used.ru_stime)
        resource.setrlimit(resource.RLIMIT_CPU, (spent + 11, -1))  # ends the process
        before, answer = memory("VmRSS"), "read"
        try:
            hf.read_points(path)
        except hf.ReadError as error:
            assert path in str(error)
            assert error.__cause__ is None, repr(error.__cause__)
            answer = "refused"
        print(path, answer, memory("VmHWM") - before, flush=True)
"""


def read_in_a_child(paths):
    """What became of each file, and how many kilobytes it took."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(CHILD), *map(str, paths)],
        capture_output=True, text=True, check=False, env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    answers = {}
    for line in done.stdout.splitlines():
        path, answer, grown = line.split()
        answers[Path(path).name] = (answer, int(grown))
    return answers, done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak from /proc")
def test_no_file_takes_more_than_its_share(tmp_path):
    """All in one child; where one file ends it, another goes on with the rest."""
    paths = []
    for name, content in HUNGRY.items():
        paths.append(tmp_path / name)
        paths[-1].write_bytes(content())
        assert paths[-1].stat().st_size < 10_000_000, name
    with open(tmp_path / "hole.npy", "wb") as file:
        file.truncate(20 * 10**9)
    paths.append(tmp_path / "hole.npy")
    bad = {}
    while paths:
        answers, problems = read_in_a_child(paths)
        bad |= {name: kilobytes for name, (_, kilobytes) in answers.items() if kilobytes >= 300_000}
        paths = paths[len(answers) :]
        if paths:
            bad[paths.pop(0).name] = f"died: {problems[-300:]}"
    for path in tmp_path.iterdir():
        path.unlink()
    assert bad == {}
