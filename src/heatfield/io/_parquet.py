"""Parquet by pyarrow, batch by batch, so that a small file cannot unfold without end."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.optional import need
from ._cloud import MOST_COLUMNS, Cloud, coordinate_names, from_columns
from ._error import ReadError
from ._source import Source

_AT_ONCE = 65_536


def read_parquet(source: Source) -> Cloud:
    """Columns x, y, z (or x0, x1, ...) are the coordinates; numbers, booleans and text survive."""
    pa, pq = need("pyarrow", "Parquet files"), need("pyarrow.parquet", "Parquet files")
    try:
        size = len(source.data)
        file = pq.ParquetFile(
            pa.BufferReader(source.data), thrift_string_size_limit=size, thrift_container_size_limit=size
        )
        meta, schema = file.metadata, file.schema_arrow
        if len(schema) > MOST_COLUMNS:
            raise source.error(f"has {len(schema)} columns, more than {MOST_COLUMNS}", "schema")
        for field in schema:
            if not _readable(pa, field.type):
                raise source.error(
                    f"column {field.name!r} is {field.type}; numbers and text can be read", "schema"
                )
        if len(set(schema.names)) < len(schema):
            raise source.error("two columns have the same name", "schema")
        # Details of a column's chunk are not asked for: pyarrow ends the process where they are damaged.
        source.check_allowance(
            8 * meta.num_rows * max(1, len(schema)), f"a table of {meta.num_rows} rows", "metadata"
        )
        pieces: dict[str, list[NDArray[Any]]] = {name: [] for name in schema.names}
        total = 0
        for batch in file.iter_batches(_AT_ONCE, use_threads=False):
            total += batch.nbytes
            source.check_allowance(total, "the table", "data")
            for name, column in zip(schema.names, batch.columns, strict=True):
                pieces[name].append(_values(source, column, name))
    except ReadError:
        raise
    except MemoryError:
        raise source.error("does not fit in memory") from None
    except Exception as error:  # pyarrow raises its own kinds, and OSError, for damage
        lines = str(error).splitlines()
        raise source.error(f"damaged: {lines[0][:200] if lines else type(error).__name__}") from None
    table = {
        name: np.concatenate(parts) if parts else np.empty(0, _empty_type(pa, schema.field(name).type))
        for name, parts in pieces.items()
    }
    return from_columns(source, table, "parquet", "schema")


def _readable(pa: Any, kind: Any) -> bool:
    t = pa.types
    if t.is_dictionary(kind):
        kind = kind.value_type
    return (
        t.is_integer(kind)
        or t.is_floating(kind)
        or t.is_boolean(kind)
        or t.is_string(kind)
        or t.is_large_string(kind)
    )


def _empty_type(pa: Any, kind: Any) -> Any:
    return (
        "U1"
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))
        else (kind.to_pandas_dtype())
    )


def _values(source: Source, column: Any, name: str) -> NDArray[Any]:
    if column.null_count and name.strip().lower() in ("x", "y", "z"):
        raise source.error(f"column {name!r} has {column.null_count} empty cells", "data")
    values = column.to_numpy(zero_copy_only=False)
    if values.dtype == object:
        if column.null_count:
            values = np.array(["" if v is None else v for v in values.tolist()], dtype=object)
        if len(values) and set(map(type, values.tolist())) <= {str}:
            widest = max(map(len, values.tolist()))
            source.check_allowance(4 * widest * len(values), f"text column {name!r}", "data")
            return values.astype(f"U{max(widest, 1)}")
        return values.astype(np.float64)  # booleans with empty cells
    return values


def parquet_bytes(
    points: NDArray[np.float64], columns: dict[str, NDArray[Any]], metadata: dict[str, str] | None = None
) -> bytes:
    """One table, coordinates first; ``metadata`` goes into the schema."""
    pa, pq = need("pyarrow", "Parquet files"), need("pyarrow.parquet", "Parquet files")
    names = [*coordinate_names(points.shape[1]), *columns]
    arrays = [pa.array(np.ascontiguousarray(c)) for c in [*points.T, *columns.values()]]
    table = pa.table(dict(zip(names, arrays, strict=True)))
    buffer = io.BytesIO()
    pq.write_table(table.replace_schema_metadata(metadata), buffer)
    return buffer.getvalue()
