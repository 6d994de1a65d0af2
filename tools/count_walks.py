"""How far a reader has to walk: functions entered, modules visited and trees grown by public calls.

    python -m tools.count_walks                          # this source tree: tools/results/walks.json
    python -m tools.count_walks --python ../old/.venv/bin/python --as before

The counts of different versions stand side by side in the result file, each under its name. Compiled
functions are left by the interpreter at once and count as one function each.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
OUTPUT = Path(__file__).parent / "results" / "walks.json"


def count(call: Callable[[], object], package: Path, *, warm: bool = True) -> dict[str, int]:
    """Walk through one call; a first call, not counted, compiles and imports."""
    if warm:
        call()
    entered: list[tuple[str, str]] = []
    trees = 0
    modules = [
        m for name, m in list(sys.modules.items()) if name.startswith("heatfield") and hasattr(m, "grow")
    ]
    grow = {module: module.grow for module in modules}

    def counted(original: Callable[..., object]) -> Callable[..., object]:
        def inner(*arguments: object) -> object:
            nonlocal trees
            trees += 1
            return original(*arguments)

        return inner

    def profile(frame, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(str(package)):
            entered.append((frame.f_code.co_filename, frame.f_code.co_name))

    for module, original in grow.items():
        module.grow = counted(original)
    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
        for module, original in grow.items():
            module.grow = original
    files = {file for file, _ in entered}
    return {"functions": len(set(entered)), "modules": len(files), "trees": trees, "calls": len(entered)}


def walks() -> dict[str, dict[str, int]]:
    """The walks of the library that is imported."""
    import numpy as np

    import heatfield as hf
    from heatfield.cli import main as command_line

    package = Path(hf.__file__).parent
    rng = np.random.default_rng(0)
    points = rng.normal(size=(1000, 3))
    many = rng.normal(size=(1_000_000, 3))
    many /= np.linalg.norm(many, axis=1, keepdims=True)
    hf.signatures(many[:20_000], tol=1e-6)  # compiles
    field = hf.HeatField(points)
    clouds, labels = hf.datasets.make_orbit5k(n_per_class=4, n_points=60)
    options = {"epochs": 2, "random_state": 0, "n_scales": 4, "progress": False}
    with tempfile.TemporaryDirectory() as folder:
        for i in range(3):
            np.savetxt(Path(folder) / f"c{i}.xyz", points[:200] + i)

        def describe() -> None:
            output = Path(folder) / "table.npz"
            output.unlink(missing_ok=True)
            command_line(["describe", folder, "-o", str(output)])

        return {
            "signatures, 10^3 points": count(lambda: hf.signatures(points), package),
            "signatures, 10^6 points": count(lambda: hf.signatures(many, tol=1e-6), package, warm=False),
            'HFSDescriptor("joint")': count(
                lambda: hf.HFSDescriptor("joint").fit_transform([points]), package
            ),
            'HFSClassifier("full").fit': count(
                lambda: hf.HFSClassifier("full", **options).fit(clouds, labels), package
            ),
            "describe, 3 files": count(describe, package),
            "HeatField.hessian": count(lambda: field.hessian(points[:10], 0.1), package),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default=sys.executable, help="interpreter with another version")
    parser.add_argument("--as", dest="name", default="now", help="name in the result file")
    options = parser.parse_args()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}  # for this module
    code = "import json; from tools.count_walks import walks; print(json.dumps(walks()))"
    words = [options.python, "-P", "-c", code]
    with tempfile.TemporaryDirectory() as elsewhere:
        done = subprocess.run(
            words, env=environment, stdout=subprocess.PIPE, text=True, check=True, cwd=elsewhere
        )
    found = json.loads(done.stdout.splitlines()[-1])
    kept = json.loads(OUTPUT.read_text()) if OUTPUT.exists() else {}
    kept[options.name] = found
    OUTPUT.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
    for name, walk in found.items():
        print(
            f"{name:28} {walk['functions']:5} functions {walk['modules']:4} modules {walk['trees']:3} trees"
        )


if __name__ == "__main__":
    main()
