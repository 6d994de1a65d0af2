"""The methods that the paper compares with, as estimators over lists of clouds.

``import heatfield.baselines`` loads nothing heavy; each class is fetched when first used. `available` says
which can be used here, and what the others need.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._registry import METHODS, Record, Records, available

if TYPE_CHECKING:
    from ._dgcnn import DGCNN as DGCNN
    from ._point_transformer import PointTransformer as PointTransformer
    from ._pointnet import PointNet as PointNet
    from ._pointnet2 import PointNet2 as PointNet2
    from ._vn_dgcnn import VNDGCNN as VNDGCNN

__all__ = ["Record", "Records", "available", *METHODS]


def __getattr__(name: str) -> Any:
    if name not in METHODS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = f".{METHODS[name].module}"
    try:
        value = getattr(importlib.import_module(module, __name__), name)
    except ModuleNotFoundError as error:
        if error.name != f"{__name__}{module}":
            raise
        raise AttributeError(f"{name} is not part of this version of heatfield") from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
