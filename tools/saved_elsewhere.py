"""Do saved models say the same under another version of scikit-learn?

    python -m tools.saved_elsewhere            # the minor versions below and above the one installed here
    python -m tools.saved_elsewhere 1.6.1 1.8

Models of every kind that needs no torch are trained, saved and asked here; then, for each version, a new
environment with that scikit-learn and the numpy and scipy of this one is made in a temporary folder, where
they are loaded and asked again. Probabilities and distances must be the same to the bit. What was compared
goes to tools/results/saved_elsewhere.json. pip fetches from its index; nothing is installed here.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import venv
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULT = ROOT / "tools" / "results" / "saved_elsewhere.json"
BESIDE = ("numpy", "scipy", "safetensors", "threadpoolctl", "tqdm")


def data() -> tuple[list[Any], list[str], list[Any]]:
    """Balls, sheets and filaments, their labels, and labels of their points."""
    import numpy as np

    rng = np.random.default_rng(0)
    shapes = {"ball": [1, 1, 1], "sheet": [1, 1, 0.05], "filament": [1, 0.05, 0.05]}
    labels = [name for _ in range(16) for name in shapes]
    clouds = [rng.normal(size=(80, 3)) * shapes[name] for name in labels]
    return clouds, labels, [(np.abs(points[:, 0]) > 0.7).astype(int) for points in clouds]


def save_all(folder: Path) -> None:
    """Train and save models of every kind: each head for two classes and for three, points, an index."""
    import heatfield as hf

    clouds, labels, sides = data()
    two = ["ball" if label == "ball" else "other" for label in labels]
    for head in ("lda", "svm", "mlp"):
        for name, given in ((f"{head} 2", two), (f"{head} 3", labels)):
            model = hf.HFSClassifier("joint", head=head, epochs=300, random_state=0)
            model.fit(clouds[::2], given[::2]).save(folder / name)
    points = hf.HFSPointClassifier(lengths=[0.2, 0.5], iterations=20)
    points.fit(clouds[::2], sides[::2]).save(folder / "points")
    for metric in ("euclidean", "learned"):
        hf.HFSIndex("joint", metric=metric).build(clouds[::2], labels=labels[::2]).save(
            folder / f"index {metric}"
        )


def ask_all(folder: Path) -> dict[str, Any]:
    """What every saved model says of all clouds."""
    import numpy as np

    import heatfield as hf

    clouds = data()[0]
    found = {}
    for place in sorted(path for path in folder.iterdir() if path.is_dir()):
        kind = place.name.split()[0]
        if kind == "index":
            found[place.name] = hf.HFSIndex.load(place).query(clouds, k=5).distances
        elif kind == "points":
            found[place.name] = np.concatenate(hf.HFSPointClassifier.load(place).predict_proba(clouds))
        else:
            found[place.name] = hf.HFSClassifier.load(place).predict_proba(clouds)
    return found


def environment(folder: Path, wanted: str) -> Path:
    """The Python of a new environment with this scikit-learn, and this source tree on its path."""
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    same = [f"{name}=={version(name)}" for name in BESIDE]
    pip = [python, "-m", "pip", "install", "-q", "--only-binary", ":all:"]
    subprocess.run([*pip, f"scikit-learn=={wanted}", *same], check=True)
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = subprocess.run([python, "-c", where], check=True, capture_output=True, text=True).stdout.strip()
    (Path(site) / "heatfield.pth").write_text(f"{package_folder()}\n")
    return python


def package_folder() -> Path:
    """The folder that holds the package with its native module."""
    from heatfield import _core

    package = Path(_core.__file__).parent
    if not (package / "__init__.py").exists():
        raise SystemExit(f"the native module is in {package}, apart from the sources: build it there")
    return package.parent


def neighbours() -> list[str]:
    """The minor versions of scikit-learn next to the one installed, as pip understands them."""
    major, minor = map(int, version("scikit-learn").split(".")[:2])
    return [f"{major}.{minor - 1}.*", f"{major}.{minor + 1}.*"]


def compare(wanted: str, folder: Path) -> dict[str, Any] | None:
    """What models say under a version of scikit-learn; None where it cannot be installed."""
    import numpy as np

    with tempfile.TemporaryDirectory() as place:
        try:
            python = environment(Path(place), wanted)
        except subprocess.CalledProcessError:
            return None
        words = [str(python), "-m", "tools.saved_elsewhere", "--ask", str(folder)]
        clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        done = subprocess.run(words, cwd=ROOT, env=clean, check=True, capture_output=True, text=True)
    there = json.loads(done.stdout)
    with np.load(folder / "here.npz") as here, np.load(folder / "there.npz") as other:
        same = {name: bool(np.array_equal(here[name], other[name])) for name in here}
        if set(here) != set(other):
            raise SystemExit("not the same models")
    return {**there, "same to the bit": same}


def versions() -> dict[str, str]:
    """Of this process."""
    return {"python": platform.python_version()} | {
        name: version(name) for name in ("scikit-learn", "numpy", "scipy")
    }


def main() -> int:
    """The command line; 1 where a model says something else, or no version could be tried."""
    import numpy as np

    words = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    words.add_argument("versions", nargs="*", help="of scikit-learn, as pip understands them")
    words.add_argument("--ask", type=Path, help=argparse.SUPPRESS)
    options = words.parse_args()
    if options.ask:
        np.savez(options.ask / "there.npz", **ask_all(options.ask))
        print(json.dumps(versions()))
        return 0
    tried = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        save_all(folder)
        np.savez(folder / "here.npz", **ask_all(folder))
        for wanted in options.versions or neighbours():
            found = compare(wanted, folder)
            print(f"scikit-learn {wanted}: {'cannot be installed' if found is None else found}", flush=True)
            tried += [] if found is None else [found]
    RESULT.write_text(json.dumps({"saved with": versions(), "loaded with": tried}, indent=1) + "\n")
    return 0 if tried and all(all(one["same to the bit"].values()) for one in tried) else 1


if __name__ == "__main__":
    sys.exit(main())
