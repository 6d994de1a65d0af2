"""The sums of `_heat` on the processor: the compiled core forward, compiled kernels backward.

The sums are in the precision of the points; what follows from them is in double precision, as in the core.
Forward and backward give the same bits for any number of threads; their number is torch's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.autograd.forward_ad import unpack_dual
from torch.autograd.function import once_differentiable

from .._base.check import Array
from .._base.threads import even_pieces, pieces, run_pieces
from .._cloud.cloud import ArrangedCloud
from .._signatures import equations
from .._sums.columns import LOG_ACCURACY, ROOT_SQUARE, ROOT_WEIGHT, Request
from .._sums.dense import one_blas_thread, pair_sums
from ._pair_gradients import LANES, boxes_and_reaches, pair_gradients
from ._sum_gradients import radial_gradients, spectral_gradients

_MOST_DIMENSIONS = 3  # of the kernels that go back
_ROWS = 128  # of points in a piece of the backward pass, at least
_PIECES = 16  # at most: each has its own table of gradients


def runs_now() -> bool:
    """Whether operations are carried out, not recorded to be compiled by torch."""
    compiling = getattr(torch.compiler, "is_compiling", lambda: False)  # from torch 2.3 on
    return not (torch.jit.is_tracing() or compiling())


def is_known(points: Tensor) -> bool:
    """Whether the numbers can be looked at: not while torch records, or derives by wrapped tensors."""
    return runs_now() and not torch._C._functorch.is_functorch_wrapped_tensor(points)


def can_compute(points: Tensor, times: object = None) -> bool:
    """Whether these are plain numbers in this processor's memory that need no more than first derivatives."""
    tensors = [t for t in (points, times) if isinstance(t, Tensor)]
    if not runs_now():
        return False
    for t in tensors:
        if t.device.type != "cpu" or type(t) not in (Tensor, torch.nn.Parameter):
            return False
        if torch._C._functorch.is_functorch_wrapped_tensor(t) or unpack_dual(t).tangent is not None:
            return False
    back = torch.is_grad_enabled() and any(t.requires_grad for t in tensors)
    return not back or points.shape[2] <= _MOST_DIMENSIONS


class Wanted(NamedTuple):
    """What to compute."""

    exact: bool  # the transition in closed form
    spectrum: bool
    dtype: np.dtype[Any]  # to sum in


@dataclass
class _Cloud:
    """One cloud of a batch: what the backward pass needs of the forward one."""

    cloud: ArrangedCloud
    rows: NDArray[np.int64]  # of the padded table, in kd order
    steps: NDArray[np.int64]  # which times, increasing
    times: Array  # (1, T) increasing
    unit: Array  # the same in the unit of the sums
    sums: Array  # (m, T, columns)

    @classmethod
    def of(cls, points: Array, mask: NDArray, times: Array, wanted: Wanted, n_threads: int) -> _Cloud:
        real = np.flatnonzero(mask)
        cloud = ArrangedCloud.of(np.ascontiguousarray(points[real]), n_threads)
        steps = np.argsort(times, kind="stable")
        rising = times[None, steps]
        unit = np.ldexp(rising, -2 * cloud.exponent)
        request = Request(
            tol=0.0, directions=wanted.spectrum, fourth_moment=wanted.exact, energy=True, method="dense",
            dtype=wanted.dtype, n_threads=n_threads,
        )  # fmt: skip
        return cls(cloud, real[cloud.order], steps, rising, unit, pair_sums(cloud, unit, request))

    def write(self, b: int, wanted: Wanted, outputs: list[NDArray]) -> None:
        """The signatures into row b of each output."""
        n = self.cloud.points.shape[0]
        u, d, tau, spectrum, weight, square = outputs
        at = np.ix_(self.rows, self.steps)
        u[b][at] = equations.density(self.sums, self.times, n)
        own = equations.dimension(self.sums, self.unit)
        d[b][at] = own
        if wanted.exact:
            tau[b][at] = equations.transition_exact(self.sums, self.unit, own)
        if wanted.spectrum:
            spectrum[b][at] = equations.spectrum(self.sums, self.unit, n)
        weight[b, self.steps] = self.sums[:, :, ROOT_WEIGHT].sum(axis=0)
        square[b, self.steps] = self.sums[:, :, ROOT_SQUARE].sum(axis=0) / (8.0 * self.unit[0])

    def back(
        self, b: int, given: list[NDArray | None], wanted: Wanted, n_threads: int
    ) -> tuple[Array, Array]:
        """Gradients of the points (m, n), in kd order, and of the increasing times (T,)."""
        n, m = self.cloud.points.shape
        unit = self.unit[0]
        count = len(unit)
        none = np.zeros((m, count))
        at = np.ix_(self.rows, self.steps)
        by_u, by_d, by_tau, by_spectrum = (None if g is None else g[b][at] for g in given[:4])
        radial: Array = np.empty((count, 2, m))
        h4: Array = np.empty((count, m if by_tau is not None else 0))
        by_t = np.zeros(count)
        radial_gradients(
            self.sums, unit, n, (4.0 * np.pi * self.times[0]) ** (-n / 2),
            none if by_u is None else by_u, none if by_d is None else by_d,
            none[:0] if by_tau is None else by_tau, radial, h4, by_t,
        )  # fmt: skip
        h: Array = radial
        if by_spectrum is not None:
            h = np.empty((count, 1 + n + n * (n + 1) // 2, m))
            spectral_gradients(self.sums, unit, by_spectrum, radial, h, by_t)
            if n == 1:  # as in the plane, the second axis empty
                nothing = np.zeros((count, m))
                h = np.stack([h[:, 0], h[:, 1], nothing, h[:, 2], nothing, nothing], axis=1)
        energy: Array = np.zeros((count, 0))
        if given[4] is not None or given[5] is not None:
            energy = np.zeros((count, 2))
            if given[4] is not None:
                energy[:, 0] = given[4][b, self.steps]
            if given[5] is not None:
                energy[:, 1] = given[5][b, self.steps] / (8.0 * unit)
                by_t -= energy[:, 1] * self.sums[:, :, ROOT_SQUARE].sum(axis=0) / unit
        blocks = -(-m // LANES)
        columns = np.zeros((3, blocks * LANES))
        columns[:n, :m], columns[:n, m:] = self.cloud.points, self.cloud.points[:, -1:]
        boxes, reach = boxes_and_reaches(columns, self.cloud.nearest, unit, LOG_ACCURACY[wanted.dtype])
        h, h4 = (_in_lanes(part, blocks, wanted.dtype) for part in (h, h4[:, None] if h4.size else h[:, :0]))
        energy = energy.astype(wanted.dtype)
        rows = pieces(m, max(_ROWS, LANES * -(-m // (LANES * _PIECES))))
        found = np.zeros((len(rows), n, blocks * LANES))
        times = np.zeros((len(rows), count))
        run_pieces(
            lambda first, last: pair_gradients(
                columns, m, boxes, reach, unit, h, h4, energy, first, last,
                found[first // rows[0][1]], times[first // rows[0][1]],
            ),
            rows,
            n_threads,
        )  # fmt: skip
        by_t += times.sum(axis=0) / (4.0 * unit**2)
        shrink = math.ldexp(1.0, -self.cloud.exponent)
        return shrink * found.sum(axis=0)[:, :m].T, shrink * (shrink * by_t)


def _in_lanes(h: Array, blocks: int, dtype: np.dtype[Any]) -> NDArray:
    """Coefficients (T, K, m) as (T, blocks, K * LANES); those of points that only fill up are 0."""
    steps, size, m = h.shape
    out = np.zeros((steps, blocks, size, LANES), dtype)
    whole = m // LANES
    out[:, :whole] = h[:, :, : whole * LANES].reshape(steps, size, whole, LANES).swapaxes(1, 2)
    out[:, whole:, :, : m - whole * LANES] = h[:, None, :, whole * LANES :]
    return out.reshape(steps, blocks, size * LANES)


def _each(work: Callable[[int, int], object], sizes: list[int], n: int) -> None:
    """Call ``work(b, threads)`` for every cloud: many side by side, few one after the other."""
    threads = torch.get_num_threads()
    if len(sizes) < 2 * threads:
        for b in range(len(sizes)):
            work(b, threads)
        return

    def piece(first: int, last: int) -> None:
        for b in range(first, last):
            work(b, 1)

    with one_blas_thread(n):
        run_pieces(piece, even_pieces(sizes, 1e6), threads)


class _Heat(torch.autograd.Function):
    """u, d, tau (B, m, T), spectrum (B, m, T, n), and the sums of g and of g D**2 / 8t (B, T), in double."""

    @staticmethod
    def forward(ctx: Any, points: Tensor, times: Tensor, mask: Tensor, wanted: Wanted) -> Any:
        table, own, counted = (t.detach().contiguous().numpy() for t in (points, times, mask))
        shape = (*table.shape[:2], own.shape[1])
        nothing = np.zeros(0)
        outputs = [
            np.ones(shape),
            np.zeros(shape),
            np.zeros(shape) if wanted.exact else nothing,
            np.zeros((*shape, table.shape[2])) if wanted.spectrum else nothing,
            np.zeros(own.shape),
            np.zeros(own.shape),
        ]
        clouds: list[_Cloud | None] = [None] * len(table)
        keep = any(ctx.needs_input_grad[:2])

        def work(b: int, threads: int) -> None:
            found = _Cloud.of(table[b], counted[b], own[b], wanted, threads)
            found.write(b, wanted, outputs)
            clouds[b] = found if keep else None

        _each(work, counted.sum(axis=1).tolist(), table.shape[2])
        ctx.clouds, ctx.wanted, ctx.shapes = clouds, wanted, (points.shape, times.shape)
        ctx.set_materialize_grads(False)
        return tuple(map(torch.from_numpy, outputs))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *given: Tensor | None) -> tuple[Tensor | None, ...]:
        by_output = [None if g is None or g.numel() == 0 else g.contiguous().numpy() for g in given]
        by_points, by_times = (np.zeros(shape) for shape in ctx.shapes)

        def work(b: int, threads: int) -> None:
            own: _Cloud = ctx.clouds[b]
            at_points, at_times = own.back(b, by_output, ctx.wanted, threads)
            by_points[b, own.rows], by_times[b, own.steps] = at_points, at_times

        _each(work, [len(own.rows) for own in ctx.clouds], ctx.shapes[0][2])
        return torch.from_numpy(by_points), torch.from_numpy(by_times), None, None


def heat(points: Tensor, mask: Tensor, times: Tensor, *, exact: bool, spectrum: bool) -> tuple[Tensor, ...]:
    """See `_Heat`; the sums in the precision of the points."""
    dtype = np.dtype(np.float32 if points.dtype == torch.float32 else np.float64)
    return _Heat.apply(points.double(), times.double(), mask, Wanted(exact, spectrum, dtype))
