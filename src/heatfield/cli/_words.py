"""Messages in the words of the command line: ``--scales`` where the library says ``n_scales``."""

from __future__ import annotations

import re

# Advice of the library, and what the command line offers instead.
_ADVICE = (
    ("pass invalid='drop' to leave them out", "--drop-invalid leaves them out"),
    ("pass atoms='all' for every atom", "--atoms all takes every atom"),
    ("pass max_bytes= if it can be trusted", "--max-bytes N allows more, if it can be trusted"),
    ("read them with heatfield.io.read_clouds", "the command line reads files of one cloud each"),
)
# Names of arguments that read as nothing else, wherever they stand.
_NAMES = {
    "n_scales": "--scales", "c_min": "--c-min", "c_max": "--c-max", "n_jobs": "--jobs", "n_dims": "--dims",
    "batch_size": "--batch", "train_points": "--train-points", "whole_epochs": "--whole-epochs",
    "label_smoothing": "--label-smoothing", "class_weight": "--class-weight", "random_state": "--seed",
    "max_bytes": "--max-bytes",
}  # fmt: skip
# Words of plain English too: arguments only where a value follows.
_WITH_VALUE = {
    name: f"--{name}"
    for name in (
        "variant", "head", "epochs", "validation", "patience", "blocks", "transition", "method", "tol",
        "device", "budget", "lengths", "cell", "sampling", "seed", "atoms", "chain", "soma", "dims",
    )
}  # fmt: skip
_OPTIONS = _NAMES | _WITH_VALUE
_VALUE = r"""'[^']*'|"[^"]*"|[\w.+-]*\w"""
_ANY = re.compile(
    rf"""(?<![-\w])(?P<set>{"|".join([*_OPTIONS, "invalid"])})=(?P<value>{_VALUE})"""
    rf"""|(?<![-\w])(?P<name>{"|".join(_NAMES)})\b"""
    r"|^(?P<first>tol|blocks|transition|method|lengths|cell)\b(?!=)"  # what a complaint begins with
    r"|'[^']*'"  # file names and other values stay as they are
)


def in_command_words(text: str) -> str:
    """A message of the library with its arguments named as options of the command line.

    Examples
    --------
    >>> in_command_words("train_points=5 is an option of variant='full'")
    '--train-points=5 is an option of --variant=full'
    >>> in_command_words("'n_scales.ply': n_scales must be at least 2; or invalid='drop'")
    "'n_scales.ply': --scales must be at least 2; or --drop-invalid"
    >>> in_command_words("tol must be a number")
    '--tol must be a number'
    """
    for library, command in _ADVICE:
        text = text.replace(library, command)
    return _ANY.sub(_option, text)


def _option(found: re.Match[str]) -> str:
    name, value = found["set"], (found["value"] or "").strip("'\"")
    if name == "invalid":
        return "--drop-invalid" if value == "drop" else found[0]
    if name:
        return f"{_OPTIONS[name]}={value}"
    bare = found["name"] or found["first"]
    return _OPTIONS[bare] if bare else found[0]
