"""The goals of the speed benchmark, and whether a result reaches them."""

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
