"""Formulas as MathML, which every browser draws by itself: no script, no font and no network."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

# What docutils' converter does not know, in words that it does.
_SPELT = {
    r"\dfrac": r"\frac",
    r"\tfrac": r"\frac",
    r"\lVert": r"\|",
    r"\rVert": r"\|",
    r"\!": "",
    r"\dots": r"\ldots",
}


def to_mathml(tex: str, *, block: bool = False) -> str:
    """A formula as a ``<math>`` element; an error names the formula that cannot be converted."""
    for name, spelt in _SPELT.items():
        tex = re.sub(re.escape(name) + r"(?![a-zA-Z])", lambda _, spelt=spelt: spelt, tex)
    try:
        text = tex2mathml(tex, as_block=block)
    except Exception as error:
        raise ValueError(f"cannot convert the formula {tex!r}: {error}") from error
    # Bars that a browser stretches: an exponent at the second one would leave the pair of unequal height.
    return re.sub(r">\s+<", "><", text).replace("<mo>‖</mo>", '<mo stretchy="false">‖</mo>')


def _inline(self: Any, node: nodes.math) -> None:
    self.body.append(to_mathml(node.astext()))
    raise nodes.SkipNode


def _block(self: Any, node: nodes.math_block) -> None:
    self.body.append(f'<div class="formula">{to_mathml(node.astext(), block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, Any]:
    """Register the renderer with Sphinx."""
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None), block_renderers=(_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
