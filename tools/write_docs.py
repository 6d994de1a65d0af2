"""Write docs/results/experiments.md, docs/results/learned.md and docs/results/speed.md from the result files.

No figure in these pages is typed by hand: run a benchmark, then this. It also writes the blocks of figures
in the other pages again (`tools.site.figures`).
"""

from __future__ import annotations

import json

from benchmarks.lib.results import DOCS, RESULTS
from tools.experiments_page import beyond_page, experiments_page, learned_page, protocol_page
from tools.site import figures

COLUMNS = (
    "reference desc",
    "heatfield simple float64",
    "heatfield desc float64",
    "heatfield desc float32",
    "heatfield joint float64",
)


def stamp(result: dict) -> str:
    """Where and when."""
    machine = result["machine"]
    flags = ", ".join(machine.get("vector_flags") or machine.get("flags", []))
    return (
        f"{result['date']}, {machine['cpu']}, {machine['cores']} cores ({flags}), Python {machine['python']}"
    )


def epochs_page(result: dict) -> str:
    """Epochs per second, packed and plain."""
    tuned = ", C library tuned" if result["malloc_tuned"] else ""
    lines = [
        "## Epochs per second",
        "",
        f"`python -m benchmarks.epochs`, {stamp(result)}, threads: {result['threads']}{tuned}.",
        "HFS-full in space, 8 scales, batches of 32, features in memory.",
        "",
        "| clouds | packed | Python loop | padded, masked | packed, a quarter of points | features, once |",
        "|---|---|---|---|---|---|",
    ]
    for name, entry in result["sets"].items():
        cells = [f"{entry[way]['epochs_a_second']:.2f}" for way in ("packed", "loop", "padded", "a quarter")]
        lines.append(f"| {name} | {' | '.join(cells)} | {entry['features_seconds']:.2f} s |")
    lines += [
        "",
        "Most of an epoch is matrix products, which all ways share: packing saves part of the rest.",
        "Computing the features once rather than in every epoch, and drawing some of the points, save more.",
        "",
    ]
    return "\n".join(lines)


def speed_page(result: dict) -> str:
    """Times beside the reference and the rivals, and the goals."""
    lines = ["# Speed", "", f"`make bench`, {stamp(result)}; raw figures in `benchmarks/results/speed.json`."]
    if result.get("busy"):
        lines.append("The machine was busy with other work during this run.")
    head = next(c for c in result["cases"] if (c["cloud"], c["m"], c["n"]) == ("sphere", 1024, 3))
    reference = head["times"]["reference desc"]["best_ms"]
    lines += [
        "",
        "One thread, best of several rounds in which all take turns; 1,024 points on a sphere, 8 scales.",
        "The reference is `tests/helpers/reference.py`, the equations in plain NumPy.",
        "",
        "| what | ms per cloud | times faster than the reference |",
        "|---|---|---|",
    ]
    for name, entry in sorted(head["times"].items(), key=lambda item: item[1]["best_ms"]):
        lines.append(f"| {name} | {entry['best_ms']:.2f} | {reference / entry['best_ms']:.1f} |")
    lines += ["", "Goals:", "", "| goal | asked | measured | met |", "|---|---|---|---|"]
    for goal in result["goals"]:
        measured = goal["measured"]
        shown = f"{measured:.2f}" if isinstance(measured, float) else str(measured)
        lines.append(f"| {goal['goal']} | {goal['asked']} | {shown} | {'yes' if goal['met'] else '**no**'} |")
    lines += [
        "",
        "All clouds, milliseconds per cloud:",
        "",
        "| cloud | m | n | reference desc | simple | desc | desc float32 | joint |",
    ]
    lines.append("|---|---|---|---|---|---|---|---|")
    for case in result["cases"]:
        times = {name: entry["best_ms"] for name, entry in case["times"].items()}
        cells = [times.get(k) for k in COLUMNS]
        shown = " | ".join("" if c is None else f"{c:.2f}" for c in cells)
        lines.append(f"| {case['cloud']} | {case['m']} | {case['n']} | {shown} |")
    return "\n".join([*lines, ""])


def small_clouds_page(result: dict) -> str:
    """Milliseconds per small cloud, by the batch and beside the path of large clouds."""
    lines = [
        "## Many small clouds",
        "",
        f"`python -m benchmarks.small_clouds`, {stamp(result)}; points on a sphere.",
        "In brackets: how many times faster than the same clouds one by one, in as many threads.",
        *(["The machine was busy with other work during this run."] if result["busy"] else []),
        "",
        "| points | variant | float64, 1 thread | 2 threads | float32, 1 thread | 2 threads |",
        "|---|---|---|---|---|---|",
    ]
    cells: dict[tuple[int, str], list[str]] = {}
    for row in result["clouds"]:
        cell = f"{row['ms']:.3g} ms ({row['times_one_by_one']:.2f})"
        cells.setdefault((row["m"], row["variant"]), []).append(cell)
    lines += [f"| {m} | {variant} | {' | '.join(row)} |" for (m, variant), row in cells.items()]
    return "\n".join([*lines, ""])


def main() -> None:
    pages = {
        "experiments": experiments_page(), "protocol": protocol_page(), "beyond": beyond_page(),
        "learned": learned_page(),
    }  # fmt: skip
    parts = (
        ("epochs", epochs_page),
        ("speed", speed_page),
        ("small_clouds", small_clouds_page),
    )
    for name, page in parts:
        path = RESULTS / f"{name}.json"
        if not path.exists():
            print(f"{path.name} is missing: run the benchmark first")
            continue
        text = page(json.loads(path.read_text()))
        # Some of them are a later part of a page.
        first = {"epochs": "learned", "small_clouds": "speed"}.get(name, name)
        pages[first] = f"{pages[first]}\n{text}" if first in pages else text
    for name, text in pages.items():
        (DOCS / "results" / f"{name}.md").write_text(text)
        print(f"wrote docs/results/{name}.md")
    figures.write(DOCS)


if __name__ == "__main__":
    main()
