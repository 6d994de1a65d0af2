"""Heat Field Signatures: multiscale geometry of point clouds, in closed form.

``import heatfield as hf`` loads nothing heavy; each name is fetched when first used.
"""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

_HOME = {
    "scale_schedule": "_signatures.scales",
    "adaptive_scales": "_signatures.scales",
    "signatures": "_signatures.signatures",
    "Signatures": "_signatures.signatures",
    "HeatField": "_field.field",
    "describe": "_features.describe",
    "HFSDescriptor": "_features.descriptor",
    "HFSClassifier": "_classifier.classifier",
    "HFSIndex": "_search.index",
    "HFSPointClassifier": "_points.classifier",
    "HeatFieldWarning": "_base.check",
    "Cloud": "io",
    "ReadError": "io",
    "read_cloud": "io",
    "read_points": "io",
    "write_points": "io",
}
_MODULES = (
    "cluster",
    "datasets",
    "io",
    "nn",
    "patterns",
    "plot",
    "sampling",
    "view",
)

# Without torch `nn` is not listed, so that `help`, `inspect.getmembers` and `import *` work; asking for it by
# name still says what to install.
__all__ = ["__version__", *_HOME, *(name for name in _MODULES if name != "nn" or find_spec("torch"))]

if TYPE_CHECKING:
    from . import cluster as cluster
    from . import datasets as datasets
    from . import io as io
    from . import nn as nn
    from . import patterns as patterns
    from . import plot as plot
    from . import sampling as sampling
    from . import view as view
    from ._base.check import HeatFieldWarning as HeatFieldWarning
    from ._classifier.classifier import HFSClassifier as HFSClassifier
    from ._features.describe import describe as describe
    from ._features.descriptor import HFSDescriptor as HFSDescriptor
    from ._field.field import HeatField as HeatField
    from ._points.classifier import HFSPointClassifier as HFSPointClassifier
    from ._search.index import HFSIndex as HFSIndex
    from ._signatures.scales import adaptive_scales as adaptive_scales
    from ._signatures.scales import scale_schedule as scale_schedule
    from ._signatures.signatures import Signatures as Signatures
    from ._signatures.signatures import signatures as signatures
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
