"""What a record says about where and when it was made."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import heatfield

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


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def processor() -> tuple[str, list[str]]:
    """Name of the processor, and all its flags where the system tells them."""
    name, flags = platform.processor() or platform.machine(), []
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                name = value.strip()
            elif key.strip() == "flags":
                flags = value.split()
                break
    return name, flags


def version_of(package: str) -> str | None:
    """The installed version, or None."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


@cache
def machine() -> dict[str, Any]:
    """Processor, cores, threads of linear algebra, Python, and versions of what computes."""
    return {
        "cpu": processor()[0],
        "cores": cores(),
        "threads": os.environ.get("OMP_NUM_THREADS", "all"),
        "system": platform.system(),
        "versions": {"heatfield": heatfield.__version__, "python": platform.python_version()}
        | {name: found for name in PACKAGES if (found := version_of(name))},
    }


def load_average() -> list[float] | None:
    """Processes that wanted to run during the last 1, 5 and 15 minutes, where the system tells it."""
    return [round(x, 2) for x in os.getloadavg()] if hasattr(os, "getloadavg") else None


@cache
def commit() -> str:
    """Of the checkout that the library is imported from, with a plus where files differ; empty elsewhere."""
    source = Path(heatfield.__file__).resolve().parent
    root = source.parents[1]
    if not (root / ".git").exists():
        return ""
    git = ["git", "-C", str(root)]
    try:
        found = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
        changed = subprocess.run(
            [*git, "status", "--porcelain", "--", "src", "bench/src"], capture_output=True, text=True
        )
    except OSError:
        return ""
    return found.stdout.strip() + ("+" if changed.stdout.strip() else "")
