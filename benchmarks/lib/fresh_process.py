"""What only a fresh interpreter can tell: the time of an import, the peak of memory."""

from __future__ import annotations

import subprocess
import sys
from typing import Any


def numbers_from(code: str) -> list[float]:
    """The numbers that a fresh interpreter prints."""
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"a measurement failed in its own process:\n{code}\n{done.stderr}")
    return [float(word) for word in done.stdout.split()]


def measure_imports(rounds: int) -> dict[str, float]:
    """Seconds in a fresh interpreter. HFSDescriptor also loads the compiler and scikit-learn."""
    statements = {
        "numpy_scipy_s": "import numpy, scipy",
        "heatfield_s": "import heatfield",
        "descriptor_s": "from heatfield import HFSDescriptor",
    }
    found: dict[str, list[float]] = {name: [] for name in statements}
    for _ in range(rounds):
        for name, statement in statements.items():
            code = f"import time; s = time.perf_counter(); {statement}; print(time.perf_counter() - s)"
            found[name] += numbers_from(code)
    best = {name: min(times) for name, times in found.items()}
    return best | {"ratio": best["heatfield_s"] / best["numpy_scipy_s"]}


MEMORY = """
import re, resource, sys
import numpy as np
from heatfield import HFSDescriptor
def peak():  # of this program alone: ru_maxrss also remembers the process that started it
    try:
        return int(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1]) / 1024
    except OSError:
        unit = 2**20 if sys.platform == "darwin" else 2**10
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
for m in (64, POINTS):
    HFSDescriptor(variant="desc").fit_transform([np.random.default_rng(0).random((m, 3))])
    print(peak())
"""


def measure_memory(m: int) -> dict[str, Any]:
    """Peak resident megabytes of a whole process: after a tiny cloud, and after one of m points."""
    code = MEMORY.replace("POINTS", str(m))
    numbers_from(code)  # what it has to compile takes more memory than the cloud
    before, peak = numbers_from(code)
    return {"m": m, "before_mb": before, "peak_mb": peak}
