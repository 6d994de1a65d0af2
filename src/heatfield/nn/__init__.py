from ._features import HeatFeatures, pad_clouds
from ._full import HFSFull
from ._dgcnn import HFSDGCNN
