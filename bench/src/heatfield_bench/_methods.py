"""The methods, one entry per row: which estimator each is, what a budget asks of it, the paper's figures.

Rows of baselines are declared on their classes (`baselines.registry.baseline`), ours are below.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import heatfield
from heatfield._base.check import check_choice
from heatfield.features.layout import PAPER_BLOCKS, VARIANT_BLOCKS
from heatfield.models.read_out import HEADS, NORMALISATIONS

from . import _tools
from ._sets import DataSet, Size
from .baselines.registry import BESIDE, entries

BUDGETS = ("smoke", "reduced", "paper")
# Of the smallest budget: enough for every table to be filled, far too little for any conclusion.
SMOKE = Size(clouds=10, points=96)
SMOKE_SPLITS = 2
FAMILIES = ("descriptor", "learned", "network", "persistence", "classifier")
BATCH = 32  # clouds per step of every network of the paper
TRAINER = "torch, many at once"  # of the head "mlp"; records name it
# The data sets of each of the paper's tables (percent; seconds of the runtimes, in the order of its columns).
# The speed-up is the median over the four data sets, as Table 2 prints it.
_SEVEN = ("Processes", "Orbit5k", "DisksAnnuli", "Allen", "NeuroMorpho", "FOR-species", "SCOP")
SETS = {
    "main": _SEVEN, "ablation": _SEVEN, "runtime": _SEVEN[3:], "speed_up": ("median",),
    "rotation": _SEVEN[3:], "before_rotation": _SEVEN[3:], "persistence": ("DisksAnnuli", "Processes"),
    "scales": ("Processes", "NeuroMorpho"), "boundary": ("IntrA", "ATLAS-1"),
    "boundary_f1": ("IntrA", "ATLAS-1"),
}  # fmt: skip


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
    kind : class
        A descriptor has ``fit_transform(clouds)``, which gives a row of numbers per cloud by that cloud
        alone; a classifier has ``fit(clouds, labels)`` and ``predict(clouds)``.
    options : mapping
        Of the estimator; plain values, since they are kept in the record.
    blocks : tuple of str, optional
        Of a descriptor: only these of its blocks.
    head : "mlp", "lda", "svm", "auto" or "default"
        Of a descriptor; "auto" is the choice of `HFSClassifier`, "default" its choice of the variant too.
    normalise : "standard" or "rank"
        Of the features that the head reads.
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
    published : mapping
        The paper's figures, by table and data set.
    beside : tuple of str
        Tables that show a row of the main one too.

    Examples
    --------
    >>> from heatfield_bench import DATA_SETS, METHODS
    >>> method = METHODS["HFS-desc"]
    >>> method.missing(), method.plan(DATA_SETS["orbit5k"], "smoke").splits
    ([], 2)
    """

    name: str
    family: str
    kind: type
    options: Mapping[str, Any] = field(default_factory=dict)
    blocks: tuple[str, ...] | None = None
    head: str = "mlp"
    normalise: str = "standard"
    reduced: Mapping[str, Any] = field(default_factory=dict)
    smoke: Mapping[str, Any] = field(default_factory=dict)
    group: str = "main"
    extras: tuple[str, ...] = ()
    cost: float = 5.0
    reduced_splits: int = 1
    published: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    beside: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_choice(self.family, "family", FAMILIES)
        check_choice(self.head, "head", (*HEADS, "auto", "default"))
        check_choice(self.normalise, "normalise", NORMALISATIONS)
        if isinstance(self.extras, str):
            raise ValueError(f"extras must be a tuple of names, got {self.extras!r}")
        if not isinstance(self.kind, type):
            raise ValueError(f"kind of {self.name!r} must be a class, got {self.kind!r}")
        needed = ("fit_transform",) if self.family == "descriptor" else ("fit", "predict")
        lacking = [method for method in needed if not callable(getattr(self.kind, method, None))]
        if lacking:
            lacks = f"must have the method {' and '.join(lacking)}"
            raise ValueError(f"kind of {self.name!r}, a {self.family}, {lacks}")
        if self.blocks is not None and not hasattr(self.kind, "layout"):
            why = f"{self.kind.__name__} has no layout that names any"
            raise ValueError(f"blocks of {self.name!r} must be left out: {why}")
        try:
            json.dumps([_plain(part) for part in (self.options, self.reduced, self.smoke)])
        except TypeError as error:
            raise ValueError(f"options of {self.name!r} must be plain values: {error}") from None

    @property
    def table(self) -> str:
        """The table whose file holds its results."""
        return {"heads": "main", "planar": "ablation"}.get(self.group, self.group)

    @property
    def epochs(self) -> int:
        """How long a network is trained in the paper."""
        return getattr(self.kind, "training", {}).get("epochs", 250)

    def missing(self) -> list[str]:
        """Libraries that would have to be installed.

        Returns
        -------
        names : list of str
        """
        head = ("torch",) if self.family == "descriptor" and self.head == "mlp" else ()
        return _tools.missing((*self.extras, *head))

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
        check_choice(budget, "budget", BUDGETS)
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
            options |= getattr(self.kind, "many_points", {})
        steps = options.pop("steps", None)
        recipe: dict[str, Any] = {"kind": name_of(self.kind), "options": _plain(options)}
        recipe |= {} if steps is None else {"steps": steps}
        if self.family == "descriptor":
            recipe |= {"head": self.head, "epochs": 60 if budget == "smoke" else 3000}
            recipe |= {"blocks": list(self.blocks)} if self.blocks else {}
            recipe |= {"trainer": TRAINER} if self.head == "mlp" else {}
            recipe |= {"normalise": self.normalise} if self.normalise != "standard" else {}
        return Plan(recipe, size, splits, label)


def epochs_within(steps: int, clouds: int, most: int = 250) -> int:
    """As many passes over the training clouds as fit into a number of steps; at least one.

    Examples
    --------
    >>> epochs_within(2000, 1164), epochs_within(2000, 100), epochs_within(10, 4000)
    (54, 250, 1)
    """
    return max(1, min(most, steps // -(-clouds // BATCH)))


def _plain(options: Mapping[str, Any]) -> dict[str, Any]:
    return {k: list(v) if isinstance(v, tuple) else v for k, v in options.items()}


def name_of(kind: type) -> str:
    """As the recipe of a record has it: the name, of a class of one's own with its module."""
    if kind.__module__.split(".")[0] not in ("heatfield", "heatfield_bench"):
        return f"{kind.__module__}.{kind.__qualname__}"
    # Records are older than the name.
    return "HFSClassifier" if kind is heatfield.HFSNetworkClassifier else kind.__name__


def made(kind: type, options: Mapping[str, Any], **more: Any) -> Any:
    """An unfitted estimator; of ``more`` it gets what it has parameters for and the options leave open."""
    model = kind(**options)
    known = model.get_params() if hasattr(model, "get_params") else {}
    open_ = {name: value for name, value in more.items() if name in known and name not in options}
    return model.set_params(**open_) if open_ else model


# --- the rows ------------------------------------------------------------------------


def _figures(published: Mapping[str, str]) -> dict[str, dict[str, float]]:
    """By table and data set."""
    return {
        table: dict(zip(SETS[table], map(float, text.split()), strict=True))
        for table, text in published.items()
    }


def _baselines() -> Iterable[Method]:
    for entry in entries():
        kind: Any = entry.kind
        group = getattr(kind, "group", "main")
        yield Method(
            entry.name, kind.family, kind, entry.options, extras=entry.extras, cost=entry.cost,
            reduced=getattr(kind, "reduced", {}), smoke=getattr(kind, "smoke", {}),
            group=group, published=_figures(entry.published), beside=entry.beside if group == "main" else (),
        )  # fmt: skip


def _hfs(name: str, variant: str, published: Mapping[str, str] | None = None, **more: Any) -> Method:
    options = {"variant": variant, **more.pop("options", {})}
    own: dict[str, Any] = {"cost": 4.0, "published": _figures(published or {})} | more
    return Method(name, "descriptor", heatfield.HFSDescriptor, options, **own)


def _learned(name: str, variant: str, published: Mapping[str, str] | None = None, **more: Any) -> Method:
    full = variant == "full"
    reduced = {"steps": 4000 if full else 2000, "train_points": 256}
    return Method(
        name, "learned", heatfield.HFSNetworkClassifier, {"variant": variant, **more.pop("options", {})},
        reduced=reduced, smoke={"epochs": 1}, extras=("torch",), cost=200.0 if full else 1500.0,
        reduced_splits=3 if full else 1, published=_figures(published or {}), **more,
    )  # fmt: skip


def _ours() -> Iterable[Method]:
    """The variants of HFS, and other heads on two of them."""
    yield _hfs("HFS-simple", "simple", {
        "main": "97.3 89.3 91.4 97.0 65.4 63.5 49.3", "runtime": "55.0 54.2 56.0 3.0", "speed_up": "24.7",
        "rotation": "0.0 0.0 0.0 0.0", "boundary": "80.1 73.0", "boundary_f1": "81.0 72.9",
    }, beside=BESIDE)  # fmt: skip
    yield _hfs("HFS-desc", "desc", {
        "main": "98.3 93.2 92.1 97.8 72.8 65.9 58.0", "runtime": "353.4 313.9 206.0 3.3", "speed_up": "4.8",
        "rotation": "0.0 -0.8 -0.1 0.0", "persistence": "92.1 98.3", "boundary": "85.1 74.4",
        "boundary_f1": "86.0 74.3", "ablation": "98.3 93.3 92.2 97.8 72.3 65.8 58.0", "scales": "98.3 72.3",
    }, beside=(*BESIDE, "persistence"))  # fmt: skip
    yield _hfs("HFS-joint", "joint", beside=BESIDE)
    yield _hfs("HFS-desc, LDA", "desc", head="lda", group="heads")
    yield _hfs("HFS-joint, LDA", "joint", head="lda", group="heads", beside=("curve",))
    yield _learned("HFS-full", "full", {
        "main": "97.5 97.5 99.8 97.9 74.1 67.6 59.6", "runtime": "206.9 147.7 96.1 29.2", "speed_up": "8.5",
        "rotation": "0.0 0.0 0.0 0.0", "persistence": "99.8 97.5", "boundary": "89.2 74.4",
        "boundary_f1": "89.0 74.4",
    }, beside=(*BESIDE, "persistence"))  # fmt: skip
    yield _learned("HFS+DGCNN", "dgcnn", {
        "main": "81.4 93.4 98.8 98.2 77.6 65.1 54.7", "runtime": "2339.0 1804.7 984.8 74.6",
        "speed_up": "0.8", "rotation": "-0.1 1.1 -0.7 0.7", "boundary": "89.8 76.4",
        "boundary_f1": "90.8 76.6",
    }, beside=BESIDE)  # fmt: skip


# Each block alone, all but one, and all but the local ones: the paper's thirteen rows.
_ABLATION = {
    "only global": "97.5 65.5 54.2 90.5 64.3 58.4 41.3",
    "only HDS": "96.4 87.1 85.1 96.4 59.7 58.8 42.7",
    "only density": "97.0 21.8 89.0 27.5 35.7 40.8 42.1",
    "only heat-dim": "95.4 84.8 76.3 95.9 58.3 59.0 43.7",
    "only transition": "94.9 85.6 74.3 96.2 59.2 57.7 44.3",
    "only log-Hessian": "97.8 90.2 83.2 97.2 68.1 61.0 54.6",
    "without global": "98.3 93.4 91.8 97.4 71.0 65.4 58.0",
    "without HDS": "98.3 92.1 91.2 97.8 72.1 65.4 56.8",
    "without density": "98.2 93.3 90.5 97.8 72.0 66.1 58.2",
    "without heat-dim": "98.3 93.0 92.1 97.9 73.1 66.8 57.6",
    "without transition": "98.3 93.0 92.1 97.8 72.8 65.8 58.3",
    "without log-Hessian": "97.3 89.4 91.4 97.3 66.1 63.5 49.6",
    "without local": "97.6 87.8 87.0 96.7 64.4 61.9 47.3",
}
BLOCKS = ("global", "HDS", "density", "heat-dim", "transition", "log-Hessian")
SPATIAL = ", centres 0 to 3"


def _ablation() -> Iterable[Method]:
    """The rows, and those that count with the dimension spectrum of space, of clouds in the plane.

    The paper prints the widths of space beside its planar sets; ours have the centres 0, 1 and 2.
    """
    chosen: dict[str, tuple[str, ...] | None] = {"HFS-desc": None, "without local": ("global", "hds")}
    for block, name in zip(PAPER_BLOCKS, BLOCKS, strict=True):
        chosen |= {f"only {name}": (block,), f"without {name}": tuple(b for b in PAPER_BLOCKS if b != block)}
    for name, figures in _ABLATION.items():
        yield _hfs(name, "desc", {"ablation": figures}, blocks=chosen[name], group="ablation")
    options = {"hds_centers": [0, 1, 2, 3]}
    for name in ("HFS-desc", "only HDS", "without local"):
        figures = _ABLATION.get(name, "98.3 93.3 92.2 97.8 72.3 65.8 58.0")
        yield _hfs(
            name + SPATIAL,
            "desc",
            {"ablation": figures},
            blocks=chosen[name],
            options=options,
            group="planar",
        )


COUNTS = {2: "95.0 58.8", 4: "97.7 69.5", 8: "", 16: "98.6 74.2"}
RANGES = {
    (0.01, 0.25): "98.6 72.2", (0.05, 0.1): "98.3 72.4", (0.05, 0.25): "", (0.05, 0.5): "98.2 72.7",
    (0.1, 0.25): "98.5 73.0",
}  # fmt: skip


def _scales() -> Iterable[Method]:
    """Numbers of scales, and ranges of them; what has no figures here is HFS-desc."""
    for count, figures in COUNTS.items():
        if figures:
            yield _hfs(
                f"{count} scales", "desc", {"scales": figures}, options={"n_scales": count}, group="scales"
            )
    for (low, high), figures in RANGES.items():
        if figures:
            options = {"c_min": low, "c_max": high}
            yield _hfs(
                f"range {low:g}, {high:g}", "desc", {"scales": figures}, options=options, group="scales"
            )


_LOG = ("log_global", "hds", "log_density", "dimension", "transition", "spectrum")


def _variants() -> Iterable[Method]:
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
    yield _hfs("HFS-joint, SVM", "joint", head="svm", group="variants")
    for name, own in options.items():
        yield _learned(f"HFS-full, {name}", "full", options=own, group="variants")


def _descriptors() -> Iterable[Method]:
    """Closed-form descriptors, each with the heads that need no network."""
    for variant in ("desc", "joint", "oriented"):
        if variant not in VARIANT_BLOCKS:
            continue
        for head, normalise in (("lda", "standard"), ("lda", "rank"), ("auto", "standard")):
            name = f"{variant}, {'rank ' if normalise == 'rank' else ''}{head}"
            cost = 40.0 if head == "auto" else 4.0
            yield _hfs(name, variant, head=head, normalise=normalise, group="descriptors", cost=cost)
    widest = heatfield.HFSClassifier().descriptor_options()["variant"]
    yield _hfs("the default", widest, head="default", group="descriptors", cost=50.0)


# In the order in which tables show them.
METHODS: dict[str, Method] = {
    method.name: method
    for methods in (_baselines(), _ours(), _ablation(), _scales(), _variants(), _descriptors())
    for method in methods
}
