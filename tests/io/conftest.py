"""What tests of readers share."""

import io

import numpy as np
import pytest

import heatfield as hf


@pytest.fixture
def read(tmp_path):
    """``read("a.csv", content, ...)``: the cloud in a file of this name and content."""

    def run(name, content, **options):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return hf.read_cloud(path, **options)

    return run


@pytest.fixture
def memory():
    """The file system behind ``memory://``; what a test puts below ``/shelf`` goes with it."""
    fsspec = pytest.importorskip("fsspec")
    system = fsspec.filesystem("memory")
    yield system
    for path in [name for name in system.store if name.startswith("/shelf")]:
        del system.store[path]


@pytest.fixture
def as_npy():
    """The bytes of an array as a file."""

    def run(array):
        file = io.BytesIO()
        np.save(file, array)
        return file.getvalue()

    return run
