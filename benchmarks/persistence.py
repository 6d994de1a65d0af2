"""Multiparameter persistence on Processes and DisksAnnuli, beside the published figures.

    python -m benchmarks.persistence [--data processes] [--methods MPImage GRIL] [--splits 0 1] [--page]

Subsets, splits and settings are fixed in `PROTOCOL` and `METHODS`. Every cell (data set, method, split) is
written to `results/persistence.json` when it is done and not computed again, so that the run can be
stopped and gone on with. A cell whose settings have changed since is computed anew.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import time
from importlib.metadata import version
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

import heatfield as hf
from benchmarks.lib.machine import machine

PAGE = Path(__file__).parents[1] / "docs" / "guide" / "baselines_persistence.md"
RESULTS = Path(__file__).parent / "results" / "persistence.json"

# The paper: 4,000 and 5,000 clouds, 20 stratified splits 80/20. Here a subset, by the same protocol.
PROTOCOL = {
    "processes": {"n_per_class": 100, "n_splits": 5, "test_share": 0.2},
    "disks_annuli": {"n_per_class": 40, "n_splits": 3, "test_share": 0.2},
}
# As the HFS paper quotes Kerber and Russold.
PUBLISHED = {
    "processes": {
        "MPImage": 66.0, "MPLandscape": 50.2, "MPSignedMeasure": 70.7, "GRIL": 61.1, "GraphCode": 83.4,
        "GraphCode(edges=False)": 83.1,
    },
    "disks_annuli": {
        "MPImage": 64.1, "MPLandscape": 37.2, "MPSignedMeasure": 57.0, "GRIL": 74.9, "GraphCode": 86.9,
        "GraphCode(edges=False)": 82.8,
    },
}  # fmt: skip
METHODS = {
    "MPSignedMeasure": ("MPSignedMeasure", {}),
    "MPLandscape": ("MPLandscape", {}),
    "MPImage": ("MPImage", {}),
    "GRIL": ("GRIL", {}),
    "GraphCode": ("GraphCode", {"epochs": 60}),
    "GraphCode(edges=False)": ("GraphCode", {"edges": False, "epochs": 60}),
    # Loops alone: how much the components, and with them the number of points, contribute.
    "MPSignedMeasure(degrees=(1,))": ("MPSignedMeasure", {"degrees": [1]}),
}
# Clouds of DisksAnnuli have some 1,500 points: as many components, of which GRIL would compare all with all.
LARGE = {"GraphCode": {"max_bars": 100}, "GRIL": {"degrees": [1]}}


def settings(data: str, method: str) -> tuple[str, dict]:
    """Class and options of a method on a data set."""
    kind, options = METHODS[method]
    return kind, options | (LARGE.get(kind, {}) if data == "disks_annuli" else {})


def clouds_of(data: str) -> tuple[list, np.ndarray]:
    """The subset of a data set."""
    make = {"processes": hf.datasets.make_processes, "disks_annuli": hf.datasets.make_disks_annuli}[data]
    return make(n_per_class=PROTOCOL[data]["n_per_class"])


def one_cell(data: str, method: str, split: int) -> dict:
    """Train on 80 %, test on the rest."""
    clouds, labels = clouds_of(data)
    protocol = PROTOCOL[data]
    tested = hf.datasets.make_splits(clouds, labels, protocol["n_splits"], test_share=protocol["test_share"])[
        split
    ]
    kind, options = settings(data, method)
    model = getattr(hf.baselines, kind)(**options, random_state=split, progress=False)
    train = np.flatnonzero(~tested)
    start = time.perf_counter()
    model.fit([clouds[i] for i in train], labels[train])
    fitted = time.perf_counter()
    found = model.predict([clouds[i] for i in np.flatnonzero(tested)])
    end = time.perf_counter()
    return {
        "accuracy": float((found == labels[tested]).mean()),
        "train_clouds": len(train),
        "test_clouds": int(tested.sum()),
        "fit_seconds": round(fitted - start, 2),
        "predict_seconds": round(end - fitted, 2),
        "frame": model.frame_.facts(),
    }


def load() -> dict:
    """What is there already."""
    if RESULTS.exists():
        return json.loads(RESULTS.read_text())
    return {"protocol": PROTOCOL, "published_accuracy_percent": PUBLISHED, "cells": {}}


def store(found: dict) -> None:
    """Write in one step."""
    found["protocol"] = PROTOCOL
    found["summary"] = summary(found["cells"])
    part = RESULTS.with_suffix(".part")
    part.write_text(json.dumps(found, indent=1) + "\n")
    part.replace(RESULTS)


def summary(cells: dict) -> dict:
    """Mean and spread over the splits that are done, in percent, beside the published figure."""
    out: dict = {}
    for data, published in PUBLISHED.items():
        for method in METHODS:
            values = [c["accuracy"] for c in cells.values() if (c["data"], c["method"]) == (data, method)]
            if values:
                out.setdefault(data, {})[method] = {
                    "accuracy_percent": round(100 * float(np.mean(values)), 1),
                    "standard_deviation": round(100 * float(np.std(values)), 1),
                    "splits": len(values),
                    "published_percent": published.get(method),
                }
    return out


def write_page(found: dict) -> None:
    """The table of the documentation, from the result file."""
    lines = []
    for data, rows in found["summary"].items():
        protocol = PROTOCOL[data]
        cells = [c for c in found["cells"].values() if c["data"] == data]
        count = cells[0]["train_clouds"] + cells[0]["test_clouds"]
        cpu, dates = cells[0]["machine"]["cpu"], sorted(c["date"] for c in cells)
        lines += [
            f"**{data}**: {count} clouds, {protocol['n_per_class']} per class; stratified splits "
            f"{1 - protocol['test_share']:.0%} / {protocol['test_share']:.0%}; {cpu}, "
            f"{dates[0]} to {dates[-1]}.",
            "",
            "| method | accuracy, % | splits | published, % |",
            "|---|---|---|---|",
        ]
        for method, row in rows.items():
            spread = f" ± {row['standard_deviation']}" if row["splits"] > 1 else ""
            published = "" if row["published_percent"] is None else row["published_percent"]
            lines.append(f"| {method} | {row['accuracy_percent']}{spread} | {row['splits']} | {published} |")
        lines.append("")
    start, end = "<!-- figures -->\n", "<!-- end of figures -->"
    text = PAGE.read_text()
    before, after = text[: text.index(start) + len(start)], text[text.index(end) :]
    PAGE.write_text(before + "\n".join(lines) + after)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="*", default=list(PROTOCOL), choices=list(PROTOCOL))
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--splits", nargs="*", type=int)
    parser.add_argument("--page", action="store_true", help="only write the table of the documentation")
    chosen = parser.parse_args()
    if chosen.page:
        found = load()
        store(found)
        write_page(found)
        return
    for data in chosen.data:
        splits = range(PROTOCOL[data]["n_splits"]) if chosen.splits is None else chosen.splits
        for split in splits:
            for method in chosen.methods:
                text = json.dumps([PROTOCOL[data], settings(data, method)], sort_keys=True)
                mark = hashlib.sha256(text.encode()).hexdigest()[:12]
                name = f"{data}/{method}/{split}"
                if load()["cells"].get(name, {}).get("settings") == mark:
                    continue
                cell = one_cell(data, method, split)
                cell |= {"data": data, "method": method, "split": split, "settings": mark, **machine()}
                cell["versions"] |= {name: version(name) for name in ("multipers", "gudhi", "xgboost-cpu")}
                found = load()  # anew: another run may have added cells
                found["cells"][name] = cell
                store(found)
                print(f"{name}: {100 * cell['accuracy']:.1f} % ({cell['fit_seconds']:.0f} s)", flush=True)
    print(json.dumps(load().get("summary", {}), indent=1))


if __name__ == "__main__":
    main()
