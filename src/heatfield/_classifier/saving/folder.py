"""A model as a folder of two files: numbers as safetensors, everything else as JSON. Loading runs no code.

The JSON holds the checksum of the numbers and one of itself, so that a file that was changed or
belongs to another model is noticed. Checksums protect against accidents, not against intent: whoever can
write the folder can also write the checksums. What is loaded is therefore checked in shape and type too.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from ... import __version__
from ..._base.arrays import open_regular
from ..._base.files import write_folder_atomically
from ..._features.layout import SCHEMA

T = TypeVar("T")

# What a file that was changed with care can make of the code that rebuilds a model.
_WRONG = (ValueError, TypeError, AttributeError, LookupError, ArithmeticError, RuntimeError, MemoryError)
_FORMAT, _VERSION = "heatfield-model", 1
HFS = "HFSClassifier"
FACTS, TENSORS = "model.json", "model.safetensors"


def check_place(folder: str | Path) -> Path:
    """A path to which a model can be written, or a ValueError that says why not."""
    target = Path(folder)
    if not target.name or target.name == "..":
        raise ValueError(f"cannot save to {str(folder)!r}: give the name of a new folder")
    if target.exists() and not (target.is_dir() and _is_ours(target)):
        raise ValueError(f"cannot save to {str(target)!r}: it exists and is not a folder with a model only")
    if not target.parent.is_dir():
        raise ValueError(f"cannot save to {str(target)!r}: there is no folder {str(target.parent)!r}")
    return target


def _is_ours(folder: Path) -> bool:
    """Whether a folder is empty or holds a model of this library and nothing else."""
    inside = {file.name for file in folder.iterdir()}
    if not inside:
        return True
    if not inside <= {FACTS, TENSORS} or not (folder / FACTS).is_file():
        return False
    with open(folder / FACTS, "rb") as file:
        return _FORMAT.encode() in file.read(4096)


def write_model(folder: str | Path, facts: Mapping[str, Any], tensors: Mapping[str, NDArray]) -> None:
    """Write the folder, whole or not at all; an older model of this name is replaced."""
    target = check_place(folder)
    data = save({name: np.asarray(array, order="C") for name, array in tensors.items()})
    body = {
        "format": _FORMAT,
        "format_version": _VERSION,
        "heatfield": __version__,
        "schema": SCHEMA,
        **facts,
        "tensors": {name: [str(a.dtype), list(a.shape)] for name, a in sorted(tensors.items())},
        "tensors_sha256": hashlib.sha256(data).hexdigest(),
    }
    body["checksum"] = _checksum(body)
    write_folder_atomically(target, {TENSORS: data, FACTS: (json.dumps(body, indent=1) + "\n").encode()})


def read_model(
    folder: str | Path, estimator: str = HFS, schema: Any = None
) -> tuple[dict[str, Any], dict[str, NDArray]]:
    """Facts and tensors of a folder, or a ValueError that says what is wrong with it.

    ``estimator`` is the class that the model must be of. Files that name none hold an HFSClassifier, but for
    those of DescriptorClassifier from before it was named alike, where ``kind`` is the name.
    ``schema`` numbers what the model is fed with, by default the features of this library.
    """
    schema = SCHEMA if schema is None else schema
    target = Path(folder)
    if not target.is_dir():
        raise ValueError(
            f"there is no model at {str(target)!r}: a folder with {FACTS} and {TENSORS}, "
            f"saved by {estimator}, is expected"
        )
    for name in (FACTS, TENSORS):
        if not (target / name).is_file():
            raise ValueError(f"{str(target)!r} is not a whole model: it has no {name}")
    try:
        with open_regular(target / FACTS) as file:
            facts = json.loads(file.read().decode("utf-8"))
        if not isinstance(facts, dict):
            raise ValueError("it is not an object")
        checksum = _checksum(facts)
    except (ValueError, RecursionError, MemoryError) as error:
        raise ValueError(f"{str(target / FACTS)!r} is not readable: {error}") from None
    if facts.get("format") != _FORMAT:
        raise ValueError(f"{str(target / FACTS)!r} is not the description of a model of this library")
    if facts.get("format_version") != _VERSION:
        raise ValueError(
            f"{str(target)!r} has the format version {facts.get('format_version')!r}, "
            f"this library (heatfield {__version__}) reads version {_VERSION}"
        )
    if facts.get("checksum") != checksum:
        raise ValueError(f"{str(target / FACTS)!r} was changed after it was saved: its checksum does not fit")
    held = facts.get("estimator", facts.get("kind", HFS))
    if held != estimator:
        raise ValueError(f"{str(target)!r} holds a saved {held}, not a saved {estimator}")
    if facts.get("schema") != schema:
        raise ValueError(
            f"{str(target)!r} was trained on features of schema {facts.get('schema')!r}, "
            f"this library computes schema {schema}; train it again"
        )
    with open_regular(target / TENSORS) as file:
        data = file.read()
    if hashlib.sha256(data).hexdigest() != facts.get("tensors_sha256"):
        raise ValueError(
            f"{str(target / TENSORS)!r} was changed, or belongs to another model: its checksum does not fit"
        )
    try:
        tensors = load(data)
    except (SafetensorError, KeyError, TypeError, AttributeError) as error:  # or of a type numpy has not
        raise ValueError(f"{str(target / TENSORS)!r} is not readable: {error}") from None
    found = {name: [str(a.dtype), list(a.shape)] for name, a in sorted(tensors.items())}
    if found != facts.get("tensors"):
        raise ValueError(f"{str(target / TENSORS)!r} does not hold the tensors that {FACTS} lists")
    return facts, tensors


def load_model(folder: str | Path, build: Callable[..., T], estimator: str = HFS, schema: Any = None) -> T:
    """What ``build`` makes of facts and tensors; whatever is wrong is a ValueError that names the folder."""
    facts, tensors = read_model(folder, estimator, schema)
    try:
        return build(facts, tensors)
    except KeyError as error:
        raise ValueError(f"{str(folder)!r} is not a whole model: {error} is missing") from None
    except _WRONG as error:
        why = str(error) or type(error).__name__
        raise ValueError(f"{str(folder)!r} cannot be loaded: {why}") from None


def _checksum(facts: Mapping[str, Any]) -> str:
    """Of the JSON with its keys in order, without the checksum itself."""
    rest = {key: value for key, value in facts.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()
