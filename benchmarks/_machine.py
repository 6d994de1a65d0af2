"""What a result file says of the machine it was made on."""

from __future__ import annotations

import datetime
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def machine() -> dict:
    """Date, processor, cores and the versions that matter."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    flags: list[str] = []
    if info.exists():
        for line in info.read_text().splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                cpu = value.strip()
            elif key.strip() == "flags":
                flags = [f for f in value.split() if f in ("avx2", "fma", "avx512f")]
                break
    versions = {}
    for package in ("numpy", "scipy", "numba", "scikit-learn", "torch", "open3d-cpu", "jakteristics"):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = None
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": {
            "cpu": cpu,
            "vector_flags": flags,
            "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
            "python": platform.python_version(),
            "system": platform.system(),
        },
        "versions": versions,
    }
