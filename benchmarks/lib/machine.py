"""What a result file says about the machine on which it was made."""

from __future__ import annotations

import datetime
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "torch", "open3d-cpu", "jakteristics")


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


def load_average() -> list[float] | None:
    """Over 1, 5 and 15 minutes, where the system tells it."""
    return [round(x, 2) for x in os.getloadavg()] if hasattr(os, "getloadavg") else None


def machine() -> dict:
    """Date, processor, cores and the versions that matter."""
    name, flags = processor()
    return {
        "date": now(),
        "machine": {
            "cpu": name,
            "vector_flags": [f for f in flags if f in ("avx2", "fma", "avx512f")],
            "cores": cores(),
            "python": platform.python_version(),
            "system": platform.system(),
        },
        "versions": {package: version_of(package) for package in PACKAGES},
    }
