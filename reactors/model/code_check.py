"""Does the code of a reaction match its declaration?

What its code does with `self` (`reactors.code`) is compared with its triggers, uses and effects: an output that is set
without being an effect, an input that is read without being a trigger or a use, a request to stop without `rx.stop`.
What cannot be read from the code is found when it happens, by the ports of `reactors.execution`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reactors.code.bytecode import ASSIGNED, Use, uses_of_self
from reactors.errors import DeclarationError, UndeclaredAccessError
from reactors.location import Location
from reactors.model.actions import Action, LogicalAction, Timed
from reactors.model.declaration import Declared
from reactors.model.ports import Input, Output, Port

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import FunctionType

    from reactors.model.reaction import Reaction

READING = frozenset({"value", "is_present", "array", "tensor", "present"})
WRITING = frozenset({"set", "set_all", "loan"})
FROM_OUTSIDE = (
    "what is on an input is set from outside; to change a copy of it declare the input with mutable=True, to keep "
    "something else choose another name"
)


def check_code(reaction: Reaction[Any], own: dict[str, Declared], function: FunctionType | None, path: str) -> None:
    """Refuse code that uses what its reaction did not declare; `own` has the declarations of its reactor, by name."""
    if function is None:
        return
    read = {id(end._declared) for end in (*reaction.triggers, *reaction.uses) if isinstance(end, Declared)}
    written = {id(end._declared) for end in reaction.effects}
    for use in uses_of_self(function.__code__):
        wrong = _undeclared(use, own.get(use.name), read, written, stops=reaction.stop is not None)
        if wrong:
            raise UndeclaredAccessError(f"{path} ({Location(function.__code__.co_filename, use.line)}): {wrong}")


def _undeclared(use: Use, end: Declared | None, read: set[int], written: set[int], *, stops: bool) -> str | None:
    if use.name == "request_stop" and use.use == "()" and not stops:
        return "self.request_stop(), but the reaction does not declare effects=rx.stop; add it"
    if end is None:
        return None
    name, said = end.name, f"self.{end.name}.{use.use}"
    reads, writes = id(end._declared) in read, id(end._declared) in written
    if isinstance(end, Port) and use.use == ASSIGNED + "value" and not end._declared._mutable:
        return f"self.{name}.value is assigned to; {_instead(end)}"
    if isinstance(end, Input):
        if use.use in WRITING:
            return (
                f"{said}, but {name} is an input of its own, which is set from outside; a reaction can set outputs of "
                "its reactor and inputs of contained reactors"
            )
        if use.use in READING and not reads:
            return f"{said}, but {name} is not among the reaction's triggers and uses; add uses={name}"
    if isinstance(end, Output) and use.use in READING | WRITING and not writes:
        return f"{said}, but {name} is not among the reaction's effects; add effects={name}"
    if isinstance(end, Timed) and use.use in READING and not reads:
        return f"{said}, but {name} is not among the reaction's triggers and uses; add uses={name}"
    if isinstance(end, LogicalAction) and use.use == "schedule" and not writes:
        return f"{said}, but {name} is not among the reaction's effects; add effects={name}"
    return None


def _instead(end: Declared) -> str:
    """What to write instead of an assignment to it."""
    if isinstance(end, Input):
        return FROM_OUTSIDE
    if isinstance(end, Output):
        return f"to send a value write self.{end.name}.set(...)"
    if isinstance(end, Action):
        return f"to let it happen write self.{end.name}.schedule(...)"
    return "choose another name"


def check_assignments(
    function: FunctionType | None, own: Mapping[str, Declared], reserved: frozenset[str], path: str
) -> None:
    """Refuse code that assigns to what its reactor declares, or to an attribute that every reactor has."""
    if function is None:
        return
    for use in uses_of_self(function.__code__):
        at = Location(function.__code__.co_filename, use.line)
        if use.use != ASSIGNED:
            continue
        if use.name in reserved:
            raise DeclarationError(
                f"{path} ({at}): self.{use.name} is assigned to, but the name {use.name!r} is reserved: every "
                "rx.Reactor has it; choose another"
            )
        if use.name in own:
            end = own[use.name]
            raise DeclarationError(
                f"{path} ({at}): self.{use.name} is assigned to, which would replace the {end.word} declared at "
                f"{end.location}; {_instead(end)}"
            )
