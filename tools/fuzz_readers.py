"""A long fuzz of all readers by atheris, guided by coverage; the short ones run with the tests.

    pip install atheris
    python -m tools.fuzz_readers CORPUS -max_total_time=600 -rss_limit_mb=1024 -timeout=20

CORPUS is a folder; it is filled with the valid samples of the tests first. Anything but a cloud
or a ReadError ends the run with the input that caused it.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import atheris

# Compiled functions cannot be instrumented.
with atheris.instrument_imports(include=["heatfield.io"], exclude=["heatfield.io._lzf"]):
    import heatfield.io as hio

from tests.helpers.file_samples import SAMPLES

TARGET = Path(tempfile.mkdtemp(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)) / "fuzzed"


def one(data: bytes) -> None:
    """One input, by content."""
    TARGET.write_bytes(data)
    try:
        hio.read_cloud(TARGET)
    except hio.ReadError:
        return


def main() -> None:
    """Fill the corpus and start."""
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        raise SystemExit("usage: fuzz_readers.py CORPUS [libFuzzer options]")
    corpus = Path(sys.argv[1])
    corpus.mkdir(parents=True, exist_ok=True)
    for name, (content, _) in SAMPLES.items():
        (corpus / name).write_bytes(content)
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
