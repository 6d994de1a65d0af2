"""A model as a folder of two files: arrays as safetensors, everything else as JSON.

Nothing is pickled, and loading runs no code. The JSON holds the checksum of the arrays and one of itself, so
that a file that was changed or belongs to another model is noticed. Checksums protect against accidents, not
against intent: whoever can write the folder can also write the checksums. What is loaded is therefore checked
in shape and type too, before memory is taken for it. Whatever is wrong with a folder is a `ReadError`.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .. import __version__
from .._base.files import open_regular, write_folder_atomically
from ..features.layout import SCHEMA
from ..io.limits import ReadError
from .heads import Tensors

T = TypeVar("T")

METADATA, TENSORS = "model.json", "model.safetensors"
_FORMAT, _VERSION = "heatfield-model", 2
_LARGEST = 1 << 28  # bytes of the JSON
_WIDEST = 1 << 16  # bytes of one label
_DEEPEST = 16  # lists in lists of a parameter
# What a file that was changed with care can make of the code that rebuilds a model.
_WRONG = (ValueError, TypeError, AttributeError, LookupError, ArithmeticError, RuntimeError, MemoryError)
# Parameters that are no part of a model: where to compute and to write is the user's choice, never a file's.
LOCAL = frozenset({"checkpoint", "cache", "device", "n_jobs", "progress"})


# --- folders -------------------------------------------------------------------------


def check_place(folder: str | os.PathLike[str]) -> Path:
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
    if not inside <= {METADATA, TENSORS} or not (folder / METADATA).is_file():
        return False
    with open(folder / METADATA, "rb") as file:
        return _FORMAT.encode() in file.read(4096)


def write_model(
    folder: str | Path,
    estimator: str,
    metadata: Mapping[str, Any],
    tensors: Mapping[str, NDArray],
    *,
    schema: int | str = SCHEMA,
) -> None:
    """Write the folder, whole or not at all; an older model of this name is replaced.

    ``estimator`` names the class of the model, and ``schema`` numbers what it is fed with.
    """
    from safetensors.numpy import save

    target = check_place(folder)
    data = save({name: np.asarray(array, order="C") for name, array in tensors.items()})
    body = {
        "format": _FORMAT,
        "format_version": _VERSION,
        "heatfield": __version__,
        "estimator": estimator,
        "schema": schema,
        **metadata,
        "tensors": _listed(tensors),
        "tensors_sha256": hashlib.sha256(data).hexdigest(),
    }
    body["checksum"] = checksum(body)
    text = (json.dumps(body, indent=1) + "\n").encode()
    if len(text) > _LARGEST:
        raise ValueError(f"cannot save to {str(target)!r}: {METADATA} has more than {_LARGEST} bytes")
    write_folder_atomically(target, {TENSORS: data, METADATA: text})


def read_model(
    folder: str | Path, estimator: str, *, schema: int | str = SCHEMA
) -> tuple[dict[str, Any], Tensors]:
    """Metadata and tensors of a folder that `write_model` wrote for this estimator and schema."""
    target = Path(folder)
    _check_whole(target)
    metadata = _read_metadata(target)
    held = metadata.get("estimator")
    if held != estimator:
        raise ReadError(target, f"holds a saved {held}, not a saved {estimator}")
    if metadata.get("schema") != schema:
        raise ReadError(
            target,
            f"was trained on features of schema {metadata.get('schema')!r}, "
            f"this library computes schema {schema}; train it again",
        )
    return metadata, _read_tensors(target, metadata)


def estimator_of(folder: str | Path) -> str:
    """The name of the class whose model a folder holds."""
    _check_whole(Path(folder))
    return str(_read_metadata(Path(folder)).get("estimator"))


def _check_whole(folder: Path) -> None:
    if not folder.is_dir():
        raise ReadError(folder, "no such folder; a saved model is expected")
    for name in (METADATA, TENSORS):
        if not (folder / name).is_file():
            raise ReadError(folder, f"not a saved model: it has no {name}")


def _read_metadata(target: Path) -> dict[str, Any]:
    try:
        with open_regular(target / METADATA) as file:
            data = file.read(_LARGEST + 1)
        if len(data) > _LARGEST:
            raise ValueError(f"it has more than {_LARGEST} bytes")
        metadata = json.loads(data.decode("utf-8"))
        if not isinstance(metadata, dict):
            raise ValueError("it is not an object")
        expected = checksum(metadata)
    except (OSError, ValueError, RecursionError, MemoryError) as error:
        raise ReadError(target, f"not readable: {error}", METADATA) from None
    if metadata.get("format") != _FORMAT:
        raise ReadError(target, "not the description of a model of this library", METADATA)
    if metadata.get("format_version") != _VERSION:
        raise ReadError(
            target,
            f"has the format version {metadata.get('format_version')!r}, "
            f"this library (heatfield {__version__}) reads version {_VERSION}",
        )
    if metadata.get("checksum") != expected:
        raise ReadError(target, "was changed after it was saved: its checksum does not fit", METADATA)
    return metadata


def _read_tensors(target: Path, metadata: Mapping[str, Any]) -> Tensors:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        with open_regular(target / TENSORS) as file:
            data = file.read()
        ours = hashlib.sha256(data).hexdigest() == metadata.get("tensors_sha256")
        tensors = load(data) if ours else {}
    except (OSError, SafetensorError, *_WRONG) as error:  # also a type that numpy does not have
        raise ReadError(target, f"not readable: {error}", TENSORS) from None
    if not ours:
        raise ReadError(
            target, "was changed, or belongs to another model: its checksum does not fit", TENSORS
        )
    if _listed(tensors) != metadata.get("tensors"):
        raise ReadError(target, f"does not hold the tensors that {METADATA} lists", TENSORS)
    return tensors


def load_model(
    folder: str | Path,
    estimator: str,
    build: Callable[[dict[str, Any], Tensors], T],
    *,
    schema: int | str = SCHEMA,
) -> T:
    """What ``build`` makes of metadata and tensors; it must remove from the latter all that it uses."""
    metadata, tensors = read_model(folder, estimator, schema=schema)
    try:
        model = build(metadata, tensors)
        if tensors:
            raise ValueError(f"it has a tensor {min(tensors)!r} that is not of this model")
    except KeyError as error:
        raise ReadError(folder, f"not a whole model: {error} is missing") from None
    except _WRONG as error:
        raise ReadError(folder, f"cannot be loaded: {str(error) or type(error).__name__}") from None
    return model


def checksum(metadata: Mapping[str, Any]) -> str:
    """Of the JSON with its keys in order, without the checksum itself."""
    rest = {key: value for key, value in metadata.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def _listed(tensors: Mapping[str, NDArray]) -> dict[str, list[Any]]:
    """Type and shape of every tensor, as JSON."""
    return {name: [str(array.dtype), list(array.shape)] for name, array in sorted(tensors.items())}


# --- estimators ----------------------------------------------------------------------


def save_estimator(
    model: Any,
    folder: str | Path,
    notes: Mapping[str, Any],
    metadata: Mapping[str, Any],
    tensors: Mapping[str, NDArray],
    *,
    schema: int | str = SCHEMA,
) -> None:
    """A fitted estimator: its parameters, its classes, notes, metadata and tensors."""
    params = model.get_params(deep=False)
    common: dict[str, Any] = {
        "params": {k: plain(v, k) for k, v in params.items() if k not in LOCAL},
        "notes": dict(notes),
    }
    if hasattr(model, "classes_"):
        common["classes"] = {"dtype": model.classes_.dtype.str, "values": model.classes_.tolist()}
    write_model(folder, type(model).__name__, common | dict(metadata), tensors, schema=schema)


def load_estimator(
    kind: type[T],
    folder: str | Path,
    unpack: Callable[[T, dict[str, Any], Tensors], object],
    *,
    schema: int | str = SCHEMA,
) -> T:
    """An estimator of this class as `save_estimator` saved it; ``unpack`` sets what else it has learnt."""

    def build(metadata: dict[str, Any], tensors: Tensors) -> T:
        unknown = set(metadata["params"]) - (set(inspect.signature(kind).parameters) - LOCAL)
        if unknown:
            raise ValueError(f"this library does not know the parameter {min(unknown)!r}")
        model: Any = kind(**{name: from_plain(value) for name, value in metadata["params"].items()})
        model.notes_ = saved_notes(metadata)
        if hasattr(kind, "predict_proba"):
            model.classes_ = saved_classes(metadata)
        unpack(model, metadata, tensors)
        return model

    return load_model(folder, kind.__name__, build, schema=schema)


def saved_notes(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The notes of a saved model, checked."""
    if not isinstance(metadata["notes"], dict):
        raise ValueError("its notes are not an object")
    return metadata["notes"]


def saved_classes(metadata: Mapping[str, Any]) -> NDArray:
    """The labels of a saved classifier, checked."""
    values, dtype = metadata["classes"]["values"], np.dtype(metadata["classes"]["dtype"])
    # A type wider than any label would need as much memory as a forged file likes.
    if dtype.kind not in "biufU" or dtype.itemsize > _WIDEST or not isinstance(values, list):
        raise ValueError("its classes are not a list of labels")
    classes = np.array(values, dtype=dtype)
    if classes.ndim != 1 or len(classes) < 2:
        raise ValueError("its classes are not a list of labels")
    if not np.array_equal(np.unique(classes), classes):
        raise ValueError("its classes are not in order, or not distinct")
    return classes


def saved_history(metadata: Mapping[str, Any]) -> list[dict[str, float]]:
    """Loss and score by epoch of a saved network, checked."""
    found = metadata["history"]
    if not isinstance(found, list) or not all(isinstance(epoch, dict) for epoch in found):
        raise ValueError("its history is not a list of epochs")
    return found


# --- values --------------------------------------------------------------------------


def plain(value: Any, name: str) -> Any:
    """A value as JSON can hold it: a mapping becomes pairs, since its keys may be numbers."""
    if isinstance(value, Mapping):
        return {"pairs": [[plain(k, name), plain(v, name)] for k, v in value.items()]}
    if isinstance(value, (list, tuple)):
        return [plain(v, name) for v in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist(), name)
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise ValueError(f"cannot save {name}={value!r}: only numbers, words, lists and dicts go into JSON")


def from_plain(value: Any, depth: int = 0) -> Any:
    """The value that `plain` was given, with lists for tuples and arrays; ``depth`` counts the nesting."""
    if depth > _DEEPEST:
        raise ValueError("its parameters are nested too deep")
    if isinstance(value, dict):
        return {from_plain(k, depth + 1): from_plain(v, depth + 1) for k, v in value["pairs"]}
    return [from_plain(v, depth + 1) for v in value] if isinstance(value, list) else value
