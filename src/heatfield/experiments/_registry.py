"""The registry of methods: one entry is one row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .._features.layout import PAPER_BLOCKS
from ._methods import Method

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
        group="persistence", extras=("persistence", "torch") if learns else ("persistence",), cost=cost,
    )  # fmt: skip


def _learned(name: str, variant: str, cost: float, epochs: int, whole: int, **more: Any) -> Method:
    reduced = {"epochs": epochs, "train_points": 256, "whole_epochs": whole}
    return Method(
        name, "learned", "HFSClassifier", {"variant": variant},
        reduced=reduced, smoke={"epochs": 1}, extras=("torch",), cost=cost, **more,
    )  # fmt: skip


def _full(name: str) -> Method:
    return _learned(name, "full", 200.0, 40, 6, reduced_splits=3)


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
        _other("FPFH", ("baselines",)),
        _other("HKS", cost=12.0),
        _other("WKS", cost=12.0),
        _other("LocalCovariance"),
        _full("HFS-full"),
        _learned("HFS+DGCNN", "dgcnn", 1500.0, 10, 2),
        _network("PointNet", "PointNet", 200.0),
        _network("PointNet++", "PointNet2", 800.0),
        _network("DGCNN", "DGCNN", 1000.0),
        _network("Point Tr", "PointTransformer", 1000.0),
        _network("DGCNN-SO(3)", "DGCNN", 1000.0, rotation="so3"),
        _network("VN-DGCNN", "VNDGCNN", 2000.0),
        _persistence("MP-I", "MPImage", 200.0),
        _persistence("MP-L", "MPLandscape", 200.0),
        _persistence("MP-HSM-C", "MPSignedMeasure", 100.0),
        # Loops alone: how much the components, and with them the number of points, contribute.
        _persistence("MP-HSM-C, degree 1", "MPSignedMeasure", 100.0, degrees=[1]),
        _persistence("GRIL", "GRIL", 800.0),
        _persistence("GC", "GraphCode", 500.0),
        _persistence("GC-NE", "GraphCode", 500.0, edges=False),
        *_ablation(),
        *_planar(),
        *_scales(),
        *_variants(),
    ]
    return {entry.name: entry for entry in entries}


METHODS: dict[str, Method] = _entries()
