"""DGCNN (Wang and others 2019) and VN-DGCNN (Deng and others 2021), whose features are vectors.

Of vector neurons a feature is a list of vectors, (..., 3, C). Linear maps mix the vectors, never their
coordinates; norms and inner products steer the rest. So each layer turns with its input.

The feature and the direction on the edge from i to its neighbour j are p = a_j + b_i and d = a'_j + b'_i,
vectors of each channel. Batch norm needs mean and variance of the lengths |p|; then comes, for every channel,

    v = s p with s = factor + shift / |p|   (the length, normed),    v - 0.8 min(v.d, 0) / (d.d) d,

and the mean over j. Compiled passes find all of these and give gradients back; the tables (P, k, 3, 2C) of
the edges, gigabytes in a batch, are never made. Every inner loop writes one array, so that it vectorises.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
import torch
from torch import Tensor, nn

from heatfield._base.check import check_count
from heatfield.nn.dgcnn import HFSDGCNN, DGCNNParts, nearest
from heatfield.nn.segments import segment_mean_and_max

from .._tools import SUMS, compiled
from .layers import checked_widths, read_out, starts_of


class DGCNN(HFSDGCNN):
    """The published DGCNN: `heatfield.nn.HFSDGCNN` without heat features, on coordinates in space."""

    def __init__(self, n_classes: int, **parts: Unpack[DGCNNParts]) -> None:
        super().__init__(0, 3, n_classes, **parts)

    def forward(self, points: Tensor) -> Tensor:  # type: ignore[override]
        """Logits (B, classes) of clouds (B, m, 3)."""
        rows = points.reshape(-1, 3)
        starts = starts_of(points)
        return super().forward(rows[:, :0], rows, starts)


EPS = 1e-6  # as published: a vector of length 0 has no direction
SLOPE = 0.2
_EPS, _CUT = np.float32(EPS), np.float32(1.0 - SLOPE)
_ZERO, _TWO, _FAR = np.float32(0.0), np.float32(2.0), np.float32(np.inf)


@compiled(SUMS)
def _edge(there: Any, here: Any, edge: Any, length: Any) -> None:
    """Feature and direction (6 C) of an edge, and the length of its feature."""
    width = length.shape[0]
    for c in range(6 * width):
        edge[c] = there[c] + here[c]
    for c in range(width):
        x, y, z = edge[c], edge[2 * width + c], edge[4 * width + c]
        length[c] = np.sqrt(x * x + y * y + z * z) + _EPS


@compiled(SUMS)
def _lengths(a: Any, b: Any, near: Any, sums: Any) -> None:
    rows, width = a.shape[0], a.shape[1] // 6
    edge, length = np.empty(6 * width, np.float32), np.empty(width, np.float32)
    first, second = np.empty(width, np.float32), np.empty(width, np.float32)
    for i in range(rows):
        first[:] = 0.0
        second[:] = 0.0
        for n in range(near.shape[1]):
            _edge(a[near[i, n]], b[i], edge, length)
            for c in range(width):
                first[c] += length[c]
            for c in range(width):
                second[c] += length[c] * length[c]
        for c in range(width):  # few numbers in single, all of them in double precision
            sums[0, c] += first[c]
        for c in range(width):
            sums[1, c] += second[c]


@compiled(SUMS)
def _lengths_back(a: Any, b: Any, near: Any, constant: Any, slope: Any, out_a: Any, out_b: Any) -> None:
    """Each length gets constant + slope length; its vector that in its own direction."""
    rows, width = a.shape[0], a.shape[1] // 6
    edge, length = np.empty(6 * width, np.float32), np.empty(width, np.float32)
    for i in range(rows):
        mine = out_b[i]
        for n in range(near.shape[1]):
            j = near[i, n]
            theirs = out_a[j]
            _edge(a[j], b[i], edge, length)
            for c in range(width):
                bare = length[c] - _EPS
                bare = bare if bare > 0.0 else _FAR
                length[c] = (constant[c] + slope[c] * length[c]) / bare
            for axis in range(3):
                first = 2 * width * axis
                for c in range(width):
                    theirs[first + c] += length[c] * edge[first + c]
                for c in range(width):
                    mine[first + c] += length[c] * edge[first + c]


@compiled(SUMS)
def _dots(edge: Any, first: Any, step: int, second: int, out: Any) -> None:
    """Of vectors in ``first``, coordinates ``step`` apart, with those in the edge from ``second`` on."""
    w = out.shape[0]
    for c in range(w):
        out[c] = (
            first[c] * edge[second + c]
            + first[step + c] * edge[second + 2 * w + c]
            + first[2 * step + c] * edge[second + 4 * w + c]
        )


@compiled(SUMS)
def _cut(a: Any, b: Any, near: Any, factor: Any, shift: Any, out: Any) -> None:
    rows, w, k = a.shape[0], a.shape[1] // 6, near.shape[1]
    edge, length = np.empty(6 * w, np.float32), np.empty(w, np.float32)
    scale, dot, square, cut = np.empty((4, w), np.float32)
    share = np.float32(1.0) / np.float32(k)
    for i in range(rows):
        mine = out[i]
        mine[:] = 0.0
        for n in range(k):
            _edge(a[near[i, n]], b[i], edge, length)
            for c in range(w):
                scale[c] = factor[c] + shift[c] / length[c]
            _dots(edge, edge, 2 * w, w, dot)
            _dots(edge, edge[w:], 2 * w, w, square)
            for c in range(w):
                cut[c] = _CUT * min(scale[c] * dot[c], _ZERO) / (square[c] + _EPS)
            for axis in range(3):
                p, d, o = 2 * axis * w, (2 * axis + 1) * w, axis * w
                for c in range(w):
                    mine[o + c] += scale[c] * edge[p + c] - cut[c] * edge[d + c]
        for c in range(3 * w):
            mine[c] *= share


@compiled(SUMS)
def _cut_back(
    a: Any, b: Any, near: Any, factor: Any, shift: Any, given: Any, out_a: Any, out_b: Any, sums: Any
) -> None:
    """The gradients of edges, and in ``sums`` those of factor and shift.

    With g what comes to v - cut d: cut gets -g.d, and hands it on to v.d and d.d; v gets g and its part of
    v.d, and hands it on to s and p.
    """
    rows, w, k = a.shape[0], a.shape[1] // 6, near.shape[1]
    edge, back = np.empty(6 * w, np.float32), np.empty(6 * w, np.float32)
    length, scale, dot, square, cut, into, to_dot, to_scale, first, second = np.empty((10, w), np.float32)
    coming = np.empty(3 * w, np.float32)
    share = np.float32(1.0) / np.float32(k)
    for i in range(rows):
        mine = out_b[i]
        for c in range(3 * w):
            coming[c] = share * given[i, c]
        first[:] = 0.0
        second[:] = 0.0
        for n in range(k):
            j = near[i, n]
            theirs = out_a[j]
            _edge(a[j], b[i], edge, length)
            for c in range(w):
                scale[c] = factor[c] + shift[c] / length[c]
            _dots(edge, edge, 2 * w, w, dot)
            _dots(edge, edge[w:], 2 * w, w, square)
            _dots(edge, coming, w, w, into)
            _dots(edge, coming, w, 0, to_scale)
            for c in range(w):
                cut[c] = _CUT * min(scale[c] * dot[c], _ZERO) / (square[c] + _EPS)
            for c in range(w):
                to_dot[c] = -_CUT * into[c] / (square[c] + _EPS) if scale[c] * dot[c] < 0.0 else _ZERO
            for c in range(w):
                to_scale[c] += to_dot[c] * dot[c]
            for c in range(w):
                first[c] += to_scale[c]
            for c in range(w):
                second[c] += to_scale[c] / length[c]
            for c in range(w):  # what d.d gets, twice
                square[c] = _TWO * cut[c] * into[c] / (square[c] + _EPS)
            for c in range(w):  # what the length gets, over the length
                bare = length[c] - _EPS
                bare = bare if bare > 0.0 else _FAR
                length[c] = -shift[c] * to_scale[c] / (length[c] * length[c] * bare)
            for axis in range(3):
                p, d, g = 2 * axis * w, (2 * axis + 1) * w, axis * w
                for c in range(w):
                    to_feature = coming[g + c] + to_dot[c] * edge[d + c]
                    back[p + c] = scale[c] * to_feature + length[c] * edge[p + c]
                for c in range(w):
                    to_direction = to_dot[c] * scale[c] * edge[p + c] - cut[c] * coming[g + c]
                    back[d + c] = to_direction + square[c] * edge[d + c]
            for c in range(6 * w):
                theirs[c] += back[c]
            for c in range(6 * w):
                mine[c] += back[c]
        for c in range(w):
            sums[0, c] += first[c]
        for c in range(w):
            sums[1, c] += second[c]


def _arrays(*tensors: Tensor) -> Any:
    """As NumPy sees them, the vectors of a point (3, C) one after the other in a row."""
    plain = [tensor.detach().contiguous().numpy() for tensor in tensors]
    return [array.reshape(len(array), -1) if array.ndim == 3 else array for array in plain]


class _Lengths(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, near: Tensor) -> tuple[Tensor, Tensor]:
        a, b = a.contiguous(), b.contiguous()
        sums = np.zeros((2, a.shape[2] // 2))
        _lengths(*_arrays(a, b, near, torch.from_numpy(sums)))
        mean, mean_square = torch.from_numpy(sums / near.numel()).unbind(0)
        ctx.save_for_backward(a, b, near, mean)
        return mean.to(a.dtype), (mean_square - mean.square()).clamp(min=0.0).to(a.dtype)

    @staticmethod
    def backward(ctx: Any, *given: Tensor) -> tuple[Tensor, Tensor, None]:
        a, b, near, mean = ctx.saved_tensors
        slope = 2.0 * given[1].double() / near.numel()
        constant = given[0].double() / near.numel() - slope * mean
        out_a, out_b = torch.zeros_like(a), torch.zeros_like(b)
        _lengths_back(*_arrays(a, b, near, constant.float(), slope.float(), out_a, out_b))
        return out_a, out_b, None


class _Cut(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, near: Tensor, factor: Tensor, shift: Tensor) -> Tensor:
        a, b = a.contiguous(), b.contiguous()
        out = a.new_empty((a.shape[0], 3, a.shape[2] // 2))
        _cut(*_arrays(a, b, near, factor, shift, out))
        ctx.save_for_backward(a, b, near, factor, shift)
        return out

    @staticmethod
    def backward(ctx: Any, given: Tensor) -> tuple[Tensor | None, ...]:
        a, b, near, factor, shift = ctx.saved_tensors
        out_a, out_b = torch.zeros_like(a), torch.zeros_like(b)
        sums = np.zeros((2, a.shape[2] // 2))
        _cut_back(*_arrays(a, b, near, factor, shift, given, out_a, out_b, torch.from_numpy(sums)))
        to_factor, to_shift = torch.from_numpy(sums).to(a.dtype).unbind(0)
        return out_a, out_b, None, to_factor, to_shift


def edge_lengths(a: Tensor, b: Tensor, near: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance (C,) of the lengths of the features on all edges; a, b (P, 3, 2C), near (P, k)."""
    if a.device.type == "cpu" and a.dtype == torch.float32:
        return _Lengths.apply(a, b, near)
    feature, _ = (a[near] + b[:, None]).chunk(2, dim=3)
    lengths = torch.linalg.vector_norm(feature, dim=2) + EPS
    variance, mean = torch.var_mean(lengths, dim=(0, 1), correction=0)
    return mean, variance


def cut_edges(a: Tensor, b: Tensor, near: Tensor, factor: Tensor, shift: Tensor) -> Tensor:
    """Mean over neighbours (P, 3, C) of the normed and cut features."""
    if a.device.type == "cpu" and a.dtype == torch.float32:
        return _Cut.apply(a, b, near, factor, shift)
    feature, direction = (a[near] + b[:, None]).chunk(2, dim=3)
    lengths = torch.linalg.vector_norm(feature, dim=2, keepdim=True) + EPS
    return leaky(feature * (factor + shift / lengths), direction).mean(dim=1)


def leaky(vectors: Tensor, direction: Tensor) -> Tensor:
    """What points against ``direction`` loses four fifths of its part along it; vectors (..., 3, C)."""
    along = (vectors * direction).sum(dim=-2, keepdim=True)
    square = direction.square().sum(dim=-2, keepdim=True)
    return vectors - (1.0 - SLOPE) * along.clamp(max=0.0) / (square + EPS) * direction


class VectorNorm(nn.Module):
    """Batch norm of the lengths of vectors (P, 3, C), which keep their directions."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.lengths = nn.BatchNorm1d(width)

    def forward(self, vectors: Tensor) -> Tensor:
        # Where a vector is 0, its length has no gradient.
        length = torch.sqrt(vectors.square().sum(dim=1).clamp(min=1e-30)) + EPS
        return vectors * (self.lengths(length) / length)[:, None]


class VectorLayer(nn.Module):
    """Linear, norm of lengths, and the leaky cut along learned directions, of vectors (P, 3, before)."""

    def __init__(self, before: int, after: int, *, one_direction: bool = False) -> None:
        super().__init__()
        self.feature = nn.Linear(before, after, bias=False)
        self.direction = nn.Linear(before, 1 if one_direction else after, bias=False)
        self.norm = VectorNorm(after)

    def forward(self, vectors: Tensor, common: Tensor | None = None) -> Tensor:
        """Of vectors (P, 3, C); beside them ``common`` (B, 3, D), vectors that a cloud has but once."""
        weight = torch.cat([self.feature.weight, self.direction.weight])
        width = vectors.shape[2]
        found = vectors @ weight[:, :width].T
        if common is not None:  # W [x, y] = W1 x + W2 y, and y is there once a cloud
            shared = (common @ weight[:, width:].T)[:, None]
            found = (found.view(len(common), -1, *found.shape[1:]) + shared).flatten(0, 1)
        feature, direction = found.split([len(self.feature.weight), len(self.direction.weight)], dim=2)
        return leaky(self.norm(feature), direction)


class VectorEdges(nn.Module):
    """Mean over neighbours j of a `VectorLayer` of [x_j - x_i, x_i].

    As in `heatfield.nn`'s EdgeConv the products run over points: W1 (x_j - x_i) + W2 x_i = W1 x_j + (W2 - W1)
    x_i.
    """

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.feature = nn.Parameter(torch.empty(after, 2 * before))
        self.direction = nn.Parameter(torch.empty(after, 2 * before))
        for weight in (self.feature, self.direction):
            nn.init.kaiming_uniform_(weight, a=math.sqrt(5))
        self.norm = VectorNorm(after)

    def forward(self, vectors: Tensor, near: Tensor) -> Tensor:
        """(P, 3, after) from vectors (P, 3, before) and the rows of the neighbours (P, k)."""
        to_neighbour, own = torch.cat([self.feature, self.direction]).chunk(2, dim=1)
        there, here = vectors @ to_neighbour.T, vectors @ (own - to_neighbour).T
        norm = self.norm.lengths
        if self.training:
            mean, variance = edge_lengths(there, here, near)
            with torch.no_grad():
                count = near.numel()
                norm.running_mean.lerp_(mean, norm.momentum)
                norm.running_var.lerp_(variance * (count / max(1, count - 1)), norm.momentum)
                norm.num_batches_tracked += 1
        else:
            mean, variance = norm.running_mean, norm.running_var
        factor = norm.weight / torch.sqrt(variance + norm.eps)
        return cut_edges(there, here, near, factor, norm.bias - mean * factor)


class VNDGCNN(nn.Module):
    """The published classifier with mean pooling over neighbours.

    A third of DGCNN's widths, as each feature has three coordinates: edges 21, 21, 42, 85 with k = 20 (the
    point itself is one); all joined to 341 vectors, which share one direction; their mean beside them; a
    frame of three vectors learned from all, in whose coordinates nothing turns; maximum and mean over points;
    512, 256 with dropout 0.5. A shift of the cloud changes the logits: clouds are to be centred, as the
    estimator does.
    """

    def __init__(
        self,
        n_classes: int,
        *,
        k: int = 20,
        widths: Sequence[int] = (21, 21, 42, 85),
        embedding: int = 341,
        head: Sequence[int] = (512, 256),
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        self.k = check_count(k, "k", 1)
        sizes = checked_widths(widths, "widths")
        self.edges = nn.ModuleList(
            VectorEdges(before, after) for before, after in zip([1, *sizes], sizes, strict=False)
        )
        self.joined = VectorLayer(sum(sizes), check_count(embedding, "embedding", 1), one_direction=True)
        few = max(1, embedding // 2)
        self.frame = nn.ModuleList([VectorLayer(2 * embedding, embedding), VectorLayer(embedding, few)])
        self.axes = nn.Linear(few, 3, bias=False)
        # Coordinates of twice as many vectors, their maximum and mean.
        self.head = read_out(12 * embedding, head, n_classes, dropout, nn.LeakyReLU(SLOPE))

    def forward(self, points: Tensor) -> Tensor:
        """Logits (B, classes) of clouds (B, m, 3)."""
        batch, m, _ = points.shape
        starts = starts_of(points)
        vectors = points.reshape(-1, 3, 1)
        outputs = []
        for place, edge in enumerate(self.edges):
            near = nearest(vectors.detach().flatten(1), starts, self.k, exact=place == 0)
            vectors = edge(vectors, near)
            outputs.append(vectors)
        vectors = self.joined(torch.cat(outputs, dim=2))
        common = vectors.view(batch, m, *vectors.shape[1:]).mean(dim=1)
        axes = self.axes(self.frame[1](self.frame[0](vectors, common)))
        # Inner products of all vectors, and of their mean, with three that turn with the cloud.
        own = torch.bmm(vectors.transpose(1, 2), axes)
        theirs = torch.einsum("bnc,bmnk->bmck", common, axes.view(batch, m, 3, 3)).flatten(0, 1)
        mean, most = segment_mean_and_max(torch.cat([own, theirs], dim=1).flatten(1), starts)
        return self.head(torch.cat([most, mean], dim=1))
