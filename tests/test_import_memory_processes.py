"""What an import loads, the peak of memory, and worker processes and threads."""

import json
import multiprocessing
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import heatfield as hf
from tests.helpers.clouds import cloud
from tests.helpers.process import run_python

# --- import ------------------------------------------------------------------------

LEARNING = {"sklearn", "torch", "matplotlib", "skimage", "pandas"}


@pytest.mark.parametrize(
    ("code", "heavy"),
    [
        ("pass", {"numpy", "scipy", "numba", "llvmlite", *LEARNING}),
        ("hf.signatures([[0.0], [1.0]])", LEARNING),
    ],
)
def test_nothing_heavy_is_loaded_before_it_is_needed(code, heavy):
    shown = f"import heatfield as hf, json, sys; {code}; print(json.dumps(list(sys.modules)))"
    assert heavy.isdisjoint(json.loads(run_python(shown)))


def test_help_and_introspection_work_without_torch():
    code = """
import inspect, pydoc
from importlib.machinery import PathFinder
found = PathFinder.find_spec
PathFinder.find_spec = lambda name, *more: None if name.split(".")[0] == "torch" else found(name, *more)
import heatfield as hf
names = [name for name, _ in inspect.getmembers(hf)]
assert "HFSClassifier" in names and "plot" in names and "nn" not in names, names
assert "HFSDescriptor" in pydoc.render_doc(hf)
from heatfield import *
try:
    hf.nn
except ImportError as error:
    print(error)
"""
    assert "pip install 'heatfield[torch]'" in run_python(code)


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match=r"^module 'heatfield' has no attribute 'signature'$"):
        hf.signature  # noqa: B018


# --- memory ------------------------------------------------------------------------


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux to reset the peak")
def test_peak_memory_of_20000_points():
    """The kernel's high-water mark, reset after smaller clouds have compiled and loaded all code."""
    code = """
import numpy as np, heatfield as hf
from heatfield.core import planner

def status(key):
    lines = open("/proc/self/status").read().splitlines()
    return int(next(line for line in lines if line.startswith(key)).split()[1]) / 1024  # MB

points = np.random.default_rng(0).normal(size=(20_000, 3))
points /= np.linalg.norm(points, axis=1, keepdims=True)
# The compiler needs more memory than the work: all that may be called is called before the measurement, dense
# sums, neighbours, and transforms, which are taken at costs that favour them.
for method in ("dense", "fast"):
    planner.COSTS = planner.Costs(pair=6e-8, ring=3e-8, call=1e-6)
    s = hf.signatures(points[:5000], transition="exact", n_jobs=2, method=method)
planner.COSTS = planner.Costs()
assert "fourier" in s.plan.methods and "near" in s.plan.methods, s.plan
open("/proc/self/clear_refs", "w").write("5")
before = status("VmRSS:")
hf.signatures(points, transition="exact", n_jobs=2)
print(status("VmHWM:") - before)
"""
    # A table of 20,000 x 20,000 bytes alone would be 400 MB.
    assert 10 < float(run_python(code)) < 200


# --- processes and threads ---------------------------------------------------------


def signatures_of(name):
    return hf.signatures(cloud(name), n_jobs=2).per_point()


# Newer Pythons warn of a fork while there are threads, and BLAS keeps some.
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("method", sorted({"fork", "spawn"} & {*multiprocessing.get_all_start_methods()}))
def test_worker_processes(method):
    names = ["ball", "sphere", "curve"]
    expected = [signatures_of(name) for name in names]  # the parent has computed before it forks
    with multiprocessing.get_context(method).Pool(2) as pool:
        found = pool.map_async(signatures_of, names).get(timeout=100)
    np.testing.assert_array_equal(np.array(found), np.array(expected))


@pytest.mark.parametrize("n", [3, 5])
def test_many_callers_at_once(n):
    clouds = [cloud(name, n) for name in ("ball", "sphere", "curve", "lattice")] * 3
    expected = [hf.signatures(points).per_point() for points in clouds]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda points: hf.signatures(points, n_jobs=2).per_point(), clouds))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
