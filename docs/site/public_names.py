"""Names in docstrings and annotations that mean something public, whatever module it lives in, become links to it.

Docstrings say `rx.run` and `rl.Env`, as programs do; annotations say `reactors.model.reactor.Reactor`, or `Reactor`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sphinx.domains.python import PyXRefRole

import reactors as rx
from reactors import rl, testing

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.addnodes import pending_xref
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

SHORT = {"rx": "reactors", "rl": "reactors.rl", "np": "numpy", "gym": "gymnasium"}


def _public() -> dict[str, str]:
    """The public name of everything public, by where it is defined and by its own name alone."""
    found: dict[str, str] = {}
    for module in (testing, rl, rx):  # what two have belongs to the last
        for name in module.__all__:
            thing = getattr(module, name)
            found[f"{getattr(thing, '__module__', module.__name__)}.{name}"] = f"{module.__name__}.{name}"
            found[name] = f"{module.__name__}.{name}"
    return found


PUBLIC = _public()


class PublicName(PyXRefRole):
    """What is between single backticks: a link if it is the name of something, as it is written, and else code."""

    def process_link(
        self, env: BuildEnvironment, refnode: nodes.Element, has_explicit_title: bool, title: str, target: str
    ) -> tuple[str, str]:
        """Keep the name; Python's own role takes a leading dot for a wish to search everywhere."""
        del has_explicit_title
        refnode.update_basic_atts(
            {"py:module": env.ref_context.get("py:module"), "py:class": env.ref_context.get("py:class")}
        )
        refnode["reftype"], refnode["refdomain"] = "obj", "py"
        return title, target


def _found(app: Sphinx, env: BuildEnvironment, node: pending_xref, child: nodes.TextElement) -> Any:
    """The link that a name was meant for, if it is one of ours under another name, or somebody else's."""
    if node.get("refdomain") != "py":
        return None
    target = node["reftarget"]
    first, _, rest = target.partition(".")
    written = f"{SHORT[first]}.{rest}" if first in SHORT and rest else PUBLIC.get(target)
    if written is None or written == target:
        return None
    node["reftarget"] = written
    domain = env.get_domain("py")
    link = domain.resolve_xref(env, node["refdoc"], app.builder, node["reftype"], written, node, child)
    return link or app.emit_firstresult("missing-reference", env, node, child)


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx."""
    app.add_role("public", PublicName())
    app.connect("missing-reference", _found, priority=400)
    return {"parallel_read_safe": True}
