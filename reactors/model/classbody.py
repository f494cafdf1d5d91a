"""Is the body of a reactor class correct in itself?

`complete` is called for every new class. It collects the declarations of the class and its bases, base reactions first,
and refuses, with file and line, mistakes that can be found without an instance: names used twice or reserved,
`rx.Input` without parentheses, triggers that are not the reactor's own, and reactions whose code uses what they did not
declare.
"""

from __future__ import annotations

import types
from copy import copy
from inspect import getattr_static, unwrap
from typing import TYPE_CHECKING, Any, NoReturn, cast, get_origin

from reactors.code.functions import own_code
from reactors.errors import DeclarationError, UndeclaredAccessError
from reactors.location import Location
from reactors.model.actions import LogicalAction, PhysicalAction, Timer
from reactors.model.code_check import check_assignments, check_code
from reactors.model.declaration import BODY, Body, Declared, HasPorts, article, spelled
from reactors.model.modes import EACH_ITS_OWN, Mode, State, refuse_inside
from reactors.model.native import Native
from reactors.model.port_types import meant
from reactors.model.ports import Input, Output
from reactors.model.reaction import Reaction, checked_method, not_a_method, reaction_within

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reactors.model.declaration import Owner

DECLARING = (Input, Output, Timer, LogicalAction, PhysicalAction, Mode)


def complete(cls: type[Owner], location: Location, reserved: frozenset[str]) -> None:
    """Check the class `cls`, defined at `location`, and fill in its `_declarations`, `_reactions` and `_states`.

    `reserved` are the names that every reactor has.
    """
    body = cast("Body | None", cls.__dict__.get(BODY))
    if BODY in vars(cls):
        delattr(cls, BODY)
        if body is None:  # unpickled: all this is known already, and about to come
            return
    _check_names(cls, body, location, reserved)
    for decorating in body.decorating if body else ():
        raise DeclarationError(f"{spelled(cls)}: {decorating.call} decorates no method; write {decorating.form}")
    declared = [each for kind in linear(cls) for each in _own(kind)]
    cls._states = tuple(state for state in _states(cls))
    _check_clashes(cls, declared, location)
    cls._declarations = tuple(each for each in declared if not isinstance(each, Reaction))
    reactions = (getattr_static(cls, each.name) for each in declared if isinstance(each, Reaction))
    # One that overrides another has the place of that.
    cls._reactions = tuple(_with_own_late(cls, reaction, location) for reaction in dict.fromkeys(reactions))
    for each in declared:
        if each._inside is not None and each._inside._class in cls.__mro__:
            refuse_inside(each, each._inside)
    own = {each.name: each for each in cls._declarations}
    everything: dict[str, Declared] = {each.name: each for each in declared}
    for reaction in cls._reactions:
        if reaction._class is cls:
            _check_ends(cls, reaction)
            check_code(reaction, own, own_code(reaction.body), f"{spelled(cls)}.{reaction.name}")
            if reaction.late is not None and not isinstance(reaction.late, Native):
                check_code(reaction, own, own_code(reaction.late), f"{spelled(cls)}.{reaction.late.__name__}")
    for name, value in vars(cls).items():
        if isinstance(value, Reaction | types.FunctionType):
            function = own_code(value.body if isinstance(value, Reaction) else value)
            check_assignments(function, everything, reserved, f"{spelled(cls)}.{name}")


def linear(cls: type) -> Iterable[type]:
    """A class and its bases: bases first, left to right, each once."""
    done: dict[type, None] = {}

    def visit(kind: type) -> None:
        for base in kind.__bases__:
            visit(base)
        done.setdefault(kind)

    visit(cls)
    return done


def _own(kind: type) -> Iterable[Declared]:
    """The declarations in the body of a class."""
    return (value for value in vars(kind).values() if isinstance(value, Declared) and value._class is kind)


def _states(cls: type) -> Iterable[State[Any]]:
    """The attributes that a reset renews, without those that a subclass has replaced."""
    for kind in reversed(cls.__mro__):
        for name, value in vars(kind).items():
            if isinstance(value, State) and getattr_static(cls, name) is value:
                yield value


def _check_names(cls: type, body: Body | None, location: Location, reserved: frozenset[str]) -> None:
    kind = spelled(cls)
    if not cls.__dictoffset__:
        raise DeclarationError(
            f"{kind} ({location}) has __slots__, and so no room for its ports; leave them out, or name '__dict__' "
            "among them"
        )
    for name, value in vars(cls).items():
        wrong = _taken(name, value, location) if name in reserved else _wrong(cls, name, value, location)
        if wrong:
            raise DeclarationError(f"{kind}.{name} {wrong}")
    for declaration, _ in body.declared if body else ():
        if declaration._class is None:
            _refuse_lost(kind, declaration, body.name_of(declaration) if body else "", vars(cls), location)


def _taken(name: str, value: object, location: Location) -> str:
    at = value.location if isinstance(value, Declared) else _line(value, location)
    return f"({at}): the name {name!r} is reserved: every rx.Reactor has it; choose another"


def _wrong(cls: type, name: str, value: Any, location: Location) -> str | None:
    """What is wrong with one attribute of a class by itself."""
    if isinstance(value, type) and value in DECLARING:
        return f"({location}) is the class rx.{value.__name__} itself; write {name} = rx.{value.__name__}(...)"
    if get_origin(value) is not None and (written := meant(value)) is not None:
        return f"({location}) is {written[0]}, a type; write {name} = {written[1]}"
    if (found := reaction_within(value)) is not None:
        return f"({found[0].location}): {not_a_method(found[1], name)}"
    if isinstance(value, Declared) and value._class is cls and value.name != name:
        return f"({value.location}) is {spelled(cls)}.{value.name} by another name; declare the two separately"
    if isinstance(value, State) and value.name != name:
        return f"({value.location}) is the rx.State {value.name!r} by another name; declare the two separately"
    if isinstance(value, HasPorts):
        return f"({location}) is {value!r}, made once for all; make one for each in __init__: self.{name} = ..."
    if isinstance(value, list | tuple | dict) and value:
        inside = next(iter(value.values() if isinstance(value, dict) else value))
        if isinstance(inside, Declared):
            return (
                f"({inside.location}) holds several declarations; declare a multiport, {name} = "
                f"rx.{type(inside).__name__}(..., width=...), or give each its own attribute"
            )
        if isinstance(inside, State):
            return f"({inside.location}) holds an rx.State that no attribute holds; {EACH_ITS_OWN}"
    return None


def _refuse_lost(
    kind: str, declaration: Declared, name: str, namespace: Mapping[str, object], location: Location
) -> NoReturn:
    """Refuse a declaration of the class body that has lost its name, or never had one."""
    if not name:
        raise DeclarationError(
            f"{kind} declares {_called(declaration, location)} that no attribute holds; give it a name: name = ..."
        )
    now = namespace.get(name)
    again = "and is deleted" if now is None else f"and as {_called(now, location)}; rename one"
    raise DeclarationError(f"{kind}.{name} is declared twice: as {_called(declaration, location)}, {again}")


def _check_clashes(cls: type, declared: list[Declared], location: Location) -> None:
    for each in declared:
        now = getattr_static(cls, each.name)
        if now is each:
            continue
        if isinstance(each, Reaction) and isinstance(now, Reaction) and each._class in (now._class or cls).__mro__:
            _override(now, each)
        else:
            of = spelled(cast("type", each._class))
            by = spelled(now._class) if isinstance(now, Declared) and now._class else spelled(cls)
            alike = isinstance(each, Reaction) and isinstance(now, Reaction) and _ends(each) == _ends(now)
            raise DeclarationError(
                f"{spelled(cls)} ({location}) has two meanings for {each.name!r}: {_called(each, location)} in {of}, "
                f"and {_called(now, location)} in {by}; "
                + (
                    f"declare it again in {spelled(cls)}, with the same triggers, uses and effects (there it may call "
                    f"{of}.{each.name}(self) and {by}.{each.name}(self)), or rename one"
                    if alike
                    else "rename one (to vary a base's reaction, declare it again with the same triggers, uses and "
                    "effects, or let it call a method and override that)"
                )
            )


def _override(reaction: Reaction[Any], base: Reaction[Any]) -> None:
    """Let a reaction replace one of a base class; it must name the same things, as others may rely on that."""
    for what, mine, its in zip(_TOGETHER, _ends(reaction), _ends(base), strict=True):
        if mine != its:
            raise DeclarationError(
                f"{reaction.where()} overrides {base.where()}, and has {what} {_listed(mine)} where that has "
                f"{_listed(its)}; a reaction that overrides another names the same ones in the same order"
            )
    reaction._among = base._among
    if reaction.late is None:
        reaction.limit, reaction.late = base.limit, base.late


def _with_own_late(cls: type, reaction: Reaction[Any], location: Location) -> Reaction[Any]:
    """The reaction as `cls` has it: the method for a missed deadline may be overridden, like any other."""
    named = ((kind, name) for kind in linear(cls) for name, value in vars(kind).items() if value is reaction.late)
    kind, name = next(named, (cls, "")) if reaction.late is not None else (cls, "")
    late = getattr_static(cls, name) if name else reaction.late
    if late is reaction.late:
        return reaction
    where = f"{spelled(cls)}.{name}"
    own = copy(reaction)
    own._class, own.late = cls, late
    if isinstance(late, Native):
        return own
    if own_code(late) is None:
        raise DeclarationError(
            f"{where} is {_called(late, location)}, but {spelled(kind)}.{name} is the method that runs when "
            f"the deadline of {reaction.where()} is missed; write def {name}(self), or give the other another name"
        )
    checked_method(late, where)
    return own


_TOGETHER = ("triggers", "uses", "effects", "the mode")


def _ends(reaction: Reaction[Any]) -> tuple[list[str], ...]:
    """What a reaction of a class names, and its mode."""
    effects = [*reaction.effects, *reaction.transitions, *([reaction.stop] if reaction.stop else [])]
    groups = (reaction.triggers, reaction.uses, effects, [reaction._mode] if reaction._mode else [])
    return tuple([end.name if isinstance(end, Declared) else repr(end) for end in group] for group in groups)


def _listed(names: list[str]) -> str:
    return ", ".join(names) or "none"


def _called(thing: object, otherwise: Location) -> str:
    if isinstance(thing, Declared):
        return f"{article(thing.word)} ({thing.location})"
    what = "a method" if isinstance(thing, types.FunctionType) else f"{thing!r}"
    return f"{what} ({_line(thing, otherwise)})"


def _line(thing: object, otherwise: Location) -> Location:
    plain = unwrap(thing) if callable(thing) else thing
    if isinstance(plain, property) and plain.fget is not None:
        plain = plain.fget
    code = getattr(plain, "__code__", None)
    return Location(code.co_filename, code.co_firstlineno) if isinstance(code, types.CodeType) else otherwise


def _check_ends(cls: type, reaction: Reaction[Any]) -> None:
    """Check that a reaction names only what its class declares, inputs as causes and outputs as effects."""
    for group in ("triggers", "uses", "effects"):
        for end in getattr(reaction, group):
            if not isinstance(end, Declared):
                continue
            owner = end._class
            if owner is None or end._owner is not None or not issubclass(cls, owner):
                raise UndeclaredAccessError(
                    f"{reaction.where()} has {end.where()} in {group}, which {spelled(cls)} does not declare; a "
                    "reaction in a class can use what its class declares; for ports of contained reactors call "
                    "self.add_reaction in __init__"
                )
            if group == "effects" and isinstance(end, Input):
                raise UndeclaredAccessError(
                    f"{reaction.where()} has the input {end.where()} of its own reactor in effects, but that is set "
                    "from outside; it can set outputs of its reactor, inputs of contained reactors, and schedule "
                    "actions"
                )
            if group != "effects" and isinstance(end, Output):
                raise UndeclaredAccessError(
                    f"{reaction.where()} has the output {end.where()} of its own reactor in {group}, but that is read "
                    "outside; it can read inputs of its reactor, outputs of contained reactors, timers and actions"
                )
