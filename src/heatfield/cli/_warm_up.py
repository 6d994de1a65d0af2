"""``heatfield warm-up``: compile now what the usual calls need, so that none of them waits later."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from importlib.util import find_spec
from pathlib import Path

from .._base.check import thread_count
from .._base.children import python
from .._cloud.box_tree import blocks_within

_CLOUD = "np.random.default_rng(0).normal(size=({}, {}))"
_CLOUDS = f"[{_CLOUD.format(60, 3)} for _ in range(6)]"


def _calls(call: str, m: int, *more: str) -> str:
    """A call in two and in three dimensions, with its defaults and with further options."""
    return "; ".join(
        call.format(_CLOUD.format(m, n), options)
        for n in (2, 3)
        for options in ("", *(f", {o}" for o in more))
    )


_SINGLE = "dtype='float32'"
# What is compiled: the calls that need it, each part in a process of its own, the longest first.
PARTS = {
    "large clouds": _calls("hf.signatures({0}, method='fast'{1})", 20_000, "tol=1e-4"),
    "descriptor joint": _calls("hf.HFSDescriptor('joint'{1}).fit_transform([{0}])", 300, _SINGLE),
    "descriptors desc and simple": _calls("hf.HFSDescriptor('desc'{1}).fit_transform([{0}])", 300, _SINGLE),
    "signatures": _calls("hf.signatures({0}{1})", 300, "transition='exact'", _SINGLE),
    "heat field": f"hf.HeatField({_CLOUD.format(300, 3)}).hessian(np.zeros((1, 3)), 0.1)",
}
LEARNED = (
    f"hf.HFSClassifier('full', epochs=1, progress=False).fit({_CLOUDS}, list('aabbcc')).predict({_CLOUDS})"
)
PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np, heatfield as hf
{}
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("--jobs", type=int, default=-1, help="processes (default: all cores)")
    parser.add_argument("--quiet", action="store_true", help="print only errors")


def run(options: argparse.Namespace) -> int:
    """Run every part in a process of its own; what they compile is kept on disk."""
    parts = dict(PARTS)
    if find_spec("torch") is not None:
        parts["learned variants"] = LEARNED
    threads = thread_count(options.jobs)
    kept = blocks_within.stats.cache_path  # type: ignore[attr-defined]  # numba's
    if not kept:
        raise ValueError(
            "compiled code cannot be kept: no folder for it can be written; set NUMBA_CACHE_DIR to one"
        )
    _say(options, f"Compiling for this machine; kept in {Path(kept).parents[1]}")
    started, failed = time.perf_counter(), 0
    with ThreadPoolExecutor(threads) as pool:
        running = {pool.submit(_compile, call): name for name, call in parts.items()}
        for done, future in enumerate(as_completed(running), 1):
            problem = future.result()
            seconds = time.perf_counter() - started
            if problem is None:
                _say(options, f"  {running[future]} ready after {seconds:.0f} s; {done} of {len(parts)}")
            else:
                failed += 1
                print(f"heatfield warm-up: {running[future]} failed: {problem}", file=sys.stderr)
    return 1 if failed else 0


def _say(options: argparse.Namespace, text: str) -> None:
    if not options.quiet:
        print(text, flush=True)


def _compile(call: str) -> str | None:
    """None, or what went wrong."""
    done = subprocess.run(
        python("-W", "ignore", "-c", PROGRAM.format(call), str(Path(__file__).parents[2])),
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    return None if done.returncode == 0 else (done.stderr.strip().splitlines() or ["no message"])[-1]
