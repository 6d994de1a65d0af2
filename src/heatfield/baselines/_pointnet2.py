"""`PointNet2`: PointNets over balls around fewer and fewer centres."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ._network import NetworkClassifier


class PointNet2(NetworkClassifier):
    """PointNet++ (Qi, Yi, Su and Guibas, NeurIPS 2017), after its authors' code.

    `heatfield.nn.networks.PointNet2`: 1,475,688 parameters with 40 classes, 1,747,368 with three scales. m
    points have m/2 and m/8 centres, as in the HFS paper (512 and 128 for the published 1,024), found by
    farthest-point sampling from the point farthest from the centre; of a ball with more points than wanted
    every so manyth by distance is taken (the authors begin at the first point and take the first in the ball:
    both depend on the order of the points). 250 epochs of Adam from 1e-3, falling to 0.7 of itself every 20
    epochs, at least 1e-5; momentum of the batch norms from 0.5, halved as often, at least 0.01; dropout 0.5,
    with three scales 0.6. The augmentation is that of the HFS paper (a turn about the z axis, a scale of 0.8
    to 1.25, a shift of up to 0.1, jitter of 0.01 clipped at 0.05); the authors also tilt by small angles, and
    have batches of 16.

    Needs torch: ``pip install 'heatfield[torch]'``.

    Parameters
    ----------
    grouping : "ssg" or "msg"
        One radius a level, 0.2 and 0.4; or three, 0.1, 0.2, 0.4 and 0.2, 0.4, 0.8. The HFS paper does not say
        which it has.
    {options}

    Examples
    --------
    >>> import heatfield as hf
    >>> clouds, labels = hf.datasets.make_four_shapes(n_per_class=4, n_points=32)
    >>> model = hf.baselines.PointNet2(grouping="msg", epochs=1, random_state=0).fit(clouds, labels)
    >>> model.predict_proba(clouds).shape, model.n_points_
    ((16, 4), 32)
    """

    _kind = "pointnet2"

    def __init__(
        self,
        grouping: str = "ssg",
        *,
        n_points: int | None = None,
        rotation: str | None = "z",
        epochs: int | None = None,
        random_state: int | None = None,
        network: Mapping[str, Any] | None = None,
        batch_size: int | None = None,
        optimizer: str | None = None,
        learning_rate: float | None = None,
        final_rate: float | None = None,
        weight_decay: float | None = None,
        label_smoothing: float | None = None,
        class_weight: str | Mapping[Any, float] | None = None,
        augment: bool | None = None,
        redraw: bool = False,
        validation: float | None = None,
        patience: int | None = None,
        checkpoint: str | Path | None = None,
        device: str = "auto",
        progress: bool | None = None,
    ) -> None:
        super().__init__(
            n_points=n_points,
            rotation=rotation,
            epochs=epochs,
            random_state=random_state,
            network=network,
            batch_size=batch_size,
            optimizer=optimizer,
            learning_rate=learning_rate,
            final_rate=final_rate,
            weight_decay=weight_decay,
            label_smoothing=label_smoothing,
            class_weight=class_weight,
            augment=augment,
            redraw=redraw,
            validation=validation,
            patience=patience,
            checkpoint=checkpoint,
            device=device,
            progress=progress,
        )
        self.grouping = grouping

    def _parts(self) -> dict[str, Any]:
        return {"grouping": self.grouping, **super()._parts()}
