"""Lines of docstrings that name a page of the site.

The line "Guide: ``heatfield docs guide/search``." is a command where a docstring is read with ``help``, since
the site lies on disk and has no address of its own, and a link where it is read on the site.
"""

from __future__ import annotations

import re

_LINE = re.compile(r"^Guide: ``heatfield docs ([\w/]+)``\.$")


def pages_of(doc: str) -> list[str]:
    """The pages that a docstring names, such as ``guide/search``."""
    return [found[1] for line in doc.split("\n") if (found := _LINE.match(line.strip()))]


def linked(lines: list[str]) -> list[str]:
    """The lines of a docstring as reStructuredText with links to these pages."""
    return [_LINE.sub(r"Guide: :doc:`\1 </\1>` (``heatfield docs \1``).", line) for line in lines]
