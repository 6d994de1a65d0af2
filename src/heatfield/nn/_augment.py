"""Clouds turned, scaled, moved and jittered anew in every epoch: the recipe of the paper's deep baselines."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from .._base.check import Array

ROTATIONS = ("z", "so3", None)


def random_rotations(count: int, n: int, rng: np.random.Generator) -> Array:
    """(count, n, n) rotations, evenly spread over SO(n) (the Haar measure).

    The orthogonal factor of a Gaussian matrix, its signs fixed by the diagonal of the triangular one; a
    reflection becomes a rotation by turning one axis around, which keeps the measure.
    """
    q, r = np.linalg.qr(rng.standard_normal((count, n, n)))
    q *= np.sign(np.diagonal(r, axis1=1, axis2=2))[:, None, :]
    q[:, :, 0] *= np.sign(np.linalg.det(q))[:, None]
    return q


def augmented(
    coordinates: Tensor, starts: Tensor, rng: np.random.Generator, rotation: str | None = "z"
) -> Tensor:
    """Each cloud turned, scaled by 0.8 to 1.25, moved by up to 0.1, its points jittered.

    ``rotation`` "z" turns about the last axis (in the plane, about the origin), "so3" is any rotation, None
    none. Jitter is normal with spread 0.01, at most 0.05.
    """
    sizes = torch.diff(starts).cpu().numpy()
    n, count = coordinates.shape[1], len(sizes)
    turn = random_rotations(count, n, rng) if rotation == "so3" else np.tile(np.eye(n), (count, 1, 1))
    if rotation == "z" and n >= 2:
        angle = rng.uniform(0.0, 2.0 * np.pi, count)
        turn[:, 0, 0] = turn[:, 1, 1] = np.cos(angle)
        turn[:, 0, 1], turn[:, 1, 0] = -np.sin(angle), np.sin(angle)
    turn *= rng.uniform(0.8, 1.25, count)[:, None, None]
    move = rng.uniform(-0.1, 0.1, (count, n))
    jitter = np.clip(0.01 * rng.standard_normal(coordinates.shape), -0.05, 0.05)
    owner = torch.from_numpy(np.repeat(np.arange(count), sizes)).to(coordinates.device)
    turns, moves, noise = (
        torch.from_numpy(x.astype(np.float32)).to(coordinates.device) for x in (turn, move, jitter)
    )
    return torch.einsum("pn,pkn->pk", coordinates, turns[owner]) + moves[owner] + noise
