"""The tables: ``jobs(context)`` of each says what has to be computed, ``grids(context)`` what is shown."""

from __future__ import annotations

from typing import Any

# In order of value: what comes first is computed first.
TABLES = {
    "main": "Table 1: classification",
    "ablation": "Table 5: components",
    "scales": "Appendix: number and range of scales",
    "rotation": "Table 3: rotation",
    "boundary": "Appendix: rigid and local shape",
    "persistence": "Table 4: multiparameter persistence",
    "summary": "Appendix: benchmark summary",
    "runtime": "Table 2: runtime",
    "dimension": "Own: intrinsic dimension",
    "curve": "Own: accuracy against the number of training clouds",
    "descriptors": "Own: descriptors and heads in closed form, folds drawn ten times",
    "variants": "Own: other heads, and steps of the learned pooling",
    "robustness": "Own: noise, missing points, outliers",
}


def table(name: str) -> Any:
    """A table, or a ValueError that lists all."""
    if name not in TABLES:
        raise ValueError(f"there is no table {name!r}; there are {', '.join(TABLES)}")
    from . import accuracy, beside, dimension

    found = [*accuracy.ALL, *beside.ALL, dimension.Dimension]
    return next(kind() for kind in found if kind.name == name)
