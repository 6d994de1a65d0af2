"""Settings of the documentation site; `make docs` builds it into docs/_build/html."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src"), str(ROOT / "bench" / "src")]
os.environ.setdefault("MPLBACKEND", "agg")

import heatfield  # noqa: E402
from tools.site import api, columns_page, commands, moving_picture, paper, public  # noqa: E402

project = "heatfield"
author = "The heatfield authors"
copyright = "the heatfield authors"
version = release = heatfield.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "tools.site.mathml",
]
exclude_patterns = ["_build", "**/README.md", "tutorial/README.rst", "gallery/README.rst"]
suppress_warnings = ["config.cache"]
default_role = "py:obj"
nitpicky = False

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
html_math_renderer = "mathml"

autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

html_theme = "pydata_sphinx_theme"
html_title = "heatfield"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
# Summaries of search results are fetched page by page, which browsers refuse for pages from disk.
html_show_search_summary = False
html_copy_source = False
html_theme_options = {
    "show_prev_next": True,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 8,
    "secondary_sidebar_items": ["page-toc", "sg_download_links"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_toc_level": 2,
    "navigation_depth": 2,
}

warnings.filterwarnings("error", category=heatfield.HeatFieldWarning)
sphinx_gallery_conf = {
    "examples_dirs": [str(ROOT / "examples" / "tutorial"), str(ROOT / "examples" / "gallery")],
    "gallery_dirs": ["tutorial", "gallery"],
    "filename_pattern": r"/plot_",
    "capture_repr": (),  # what is printed is shown, not the axes that a picture returns
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "min_reported_time": 60,
    "remove_config_comments": True,
    "reset_modules": ("matplotlib",),
    "write_computation_times": False,
}


def generate(_app: object) -> None:
    """Write the pages that come from the library itself, before Sphinx looks for sources."""
    api.write(HERE / "api")
    for name, module in (("commands", commands), ("columns", columns_page), ("paper", paper)):
        _replace(HERE / "reference" / f"{name}.md", module.page())
    moving = HERE / "_static" / "scales.gif"
    if not moving.exists():
        moving_picture.write(moving)


def _replace(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def keep_bars(
    _app: object, _what: str, _name: str, _object: object, _options: object, lines: list[str]
) -> None:
    """Write ``|x|`` in docstrings as it stands: to reStructuredText it would be a substitution."""
    in_example = False
    for k, line in enumerate(lines):
        in_example = line.lstrip().startswith(">>>") or (in_example and bool(line.strip()))
        if not in_example:
            parts = line.split("``")
            parts[::2] = [part.replace("|", r"\|") for part in parts[::2]]
            lines[k] = "``".join(parts)


def link_guide(
    _app: object, _what: str, _name: str, _object: object, _options: object, lines: list[str]
) -> None:
    """The page that a docstring names becomes a link."""
    lines[:] = public.linked(lines)


def further_pages(_app: object, page: str, source: list[str]) -> None:
    """A page that lies in docs itself, outside the folders, is listed in the guide."""
    if page == "guide/index":
        further = sorted(f"/{path.stem}" for path in HERE.glob("*.md") if path.stem != "index")
        source[0] = source[0].replace("\n*\n", "\n".join(["\n*", *further, ""]), 1)


def setup(app: object) -> None:
    """Sphinx asks for this."""
    app.connect("builder-inited", generate, priority=100)  # type: ignore[attr-defined]
    app.connect("source-read", further_pages)  # type: ignore[attr-defined]
    app.connect("autodoc-process-docstring", keep_bars, priority=100)  # type: ignore[attr-defined]
    app.connect("autodoc-process-docstring", link_guide, priority=100)  # type: ignore[attr-defined]
