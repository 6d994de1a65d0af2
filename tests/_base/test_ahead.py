"""Functions that a second process compiles while the first one is still busy with others."""

import os
import subprocess
import sys
from importlib import import_module

import numpy as np
import pytest
from numba.core.sigutils import normalize_signature

import heatfield as hf
from heatfield._base import ahead
from tests.helpers.process import SOURCE

CALLS = {
    "_cloud.arrange.arrange": lambda cloud: hf.signatures(cloud(300)),
    "_cloud.nearest.nearest_distinct": lambda cloud: hf.signatures(cloud(300)),
    "_cloud.box_tree.grow": lambda cloud: hf.signatures(cloud(20_000), method="fast"),
    "_features.small_clouds._geometry": lambda cloud: hf.HFSDescriptor("desc").fit_transform([cloud(300)]),
}


@pytest.mark.parametrize("first", ahead.FOLLOWING)
def test_they_are_compiled_for_the_types_that_a_call_has(first):
    """Otherwise the call would compile them again."""
    CALLS[first](lambda m: np.random.default_rng(0).normal(size=(m, 3)))
    for name, types in ahead.FOLLOWING[first]:
        module, _, function = name.rpartition(".")
        kernel = getattr(import_module(f"heatfield.{module}"), function)
        assert normalize_signature(f"({', '.join(types)})")[0] in kernel.signatures, name


PROGRAM = """
import os, sys, time
from pathlib import Path
import numpy as np
from heatfield._base import ahead
from heatfield._cloud.arrange import bounding_boxes
from heatfield._signatures.equations import _scaled_covariance

ahead.FOLLOWING = {"_cloud.arrange.bounding_boxes": (("_signatures.equations._scaled_covariance", ()),)}
bounding_boxes(np.arange(3.0)[None])
end = time.monotonic() + 120
folder = Path(_scaled_covariance.stats.cache_path)
while not list(folder.glob("*_scaled_covariance*.nbi")) and time.monotonic() < end:
    time.sleep(0.05)
_scaled_covariance(np.ones((1, 1, 10)), np.ones((1, 1)), 3)
print(sum(_scaled_covariance.stats.cache_hits.values()), ahead._process.pid)
"""


def test_what_the_second_process_compiled_is_loaded_and_it_ends(tmp_path):
    environment = {"PYTHONPATH": str(SOURCE.parent), "HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    hits, pid = map(int, done.stdout.split())
    assert hits == 1
    assert done.stderr.count("compiling for this machine") == 1
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_it_ends_by_itself_when_there_is_nothing_to_do():
    """A session that goes on for hours does not keep its memory."""
    code = "import heatfield._base.ahead as ahead; ahead._PATIENCE = 0.1; ahead.main()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, text=True) as process:
        process.stdin.write("_signatures.equations._scaled_covariance\n")
        process.stdin.flush()
        assert process.wait(timeout=120) == 0  # though more could still be written to it


def test_none_is_started_on_one_core_or_in_a_worker(monkeypatch):
    started = []
    monkeypatch.setattr(ahead, "_started", set())
    monkeypatch.setattr(ahead, "_ask_for", started.append)
    monkeypatch.setattr(ahead, "thread_count", lambda _: 1)
    first = import_module("heatfield._cloud.arrange").arrange.py_func
    ahead.begins(first)
    ahead.ends()
    monkeypatch.setattr(ahead, "thread_count", lambda _: 2)
    monkeypatch.setattr(ahead.multiprocessing, "parent_process", lambda: object())
    ahead.begins(first)
    ahead.ends()
    assert started == []
    monkeypatch.setattr(ahead.multiprocessing, "parent_process", lambda: None)
    ahead.begins(first)
    ahead.begins(import_module("heatfield._cloud.nearest").nearest_distinct.py_func)  # part of the first
    ahead.ends()
    ahead.ends()
    ahead.begins(first)  # for other types
    ahead.ends()
    assert started == [ahead.FOLLOWING["_cloud.arrange.arrange"]]
