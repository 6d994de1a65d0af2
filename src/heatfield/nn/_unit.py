"""The unit in which tensors are summed, and the declared range of `_base.check` for them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .._base.check import LEAST_LENGTH, OutOfRangeError, check_extent, check_times

Powers = NDArray[np.int64]


def in_unit(points: Tensor) -> tuple[Tensor, Powers]:
    """Points (B, m, n) over powers of two, so that each cloud spans between 1 and 2; and these powers (B,).

    Distances are then squared, and squared again, within the range of single precision, and a power of two
    rounds nothing. A cloud that spans no length of the declared range is an OutOfRangeError.
    """
    low, high = (_numbers(corner(points.detach(), dim=1)) for corner in (torch.amin, torch.amax))
    for i in range(len(low)):
        _named(lambda i=i: check_extent(low[i], high[i], least=LEAST_LENGTH), i, len(low))  # type: ignore[misc]
    extent = (high - low).max(axis=1)
    powers = np.where(extent > 0.0, np.frexp(extent)[1] - 1, 0).astype(np.int64)
    return by_power(points, -powers), powers


def by_power(values: Tensor, powers: Powers) -> Tensor:
    """``values`` (B, ...) times 2**powers, cloud by cloud."""
    shape = (-1,) + (1,) * (values.ndim - 1)
    # In two steps: the whole power may leave the range of single precision.
    for part in (powers // 2, powers - powers // 2):
        factor = torch.as_tensor(np.ldexp(1.0, part), dtype=values.dtype, device=values.device)
        values = values * factor.reshape(shape)
    return values


def heat_factor(times: Tensor, n: int) -> Tensor:
    """(4 pi t)**(-n/2); its derivative is this factor over t, since one power more may be no number."""
    around = 4.0 * torch.pi * times
    growth = torch.log(around) - torch.log(around.detach())  # 0, with the derivative of the logarithm
    return around.detach() ** (-n / 2) * torch.exp(-n / 2 * growth)


def check_times_of(
    times: Tensor, powers: Powers, mask: Tensor, defined: Tensor, n: int, *, single: bool, energy: bool
) -> None:
    """`check_times` for every cloud that has times; ``times`` (B, T) in the unit of `in_unit`.

    ``single``: results are in single precision, whatever the precision of the times.
    """
    table = np.ldexp(_numbers(times), 2 * powers[:, None])
    counts = mask.sum(dim=1).tolist()
    for i in np.flatnonzero(_numbers(defined)).tolist():
        _named(
            lambda i=i: check_times(table[i], counts[i], n, single=single, energy=energy),  # type: ignore[misc]
            i, len(table),
        )  # fmt: skip


def _named(check: Callable[[], None], cloud: int, clouds: int) -> None:
    """Run a check; where there are several clouds, its error names the one."""
    try:
        check()
    except OutOfRangeError as error:
        raise OutOfRangeError(error.problem, cloud if clouds > 1 else None) from None


def _numbers(values: Tensor) -> NDArray[np.float64]:
    return values.detach().cpu().to(torch.float64).numpy()
