"""Parts of docstrings that several classes share: written once, filled in where a class names them."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from typing import TypeVar

C = TypeVar("C", bound=type)

# Where a network is trained, and what it shows and keeps meanwhile.
CHECKPOINT = """\
checkpoint : path-like, optional
    A file that is written after every epoch. Where it exists, training goes on from it and ends with
    the same weights as if it had not been stopped."""
DEVICE = """\
device : str
    "cpu", "cuda", ...; "auto" is a GPU if there is one."""
PROGRESS = """\
progress : bool, optional
    A line with loss, accuracy and time left; by default on a terminal."""
# Of the read-out of descriptors.
READOUT = """\
readout_ : the scikit-learn pipeline from descriptors to labels
head_, head_scores_ : the head in use; with "auto", the accuracy of each candidate"""

_PLACE = re.compile(r"^( *)\{(\w+)\}$", re.MULTILINE)


def documented(**parts: str) -> Callable[[C], C]:
    """Decorate a class: each line ``{name}`` of its docstring becomes the part of that name, indented alike.

    A name without a part is a KeyError, and a part without a line is a ValueError, so that no docstring is
    incomplete unnoticed.

    Examples
    --------
    >>> @documented(colour="colour : str\\n    Of the line.")
    ... class Pen:
    ...     '''Draws.
    ...
    ...     {colour}
    ...     '''
    >>> print(Pen.__doc__)
    Draws.
    <BLANKLINE>
        colour : str
            Of the line.
    <BLANKLINE>
    """

    def fill(kind: C) -> C:
        if kind.__doc__ is None:  # python -OO
            return kind
        unused = set(parts) - {name for _, name in _PLACE.findall(kind.__doc__)}
        if unused:
            raise ValueError(f"the docstring of {kind.__name__} has no line {{{sorted(unused)[0]}}}")
        kind.__doc__ = _PLACE.sub(lambda found: textwrap.indent(parts[found[2]], found[1]), kind.__doc__)
        return kind

    return fill
