"""Point Transformer (Zhao, Jiang, Jia, Torr and Koltun 2021): vector attention over nearest points."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from heatfield._base.check import check_count

from .layers import checked_widths, farthest_points, nearest_points, over_rows, read_out, taken


class _VectorAttention(nn.Module):
    """sum over neighbours j of softmax_j(gamma(k_j - q_i + delta_ij)) (v_j + delta_ij).

    delta_ij is a small network of x_j - x_i; each weight serves ``share`` channels.
    """

    def __init__(self, width: int, share: int) -> None:
        super().__init__()
        if width % share:
            raise ValueError(f"share must divide the widths, got {share} and {width}")
        self.share, few = share, width // share
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.position = nn.Sequential(
            nn.Linear(3, 3), nn.BatchNorm1d(3), nn.ReLU(inplace=True), nn.Linear(3, width)
        )
        self.weight = nn.Sequential(
            nn.BatchNorm1d(width), nn.ReLU(inplace=True), nn.Linear(width, few),
            nn.BatchNorm1d(few), nn.ReLU(inplace=True), nn.Linear(few, few),
        )  # fmt: skip

    def forward(self, points: Tensor, values: Tensor, near: Tensor) -> Tensor:
        delta = over_rows(self.position, taken(points, near) - points[:, :, None])
        score = taken(self.key(values), near) - self.query(values)[:, :, None] + delta
        weights = torch.softmax(over_rows(self.weight, score), dim=2)
        content = taken(self.value(values), near) + delta
        shape = (*content.shape[:3], self.share, -1)
        return (content.view(shape) * weights[:, :, :, None]).sum(dim=2).flatten(2)


class _Block(nn.Module):
    """Linear, attention, linear, and the input added: a residual block."""

    def __init__(self, width: int, share: int, k: int) -> None:
        super().__init__()
        self.k = k
        self.first = nn.Sequential(
            nn.Linear(width, width, bias=False), nn.BatchNorm1d(width), nn.ReLU(inplace=True)
        )
        self.attention = _VectorAttention(width, share)
        self.last = nn.Sequential(
            nn.BatchNorm1d(width), nn.ReLU(inplace=True),
            nn.Linear(width, width, bias=False), nn.BatchNorm1d(width),
        )  # fmt: skip

    def forward(self, points: Tensor, values: Tensor) -> Tensor:
        near = nearest_points(points, self.k)
        found = self.attention(points, over_rows(self.first, values), near)
        return torch.relu(over_rows(self.last, found) + values)


class _Down(nn.Module):
    """Fewer points: of each chosen one, the maximum over its nearest of layers([x_j - c, f_j])."""

    def __init__(self, before: int, after: int, stride: int, k: int) -> None:
        super().__init__()
        self.stride, self.k = stride, k
        self.linear = nn.Linear(before + (3 if stride > 1 else 0), after, bias=False)
        self.norm = nn.Sequential(nn.BatchNorm1d(after), nn.ReLU(inplace=True))

    def forward(self, points: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        if self.stride == 1:
            return points, over_rows(self.norm, self.linear(values))
        at = farthest_points(points, max(1, points.shape[1] // self.stride))
        centres, near = taken(points, at), taken(nearest_points(points, self.k), at)
        # The product runs over points, not over neighbours, as in PointNet2.
        own = self.linear(torch.cat([points, values], dim=2))
        grouped = taken(own, near) - (centres @ self.linear.weight[:, :3].T)[:, :, None]
        return centres, over_rows(self.norm, grouped).amax(dim=2)


class PointTransformer(nn.Module):
    """The classifier of 38 layers.

    Five stages of widths 32 to 512; from the second on, each has a quarter of the points of the one before
    and one attention block; mean over the last points; 256, 128 with dropout 0.5. No official code of the
    classifier is public: blocks, widths and shares follow the Pointcept library's "Cls38". ``share`` channels
    have one attention weight together.

    Small clouds: a stage has at least one point, and where a stage has fewer points than neighbours are asked
    for, all of them are neighbours. Of 128 points the stages have 128, 32, 8, 2 and 1.
    """

    def __init__(
        self,
        n_classes: int,
        *,
        widths: Sequence[int] = (32, 64, 128, 256, 512),
        strides: Sequence[int] = (1, 4, 4, 4, 4),
        neighbours: Sequence[int] = (8, 16, 16, 16, 16),
        depths: Sequence[int] = (0, 1, 1, 1, 1),
        share: int = 8,
        head: Sequence[int] = (256, 128),
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        sizes = checked_widths(widths, "widths")
        if not len(sizes) == len(strides) == len(neighbours) == len(depths):
            raise ValueError(
                "widths, strides, neighbours and depths need an entry a stage, "
                f"got {len(sizes)}, {len(strides)}, {len(neighbours)} and {len(depths)}"
            )
        self.downs, self.blocks = nn.ModuleList(), nn.ModuleList()
        before = 3
        for width, stride, k, depth in zip(sizes, strides, neighbours, depths, strict=True):
            check_count(k, "neighbours", 1)
            self.downs.append(_Down(before, width, check_count(stride, "strides", 1), k))
            count = check_count(depth, "depths", 0)
            self.blocks.append(nn.ModuleList(_Block(width, share, k) for _ in range(count)))
            before = width
        self.head = read_out(before, head, n_classes, dropout)

    def forward(self, points: Tensor) -> Tensor:
        """Logits (B, classes) of clouds (B, m, 3)."""
        values = points
        for down, blocks in zip(self.downs, self.blocks, strict=True):
            points, values = down(points, values)
            for block in blocks:
                values = block(points, values)
        return self.head(values.mean(dim=1))
