"""The API reference: an index, one page per package and one per public name, as reStructuredText."""

from __future__ import annotations

import importlib
import inspect
import pprint
from pathlib import Path

from .public import Name, all_names, modules, names, page_of

# Members of these are of scikit-learn, torch or Python, and documented there.
BASES = (
    "BaseEstimator", "ClassifierMixin", "TransformerMixin", "OneToOneFeatureMixin",
    "ClassNamePrefixFeaturesOutMixin", "_SetOutputMixin", "_MetadataRequester", "Module", "tuple", "list",
    "dict", "object", "Exception", "Warning",
)  # fmt: skip
# Methods that scikit-learn writes into a class itself.
WRITTEN_IN = ("set_fit_request", "set_score_request", "set_partial_fit_request", "set_transform_request",
               "set_predict_request", "set_predict_proba_request", "set_output")  # fmt: skip


def name_page(one: Name) -> str:
    """The page of one name."""
    lines = [one.full, "=" * len(one.full), "", f".. currentmodule:: {one.module}", ""]
    if one.kind == "data":
        shown = pprint.pformat(one.value, width=100, compact=True).splitlines()
        lines += [
            f".. py:data:: {one.name}",
            "",
            f"   {one.first_line.capitalize()}.",
            "",
            "   .. code-block:: python",
            "",
        ]
        return "\n".join([*lines, *(f"      {line}" for line in shown), ""])
    if one.repeated:
        lines += [f"The same as :py:obj:`heatfield.{one.name}`.", ""]
    lines.append(f".. auto{one.kind}:: {one.full}")
    if one.repeated:
        lines.append("   :no-index:")
    if one.kind in ("class", "exception"):
        lines += ["   :members:", f"   :inherited-members: {', '.join(BASES)}"]
        lines.append(f"   :exclude-members: {', '.join(WRITTEN_IN)}")
    return "\n".join([*lines, ""])


def _table(module: str) -> list[str]:
    """Names of a module with their first lines."""
    lines = [".. list-table::", "   :widths: 35 65", "   :class: names", ""]
    for one in names(module):
        shown = one.first_line.replace("|", r"\|").replace("*", r"\*")
        lines += [f"   * - :doc:`{one.name} <{page_of(one)}>`", f"     - {shown}"]
    return [*lines, ""]


def module_page(module: str) -> str:
    """What a package is for, and its names."""
    doc = inspect.getdoc(importlib.import_module(module)) or ""
    lines = [module, "=" * len(module), "", f".. module:: {module}", "", doc, ""]
    pages = ["", ".. toctree::", "   :hidden:", "", *(f"   {page_of(one)}" for one in names(module)), ""]
    return "\n".join([*lines, *_table(module), *pages])


def index_page() -> str:
    """All packages, each with its names."""
    lines = ["API reference", "=============", ""]
    lines += [
        "``import heatfield as hf`` loads nothing heavy; each name is fetched when it is first used.",
        "``heatfield_bench`` is a distribution of its own, ``pip install heatfield-bench``.",
        "",
    ]
    lines += [".. toctree::", "   :hidden:", "", *(f"   {module}" for module in modules()), ""]
    for module in modules():
        doc = (inspect.getdoc(importlib.import_module(module)) or "").split("\n", 1)[0]
        lines += [module, "-" * len(module), "", f"{doc} (:doc:`page <{module}>`)", "", *_table(module)]
    return "\n".join(lines)


def write(folder: Path) -> list[Path]:
    """Write all pages that changed; pages of names that are gone are removed."""
    pages = {"index": index_page(), **{module: module_page(module) for module in modules()}}
    pages |= {page_of(one): name_page(one) for one in all_names()}
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {folder / f"{name}.rst": text for name, text in pages.items()}
    for path in folder.glob("*.rst"):
        if path not in wanted:
            path.unlink()
    for path, text in wanted.items():
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    return list(wanted)
