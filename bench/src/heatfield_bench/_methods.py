"""The methods, one entry per row: which estimator each is, and what a budget asks of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Any

import heatfield
from heatfield._base.check import check_choice
from heatfield._features.layout import PAPER_BLOCKS
from heatfield.models.read_out import HEADS

from . import _tools, baselines
from ._sets import DataSet, Size
from .baselines.networks import NetworkClassifier
from .baselines.persistence import PersistenceEstimator
from .baselines.registry import HOME, class_named

BUDGETS = ("smoke", "reduced", "paper")
# Of the smallest budget: enough for every table to be filled, far too little for any conclusion.
SMOKE = Size(clouds=10, points=96)
SMOKE_SPLITS = 2
FAMILIES = ("descriptor", "learned", "network", "persistence", "classifier")
BATCH = 32  # clouds per step of every network of the paper


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
        "HFSDescriptor", "HFSNetworkClassifier", or the name of a class of `heatfield_bench.baselines`; or a
        class of your own. A descriptor has ``fit_transform(clouds)``, which gives a row of numbers per cloud
        by that cloud alone; a classifier has ``fit(clouds, labels)`` and ``predict(clouds)``.
    options : mapping
        Of the estimator; plain values, since they are kept in the record.
    blocks : tuple of str, optional
        Of a descriptor: only these of its blocks.
    head : "mlp", "lda" or "svm"
        Of a descriptor.
    reduced, smoke : mapping
        Options that differ at these budgets; of descriptors nothing is reduced. ``steps`` is no option of the
        estimator: it bounds the steps of the optimiser, and the number of epochs follows from the data.
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
    >>> from heatfield_bench import DATA_SETS, METHODS
    >>> method = METHODS["HFS-desc"]
    >>> method.missing(), method.plan(DATA_SETS["orbit5k"], "smoke").splits
    ([], 2)
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

    @property
    def table(self) -> str:
        """The table whose file holds its results."""
        return {"heads": "main", "planar": "ablation"}.get(self.group, self.group)

    def missing(self) -> list[str]:
        """Libraries that would have to be installed.

        Returns
        -------
        names : list of str
        """
        return _tools.missing(self.extras)

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
        steps = options.pop("steps", None)
        recipe: dict[str, Any] = {"kind": name_of(self.kind), "options": _plain(options)}
        recipe |= {} if steps is None else {"steps": steps}
        if self.family == "descriptor":
            recipe |= {"head": self.head, "epochs": 60 if budget == "smoke" else 3000}
            recipe |= {"blocks": list(self.blocks)} if self.blocks else {}
            recipe |= {"trainer": trainer()} if self.head == "mlp" else {}
        return Plan(recipe, size, splits, label)


_LARGE: dict[str, dict[str, Any]] = {"GRIL": {"degrees": [1]}, "GraphCode": {"max_bars": 100}}


def epochs_within(steps: int, clouds: int, most: int = 250) -> int:
    """As many passes over the training clouds as fit into a number of steps; at least one.

    Examples
    --------
    >>> epochs_within(2000, 1164), epochs_within(2000, 100), epochs_within(10, 4000)
    (54, 250, 1)
    """
    return max(1, min(most, steps // -(-clouds // BATCH)))


# How long each network of the paper is trained; 250 epochs the others.
PUBLISHED_EPOCHS = {"PointTransformer": 200}
TRAINERS = ("torch, many at once", "scikit-learn")


def trainer() -> str:
    """Which implementation trains the head "mlp": many networks at once where torch is installed."""
    return TRAINERS[0] if find_spec("torch") else TRAINERS[1]


def _plain(options: Mapping[str, Any]) -> dict[str, Any]:
    return {k: list(v) if isinstance(v, tuple) else v for k, v in options.items()}


_OURS = ("HFSDescriptor", "HFSNetworkClassifier")
# Records are older than the name.
_RECORDED = {"HFSNetworkClassifier": "HFSClassifier"}


def name_of(kind: str | type) -> str:
    """As the recipe of a record has it: the name, of a class of one's own with its module."""
    return _RECORDED.get(kind, kind) if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}"


def class_of(kind: str | type) -> Any:
    """The class itself, or a ValueError where there is none of that name."""
    if isinstance(kind, type):
        return kind
    found = getattr(heatfield if kind in _OURS else baselines, kind, None)
    if not isinstance(found, type):
        raise ValueError(f"kind must be a class, or the name of one of the baselines, got {kind!r}")
    return found


def check_class(name: str, kind: Any, family: str, blocks: Any) -> None:
    """A ValueError where a class of one's own lacks what its family needs; names are looked up later."""
    if isinstance(kind, str):
        return
    if not isinstance(kind, type):
        raise ValueError(f"kind of {name!r} must be a class, or the name of one, got {kind!r}")
    needed = ("fit_transform",) if family == "descriptor" else ("fit", "predict")
    lacking = [method for method in needed if not callable(getattr(kind, method, None))]
    if lacking:
        raise ValueError(f"kind of {name!r}, a {family}, must have the method {' and '.join(lacking)}")
    if blocks is not None and not hasattr(kind, "layout"):
        raise ValueError(f"blocks of {name!r} must be left out: {kind.__name__} has no layout that names any")


def made(kind: str | type, options: Mapping[str, Any], **more: Any) -> Any:
    """An unfitted estimator; of ``more`` it gets what it has parameters for and the options leave open."""
    model = class_of(kind)(**options)
    known = model.get_params() if hasattr(model, "get_params") else {}
    open_ = {name: value for name, value in more.items() if name in known and name not in options}
    return model.set_params(**open_) if open_ else model


_BLOCK_NAMES = dict(
    zip(PAPER_BLOCKS, ("global", "HDS", "density", "heat-dim", "transition", "log-Hessian"), strict=True)
)


def _hfs(name: str, variant: str, **more: Any) -> Method:
    options = {"variant": variant, **more.pop("options", {})}
    return Method(name, "descriptor", "HFSDescriptor", options, cost=4.0, **more)


def _baselines() -> list[Method]:
    """The rows of all baselines: how each is trained, and what is reduced at a budget."""
    found = []
    for kind in HOME:
        of = class_named(kind)
        more: dict[str, Any] = {"family": "descriptor"}
        if issubclass(of, NetworkClassifier):
            more = {"family": "network", "smoke": {"epochs": 1, "n_points": 64}}
            more |= {"reduced": {"steps": 2000, "n_points": 256}}
        elif issubclass(of, PersistenceEstimator):
            more = {"family": "persistence", "group": "persistence", "smoke": {"n_estimators": 5}}
            if "torch" in of.entry.needs:
                more |= {"smoke": {"epochs": 2}, "reduced": {"steps": 1000}}
        more |= {"extras": of.entry.needs, "cost": of.entry.cost}
        found += [Method(name, kind=kind, options=own, **more) for name, own in of.entry.rows.items()]
    return found


def _learned(name: str, variant: str, cost: float, steps: int, **more: Any) -> Method:
    reduced = {"steps": steps, "train_points": 256}
    return Method(
        name, "learned", "HFSNetworkClassifier", {"variant": variant},
        reduced=reduced, smoke={"epochs": 1}, extras=("torch",), cost=cost, **more,
    )  # fmt: skip


def _full(name: str) -> Method:
    return _learned(name, "full", 200.0, 4000, reduced_splits=3)


def _ablation() -> list[Method]:
    """Each block alone, all but one, and all but the local ones: the paper's thirteen rows."""
    rows = [
        _hfs(f"only {name}", "desc", blocks=(block,), group="ablation")
        for block, name in _BLOCK_NAMES.items()
    ]
    for block, name in _BLOCK_NAMES.items():
        others = tuple(b for b in PAPER_BLOCKS if b != block)
        rows.append(_hfs(f"without {name}", "desc", blocks=others, group="ablation"))
    return [*rows, _hfs("without local", "desc", blocks=("global", "hds"), group="ablation")]


SPATIAL = ", centres 0 to 3"


def _planar() -> list[Method]:
    """Rows that count with the dimension spectrum of space, of clouds in the plane.

    The paper prints the widths of space beside its planar sets; ours have the centres 0, 1 and 2.
    """
    options = {"hds_centers": [0, 1, 2, 3]}
    blocks = {"HFS-desc": None, "only HDS": ("hds",), "without local": ("global", "hds")}
    return [
        _hfs(name + SPATIAL, "desc", blocks=own, options=options, group="planar")
        for name, own in blocks.items()
    ]


RANGES = ((0.01, 0.25), (0.05, 0.1), (0.05, 0.25), (0.05, 0.5), (0.1, 0.25))
COUNTS = (2, 4, 8, 16)


def _scales() -> list[Method]:
    """Numbers of scales, and ranges of them; what equals HFS-desc is HFS-desc."""
    rows = [
        _hfs(f"{count} scales", "desc", options={"n_scales": count}, group="scales")
        for count in COUNTS
        if count != 8
    ]
    return rows + [
        _hfs(f"range {low:g}, {high:g}", "desc", options={"c_min": low, "c_max": high}, group="scales")
        for low, high in RANGES
        if (low, high) != (0.05, 0.25)
    ]


_LOG = ("log_global", "hds", "log_density", "dimension", "transition", "spectrum")


def _variants() -> list[Method]:
    """Beyond the paper: another head, and what the learned pooling sees, has and is trained with."""
    more = (*_LOG, "gradient")
    second: dict[str, Any] = {"blocks": (*more, "neighbourhood"), "transition": "exact"}
    options: dict[str, dict[str, Any]] = {
        "log u": {"blocks": _LOG},
        "log u, exact tau": {"blocks": _LOG, "transition": "exact"},
        "beyond": {"blocks": more, "transition": "exact"},
        "second layer": second,
        "second layer, smoothing": second | {"label_smoothing": 0.1},
        "second layer, std": second | {"network": {"pooling": ["mean", "max", "std"]}},
        "second layer, 16 scales": second | {"n_scales": 16},
        "weight decay": {"weight_decay": 1e-2},
        "small": {"network": {"widths": [16, 32, 64], "head": 64}},
    }
    full = _full("")
    return [_hfs("HFS-joint, SVM", "joint", head="svm", group="variants")] + [
        replace(full, name=f"HFS-full, {name}", options={"variant": "full", **own}, group="variants")
        for name, own in options.items()
    ]


def _entries() -> dict[str, Method]:
    entries = [
        _hfs("HFS-simple", "simple"),
        _hfs("HFS-desc", "desc"),
        _hfs("HFS-joint", "joint"),
        _hfs("HFS-desc, LDA", "desc", head="lda", group="heads"),
        _hfs("HFS-joint, LDA", "joint", head="lda", group="heads"),
        _full("HFS-full"),
        _learned("HFS+DGCNN", "dgcnn", 1500.0, 2000),
        *_baselines(),
        *_ablation(),
        *_planar(),
        *_scales(),
        *_variants(),
    ]
    return {entry.name: entry for entry in entries}


METHODS: dict[str, Method] = _entries()
