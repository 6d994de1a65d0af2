"""Text read in pieces, so that a hostile file cannot blow up into millions of small objects."""

from __future__ import annotations

from collections.abc import Iterator

from ._source import Source

LONGEST_LINE = 2**20
_PIECE = 2**19


def line_blocks(source: Source, start: int = 0) -> Iterator[tuple[int, list[bytes]]]:
    """Pieces of about half a megabyte: the number of the first line (from 1), and the lines.

    Lines end in LF, CRLF or CR.
    """
    data = source.data
    number = 1 + _line_count(data, 0, start)
    if start == 0 and data.startswith(b"\xef\xbb\xbf"):
        start = 3
    while start < len(data):
        end = start + _PIECE
        if end < len(data):
            newline = data.rfind(b"\n", start, end)
            if newline < 0:  # one long line, or a file that ends its lines with CR alone
                newline = data.rfind(b"\r", start, end - 1)
            if newline < 0:
                newline = data.find(b"\n", end, start + LONGEST_LINE)
            if newline < 0 and len(data) - start > LONGEST_LINE:
                raise source.error(f"a line is longer than {LONGEST_LINE} bytes", f"line {number}")
            end = newline + 1 if newline >= 0 else len(data)
        block = data[start:end]
        zero = block.find(b"\0")
        if zero >= 0:
            raise source.error("not a text file (it holds a zero byte)", f"byte {start + zero}")
        lines = block.splitlines()
        yield number, lines
        number += len(lines)
        start = end


def content_lines(
    source: Source, comments: tuple[bytes, ...], start: int = 0
) -> Iterator[tuple[list[int], list[str]]]:
    """As ``line_blocks``, without blank lines and comments, each line with its number.

    Bytes outside ASCII become Latin-1 characters, so that a name in a comment does no harm;
    in a number they are reported as any other wrong character is.
    """
    for first, lines in line_blocks(source, start):
        stripped = [line.strip() for line in lines]
        kept = [line for line in stripped if line and not line.startswith(comments)]
        if len(kept) == len(lines):
            numbers = list(range(first, first + len(lines)))
        else:
            numbers = [i for i, line in enumerate(stripped, first) if line and not line.startswith(comments)]
        yield numbers, b"\n".join(kept).decode("latin-1").split("\n") if kept else []


def shown(text: str) -> str:
    """A piece of the file as it appears in an error."""
    return repr(text if len(text) <= 40 else text[:37] + "...")


def _line_count(data: bytes, start: int, end: int) -> int:
    return data.count(b"\n", start, end)
