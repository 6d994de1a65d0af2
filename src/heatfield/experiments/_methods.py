"""The methods: which estimator each is, and what a budget asks of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from .._base.check import check_choice
from .._classifier.heads import HEADS
from ._code import code_digest
from ._kinds import check_class, is_there, modules_of, name_of, own_digest
from ._sets import DataSet, Size

BUDGETS = ("smoke", "reduced", "paper")
# Of the smallest budget: enough for every table to be filled, far too little for any conclusion.
SMOKE = Size(clouds=10, points=96)
SMOKE_SPLITS = 2
FAMILIES = ("descriptor", "learned", "network", "persistence", "classifier")
EXTRAS = {"torch": ("torch",), "baselines": ("open3d",), "persistence": ("gudhi", "multipers", "xgboost")}


@dataclass(frozen=True)
class Plan:
    """What a budget asks of a method on a data set.

    ``label`` is the budget that the result may be called by: a reduced run of a method for which nothing
    had to be reduced is the paper's.
    """

    recipe: dict[str, Any]
    size: Size
    splits: int  # the first so many
    label: str


@dataclass(frozen=True)
class Method:
    """An entry of the registry.

    Guide: ``heatfield docs results/experiments``.

    Attributes
    ----------
    name : str
        As tables show it.
    family : "descriptor", "learned", "network", "persistence" or "classifier"
        How it is trained, and what is reduced at a budget; a class of your own is a "descriptor" or a
        "classifier".
    kind : str or class
        "HFSDescriptor", "HFSClassifier", or the name of a class of `heatfield.baselines`; or a class of your
        own. A descriptor has ``fit_transform(clouds)``, which gives a row of numbers per cloud by that cloud
        alone; a classifier has ``fit(clouds, labels)`` and ``predict(clouds)``.
    options : mapping
        Of the estimator; plain values, since they are kept in the record.
    blocks : tuple of str, optional
        Of a descriptor: only these of its blocks.
    head : "mlp", "lda" or "svm"
        Of a descriptor.
    reduced, smoke : mapping
        Options that differ at these budgets; of descriptors nothing is reduced.
    group : str
        "main", or the table that the row belongs to.
    extras : tuple of str
        Of the installation, that it needs; other names are those of modules.
    cost : float
        Roughly, seconds per 1,000 clouds of 1,000 points and split, for the order of work and the time left.
    reduced_splits : int
        Of a network or a learned method: how many random splits of a made set the reduced budget has.

    Examples
    --------
    >>> from heatfield.experiments import DATA_SETS, METHODS
    >>> method = METHODS["HFS-desc"]
    >>> method.missing(), method.modules()[0], len(method.code()) > 8
    ([], '_features.descriptor', True)
    >>> method.plan(DATA_SETS["orbit5k"], "smoke").splits
    2
    """

    name: str
    family: str
    kind: str | type
    options: Mapping[str, Any] = field(default_factory=dict)
    blocks: tuple[str, ...] | None = None
    head: str = "mlp"
    reduced: Mapping[str, Any] = field(default_factory=dict)
    smoke: Mapping[str, Any] = field(default_factory=dict)
    group: str = "main"
    extras: tuple[str, ...] = ()
    cost: float = 5.0
    reduced_splits: int = 1

    def __post_init__(self) -> None:
        check_choice(self.family, "family", FAMILIES)
        check_choice(self.head, "head", HEADS)
        if isinstance(self.extras, str):
            raise ValueError(f"extras must be a tuple of names, got {self.extras!r}")
        check_class(self.name, self.kind, self.family, self.blocks)
        try:
            json.dumps([_plain(part) for part in (self.options, self.reduced, self.smoke)])
        except TypeError as error:
            raise ValueError(f"options of {self.name!r} must be plain values: {error}") from None

    def missing(self) -> list[str]:
        """Libraries that would have to be installed.

        Returns
        -------
        names : list of str
        """
        return [m for extra in self.extras for m in EXTRAS.get(extra, (extra,)) if not is_there(m)]

    def plan(self, entry: DataSet, budget: str) -> Plan:
        """The recipe, the part of the data and the number of splits of a budget.

        Parameters
        ----------
        entry : DataSet
        budget : "smoke", "reduced" or "paper"

        Returns
        -------
        plan : Plan
            With ``recipe``, ``size``, ``splits`` and ``label``.
        """
        if budget not in BUDGETS:
            raise ValueError(f"budget must be one of {', '.join(map(repr, BUDGETS))}, got {budget!r}")
        splits = min(SMOKE_SPLITS, entry.protocol.count) if budget == "smoke" else entry.protocol.count
        size = SMOKE if budget == "smoke" else Size()
        options: dict[str, Any] = dict(self.options)
        label = budget
        if self.family == "descriptor":
            label = "smoke" if budget == "smoke" else "paper"
        elif self.family == "classifier" and budget == "reduced" and not self.reduced:
            label = "paper"
        elif budget != "paper":
            options |= self.reduced if budget == "reduced" else self.smoke
        if self.family in ("network", "learned") and budget == "reduced" and not entry.real:
            splits = min(splits, self.reduced_splits)
        if self.family == "network" and entry.points and budget != "smoke":
            options["n_points"] = min(entry.points, options.get("n_points", entry.points))
        if self.family == "persistence" and budget == "reduced":
            count = (100, 5) if entry.name == "processes" else (40, 3)
            size, splits = Size(clouds=count[0]), min(splits, count[1])
        if self.family == "persistence" and entry.name == "disks_annuli":
            # Some 1,500 points make as many components, of which GRIL would compare all with all.
            options |= _LARGE.get(name_of(self.kind), {})
        recipe: dict[str, Any] = {"kind": name_of(self.kind), "options": _plain(options)}
        if self.family == "descriptor":
            recipe |= {"head": self.head, "epochs": 60 if budget == "smoke" else 3000}
            recipe |= {"blocks": list(self.blocks)} if self.blocks else {}
            recipe |= {"trainer": trainer()} if self.head == "mlp" else {}
        return Plan(recipe, size, splits, label)

    def modules(self) -> list[str]:
        """Where its code begins, for `code_digest`; of a descriptor the first is what computes features.

        Returns
        -------
        modules : list of str
        """
        if self.kind == "HFSClassifier":
            return ["_classifier.classifier", "_features.point_table", "nn._learner"]
        more = {"descriptor": ["experiments._read_out"], "network": ["nn.networks._learner"]}
        return modules_of(self.kind) + more.get(self.family, [])

    def code(self) -> str:
        """A hash of the code that it runs; of a class of one's own its source, not what that calls.

        Returns
        -------
        digest : str
        """
        if isinstance(self.kind, type):
            return own_digest(self.kind, code_digest(self.modules(), ()))
        return code_digest(self.modules(), () if self.kind.startswith("HFS") else _OF_HEAT)


# The learner of the heat field, which baselines import with what they share with it and do not run.
_OF_HEAT = ("nn", "nn._learner")
_LARGE: dict[str, dict[str, Any]] = {"GRIL": {"degrees": [1]}, "GraphCode": {"max_bars": 100}}


TRAINERS = ("torch, many at once", "scikit-learn")


def trainer() -> str:
    """Which implementation trains the head "mlp": many networks at once where torch is installed."""
    return TRAINERS[0] if find_spec("torch") else TRAINERS[1]


def _plain(options: Mapping[str, Any]) -> dict[str, Any]:
    return {k: list(v) if isinstance(v, tuple) else v for k, v in options.items()}
