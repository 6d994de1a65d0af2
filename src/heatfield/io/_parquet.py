"""Parquet by pyarrow, batch by batch, so that a small file cannot unfold without end."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.check import find_coordinates
from .._base.optional import need
from ._cloud import MOST_COLUMNS, Cloud, coordinate_names, from_columns
from ._error import ReadError
from ._parquet_check import check_pages
from ._source import Source

_AT_ONCE = 65_536


def read_parquet(source: Source) -> Cloud:
    """Columns x, y, z (or x0, x1, ...) are the coordinates; numbers, booleans and text survive."""
    pa, pq = need("pyarrow", "Parquet files"), need("pyarrow.parquet", "Parquet files")
    check_pages(source)
    try:
        limits = {
            "thrift_string_size_limit": len(source.data),
            "thrift_container_size_limit": len(source.data),
        }
        schema = pq.ParquetFile(pa.BufferReader(source.data), **limits).schema_arrow
        if len(schema) > MOST_COLUMNS:
            raise source.error(f"has {len(schema)} columns, more than {MOST_COLUMNS}", "schema")
        if len(set(schema.names)) < len(schema):
            raise source.error("two columns have the same name", "schema")
        names = [field.name for field in schema if _readable(pa, field.type)]
        left_out = [name for name in schema.names if name not in set(names)]
        if len(find_coordinates(names)) < len(find_coordinates(schema.names)) or not find_coordinates(names):
            kinds = ", ".join(f"{f.name[:40]!r} is {str(f.type)[:40]}" for f in list(schema)[:8])
            raise source.error(f"has no columns x, y, z of numbers; {kinds or 'it has none'}", "schema")
        # Words stay numbers of a list of words until it is known how much room they take.
        words = [f.name for f in schema if f.name in set(names) and _is_text(pa, f.type)]
        file = pq.ParquetFile(pa.BufferReader(source.data), read_dictionary=words, **limits)
        # Details of a column's chunk are not asked for: pyarrow ends the process where they are damaged.
        rows = file.metadata.num_rows
        source.check_allowance(8 * rows * max(1, len(names)), f"a table of {rows} rows", "metadata")
        pieces: dict[str, list[NDArray[Any]]] = {name: [] for name in names}
        total = 0
        for batch in file.iter_batches(_AT_ONCE, columns=names, use_threads=False):
            for name in names:
                pieces[name].append(
                    _values(source, pa, batch.column(batch.schema.get_field_index(name)), name)
                )
                total += pieces[name][-1].nbytes
                source.check_allowance(total, "the table", f"column {name[:40]!r}")
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
    cloud = from_columns(source, table, "parquet", "schema")
    return replace(cloud, notes={"left_out": left_out}) if left_out else cloud


def _is_text(pa: Any, kind: Any) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


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


def _values(source: Source, pa: Any, column: Any, name: str) -> NDArray[Any]:
    if column.null_count and name.strip().lower() in ("x", "y", "z"):
        raise source.error(f"column {name!r} has {column.null_count} empty cells", "data")
    if pa.types.is_dictionary(column.type) and not _is_text(pa, column.type):
        column = column.dictionary_decode()
    if _is_text(pa, column.type):
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        words = ["" if word is None else word for word in column.dictionary.to_pylist()]
        widest = max(map(len, words), default=1) or 1
        source.check_allowance(
            4 * widest * (len(column) + len(words) + 1), f"text column {name[:40]!r}", "data"
        )
        rows = column.indices.fill_null(len(words)).to_numpy(zero_copy_only=False)
        return np.array([*words, ""], dtype=f"U{widest}")[rows]  # the last word is that of an empty cell
    if pa.types.is_boolean(column.type) and column.null_count:
        column = column.cast(pa.int8())  # which becomes NaN where a cell is empty
    return np.asarray(column.to_numpy(zero_copy_only=False))


def parquet_bytes(
    points: NDArray[np.float64],
    columns: dict[str, NDArray[Any]],
    metadata: dict[str, str] | None = None,
    descriptions: dict[str, str] | None = None,
) -> bytes:
    """One table, coordinates first; ``metadata`` goes into the schema, ``descriptions`` to their columns."""
    pa, pq = need("pyarrow", "Parquet files"), need("pyarrow.parquet", "Parquet files")
    names = [*coordinate_names(points.shape[1]), *columns]
    arrays = [pa.array(np.ascontiguousarray(c)) for c in [*points.T, *columns.values()]]
    texts = descriptions or {}
    fields = [
        pa.field(name, array.type, metadata={"description": texts[name]} if name in texts else None)
        for name, array in zip(names, arrays, strict=True)
    ]
    buffer = io.BytesIO()
    pq.write_table(pa.table(arrays, schema=pa.schema(fields, metadata=metadata)), buffer)
    return buffer.getvalue()
