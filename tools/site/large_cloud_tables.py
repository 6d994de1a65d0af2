"""Blocks of figures about large clouds: a result file in, Markdown out."""

from __future__ import annotations

import math

from .figure_tables import Result, table, when

_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def _size(points: float) -> str:
    """The power of ten next to a number of points."""
    return "10" + str(round(math.log10(points))).translate(_RAISED)


def survey(found: Result) -> str:
    rows = []
    for run in sorted(found["runs"].values(), key=lambda run: (run["points"], "passes" in run, run["jobs"])):
        rows.append(
            (
                _size(run["points"]),
                "tiles, out of core" if "passes" in run else "in memory",
                run["jobs"],
                f"{run['seconds']:,.0f}",
                f"{1e6 * run['seconds'] / run['points']:.1f}",
                f"{run['peak_bytes'] / 2**30:.2f}",
            )
        )
    head = ("points", "way", "workers", "seconds", "µs per point", "peak memory, GiB")
    most = max(found["forecast"], key=lambda jobs: found["forecast"][jobs]["from"])
    grown, paper = found["growth"], found["forecast"][most]
    exponents = "; ".join(
        f"{jobs} worker{'s' if jobs != '1' else ''}, {_size(own['sizes'][0])} to {_size(own['sizes'][-1])} points: "
        f"{own['all']:.2f} (the pass over tiles {own['passes']['tiles']:.2f})"
        for jobs, own in sorted(grown.items())
        if own["all"] is not None
    )
    core = sum(paper["core_seconds"].values())
    return (
        f"{when(found)}, {found['machine']['cores']} cores, tol = 1e-4, 8 scales, 64 LAS tiles:\n\n{table(head, rows)}\n\n"
        f"Exponents p of seconds ~ points^p: {exponents}.\n\n"
        f"Forecast by the cost model and what was measured at {_size(paper['from'])} points: {_size(paper['points'])} points "
        f"take {core / 3600:.1f} core hours, of which sums {paper['core_seconds']['sums'] / 3600:.1f}; on {paper['workers']} "
        f"workers of one core {paper['seconds'] / 60:.1f} minutes."
    )


def survey_check(found: Result) -> str:
    own = found["check"]
    worst = ", ".join(f"{name} {value:.2g}" for name, value in own["worst"].items())
    return (
        f"{_size(own['points'])} points in 64 tiles against `signatures` on one machine, at {own['targets']} points (corners of tiles, "
        f"isolated ones, the densest ones, a random sample), worst errors in units of what tol promises: {worst}. "
        f"Points in the files: {own['in_files']:,}, written: {own['written']:,}."
    )


def million(found: Result) -> str:
    runs = found["runs"]
    words = {
        "adaptive": "`signatures` at times of each point's own",
        "joint": '`HFSDescriptor("joint")`',
        "far": "`HeatField.value` at as many far places",
        "far_moments": "`HeatField.dimension` at as many far places",
    }
    rows = []
    for name, said in words.items():
        small, large = (runs[f"{name}/{m}"]["seconds"] for m in (100_000, 1_000_000))
        rows.append((said, f"{small:.2f}", f"{large:.1f}", f"{large / small:.1f}"))
    head = ("call", "10⁵ points, s", "10⁶ points, s", "ratio")
    return f"{when(found)}, {found['machine']['cores']} cores, points on a sphere, tol = 1e-6:\n\n{table(head, rows)}"
