"""HTML pages that hold everything in one file and load nothing else."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files
from typing import Any


def assemble(package: str, page: str, scripts: tuple[str, ...], style: str, fields: dict[str, str]) -> str:
    """Fill the template ``page`` of a package with its scripts, its style and the given fields.

    The page's policy names script and style by their hash: nothing else runs, and nothing is loaded.
    """
    folder = files(package) / "page"

    def text(name: str) -> str:
        return (folder / name).read_text(encoding="utf-8")

    look = text(style)
    bodies = "\n".join(text(script) for script in scripts)
    program = f'"use strict";\n(() => {{\n{bodies}\n}})();\n'
    policy = (
        f"default-src 'none'; script-src {_hash(program)}; style-src {_hash(look)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    every = {"POLICY": policy, "STYLE": look, "SCRIPT": program, **fields}
    pieces = text(page).split("@@")  # text, field, text, field, ...: no field is searched for another
    return "".join(every[piece] if k % 2 else piece for k, piece in enumerate(pieces))


def safe_json(value: Any) -> str:
    """JSON that no text in it can end: no ``<``, no ``&``, nothing but ASCII."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
