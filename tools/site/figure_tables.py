"""One function per block of measured figures: a result file in, Markdown out."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from benchmarks.lib.results import DOCS, RESULTS

Result = dict[str, Any]
CLOUDS = ("sphere", "ball", "curves", "clustered", "tree")


def table(head: Sequence[str], rows: Iterable[Sequence[Any]], right: int | None = None) -> str:
    """A table; columns from ``right`` on are aligned to the right."""
    rule = "".join("---|" if right is None or k < right else "---:|" for k in range(len(head)))
    return "\n".join(
        [f"| {' | '.join(head)} |", f"|{rule}", *(f"| {' | '.join(map(str, r))} |" for r in rows)]
    )


def when(found: Result) -> str:
    return f"{found['date']}, {found['machine']['cpu']}"


def learn(found: Result) -> str:
    head = ("network", "right", "processor seconds")
    order = (
        "PointNet",
        "PointNet++ SSG",
        "PointNet++ MSG",
        "DGCNN",
        "DGCNN-SO(3)",
        "Point Transformer",
        "VN-DGCNN",
    )
    rows = ((n, found["results"][n]) for n in order)
    means = [100 * entry["shuffled_labels"]["mean"] for entry in found["results"].values()]
    return (
        table(head, ((n, f"{100 * r['accuracy']:.2f} %", f"{r['cpu_seconds']:.0f}") for n, r in rows))
        + f"\n\n{when(found)}. With shuffled labels, the mean of three trainings is {min(means):.0f} to "
        f"{max(means):.0f} % for every network (chance: 25 %)."
    )


def describe(found: Result) -> str:
    head = ("folder", "files", "jobs", "files per second", "share of reading")
    rows = (
        (r["folder"], f"{r['files']:,}", r["jobs"], f"{r['files_a_second']:.0f}", f"{r['percent_reading']} %")
        for r in found["describe"]
    )
    return (
        f"`python -m benchmarks.small_clouds --data FOLDER...`, {when(found)}; compiled code cached. Files per\n"
        f"second as the command itself counts them: reading, describing, writing the table."
        f"{' The machine was busy.' if found['busy'] else ''}\n\n{table(head, rows)}"
    )


def first_call(found: Result) -> str:
    rows = ((name, f"{r['seconds']:.2f} s") for name, r in found["cases"].items())
    return (
        f"`python -m benchmarks.first_call`, {when(found)}, {found['machine']['cores']} cores. Whole processes with an empty\n"
        f"home, imports included.\n\n{table(('call', 'seconds'), rows)}"
    )


def local_covariance(found: Result) -> str:
    rows = [
        (
            f"{c['points']:,}",
            ", ".join(map(str, c["neighbours"])),
            f"{1000 * c['heatfield_s']:.1f}",
            f"{1000 * c['jakteristics_s']:.1f}",
            f"{c['jakteristics_over_heatfield']:.1f} ({min(c['ratios']):.1f} to {max(c['ratios']):.1f})",
        )
        for c in found["cases"]
    ]
    apart = max(max(c["largest_difference"].values()) for c in found["cases"])
    head = (
        "points",
        "neighbours in the balls, mean",
        "LocalCovariance, ms",
        "jakteristics, ms",
        "jakteristics over ours",
    )
    return (
        f"{when(found)}, one thread; medians of {found['rounds']} rounds, in brackets the least and largest ratio:\n\n"
        f"{table(head, rows)}\n\nThe largest difference of any value is {apart:.1g}: jakteristics returns single precision."
    )


def fpfh_rotation(found: Result) -> str:
    rows = [
        (f"{r['cloud']}, {r['points']:,}", f"{100 * r['plain'][0]:.1f} to {100 * r['plain'][1]:.1f}", f"{100 * r['oriented'][0]:.2g} to {100 * r['oriented'][1]:.2g}")
        for r in found["rows"]
    ]  # fmt: skip
    head = ("cloud, points", "`FPFH()`, %", "`FPFH(orient=True)`, %")
    return f"{found['turns']} random rotations each, {found['date']}:\n\n{table(head, rows)}"


def processes(found: Result) -> str:
    row = found["sets"]["processes"]
    return (
        f"The defaults give {row['clouds']:,} clouds of {row['least']} to {row['most']} points, {row['mean']:.0f} on average "
        "(published: 105 to 321, 194 on average)."
    )


def disks(found: Result) -> str:
    forms = {
        "pairs": ('`"pairs"` (default)', "one disk; one annulus; two disks; one of each; two annuli"),
        "annuli": (
            '`"annuli"`',
            "1 to 5 annuli, and 1 to 5 disks in all of them; the count leaks some of the label",
        ),
        "balanced": ('`"balanced"`', "1 to 5 annuli, and as many disks as make five"),
    }
    rows = []
    for name, (title, classes) in forms.items():
        row = found["sets"][f"disks_annuli {name}"]
        rows.append((title, classes, f"{row['least']:,} to {row['most']:,}", f"{row['mean']:,.0f}"))
    return table(("form", "classes", "points", "mean"), rows)


def grid_error(found: Result) -> str:
    keys = ("weight", "first", "second", "square", "fourth", "energy", "response")
    titles = {"coarse": "eps 1e-3 to 1e-9", "fine": "eps 1e-10 to 1e-13"}
    rows = ((title, *(f"{found['worst'][name][k]:.2f}" for k in keys)) for name, title in titles.items())
    return table(("", "w", "w r", "w r r'", "w D²", "w D⁴", "E2", "C2"), rows)


def real_clouds(found: Result) -> str:
    cases = ("auto tol=1e-06", "auto tol=1e-09", "fast tol=1e-06", "fast tol=1e-09")
    rows = []
    for name, entry in found["sets"].items():
        worst = (max(entry["error_over_promise"][case]["worst"].values()) for case in cases)
        count = f"{entry['clouds_compared']} of {entry['clouds_in_set']:,}"
        rows.append((name, count, f"{entry['points']['most']:,}", *(f"{w:.2g}" for w in worst)))
    head = ("set", "clouds", "most points", "auto, 1e-6", "auto, 1e-9", "fast, 1e-6", "fast, 1e-9")
    return f"{when(found)}:\n\n{table(head, rows)}"


def scaling(found: Result) -> str:
    runs, rows = found["runs"], []
    for cloud in CLOUDS:
        small, large = runs[f"{cloud}/auto/100000"]["seconds"], runs[f"{cloud}/auto/1000000"]["seconds"]
        dense = runs[f"{cloud}/dense/20000"]["seconds"] * (1_000_000 / 20_000) ** 2
        peak = runs[f"{cloud}/auto/1000000"]["peak_bytes"] / 2**30
        rows.append(
            (
                cloud,
                f"{small:.1f}",
                f"{large:.1f}",
                f"{large / small:.1f}",
                f"{peak:.1f}",
                f"{dense:,.0f}",
                f"{dense / large:.0f}",
            )
        )
    head = (
        "cloud",
        "10⁵ points, s",
        "10⁶ points, s",
        "ratio",
        "peak at 10⁶, GiB",
        "dense at 10⁶, extrapolated from 20,000, s",
        "times slower",
    )
    most = {cloud: runs[key] for cloud in CLOUDS if (key := f"{cloud}/auto/10000000") in runs}
    largest = "; ".join(
        f"{c} {r['seconds']:.0f} s, {r['peak_bytes'] / 2**30:.1f} GiB" for c, r in most.items()
    )
    return f"{when(found)}, {found['machine']['cores']} cores:\n\n{table(head, rows)}\n\nTen million points: {largest}."


def crossing(found: Result) -> str:
    rows = (
        (n, f"{c['crossing']:,.0f}", f"{c['auto_changes_at']:,.0f}", f"{c['off_by']:.2f}")
        for n, c in found["clouds"].items()
    )
    head = ("cloud", "the paths are equally fast at", "`auto` changes at", "off by")
    return f"{when(found)}:\n\n{table(head, rows)}"


def view(found: Result) -> str:
    keys = ("command_s", "signatures_alone_s", "megabytes", "ready_s", "frames_a_second", "points_in_motion", "change_of_scale_s")  # fmt: skip
    head = ("points", "command, s", "of which signatures, s", "page, MB", "ready, s", "frames per second while turning", "points drawn then", "change of scale, s")  # fmt: skip
    rows = (
        (f"{int(n):,}", *(f"{p[k]:,}" if k == "points_in_motion" else p[k] for k in keys))
        for n, p in found["pages"].items()
    )
    return f"{when(found)}, load {found['load_before']} before the run:\n\n{table(head, rows)}"


def local_type(found: Result) -> str:
    rows = (
        (
            r["noise"],
            r["sqrt_2t"],
            f"{r['precision']:.3f}",
            f"{r['recall']:.3f}",
            f"{100 * r['forks_found']:.1f} %",
        )
        for r in found["trees"]
    )
    return table(("noise", "√(2t)", "precision", "recall", "forks found"), rows)


def local_type_mixed(found: Result) -> str:
    row = next(r for r in found["mixed_shape"] if r["scale"] == 3)
    right = {"filament": "filament", "sheet": "surface", "junction": "junction", "ball": "volume"}
    shares = ", ".join(
        f"of the {part} {100 * row['shares'][part][word]:.0f} % are called {word}"
        for part, word in right.items()
    )
    return f"On the mixed shape (sheet, forked filament, ball) at scale 3, √(2t) = {row['sqrt_2t']:.2f}: {shares}."


def points(found: Result) -> str:
    own = found["iou"]["rows"]
    ours = own["HFS"]["mean_IoU_by_plot"]
    rows = []
    for name, row in own.items():
        difference = ""
        if name != "HFS":
            apart = [100 * (a - b) for a, b in zip(ours, row["mean_IoU_by_plot"], strict=True)]
            error = statistics.stdev(apart) / len(apart) ** 0.5
            better = sum(a > 0 for a in apart)
            difference = f"{statistics.mean(apart):+.1f} ± {error:.1f} (better on {better} of {len(apart)})"
        shares = (f"{100 * row['IoU'][c]:.1f}" for c in row["classes"])
        rows.append((name, f"{100 * row['mean_IoU']:.1f}", *shares, difference))
    head = ("features", "mean IoU", *own["HFS"]["classes"], "HFS minus this, plot by plot")
    run = found["iou"]
    return (
        f"{run['train_plots']} plots to learn from, {run['test_plots']} others to test on, {run['points_per_plot']:,} points each,\n"
        f"{run['iterations']} trees per class, one seed, lengths {', '.join(f'{v:g}' for v in run['lengths'])} m for all. "
        "Percent; ± is the standard error over the plots.\n\n" + table(head, rows)
    )


def points_speed(found: Result) -> str:
    run = found["speed"]
    rows = [
        (
            f"{own['points']:,}",
            name,
            f"{rate:,}",
            f"{own['points_per_second']['HFSPointClassifier'] / rate:.1f}",
        )
        for own in run["clouds"]
        for name, rate in own["points_per_second"].items()
    ]
    head = ("points", "features", "points per second", "HFS is so many times faster")
    return f"{when(found)}, {found['machine']['cores']} cores, best of {run['rounds']} (one run where it takes longer than 20 s):\n\n{table(head, rows)}"


def patterns(found: Result) -> str:
    names = list(next(iter(found["rejected"].values()))["share"])
    rows = [
        (
            key.split("/")[0],
            f"{row['points']:.0f}",
            key.split("/")[2],
            *(f"{row['share'][n]:.2f}" for n in names),
        )
        for key, row in found["rejected"].items()
    ]
    low, high = found["band_99"]
    return (
        f"{table(('process', 'mean points', 'patterns', *names), rows)}\n\nA test that keeps its level rejects between {low} "
        f"and {high} of these Poisson patterns in 99 of 100 such runs."
    )


def search(found: Result) -> str:
    keys = ("nearest", "first_tier", "second_tier", "mean_average_precision", "precision_at_10")
    rows = []
    for data in ("shapes10", "cath15", "neurons4", "spines3"):
        for method in ("HFS joint", "HFS desc", "D2", "FPFH", "HKS"):
            row = found["retrieval"][f"{data}/{method}"]
            scores = (f"{row[space][k]:.3f}" for space in ("standardised", "discriminants") for k in keys)
            rows.append((f"{data} ({row['clouds']})", method, *scores))
    head = ("set", "descriptor", "1-NN", "first tier", "second tier", "mAP", "P@10", "1-NN, discr.", "first tier", "second tier", "mAP", "P@10")  # fmt: skip
    published = "; ".join(
        f"{data} 1-NN {own['nearest']:.3f}, mAP {own['mean_average_precision']:.3f}"
        for data in ("shapes10", "cath15", "neurons4", "spines3")
        for own in [found["retrieval"][f"{data}/D2"]["as published"]]
    )
    return f"{table(head, rows)}\n\nD2 by its authors' distance: {published}."


def search_many(found: Result) -> str:
    rows = [(f"{row['rows']:,}", f"{row['query_ms']:.1f} ms") for row in found["many"].values()]
    return table(("rows of 744", "query"), rows)


def _manifolds(found: Result) -> Iterable[tuple[str, Result]]:
    return ((name.replace("_", " "), entry) for name, entry in found["manifolds"].items())


def theorem_errors(found: Result) -> str:
    rows = []
    for name, entry in _manifolds(found):
        for c in entry["curves"]:
            low, high, best = c["sampling_scale"], c["geometric_variation_scale"], c["best"]
            window = f"{low:.2g} to {high:.2g}" if low < high else "none"
            rows.append(
                (
                    name,
                    f"{c['m']:,}",
                    window,
                    f"{best['t']:.2g}",
                    f"{best['mean_error']:.3f}",
                    f"{best['p95_error']:.3f}",
                )
            )
    lines = table(("manifold", "m", "window of t", "best t", "mean error", "95th percentile"), rows).split(
        "\n"
    )
    return "\n".join([lines[0], "|---|---:|---|---:|---:|---:|", *lines[2:]])


def theorem_rates(found: Result) -> str:
    rows = []
    for name, entry in _manifolds(found):
        best, fixed = entry["rate_at_best_t"], entry["rate_at_fixed_t"]
        rows.append(
            (
                name,
                f"{best['measured']:.2f}",
                f"{best['bound']:.2f}",
                f"{fixed['measured']:.2f} (t = {fixed['t']:.2g})",
                f"{fixed['bound']:.2f}",
            )
        )
    head = ("manifold", "at the best t", "promised", "from 4,000 to 16,000 at a fixed t", "noise alone")
    return table(head, rows, right=1).replace("| -", "| −")


def theorem_outside(found: Result) -> str:
    rows = []
    for name, entry in _manifolds(found):
        at = [
            min(range(len(entry["times"])), key=lambda k, t=t: abs(entry["times"][k] - t))
            for t in (1.0, 10.0)
        ]  # type: ignore[misc]
        errors = {c["m"]: c["mean_error"] for c in entry["curves"]}
        rows.append((name, *(f"{errors[m][k]:.2f}" for k in at for m in (1000, 16000))))
    head = ("manifold", "t = 1, m = 1,000", "t = 1, m = 16,000", "t = 10, m = 1,000", "t = 10, m = 16,000")
    return table(head, rows, right=1)


def formats(_: dict[str, Any]) -> str:
    """The formats that are read and written, by their own entries."""
    from heatfield.io.formats import REGISTRY

    rows = [
        "| format | suffixes | read | written | what is read besides x, y, z | needs |",
        "|---|---|---|---|---|---|",
    ]
    for one in REGISTRY.values():
        cells = (one.title, " ".join(one.suffixes), one.forms, one.written, one.kept, one.needs)
        rows.append(f"| {' | '.join(cells)} |".replace("|  ", "| "))
    return "\n".join(rows)


# --- large clouds ---------------------------------------------------------------------

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


def readme(_: Result) -> str:
    """The table of the README, from four result files and the page of the experiments."""
    times = next(c for c in _read("speed")["cases"] if (c["cloud"], c["m"]) == ("sphere", 1024))["times"]
    ms = {name: f"{times[name]['best_ms']:.2g} ms" for name in times}
    million = {way: _read("scaling")["runs"][f"sphere/{way}/1000000"]["seconds"] for way in ("auto", "dense")}
    rows = [line.split(" | ") for line in (DOCS / "results" / "experiments.md").read_text().split("\n")]
    head = next(k for k, row in enumerate(rows) if row[0] == "|" and "cath15" in row)
    end = next(k for k in range(head + 2, len(rows)) if len(rows[k]) < 2)
    right = {row[0][2:]: float(row[rows[head].index("cath15")].split(" ")[0]) for row in rows[head + 2 : end]}
    rival = max((name for name in right if not name.startswith("HFS")), key=right.__getitem__)
    first = _read("first_call")["cases"]["signatures, n = 3"]["seconds"]
    own = [
        (
            "one cloud of 1,024 points, 8 scales, one core", ms["heatfield desc float64"],
            f"FPFH (filled radii) {ms['FPFH, filled radii']}, HKS {ms['HKS, scipy']}, jakteristics "
            f"{ms['jakteristics']} for one radius ([speed](docs/results/speed.md))",
        ),
        (
            "10⁶ points, error at most 1e-6 at every point, two cores", f"{million['auto']:.1f} s",
            f"all pairs: {million['dense'] / 60:.0f} minutes, extrapolated ([large clouds](docs/theory/fast.md))",
        ),
        (
            "accuracy, proteins of 15 folds", f"{right['HFS-joint, LDA']} %",
            f"strongest rival that was run, {rival}: {right[rival]} % "
            "([all data sets](docs/results/experiments.md))",
        ),
        ("first call in a new process, imports included", f"{first:.2f} s", "([first call](docs/theory/fast.md))"),
    ]  # fmt: skip
    return table(("", "heatfield", "beside it"), own)


def _read(name: str) -> Result:
    return json.loads((RESULTS / f"{name}.json").read_text())
