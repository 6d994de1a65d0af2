"""From points to the heat at each of them and back: by the core on the processor, elsewhere by torch.

The core's sums are in the precision of the points; what follows from them is in double precision. Forward
and backward give the same bits for any number of threads; their number is torch's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.autograd.forward_ad import unpack_dual
from torch.autograd.function import once_differentiable

from .. import _core
from .._base.check import Array
from .._base.threads import pieces, run_pieces
from ..channels import Channel
from ..core import formulas
from ..core.clouds import Batch
from ..core.evaluate import PIECE, Outputs, PointSums, eigenvalues, signatures_from_sums, totals
from ..core.moments import FIRST, LOG_ACCURACY, ROOT_SQUARE, ROOT_WEIGHT
from ..core.planner import Request
from ..core.sums import dense_sums

_MOST_DIMENSIONS = 3  # of the kernels that go back
_ROWS = 128  # of a cloud that add to one table of gradients, at least
_TABLES = 16  # of gradients, at most
_PAIRS = 1e6  # of a piece of work, about
_CALL = 2e7  # of a call, so that Ctrl-C answers
_POINTS = 2048  # whose formulas are derived together: so few that torch takes no threads of its own for them


# --- by the core ---------------------------------------------------------------------


def is_eager() -> bool:
    """Whether operations are carried out, not recorded to be compiled by torch."""
    compiling = getattr(torch.compiler, "is_compiling", lambda: False)  # from torch 2.3 on
    return not (torch.jit.is_tracing() or compiling())


def is_known(points: Tensor) -> bool:
    """Whether the numbers can be looked at: not while torch records, or derives by wrapped tensors."""
    return is_eager() and not torch._C._functorch.is_functorch_wrapped_tensor(points)


def can_compute(points: Tensor, times: object = None) -> bool:
    """Whether these are plain numbers in this processor's memory that need no more than first derivatives."""
    tensors = [t for t in (points, times) if isinstance(t, Tensor)]
    if len(points) == 0 or not is_eager():
        return False
    for t in tensors:
        if t.device.type != "cpu" or type(t) not in (Tensor, torch.nn.Parameter):
            return False
        if torch._C._functorch.is_functorch_wrapped_tensor(t) or unpack_dual(t).tangent is not None:
            return False
    back = torch.is_grad_enabled() and any(t.requires_grad for t in tensors)
    return not back or points.shape[2] <= _MOST_DIMENSIONS


def heat(points: Tensor, mask: Tensor, times: Tensor, request: Request) -> tuple[Tensor, ...]:
    """The channels with a formula, (B, m, T[, n]), and the sums of g and g D**2 / 8t (B, T), in double.

    Each cloud spans between 1 and 2 (`heat.in_unit`).
    """
    return _Heat.apply(points.double(), times.double(), mask, request)


class _Heat(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, points: Tensor, times: Tensor, mask: Tensor, request: Request) -> Any:
        table, own, counted = (t.detach().contiguous().numpy() for t in (points, times, mask))
        kept = _Forward.of(table, counted, own, request)
        ctx.kept = kept if any(ctx.needs_input_grad[:2]) else None
        ctx.set_materialize_grads(False)
        return tuple(map(torch.from_numpy, kept.outputs()))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *given: Tensor | None) -> tuple[Tensor | None, ...]:
        by_output = [None if g is None or g.numel() == 0 else g.contiguous().numpy() for g in given]
        by_points, by_times = ctx.kept.back(by_output)
        return torch.from_numpy(by_points), torch.from_numpy(by_times), None, None


@dataclass
class _Forward:
    """A batch with its sums: what the backward pass needs of the forward one."""

    batch: Batch
    shape: tuple[int, int, int]  # of the padded table
    rows: NDArray[np.int64]  # of the padded table, of the points of the batch
    steps: NDArray[np.int64]  # (B, T) which times, increasing
    times: Array  # (T, B) increasing
    sums: Array  # (columns, T, total)
    request: Request

    @classmethod
    def of(cls, points: Array, mask: NDArray, times: Array, request: Request) -> _Forward:
        real = np.flatnonzero(mask.ravel())
        orders = np.empty(len(real), np.int64)
        packed = points.reshape(-1, points.shape[2])[real]
        batch = Batch.packed(packed, np.cumsum(mask.sum(axis=1)), request.n_threads, orders)
        steps = np.argsort(times, axis=1, kind="stable")
        rising = np.ascontiguousarray(np.take_along_axis(times, steps, axis=1).T)
        sums = dense_sums(batch, rising, request)
        return cls(batch, points.shape, real[orders], steps, rising, sums, request)

    @cached_property
    def channels(self) -> list[Channel]:
        """Those that are computed here, by their formulas."""
        return [channel for channel in self.request.channels if channel.formula is not None]

    def outputs(self) -> list[Array]:
        """The padded tables."""
        n, steps, total = self.batch.n, len(self.times), self.batch.total
        found = Outputs.empty(n, steps, total, self.request)
        unit = self._at_points(self.times)

        def work(first: int, last: int) -> None:
            own = np.ascontiguousarray(unit[:, first:last])
            part = found.part(slice(None), slice(first, last))
            signatures_from_sums(
                self.sums[:, :, first:last].copy(), own, formulas.heat_factor(own, n), n, part
            )

        run_pieces(work, pieces(total, PIECE), self.request.n_threads)
        weight, square = self._energies()
        return [
            *(self._padded(found[c.name], 1.0 if c.log else 0.0) for c in self.channels),
            self._in_order(weight),
            self._in_order(square / (8.0 * self.times.T)),
        ]

    def back(self, given: list[NDArray | None]) -> tuple[Array, Array]:
        """Gradients of the padded points and of the times, from those of the outputs."""
        by_sums = np.zeros_like(self.sums)
        weight, square = (
            None if g is None else np.take_along_axis(g, self.steps, axis=1).T for g in given[-2:]
        )
        slopes = {c: self._packed(g) for c, g in zip(self.channels, given, strict=False) if g is not None}
        by_times = self._formulas_back(slopes, by_sums)
        if weight is not None:
            by_sums[ROOT_WEIGHT] = self._at_points(weight)
        if square is not None:
            by_sums[ROOT_SQUARE] = self._at_points(square / (8.0 * self.times))
            by_times -= square * self._energies()[1].T / (8.0 * self.times**2)
        needed = {part for channel in slopes for part in channel.sums}
        if weight is not None or square is not None:
            needed.add("energy")
        by_points, more = self._pairs_back(by_sums, needed)
        out = np.zeros((self.shape[0] * self.shape[1], self.shape[2]))
        out[self.rows] = by_points.T
        return out.reshape(self.shape), self._in_order((by_times + more).T)

    def _formulas_back(self, given: dict[Channel, Array], by_sums: Array) -> Array:
        """From gradients of channels (..., T, total) to those of the sums, and of times (T, B)."""
        unit, n = self._at_points(self.times), self.batch.n
        by_unit = np.zeros(unit.shape)

        def work(first: int, last: int) -> None:
            columns = [torch.tensor(c[:, first:last]).requires_grad_() for c in (*self.sums, unit)]
            with torch.enable_grad():
                sums = TensorSums(columns[:-1], n, columns[-1], formulas.heat_factor(columns[-1], n))
                found = [channel.formula(sums) for channel in given]  # type: ignore[misc]  # not None
            slopes = torch.autograd.grad(
                found, columns, [torch.tensor(g[..., first:last]) for g in given.values()], allow_unused=True
            )
            for out, slope in zip((*by_sums, by_unit), slopes, strict=True):
                if slope is not None:
                    out[:, first:last] = slope.numpy()

        if given:
            run_pieces(work, pieces(self.batch.total, _POINTS), torch.get_num_threads())
        return totals(by_unit, self.batch.ends).T

    def _pairs_back(self, by_sums: Array, needed: set[str]) -> tuple[Array, Array]:
        """From gradients of the sums that are needed to those of points (n, total) and times (T, B)."""
        batch, dtype = self.batch, self.request.dtype
        fourth, directions, energy = (name in needed for name in ("fourth_moment", "directions", "energy"))
        # Rows add to tables of their own, by their number in the cloud alone: the same bits in any batch.
        rows = np.maximum(_ROWS, -(-batch.sizes // _TABLES))
        tables = int((-(-batch.sizes // rows)).max())
        by_points = np.zeros((tables, batch.n, batch.total))
        by_times = np.zeros((tables, *self.times.shape))
        given = by_sums if directions else by_sums[:FIRST]
        step = max(1, int(_CALL / batch.sizes.max()))

        def work(first: int, last: int) -> None:
            for at in range(first, last, step):
                _core.dense_back(
                    batch.sources, batch.boxes, batch.ends, batch.nearest, self.times, batch.n,
                    LOG_ACCURACY[dtype], dtype == np.float32, given, fourth, directions, energy,
                    rows, at, min(last, at + step), by_points, by_times,
                )  # fmt: skip

        run_pieces(work, _runs(batch, rows), torch.get_num_threads())
        return by_points.sum(axis=0), by_times.sum(axis=0) / (4.0 * self.times**2)

    def _energies(self) -> Array:
        """Totals (2, B, T) of the sums of g and g D**2."""
        return totals(self.sums[ROOT_WEIGHT : ROOT_SQUARE + 1], self.batch.ends).swapaxes(0, 1)

    def _at_points(self, values: Array) -> Array:
        """Numbers (T, B) of the clouds as (T, total)."""
        return np.repeat(values, self.batch.sizes, axis=1)

    def _in_order(self, values: Array) -> Array:
        """Numbers (B, T) of increasing times in the caller's order."""
        out = np.empty_like(values)
        np.put_along_axis(out, self.steps, values, axis=1)
        return out

    def _steps_of_points(self) -> Any:
        """An index of the padded table (rows, T): of all points of the batch, their times increasing."""
        if (self.steps == np.arange(self.steps.shape[1])).all():
            return self.rows
        return self.rows[:, None], np.repeat(self.steps, self.batch.sizes, axis=0)

    def _padded(self, values: Array, filling: float) -> Array:
        """(T, total) as (B, m, T), or (width, T, total) as (B, m, T, width)."""
        out = np.full((self.shape[0] * self.shape[1], *values.T.shape[1:]), filling)
        out[self._steps_of_points()] = values.T
        return out.reshape(*self.shape[:2], *out.shape[1:])

    def _packed(self, values: NDArray) -> Array:
        """(B, m, T) or (B, m, T, width) as (T, total) or (width, T, total)."""
        found = values.reshape(-1, *values.shape[2:])[self._steps_of_points()]
        return np.ascontiguousarray(found.T)


def _runs(batch: Batch, rows: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Runs of points of about equal work in which rows that add to one table are together."""
    ends = batch.ends.tolist()
    cuts = np.concatenate(
        [
            np.arange(end - m, end, r)
            for end, m, r in zip(ends, batch.sizes.tolist(), rows.tolist(), strict=True)
        ]
    )
    owner = np.searchsorted(batch.ends, cuts, side="right")
    work = np.cumsum(np.minimum(rows, batch.sizes)[owner] * batch.sizes[owner])
    first = cuts[np.diff(work // _PAIRS, prepend=-1) > 0].tolist()
    return list(zip(first, [*first[1:], batch.total], strict=True))


class _Eigenvalues(torch.autograd.Function):
    """Eigenvalues (n, ...) of upper triangles; backward V diag(g) V', finite also where they coincide."""

    @staticmethod
    def forward(ctx: Any, packed: Tensor, n: int) -> Tensor:
        ctx.packed = packed.detach().numpy().reshape(len(packed), -1)
        return torch.from_numpy(eigenvalues(ctx.packed, n)).reshape(n, *packed.shape[1:])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, given: Tensor) -> tuple[Tensor, None]:
        out = np.empty_like(ctx.packed)
        _core.eigenvalues_back(ctx.packed, given.contiguous().numpy().reshape(len(given), -1), out)
        return torch.from_numpy(out).reshape(len(out), *given.shape[1:]), None


class TensorSums(PointSums):
    """Sums as tensors, so that torch derives the formulas."""

    @cached_property
    def packed(self) -> Tensor:
        """Upper triangles of the scaled covariance."""
        entries = formulas.scaled_covariance(self.weight, self.first, self.second, self.t, self.n)
        return torch.stack([*entries])

    @cached_property
    def extents(self) -> Tensor:
        """The eigenvalues of the scaled covariance, largest first."""
        return _Eigenvalues.apply(self.packed, self.n)


def neighbours(points: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Nearest distinct point (B, m); which points count (first of their place, B, m); the farthest two.

    Of several at the same distance the first counts.
    """
    counted, width = mask.numpy(), mask.shape[1]
    real = np.flatnonzero(counted.ravel())
    packed = points.detach().double().reshape(-1, points.shape[2]).numpy()[real]
    sizes = counted.sum(axis=1)
    ends, total = np.cumsum(sizes), len(real)
    near, far, longest = np.empty(total, np.int64), np.empty(total, np.int64), np.empty(total)
    rows = max(1, int(_PAIRS / sizes.max()))
    run_pieces(
        lambda first, last: _core.extremes(packed, ends, first, last, near, longest, far),
        pieces(total, rows),
        torch.get_num_threads(),
    )
    begins = ends - sizes
    at, owner = real % width, np.repeat(begins, sizes)
    nearest, distinct = np.zeros(counted.size, np.int64), np.zeros(counted.size, np.bool_)
    nearest[real], distinct[real] = at[owner + np.maximum(near, 0)], near >= 0
    one = [first + int(longest[first:last].argmax()) for first, last in zip(begins, ends, strict=True)]
    pairs = np.stack([at[one], at[begins + far[one]]], axis=1)
    found = nearest.reshape(counted.shape), distinct.reshape(counted.shape), pairs
    return torch.from_numpy(found[0]), torch.from_numpy(found[1]), torch.from_numpy(found[2])


# --- by torch: some rows of a batch of clouds at a time --------------------------------
#
# Squared distances come from differences, never from |a|**2 + |b|**2 - 2ab, which cancels.


def squared_distances(points: Tensor, first: int, last: int) -> tuple[Tensor, Tensor]:
    """r[b, i, j] = x_j - x_i for rows first..last, and D2 = |r|**2."""
    r = points[:, None, :, :] - points[:, first:last, None, :]
    return r, (r * r).sum(dim=3)


@torch.no_grad()
def neighbours_by_torch(points: Tensor, mask: Tensor, rows: int) -> tuple[Tensor, Tensor, Tensor]:
    """Nearest distinct point (B, m); which points count (first of their place, B, m); the farthest two."""
    batch, m, _ = points.shape
    nearest = torch.zeros((batch, m), dtype=torch.long, device=points.device)
    distinct = torch.zeros((batch, m), dtype=torch.bool, device=points.device)
    best = torch.full((batch,), -1.0, dtype=points.dtype, device=points.device)
    ends = torch.zeros((batch, 2), dtype=torch.long, device=points.device)
    place = torch.arange(m, device=points.device)
    for first in range(0, m, rows):
        last = min(m, first + rows)
        _, d2 = squared_distances(points, first, last)
        both = mask[:, None, :] & mask[:, first:last, None]
        same = both & (d2 == 0.0)
        gaps = torch.where(both & ~same, d2, torch.inf)
        shortest, nearest[:, first:last] = gaps.min(dim=2)
        earlier = (same & (place[None, None, :] < place[None, first:last, None])).any(dim=2)
        distinct[:, first:last] = mask[:, first:last] & ~earlier & torch.isfinite(shortest)
        longest, at = torch.where(both, d2, -1.0).flatten(1).max(dim=1)
        better = longest > best
        best = torch.where(better, longest, best)
        found = torch.stack([first + at // m, at % m], dim=1)
        ends = torch.where(better[:, None], found, ends)
    return nearest, distinct, ends


class RowSums(TensorSums):
    """The sums (B, rows) of some rows at the times t (B, 1), each taken when it is asked for."""

    def __init__(self, r: Tensor, d2: Tensor, counted: Tensor, t: Tensor) -> None:
        self.n, self.t, self.factor = r.shape[3], t, 1.0
        self.r, self.d2 = r, d2
        self.w = torch.where(counted, torch.exp(-d2 / (4.0 * t[:, :, None])), 0.0)
        self.weight, self.square = self.w.sum(dim=2), (self.w * d2).sum(dim=2)

    @cached_property
    def variance(self) -> Tensor:
        """In two passes: in single precision a difference of sums would cancel."""
        apart = self.d2 - (self.square / self.weight)[:, :, None]
        return (self.w * apart.square()).sum(dim=2) / self.weight

    @cached_property
    def fourth(self) -> Tensor:
        """Of w D**4."""
        return (self.w * self.d2.square()).sum(dim=2)

    @cached_property
    def first(self) -> Tensor:
        """Of w r, (n, B, rows)."""
        return (self.w[:, :, None, :] @ self.r)[:, :, 0].movedim(2, 0)

    @cached_property
    def second(self) -> Tensor:
        """Of w r r', (n (n+1) / 2, B, rows)."""
        full = (self.w[:, :, :, None] * self.r).transpose(2, 3) @ self.r
        rows, columns = torch.triu_indices(self.n, self.n)
        return full[..., rows, columns].movedim(2, 0)

    @cached_property
    def extents(self) -> Tensor:
        """Eigenvalues alone have the gradient V diag(g) V', finite also where they coincide."""
        place = torch.zeros((self.n, self.n), dtype=torch.long)
        rows, columns = torch.triu_indices(self.n, self.n)
        place[rows, columns] = place[columns, rows] = torch.arange(len(rows))
        matrices = self.packed.movedim(0, 2)[..., place]
        return torch.linalg.eigvalsh(matrices).flip(-1).movedim(2, 0)


def local_sums(
    points: Tensor, mask: Tensor, times: Tensor, first: int, last: int, channels: Sequence[Channel]
) -> tuple[Tensor, ...]:
    """Channels (B, rows, T[, n]) at some rows by their formulas; the density without its factor."""
    # Where a network runs in mixed precision, its matrix products are in half: too few digits for a spectrum.
    with torch.autocast(points.device.type, enabled=False):
        r, d2 = squared_distances(points, first, last)
        each = (RowSums(r, d2, mask[:, None, :], t[:, None]) for t in times.unbind(dim=1))
        found = [[c.formula(sums) for c in channels] for sums in each]  # type: ignore[misc]  # not None
        whole = (torch.stack(parts, dim=-1) for parts in zip(*found, strict=True))
        return tuple(x.movedim(0, -1) if c.per_axis else x for c, x in zip(channels, whole, strict=True))


def energy_sums(points: Tensor, mask: Tensor, times: Tensor, first: int, last: int) -> tuple[Tensor, Tensor]:
    """The sums over pairs of g = exp(-D**2 / 8t) and of D**2 g, (B, T), of some rows."""
    _, d2 = squared_distances(points, first, last)
    both = mask[:, None, :] & mask[:, first:last, None]
    weights, squares = [], []
    for t in times.unbind(dim=1):
        g = torch.where(both, torch.exp(-d2 / (8.0 * t[:, None, None])), 0.0)
        weights.append(g.sum(dim=(1, 2)))
        squares.append((g * d2).sum(dim=(1, 2)))
    return torch.stack(weights, dim=1), torch.stack(squares, dim=1)
