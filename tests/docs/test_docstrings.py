"""Every public name says what it takes, what it returns, shows an example, and names its page of the site."""

import functools
import inspect
import re

import pytest

from benchmarks.lib.results import DOCS, ROOT
from heatfield.workflows.docs import find_page
from tools.site import api, public

NAMES = [one for one in public.all_names() if one.kind != "data" and not one.repeated]


def sections(doc):
    """Content by heading of numpydoc."""
    parts = re.split(r"^(\w[\w ]*)\n-{3,}\n", f"{doc}\n", flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def listed(doc):
    """Names that the sections of parameters and attributes explain, as in ``low, high : (T,)``."""
    found = set()
    for heading in ("Parameters", "Attributes"):
        for line in re.findall(r"^(\*{0,2}\w[^\n]*)", sections(doc).get(heading, ""), re.M):
            found |= {name.strip(" *") for name in line.split(" :")[0].split(",")}
    return found


def parameters(value):
    """Names that a call takes; of a class whose constructor is not of this library, none."""
    if inspect.isclass(value):
        owner = next(b for b in value.__mro__ if {"__init__", "__new__"} & vars(b).keys())
        if not owner.__module__.startswith("heatfield") or getattr(value, "_is_protocol", False):
            return []
    return [name for name in inspect.signature(value).parameters if name not in ("self", "cls")]


def returns(value):
    """Whether a call gives something back, by its annotation."""
    return inspect.signature(value).return_annotation not in ("None", None, inspect.Signature.empty)


def members(kind):
    """(name, function or property) of the members that the page of a class shows."""
    seen = set()
    for base in kind.__mro__:
        if base.__name__ in api.BASES or not base.__module__.startswith("heatfield"):
            continue
        for name, value in vars(base).items():
            if name.startswith("_") or name in seen or name in api.WRITTEN_IN:
                continue
            plain = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
            if inspect.isfunction(plain) or isinstance(plain, property):
                seen.add(name)
                yield name, plain


def shown(name, doc):
    """Whether an example calls the method."""
    code = "\n".join(re.findall(r"^\s*(?:>>>|\.\.\.) (.*)$", doc, re.M))
    return bool(re.search(rf"\.{name}\(", code))


@functools.cache
def examples_with(member):
    """The docstrings of all public classes that have the same method: one of them shows it."""
    kinds = [one.value for one in NAMES if inspect.isclass(one.value)]
    return "\n".join(inspect.getdoc(kind) or "" for kind in kinds if member in dict(members(kind)).values())


def faults(label, value, *, example=True):
    """What the docstring of a function, method or class lacks."""
    doc = inspect.getdoc(value) or ""
    absent = [name for name in parameters(value) if name not in listed(doc)]
    if absent:
        yield f"{label}: parameters {', '.join(absent)} are not explained"
    silent = not {"Returns", "Yields"} & sections(doc).keys()
    if silent and not inspect.isclass(value) and returns(value):
        yield f"{label}: does not say what it returns"
    if example and ">>>" not in sections(doc).get("Examples", ""):
        yield f"{label}: has no example"


@pytest.mark.parametrize("one", NAMES, ids=lambda one: one.full)
def test_a_public_name_is_documented(one):
    found = list(faults(one.full, one.value))
    if inspect.isclass(one.value):
        own = inspect.getdoc(one.value) or ""
        for name, member in members(one.value):
            label = f"{one.full}.{name}"
            doc = inspect.getdoc(member) or ""
            if not doc:
                found.append(f"{label}: has no docstring")
            if isinstance(member, property):
                continue
            # The page of a class shows its example above its methods; calling a network is its forward.
            called = (
                shown(name, examples_with(member)) or shown(name, doc) or (name == "forward" and ">>>" in own)
            )
            found += faults(label, member, example=not called)
    assert not found, "\n".join(found)


def test_a_docstring_that_lacks_something_is_noticed():
    def bad(a, b) -> int:
        """Nothing.

        Parameters
        ----------
        a : int
            Of b : no.
        """

    assert len(list(faults("bad", bad))) == 3
    assert shown("fit", ">>> model.fit(1)")
    assert not shown("fit", "model.fit(1)\n>>> model.fit_transform(1)")


def _sources():
    """Pages of the site by name, from their sources; those that the build writes among them."""
    pages = {p.relative_to(DOCS).with_suffix("").as_posix() for folder in ("guide", "theory", "results")
             for p in (DOCS / folder).glob("*.md")}  # fmt: skip
    pages |= {f"reference/{name}" for name in ("columns", "commands", "paper")}
    return pages | {f"{path.parent.name}/{path.stem}" for path in (ROOT / "examples").glob("*/plot_*.py")}


@pytest.mark.parametrize("one", NAMES, ids=lambda one: one.full)
def test_a_public_name_leads_to_a_page(one, tmp_path):
    found = public.pages_of(inspect.getdoc(one.value) or "")
    assert len(found) == 1, f"one line 'Guide: ``heatfield docs PAGE``.' is wanted, got {found}"
    assert found[0] in _sources()
    assert public.linked([f"Guide: ``heatfield docs {found[0]}``."])[0].startswith("Guide: :doc:`")
    page = tmp_path / f"{found[0]}.html"  # as the site has it: the command of the docstring opens it
    page.parent.mkdir()
    page.touch()
    assert find_page(tmp_path, found[0]) == page
