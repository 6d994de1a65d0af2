"""Pages and pictures: where they may be written, and the mark that they carry."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from .._base.files import write_atomically
from ._ours import is_page, may_replace


def check_page(out: Path, source: str, option: str = "--out") -> Path:
    """The page's path, if it can be written and is not the source itself."""
    if out.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"{option} must end in .html, got {str(out)!r}")
    if out.is_dir() or not out.parent.is_dir():
        raise ValueError(
            f"cannot write {str(out)!r}: " + ("it is a folder" if out.is_dir() else "no such folder")
        )
    if out.exists() and Path(source).exists() and out.samefile(source):
        raise ValueError(f"{option} {str(out)!r} is the source itself")
    may_replace(out, is_page, "a page of this library")
    return out


def page_size(page: str | bytes) -> str:
    """``0.2 MB``; below a tenth of one, ``41 kB``."""
    size = len(page)
    return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.0f} kB"


def save_picture(figure: Any, path: Path, dpi: int) -> None:
    """A PNG with our mark, whole or not at all."""
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=dpi, format="png", metadata={"Software": "heatfield"})
    write_atomically(path, buffer.getvalue())
