"""What several networks are put together from: shared layers over rows, and the read-out."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from heatfield._base.check import check_count


def checked_widths(widths: Sequence[int], name: str) -> list[int]:
    """Widths of layers, at least one."""
    found = [check_count(width, name, 1) for width in widths]
    if not found:
        raise ValueError(f"{name} is empty: at least one layer is needed")
    return found


def shared_layers(before: int, widths: Sequence[int], name: str) -> nn.Sequential:
    """Linear, batch norm and ReLU, over rows (P, before). Biases before the norm as published."""
    layers: list[nn.Module] = []
    for after in checked_widths(widths, name):
        layers += [nn.Linear(before, after), nn.BatchNorm1d(after), nn.ReLU(inplace=True)]
        before = after
    return nn.Sequential(*layers)


def read_out(before: int, widths: Sequence[int], n_classes: int, dropout: float) -> nn.Sequential:
    """Linear, batch norm, ReLU and dropout a hidden layer, then the classes."""
    layers: list[nn.Module] = []
    for after in checked_widths(widths, "head"):
        layers += [nn.Linear(before, after), nn.BatchNorm1d(after), nn.ReLU(inplace=True)]
        layers.append(nn.Dropout(dropout))
        before = after
    return nn.Sequential(*layers, nn.Linear(before, n_classes))


def over_rows(layers: nn.Module, values: Tensor) -> Tensor:
    """Layers over the last axis of values (..., C): all other axes are rows to them."""
    return layers(values.reshape(-1, values.shape[-1])).view(*values.shape[:-1], -1)
