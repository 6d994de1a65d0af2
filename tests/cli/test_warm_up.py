"""``heatfield warm-up``: every part runs, what fails is said, and later calls compile nothing."""

import os
import subprocess
import sys

from heatfield.cli import _warm_up, main


def test_parts_that_run_and_one_that_fails(monkeypatch, capsys):
    monkeypatch.setattr(_warm_up, "find_spec", lambda _: None)
    monkeypatch.setattr(
        _warm_up, "PARTS", {"good": "print(hf.__version__)", "bad": "raise OSError('no disk')"}
    )
    assert main(["warm-up", "--jobs", "1"]) == 1
    said = capsys.readouterr()
    assert said.out.startswith("Compiling for this machine; kept in ")
    assert "good ready after" in said.out
    assert said.err == "heatfield warm-up: bad failed: OSError: no disk\n"


def test_quiet_prints_nothing(monkeypatch, capsys):
    monkeypatch.setattr(_warm_up, "find_spec", lambda _: None)
    monkeypatch.setattr(_warm_up, "PARTS", {"good": "pass"})
    assert main(["warm-up", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


LATER = """
import numpy as np, heatfield as hf
from numba.core import event
compiled = []
class Listener(event.Listener):
    def on_start(self, happening):
        compiled.append(happening.data["dispatcher"].py_func.__qualname__)
    def on_end(self, happening):
        pass
event.register("numba:compile", Listener())
rng = np.random.default_rng(1)
for n in (2, 3):
    hf.signatures(rng.normal(size=(1000, n)))
    hf.signatures(rng.normal(size=(15_000, n)), method="fast")
    for variant in ("simple", "desc", "joint"):
        for dtype in ("float64", "float32"):
            hf.HFSDescriptor(variant, dtype=dtype).fit_transform([rng.normal(size=(m, n)) for m in (50, 500)])
clouds = [rng.normal(size=(70, 3)) for _ in range(6)]
hf.HFSClassifier("full", epochs=1, progress=False).fit(clouds, list("aabbcc")).predict(clouds)
hf.HeatField(rng.normal(size=(500, 3))).value(np.zeros((2, 3)), 0.1)
print(compiled)
"""


def test_later_calls_compile_nothing(tmp_path):
    """In a cache of its own, where no other test has left anything."""
    words = {"env": {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}, "capture_output": True, "text": True}
    done = subprocess.run([sys.executable, "-m", "heatfield", "warm-up"], **words)
    assert done.returncode == 0, done.stderr
    done = subprocess.run([sys.executable, "-c", LATER], **words)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


def test_where_nothing_can_be_kept(monkeypatch, capsys):
    class Nothing:
        stats = type("Stats", (), {"cache_path": None})

    monkeypatch.setattr(_warm_up, "blocks_within", Nothing)
    assert main(["warm-up"]) == 2
    assert "set NUMBA_CACHE_DIR" in capsys.readouterr().err
