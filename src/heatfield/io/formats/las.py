"""LAS, LAZ and COPC by laspy and lazrs, behind checks that do not trust the header."""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._base.optional import need
from ...options import Reading
from ..cloud import Cloud, Format, plain_type, starts_with
from ..limits import Source, damage

_AT_ONCE = 100_000
_POINT = 24  # bytes of a point in double precision
_COUNT_14 = 247  # where version 1.4 keeps its 64-bit count
_WIDTH = (20, 28, 26, 34, 57, 63, 30, 36, 38, 59, 67)  # bytes of a record by point format
_PROJECTION = "LASF_Projection"
_GEO_KEYS = 34735
_WKT = (2111, 2112)
_LONGEST = 65_535  # bytes of a record in front of the points
# Linear units of GeoTIFF keys and names of WKT, as they are shown.
_UNITS = {9001: "m", 9002: "ft", 9003: "us-ft"}
_NAMES = {"metre": "m", "meter": "m", "m": "m", "foot": "ft", "degree": "deg"} | {
    "foot_us": "us-ft",
    "us survey foot": "us-ft",
}
_KEPT_BITS = 0b1001  # the meaning of GPS times, and return numbers that were made up
# Points whose records are made together: in the cache of a processor, as every column passes over all.
# Packed ones by the threads of the compressor, in chunks of 50,000.
_WRITTEN, _PACKED = 1 << 13, 200_000
_STEPS = 2**31 - 2  # coordinates are stored as 32-bit counts of a step
_MOST_EXTRA = 2048
_VARIABLE = 2**32 - 1  # chunk size of chunks that differ
# Bytes of an item by its type, and layers of those that come in layers; None: as many as bytes.
_SIZES = {6: 20, 7: 8, 8: 6, 9: 29, 10: 30, 11: 6, 12: 8, 13: 29}
_LAYERS = {10: 9, 11: 1, 12: 2, 13: 1, 14: None}
_BYTES = (0, 14)
_NEWEST = {0: 2, 6: 2, 7: 2, 8: 2, 9: 1, 10: 4, 11: 4, 12: 4, 13: 4, 14: 4}  # version of an item
_POINTWISE, _LAYERED = 1, 3  # ways to compress: one stream, (2) chunks, chunks in layers


def read_las(source: Source, _: Reading) -> Cloud:
    """Coordinates as laspy scales them, to the last digit, and all other dimensions as columns."""
    count, width, start, packed = _check_header(source)
    laspy = need("laspy", "LAS and LAZ files")
    records = _kept_records(source)
    if packed:
        need("lazrs", "LAZ files")
        source.check_allowance(count * (width + _POINT), f"a file of {count} points", "header")
        source = _with_chunk_table(source, count, start)
        _check_compression(source, count, width, start)
    with damage(source, "damaged, or newer than this reader", f"after byte {start}"):
        # One thread: the parallel decoder allocates what a damaged chunk table claims.
        backend = laspy.LazBackend.Lazrs if packed else None
        with laspy.open(io.BytesIO(source.data), laz_backend=backend, read_evlrs=False) as reader:
            scales, offsets = np.array(reader.header.scales), np.array(reader.header.offsets)
            encoding = reader.header.global_encoding.value
            extra = {d.name: d.description for d in reader.header.point_format.extra_dimensions}
            names = [n for n in reader.header.point_format.dimension_names if n not in ("X", "Y", "Z")]
            points = np.empty((count, 3))
            columns: dict[str, NDArray[Any]] = {}
            done = 0
            # Piece by piece: laspy keeps whole records, and the columns would double them.
            for piece in reader.chunk_iterator(_AT_ONCE):
                rows = slice(done, done + len(piece))
                for axis, name in enumerate("xyz"):
                    points[rows, axis] = piece[name]
                for name in names:
                    values = np.asarray(piece[name])
                    if name not in columns:
                        columns[name] = np.empty((count, *values.shape[1:]), values.dtype)
                    columns[name][rows] = values
                done += len(piece)
    if done != count:
        raise source.error(f"holds {done} points where its header claims {count}", f"after byte {start}")
    flat: dict[str, NDArray[Any]] = {}
    for name, values in columns.items() if done else ():
        flat |= {name: values} if values.ndim == 1 else {f"{name}_{i}": v for i, v in enumerate(values.T)}
    notes = {
        "scales": scales,
        "offsets": offsets,
        "point_format": source.data[104] & 0x3F,
        "global_encoding": int(encoding),
        "vlrs": records,
        "descriptions": {name: text for name, text in extra.items() if text},
    }
    return Cloud(points, flat, "las", notes=notes)


def _check_header(source: Source) -> tuple[int, int, int, bool]:
    """Count, bytes per point, start of the points, and whether they are compressed."""
    data = source.data
    if len(data) < 227:
        raise source.error("ends inside the header, which takes 227 bytes or more", f"byte {len(data)}")
    minor = data[25]
    if data[24] != 1 or minor > 4:
        newer = ", newer than this reader" if (data[24], minor) > (1, 4) and data[24] < 10 else ""
        raise source.error(f"has LAS version {data[24]}.{minor}{newer}; 1.0 to 1.4 can be read", "byte 24")
    head, start, vlrs, kind, width, count = struct.unpack_from("<HIIBHI", data, 94)
    if minor == 4:
        if head < 375 or len(data) < 375:
            raise source.error(
                "ends inside the header, which takes 375 bytes in version 1.4", f"byte {len(data)}"
            )
        (count,) = struct.unpack_from("<Q", data, _COUNT_14)
    packed, point_format = bool(kind & 0xC0), kind & 0x3F
    if point_format >= len(_WIDTH):
        raise source.error(f"has point format {point_format}, which does not exist", "byte 104")
    if width < _WIDTH[point_format]:
        raise source.error(
            f"gives {width} bytes to a point; format {point_format} needs {_WIDTH[point_format]}", "byte 105"
        )
    if not 227 <= head <= start <= len(data):
        raise source.error(f"says its points start at byte {start}, outside of the file", "byte 96")
    if vlrs * 54 > start - head:
        raise source.error(f"claims {vlrs} variable records, which do not fit", "byte 100")
    if not packed:
        source.check_count(count, width, start, "points", "header")
    scales = struct.unpack_from("<6d", data, 131)
    if not np.isfinite(scales).all():
        raise source.error("scales and offsets must be finite", "byte 131")
    return count, width, start, packed


class Record(NamedTuple):
    """One record as it stands in the file.

    Guide: ``heatfield docs guide/formats``.

    Attributes
    ----------
    user : str
        Whose record it is, such as ``"LASF_Projection"``.
    number : int
    description : str
    data : bytes

    Examples
    --------
    >>> from heatfield.io import Record
    >>> Record("me", 1, "a note", b"text").data
    b'text'
    """

    user: str
    number: int
    description: str
    data: bytes


def _kept_records(source: Source) -> list[Record]:
    """All records but those that belong to the way the points were stored.

    Behind the points (1.4) only the coordinate system is looked for.
    """
    data = source.data
    (start,) = struct.unpack_from("<I", data, 96)
    records = [
        _record(data, body - 54, number, 22, body, length) for number, body, length in _places(data, start)
    ]
    if data[25] >= 4:
        position, count = struct.unpack_from("<QI", data, 235)
        for _ in range(min(count, 1000)):
            if position + 60 > len(data):
                break
            number, length = struct.unpack_from("<HQ", data, position + 18)
            body = position + 60
            if body + length > len(data):
                break
            if (
                length <= _LONGEST
                and data[position + 2 : position + 18].rstrip(b"\0") == _PROJECTION.encode()
            ):
                records.append(_record(data, position, number, 28, body, length))
            position = body + length
    return [record for record in records if not _belongs_to_storage(record)]


def _places(data: bytes, start: int) -> Iterator[tuple[int, int, int]]:
    """Number, first byte and length of each record in front of the points, as far as they are sound."""
    position, count = struct.unpack_from("<H", data, 94)[0], struct.unpack_from("<I", data, 100)[0]
    for _ in range(count):
        if position + 54 > start:
            return
        number, length = struct.unpack_from("<HH", data, position + 18)
        if position + 54 + length > start:
            return
        yield number, position + 54, length
        position += 54 + length


def _record(data: bytes, position: int, number: int, text: int, body: int, length: int) -> Record:
    user = data[position + 2 : position + 18].split(b"\0")[0].decode("latin-1")
    description = data[position + text : position + text + 32].split(b"\0")[0].decode("latin-1")
    return Record(user, number, description, bytes(data[body : body + length]))


def _belongs_to_storage(record: Record) -> bool:
    if record.user == "LASF_Spec":  # extra bytes, superseded records, waveforms
        return record.number in (4, 7) or 99 < record.number < 355
    return record.user in ("laszip encoded", "copc", "lascompatible")


def _is_wkt(records: list[Record]) -> bool:
    """Whether the coordinate system is given as WKT and not as GeoTIFF keys."""
    kinds = {r.number for r in records if r.user == _PROJECTION}
    return bool(kinds & set(_WKT)) and _GEO_KEYS not in kinds


def length_unit(records: list[Record]) -> str:
    """The unit of the coordinates by the coordinate system: "m", "ft", ...; "" where it is not told.

    Guide: ``heatfield docs guide/formats``.

    Parameters
    ----------
    records : list of Record
        ``cloud.notes["vlrs"]`` of a LAS file.

    Returns
    -------
    unit : str

    Examples
    --------
    >>> from heatfield.io import Record, length_unit
    >>> wkt = b'PROJCS["here",UNIT["metre",1]]'
    >>> length_unit([Record("LASF_Projection", 2112, "", wkt)]), length_unit([])
    ('m', '')
    """
    for record in records:
        if record.user != _PROJECTION:
            continue
        if record.number in _WKT:
            text = record.data.split(b"\0")[0].decode("utf-8", "replace")
            horizontal = re.split(r"VERT_?CS|VERTCRS", text)[0]
            found = re.findall(r'(?:LENGTH|ANGLE)?UNIT\["([^"]+)"', horizontal)
            if found:
                return _NAMES.get(found[-1].lower(), "")
        if record.number == _GEO_KEYS and len(record.data) >= 8:
            keys = struct.unpack_from(f"<{len(record.data) // 2}H", record.data)
            table = {keys[i]: keys[i + 3] for i in range(4, len(keys) - 3, 4) if keys[i + 1] == 0}
            if 3076 in table:
                return _UNITS.get(table[3076], "")
            if table.get(1024) == 1:
                return "m"  # projected, and no other unit is named
    return ""


# Sizes inside compressed points, which the decoder would believe and allocate. A few bytes can claim
# gigabytes in three places: the items of the record "laszip encoded" (the decoder keeps some 12 kB of
# statistics for every extra byte), the chunk table, and the layer sizes at the start of every chunk of
# point formats 6 to 10.


def _with_chunk_table(source: Source, count: int, start: int) -> Source:
    """The same points with a chunk table that lazrs understands.

    An early LASzip wrote one stream without chunks, and some write 0 where chunks differ in size.

    One stream is one chunk of all points: its place goes before it, a table of one entry behind it.
    """
    place, record = _laszip(source, start)
    (way,) = struct.unpack_from("<H", record)
    if way > _LAYERED:
        raise source.error(
            f"is compressed in way {way}, which is newer than this reader", "record 'laszip encoded'"
        )
    if way != _POINTWISE and struct.unpack_from("<I", record, 12)[0] == 0:
        # COPC: chunks that differ in size
        place += 12
        data = source.data[:place] + struct.pack("<I", _VARIABLE) + source.data[place + 4 :]
        return replace(source, data=data)
    if way != _POINTWISE or not 0 < count < _VARIABLE:
        return source
    lazrs = need("lazrs", "LAZ files")
    head = bytearray(source.data[:start])
    struct.pack_into("<H", head, place, 2)
    struct.pack_into("<I", head, place + 12, count)
    stream = source.data[start:]
    out = io.BytesIO()
    with damage(source, "the record 'laszip encoded' is damaged", f"byte {place}"):
        lazrs.write_chunk_table(
            out, [(count, len(stream))], lazrs.LazVlr(bytes(head[place : place + len(record)]))
        )
    table = struct.pack("<q", start + 8 + len(stream))
    return replace(source, data=bytes(head) + table + stream + out.getvalue())


def _check_compression(source: Source, count: int, width: int, start: int) -> None:
    """Compare every size with the bytes that are there; ``start`` is where the points begin."""
    chunk_size, items, record = _items(source, start)
    for kind, size, version in items:
        if version > _NEWEST.get(kind, version) or kind > max(_NEWEST):
            raise source.error(
                f"uses version {version} of item {kind}, which is newer than this reader",
                "record 'laszip encoded'",
            )
        if (
            _SIZES.get(kind, size) != size
            or (kind not in _SIZES and kind not in _BYTES)
            or size > _MOST_EXTRA
        ):
            raise source.error(f"lists an item of type {kind} with {size} bytes", "record 'laszip encoded'")
    if sum(size for _, size, _ in items) != width:
        raise source.error(
            f"gives {width} bytes to a point, which its compression does not agree with", "byte 105"
        )
    if count == 0:
        return
    table, chunks = _table(source, start)
    if not 0 < chunks <= count + 1:
        raise source.error(f"claims {chunks} chunks for {count} points", f"byte {table + 4}")
    if chunk_size == _VARIABLE:
        chunks = _filled_chunks(source, count, start, record, table)
    elif chunk_size == 0 or chunks != -(-count // chunk_size):
        raise source.error(f"claims {chunks} chunks of {chunk_size} for {count} points", f"byte {table + 4}")
    if all(kind not in _LAYERS for kind, _, _ in items):
        return
    if any(kind not in _LAYERS for kind, _, _ in items):
        raise source.error("mixes items with and without layers", "record 'laszip encoded'")
    _check_layers(
        source, chunks, width, sum(_LAYERS[kind] or size for kind, size, _ in items), start + 8, table
    )


def _filled_chunks(source: Source, count: int, start: int, record: bytes, table: int) -> int:
    """How many chunks of their own sizes (COPC) hold points; empty ones may follow."""
    lazrs = need("lazrs", "LAZ files")
    stream = io.BytesIO(source.data)
    stream.seek(start)
    with damage(source, "the chunk table is damaged", f"byte {table}"):
        sizes = [points for points, _ in lazrs.read_chunk_table(stream, lazrs.LazVlr(record))]
    filled = sum(points > 0 for points in sizes)
    if sum(sizes) != count or 0 in sizes[:filled]:
        raise source.error(f"its chunks hold {sum(sizes)} points, its header says {count}", f"byte {table}")
    return filled


def _check_layers(source: Source, chunks: int, width: int, layers: int, position: int, table: int) -> None:
    """Each chunk: one plain point, its number of points, then the sizes of its layers, then these."""
    for _ in range(chunks):
        sizes_at = position + width + 4
        if sizes_at + 4 * layers > table:
            raise source.error("a compressed chunk runs past its table", f"byte {position}")
        total = sum(struct.unpack_from(f"<{layers}I", source.data, sizes_at))
        position = sizes_at + 4 * layers + total
        if position > table:
            raise source.error(f"a compressed chunk claims {total} bytes, past its table", f"byte {sizes_at}")


def _table(source: Source, start: int) -> tuple[int, int]:
    """Where the chunk table is, and how many chunks it claims."""
    data = source.data
    source.check_count(1, 8, start, "chunk table", f"byte {start}")
    (table,) = struct.unpack_from("<q", data, start)
    if table == -1:  # written by a stream that could not go back: the place stands at the end
        (table,) = struct.unpack_from("<q", data, len(data) - 8)
    if not start + 8 <= table <= len(data) - 8:
        raise source.error(f"says its chunk table is at byte {table}, outside of the file", f"byte {start}")
    return table, struct.unpack_from("<II", data, table)[1]


def _items(source: Source, start: int) -> tuple[int, list[tuple[int, int, int]], bytes]:
    """Chunk size; type, bytes and version of each item; and the whole record "laszip encoded"."""
    _, record = _laszip(source, start)
    (chunk_size,) = struct.unpack_from("<I", record, 12)
    (items,) = struct.unpack_from("<H", record, 32)
    entries = [struct.unpack_from("<HHH", record, 34 + 6 * i) for i in range(items)]
    return chunk_size, [(int(a), int(b), int(c)) for a, b, c in entries], record


def _laszip(source: Source, start: int) -> tuple[int, bytes]:
    """Where the record "laszip encoded" stands, and its content."""
    data, found = source.data, []
    for number, body, length in _places(data, start):
        if data[body - 52 : body - 36].split(b"\0")[0] == b"laszip encoded" and number == 22204:
            if length < 34 or 34 + 6 * struct.unpack_from("<H", data, body + 32)[0] > length:
                break
            found.append((body, bytes(data[body : body + length])))
    if len(found) != 1:
        raise source.error("is compressed but does not say how (one record 'laszip encoded')", "header")
    return found[0]


def write_las(
    points: NDArray[np.float64],
    columns: dict[str, NDArray[Any]],
    *,
    suffix: str = ".las",
    notes: dict[str, Any],
    descriptions: dict[str, str],
) -> bytes:
    """LAS 1.4; point format 6, or 7 where there are colours, or that of the file the points came from.

    ``notes`` of a cloud that was read from LAS give scale and offset back, so that its
    coordinates stay the same to the last digit, and the coordinate reference system. Otherwise the step
    is the coarsest power of ten that holds every coordinate, or the finest that the extent allows.
    ``descriptions`` go with extra dimensions, which hold 32 bytes.
    """
    laspy = need("laspy", "LAS and LAZ files")
    compress = suffix == ".laz"
    if compress:
        need("lazrs", "LAZ files")
    if points.shape[1] != 3:
        raise ValueError(f"LAS holds points in 3 dimensions, got {points.shape[1]}")
    scales, offsets = (notes["scales"], notes["offsets"]) if "scales" in notes else _grid(points)
    header = _header(laspy, columns, notes.get("point_format"))
    header.scales, header.offsets = scales, offsets
    records = notes.get("vlrs", [])
    for record in records:
        header.vlrs.append(laspy.VLR(record.user, record.number, record.description, record.data))
    header.global_encoding.value = int(notes.get("global_encoding", 0)) & _KEPT_BITS
    bare = all(record.user != _PROJECTION for record in records)
    header.global_encoding.wkt = _is_wkt(records) or (bare and header.point_format.id >= 6)
    known = set(header.point_format.dimension_names) - {"X", "Y", "Z"}
    texts = {**notes.get("descriptions", {}), **descriptions}
    for name, column in columns.items():
        if name in known and _fits(header.point_format.dimension_by_name(name), column):
            continue
        if name in known or name.lower() in ("x", "y", "z"):
            raise ValueError(
                f"LAS gives {name!r} a meaning and a type that this column ({column.dtype}) does not fit"
            )
        if column.dtype.kind not in "fiub" or len(name.encode()) > 31 or not name:
            raise ValueError(
                f"LAS cannot hold column {name!r} of {column.dtype}: numbers, and a name of at most 31 bytes"
            )
        text = texts.get(name, "").encode("ascii", "replace")[:32].decode()
        header.add_extra_dim(laspy.ExtraBytesParams(name=name, type=plain_type(column), description=text))
    counts = np.rint((points - offsets) / scales)
    if len(counts) and np.abs(counts).max() > _STEPS:
        raise ValueError("the extent of these points does not fit LAS at the given scale")
    header.creation_date = None  # the same points give the same bytes on any day
    buffer = io.BytesIO()
    with laspy.LasWriter(buffer, header, do_compress=compress, closefd=False) as writer:
        step = _PACKED if compress else _WRITTEN
        for first in range(0, len(points), step):
            rows = slice(first, first + step)
            record = laspy.ScaleAwarePointRecord.zeros(len(points[rows]), header=header)
            record.X, record.Y, record.Z = (counts[rows, i].astype(np.int32) for i in range(3))
            for name, column in columns.items():
                record[name] = column[rows]
            writer.write_points(record)
    return buffer.getvalue()


def _header(laspy: Any, columns: dict[str, NDArray[Any]], source: int | None) -> Any:
    """The header of the source's point format where that has a place for the columns, else of format 6 or 7.

    Formats below 6 keep a coordinate system in GeoTIFF keys, which those from 6 on may not have.
    """
    coloured = "red" in columns
    formats = [7 if coloured else 6]
    if source is not None:
        plain = {4: 1, 5: 3, 9: 6, 10: 8}.get(source, source)  # without waveforms
        plain = {0: 2, 1: 3, 6: 7}.get(plain, plain) if coloured else plain
        plain = {0: 1, 2: 3}.get(plain, plain) if "gps_time" in columns else plain
        formats.insert(0, {6: 8, 7: 8}.get(plain, plain) if "nir" in columns else plain)
    for number in formats:
        header = laspy.LasHeader(version="1.4", point_format=number)
        known = {d.name: d for d in header.point_format.dimensions}
        if all(_fits(known[name], column) for name, column in columns.items() if name in known):
            break
    return header


def _fits(dimension: Any, column: NDArray[Any]) -> bool:
    """Whether a standard dimension holds these values."""
    if column.dtype.kind not in "iub" or dimension.kind.name == "FloatingPoint":
        return (
            column.dtype.kind in "fiub"
            and dimension.kind.name == "FloatingPoint"
            and dimension.num_bits == 64
        )
    low, high = int(dimension.min), int(dimension.max)
    return not len(column) or (int(column.min()) >= low and int(column.max()) <= high)


def _grid(points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    scales, offsets = np.full(3, 1e-3), np.zeros(3)
    for axis in range(3 if len(points) else 0):
        x = points[:, axis]
        offsets[axis] = np.floor(x.min())
        extent = max(float(x.max() - offsets[axis]), 1e-6)
        finest = int(np.floor(np.log10(_STEPS / extent)))
        for digits in range(min(0, finest), finest + 1):
            scales[axis] = float(f"1e{-digits}")
            steps = np.rint((x - offsets[axis]) / scales[axis])
            near = np.abs(steps * scales[axis] + offsets[axis] - x)
            if (near <= 4 * np.spacing(np.abs(x).max())).all():  # nor is a step of 0.001 exact
                break
    return scales, offsets


def _sample() -> bytes:
    points = np.arange(27.0).reshape(9, 3)
    return write_las(points, {"weight": np.linspace(0, 1, 9)}, suffix=".laz", notes={}, descriptions={})


FORMAT = Format(
    name="las",
    suffixes=(".las", ".laz"),
    magic=starts_with(b"LASF"),
    read=read_las,
    write=write_las,
    writes=(".las", ".laz"),
    sample=_sample,
    title="LAS, LAZ, COPC",
    forms="1.0 to 1.4, formats 0 to 10, LAZ in chunks or one stream",
    written="1.4, the source's format, or 6 or 7",
    kept="all dimensions, extra ones too",
    needs="`heatfield[io]`",
)
