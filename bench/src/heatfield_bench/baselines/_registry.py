"""Which baselines there are, where each is, what it needs, and where its recipe comes from."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, NamedTuple

from .._optional import install


class Method(NamedTuple):
    """One line of the registry."""

    module: str
    extra: str | None  # of the installation, perhaps two; None: needs nothing beyond the library
    source: str


METHODS: dict[str, Method] = {
    "FPFH": Method("_fpfh", "open3d", "Rusu et al. 2009; radii and fallback of the HFS paper"),
    "HKS": Method("_hks", None, "Sun et al. 2009; graph, eigenpairs and times of the HFS paper"),
    "WKS": Method("_wks", None, "Aubry et al. 2011"),
    "LocalCovariance": Method("_local_covariance", None, "Weinmann et al. 2015; as in jakteristics"),
    "PointNet": Method("_pointnet", "torch", "Qi et al. 2017, charlesq34/pointnet"),
    "PointNet2": Method(
        "_pointnet2", "torch", "Qi et al. 2017, charlesq34/pointnet2; centres of the HFS paper"
    ),
    "DGCNN": Method("_dgcnn", "torch", "Wang et al. 2019, WangYueFt/dgcnn; augmentation of the HFS paper"),
    "PointTransformer": Method(
        "_point_transformer", "torch", "Zhao et al. 2021; network of Pointcept's Cls38"
    ),
    "VNDGCNN": Method("_vn_dgcnn", "torch", "Deng et al. 2021, FlyingGiraffe/vnn-pc"),
    "MPImage": Method("_mp_image", "persistence", "Carrière and Blumberg 2020; by multipers"),
    "MPLandscape": Method("_mp_landscape", "persistence", "Vipond 2020; own implementation"),
    "MPSignedMeasure": Method(
        "_mp_signed_measure", "persistence", "Loiseaux et al. 2023; own implementation"
    ),
    "GraphCode": Method("_graphcode", "persistence,torch", "Kerber and Russold 2024; own implementation"),
    "GRIL": Method("_gril", "persistence", "Xin et al. 2023; own implementation, not checked against theirs"),
}

# What an extra brings: the modules that must be importable.
_EXTRAS = {
    "torch": ("torch",),
    "open3d": ("open3d",),
    "persistence": ("multipers", "gudhi", "xgboost"),
}


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
    return Records(_record(name, method) for name, method in METHODS.items())


def _record(name: str, method: Method) -> Record:
    missing = _missing(name, method)
    count = None if missing else _parameters(name, method)
    return Record(name, not missing, missing, count, method.source)


def _missing(name: str, method: Method) -> str:
    if method.extra is None:
        return ""
    wanted = [module for extra in method.extra.split(",") for module in _EXTRAS[extra]]
    absent = [module for module in wanted if find_spec(module) is None]
    return f"{name} needs {', '.join(absent)}: {install(method.extra)}" if absent else ""


def _parameters(name: str, method: Method) -> int | None:
    package = __name__.rpartition(".")[0]
    kind: Any = getattr(importlib.import_module(f"{package}.{method.module}"), name)
    count = getattr(kind, "parameter_count", None)
    return None if count is None else count(n_classes=40)
