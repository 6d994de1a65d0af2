"""Where a page may be written."""

from __future__ import annotations

from pathlib import Path

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
