"""Links to files and folders of the repository, as docs have many, lead to a page of the site with the source.

In a checkout such a link opens the file. Sphinx would make a download of a file, and nothing of a folder.
"""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from docutils import nodes
from pygments.lexers import guess_lexer_for_filename
from pygments.util import ClassNotFound
from sphinx.addnodes import download_reference, pending_xref
from sphinx.transforms import SphinxTransform
from sphinx.util.osutil import relative_uri

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx
    from sphinx.highlighting import PygmentsBridge


class LinksToSource(SphinxTransform):
    """Turns links to what no document is made of into links to its page, and notes which pages are needed."""

    default_priority = 400

    def apply(self, **_: Any) -> None:
        """Look at all links of a document."""
        here = PurePosixPath(self.env.docname).parent
        for node in [*self.document.findall(download_reference), *self.document.findall(pending_xref)]:
            path = os.path.normpath(here / str(node["reftarget"]))
            if isinstance(node, pending_xref) and not (
                node["reftype"] == "myst" and Path(self.app.srcdir, path).is_dir()
            ):
                continue
            uri = self.app.builder.get_relative_uri(self.env.docname, path)
            node.replace_self(nodes.reference("", "", *node.children, refuri=uri))
            _linked(self.app).setdefault(self.env.docname, set()).add(path)


def _linked(app: Sphinx) -> dict[str, set[str]]:
    """What each document links to; kept with what Sphinx remembers from one build to the next."""
    found: dict[str, set[str]] = app.env.__dict__.setdefault("linked_sources", {})
    return found


def _forgotten(app: Sphinx, _: Any, docname: str) -> None:
    _linked(app).pop(docname, None)


def _pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """The pages that are linked to, and those of what is in a folder that is."""
    paths = {Path(path) for its in _linked(app).values() for path in its}
    contents = {path: _files(app, path) for path in paths if Path(app.srcdir, path).is_dir()}
    for path in sorted(paths.union(*contents.values())):
        body = _list(path, contents[path]) if path in contents else _source(app, path)
        yield str(path), {"title": str(path), "body": f"<h1>{path}</h1>\n{body}"}, "page.html"


def _files(app: Sphinx, folder: Path) -> list[Path]:
    return sorted(
        folder / each.name
        for each in Path(app.srcdir, folder).iterdir()
        if each.suffix in {".py", ".toml", ".sh", ".yaml"}
    )


def _list(folder: Path, files: list[Path]) -> str:
    links = (f'<li><a href="{relative_uri(str(folder), str(file))}.html">{file.name}</a></li>' for file in files)
    return f"<ul>{''.join(links)}</ul>"


def _source(app: Sphinx, path: Path) -> str:
    text = Path(app.srcdir, path).read_text()
    try:
        language = guess_lexer_for_filename(path.name, text).aliases[0]
    except ClassNotFound:
        language = "text"
    highlighter: PygmentsBridge = app.builder.highlighter  # type: ignore[attr-defined]
    return highlighter.highlight_block(text, language)


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx."""
    app.add_transform(LinksToSource)
    app.connect("env-purge-doc", _forgotten)
    app.connect("html-collect-pages", _pages)
    return {"parallel_read_safe": False}
