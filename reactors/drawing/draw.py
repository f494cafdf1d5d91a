"""How does a program become a picture?

What is to be seen comes from `folding.py`, its text from `dot.py` or `mermaid.py`; here are the options, the
files and what notebooks ask for. Only .svg, .png and .pdf need the program `dot`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypedDict, Unpack

from reactors.drawing import folding
from reactors.drawing.diagram import Diagram
from reactors.drawing.dot import dot_text
from reactors.drawing.folding import Detail
from reactors.drawing.mermaid import mermaid_text
from reactors.drawing.trail import show_trail
from reactors.elaboration.placing import placed
from reactors.elaboration.workers import Workers, counted
from reactors.errors import ArgumentError, DrawingError, PlacementError
from reactors.names.keywords import spelled_out

if TYPE_CHECKING:
    import os

    from reactors.drawing.records import Elaborated
    from reactors.drawing.trail import Trail
    from reactors.tracing.trace import Trace


Placement: TypeAlias = str | Mapping[str, int] | Callable[[str], int | None] | Sequence[int]

RENDERED = (".svg", ".png", ".pdf")  # by `dot`
WRITTEN = (".dot", ".gv", ".mmd")
_PNG_DPI = 144
_MOST_READABLE = 100  # symbols and boxes that a picture has of itself
_MOST_IN_NOTEBOOK = 1000  # symbols: `dot` takes two seconds for as many


class Look(TypedDict, total=False):
    """What to draw, and how.

    `apg` draws the precedence graph instead of the reactors. `expand` draws every member of a bank or list, and not one
    for all. Reactors at `depth` are drawn as closed boxes with their ports: with 1, those that `main` contains. Without
    these, a picture of more than 100 symbols and boxes has less in it, and says so below. With `workers` or
    `placement`, both as `rx.run` takes them, colours show where each reactor runs; `placement` may be a list as well,
    of the worker of each reactor of `graph.reactors`. With a `profile`, the file of a trace, colours show which part of
    a worker's time each reaction took, and wires how many messages and bytes a second went over them. With `why`, what
    `rx.Replay.why` has found, the way in colour that a value came, and how many executions of each reaction made it.
    """

    apg: bool
    expand: bool
    depth: int | None
    workers: Workers | None
    placement: Placement | None
    profile: Trace | str | os.PathLike[str] | None
    why: Trail | None


def draw(graph: Elaborated, file: str | os.PathLike[str], **options: Unpack[Look]) -> Path:
    """Draw into a file, in the format that its suffix names."""
    path = Path(file)
    suffix = path.suffix.lower()
    if suffix in RENDERED:
        content = _rendered(dot(graph, **options), suffix[1:])
    elif suffix in WRITTEN:
        content = (mermaid if suffix == ".mmd" else dot)(graph, **options).encode()
    else:
        raise ArgumentError(f"{str(path)!r} cannot be drawn: a picture ends in {', '.join((*RENDERED, *WRITTEN))}")
    path.write_bytes(content)
    return path


def dot(graph: Elaborated, **options: Unpack[Look]) -> str:
    """The picture as DOT text."""
    return dot_text(_diagram(graph, **options))


def mermaid(graph: Elaborated, **options: Unpack[Look]) -> str:
    """The picture as Mermaid text."""
    return mermaid_text(_diagram(graph, **options))


def svg(graph: Elaborated) -> str | None:
    """The picture for a notebook; None if there is no `dot`, or too much to see."""
    diagram = _diagram(graph)
    if _is_too_large(diagram):
        return None
    try:
        return rendered(diagram)
    except DrawingError:
        return None


def mimebundle(graph: Elaborated) -> dict[str, str]:
    """All that a notebook can choose from: an SVG, or Mermaid where there is no `dot`, and plain text."""
    if _is_too_large(_diagram(graph)):
        return {"text/plain": f"{graph!r}, too large to be drawn here"}
    image = svg(graph)
    if image is not None:
        return {"image/svg+xml": image, "text/plain": repr(graph)}
    return {"text/vnd.mermaid": mermaid(graph), "text/plain": f"{graph!r}\n{_INSTALL}"}


def _is_too_large(diagram: Diagram) -> bool:
    return diagram.count() > _MOST_IN_NOTEBOOK


def rendered(diagram: Diagram) -> str:
    """A diagram as SVG. Raises `DrawingError`."""
    return _rendered(dot_text(diagram), "svg").decode()


_INSTALL = (
    "pictures are made by the program `dot` of Graphviz: install it (apt install graphviz, brew install graphviz, "
    "conda install graphviz), or write .dot or .mmd, which need no program"
)


def _rendered(text: str, form: str) -> bytes:
    import graphviz

    if form == "png":
        text = text.replace("{", f"{{\n  graph [dpi={_PNG_DPI}]", 1)
    try:
        image: bytes = graphviz.Source(text).pipe(format=form, quiet=True)
    except graphviz.ExecutableNotFound:
        raise DrawingError(f"the program `dot` is not on the PATH; {_INSTALL}") from None
    except graphviz.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip() if error.stderr else f"exit status {error.returncode}"
        raise DrawingError(f"`dot` failed ({said}); write the text instead, to a .dot or .mmd file") from None
    return image


@spelled_out("the picture of a graph")
def _diagram(
    graph: Elaborated,
    *,
    apg: bool = False,
    expand: bool = False,
    depth: int | None = None,
    workers: Workers | None = None,
    placement: Placement | None = None,
    profile: Trace | str | os.PathLike[str] | None = None,
    why: Trail | None = None,
) -> Diagram:
    diagram = _readable(graph, apg=apg, expand=expand, depth=depth, workers=workers, placement=placement)
    if profile is not None:
        from reactors.drawing.heat import show_load

        show_load(diagram, profile, graph.program)
    if why is not None:
        show_trail(diagram, why)
    return diagram


def _readable(
    graph: Elaborated,
    *,
    apg: bool,
    expand: bool,
    depth: int | None,
    workers: Workers | None,
    placement: Placement | None,
) -> Diagram:
    _check_depth(depth, apg=apg)
    placed = None if workers is None and placement is None else _placed(graph, workers, placement)
    drawn = folding.precedence if apg else folding.reactors
    diagram = drawn(graph, Detail(expand=expand, depth=depth), placed=placed)
    diagram.note = ""  # it is what was asked for
    if expand or depth is not None or diagram.count() <= _MOST_READABLE:
        return diagram
    depths = [None] if apg else [None, *range(diagram.depth() - 1, 0, -1)]
    less = [Detail(siblings=siblings, depth=depth) for siblings in (False, True) for depth in depths][1:]
    drawings = [drawn(graph, each, placed=placed) for each in less]
    readable = [each for each in drawings if each.count() <= _MOST_READABLE]
    return max(readable, key=Diagram.count) if readable else min(drawings, key=Diagram.count)


def _check_depth(depth: object, *, apg: bool) -> None:
    if depth is None:
        return
    if isinstance(depth, bool) or not isinstance(depth, int) or depth < 1:
        raise ArgumentError(f"depth of a picture is {depth!r}; write a whole number, 1 or more")
    if apg:
        raise ArgumentError("depth= closes reactors, and the precedence graph has none; leave out depth= or apg=True")


def _placed(graph: Elaborated, workers: Workers | None, placement: Placement | None) -> list[int]:
    """The worker of each reactor."""
    if workers is not None:
        workers = counted(workers, "a picture")
    if isinstance(placement, Sequence) and not isinstance(placement, str):
        if len(placement) != len(graph.reactors):
            raise PlacementError(
                f"placement is a list of {len(placement)} workers, and {graph.root.path} has {len(graph.reactors)} "
                f"reactors; write one for each, in the order of graph.reactors"
            )
        placement = dict(zip((row.path for row in graph.program.reactors), placement, strict=True))
    if workers is None:
        workers = _highest(graph, placement) + 1
    if isinstance(placement, str) and placement != "auto":
        from reactors.tracing.profile import from_file

        placement = from_file(placement, graph.program, workers)
    return placed(graph.program, workers, "auto" if placement is None else placement)


def _highest(graph: Elaborated, placement: Placement | None) -> int:
    """The last worker that a placement names."""
    if isinstance(placement, Mapping):
        placement = placement.get
    if not callable(placement):
        return 0
    named = [placement(row.path) for row in graph.program.reactors]
    return max((worker for worker in named if worker is not None), default=0)
