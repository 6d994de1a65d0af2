"""Sums over the edges of a graph with attention as weights: one compiled pass on a processor.

Edges lie in the order of the nodes they lead to; ``starts`` (P + 1,) says where those of each node begin.
Elsewhere than on a processor torch's own operations do the same, with tables of one row per edge.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from heatfield.nn.segments import owners, segment_softmax, segment_sum

from .._compile import SUMS, compiled

SLOPE = 0.2


@compiled(SUMS)
def _forward(
    values: Any, said: Any, heard: Any, source: Any, starts: Any, raw: Any, weights: Any, out: Any
) -> None:
    nodes, heads, width = values.shape
    for i in range(nodes):
        first, last = starts[i], starts[i + 1]
        for h in range(heads):
            top = np.float32(-np.inf)
            for e in range(first, last):
                score = said[source[e], h] + heard[i, h]
                score = score if score > 0 else np.float32(SLOPE) * score
                raw[e, h] = score
                top = max(top, score)
            total = np.float32(0.0)
            for e in range(first, last):
                weights[e, h] = np.exp(raw[e, h] - top)
                total += weights[e, h]
            for e in range(first, last):
                weights[e, h] /= total
                weight, row = weights[e, h], values[source[e], h]
                for c in range(width):
                    out[i, h, c] += weight * row[c]


@compiled(SUMS)
def _backward(
    given: Any, values: Any, source: Any, starts: Any, raw: Any, weights: Any, to_values: Any, to_said: Any,
    to_heard: Any,
) -> None:  # fmt: skip
    nodes, heads, width = values.shape
    shares = np.empty(raw.shape[0], np.float32)
    for i in range(nodes):
        first, last = starts[i], starts[i + 1]
        for h in range(heads):
            mean = np.float32(0.0)
            for e in range(first, last):
                j, weight, share = source[e], weights[e, h], np.float32(0.0)
                row, back, mine = values[j, h], to_values[j, h], given[i, h]
                for c in range(width):
                    share += mine[c] * row[c]
                for c in range(width):
                    back[c] += weight * mine[c]
                shares[e] = share
                mean += weight * share
            for e in range(first, last):
                change = weights[e, h] * (shares[e] - mean)
                change = change if raw[e, h] > 0 else np.float32(SLOPE) * change
                to_said[source[e], h] += change
                to_heard[i, h] += change


def _arrays(*tensors: Tensor) -> Any:
    """As NumPy sees them; those that are written to are contiguous, and not copied."""
    return [tensor.detach().contiguous().numpy() for tensor in tensors]


class _Attend(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, values: Tensor, said: Tensor, heard: Tensor, source: Tensor, starts: Tensor
    ) -> Tensor:
        raw = values.new_empty(len(source), values.shape[1])
        weights, out = torch.empty_like(raw), torch.zeros_like(values)
        tensors = (values, said, heard, source, starts, raw, weights, out)
        _forward(*_arrays(*tensors))
        ctx.save_for_backward(values, source, starts, raw, weights)
        return out

    @staticmethod
    def backward(ctx: Any, *given: Tensor) -> tuple[Tensor | None, ...]:
        values, source, starts, raw, weights = ctx.saved_tensors
        to_values = torch.zeros_like(values)
        to_said, to_heard = values.new_zeros(values.shape[:2]), values.new_zeros(values.shape[:2])
        tensors = (given[0], values, source, starts, raw, weights, to_values, to_said, to_heard)
        _backward(*_arrays(*tensors))
        return to_values, to_said, to_heard, None, None


def attend(values: Tensor, said: Tensor, heard: Tensor, source: Tensor, starts: Tensor) -> Tensor:
    """(P, heads, C): the sum over the edges j -> i of softmax_j LeakyReLU(said_j + heard_i) values_j."""
    if values.device.type == "cpu" and values.dtype == torch.float32:
        _check(source, starts, values.shape[0])  # compiled code would read beyond
        return _Attend.apply(values.contiguous(), said, heard, source, starts)
    return attend_by_torch(values, said, heard, source, starts)


def attend_by_torch(values: Tensor, said: Tensor, heard: Tensor, source: Tensor, starts: Tensor) -> Tensor:
    """The same by torch's own operations."""
    count = values.shape[0]
    target, _ = owners(starts, len(source))
    scores = torch.nn.functional.leaky_relu(said[source] + heard[target], SLOPE)
    spoken = values[source] * segment_softmax(scores, target, count)[:, :, None]
    return segment_sum(spoken.flatten(1), target, count).view_as(values)


def _check(source: Tensor, starts: Tensor, nodes: int) -> None:
    """A ValueError where edges lead out of the graph."""
    if starts.shape != (nodes + 1,) or source.dtype != torch.int64 or starts.dtype != torch.int64:
        raise ValueError(
            f"starts must have {nodes + 1} integers for {nodes} nodes, got {tuple(starts.shape)}"
        )
    wrong = starts[0] != 0 or starts[-1] != len(source) or bool((torch.diff(starts) < 0).any())
    if wrong or (len(source) and not 0 <= int(source.min()) <= int(source.max()) < nodes):
        raise ValueError(f"the edges lead out of the graph of {nodes} nodes")
