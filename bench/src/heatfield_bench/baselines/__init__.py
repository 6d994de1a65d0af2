"""The methods that the paper compares with, as estimators over lists of clouds.

``import heatfield_bench.baselines`` loads nothing heavy; each class is fetched when first used. `available`
says which can be used here, and what the others need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from heatfield._base.lazy import lazy_names

from ._registry import METHODS, Record, Records, available

if TYPE_CHECKING:
    from ._covariance_points import CovariancePointClassifier as CovariancePointClassifier
    from ._descriptor_classifier import DescriptorClassifier as DescriptorClassifier
    from ._dgcnn import DGCNN as DGCNN
    from ._fpfh import FPFH as FPFH
    from ._graphcode import GraphCode as GraphCode
    from ._gril import GRIL as GRIL
    from ._hks import HKS as HKS
    from ._local_covariance import LocalCovariance as LocalCovariance
    from ._mp_image import MPImage as MPImage
    from ._mp_landscape import MPLandscape as MPLandscape
    from ._mp_signed_measure import MPSignedMeasure as MPSignedMeasure
    from ._point_transformer import PointTransformer as PointTransformer
    from ._pointnet import PointNet as PointNet
    from ._pointnet2 import PointNet2 as PointNet2
    from ._vn_dgcnn import VNDGCNN as VNDGCNN
    from ._wks import WKS as WKS

_HOME = {name: method.module for name, method in METHODS.items()}
_HOME["DescriptorClassifier"] = "_descriptor_classifier"  # no method of its own: the read-out of descriptors
_HOME["CovariancePointClassifier"] = "_covariance_points"  # not of the paper: it labels points, not clouds

__all__ = ["Record", "Records", "available", *_HOME]
__getattr__, __dir__ = lazy_names(globals(), _HOME)
