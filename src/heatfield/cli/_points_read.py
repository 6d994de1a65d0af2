"""Files whose points have labels, as clouds and labels."""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.check import HeatFieldWarning, as_points
from .._base.progress import progress_bar
from ..io import Cloud, read_cloud
from ._reading import file_problem

# Names of the column of labels, the first that a file has.
_LABELS = ("classification", "label", "labels", "class")


def split_words(text: str | None) -> tuple[str, ...]:
    """Words with commas between them."""
    return tuple(word.strip() for word in text.split(",")) if text else ()


def read_labelled(
    files: list[str], reading: dict[str, Any], options: argparse.Namespace
) -> tuple[list[Cloud], list[NDArray], list[tuple[str, str, str]], str]:
    """Clouds with labels; the column is that of the first file that has one, unless it is named."""
    clouds: list[Cloud] = []
    labels: list[NDArray] = []
    errors = []
    name = options.label or ""
    for file in progress_bar(files, unit="files", quiet=options.quiet):
        try:
            cloud = read_cloud(file, **reading)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", HeatFieldWarning)
                as_points(cloud.points)
            chosen = name or next((n for n in _LABELS if n in cloud.columns), "")
            if chosen not in cloud.columns:
                has = ", ".join(cloud.columns) or "none"
                raise ValueError(f"has no column {chosen or 'classification'!r} of labels; it has {has}")
            if clouds and cloud.points.shape[1] != clouds[0].points.shape[1]:
                raise ValueError("has another number of coordinates than the files before it")
            own = np.asarray(cloud.columns[chosen])
            own = own.astype(str) if own.dtype.kind == "O" else own
            if labels and (own.dtype.kind == "U") != (labels[0].dtype.kind == "U"):
                raise ValueError(f"its column {chosen!r} holds {own.dtype}, that of others {labels[0].dtype}")
            for extra in split_words(options.columns):
                if extra not in cloud.columns:
                    raise ValueError(f"has no column {extra!r}; it has {', '.join(cloud.columns)}")
            name = chosen
            clouds.append(cloud)
            labels.append(own)
        except Exception as error:  # whatever a file does, it costs that file only
            errors.append((file, *file_problem(error)))
    return clouds, labels, errors, name


def ignored(text: str | None, like: NDArray) -> tuple[Any, ...]:
    """Labels of --ignore in the type of the labels."""
    out: list[Any] = []
    for word in split_words(text):
        try:
            out.append(
                word if like.dtype.kind == "U" else float(word) if like.dtype.kind == "f" else int(word)
            )
        except ValueError:
            raise ValueError(
                f"--ignore must be labels of the files, which are numbers, got {word!r}"
            ) from None
    return tuple(out)
