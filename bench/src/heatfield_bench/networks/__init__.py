"""The networks that the paper compares with, in plain torch: clouds (B, m, 3) in, logits (B, classes) out.

`heatfield_bench.baselines` trains them on lists of clouds. Their arguments are what ``network=`` of the
estimators overrides.
"""

from .dgcnn import DGCNN, VNDGCNN
from .point_transformer import PointTransformer
from .pointnet import PointNet, PointNet2

__all__ = ["DGCNN", "VNDGCNN", "PointNet", "PointNet2", "PointTransformer"]
