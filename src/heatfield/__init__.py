"""Heat Field Signatures: multiscale geometry of point clouds, in closed form.

``import heatfield as hf`` loads nothing heavy; each name is fetched when first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "scale_schedule": "_scales",
    "adaptive_scales": "_scales",
    "signatures": "_signatures",
    "Signatures": "_signatures",
    "HeatField": "_field",
    "HFSDescriptor": "_descriptor",
    "HFSClassifier": "_classifier",
    "HeatFieldWarning": "_check",
    "Cloud": "io",
    "ReadError": "io",
    "read_cloud": "io",
    "read_points": "io",
    "write_points": "io",
}
_MODULES = ("baselines", "datasets", "io", "nn", "plot", "sampling", "view")

__all__ = ["__version__", *_HOME, *_MODULES]

if TYPE_CHECKING:
    from . import baselines as baselines
    from . import datasets as datasets
    from . import io as io
    from . import nn as nn
    from . import plot as plot
    from . import sampling as sampling
    from . import view as view
    from ._check import HeatFieldWarning as HeatFieldWarning
    from ._classifier import HFSClassifier as HFSClassifier
    from ._descriptor import HFSDescriptor as HFSDescriptor
    from ._field import HeatField as HeatField
    from ._scales import adaptive_scales as adaptive_scales
    from ._scales import scale_schedule as scale_schedule
    from ._signatures import Signatures as Signatures
    from ._signatures import signatures as signatures
    from .io import Cloud as Cloud
    from .io import ReadError as ReadError
    from .io import read_cloud as read_cloud
    from .io import read_points as read_points
    from .io import write_points as write_points


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    elif name in _MODULES:
        value = importlib.import_module(f".{name}", __name__)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
