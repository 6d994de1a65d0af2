"""The page of the column dictionary."""

from __future__ import annotations

import re

from heatfield.channels import Words, words_of
from heatfield.features.blocks import Meaning, explain, registry
from heatfield.features.layout import SCHEMA, VARIANT_BLOCKS, Layout, layout
from heatfield.io import channel_names
from heatfield.local_type import WORDS as TYPE_WORDS
from heatfield.workflows.describe import BESIDE, BESIDE_LENGTH

_INTRO = """# Column dictionary

Every column of `HFSDescriptor` and of `heatfield describe`, [beside the features](#columns-beside) and [of points](#columns-points) too, written from the layout of the library (schema {schema}). A name is
read from left to right: **block**, **channel** or statistic, **scale**.

| name | read as |
|---|---|
| `dimension_p90_s3` | block `dimension`; 90th percentile over the points; scale 3 |
| `spectrum_2_mean_s0` | block `spectrum`; second eigenvalue; mean over the points; finest scale |
| `hds_composition_d1_s4` | block `hds`; share of the points near dimension 1; scale 4 |
| `correlation_density_dimension_s2` | block `correlation`; of log u with d over the points; scale 2 |
| `coupling_spectrum2_s3_s5` | block `coupling`; of 2tλ₂ at scale 3 with 2tλ₂ at scale 5, over the points |
| `neighbourhood_dimension_p90_s1_s4` | block `neighbourhood`; spread of d of scale 1 around a point at scale 4; 90th percentile |
| `orientation_cosine_p10_s1_s4` | block `orientation`; cosine of the axes of scale 1 with their mean around the point at scale 4; 10th percentile |

**What is `coupling_spectrum2_s3_s5`?** {coupling}

Scale 0 is the finest, scale T - 1 the coarsest; `s.lengths` and `heatfield info FILE` give their lengths √t.
Lengths are in the unit of the file. n is the number of coordinates of a point, here 3; with two coordinates there is no
`spectrum_3` and no `d3`. NaN means that a value cannot be computed: fewer than two distinct points, a correlation with a channel
that does not vary, or axes where no direction is preferred.

| block | in | columns (3-D, 8 scales) |
|---|---|---|
"""


def page() -> str:
    """The whole dictionary in three dimensions at eight scales."""
    widest, desc = layout_of("oriented"), layout_of("desc")
    text = _INTRO.format(schema=SCHEMA, coupling=_sentence(explain("coupling_spectrum2_s3_s5")))
    blocks = VARIANT_BLOCKS["oriented"]
    for block in blocks:
        where = ", ".join(f"`{v}`" for v, has in VARIANT_BLOCKS.items() if block in has)
        place = widest.columns[block]
        text += f"| [`{block}`](#columns-{block}) | {where} | {place.stop - place.start} |\n"
    for block in blocks:
        names = list(widest.names[widest.columns[block]])
        if block in desc.columns:
            names = list(dict.fromkeys([*desc.names[desc.columns[block]], *names]))
        text += f"\n(columns-{block})=\n## {block}\n\n{_sentence_of(block)}\n\n{_table(names)}\n{_list(block, names)}"
    return text + _beside() + _of_points()


def layout_of(variant: str, n: int = 3, n_scales: int = 8) -> Layout:
    """The columns of a variant with all its blocks and the default centres."""
    centers = tuple(float(c) for c in range(n + 1))
    return layout(variant, VARIANT_BLOCKS[variant], n, n_scales, centers)


def _sentence_of(block: str) -> str:
    """The block in one line, as ``describe`` writes it beside a table."""
    words = registry()[block].words
    return f"{words[0].upper()}{words[1:]}."


def _beside() -> str:
    """Columns of a table of `describe` that are no features."""
    lines = ["", "(columns-beside)=", "## Beside the features", "", "In a table of `heatfield describe`.", ""]
    lines += ["| column | what |", "|---|---|"]
    lines += [f"| `{name}` | {what} |" for name, what in BESIDE.items()]
    return "\n".join([*lines, f"| `length_s0` … `_s7` | {BESIDE_LENGTH} |", ""])


def point_columns(n: int = 3) -> list[str]:
    """Names of all columns of points at scale 0, in n dimensions."""
    axes = {"spectrum": [str(k + 1) for k in range(n)], "normal": list("xyz"[:n])}
    return [f"{channel}{axis}_s0" for channel in channel_names() for axis in axes.get(channel, [""])]


def explain_point(name: str) -> Words:
    """What a column of points is, its unit and what a high value means."""
    column, _, scale = name.rpartition("_s")
    if not scale.isdecimal():
        raise ValueError(f"{name!r} is not a column of points")
    return TYPE_WORDS if column == "local_type" else words_of(column)


def _of_points() -> str:
    """Columns of files of points."""
    lines = ["", "(columns-points)=", "## Columns of points", ""]
    lines += [
        "One row per point: `describe --per-point` (the first four kinds, others by `--point-channels`), `survey` and "
        "`s.per_point()`. `_s0` is the finest scale; files state √t of each. Below, e_k = 1 + 2tλ_k is the extent along the k-th direction.",
        "",
        ":::{div} words",
        "| column | what | unit | a high value means |",
        "|---|---|---|---|",
    ]
    for name in point_columns():
        lines.append(_row(f"`{name}`", *explain_point(name)))
    return "\n".join([*lines, ":::", ""])


def _row(*cells: str) -> str:
    """A row of a table; a bar within a cell, as in |n_z|, would end it."""
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _sentence(c: Meaning) -> str:
    return f"Block {c.block}: {c.channel}. {c.statistic.capitalize()}, {c.scale}. Unit: {c.unit}. High: {c.high}."


def _table(names: list[str]) -> str:
    """One row per channel and statistic, its scales together."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(re.sub(r"(_s\d+)+$", "", name), []).append(name)
    lines = ["| column | what | statistic | unit | a high value means |", "|---|---|---|---|---|"]
    for group in groups.values():
        c = explain(group[0])
        last = re.search(r"(_s\d+)+$", group[-1])
        shown = f"`{group[0]}`" if len(group) == 1 or last is None else f"`{group[0]}` … `{last[0]}`"
        what, high = c.channel, c.high
        if scales := re.search(r"_s(\d+)_s(\d+)$", group[0]):  # a row for many pairs of scales names none
            for number, word in zip(scales.groups(), ("first", "second"), strict=True):
                what, high = (
                    re.sub(rf"scale {number}\b", f"the {word} scale", text) for text in (what, high)
                )
        lines.append(_row(shown, what, c.statistic, c.unit, high))
    return "\n".join([":::{div} words", *lines, ":::", ""])


def _list(block: str, names: list[str]) -> str:
    """All names, folded away: found by the search and by the browser."""
    return (
        f":::{{dropdown}} All {len(names)} names of {block}\n"
        + ", ".join(f"`{n}`" for n in names)
        + "\n:::\n"
    )
