"""Batch norm over rows that count several times."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn


class _CountedNorm(torch.autograd.Function):
    """(x - mean) / sqrt(variance + eps), mean and variance over rows that count ``often`` times."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, often: Tensor, eps: float) -> tuple[Tensor, Tensor, Tensor]:
        share = often / often.sum()
        mean = share @ rows
        scaled = rows - mean
        variance = share @ scaled.square()
        factor = torch.rsqrt(variance + eps)
        scaled *= factor
        ctx.save_for_backward(scaled, factor, share)
        ctx.mark_non_differentiable(mean, variance)
        return scaled, mean, variance

    @staticmethod
    def backward(ctx: Any, given: Tensor, *_: Tensor) -> tuple[Tensor, None, None]:
        scaled, factor, share = ctx.saved_tensors
        along = (given * scaled).sum(dim=0)
        back = torch.addcmul(given.sum(dim=0), scaled, along).mul_(share[:, None])
        return torch.sub(given, back).mul_(factor), None, None


def counted_norm(norm: nn.BatchNorm1d, rows: Tensor, often: Tensor) -> Tensor:
    """``norm`` over rows (P, C) as if each stood there ``often`` times; only one of them is returned."""
    if not norm.training:
        return norm(rows)
    scaled, mean, variance = _CountedNorm.apply(rows, often, norm.eps)
    with torch.no_grad():
        count = float(often.sum())
        norm.running_mean.lerp_(mean, norm.momentum)
        norm.running_var.lerp_(variance * (count / max(1.0, count - 1.0)), norm.momentum)
        norm.num_batches_tracked += 1
    return torch.addcmul(norm.bias, scaled, norm.weight)
