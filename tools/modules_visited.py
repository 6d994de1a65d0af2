"""How much a reader has to follow: functions entered and modules visited by public calls.

    python -m tools.modules_visited                          # of this source tree
    python -m tools.modules_visited --python ../old/.venv/bin/python --as before

The counts of different versions stand side by side in tools/results/modules_visited.json.
Native functions are not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
OUTPUT = Path(__file__).parent / "results" / "modules_visited.json"


def count(call: Callable[[], object], package: Path) -> dict[str, int]:
    """Functions and modules of one call; a first one, not counted, imports."""
    call()
    entered = set()

    def profile(frame, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(str(package)):
            entered.add((frame.f_code.co_filename, frame.f_code.co_qualname))

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return {"functions": len(entered), "modules": len({file for file, _ in entered})}


def visits() -> dict[str, dict[str, int]]:
    """The counts of the library that is imported."""
    import numpy as np

    import heatfield as hf
    from heatfield.cli import main as command_line

    package = Path(hf.__file__).parent
    rng = np.random.default_rng(0)
    points = rng.normal(size=(1000, 3))
    many = rng.normal(size=(1_000_000, 3))
    many /= np.linalg.norm(many, axis=1, keepdims=True)
    field = hf.HeatField(points)
    clouds, labels = hf.datasets.make_orbit5k(n_per_class=4, n_points=60)
    options = {"epochs": 2, "random_state": 0, "n_scales": 4, "progress": False}
    with tempfile.TemporaryDirectory() as folder:
        for i in range(3):
            Path(folder, "files").mkdir(exist_ok=True)
            np.savetxt(Path(folder) / f"files/c{i}.xyz", points[:200] + i)

        def describe() -> None:
            output = Path(folder) / "table.npz"
            output.unlink(missing_ok=True)
            command_line(["describe", f"{folder}/files", "-o", str(output)])

        for i, (cloud, label) in enumerate(zip(clouds, labels, strict=True)):
            Path(folder, f"classes/{label}").mkdir(parents=True, exist_ok=True)
            hf.write_points(Path(folder, f"classes/{label}/{i}.xyz"), cloud)

        def train() -> None:
            shutil.rmtree(Path(folder, "model"), ignore_errors=True)
            command_line(["train", f"{folder}/classes", "-o", f"{folder}/model", "--folds", "2"])

        return {
            "signatures, 10^3 points": count(lambda: hf.signatures(points), package),
            "signatures, 10^6 points": count(lambda: hf.signatures(many, tol=1e-6), package),
            'HFSDescriptor("joint")': count(
                lambda: hf.HFSDescriptor("joint").fit_transform([points]), package
            ),
            'HFSNetworkClassifier("full").fit': count(
                lambda: hf.HFSNetworkClassifier("full", **options).fit(clouds, labels), package
            ),
            "describe, 3 files": count(describe, package),
            "train, 20 files": count(train, package),
            "HeatField.hessian": count(lambda: field.hessian(points[:10], 0.1), package),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default=sys.executable, help="interpreter with another version")
    parser.add_argument("--as", dest="name", default="now", help="name in the result file")
    options = parser.parse_args()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}  # for this module
    code = "import json; from tools.modules_visited import visits; print(json.dumps(visits()))"
    words = [options.python, "-P", "-c", code]
    with tempfile.TemporaryDirectory() as elsewhere:
        done = subprocess.run(
            words, env=environment, stdout=subprocess.PIPE, text=True, check=True, cwd=elsewhere
        )
    found = json.loads(done.stdout.splitlines()[-1])
    kept = json.loads(OUTPUT.read_text()) if OUTPUT.exists() else {}
    kept[options.name] = found
    OUTPUT.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
    for name, visited in found.items():
        print(f"{name:34} {visited['functions']:5} functions {visited['modules']:4} modules")


if __name__ == "__main__":
    main()
