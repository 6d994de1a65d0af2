"""`PointNet2`: PointNets over balls around fewer and fewer centres."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from heatfield._classifier.documented import documented

from ._estimator import options
from ._network import OPTIONS, NetworkClassifier, example


@documented(options=OPTIONS, example=example("PointNet2", 'grouping="msg", '))
@options
class PointNet2(NetworkClassifier):
    """PointNet++ (Qi, Yi, Su and Guibas, NeurIPS 2017), after its authors' code.

    Guide: ``heatfield docs guide/baselines``.

    `heatfield_bench.networks.PointNet2`: 1,475,688 parameters with 40 classes, 1,747,368 with three scales. m
    points have m/2 and m/8 centres, as in the HFS paper (512 and 128 for the published 1,024), found by
    farthest-point sampling from the point farthest from the centre; of a ball with more points than wanted
    every so manyth by distance is taken (the authors begin at the first point and take the first in the ball:
    both depend on the order of the points). 250 epochs of Adam from 1e-3, falling to 0.7 of itself every 20
    epochs, at least 1e-5; momentum of the batch norms from 0.5, halved as often, at least 0.01; dropout 0.5,
    with three scales 0.6. The augmentation is that of the HFS paper (a turn about the z axis, a scale of 0.8
    to 1.25, a shift of up to 0.1, jitter of 0.01 clipped at 0.05); the authors also tilt by small angles, and
    have batches of 16.

    Needs torch: ``pip install 'heatfield-bench[torch]'``.

    Parameters
    ----------
    grouping : "ssg" or "msg"
        One radius per level, 0.2 and 0.4; or three, 0.1, 0.2, 0.4 and 0.2, 0.4, 0.8. The HFS paper does not
        say which it has.
    {options}

    {example}
    """

    _kind = "pointnet2"

    # The only one that can be given by position.
    grouping: str = field(default="ssg", kw_only=False)

    def _parts(self) -> dict[str, Any]:
        return {"grouping": self.grouping, **super()._parts()}
