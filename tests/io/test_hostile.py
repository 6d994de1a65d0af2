# ruff: noqa: E501  (hostile headers are easier to check in one piece)
"""Hostile files: a ReadError with file and place, nothing else, and little memory."""

import gzip
import os
import struct
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import numpy as np
import pytest

import heatfield as hf
from tests.helpers import raw
from tests.helpers.file_samples import SAMPLES
from tests.helpers.process import environment


def attempt(path, **options):
    """Read; the answer is a cloud or a ReadError that names the file. Anything else fails the test."""
    try:
        return raw.read_cloud(path, **options)
    except hf.ReadError as error:
        found = error
    assert str(path) in str(found)
    assert "\n" not in str(found)
    return found


@pytest.mark.parametrize("name", SAMPLES)
def test_cut_at_every_byte(tmp_path, name):
    content, count = SAMPLES[name]
    path = tmp_path / name
    binary = not name.startswith(
        (
            "a.swc",
            "a.asc",
            "a.pdb",
            "a.cif",
            "a.obj",
            "a.csv",
            "a.xyz",
            "a.extxyz",
            "a.txt",
            "text",
            "a.pts",
            "a.ply",
            "a.pcd",
        )
    )
    for size in range(len(content)):
        path.write_bytes(content[:size])
        found = attempt(path)
        if isinstance(found, hf.io.Cloud):
            assert len(found.points) <= count, size
            # What has a count, a checksum or a closing mark must notice that something is missing.
            assert not binary or name == "a.swc.gz" or size > len(content) - 80, size


@pytest.mark.parametrize("name", SAMPLES)
def test_bytes_turned_over(tmp_path, name):
    content, _ = SAMPLES[name]
    path = tmp_path / name
    rng = np.random.default_rng(0)
    for _ in range(150):
        damaged = bytearray(content)
        for place in rng.integers(len(content), size=rng.integers(1, 5)):
            damaged[place] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, 0x2D, 0x39, 0x0A, int(rng.integers(256))])
        path.write_bytes(bytes(damaged))
        attempt(path)


def _las_bomb(name: str, count: int) -> bytes:
    data = bytearray(SAMPLES[name][0])
    data[247:255] = struct.pack("<Q", count)
    return bytes(data)


def _laz_layers(chunks: int) -> bytes:
    """Layer sizes of gigabytes, with a chunk table that owns up to them or not."""
    data = bytearray(SAMPLES["a.laz"][0])
    (start,) = struct.unpack_from("<I", data, 96)
    (width,) = struct.unpack_from("<H", data, 105)
    (table,) = struct.unpack_from("<q", data, start)
    data[table + 4 : table + 8] = struct.pack("<I", chunks)
    sizes = start + 8 + width + 4
    data[sizes : sizes + 8] = struct.pack("<II", 2**32 - 1, 2**32 - 1)
    return bytes(data)


def _npy_header(text: str) -> bytes:
    body = text.encode().ljust(118) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(body)) + body


BOMBS = {
    "a.ply": b"ply\nformat binary_little_endian 1.0\nelement vertex 1000000000000\nproperty float x\n"
    b"property float y\nproperty float z\nend_header\n",
    "text.ply": b"ply\nformat ascii 1.0\nelement vertex 1000000000000\nproperty float x\nproperty float y\nend_header\n1 2\n",
    "nothing.ply": b"ply\nformat ascii 1.0\nelement vertex 1000000000000\nend_header\n",
    "minus.ply": b"ply\nformat binary_little_endian 1.0\nelement vertex -5\nproperty float x\nend_header\n",
    "huge.ply": b"ply\nformat ascii 1.0\nelement vertex " + b"9" * 5000 + b"\nproperty float x\nend_header\n",
    "face.ply": SAMPLES["big.ply"][0].replace(b"element face 2", b"element face 2000000000"),
    "a.pcd": b"VERSION .7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\nWIDTH 1000000000000\nHEIGHT 1\nDATA binary\n",
    "count.pcd": b"VERSION .7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1000000000000\nWIDTH 1\nHEIGHT 1\nDATA ascii\n1 2 3\n",
    "packed.pcd": b"VERSION .7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\nPOINTS 350000000\nDATA binary_compressed\n"
    + struct.pack("<II", 4, 4200000000)
    + b"\0\0\0\0",
    "a.las": _las_bomb("a.las", 10**12),
    "a.laz": _las_bomb("a.laz", 10**12),
    "layers.laz": _laz_layers(1),
    "hidden.laz": _laz_layers(0),
    "less.laz": _las_bomb("a.laz", 400_000),
    "a.npy": _npy_header("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 3), }"),
    "wrap.npy": _npy_header(f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({2**62}, 4), }}"),
    "zero.npy": _npy_header(f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({10**30}, 0), }}"),
    "minus.npy": _npy_header("{'descr': '<f8', 'fortran_order': False, 'shape': (-1, 3), }"),
    "object.npy": _npy_header("{'descr': '|O', 'fortran_order': False, 'shape': (1, 3), }")
    + b"cos\nsystem\n(S'true'\ntR.",
    "void.npy": _npy_header("{'descr': '|V0', 'fortran_order': False, 'shape': (1000000000000,), }"),
    "deep.npy": _npy_header("(" * 100),
    "a.off": b"OFF\n1000000000000 5 0\n0 0 0\n",
    "face.off": b"OFF\n1 1000000000000 0\n0 0 0\n",
    "corner.off": b"OFF\n1 1 0\n0 0 0\n1000000000000 0 0 0\n",
    "far.obj": b"v 0 0 0\nf 1 2 " + b"9" * 30 + b"\n",
    "a.stl": b"\0" * 80 + struct.pack("<I", 2**32 - 1),
    "a.pts": b"1000000000000\n1 2 3\n",
    "long.txt": b"1" * (3 * 2**20),
    "columns.txt": b"1 " * 10_000,
    "columns.csv": b"x,y,z," + b",".join(b"c%d" % i for i in range(10_000)) + b"\n",
    "digits.csv": b"x,y,z,n\n1,2,3," + b"9" * 100_000 + b"\n",
    "quote.cif": b"data_x\nloop_\n_atom_site.id\n_atom_site.Cartn_x\n" + b"'a" * 200_000 + b"\n",
    "quotes.cif": b"data_x\nloop_\n_atom_site.id\n_atom_site.Cartn_x\n" + b"'a'" * 200_000 + b"\n",
    "blank.stl": b"solid x\n" + b"\n" * 500_000,
    "quote.csv": b'x,y,z,n\n1,2,3,"' + b"a" * 1000 + b"\n",
}


@pytest.mark.parametrize("name", BOMBS)
def test_header_bombs(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(BOMBS[name])
    assert isinstance(attempt(path), hf.ReadError if name != "digits.csv" else (hf.ReadError, hf.io.Cloud))


def make_bombs(folder: Path) -> list[Path]:
    """Small files that would unfold to gigabytes."""
    pieces = gzip.compress(b"0 0 0\n" * 2_000_000)
    (folder / "text.xyz.gz").write_bytes(pieces * 200)  # members follow each other: 2.4 GB
    (folder / "short.xyz.gz").write_bytes(gzip.compress(b"0\n" * 8_000_000))  # 16 MB of one-letter lines
    (folder / "blank.xyz.gz").write_bytes(gzip.compress(b"\n" * 6_000_000))
    (folder / "short.swc.gz").write_bytes(gzip.compress(b"1 1 0 0 0 1 -1\n" * 400_000))
    (folder / "short.obj.gz").write_bytes(gzip.compress(b"v 0 0 0\n" + b"f 1 1 1\n" * 300_000))
    atom = b"ATOM      1  CA  GLY A   1      10.000  11.000  12.000\n"
    (folder / "many.pdb.gz").write_bytes(gzip.compress(atom * 120_000))
    head = b"ply\nformat ascii 1.0\nelement vertex 5000000\nproperty char x\nproperty char y\nend_header\n"
    (folder / "text.ply.gz").write_bytes(gzip.compress(head + b"0 0\n" * 4_000_000))
    with zipfile.ZipFile(folder / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        body = b"{'descr': '<f8', 'fortran_order': False, 'shape': (4000000, 3), }".ljust(118) + b"\n"
        with archive.open("points.npy", "w") as file:
            file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(body)) + body)
            for _ in range(96):
                file.write(bytes(1_000_000))
    import pyarrow as pa
    import pyarrow.parquet as pq

    zeros = pa.array(np.zeros(8_000_000))
    pq.write_table(
        pa.table({"x": zeros, "y": zeros, "z": zeros}), folder / "bomb.parquet", compression="zstd"
    )
    many = np.zeros((1_000_000, 3))
    hf.write_points(folder / "bomb.laz", many)
    with open(folder / "holes.npy", "wb") as file:
        file.write(_npy_header("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000, 3), }"))
        file.truncate(24 * 10**9 + 200)
    return sorted(folder.iterdir())


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak from /proc")
def test_bombs_take_less_than_200_mb(tmp_path):
    """In a process of their own, which reports how far its memory grew."""
    code = """
        import gc, sys, heatfield as hf
        import laspy, lazrs, pyarrow.parquet
        memory = lambda key: int(next(l for l in open("/proc/self/status") if l.startswith(key)).split()[1])
        for path in sys.argv[1:]:
            gc.collect()
            with open("/proc/self/clear_refs", "w") as file:
                file.write("5")  # the peak starts again from what is held now
            before, answer = memory("VmRSS"), "read"
            try:
                hf.read_points(path)
            except hf.ReadError as error:
                assert path in str(error)
                answer = "refused"
            print(path, answer, memory("VmHWM") - before)
    """
    (tmp_path / "bombs").mkdir()
    bombs = list(map(str, make_bombs(tmp_path / "bombs")))
    answers = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *bombs],
        capture_output=True, text=True, check=True, env=environment(OMP_NUM_THREADS="1"),
    ).stdout.splitlines()  # fmt: skip
    assert len(answers) == len(bombs)
    refused = set()
    for line in answers:
        path, answer, grown = line.split()
        assert int(grown) < 200_000, line
        if answer == "refused":
            refused.add(Path(path).name)
    assert refused >= {"text.xyz.gz", "bomb.npz", "bomb.parquet", "holes.npy", "bomb.laz"}


def test_places_that_are_no_files(tmp_path):
    (tmp_path / "x.ply").mkdir()
    (tmp_path / "loop.las").symlink_to(tmp_path / "loop.las")
    (tmp_path / "one.csv").symlink_to(tmp_path / "two.csv")
    (tmp_path / "two.csv").symlink_to(tmp_path / "one.csv")
    (tmp_path / "empty.pcd").write_bytes(b"")
    (tmp_path / "empty.swc.gz").write_bytes(gzip.compress(b""))
    (tmp_path / "twice.xyz.gz").write_bytes(gzip.compress(gzip.compress(b"1 2 3\n")))
    problems = {
        "x.ply": "is a folder", "loop.las": "symbolic links", "one.csv": "symbolic links", "absent.npy": "no such file",
        "empty.pcd": "is empty", "empty.swc.gz": "is empty once unpacked", "twice.xyz.gz": "gzipped twice",
        "zero\0.xyz": "null",
    }  # fmt: skip
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.xyz")
        problems["pipe.xyz"] = "not a regular file"
    for name, problem in problems.items():
        with pytest.raises(hf.ReadError, match=problem):
            raw.read_points(tmp_path / name)


@pytest.mark.parametrize("name", SAMPLES)
def test_every_format_by_force_on_every_sample(tmp_path, name):
    path = tmp_path / "a"
    path.write_bytes(SAMPLES[name][0])
    for kind in hf.io.FORMATS:
        attempt(path, format=kind)
