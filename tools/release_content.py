"""What must be in the files of a release, and what an extra must make usable.

Run by ``tools/release_check.sh``:

python tools/release_content.py dist/*            # sdist and wheel hold what they must
python tools/release_content.py --extra torch     # in an environment with this extra alone
"""

from __future__ import annotations

import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
# The root of each distribution, and its package.
ROOTS = {"heatfield": ROOT, "heatfield_bench": ROOT / "bench"}
# Beside the package itself: what somebody needs who builds, tests or documents from the sdist.
IN_SDIST = {
    "heatfield": (
        "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "Makefile", "constraints.txt",
        "CMakeLists.txt", "cpp/core.hpp", "cpp/module.cpp", "conftest.py", "docs/conf.py", "docs/index.md",
        "examples/tutorial/plot_1_one_cloud.py", "tools/smoke_test.py", "packaging/conda/meta.yaml",
    ),
    "heatfield_bench": ("pyproject.toml", "README.md", "LICENSE"),
}  # fmt: skip


def package_of(path: Path) -> str:
    """The package that a wheel or an sdist holds, by its name."""
    return path.name.split("-", 1)[0]


def needed(package: str = "heatfield") -> set[str]:
    """Every file of a package: modules, `py.typed`, and the scripts and styles of the pages."""
    folder = ROOTS[package] / "src" / package
    files = (p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    made = (".nbi", ".nbc", ".pyc", ".so", ".pyd")
    return {p.relative_to(folder).as_posix() for p in files if p.suffix not in made}


def check_wheel(path: Path) -> list[str]:
    """What is missing from a wheel, or does not belong there."""
    with zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
    package = package_of(path)
    missing = [name for file in sorted(needed(package)) if (name := f"{package}/{file}") not in names]
    native = [name for name in names if name.startswith("heatfield/_core.") and not name.endswith(".pyi")]
    missing += ["the native module"] if package == "heatfield" and not native else []
    foreign = [name for name in names if not name.startswith((f"{package}/", f"{package}-"))]
    return [*(f"{path.name} lacks {m}" for m in missing), *(f"{path.name} holds {f}" for f in foreign)]


def check_sdist(path: Path) -> list[str]:
    """What is missing from an sdist, or is generated and does not belong there."""
    with tarfile.open(path) as archive:
        names = {"/".join(member.name.split("/")[1:]) for member in archive.getmembers()}
    package = package_of(path)
    wanted = {f"src/{package}/{name}" for name in needed(package)} | set(IN_SDIST[package])
    foreign = ("docs/_build", "docs/api/", "docs/tutorial/", "bench/")
    built = [name for name in names if name.startswith(foreign)]
    return [
        *(f"{path.name} lacks {m}" for m in sorted(wanted - names)),
        *(f"{path.name} holds {b}" for b in built[:3]),
    ]


def check_extra(extra: str) -> None:
    """Use what the extra is for; an error of import or an assertion if it does not work."""
    import numpy as np

    import heatfield as hf

    points = np.random.default_rng(0).normal(size=(60, 3))
    assert np.isfinite(hf.signatures(points).per_point()).all()
    if extra == "io":
        hf.write_points("extra.laz", points)
        assert hf.read_points("extra.laz").shape == points.shape
        hf.write_points("extra.parquet", points)
    elif extra == "formats":
        for name in ("asc", "bcif", "e57"):
            one = hf.io.formats.REGISTRY[name]
            Path(f"extra{one.suffixes[0]}").write_bytes(one.sample())
            assert len(hf.read_points(f"extra{one.suffixes[0]}", atoms="all"))
    elif extra == "show":
        import matplotlib as mpl

        mpl.use("agg")
        hf.plot.dimension_spectrum(hf.signatures(points))
        assert hf.HeatField(points).heat_body(0.1).volume > 0
    elif extra == "torch":
        import torch

        assert hf.nn.HeatFeatures()(torch.tensor(points)[None]).shape == (1, 60, 48)
    elif extra == "cluster":
        import distributed

        hf.write_points("extra.csv", points)
        assert hf.read_points(Path("extra.csv").resolve().as_uri()).shape == points.shape  # by fsspec
        with distributed.Client(processes=False, n_workers=1, dashboard_address="127.0.0.1:0") as client:
            assert client.submit(len, "four").result() == 4
            assert hf.describe_files("extra.csv", executor=client, progress=False).points.tolist() == [
                len(points)
            ]
    elif extra.startswith("bench"):
        _check_bench_extra(extra, points)
    print(f"heatfield {hf.__version__} works with the extra {extra!r} alone")


def _check_bench_extra(extra: str, points: Any) -> None:
    """Use what an extra of the bench is for; ``bench`` is the bench without any."""
    import heatfield_bench as hb

    if extra == "bench-dimension":
        import skdim

        assert skdim.id.TwoNN().fit_transform(points) > 0
        return
    name = {"bench": "HKS", "bench-torch": "PointNet", "bench-open3d": "FPFH"}.get(extra, "MPLandscape")
    words = hb.baselines.available()[name]
    assert not words.startswith(f"{name} needs"), words
    if extra == "bench":
        assert hb.baselines.HKS().per_point(points).shape == (len(points), 16)


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--extra"]:
        check_extra(arguments[1])
        return 0
    problems = []
    for argument in arguments:
        path = Path(argument)
        problems += check_wheel(path) if path.suffix == ".whl" else check_sdist(path)
    counts = ", ".join(f"{len(needed(package))} of {package}" for package in ROOTS)
    print(*(problems or [f"files in {len(arguments)} archives: {counts}"]), sep="\n")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
