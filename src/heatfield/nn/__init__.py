"""Learning on the heat field with torch: differentiable features and the paper's networks.

Needs torch: ``pip install heatfield[torch]``. Nothing else of the library imports it.
"""
# ruff: noqa: E402  (torch is asked for before the modules that import it)

from .._base.optional import need as _need

_need("torch", "heatfield.nn", "torch", verb="needs")

from ._dgcnn import HFSDGCNN
from ._features import HeatFeatures, pad_clouds
from ._full import HFSFull
from ._transform import ClosedFormFeatures

__all__ = ["HFSDGCNN", "ClosedFormFeatures", "HFSFull", "HeatFeatures", "pad_clouds"]
