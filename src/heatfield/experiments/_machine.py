"""What a record says about where and when it was made."""

from __future__ import annotations

import datetime
import os
import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from .. import __version__

PACKAGES = (
    "numpy",
    "scipy",
    "numba",
    "scikit-learn",
    "torch",
    "open3d-cpu",
    "gudhi",
    "multipers",
    "xgboost-cpu",
)


def now() -> str:
    """Date and time, UTC."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")


@cache
def machine() -> dict[str, Any]:
    """Processor, cores, threads of linear algebra, Python, and versions of what computes."""
    return {
        "cpu": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "threads": os.environ.get("OMP_NUM_THREADS", "all"),
        "system": platform.system(),
        "versions": {"heatfield": __version__, "python": platform.python_version()}
        | {name: found for name in PACKAGES if (found := _version(name))},
    }


def load_average() -> float | None:
    """Processes that wanted to run during the last minute, where the system tells it."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
