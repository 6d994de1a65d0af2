"""The methods that the paper compares with, as estimators over lists of clouds.

``import heatfield_bench.baselines`` loads nothing heavy; each class is fetched when first used. `available`
says which can be used here, and what the others need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from heatfield._base.lazy import lazy_names

from .registry import HOME, Record, Records, available

if TYPE_CHECKING:
    from .covariance_points import CovariancePointClassifier as CovariancePointClassifier
    from .fpfh import FPFH as FPFH
    from .graphcode import GraphCode as GraphCode
    from .local_covariance import LocalCovariance as LocalCovariance
    from .networks import DGCNN as DGCNN
    from .networks import VNDGCNN as VNDGCNN
    from .networks import PointNet as PointNet
    from .networks import PointNet2 as PointNet2
    from .networks import PointTransformer as PointTransformer
    from .persistence import GRIL as GRIL
    from .persistence import MPImage as MPImage
    from .persistence import MPLandscape as MPLandscape
    from .persistence import MPSignedMeasure as MPSignedMeasure
    from .point_descriptor import DescriptorClassifier as DescriptorClassifier
    from .spectral import HKS as HKS
    from .spectral import WKS as WKS

_HOME = {
    **HOME,
    "DescriptorClassifier": "point_descriptor",  # no method of its own: the read-out of descriptors
    "CovariancePointClassifier": "covariance_points",  # not of the paper: it labels points, not clouds
}

__all__ = ["Record", "Records", "available", *_HOME]
__getattr__, __dir__ = lazy_names(globals(), _HOME)
