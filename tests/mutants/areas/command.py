"""Mistakes in drawing and in the command."""

from tests.mutants.planted import Mistake, Mistakes

MISTAKES = (
    Mistakes(
        "reactors/drawing/folding.py",
        "tests/drawing/test_draw.py tests/drawing/test_what_is_folded.py tests/drawing/test_pictures.py",
        (
            Mistake(
                "members of a bank that differ in deadlines alone are drawn as one",
                "(r.name, r.stops, r.deadline, r.native, r.mode, *r.transitions)",
                "(r.name, r.stops, r.native, r.mode, *r.transitions)",
            ),
            Mistake(
                "members that differ in periods alone are drawn as one",
                "(timer.name, timer.offset, timer.period, timer.mode)",
                "(timer.name, timer.offset, timer.mode)",
            ),
            Mistake(
                "members that differ in spacing alone are drawn as one",
                "a.min_delay, a.min_spacing, a.policy, a.mode)",
                "a.min_delay, a.policy, a.mode)",
            ),
            Mistake(
                "members that differ in delays inside are drawn as one",
                "(c.source[at:], c.target[at:], c.delay, c.physical, c.mode)",
                "(c.source[at:], c.target[at:], c.physical, c.mode)",
            ),
            Mistake("a line of a list is drawn as one", "other if among else", "other if False else"),
            Mistake(
                "members of a list that are connected otherwise are drawn as one",
                "(row, look, wired.get(child.path))",
                "(row, look, None)",
            ),
            Mistake("channels of a wire are not counted", "same.channels += same is not wire", "same.channels += 0"),
        ),
    ),
    Mistakes(
        "reactors/drawing/dot.py",
        "tests/drawing/test_draw.py tests/drawing/test_what_is_folded.py tests/drawing/test_pictures.py",
        (
            Mistake("names are not escaped", "return escape(_printable(text))", "return _printable(text)"),
            Mistake("physical wires look like others", '"style=dotted" if wire.physical else ""', '""'),
        ),
    ),
    Mistakes(
        "reactors/drawing/draw.py",
        "tests/drawing/test_draw.py tests/drawing/test_what_is_folded.py tests/drawing/test_pictures.py tests/command/test_cli.py",
        (
            Mistake(
                "the highest worker of a placement is not drawn",
                "workers = _highest(graph, placement) + 1",
                "workers = max(1, _highest(graph, placement))",
            ),
            Mistake("expand is forgotten", "Detail(expand=expand, depth=depth)", "Detail(expand=False, depth=depth)"),
        ),
    ),
    Mistakes(
        "reactors/command/cli.py",
        "tests/command/test_cli.py",
        (
            *(
                Mistake(f"`reactors run` drops {flag}", old, new)
                for flag, old, new in (
                    ("--workers", '_RUN = (\n    "workers",\n', "_RUN = (\n"),
                    ("--backend", '    "backend",\n    "fast",\n', '    "fast",\n'),
                    ("--fast", '    "backend",\n    "fast",\n', '    "backend",\n'),
                    ("--timeout", '    "timeout",\n    "keepalive",\n', '    "keepalive",\n'),
                    ("--keepalive", '    "timeout",\n    "keepalive",\n', '    "timeout",\n'),
                    ("--seed", '    "seed",\n    "trace",\n', '    "trace",\n'),
                    ("--trace", '    "seed",\n    "trace",\n', '    "seed",\n'),
                    ("--record", '    "record",\n    "replay",\n', '    "replay",\n'),
                    ("--replay", '    "record",\n    "replay",\n', '    "record",\n'),
                    ("--debug", '    "debug",\n    "max_microsteps",\n', '    "max_microsteps",\n'),
                    ("--max-microsteps", '    "debug",\n    "max_microsteps",\n', '    "debug",\n'),
                    ("--placement", 'placement=placement or "auto", **given)', 'placement="auto", **given)'),
                    ("--progress", "run(_made(values), progress=progress,", "run(_made(values), progress=False,"),
                    (
                        "--json",
                        "click.echo(_as_json(result) if as_json else",
                        "click.echo(_as_json(result) if False else",
                    ),
                )
            ),
            Mistake("`reactors graph` drops --depth", '"depth": depth,', '"depth": None,'),
            Mistake("`reactors graph` drops --apg", '"apg": apg,', '"apg": False,'),
            Mistake(
                "`reactors graph` drops --workers",
                '"workers": workers, "placement": placement, "profile"',
                '"workers": None, "placement": placement, "profile"',
            ),
            Mistake(
                "`reactors doctor` is always well",
                'if any(finding.verdict == "bad" for finding in findings):',
                "if False:",
            ),
        ),
    ),
    Mistakes(
        "reactors/command/options.py",
        "tests/command/test_train_command.py",
        (
            Mistake(
                "`reactors train` lets the file come before the command line",
                "return {**own, **self.said}",
                "return {**self.said, **own}",
            ),
        ),
    ),
    Mistakes(
        "reactors/command/train.py",
        "tests/command/test_train_command.py",
        (
            Mistake(
                "`reactors train --resume` takes what changes a run",
                "        if value != was:\n",
                "        if False:\n",
            ),
            Mistake(
                "`reactors train` drops what is said on the command line",
                "watch=watch, **options)",
                "watch=watch)",
            ),
        ),
    ),
    Mistakes(
        "reactors/command/runs.py",
        "tests/command/test_runs_command.py",
        (
            Mistake(
                "`reactors eval` drops --seed",
                "*run.spaces, episodes, seed or 0)\n    if as_json",
                "*run.spaces, episodes, 0)\n    if as_json",
            ),
        ),
    ),
    Mistakes(
        "reactors/command/parameters.py",
        "reactors/command/parameters.py tests/command/test_cli.py",
        (
            Mistake(
                "parameters of a class hide options of the command",
                '        if f"--{flag}" in taken:\n',
                "        if False:\n",
            ),
            Mistake("a flag cannot be switched off", 'flag = f"{flag}/--no-{flag}"', "flag = flag"),
        ),
    ),
)
