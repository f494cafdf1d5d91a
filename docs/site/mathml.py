"""Formulas as MathML, which browsers show without a script from elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from docutils.nodes import SkipNode
from latex2mathml.converter import convert

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx
    from sphinx.writers.html5 import HTML5Translator

MATHML = "http://www.w3.org/1998/Math/MathML"
LINE_ABOVE = "\N{HORIZONTAL BAR}"  # what `\overline` becomes: it grows with the formula only in fonts made for that


def mathml(formula: str, display: str) -> str:
    r"""A formula of TeX as an element of HTML.

    >>> mathml(r"\\overline{x}", "inline")  # doctest: +ELLIPSIS
    '<math xmlns="..." display="inline"><mrow><mrow style="border-top: 0.06em solid">...</math>'
    """
    ET.register_namespace("", MATHML)
    tree = ET.fromstring(convert(formula.strip("`"), display=display))  # forges want backticks in the dollars
    for mover in tree.iter(f"{{{MATHML}}}mover"):
        if mover[1].text == LINE_ABOVE:
            mover.tag = f"{{{MATHML}}}mrow"
            mover.set("style", "border-top: 0.06em solid")
            mover.remove(mover[1])
    return ET.tostring(tree, encoding="unicode")


def _inline(self: HTML5Translator, node: nodes.math) -> None:
    self.body.append(mathml(node.astext(), "inline"))
    raise SkipNode


def _block(self: HTML5Translator, node: nodes.math_block) -> None:
    self.body.append(f'<div class="formula">{mathml(node.astext(), "block")}</div>')
    raise SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True}
