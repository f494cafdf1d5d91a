"""From `main` to rows of integers: every error that needs no run is found here. Nothing here draws or runs.

A pipeline, which `rx.Graph` goes through from top to bottom. Each stage takes the rows of those before it, and gives
rows of its own; none changes a row, and none looks a parameter up again:

1. growing   `tree` walks the reactors, of which `contents` reads one: a `Tree` of `Place`s, elements and modes.
             Then `connections` gives a `Wire` for each channel that is connected, and `reactions` an `Enlisted` for
             each reaction. Parameters, durations and modes are looked up here, and are numbers afterwards.
2. relays    `relays` puts reactors in the place of connections that belong to modes: the same rows, a few more.
3. wiring    `wiring` joins each port with what drives it: a `Wiring`.
4. resolving `sources` follows each port up to the one that is written: elements with a source and an offset.
5. ordering  `precedence` sorts the reactions: `Enlisted` with levels and inferred deadlines, in the order of a tag.
6. checking  `advice` warns of what can have no effect; it gives nothing.

Beside it, `claim` says who runs a program, `placing` on which worker each reactor is, `workers` how many there are.
"""
