"""A long fuzz of every reader: sound files, damaged at random, under the limits that the readers promise.

    python -m tools.fuzz_readers --seconds 1800
    python -m tools.fuzz_readers --inputs 1000000

How inputs are numbered, limited and counted: `tools.fuzzing`. Anything but a sound cloud or a ReadError that
the reader itself raised is a failure. The counts go to tools/results/fuzz_readers.json; ``--show k > file``
makes an input again. Short fuzz tests run with the others, in tests/io.
"""

from __future__ import annotations

import gzip
import io
import random
import sys
import zipfile
from pathlib import Path
from typing import Any

from tests.helpers.e57 import logical, sealed
from tools.fuzzing import (
    RESULTS,
    Fuzzer,
    Input,
    UndocumentedError,
    damaged,
    parser,
    read_inputs,
    require_an_end,
    work_folder,
)

TOGETHER = 500
FUZZER = Fuzzer("tools.fuzz_readers", RESULTS / "fuzz_readers.json", TOGETHER, 100, 8 * 2**30)


def samples() -> list[tuple[str, bytes]]:
    """Names and contents of sound files in every format and dialect that the tests know."""
    from tests.helpers.dialects import DIALECTS
    from tests.helpers.file_samples import SAMPLES
    from tests.helpers.scenes import SCENES

    known = {name: content for name, (content, _) in SAMPLES.items()} | SCENES
    return [*known.items(), *((d.name, d.content) for d in DIALECTS)]


def inside(name: str, content: bytes, other: bytes, rng: random.Random) -> bytes:
    """As `damaged`, but under a sound wrapping where there is one: gzip, ZIP, the checksums of E57."""
    if content[:2] == b"\x1f\x8b" and rng.random() < 0.7:
        return gzip.compress(damaged(gzip.decompress(content), other, rng), 1, mtime=0)
    if name.endswith(".e57") and rng.random() < 0.7:
        return sealed(damaged(logical(content), other, rng))
    if name.endswith((".npz", ".3mf")) and rng.random() < 0.7:
        out = io.BytesIO()
        with (
            zipfile.ZipFile(io.BytesIO(content)) as old,
            zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new,
        ):
            chosen = rng.choice(old.namelist())
            for entry in old.namelist():
                data = old.read(entry)
                new.writestr(entry, damaged(data, other, rng) if entry == chosen else data)
        return out.getvalue()
    return damaged(content, other, rng)


def make(number: int, sound: list[tuple[str, bytes]]) -> tuple[str, str, bytes, dict[str, object]]:
    """Sample, name, content and options of one input."""
    rng = random.Random(number)
    sample, content = rng.choice(sound)
    data = inside(sample, content, rng.choice(sound)[1], rng)
    if rng.random() < 0.1:
        data = gzip.compress(data, 1, mtime=0)
    name = (
        sample
        if rng.random() < 0.8
        else "a" + rng.choice((".dat", ".xyz", ".ply", ".off", ".obj", ".stl", ".laz", ""))
    )
    options: dict[str, object] = {}
    if rng.random() < 0.3:
        options = rng.choice(
            (
                {"budget": 7}, {"budget": 7, "sampling": "voxel"}, {"budget": 3, "sampling": "farthest"},
                {"atoms": "all", "model": None}, {"dims": 2}, {"invalid": "drop"}, {"altloc": "all"},
                {"soma": "drop"}, {"atoms": "all", "invalid": "drop", "budget": 5}, {"many": True},
            )
        )  # fmt: skip
    return sample, name, data, options


def _check(cloud: Any) -> None:
    """An UndocumentedError where a cloud is not sound."""
    import numpy as np

    m = len(cloud.points)
    corners, parents = cloud.faces, cloud.parents
    rules = {
        "points that are no table": cloud.points.ndim == 2,
        "points that are not finite": bool(np.isfinite(cloud.points).all()),
        "columns of another length": all(len(column) == m for column in cloud.columns.values()),
        "faces without vertices": corners is None
        or 0 <= corners.min(initial=0) <= corners.max(initial=0) < m,
        "parents that are no nodes": parents is None or parents.max(initial=-1) < m == len(parents),
    }
    for problem, sound in rules.items():
        if not sound:
            raise UndocumentedError(problem)


def _read(path: Path, options: dict[str, Any]) -> bool:
    """Whether a file was read; False for a ReadError as it should be."""
    import heatfield.io as hio

    try:
        if options.get("many"):
            hio.read_clouds(path)
        else:
            _check(hio.read_cloud(path, **options))
        return True
    except hio.ReadError as error:
        if error.__cause__ is not None:
            raise UndocumentedError(f"caught by the last guard: {error.__cause__!r}") from None
        if str(path) not in str(error) or "\n" in str(error):
            raise UndocumentedError(f"a message without the file, or of several lines: {error!r}") from None
        return False
    finally:
        path.unlink()


def child(first: int, last: int) -> None:
    """Read inputs and report."""
    for library in (
        "gemmi", "laspy", "lazrs", "h5py", "pyarrow.parquet", "pyarrow.ipc", "morphio", "pye57", "msgpack",
        "scipy.sparse.csgraph", "heatfield.io",
    ):  # fmt: skip
        __import__(library)
    sound, folder = samples(), work_folder()

    def ready(number: int) -> Input:
        sample, name, data, options = make(number, sound)
        (folder / name).write_bytes(data)
        return Input(sample, [options], lambda: _read(folder / name, options))

    read_inputs(first, last, TOGETHER, ready)
    folder.rmdir()


def main() -> int:
    """The command line."""
    words = parser(__doc__)
    words.add_argument("--show", type=int, help="write this input to standard output")
    options = words.parse_args()
    if options.child:
        child(*map(int, options.child))
        return 0
    if options.show is not None:
        sample, name, data, how = make(options.show, samples())
        print(f"# from {sample}, as {name}, with {how}", file=sys.stderr)
        sys.stdout.buffer.write(data)
        return 0
    require_an_end(words, options)

    def known(number: int) -> list[Any]:
        return [make(number, samples())[0], {}]

    return FUZZER.run(options.seconds, options.inputs, known)


if __name__ == "__main__":
    sys.exit(main())
