"""Records of format 1, a file each, as one JSON-lines file per table; counts what goes in and what comes out.

python -m tools.convert_results OLD_FOLDER NETWORKS.json NEW_FOLDER
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

from heatfield_bench import DATA_SETS, METHODS
from heatfield_bench._results import FORMAT, HEADER, Store

OLD_FOLDS = "scikit-learn, StratifiedKFold(5, shuffle=True, random_state=0)"


def main() -> int:
    """Convert, then read back and compare every cell."""
    old, networks, new = map(Path, sys.argv[1:])
    lines: dict[str, list[dict]] = {}
    read = Counter()
    kept = {}
    for path in sorted(old.glob("*/*.json")):
        record = json.loads(path.read_text())
        task, method = record["task"], record["method"]
        if task == "earlier":
            table = "variants"
        elif task != "accuracy":
            table = task
        elif "train_per_class" in record["recipe"]:
            table = "curve"
        else:
            table = METHODS[method].table
        facts = {"content": "", "splits": "", **record["facts"]}
        own = lines.setdefault(table, [{HEADER: FORMAT, "table": table}])
        versions = {}
        for mark, machine in record["machines"].items():
            versions[mark] = machine["versions"].get("heatfield", "")
            add(own, {"kind": "machine", "id": mark, **machine})
        add(own, {"kind": "data", "data": record["data"], **facts})
        read["files"] += 1
        for split, cell in record["splits"].items():
            read["cells"] += 1
            read[f"cells of {task}"] += 1
            cell = {k: v for k, v in cell.items() if k not in ("code", "rechecked", "machine", "date")} | {
                "version": versions[cell["machine"]],
                "commit": "",
                "machine": cell["machine"],
                "date": cell["date"],
            }
            own.append(
                {
                    "kind": "cell",
                    "task": task,
                    "data": record["data"],
                    "content": facts["content"],
                    "splits": facts["splits"],
                    "method": method,
                    "recipe": record["recipe"],
                    "size": record["size"],
                    "budget": record["budget"],
                    "split": int(split),
                    **cell,
                }
            )
            kept[
                (
                    task,
                    record["data"],
                    method,
                    json.dumps(record["recipe"], sort_keys=True),
                    str(record["size"]),
                    record["budget"],
                    int(split),
                )
            ] = cell
    found = json.loads(networks.read_text())
    own = lines["main"]
    machine = {"kind": "machine", "id": "networks", **found["machine"], "versions": found["versions"]}
    add(own, machine)
    protocol = DATA_SETS["cath15"].protocol.facts() | {"drawn": OLD_FOLDS}
    facts = {
        "content": "128 points",
        "splits": "scikit-learn",
        "clouds": 1455,
        "classes": 15,
        "protocol": protocol,
    }
    add(own, {"kind": "data", "data": "cath15", **facts})
    for name, row in found["results"].items():
        method = next(m for m in METHODS.values() if m.kind == name and not m.options)
        settings = row["settings"]
        options = {"epochs": settings["epochs"], "n_points": settings["n_points"]}
        published = {"PointTransformer": 200}.get(name, 250)
        own.append(
            {
                "kind": "cell",
                "task": "accuracy",
                "data": "cath15",
                "content": facts["content"],
                "splits": facts["splits"],
                "method": method.name,
                "recipe": {"kind": name, "options": options},
                "size": [None, None],
                "budget": "paper",
                "split": 0,
                "scores": {"none": {"macc": row["mean_class_accuracy"]}},
                "train": row["train_clouds"],
                "test": row["test_clouds"],
                "seed": settings["random_state"],
                "seconds": {"train": row["seconds"]},
                "epochs": settings["epochs"],
                "train_accuracy": row["train_accuracy"],
                "version": "",
                "commit": "",
                "machine": "networks",
                "date": found["date"],
            }
        )
        assert settings["epochs"] >= published
        read["networks of 250 epochs"] += 1
    new.mkdir(parents=True, exist_ok=True)
    written = Counter()
    for table, own in lines.items():
        text = "".join(json.dumps(line, separators=(",", ":"), ensure_ascii=False) + "\n" for line in own)
        (new / f"{table}.jsonl").write_text(text)
        written[f"{table}.jsonl"] = sum(line.get("kind") == "cell" for line in own)
    store = Store(new)
    assert not store.problems(), store.problems()
    count = 0
    for record in store.records():
        for split, cell in record.cells.items():
            key = record.key
            name = (
                key.task,
                key.data,
                key.method,
                json.dumps(key.recipe, sort_keys=True),
                str(list(key.size)),
                key.budget,
                split,
            )
            if name in kept:
                assert kept[name] == cell, name
                count += 1
    print("read:", dict(read))
    print("written:", dict(written), "in all", sum(written.values()))
    print("found again and equal:", count)
    assert count == read["cells"]
    assert sum(written.values()) == read["cells"] + read["networks of 250 epochs"]
    return 0


def add(own: list[dict], line: dict) -> None:
    if line not in own:
        own.append(line)


if __name__ == "__main__":
    raise SystemExit(main())
