"""Table 4: multiparameter persistence on the sets that come from its literature."""

from __future__ import annotations

from .._grid import Cell, Grid, found_record, remarks_on, score_grid
from .._jobs import Context, Job, evaluation
from .._methods import METHODS, Method, Plan
from .._published import PUBLISHED
from .._sets import DATA_SETS, DataSet
from .._statistics import mean_of

SETS = ("processes", "disks_annuli")
ROWS = ("HFS-desc", "MP-HSM-C", "MP-HSM-C, degree 1", "MP-L", "MP-I", "GC", "GC-NE", "GRIL", "HFS-full")
SHOWN = ("MP-I", "MP-L", "GRIL", "MP-HSM-C", "MP-HSM-C, degree 1", "GC", "GC-NE", "HFS-desc", "HFS-full")
LIKE = "MP-I"  # whose clouds and splits the row of HFS-desc on the same clouds has
SAME = "HFS-desc, same clouds"


def same_clouds(method: Method, entry: DataSet, budget: str) -> Plan:
    """The recipe of a method on as many clouds and splits as persistence has at a budget."""
    own, like = method.plan(entry, budget), METHODS[LIKE].plan(entry, budget)
    return Plan(own.recipe, like.size, like.splits, like.label)


def jobs(context: Context) -> list[Job]:
    """All rows on both sets; at the reduced budget HFS-desc on the clouds of persistence too."""
    sets = [entry for entry in context.available() if entry.name in SETS]
    found = [
        evaluation(context, "accuracy", entry, METHODS[name])
        for entry in sets
        for name in ROWS
        if context.wants(METHODS[name])
    ]
    desc = METHODS["HFS-desc"]
    if context.budget == "reduced" and context.wants(desc):
        plans = [(entry, same_clouds(desc, entry, "reduced")) for entry in sets]
        found += [evaluation(context, "accuracy", entry, desc, plan=plan) for entry, plan in plans]
    return found


def grids(context: Context) -> list[Grid]:
    """Accuracy beside the paper's, which quotes the rows of persistence from Kerber and Russold."""
    sets = [DATA_SETS[name] for name in SETS]
    grid = score_grid(
        context, "persistence", "Multiparameter persistence", SHOWN, PUBLISHED["persistence"], sets
    )
    titles = {entry.title: entry for entry in sets}
    cells = [_same_cell(context, titles[title]) for title in grid.columns]
    if any(cell.ours is not None for cell in cells):
        before = [label for label, _ in grid.rows].index("HFS-desc")
        grid.rows.insert(before, (SAME, cells))
        grid.notes.append(
            "Rows of persistence, and HFS-desc on the same clouds, have 100 clouds per class of Processes "
            "(80 are tested) and 40 of DisksAnnuli (40 are tested); the two last rows have all clouds."
        )
    if grid.rows:
        grid.notes.append(
            "By alpha complexes. On DisksAnnuli GRIL takes loops alone and GraphCode at most 100 bars, at "
            "every budget: some 1,500 points make as many components."
        )
    return [grid]


def _same_cell(context: Context, entry: DataSet) -> Cell:
    if context.budget == "smoke":
        return Cell()
    record = found_record(
        context, "accuracy", entry, METHODS["HFS-desc"], plan=lambda m, e, _: same_clouds(m, e, "reduced")
    )
    if record is None:
        return Cell()
    return Cell(mean_of(record.values()), None, remarks_on(record), record.facts["protocol"]["count"])
