"""Parquet, Feather and Arrow by pyarrow, batch by batch, behind a check of all sizes, packed ones too."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.optional import need
from ...options import Reading
from ..cloud import Cloud, Format, coordinate_names, from_columns, starts_with
from ..limits import MOST_COLUMNS, Source, damage

_AT_ONCE = 65_536
_LONGEST_FOOTER = 2 * 2**20
_MOST_PAGES = 100_000
_CHUNK = 1024  # bytes that pyarrow keeps for the details of a column's chunk
_DEEPEST = 16
_STOP, _TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 0, 1, 2, 3, 7, 8, 9, 10, 11, 12


def read_parquet(source: Source, reading: Reading) -> Cloud:
    """Columns x, y, z (or x0, x1, ...) are the coordinates; numbers, booleans and text survive."""
    pa, pq = need("pyarrow", "Parquet files"), need("pyarrow.parquet", "Parquet files")
    _check_pages(source)
    limits = {
        "thrift_string_size_limit": len(source.data),
        "thrift_container_size_limit": len(source.data),
    }
    with damage(source):
        schema = pq.ParquetFile(pa.BufferReader(source.data), **limits).schema_arrow
        names = _names(source, pa, schema)
        # Words stay numbers of a list of words until it is known how much memory they take.
        words = [f.name for f in schema if f.name in set(names) and _is_text(pa, f.type)]
        file = pq.ParquetFile(pa.BufferReader(source.data), read_dictionary=words, **limits)
        # Details of a column's chunk are not asked for: pyarrow ends the process where they are damaged.
        rows = file.metadata.num_rows
        source.check_allowance(8 * rows * max(1, len(names)), f"a table of {rows} rows", "metadata")
        batches = file.iter_batches(_AT_ONCE, columns=names, use_threads=False)
        return _table(source, reading, pa, schema, names, batches, "parquet")


def read_arrow(source: Source, reading: Reading) -> Cloud:
    """The same of Arrow's own formats: a file (Feather), whose footer is not needed, or a stream."""
    pa, ipc = need("pyarrow", "Feather and Arrow files"), need("pyarrow.ipc", "Feather and Arrow files")
    start = 8 if source.data.startswith(_FILE) else 0
    if start and not source.data.endswith(_FILE[:6]):
        raise source.error("damaged: it does not end with a footer", f"byte {len(source.data)}")
    with damage(source):
        _check_messages(source, start)
        reader = ipc.open_stream(pa.BufferReader(memoryview(source.data)[start:]))
        names = _names(source, pa, reader.schema)
        return _table(source, reading, pa, reader.schema, names, map(_validated, reader), "arrow")


def _validated(batch: Any) -> Any:
    """A batch whose buffers hold what they claim."""
    batch.validate(full=True)
    return batch


def _names(source: Source, pa: Any, schema: Any) -> list[str]:
    """The columns that can be read, coordinates among them."""
    if len(schema) > MOST_COLUMNS:
        raise source.error(f"has {len(schema)} columns, more than {MOST_COLUMNS}", "schema")
    if len(set(schema.names)) < len(schema):
        raise source.error("two columns have the same name", "schema")
    names = [field.name for field in schema if _readable(pa, field.type)]
    if not source.coordinates(schema.names):
        raise source.no_coordinates(schema.names, "schema")
    if len(source.coordinates(names)) < len(source.coordinates(schema.names)):
        kinds = ", ".join(f"{f.name[:40]!r} is {str(f.type)[:40]}" for f in list(schema)[:8])
        raise source.error(f"has no columns x, y, z of numbers; {kinds or 'it has none'}", "schema")
    return names


def _table(
    source: Source,
    reading: Reading,
    pa: Any,
    schema: Any,
    names: list[str],
    batches: Iterable[Any],
    kind: str,
) -> Cloud:
    """The cloud in some columns of batches, under the limit of the file."""
    strict = {names[i] for i in source.coordinates(names)} if reading.invalid != "drop" else set()
    pieces: dict[str, list[NDArray[Any]]] = {name: [] for name in names}
    total = 0
    for batch in batches:
        for name in names:
            column = batch.column(batch.schema.get_field_index(name))
            if column.null_count and name in strict:
                empty = f"column {name!r} has {column.null_count} empty cells"
                raise source.error(f"{empty}; pass invalid='drop' to leave them out", "data")
            pieces[name].append(_values(source, pa, column, name))
            total += pieces[name][-1].nbytes
            source.check_allowance(total, "the table", f"column {name[:40]!r}")
    table = {
        name: np.concatenate(parts) if parts else np.empty(0, _empty_type(pa, schema.field(name).type))
        for name, parts in pieces.items()
    }
    cloud = from_columns(source, table, kind, "schema")
    left_out = [name for name in schema.names if name not in set(names)]
    return replace(cloud, notes={"left_out": left_out}) if left_out else cloud


def _is_text(pa: Any, kind: Any) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _readable(pa: Any, kind: Any) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean)
    return _is_text(pa, kind) or any(test(kind) for test in tests)


def _empty_type(pa: Any, kind: Any) -> Any:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return "U1" if _is_text(pa, kind) else kind.to_pandas_dtype()


def _values(source: Source, pa: Any, column: Any, name: str) -> NDArray[Any]:
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


def write_parquet(
    points: NDArray[np.float64], columns: dict[str, NDArray[Any]], *, descriptions: dict[str, str], **_: Any
) -> bytes:
    """One table, coordinates first; ``descriptions`` go to their columns."""
    pa, pq = need("pyarrow", "Parquet files"), need("pyarrow.parquet", "Parquet files")
    names = [*coordinate_names(points.shape[1]), *columns]
    arrays = [pa.array(np.ascontiguousarray(c)) for c in [*points.T, *columns.values()]]
    texts = descriptions
    fields = [
        pa.field(name, array.type, metadata={"description": texts[name]} if name in texts else None)
        for name, array in zip(names, arrays, strict=True)
    ]
    buffer = io.BytesIO()
    pq.write_table(pa.table(arrays, schema=pa.schema(fields)), buffer)
    return buffer.getvalue()


# Sizes inside the file, which pyarrow would believe and allocate. A few bytes can claim gigabytes in two
# places: the lists of the footer (an empty entry is one byte there, a kilobyte in memory), and the unpacked
# size of every page. Both are Thrift's compact protocol.


class _UnsoundError(Exception):
    """Not Thrift."""


class _Compact:
    """Thrift's compact protocol, read as plain dictionaries by number of the field."""

    def __init__(self, data: bytes, position: int, end: int) -> None:
        self.data, self.position, self.end = data, position, end

    def byte(self) -> int:
        if self.position >= self.end:
            raise _UnsoundError
        self.position += 1
        return self.data[self.position - 1]

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 63:
                raise _UnsoundError

    def zigzag(self) -> int:
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def value(self, kind: int, depth: int) -> Any:
        if kind in (_TRUE, _FALSE, _BYTE):
            return self.byte()
        if kind in (4, 5, 6):
            return self.zigzag()
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind in (_LIST, _SET):
            return self.list(depth + 1)
        if kind in (_BINARY, _DOUBLE):
            length = self.varint() if kind == _BINARY else 8
            if length > self.end - self.position:
                raise _UnsoundError
            self.position += length
            return length
        raise _UnsoundError

    def struct(self, depth: int = 0) -> dict[int, Any]:
        if depth > _DEEPEST:
            raise _UnsoundError
        fields: dict[int, Any] = {}
        number = 0
        while (head := self.byte()) != _STOP:
            number = number + (head >> 4) if head >> 4 else self.zigzag()
            kind = head & 15
            fields[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self.value(kind, depth)
        return fields

    def list(self, depth: int) -> list[Any]:
        if depth > _DEEPEST:
            raise _UnsoundError
        head = self.byte()
        count = head >> 4 if head >> 4 < 15 else self.varint()
        if count > self.end - self.position:
            raise _UnsoundError
        return [self.value(head & 15, depth) for _ in range(count)]


def _check_pages(source: Source) -> None:
    """Add up what the pages unpack to; a ReadError where that is too much or makes no sense."""
    data = source.data
    if len(data) < 12 or data[-4:] != b"PAR1":
        raise source.error("damaged: it does not end with a footer", f"byte {len(data)}")
    (length,) = struct.unpack_from("<I", data, len(data) - 8)
    start = len(data) - 8 - length
    if start < 4:
        raise source.error(
            f"claims a footer of {length} bytes, longer than the file", f"byte {len(data) - 8}"
        )
    if length > max(_LONGEST_FOOTER, len(data) // 10):
        raise source.error(f"has a footer of {length} bytes, out of proportion", f"byte {start}")
    try:
        footer = _Compact(data, start, len(data) - 8).struct()
        groups = footer.get(4, [])
        chunks = [chunk for group in groups for chunk in group.get(1, [])]
        if len(footer.get(2, [])) > 8 * MOST_COLUMNS:
            raise source.error(f"has more than {MOST_COLUMNS} columns", "schema")
        source.check_allowance(_CHUNK * len(chunks), f"a footer of {len(chunks)} chunks", "footer")
        total = pages = 0
        for chunk in chunks:
            details = chunk.get(3)
            if not isinstance(details, dict) or 1 in chunk:
                raise source.error("keeps a column in another file or nowhere", "footer")
            if details[5] <= 0:
                continue
            position = min(details[9], details.get(11) or details[9])
            end = position + details[7]
            if not 4 <= position <= end <= start:
                raise source.error("says a column lies outside of the file", "footer")
            left = details[5]
            while left > 0 and position < end:
                page = _Compact(data, position, end)
                header = page.struct()
                total += max(0, header[2])
                pages += 1
                source.check_allowance(total, "all pages together", f"byte {position}")
                if pages > _MOST_PAGES + len(data) // 1000:
                    raise source.error(f"has more than {pages - 1} pages", f"byte {position}")
                if header[3] < 0:
                    raise _UnsoundError
                left -= max((header[n].get(1, 0) for n in (5, 8) if n in header), default=0)
                position = page.position + header[3]
    except (_UnsoundError, KeyError, TypeError, AttributeError):
        raise source.error("damaged: its footer or a page's header makes no sense") from None


# Messages of Arrow: FlatBuffers, in which every field of a table is found by an offset from it.


_FILE, _MESSAGE = b"ARROW1\0\0", b"\xff\xff\xff\xff"
_DICTIONARY, _BATCH = 2, 3  # kinds of messages with a body


class _Flat:
    """A table of FlatBuffers."""

    def __init__(self, data: bytes, at: int) -> None:
        self.data, self.at = data, at
        self.fields = at - struct.unpack_from("<i", data, at)[0]

    def place(self, number: int) -> int:
        """Where a field stands; 0 where it is left out."""
        (size,) = struct.unpack_from("<H", self.data, self.fields)
        slot = 4 + 2 * number
        step = struct.unpack_from("<H", self.data, self.fields + slot)[0] if slot < size else 0
        return self.at + step if step else 0

    def number(self, number: int, code: str) -> int:
        """A field that is a number."""
        place = self.place(number)
        return int(struct.unpack_from("<" + code, self.data, place)[0]) if place else 0

    def below(self, number: int) -> int:
        """Where the table or vector begins that a field refers to; 0 where there is none."""
        place = self.place(number)
        return place + int(struct.unpack_from("<I", self.data, place)[0]) if place else 0


def _check_messages(source: Source, start: int) -> None:
    """Add up what the batches unpack to; a ReadError where that is too much or makes no sense."""
    data, at, total = source.data, start, 0
    while at + 8 <= len(data):
        if data[at : at + 4] == _MESSAGE:
            at += 4
        (size,) = struct.unpack_from("<i", data, at)
        at += 4
        if size == 0:
            break
        source.check_count(size, 1, at, "bytes of a message", f"byte {at}")
        message = _Flat(data, at + struct.unpack_from("<I", data, at)[0])
        body, length, kind = at + size, message.number(3, "q"), message.number(1, "B")
        source.check_count(length, 1, body, "bytes of a batch", f"byte {at}")
        if kind in (_DICTIONARY, _BATCH):
            batch = _Flat(data, message.below(2))
            if kind == _DICTIONARY:
                batch = _Flat(data, batch.below(1))
            total += _batch_size(source, batch, body, length)
            source.check_allowance(total, "all batches together", f"byte {at}")
        at = body + length


def _batch_size(source: Source, batch: _Flat, body: int, length: int) -> int:
    """Bytes that a batch takes: its columns as numbers, and its buffers where they are packed."""
    data, nodes, buffers = source.data, batch.below(1), batch.below(2)
    count = struct.unpack_from("<I", data, nodes)[0] if nodes else 0
    size = 8 * max(0, batch.number(0, "q")) * min(count, MOST_COLUMNS)
    if not batch.below(3) or not buffers:
        return size
    (count,) = struct.unpack_from("<I", data, buffers)
    source.check_count(count, 16, buffers, "buffers", f"byte {buffers}")
    for offset, packed in np.frombuffer(data, "<i8", 2 * count, buffers + 4).reshape(-1, 2).tolist():
        if packed >= 8 and 0 <= offset <= length - 8:
            size += max(0, struct.unpack_from("<q", data, body + offset)[0])
    return size


def _arrow_sample() -> bytes:
    pa = need("pyarrow", "Feather and Arrow files")
    ipc = need("pyarrow.ipc", "Feather and Arrow files")
    points = np.arange(27.0).reshape(9, 3) / 4
    columns = {name: points[:, i] for i, name in enumerate("xyz")} | {"word": pa.array(list("abcdefghi"))}
    table = pa.table(columns | {"kind": pa.array(list("aabbaabba")).dictionary_encode()})
    out = io.BytesIO()
    with ipc.new_file(out, table.schema, options=ipc.IpcWriteOptions(compression="zstd")) as file:
        file.write_table(table)
    return out.getvalue()


def _is_arrow(source: Source) -> bool:
    data = source.data
    if data.startswith(_FILE):
        return True
    return (
        data.startswith(_MESSAGE) and len(data) > 8 and 0 < struct.unpack_from("<i", data, 4)[0] < len(data)
    )


def _sample() -> bytes:
    points = np.arange(27.0).reshape(9, 3) / 4
    columns = {"weight": np.linspace(0, 1, 9), "word": np.array(list("abcdefghi"))}
    return write_parquet(points, columns, descriptions={})


PARQUET = Format(
    name="parquet",
    suffixes=(".parquet", ".pq"),
    magic=starts_with(b"PAR1"),
    read=read_parquet,
    write=write_parquet,
    writes=(".parquet",),
    sample=_sample,
    title="Parquet",
    forms="flat columns; others are left out",
    written="yes",
    kept="other columns",
    needs="`heatfield[io]`",
)
ARROW = Format(
    name="arrow",
    suffixes=(".feather", ".arrow", ".arrows"),
    magic=_is_arrow,
    read=read_arrow,
    sample=_arrow_sample,
    title="Feather, Arrow",
    forms="files (Feather version 2) and streams; flat columns",
    kept="other columns",
    needs="`heatfield[io]`",
)
