"""From points to the heat at each of them and back: by the core on the processor, elsewhere by torch.

The core's sums are in the precision of the points; what follows from them is in double precision. Forward
and backward give the same bits for any number of threads; their number is torch's.
"""

from __future__ import annotations

from dataclasses import dataclass
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
from ..core import formulas
from ..core.clouds import Batch
from ..core.evaluate import PIECE, Outputs, signatures_from_sums, totals
from ..core.moments import FIRST, LOG_ACCURACY, ROOT_SQUARE, ROOT_WEIGHT, Sums
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


def heat(points: Tensor, mask: Tensor, times: Tensor, *, exact: bool, spectrum: bool) -> tuple[Tensor, ...]:
    """u, d, tau (B, m, T), spectrum (B, m, T, n), and the sums of g and of g D**2 / 8t (B, T), in double.

    Each cloud spans between 1 and 2 (`heat.in_unit`). What is not wanted is empty.
    """
    request = Request(
        tol=0.0, directions=spectrum, fourth_moment=exact, energy=True, method="dense",
        dtype=np.dtype(np.float32 if points.dtype == torch.float32 else np.float64),
        n_threads=torch.get_num_threads(),
    )  # fmt: skip
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
        nothing = np.zeros(0)
        return [
            self._padded(found.density[None], 1.0)[..., 0],
            self._padded(found.dimension[None])[..., 0],
            self._padded(found.transition[None])[..., 0] if found.exact else nothing,
            nothing if found.spectrum is None else self._padded(found.spectrum),
            self._in_order(weight),
            self._in_order(square / (8.0 * self.times.T)),
        ]

    def back(self, given: list[NDArray | None]) -> tuple[Array, Array]:
        """Gradients of the padded points and of the times, from those of the outputs."""
        by_sums = np.zeros_like(self.sums)
        by_times = self._formulas_back([None if g is None else self._packed(g) for g in given[:4]], by_sums)
        weight, square = (
            None if g is None else np.take_along_axis(g, self.steps, axis=1).T for g in given[4:]
        )
        if weight is not None:
            by_sums[ROOT_WEIGHT] = self._at_points(weight)
        if square is not None:
            by_sums[ROOT_SQUARE] = self._at_points(square / (8.0 * self.times))
            by_times -= square * self._energies()[1].T / (8.0 * self.times**2)
        fourth, directions = (g is not None for g in given[2:4])
        energy = weight is not None or square is not None
        by_points, more = self._pairs_back(by_sums, fourth, directions, energy)
        out = np.zeros((self.shape[0] * self.shape[1], self.shape[2]))
        out[self.rows] = by_points.T
        return out.reshape(self.shape), self._in_order((by_times + more).T)

    def _formulas_back(self, given: list[Array | None], by_sums: Array) -> Array:
        """From gradients of u, d, tau, spectrum (..., T, total) to those of the sums, and of times (T, B)."""
        unit, n = self._at_points(self.times), self.batch.n
        by_unit = np.zeros(unit.shape)
        u, d, tau, spectrum = given

        def work(first: int, last: int) -> None:
            columns = [torch.tensor(c[:, first:last]).requires_grad_() for c in (*self.sums, unit)]
            s, t = Sums(columns[:-1], n), columns[-1]
            found: list[tuple[Tensor, Array]] = []
            with torch.enable_grad():
                if u is not None:
                    found.append((formulas.density(s.weight, formulas.heat_factor(t, n)), u[:, first:last]))
                if d is not None:
                    found.append((formulas.dimension(s.weight, s.square, t), d[:, first:last]))
                if tau is not None:
                    exact = formulas.transition_exact(s.weight, s.square, s.fourth, t)
                    found.append((exact, tau[:, first:last]))
                if spectrum is not None:
                    entries = torch.stack([*formulas.scaled_covariance(s.weight, s.first, s.second, t, n)])
                    found.append((entries, _eigenvalues_back(entries, spectrum[:, :, first:last])))
            slopes = torch.autograd.grad(
                [x for x, _ in found], columns, [torch.tensor(g) for _, g in found], allow_unused=True
            )
            for out, slope in zip((*by_sums, by_unit), slopes, strict=True):
                if slope is not None:
                    out[:, first:last] = slope.numpy()

        if any(g is not None for g in given):
            run_pieces(work, pieces(self.batch.total, _POINTS), torch.get_num_threads())
        return totals(by_unit, self.batch.ends).T

    def _pairs_back(
        self, by_sums: Array, fourth: bool, directions: bool, energy: bool
    ) -> tuple[Array, Array]:
        """From gradients of the sums to those of points (n, total) and times (T, B)."""
        batch, dtype = self.batch, self.request.dtype
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

    def _padded(self, values: Array, filling: float = 0.0) -> Array:
        """(width, T, total) as (B, m, T, width)."""
        out = np.full((self.shape[0] * self.shape[1], values.shape[1], len(values)), filling)
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


def _eigenvalues_back(entries: Tensor, given: Array) -> Array:
    """From gradients of eigenvalues (n, T, q) to those of upper triangles: V diag(g) V'.

    Finite also where eigenvalues coincide.
    """
    packed = entries.detach().numpy()
    out = np.empty_like(packed)
    flat = (x.reshape(len(x), -1) for x in (packed, np.ascontiguousarray(given), out))
    _core.eigenvalues_back(*flat)
    return out


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


def local_sums(
    points: Tensor, mask: Tensor, times: Tensor, first: int, last: int, exact: bool, spectrum: bool
) -> tuple[Tensor, ...]:
    """W, d_heat, tau (empty unless ``exact``) (B, rows, T) and 2t lambda (B, rows, T, n).

    W is the sum of w = exp(-D**2 / 4t); the density is (4 pi t)**(-n/2) W.
    """
    # Where a network runs in mixed precision, its matrix products are in half: too few digits for a spectrum.
    with torch.autocast(points.device.type, enabled=False):
        return _local_sums(points, mask, times, first, last, exact, spectrum)


def _local_sums(
    points: Tensor, mask: Tensor, times: Tensor, first: int, last: int, exact: bool, spectrum: bool
) -> tuple[Tensor, ...]:
    r, d2 = squared_distances(points, first, last)
    n, counted = points.shape[2], mask[:, None, :]
    columns: list[list[Tensor]] = [[], [], [], []]
    for t in times.unbind(dim=1):
        t = t[:, None]  # (B, 1): over the rows
        w = torch.where(counted, torch.exp(-d2 / (4.0 * t[:, :, None])), 0.0)
        weight, square = w.sum(dim=2), (w * d2).sum(dim=2)
        d = formulas.dimension(weight, square, t)
        columns[0].append(weight)
        columns[1].append(d)
        if (
            exact
        ):  # `formulas.transition_exact` in two passes: in single precision its difference would cancel
            variance = (w * (d2 - (square / weight)[:, :, None]).square()).sum(dim=2) / weight
            columns[2].append(variance / (8.0 * t.square()) - d)
        if spectrum:
            vector = (w[:, :, None, :] @ r)[:, :, 0]
            second = (w[:, :, :, None] * r).transpose(2, 3) @ r
            upper = [second[..., k, l] for k in range(n) for l in range(k, n)]
            entries = [*formulas.scaled_covariance(weight, vector.unbind(2), upper, t, n)]
            place = {pair: e for e, pair in enumerate((k, l) for k in range(n) for l in range(k, n))}
            matrix = [entries[place[min(k, l), max(k, l)]] for k in range(n) for l in range(n)]
            # Eigenvalues alone have the gradient V diag(g) V', finite also where they coincide.
            values = torch.linalg.eigvalsh(torch.stack(matrix, dim=2).unflatten(2, (n, n)))
            columns[3].append(formulas.spectrum(values.flip(-1)))
    empty = points.new_zeros(0)
    return tuple(torch.stack(c, dim=2) if c else empty for c in columns)


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
