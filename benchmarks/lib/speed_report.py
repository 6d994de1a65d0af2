"""Goals of the speed benchmark, whether they are met, and the printed tables."""

from __future__ import annotations

import statistics
from typing import Any

HEADLINE = ("sphere", 1024, 3)


def case_of(result: dict[str, Any], kind: str, m: int, n: int) -> dict[str, Any] | None:
    for case in result["cases"]:
        if (case["cloud"], case["m"], case["n"]) == (kind, m, n):
            return case
    return None


def judge(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Every goal with what was asked and what was measured; ``met`` is None where it was not measured."""

    def ratio(m: int, name: str) -> float | None:
        case = case_of(result, "sphere", m, 3)
        return case["ratios"].get(name) if case else None

    headline = case_of(result, *HEADLINE)
    times = headline["times"] if headline else {}
    joint = None
    if {"heatfield joint float64", "heatfield desc float64"} <= times.keys():
        joint = times["heatfield joint float64"]["best_ms"] / times["heatfield desc float64"]["best_ms"]
    threads = next((t["speedup"] for t in result["threads"] if t["m"] == 1024), None)
    imports, memory = result["imports"], result["memory"]
    rows = [
        (
            "desc, m=1024, float64: times faster than the reference",
            ">=",
            8.0,
            ratio(1024, "heatfield desc float64"),
        ),
        (
            "desc, m=1024, float32: times faster than the reference",
            ">=",
            15.0,
            ratio(1024, "heatfield desc float32"),
        ),
        (
            "desc, m=128, float64: times faster than the reference",
            ">=",
            8.0,
            ratio(128, "heatfield desc float64"),
        ),
        ("two threads over many clouds, m=1024: times faster than one", ">=", 1.8, threads),
        ("joint: times the time of desc, m=1024, float64", "<=", 3.5, joint),
        ("import heatfield: seconds", "<=", 0.3, imports["heatfield_s"] if imports else None),
        (
            "20,000 points: peak megabytes",
            "<=",
            500.0,
            memory["peak_mb"] if memory and memory["m"] == 20000 else None,
        ),
    ]
    return [
        {
            "goal": goal,
            "asked": f"{sign} {bound:g}",
            "measured": value,
            "met": None if value is None else bool(value >= bound if sign == ">=" else value <= bound),
        }
        for goal, sign, bound, value in rows
    ]


def is_busy(cases: list[dict[str, Any]], threads: list[dict[str, Any]]) -> bool:
    """Whether others had the cores: rounds took a tenth more than the processor's time, or threads waited."""
    single = [entry for case in cases for entry in case["times"].values()]
    excess = [entry["median_ms"] / entry["cpu_ms"] for entry in single if entry["cpu_ms"] > 0]
    waited = any(t["times"]["n_jobs=2"]["best_ms"] > 0.55 * t["times"]["n_jobs=2"]["cpu_ms"] for t in threads)
    return bool(excess and statistics.median(excess) > 1.1) or waited


VARIANTS = ("simple", "desc", "joint")
DTYPES = ("float64", "float32")


def headline_table(case: dict[str, Any]) -> list[str]:
    """One cloud, every contender: milliseconds, and how many times faster than the reference."""
    lines = [f"{case['cloud']}, m={case['m']}, n={case['n']}: one cloud, one thread"]
    lines.append(f"  {'':28}{'best ms':>10}{'median':>10}{'CPU ms':>10}   x reference")
    for name, entry in case["times"].items():
        times = f"{entry['best_ms']:10.2f}{entry['median_ms']:10.2f}{entry['cpu_ms']:10.2f}"
        factor = case["ratios"].get(name)
        lines.append(f"  {name:28}{times}{'' if factor is None else f'{factor:14.1f}'}")
    lines += [f"  {name:28}{note}" for name, note in case["notes"].items()]
    return lines


def rivals_table(case: dict[str, Any]) -> list[str]:
    """Each rival's time over ours: above 1 we are faster. Ours includes the pooling, theirs does not."""
    ours = [f"heatfield desc {dtype}" for dtype in DTYPES]
    lines = [f"{case['cloud']}, m={case['m']}: times faster than each rival, desc in {' and '.join(DTYPES)}"]
    for name, entry in case["times"].items():
        if not name.startswith(("reference", "heatfield")):
            factors = [entry["best_ms"] / case["times"][own]["best_ms"] for own in ours]
            lines.append(f"  {name:28}" + "".join(f"{factor:10.2f}" for factor in factors))
    return lines


def all_clouds_table(cases: list[dict[str, Any]]) -> list[str]:
    """All clouds: the reference's milliseconds, ours with the ratio, and the rivals' milliseconds."""
    ours = [f"heatfield {variant} {dtype}" for dtype in DTYPES for variant in VARIANTS]
    rivals = [
        n for c in cases for n in (*c["times"], *c["notes"]) if not n.startswith(("reference", "heatfield"))
    ]
    columns = ["reference desc", *ours, *dict.fromkeys(rivals)]
    heads = [[str(i + 1) for i in range(len(columns))]]
    for case in cases:
        row = []
        for name in columns:
            if name not in case["times"]:
                row.append("-")
                continue
            cell = f"{case['times'][name]['best_ms']:.2f}"
            if name in ours and name in case["ratios"]:
                cell += f" ({case['ratios'][name]:.1f}x)"
            row.append(cell)
        heads.append(row)
    widths = [max(len(row[i]) for row in heads) + 2 for i in range(len(columns))]
    labels = ["cloud"] + [f"{c['cloud']} m={c['m']} n={c['n']}" for c in cases]
    lines = ["All clouds: ms per cloud, best round (times faster than the reference; simple against simple)"]
    lines += [f"  {i + 1:>2}  {name}" for i, name in enumerate(columns)]
    for label, row in zip(labels, heads, strict=True):
        lines.append(
            f"  {label:18}" + "".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        )
    return lines


def report(result: dict[str, Any]) -> str:
    """The whole result as text."""
    about = result["machine"]
    lines = [
        f"heatfield speed, {result['date']}",
        f"{about['cpu']}, {about['cores']} cores, {' '.join(about['flags'])}",
        "python " + about["python"] + "".join(f", {p} {v}" for p, v in about["versions"].items()),
        f"load average {about['load_average']} before, {result['load_average_after']} after",
        f"best of {result['rounds']} rounds",
    ]
    if result["busy"]:
        lines.append(
            "WARNING: other work took the cores during the run; do not trust the figure of two threads"
        )
    headline = case_of(result, *HEADLINE) or (result["cases"][0] if result["cases"] else None)
    if headline:
        lines += ["", *headline_table(headline), "", *rivals_table(headline)]
        lines += ["", *all_clouds_table(result["cases"])]
    lines += ["", "Threads (desc, float64)"]
    for entry in result["threads"]:
        one, two = (entry["times"][f"n_jobs={jobs}"]["best_ms"] for jobs in (1, 2))
        lines.append(
            f"  {entry['clouds']} clouds of {entry['m']} points: {one:.2f} ms per cloud with one thread, "
            f"{two:.2f} with two, {entry['speedup']:.2f} times faster"
        )
    if not result["threads"]:
        lines.append("  not measured: fewer than two cores")
    if result["imports"]:
        seconds = result["imports"]
        lines += [
            "",
            f"import heatfield {seconds['heatfield_s']:.3f} s, {seconds['ratio']:.2f} of import numpy, scipy "
            f"({seconds['numpy_scipy_s']:.3f} s); with HFSDescriptor {seconds['descriptor_s']:.3f} s",
        ]
    if result["memory"]:
        memory = result["memory"]
        lines.append(
            f"peak memory {memory['peak_mb']:.0f} MB for {memory['m']} points; "
            f"{memory['before_mb']:.0f} MB of it are the libraries"
        )
    lines += ["", "Goals"]
    for goal in result["goals"]:
        verdict = {True: "met", False: "NOT MET", None: "not measured"}[goal["met"]]
        value = "" if goal["measured"] is None else f"{goal['measured']:.2f}"
        lines.append(f"  {verdict:13}{goal['goal']:62}{goal['asked']:>8}{value:>10}")
    return "\n".join(lines)
