"""Reading beside the libraries that others use, in turns: files made here, the best round of each.

    python -m benchmarks.reading_speed [--points 200000] [--rounds 5]

Peers that are not installed are left out. Every peer ends with an array of coordinates, as `read_cloud` does.
"""

from __future__ import annotations

import argparse
import importlib.util
import io
import struct
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import heatfield as hf
from benchmarks.lib.race import race, repeated

Peer = tuple[str, Callable[[Path], Any]]


def ply(path: Path) -> Any:
    """By plyfile."""
    import plyfile

    data = plyfile.PlyData.read(str(path))
    return np.stack([data["vertex"][a] for a in "xyz"], axis=1)


def pcd(path: Path) -> Any:
    """By pypcd4."""
    from pypcd4 import PointCloud

    return PointCloud.from_path(path).numpy(("x", "y", "z"))


def open3d_cloud(path: Path) -> Any:
    """By open3d."""
    import open3d

    return np.asarray(open3d.io.read_point_cloud(str(path)).points)


def vtk_obj(path: Path) -> Any:
    """By vtk."""
    import vtk
    from vtk.util.numpy_support import vtk_to_numpy

    reader = vtk.vtkOBJReader()
    reader.SetFileName(str(path))
    reader.Update()
    return vtk_to_numpy(reader.GetOutput().GetPoints().GetData())


def trimesh_mesh(path: Path) -> Any:
    """By trimesh."""
    import trimesh

    return trimesh.load(path, process=False, force="mesh").vertices


def molecule(path: Path) -> Any:
    """By gemmi."""
    import gemmi

    return gemmi.FlatStructure(gemmi.read_structure(str(path))).pos


def table(path: Path) -> Any:
    """By pandas."""
    import pandas

    return pandas.read_csv(path)[["x", "y", "z"]].to_numpy()


def las(path: Path) -> Any:
    """By laspy, with lazrs on one thread."""
    import laspy

    found = laspy.read(path, laz_backend=laspy.LazBackend.Lazrs)
    return np.stack([found.x, found.y, found.z], axis=1)


def neuron(path: Path) -> Any:
    """By morphio."""
    import morphio

    morphio.set_maximum_warnings(0)
    return morphio.Morphology(str(path)).points


def files(folder: Path, m: int) -> Iterator[tuple[str, Path, dict[str, Any], list[Peer]]]:
    """Name, file, options of `read_cloud` and peers of each case."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(m, 3)).round(6)
    grey = {"intensity": rng.integers(0, 60_000, m).astype(np.uint16), "weight": rng.random(m).astype("f4")}
    for kind, peers in {
        "ply": [("plyfile", ply), ("open3d", open3d_cloud)],
        "pcd": [("pypcd4", pcd), ("open3d", open3d_cloud)],
        "csv": [("pandas", table)],
        "laz": [("laspy", las)],
    }.items():
        path = folder / f"a.{kind}"
        hf.write_points(path, points.astype("f4") if kind in ("ply", "pcd") else points, grey)
        yield {"ply": "binary PLY", "pcd": "binary PCD"}.get(kind, kind.upper()), path, {}, peers
    lines = [" ".join(map(repr, p)) for p in points.tolist()]
    corners = rng.integers(0, m, (m, 3))
    faces = corners.tolist()
    head = "ply\nformat {} 1.0\nelement vertex {}\nproperty {k} x\nproperty {k} y\nproperty {k} z\n"
    head += "element face {}\n"
    head += "property list uchar int vertex_indices\nend_header\n"
    path = folder / "text.ply"
    text = "\n".join([*lines, *(f"3 {a} {b} {c}" for a, b, c in faces)])
    path.write_text(head.format("ascii", m, m, k="double") + text + "\n")
    yield "ASCII PLY, triangles", path, {"nodes": True}, [("plyfile", ply), ("trimesh", trimesh_mesh)]
    body = io.BytesIO()
    body.write(points.astype("<f4").tobytes())
    for i, (a, b, c) in enumerate(faces):
        body.write(struct.pack("<B4i", 4, a, b, c, a) if i % 3 == 0 else struct.pack("<B3i", 3, a, b, c))
    path = folder / "mixed.ply"
    path.write_bytes(head.format("binary_little_endian", m, m, k="float").encode() + body.getvalue())
    yield "binary PLY, mixed faces", path, {"nodes": True}, [("plyfile", ply)]
    path = folder / "a.obj"
    slashes = (f"f {a + 1}/{a + 1}/{a + 1} {b + 1}/1/1 {c + 1}/1/1" for a, b, c in faces)
    path.write_text("# made\n" + "\n".join([*(f"v {line}" for line in lines), "vn 0 0 1", *slashes]) + "\n")
    yield "OBJ", path, {"nodes": True}, [("vtk", vtk_obj), ("trimesh", trimesh_mesh)]
    parents = [-1, *(int(rng.integers(max(0, i - 50), i)) + 1 for i in range(1, m))]
    path = folder / "a.swc"
    nodes = (f"{i} 3 {line} 0.5 {p}" for i, (line, p) in enumerate(zip(lines, parents, strict=True), 1))
    path.write_text("# made\n" + "\n".join(nodes) + "\n")
    yield "SWC", path, {"nodes": True}, [("morphio", neuron)]
    yield from molecules(folder, points * 30)


def molecules(folder: Path, points: Any) -> Iterator[tuple[str, Path, dict[str, Any], list[Peer]]]:
    """The same atoms as PDB and as mmCIF."""
    import gemmi

    names = (" N  ", " CA ", " C  ", " O  ", " CB ")
    lines = [
        f"ATOM  {i % 100_000:5d} {names[i % 5]} GLY {'ABCDEFGH'[i // 40_000 % 8]}{i // 5 % 8000 + 1:4d}    "
        f"{x:8.3f}{y:8.3f}{z:8.3f}  1.00 10.00           {names[i % 5][1]}\n"
        for i, (x, y, z) in enumerate(points.tolist())
    ]
    path = folder / "a.pdb"
    path.write_text("".join(lines) + "END\n")
    structure = gemmi.read_pdb(str(path))
    structure.setup_entities()
    structure.make_mmcif_document().write_file(str(folder / "a.cif"))
    for kind, name in (("pdb", "PDB"), ("cif", "mmCIF")):
        for atoms in ("CA", "all"):
            yield f"{name}, {atoms}", folder / f"a.{kind}", {"atoms": atoms}, [("gemmi", molecule)]


def main() -> None:
    """Print one line per case: milliseconds of each, and times the fastest peer."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--points", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name, path, how, peers in files(Path(folder), options.points):
            shots = {"heatfield": repeated(lambda path=path, how=how: hf.read_cloud(path, **how))}
            for peer, read in peers:
                if importlib.util.find_spec(peer):
                    shots[peer] = repeated(lambda path=path, read=read: read(path))
            found = {key: one["best_ms"] for key, one in race(shots, options.rounds, 0, clouds=1).items()}
            fastest = min((ms for key, ms in found.items() if key != "heatfield"), default=float("nan"))
            shown = ", ".join(f"{key} {ms:.0f} ms" for key, ms in found.items())
            print(
                f"{name:24s} {found['heatfield'] / fastest:5.2f} times the fastest peer: {shown}", flush=True
            )


if __name__ == "__main__":
    main()
