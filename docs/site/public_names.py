"""Names in docstrings and annotations that mean something public, whatever module it lives in, become links to it.

Docstrings say `rx.run` and `rl.Env`, as programs do; annotations say `reactors.model.reactor.Reactor`, or `Reactor`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sphinx.domains.python import PyXRefRole

import reactors as rx
from reactors import rl, testing

if TYPE_CHECKING:
    from types import ModuleType

    from docutils import nodes
    from sphinx.addnodes import pending_xref
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

SHORT = {"rx": "reactors", "rl": "reactors.rl", "np": "numpy", "gym": "gymnasium"}


def _public(*modules: ModuleType) -> dict[str, str]:
    """The public names of modules, by the names themselves, and by where things are defined."""
    found: dict[str, str] = {}
    for module in modules:
        for name in module.__all__:
            place = getattr(getattr(module, name), "__module__", module.__name__)
            found[name] = found[f"{place}.{name}"] = f"{module.__name__}.{name}"
    return found


# In `rl` a bare name is one of its own, or an error: all else it spells `rx.Mode`, and has a `Mode` of another kind.
IN_RL = {
    name: place
    for name, place in _public(rx).items()
    if "." in name or getattr(rx, name).__module__ == "reactors.errors"
} | _public(rl)
ELSEWHERE = _public(testing, rx)


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
        a_parameter = target.islower() and "." not in target  # such words are, mostly: `trace` of `rx.run`
        refnode["reftype"], refnode["refdomain"] = "obj", "" if a_parameter else "py"
        return title, target


def _found(app: Sphinx, env: BuildEnvironment, node: pending_xref, child: nodes.TextElement) -> Any:
    """The link that a name was meant for, if it is one of ours under another name, or somebody else's."""
    if node.get("refdomain") != "py":
        return None
    target = node["reftarget"]
    names = IN_RL if (node.get("py:module") or "").startswith("reactors.rl") else ELSEWHERE
    first, _, rest = target.partition(".")
    written = f"{SHORT[first]}.{rest}" if first in SHORT and rest else names.get(target)
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
