"""`PointTransformer`: vector attention over nearest points."""

from __future__ import annotations

from heatfield._classifier.documented import documented

from ._network import OPTIONS, NetworkClassifier, example


@documented(options=OPTIONS, example=example("PointTransformer"))
class PointTransformer(NetworkClassifier):
    """Point Transformer (Zhao, Jiang, Jia, Torr and Koltun, ICCV 2021), the classifier of 38 layers.

    Guide: ``heatfield docs guide/baselines``.

    `heatfield_bench.networks.PointTransformer`: 2,153,904 parameters with 40 classes. No code of its authors'
    classifier is public; the network is that of the Pointcept library ("Cls38"). 200 epochs of SGD with
    momentum 0.9 and weight decay 1e-4 from 0.05, a tenth of it after 120 and 160 epochs. Each stage has a
    quarter of the points of the one before, at least one, and where there are fewer points than neighbours
    asked for, all are neighbours: 128 points become 32, 8, 2 and 1. The augmentation is that of the HFS paper
    (a turn about the z axis, a scale of 0.8 to 1.25, a shift of up to 0.1, jitter of 0.01 clipped at 0.05).

    Needs torch: ``pip install 'heatfield-bench[torch]'``.

    Parameters
    ----------
    {options}

    {example}
    """

    _kind = "point_transformer"
