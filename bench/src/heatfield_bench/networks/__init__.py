"""The networks that the paper compares with, in plain torch: clouds (B, m, 3) in, logits (B, classes) out.

`heatfield_bench.baselines` trains them on lists of clouds.
"""

from ._dgcnn import DGCNN
from ._point_transformer import PointTransformer
from ._pointnet import PointNet
from ._pointnet2 import PointNet2
from ._vn_dgcnn import VNDGCNN

__all__ = ["DGCNN", "VNDGCNN", "PointNet", "PointNet2", "PointTransformer"]
