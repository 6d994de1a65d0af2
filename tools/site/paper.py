"""The page "paper to command": each equation, figure, theorem and table, what gives it here, and both figures.

Published figures are typed from the paper; ours are read from the result files and nowhere typed.
"""

from __future__ import annotations

import json
from typing import Any

from benchmarks.lib.results import RESULTS

_EQUATIONS = (
    ("3.2, A.1", r"$u_X(y,t)$, the heat field", "{py:meth}`HeatField.value <heatfield.HeatField.value>`; at the points `s.density`"),
    ("A.1", r"$\partial_t u=\Delta u$", "{py:meth}`HeatField.hessian <heatfield.HeatField.hessian>`: its trace is the right side"),
    ("3.2, (1)", "$E_2$", "`s.energy` of {py:func}`heatfield.signatures`"),
    ("3.2, (2)", "$C_2$", "`s.response`"),
    ("3.2, (3)", r"$\mathcal{E}$, Dirichlet energy", "`s.roughness`"),
    ("3.2, (4)", r"$\tilde{\mathcal{E}}$", "`s.relative_roughness`"),
    ("A.2", r"$\Omega_{\alpha,t}$, heat body", "{py:meth}`HeatField.heat_body <heatfield.HeatField.heat_body>`; `heatfield view`, key b"),
    ("3.3, A.3", r"$d_{heat}$", "`s.dimension`; anywhere {py:meth}`HeatField.dimension <heatfield.HeatField.dimension>`"),
    ("3.3, A.3", r"$Q_X$, log-Hessian", "{py:meth}`HeatField.log_hessian <heatfield.HeatField.log_hessian>`"),
    ("3.3, A.3", r"$2t\lambda_k$", "`s.spectrum`"),
    ("3.3, A.3", r"$\tau$", '`s.transition`; `transition="difference"` as in the paper, `"exact"` in closed form'),
    ("3.3", r"$\psi_X$, local type", "{py:meth}`s.local_type(scale) <heatfield.Signatures.local_type>`, one word per point"),
    ("3.4, A.4", r"$\eta_k$, $p^{geo}_k$, $p^{\rho}_k$, $\Delta p_k$", "`s.hds.composition`, `s.hds.contrast`"),
    ("3.5", r"$\phi(x_i)$", "{py:meth}`s.per_point() <heatfield.Signatures.per_point>`; `heatfield describe --per-point las`; with gradients {py:class}`heatfield.nn.HeatFeatures`"),
    ("3.5", r"$\Phi(X)$, HFS-simple, HFS-desc", "{py:class}`heatfield.HFSDescriptor`; `heatfield describe`"),
    ("3.5", r"$z_X$ learned, HFS-full, HFS+DGCNN", '{py:class}`heatfield.HFSClassifier` with `"full"` or `"dgcnn"`; {py:class}`heatfield.nn.HFSFull`, {py:class}`heatfield.nn.HFSDGCNN`; `heatfield train`'),
    ("3.5, A.5", r"$t_{min}$, $t_{max}$, schedule", "{py:func}`heatfield.scale_schedule`; `heatfield info FILE` prints it"),
    ("A.5", r"$t_{i,a}=c_a\,r_i(k)^2$", "{py:func}`heatfield.adaptive_scales`"),
    ("A.5", "truncated sums, large clouds", '`method="fast"`, `tol`: [large clouds](../theory/fast.md)'),
)  # fmt: skip
_FIGURES = (
    ("Figure 1, multiscale heat landscape", "{py:func}`heatfield.plot.heat_landscape`", "[gallery](../gallery/index)"),
    ("Figure 2, pipeline", "{py:func}`heatfield.plot.pipeline`", "[picture](../guide/plots.md)"),
    ("Theorem 1, finite samples", "`python examples/theorem1.py`", "[page and picture](../theory/theorem1.md)"),
    ("Table 6, meaning of the components", "{py:func}`heatfield.signatures`", "[column dictionary](columns.md)"),
    ("Table 7, benchmark summary", "{py:mod}`heatfield.datasets`: `make_*`, `load_*`", "[data sets](../guide/datasets.md)"),
)  # fmt: skip
# Set of the paper: (ours, remark); published accuracies by variant.
_MAIN = {
    "Processes": ("processes", "reconstruction", {"simple": 97.3, "desc": 98.3, "full": 97.5, "dgcnn": 81.4}),
    "Orbit5k": ("orbit5k", "same recipe", {"simple": 89.3, "desc": 93.2, "full": 97.5, "dgcnn": 93.4}),
    "DisksAnnuli": ("disks_annuli", "reconstruction", {"simple": 91.4, "desc": 92.1, "full": 99.8, "dgcnn": 98.8}),
    "Allen": (None, "`load_allen`", {"simple": 97.0, "desc": 97.8, "full": 97.9, "dgcnn": 98.2}),
    "NeuroMorpho": (None, "`load_neuromorpho`", {"simple": 65.4, "desc": 72.8, "full": 74.1, "dgcnn": 77.6}),
    "FOR-species20K": (None, "`load_for_species20k`", {"simple": 63.5, "desc": 65.9, "full": 67.6, "dgcnn": 65.1}),
    "SCOP": (None, "`load_scop`", {"simple": 49.3, "desc": 58.0, "full": 59.6, "dgcnn": 54.7}),
}  # fmt: skip
_NOT_MEASURED = (
    ("Table 2, end-to-end runtime", "`heatfield bench runtime`; `make bench` has the time per cloud", "[speed](../results/speed.md)"),
    ("Table 3, rotation", '{py:class}`heatfield.HFSClassifier`, once on clouds and once on rotated ones; that the descriptor is invariant is tested (`tests/_signatures/test_invariance.py`)', "[experiments](../results/experiments.md)"),
    ("Table 5, component ablation", "`heatfield bench ablation`", "[experiments](../results/experiments.md)"),
    ("Table 8, boundary sets", "`heatfield bench boundary`; {py:func}`heatfield.datasets.load_intra`, {py:func}`heatfield.datasets.load_atlas1`", "not measured here"),
    ("Table 9, scale schedule", "`heatfield bench scales`; {py:func}`heatfield.plot.accuracy_by_scales`", "not measured here"),
)  # fmt: skip


def page() -> str:
    """The whole page as Markdown."""
    lines = [
        "# Paper to command",
        "",
        "Numbers of sections, equations, figures and tables are those of the paper. In the code below `s = hf.signatures(points)`.",
        "",
    ]
    lines += ["## Equations", "", "| section | what | here |", "|---|---|---|"]
    lines += [f"| {a} | {b} | {c} |" for a, b, c in _EQUATIONS]
    lines += [
        "",
        "Derivations and choices: [signatures](../theory/signatures.md), [choices](../theory/choices.md).",
        "",
    ]
    lines += ["## Figures, Theorem 1, overview tables", "", "| paper | here | see |", "|---|---|---|"]
    lines += [f"| {a} | {b} | {c} |" for a, b, c in _FIGURES]
    lines += ["", "## Table 1: accuracy", "", *_main_table(), ""]
    lines += ["## Table 4: multiparameter persistence", "", *_persistence_table(), ""]
    lines += ["## Other tables", "", "| paper | command | our figure |", "|---|---|---|"]
    lines += [f"| {a} | {b} | {c} |" for a, b, c in _NOT_MEASURED]
    return "\n".join([*lines, ""])


def _read(name: str) -> dict[str, Any]:
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else {}


def _main_table() -> list[str]:
    """Published beside ours, per set and variant."""
    lines = [
        "`heatfield bench main`; all cells: [experiments](../results/experiments.md). Per cent, ours with the standard deviation over",
        "the splits. A *reconstruction* is generated from the published description: its clouds are not the paper's.",
        "Real sets need their own downloads, and no result file holds them yet.",
        "",
        "| set | ours | HFS-simple: published, ours | HFS-desc | HFS-full | HFS+DGCNN |",
        "|---|---|---|---|---|---|",
    ]
    for title, (key, remark, published) in _MAIN.items():
        cells = []
        for variant, figure in published.items():
            cells.append(f"{figure}, {_ours(_record(key, variant))}")
        lines.append(f"| {title} | {remark} | {' | '.join(cells)} |")
    return [
        *lines,
        "",
        "In brackets: the number of splits, and the training where it is shorter than the paper's 250 epochs of all points.",
    ]


def _record(key: str | None, variant: str) -> dict[str, Any] | None:
    """The record of a variant on a set: of the protocol where there is one, else of earlier splits."""
    names = {"simple": "hfs-simple", "desc": "hfs-desc", "full": "hfs-full", "dgcnn": "hfs-dgcnn"}
    patterns = (f"{names[variant]}-accuracy-paper-*", f"{variant}-mlp-earlier-*", f"{variant}-earlier-*")
    for pattern in patterns if key else ():
        for path in sorted((RESULTS / "experiments" / str(key)).glob(f"{pattern}.json")):
            return json.loads(path.read_text())
    return None


def _ours(found: dict[str, Any] | None) -> str:
    """Mean of the overall accuracy, deviation over the splits where there are several, number of splits."""
    if not found:
        return "-"
    values = [split["scores"]["none"]["oa"] for split in found["splits"].values()]
    mean, count = sum(values) / len(values), len(values)
    recipe = found.get("recipe", {}) if found["budget"] != "paper" else {}
    budget = f"; {recipe['epochs']} epochs" if "epochs" in recipe else ""
    budget += f" of {recipe['train_points']} points" if "train_points" in recipe else ""
    spread = (sum((v - mean) ** 2 for v in values) / max(1, count - 1)) ** 0.5
    return f"**{mean:.1f}**" + (f" ± {spread:.1f}" if count > 1 else "") + f" ({count}{budget})"


def _persistence_table() -> list[str]:
    """Published beside ours on the subsets that were run."""
    found = _read("persistence")
    lines = [
        "`python -m benchmarks.persistence`, on smaller subsets of reconstructed sets "
        "([which](../guide/baselines_persistence.md)); per cent.",
        "",
        "| method | Processes: published, ours | DisksAnnuli: published, ours |",
        "|---|---|---|",
    ]
    published = found.get("published_accuracy_percent", {})
    for method in published.get("processes", {}):
        cells = []
        for data in ("processes", "disks_annuli"):
            own = [
                c["accuracy"] for c in found["cells"].values() if (c["data"], c["method"]) == (data, method)
            ]
            ours = f"**{100 * sum(own) / len(own):.1f}** ({len(own)})" if own else "-"
            cells.append(f"{published[data][method]}, {ours}")
        lines.append(f"| `{method}` | {' | '.join(cells)} |")
    return lines
