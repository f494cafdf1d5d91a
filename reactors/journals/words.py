"""What does one say of two runs that part?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reactors.journals.causes import causes

if TYPE_CHECKING:
    from reactors.journals.comparison import Comparison, Divergence
    from reactors.journals.journal import Journal

_MOST = 12  # settings that are shown


def lines(comparison: Comparison) -> list[str]:
    """What differs before the runs began, then where they part first, and what may be why."""
    one, other = comparison.one, comparison.other
    found = [f"one:   {_run(one)}", f"other: {_run(other)}"]
    settings = comparison.settings
    if settings:
        found += ["", "what differs before they begin:", *(f"  {each}" for each in settings[:_MOST])]
        found += [f"  and {len(settings) - _MOST} more"] * (len(settings) > _MOST)
    found.append("")
    if comparison.divergence is None:
        found.append(f"the same: {comparison.compared:,} executions, and all that they wrote")
    else:
        found += _parting(comparison, comparison.divergence)
    if comparison.longer:
        found += [comparison.longer]
    return found


def _run(journal: Journal) -> str:
    said = journal.header
    on = f"{said['workers']} worker{'s' * (said['workers'] != 1)} ({said['backend']})"
    failed = (journal.end or {}).get("failed")
    return f"{journal.path}: {journal!r:.200}, seed {said['seed']}, {on}" + (
        f"; it ended with {failed}" if failed else ""
    )


def _parting(comparison: Comparison, divergence: Divergence) -> list[str]:
    one = comparison.one
    reaction = one.reactions[divergence.reaction]
    reactor = one.reactors[reaction["reactor"]]
    workers = [int(each.reactions[divergence.reaction]["worker"]) for each in (one, comparison.other)]
    place = f"{reaction['file']}:{reaction['line']}" if "file" in reaction else "a reaction in C"
    where = f"worker {workers[0]}" if workers[0] == workers[1] else f"workers {workers[0]} and {workers[1]}"
    found = [
        f"they part after {comparison.compared:,} equal executions, at {divergence.tag}, in {divergence.path}",
        f"  {reactor['class']}.{reaction['name']} ({place}), on {where}; all that it read was equal",
    ]
    elements = {each["path"]: each for each in one.elements}
    for port in divergence.ports:
        element = elements.get(port, {})
        kind = f"{element['dtype']}, shape {tuple(element['shape'])}" if "dtype" in element else "an object"
        found.append(f"  {port} ({kind}) has other content")
    found += [f"  {each}" for each in divergence.what]
    for number, cause in enumerate(causes(comparison, divergence)[:3]):
        said = "cause" if cause.certain else "likely" if not number else "or"
        found.append(f"  {said}: {cause.kind} - {cause.evidence}")
    return found
