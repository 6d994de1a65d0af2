"""The class behind a method: one of the package by its name, or one of the user's own."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ._code import PACKAGE

_HOMES = {"HFSDescriptor": "_features.descriptor", "HFSClassifier": "_classifier.classifier"}


def name_of(kind: str | type) -> str:
    """As the recipe of a record has it: the name, of a class of one's own with its module."""
    return kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}"


def class_of(kind: str | type) -> Any:
    """The class itself, or a ValueError where there is none of that name."""
    if isinstance(kind, type):
        return kind
    home = import_module(f"{PACKAGE}.{_HOMES.get(kind, 'baselines')}")
    found = getattr(home, kind, None)
    if not isinstance(found, type):
        raise ValueError(f"kind must be a class, or the name of one of heatfield.baselines, got {kind!r}")
    return found


def check_class(name: str, kind: Any, family: str, blocks: Any) -> None:
    """A ValueError where a class of one's own lacks what its family needs; names are looked up later."""
    if isinstance(kind, str):
        return
    if not isinstance(kind, type):
        raise ValueError(f"kind of {name!r} must be a class, or the name of one, got {kind!r}")
    needed = ("fit_transform",) if family == "descriptor" else ("fit", "predict")
    lacking = [method for method in needed if not callable(getattr(kind, method, None))]
    if lacking:
        raise ValueError(f"kind of {name!r}, a {family}, must have the method {' and '.join(lacking)}")
    if blocks is not None and not hasattr(kind, "layout"):
        raise ValueError(f"blocks of {name!r} must be left out: {kind.__name__} has no layout that names any")


def modules_of(kind: str | type) -> list[str]:
    """The modules of the package that a class, or what it is derived from, stands in."""
    found = class_of(kind)
    classes = found.__mro__ if isinstance(kind, type) else (found,)
    homes = [c.__module__ for c in classes if c.__module__.startswith(f"{PACKAGE}.")]
    return list(dict.fromkeys(home.split(".", 1)[1] for home in homes))


def own_digest(kind: type, package: str) -> str:
    """A hash of the source of a class, by its name where that is not at hand, and of what it is built on."""
    try:
        source = inspect.getsource(kind)
    except (OSError, TypeError):  # typed at a prompt
        source = name_of(kind)
    return hashlib.sha256(f"{package}\0{source}".encode()).hexdigest()[:16]


def is_there(module: str) -> bool:
    """Whether a module can be imported; a ValueError where that is no name of a module."""
    if not all(part.isidentifier() for part in module.split(".")):
        raise ValueError(f"extras must be names of extras or of modules, got {module!r}")
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # of a dotted name, the package
        return False


def made(kind: str | type, options: Mapping[str, Any], **more: Any) -> Any:
    """An unfitted estimator; of ``more`` it gets what it has parameters for and the options leave open."""
    model = class_of(kind)(**options)
    known = model.get_params() if hasattr(model, "get_params") else {}
    open_ = {name: value for name, value in more.items() if name in known and name not in options}
    return model.set_params(**open_) if open_ else model
