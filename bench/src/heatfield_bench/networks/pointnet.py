"""PointNet and PointNet++ (Qi and others 2017): a shared network over points, or over balls of them."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from heatfield._base.check import check_choice
from heatfield.nn.full import segment_mean_and_max

from .layers import counted_norm, farthest_points, in_ball, over_rows, read_out, shared_layers, taken


class _Alignment(nn.Module):
    """The T-Net: a matrix (B, size, size) by which a cloud is turned, at first the identity."""

    def __init__(self, size: int, points: Sequence[int], cloud: Sequence[int]) -> None:
        super().__init__()
        self.size = size
        self.points = shared_layers(size, points, "align")
        self.cloud = shared_layers(points[-1], cloud, "align_head")
        self.matrix = nn.Linear(cloud[-1], size * size)
        nn.init.zeros_(self.matrix.weight)
        with torch.no_grad():
            self.matrix.bias.copy_(torch.eye(size).flatten())

    def forward(self, values: Tensor) -> Tensor:
        pooled = over_rows(self.points, values).amax(dim=1)
        return self.matrix(self.cloud(pooled)).view(-1, self.size, self.size)


class PointNet(nn.Module):
    """The classifier with both T-nets, after the authors' code.

    T-net of the coordinates; 64, 64; T-net of the 64 features; 64, 128, 1024; maximum; 512, 256 with
    dropout 0.3 after each; batch norm and ReLU throughout. ``before`` and ``after`` are the shared layers on
    either side of the second T-net, ``align`` and ``align_head`` those of both T-nets. The loss has
    ``penalty`` times half the sum of (A A' - I)**2 over the batch, A being the second T-net's matrix.
    """

    def __init__(
        self,
        n_classes: int,
        *,
        before: Sequence[int] = (64, 64),
        after: Sequence[int] = (64, 128, 1024),
        align: Sequence[int] = (64, 128, 1024),
        align_head: Sequence[int] = (512, 256),
        head: Sequence[int] = (512, 256),
        dropout: float = 0.3,
        penalty: float = 0.001,
    ) -> None:
        super().__init__()
        self.penalty = penalty
        self.align_points = _Alignment(3, align, align_head)
        self.before = shared_layers(3, before, "before")
        self.align_features = _Alignment(before[-1], align, align_head)
        self.after = shared_layers(before[-1], after, "after")
        self.head = read_out(after[-1], head, n_classes, dropout)

    def forward(self, points: Tensor) -> Tensor:
        """Logits (B, classes) of clouds (B, m, 3)."""
        return self.with_penalty(points)[0]

    def with_penalty(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Logits, and what the loss has in addition."""
        values = over_rows(self.before, points @ self.align_points(points))
        turn = self.align_features(values)
        pooled = over_rows(self.after, values @ turn).amax(dim=1)
        off = turn @ turn.transpose(1, 2) - torch.eye(turn.shape[1], device=turn.device, dtype=turn.dtype)
        return self.head(pooled), 0.5 * self.penalty * off.square().sum()


# Radius, points in the ball, and layers, of each branch of the two levels.
_SSG = (
    ((0.2, 32, (64, 64, 128)),),
    ((0.4, 64, (128, 128, 256)),),
)
_MSG = (
    ((0.1, 16, (32, 32, 64)), (0.2, 32, (64, 64, 128)), (0.4, 128, (64, 96, 128))),
    ((0.2, 32, (64, 64, 128)), (0.4, 64, (128, 128, 256)), (0.8, 128, (128, 128, 256))),
)
GROUPINGS = {"ssg": _SSG, "msg": _MSG}
Branch = tuple[float, int, Sequence[int]]


class _BallLayers(nn.Module):
    """max over the points j of a ball of layers([x_j - c, f_j]).

    A ball with fewer points than wanted has its nearest several times. Layers run over each point once; the
    batch norms count it as often as it is there. So sparse balls cost what they hold.
    """

    def __init__(self, branch: Branch, before: int) -> None:
        super().__init__()
        self.radius, self.count, widths = branch
        self.layers = shared_layers(3 + before, widths, "widths")

    def forward(self, centres: Tensor, points: Tensor, values: Tensor) -> Tensor:
        at, sizes = in_ball(centres, points, self.radius, self.count)
        batch, m, _ = points.shape
        rows = at + torch.arange(batch, device=at.device).mul_(m)[:, None, None]
        rows = rows[torch.arange(self.count, device=at.device) < sizes[:, :, None]]
        sizes = sizes.flatten()
        ball = torch.repeat_interleave(sizes, output_size=len(rows))
        starts = nn.functional.pad(sizes.cumsum(0), (1, 0))
        often = torch.ones(len(rows), dtype=points.dtype, device=at.device)
        often[starts[:-1]] += self.count - sizes
        # W [x_j - c, f_j] = W [x_j, f_j] - W_x c: the product runs over points, not over members of balls.
        first = self.layers[0]
        own = nn.functional.linear(values, first.weight, first.bias).flatten(0, 1)
        middle = (centres @ first.weight[:, :3].T).flatten(0, 1)
        found = own.index_select(0, rows) - middle.index_select(0, ball)
        for layer in self.layers[1:]:
            found = counted_norm(layer, found, often) if isinstance(layer, nn.BatchNorm1d) else layer(found)
        return segment_mean_and_max(found, starts)[1].view(*centres.shape[:2], -1)


class PointNet2(nn.Module):
    """The classifier, with one (ssg) or with three (msg) scales of grouping.

    m points, m/2 centres, m/8 centres, one: 512 and 128 centres for the published 1,024 points, scaled with
    the cloud as the HFS paper does. Radii belong to clouds in the unit ball. Dropout is 0.5 for SSG and 0.6
    for MSG if not given, as in the authors' code.
    """

    def __init__(
        self,
        n_classes: int,
        *,
        grouping: str = "ssg",
        whole: Sequence[int] = (256, 512, 1024),
        head: Sequence[int] = (512, 256),
        dropout: float | None = None,
    ) -> None:
        super().__init__()
        levels = GROUPINGS[check_choice(grouping, "grouping", tuple(GROUPINGS))]
        self.levels = nn.ModuleList()
        before = 0
        for branches in levels:
            self.levels.append(nn.ModuleList(_BallLayers(branch, before) for branch in branches))
            before = sum(widths[-1] for _, _, widths in branches)
        self.whole = shared_layers(3 + before, whole, "whole")
        rate = {"ssg": 0.5, "msg": 0.6}[grouping] if dropout is None else dropout
        self.head = read_out(whole[-1], head, n_classes, rate)

    def forward(self, points: Tensor) -> Tensor:
        """Logits (B, classes) of clouds (B, m, 3)."""
        m, values = points.shape[1], points
        for level, share in zip(self.levels, (2, 8), strict=True):
            at = farthest_points(points, max(1, m // share))
            centres = taken(points, at)
            found = [branch(centres, points, values) for branch in level]
            points, values = centres, torch.cat([centres, *found], dim=2)
        return self.head(over_rows(self.whole, values).amax(dim=1))
