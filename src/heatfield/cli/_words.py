"""Messages in the words of the command line: ``--scales`` where the library says ``n_scales``."""

from __future__ import annotations

import re

# Names of arguments that read as nothing else, wherever they stand.
_NAMES = {
    "n_scales": "--scales", "c_min": "--c-min", "c_max": "--c-max", "n_jobs": "--jobs", "n_dims": "--dims",
    "batch_size": "--batch", "train_points": "--train-points", "whole_epochs": "--whole-epochs",
    "label_smoothing": "--label-smoothing", "class_weight": "--class-weight", "random_state": "--seed",
}  # fmt: skip
# Words of plain English too: arguments only where a value follows.
_WITH_VALUE = {
    name: f"--{name}"
    for name in (
        "variant", "head", "epochs", "validation", "patience", "blocks", "transition", "method", "tol",
        "device", "budget", "sampling", "seed", "atoms", "chain", "soma",
    )
}  # fmt: skip
_VALUE = r"""'[^']*'|"[^"]*"|[\w.+-]*\w"""
_ANY = re.compile(
    rf"""\b(?P<set>{"|".join({**_NAMES, **_WITH_VALUE, "invalid": ""})})=(?P<value>{_VALUE})"""
    rf"""|\b(?P<name>{"|".join(_NAMES)})\b"""
    r"|'[^']*'"  # file names and other values stay as they are
)


def in_options(text: str) -> str:
    """The text with the arguments of the library named as options.

    Examples
    --------
    >>> in_options("train_points=5 is an option of variant='full'")
    '--train-points 5 is an option of --variant full'
    >>> in_options("'n_scales.ply': n_scales must be at least 2; or invalid='drop'")
    "'n_scales.ply': --scales must be at least 2; or --drop-invalid"
    """

    def put(found: re.Match[str]) -> str:
        name, value = found["set"], found["value"]
        if name == "invalid":
            return "--drop-invalid" if value.strip("'\"") == "drop" else found[0]
        if name:
            return f"{(_NAMES | _WITH_VALUE)[name]} {value.strip(chr(39) + chr(34))}"
        return _NAMES[found["name"]] if found["name"] else found[0]

    return _ANY.sub(put, text)
