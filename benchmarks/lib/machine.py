"""What a result file says about the machine on which it was made."""

from __future__ import annotations

import platform

# One place finds these facts, for result files and for the records of `heatfield bench`.
from heatfield_bench._results import cores as cores
from heatfield_bench._results import load_average as load_average
from heatfield_bench._results import now as now
from heatfield_bench._results import processor as processor
from heatfield_bench._results import version_of as version_of

PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "torch", "open3d-cpu", "jakteristics")


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
