"""The page "paper to command": each equation, figure, theorem and table, what gives it here, and both figures.

Published figures are those of `heatfield_bench`; ours are read from the result files and nowhere typed.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from benchmarks.lib.results import ROOT
from heatfield_bench import DATA_SETS, METHODS
from heatfield_bench._grid import found_record, mean_of, remarks_on
from heatfield_bench._jobs import Context
from heatfield_bench._methods import SETS, SPATIAL
from heatfield_bench._results import Record, Store
from heatfield_bench.tables import table as table_of

_READ = (
    "First the published figure; then ours, bold, with the standard deviation over the splits, in brackets their number and the"
    " training where it is shorter than the paper's. Ours stands only beside the paper's data set or its reconstruction. Processes and DisksAnnuli are"
    " generated from the published descriptions: their clouds are not the paper's. The paper's own real sets need downloads, and"
    " no result file holds them yet. All cells with dates and machines: [experiments](../results/experiments.md)."
)
EQUATIONS: tuple[tuple[str, str, str], ...] = (
    ("3.1", r"$X \to u_X \to [\Phi_{global}, \Phi_{HDS}, z_X] \to$ classifier", "{py:class}`heatfield.HFSClassifier`; drawn by {py:func}`heatfield.plot.pipeline`"),
    ("A.1", r"$N_X(y,r)$, points in a ball", "`number_of_neighbors` of {py:class}`heatfield_bench.baselines.LocalCovariance`; the paper's starting point, replaced by $u_X$"),
    ("3.2, A.1", r"$u_X(y,t)$, the heat field", "{py:meth}`HeatField.value <heatfield.HeatField.value>`; at the points `s.density`"),
    ("Figure 1", r"$F_X(y,t)$, the field without its factor $(4\pi t)^{-n/2}$", "{py:func}`heatfield.plot.heat_landscape`"),
    ("A.1", r"$\partial_t u=\Delta u$", "{py:meth}`HeatField.hessian <heatfield.HeatField.hessian>`: its trace is the right side"),
    ("3.2", r"$D_{ij}$, $w_{ij}(t)$, $W_i(t)$", r"$W_i = u(x_i,t)\,(4\pi t)^{n/2}$, from `s.density`; [symbols](../theory/symbols.md)"),
    ("3.2, (1)", "$E_2$", "`s.energy` of {py:func}`heatfield.signatures`"),
    ("3.2, (2)", "$C_2$", "`s.response`"),
    ("A.2", r"$E_2\sim t^{-(n-d)/2}$, $C_2\approx(n-d)/2$ in an ideal regime", "{py:func}`heatfield.plot.global_curves`"),
    ("3.2, (3)", r"$\mathcal{E}$, Dirichlet energy", "`s.roughness`"),
    ("3.2, (4)", r"$\tilde{\mathcal{E}}$", "`s.relative_roughness`; $\\varepsilon$ is 0 ([choices](../theory/choices.md))"),
    ("3.2", r"$\Phi_{global}(X)$", '`HFSDescriptor(blocks=["global"])`'),
    ("A.2", r"$\Omega_{\alpha,t}$, heat body, and $M_X(t)$", "{py:meth}`HeatField.heat_body <heatfield.HeatField.heat_body>`; `heatfield view`, key b"),
    ("3.3, A.3", r"$d_{heat}$", "`s.dimension`; anywhere {py:meth}`HeatField.dimension <heatfield.HeatField.dimension>`"),
    ("3.3, A.3", r"$u\approx C\,t^{-(n-d)/2}$, hence $d_{heat}\approx d$", "[derivation](../theory/signatures.md), [samples](../theory/theorem1.md)"),
    ("A.3", r"Theorem 1: $\mu(x,t)$, its conditions and its bound; error $O(t)+O(1/\sqrt{m\,p\,t^{d/2}})$", "{py:meth}`Manifold.mu <heatfield.datasets.Manifold.mu>`; `python examples/theorem1.py`: [page](../theory/theorem1.md)"),
    ("A.3", "Theorem 1: the window of times", "{py:meth}`Manifold.window <heatfield.datasets.Manifold.window>`"),
    ("A.3", r"proof: $N_0$, $S$, their means and deviations", "constants to first order in closed form: [Theorem 1 on samples](../theory/theorem1.md)"),
    ("3.3, A.3", r"$Q_X$, log-Hessian, with $\bar r_i$", "{py:meth}`HeatField.log_hessian <heatfield.HeatField.log_hessian>`"),
    ("3.3, A.3", r"$2t\lambda_k$", "`s.spectrum`; eigenvectors: `s.directions`"),
    ("3.3, A.3", "filament (0, -1, -1), surface (0, 0, -1), volume (0, 0, 0)", "[dictionary, drawn](../gallery/plot_spectrum_dictionary.rst)"),
    ("3.3, A.3", r"$\tau$", '`s.transition`; `transition="difference"` as in the paper, `"exact"` in closed form'),
    ("3.3", r"$\psi_X$, local type", '`s.per_point(["dimension", "transition", "spectrum"])`; as one word per point {py:meth}`s.local_type(scale) <heatfield.Signatures.local_type>`'),
    ("A.3", r"$\log u\approx\log\rho-\frac{n-d}{2}\log t$; $\phi^\rho$ and $\phi^g$", '`s.per_point(["density"])`; `s.per_point(["dimension", "transition", "spectrum"])`'),
    ("3.4, A.4", r"$\eta_k$, $p^{geo}_k$, $p^{\rho}_k$, $\Delta p_k$", "`s.hds.composition`, `s.hds.contrast`; $p^\\rho$ is their sum"),
    ("3.4, A.4", r"$\Phi_{HDS}(X)$", '`HFSDescriptor(blocks=["hds"])`'),
    ("3.5", r"$\phi(x_i)$", "{py:meth}`s.per_point() <heatfield.Signatures.per_point>`; `heatfield describe --per-point las`; with gradients {py:class}`heatfield.nn.HeatFeatures`"),
    ("3.5", r"$\Phi(X)$, HFS-simple, HFS-desc", "{py:class}`heatfield.HFSDescriptor`; `heatfield describe`"),
    ("3.5", r"$z_X$ learned, HFS-full, HFS+DGCNN", '{py:class}`heatfield.HFSNetworkClassifier` with `"full"` or `"dgcnn"`; {py:class}`heatfield.nn.HFSFull`, {py:class}`heatfield.nn.HFSDGCNN`; `heatfield train`'),
    ("3.5, A.5", r"$t_{min}$, $t_{max}$, schedule", "{py:func}`heatfield.scale_schedule`; `heatfield info FILE` prints it"),
    ("A.5", r"$t_{i,a}=c_a\,r_i(k)^2$", "{py:func}`heatfield.adaptive_scales`"),
    ("A.5", "$O(m^2T)$; truncated sums $O(mkT)$, large clouds", '`method="dense"`; `method="fast"`, `tol`: [large clouds](../theory/fast.md)'),
    ("C.4", r"$\|\Phi(X)-\Phi(RX)\|/\|\Phi(X)\|$, change under rotation", "`heatfield bench rotation`, column deviation"),
    ("C.4", "alignment, the norm of the mean principal axis", "`heatfield bench summary`, column alignment"),
    ("D.1, D.3", r"$\mathrm{Rips}_r(X)$, $\rho_\delta$, $\gamma$, $X_s$, $K_{s,r}$", 'alpha complexes in place of Rips: {py:class}`heatfield_bench.baselines.MPLandscape` and the others; [the bifiltration](../guide/baselines_persistence.md)'),
)  # fmt: skip
FIGURES: tuple[tuple[str, str, str], ...] = (
    ("Figure 1, multiscale heat landscape", "{py:func}`heatfield.plot.heat_landscape`", "[gallery](../gallery/plot_heat_landscape.rst)"),
    ("Figure 2, pipeline", "{py:func}`heatfield.plot.pipeline`", "[picture](../guide/plots.md)"),
    ("Theorem 1, finite samples", "`python examples/theorem1.py`; {py:func}`heatfield.datasets.sample_manifold`", "[page and picture](../theory/theorem1.md)"),
    ("Table 6, meaning of the components", "{py:func}`heatfield.signatures`", "[column dictionary](columns.md)"),
    ("Table 7, benchmark summary", "{py:mod}`heatfield.datasets`: `make_*`, `load_*`; `heatfield bench summary`", "[data sets](../guide/datasets.md)"),
)  # fmt: skip

RECORDS = ROOT / "bench" / "results"
# Number in the paper: table of `heatfield bench`, what its figures are.
TABLES = {
    1: ("main", "Classification accuracy, per cent"),
    2: (
        "runtime",
        "Seconds from features to predictions on an H200 with 16 workers; ours, on one thread, are in the"
        " [tables of runtime](../results/experiments.md)",
    ),
    3: ("rotation", "Mean accuracy over classes lost under random rotations, points"),
    4: ("persistence", "Multiparameter persistence: accuracy, per cent"),
    5: ("ablation", "Blocks of HFS-desc: accuracy, per cent"),
    8: (
        "boundary",
        "Boundary sets: mean accuracy over classes, per cent",
    ),
    9: ("scales", "Number and range of scales: accuracy, per cent"),
}


def published(name: str) -> dict[str, dict[str, float]]:
    """The paper's figures in a table, by row and data set."""
    rows = {label: METHODS[method].published.get(name) for label, method in table_of(name).rows()}
    return {label: dict(found) for label, found in rows.items() if found and not label.endswith(SPATIAL)}


def section(number: int) -> list[str]:
    """A table of the paper: published, and ours on the same or rebuilt data."""
    name, what = TABLES[number]
    rows, sets = published(name), SETS[name]
    lines = [f"## Table {number}: {name}", "", f"{what}. `heatfield bench {name}`.", ""]
    lines += [f"| | {' | '.join(sets)} |", "|---|" + "---|" * len(sets)]
    for row, figures in rows.items():
        cells = (f"{figures[data]}{_ours(name, row, data)}" for data in sets)
        lines.append(f"| {row} | {' | '.join(cells)} |")
    return [*lines, ""]


def _ours(table: str, row: str, data: str) -> str:
    """What was computed for a cell on the paper's data set or its reconstruction; may be empty."""
    if table == "runtime":
        return ""
    task = "rotation" if table == "rotation" else "accuracy"
    context, method = _context(RECORDS), dict(table_of(table).rows())[row]
    records = (
        found_record(context, task, entry, METHODS[method])
        for entry in DATA_SETS.values()
        if entry.paper == data
    )
    return "".join(f"; {_shown(record, task)}" for record in records if record is not None)


@cache
def _context(folder: Path) -> Context:
    return Context(Store(folder), "paper")


def _shown(record: Record, task: str) -> str:
    """Mean over the splits, their deviation and number, and what was not as in the paper."""
    if task == "rotation":
        plain, turned = record.values("none", "macc"), record.values("rotation", "macc")
        values = {split: plain[split] - turned[split] for split in plain}
    else:
        values = record.values()
    found = mean_of(values)
    spread = f" ± {found.sd:.1f}" if found.n > 1 else ""
    return f"**{found.mean:.1f}**{spread} ({'; '.join([str(found.n), *remarks_on(record)])})"


def page() -> str:
    """The whole page as Markdown."""
    lines = [
        "# Paper to command",
        "",
        "Numbers of sections, equations, figures and tables are those of the paper. In the code below `s = hf.signatures(points)`.",
        "",
    ]
    lines += ["## Equations", "", "| section | what | here |", "|---|---|---|"]
    lines += [f"| {a} | {b} | {c} |" for a, b, c in EQUATIONS]
    lines += [
        "",
        "Derivations and choices: [signatures](../theory/signatures.md), [choices](../theory/choices.md).",
        "",
    ]
    lines += ["## Figures, Theorem 1, overview tables", "", "| paper | here | see |", "|---|---|---|"]
    lines += [f"| {a} | {b} | {c} |" for a, b, c in FIGURES]
    lines += ["", "## How to read the tables", "", _READ, ""]
    for number in TABLES:
        lines += section(number)
    return "\n".join(lines)
