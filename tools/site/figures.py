"""Measured figures in pages that are written by hand: each block between two marks comes from a result file.

<!-- figures: local_type -->
...
<!-- end of figures -->

``python -m tools.write_docs`` writes the blocks again, and `tests/docs` compares them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.lib.results import DOCS, RESULTS

from . import figure_tables as tables

THEOREM = DOCS / "theory" / "theorem1.json"
# Name of a block: result file (None: the library itself), and what writes it.
BLOCKS: dict[str, tuple[Path | None, Callable[[dict[str, Any]], str]]] = {
    "baselines_learn": (RESULTS / "baselines_learn.json", tables.learn),
    "describe": (RESULTS / "small_clouds.json", tables.describe),
    "crossing": (RESULTS / "crossing.json", tables.crossing),
    "counts_disks": (RESULTS / "counts.json", tables.disks),
    "counts_processes": (RESULTS / "counts.json", tables.processes),
    "first_call": (RESULTS / "first_call.json", tables.first_call),
    "formats": (None, tables.formats),
    "fpfh_rotation": (RESULTS / "fpfh_rotation.json", tables.fpfh_rotation),
    "grid_error": (RESULTS / "grid_error.json", tables.grid_error),
    "local_covariance": (RESULTS / "local_covariance.json", tables.local_covariance),
    "local_type": (RESULTS / "local_type.json", tables.local_type),
    "local_type_mixed": (RESULTS / "local_type.json", tables.local_type_mixed),
    "million": (RESULTS / "million.json", tables.million),
    "patterns": (RESULTS / "patterns.json", tables.patterns),
    "points": (RESULTS / "points.json", tables.points),
    "points_speed": (RESULTS / "points.json", tables.points_speed),
    "readme": (None, tables.readme),
    "real_clouds": (RESULTS / "real_clouds.json", tables.real_clouds),
    "scaling": (RESULTS / "scaling.json", tables.scaling),
    "search": (RESULTS / "search.json", tables.search),
    "search_many": (RESULTS / "search.json", tables.search_many),
    "survey": (RESULTS / "survey.json", tables.survey),
    "survey_check": (RESULTS / "survey.json", tables.survey_check),
    "theorem1_errors": (THEOREM, tables.theorem_errors),
    "theorem1_rates": (THEOREM, tables.theorem_rates),
    "theorem1_outside": (THEOREM, tables.theorem_outside),
    "view": (RESULTS / "view.json", tables.view),
}
_BLOCK = re.compile(r"<!-- figures: (\w+) -->\n.*?<!-- end of figures -->", re.S)


def pages(docs: Path = DOCS) -> Iterator[Path]:
    """The pages that are written by hand."""
    for folder in ("guide", "theory"):
        yield from sorted((docs / folder).glob("*.md"))
    yield from docs.parent.glob("README.md")


def filled(text: str) -> str:
    """A page with its blocks as the result files have them; an unknown name is a KeyError."""

    def block(found: re.Match[str]) -> str:
        path, write = BLOCKS[found[1]]
        body = write(json.loads(path.read_text()) if path else {})
        return f"<!-- figures: {found[1]} -->\n{body.strip()}\n<!-- end of figures -->"

    return _BLOCK.sub(block, text)


def write(docs: Path = DOCS) -> None:
    """Write the blocks of all pages again."""
    for page in pages(docs):
        text = page.read_text()
        if (now := filled(text)) != text:
            page.write_text(now)
            print(f"wrote the figures of {page.relative_to(docs.parent)}")
