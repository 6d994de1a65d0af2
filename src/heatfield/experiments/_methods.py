"""The methods: which estimator each is, and what a budget asks of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from .._features.layout import PAPER_BLOCKS
from ._code import code_digest
from ._sets import DataSet, Size

BUDGETS = ("smoke", "reduced", "paper")
# Of the smallest budget: enough for every table to be filled, far too little for any conclusion.
SMOKE = Size(clouds=10, points=96)
SMOKE_SPLITS = 2
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

    Attributes
    ----------
    name : str
        As tables show it.
    family : "descriptor", "learned", "network" or "persistence"
    kind : str
        "HFSDescriptor", "HFSClassifier", or a class of `heatfield.baselines`.
    options : mapping
        Of the estimator.
    blocks : tuple of str, optional
        Of a descriptor: only these of its blocks.
    head : "mlp", "lda" or "svm"
        Of a descriptor.
    reduced, smoke : mapping
        Options that differ at these budgets; of descriptors nothing is reduced.
    group : str
        "main", or the table that the row belongs to.
    extras : tuple of str
        Of the installation, that it needs.
    cost : float
        Roughly, seconds per 1,000 clouds of 1,000 points and split, for the order of work and the time left.
    """

    name: str
    family: str
    kind: str
    options: Mapping[str, Any] = field(default_factory=dict)
    blocks: tuple[str, ...] | None = None
    head: str = "mlp"
    reduced: Mapping[str, Any] = field(default_factory=dict)
    smoke: Mapping[str, Any] = field(default_factory=dict)
    group: str = "main"
    extras: tuple[str, ...] = ()
    cost: float = 5.0

    def missing(self) -> list[str]:
        """Libraries that would have to be installed."""
        return [module for extra in self.extras for module in EXTRAS[extra] if find_spec(module) is None]

    def plan(self, entry: DataSet, budget: str) -> Plan:
        """The recipe, the part of the data and the number of splits of a budget."""
        if budget not in BUDGETS:
            raise ValueError(f"budget must be one of {', '.join(map(repr, BUDGETS))}, got {budget!r}")
        splits = SMOKE_SPLITS if budget == "smoke" else entry.protocol.count
        size = SMOKE if budget == "smoke" else Size()
        options: dict[str, Any] = dict(self.options)
        label = budget
        if self.family == "descriptor":
            label = "smoke" if budget == "smoke" else "paper"
        elif budget != "paper":
            options |= self.reduced if budget == "reduced" else self.smoke
        if self.family in ("network", "learned") and budget == "reduced" and not entry.real:
            splits = min(splits, 3 if self.name.startswith("HFS-full") else 1)
        if self.family == "network" and entry.points and budget != "smoke":
            options["n_points"] = min(entry.points, options.get("n_points", entry.points))
        if self.family == "persistence" and budget == "reduced":
            count = (100, 5) if entry.name == "processes" else (40, 3)
            size, splits = Size(clouds=count[0]), min(splits, count[1])
        if self.family == "persistence" and entry.name == "disks_annuli":
            # Some 1,500 points make as many components, of which GRIL would compare all with all.
            options |= _LARGE.get(self.kind, {})
        recipe: dict[str, Any] = {"kind": self.kind, "options": _plain(options)}
        if self.family == "descriptor":
            recipe |= {"head": self.head, "epochs": 60 if budget == "smoke" else 3000}
            recipe |= {"blocks": list(self.blocks)} if self.blocks else {}
            recipe |= {"trainer": trainer()} if self.head == "mlp" else {}
        return Plan(recipe, size, splits, label)

    def modules(self) -> list[str]:
        """Where its code begins, for `code_digest`."""
        if self.kind == "HFSDescriptor":
            return ["_features.descriptor", "_classifier.preprocessing", "nn._mlps"]
        if self.kind == "HFSClassifier":
            return ["_classifier.classifier", "_features.point_table", "nn._learner"]
        home = getattr(import_module("..baselines", __package__), self.kind).__module__
        own = home.split(".", 1)[1]
        more = ["_classifier.preprocessing", "nn._mlps"] if self.family == "descriptor" else []
        return [own, *more, *(["nn.networks._learner"] if self.family == "network" else [])]

    def code(self) -> str:
        """A hash of the code that it runs."""
        return code_digest(self.modules())


_LARGE: dict[str, dict[str, Any]] = {"GRIL": {"degrees": [1]}, "GraphCode": {"max_bars": 100}}


def trainer() -> str:
    """Which implementation trains the head "mlp": many networks at once where torch is installed."""
    return "torch, many at once" if find_spec("torch") else "scikit-learn"


def _plain(options: Mapping[str, Any]) -> dict[str, Any]:
    return {k: list(v) if isinstance(v, tuple) else v for k, v in options.items()}


_BLOCK_NAMES = dict(
    zip(PAPER_BLOCKS, ("global", "HDS", "density", "heat-dim", "transition", "log-Hessian"), strict=True)
)


def _hfs(name: str, variant: str, **more: Any) -> Method:
    options = {"variant": variant, **more.pop("options", {})}
    return Method(name, "descriptor", "HFSDescriptor", options, cost=4.0, **more)


def _other(kind: str, extras: tuple[str, ...] = (), cost: float = 10.0) -> Method:
    return Method(kind, "descriptor", kind, extras=extras, cost=cost)


def _network(name: str, kind: str, cost: float, **options: Any) -> Method:
    return Method(
        name, "network", kind, options, reduced={"epochs": 15, "n_points": 256},
        smoke={"epochs": 1, "n_points": 64}, extras=("torch",), cost=cost,
    )  # fmt: skip


def _persistence(name: str, kind: str, cost: float, **options: Any) -> Method:
    learns = kind == "GraphCode"
    return Method(
        name, "persistence", kind, options, reduced={"epochs": 60} if learns else {},
        smoke={"epochs": 2} if learns else {"n_estimators": 5},
        extras=("persistence", "torch") if learns else ("persistence",), cost=cost,
    )  # fmt: skip


def _learned(name: str, variant: str, cost: float, epochs: int) -> Method:
    return Method(
        name, "learned", "HFSClassifier", {"variant": variant},
        reduced={"epochs": epochs, "train_points": 256}, smoke={"epochs": 1}, extras=("torch",), cost=cost,
    )  # fmt: skip


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
    full = _learned("", "full", 200.0, 40)
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
        _other("FPFH", ("baselines",)),
        _other("HKS", cost=12.0),
        _other("WKS", cost=12.0),
        _other("LocalCovariance"),
        _learned("HFS-full", "full", 200.0, 40),
        _learned("HFS+DGCNN", "dgcnn", 1500.0, 10),
        _network("PointNet", "PointNet", 200.0),
        _network("PointNet++", "PointNet2", 800.0),
        _network("DGCNN", "DGCNN", 1000.0),
        _network("Point Tr", "PointTransformer", 1000.0),
        _network("DGCNN-SO(3)", "DGCNN", 1000.0, rotation="so3"),
        _network("VN-DGCNN", "VNDGCNN", 2000.0),
        _persistence("MP-I", "MPImage", 200.0),
        _persistence("MP-L", "MPLandscape", 200.0),
        _persistence("MP-HSM-C", "MPSignedMeasure", 100.0),
        _persistence("GRIL", "GRIL", 800.0),
        _persistence("GC", "GraphCode", 500.0),
        _persistence("GC-NE", "GraphCode", 500.0, edges=False),
        *_ablation(),
        *_scales(),
        *_variants(),
    ]
    return {entry.name: entry for entry in entries}


METHODS: dict[str, Method] = _entries()
