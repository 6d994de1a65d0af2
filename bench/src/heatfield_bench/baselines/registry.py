"""Which baselines there are, and whether they can be used here; each class says the rest itself."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

# The module of each, in the order of the tables.
HOME = {
    "FPFH": "fpfh", "HKS": "spectral", "WKS": "spectral", "LocalCovariance": "local_covariance",
    "PointNet": "networks", "PointNet2": "networks", "DGCNN": "networks", "PointTransformer": "networks",
    "VNDGCNN": "networks", "MPImage": "persistence", "MPLandscape": "persistence",
    "MPSignedMeasure": "persistence", "GRIL": "persistence", "GraphCode": "graphcode",
}  # fmt: skip


def class_named(name: str) -> Any:
    """A baseline by its name."""
    return getattr(importlib.import_module(f".{HOME[name]}", __package__), name)


@dataclass(frozen=True)
class Record:
    """What is known of a method here.

    Guide: ``heatfield docs guide/baselines``.

    Attributes
    ----------
    name : str
    installed : bool
    missing : str
        One sentence with the command that brings what is missing; empty if nothing is.
    parameters : int or None
        Of its network, with 3 coordinates and 40 classes; None where it has none, or torch is missing.
    source : str
        Where its recipe comes from.

    Examples
    --------
    >>> import heatfield_bench as hb
    >>> hb.baselines.Record("HKS", True, "", None, "Sun et al. 2009").installed
    True
    """

    name: str
    installed: bool
    missing: str
    parameters: int | None
    source: str


class Records(list[Record]):
    """A list of records that prints as a table.

    Guide: ``heatfield docs guide/baselines``.

    Examples
    --------
    >>> import heatfield_bench as hb
    >>> hb.baselines.Records([hb.baselines.Record("HKS", True, "", None, "Sun et al. 2009")])
    method  installed  parameters  recipe
    HKS     yes                    Sun et al. 2009
    """

    def __repr__(self) -> str:
        rows = [("method", "installed", "parameters", "recipe")]
        for record in self:
            count = "" if record.parameters is None else f"{record.parameters:,}"
            rows.append((record.name, "yes" if record.installed else "no", count, record.source))
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        lines = [
            f"{name:<{widths[0]}}  {here:<{widths[1]}}  {count:>{widths[2]}}  {source}"
            for name, here, count, source in rows
        ]
        return "\n".join([*lines, *(record.missing for record in self if record.missing)])


def available() -> Records:
    """All baselines: installed or what is missing, size of the network, source of the recipe.

    Guide: ``heatfield docs guide/baselines``.

    Returns
    -------
    records : Records
        One `Record` per method; it prints as a table.

    Examples
    --------
    >>> import heatfield_bench as hb
    >>> table = hb.baselines.available()
    >>> [record.name for record in table][4:9]
    ['PointNet', 'PointNet2', 'DGCNN', 'PointTransformer', 'VNDGCNN']
    """
    from .._tools import install, missing

    found = Records()
    for name in HOME:
        kind = class_named(name)
        absent = missing(kind.entry.needs)
        words = f"{name} needs {', '.join(absent)}: {install(','.join(kind.entry.needs))}" if absent else ""
        counts = hasattr(kind, "parameter_count") and not absent
        parameters = kind.parameter_count(n_classes=40) if counts else None
        found.append(Record(name, not absent, words, parameters, kind.entry.source))
    return found
