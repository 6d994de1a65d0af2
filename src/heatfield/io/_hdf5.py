"""HDF5 by h5py: the arrays at the top of the file. Nothing is followed out of it, nothing is believed."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.optional import need
from ._arrays import Arrays, Entry, one_cloud
from ._cloud import Cloud
from ._error import ReadError
from ._source import Source
from ._text import shown

_MOST_ARRAYS = 1000


def read_hdf5(source: Source, dims: int | None = None) -> Cloud:
    """The array ``points``, or arrays x, y, z, or the only (m, n) array; others of length m are columns."""
    with hdf5_arrays(source) as arrays:
        return one_cloud(arrays, dims, "hdf5")


@contextmanager
def hdf5_arrays(source: Source) -> Iterator[Arrays]:
    """The arrays of a file, read when they are asked for."""
    h5py = need("h5py", "HDF5 files")
    try:
        with h5py.File(io.BytesIO(source.data), "r") as file:
            if len(file) > _MOST_ARRAYS:
                raise source.error(f"holds {len(file)} objects, more than {_MOST_ARRAYS}")
            found: dict[str, Entry] = {}
            for name in file:
                # A link may lead to any file of the machine, and so may the storage of an array.
                if not isinstance(file.get(name, getlink=True), h5py.HardLink):
                    continue
                item = file[name]
                own = isinstance(item, h5py.Dataset) and not item.is_virtual and item.external is None
                if own and item.shape is not None and not item.dtype.hasobject:
                    found[name] = Entry(item.shape, item.dtype, partial(_read, source, item, name))
            yield Arrays(source, found)
    except ReadError:
        raise
    except MemoryError:
        raise source.error("does not fit in memory") from None
    except Exception as error:  # h5py has an error of its own for every kind of damage
        lines = str(error).splitlines()
        raise source.error(f"damaged: {lines[0][:200] if lines else type(error).__name__}") from None


def _read(source: Source, item: Any, name: str) -> NDArray[Any]:
    place = f"array {shown(name)}"
    source.check_allowance(math.prod(item.shape) * item.dtype.itemsize, "it", place)
    if item.chunks is not None:  # a chunk is unpacked as a whole, however little of it is used
        source.check_allowance(math.prod(item.chunks) * item.dtype.itemsize, "a chunk of it", place)
    values = np.asarray(item[()])
    return values.astype(values.dtype.newbyteorder("="))
