"""The methods that the paper compares with, as scikit-learn estimators over lists of clouds.

Nothing heavy is loaded before a name is used. The methods of multiparameter persistence need
``pip install 'heatfield[persistence]'``, the networks ``pip install 'heatfield[torch]'``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_HOME = {
    "GRIL": "_gril",
    "GraphCode": "_graphcode",
    "MPImage": "_mp_image",
    "MPLandscape": "_mp_landscape",
    "MPSignedMeasure": "_mp_signed_measure",
}

__all__ = [*_HOME]

if TYPE_CHECKING:
    from ._graphcode import GraphCode as GraphCode
    from ._gril import GRIL as GRIL
    from ._mp_image import MPImage as MPImage
    from ._mp_landscape import MPLandscape as MPLandscape
    from ._mp_signed_measure import MPSignedMeasure as MPSignedMeasure


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
