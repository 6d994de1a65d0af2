"""The methods that heat field signatures are compared with, as scikit-learn estimators over lists of clouds.

``import heatfield.baselines`` loads nothing heavy; each name is fetched when first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_HOME = {
    "FPFH": "_fpfh",
    "HKS": "_hks",
    "WKS": "_wks",
    "LocalCovariance": "_local_covariance",
    "DescriptorClassifier": "_descriptor_classifier",
    "GRIL": "_gril",
    "GraphCode": "_graphcode",
    "MPImage": "_mp_image",
    "MPLandscape": "_mp_landscape",
    "MPSignedMeasure": "_mp_signed_measure",
}

__all__ = [*_HOME]

if TYPE_CHECKING:
    from ._descriptor_classifier import DescriptorClassifier as DescriptorClassifier
    from ._fpfh import FPFH as FPFH
    from ._graphcode import GraphCode as GraphCode
    from ._gril import GRIL as GRIL
    from ._hks import HKS as HKS
    from ._local_covariance import LocalCovariance as LocalCovariance
    from ._mp_image import MPImage as MPImage
    from ._mp_landscape import MPLandscape as MPLandscape
    from ._mp_signed_measure import MPSignedMeasure as MPSignedMeasure
    from ._wks import WKS as WKS


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
