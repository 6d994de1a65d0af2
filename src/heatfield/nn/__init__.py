"""Learning on the heat field with torch: differentiable features and the paper's networks.

Needs torch: ``pip install heatfield[torch]``. Nothing else of the library imports it.
"""
# ruff: noqa: E402  (torch is asked for before the modules that import it)

from .._base.optional import need as _need

_need("torch", "heatfield.nn", "torch", verb="needs")

from .dgcnn import HFSDGCNN
from .full import HFSFull
from .heat import ClosedFormFeatures, HeatFeatures, pad_clouds

__all__ = ["HFSDGCNN", "ClosedFormFeatures", "HFSFull", "HeatFeatures", "pad_clouds"]
