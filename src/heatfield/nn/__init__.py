"""Learning on the heat field with torch: differentiable features and the paper's networks.

Needs torch: ``pip install heatfield[torch]``. Nothing else of the library imports it.
"""

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError("heatfield.nn needs torch: pip install 'heatfield[torch]'") from error

from . import networks
from ._dgcnn import HFSDGCNN
from ._features import HeatFeatures, pad_clouds
from ._full import HFSFull
from ._transform import ClosedFormFeatures

__all__ = ["HFSDGCNN", "ClosedFormFeatures", "HFSFull", "HeatFeatures", "networks", "pad_clouds"]
