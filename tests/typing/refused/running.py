"""Running, results, steps, and what tests are written with."""

import reactors as rx
from reactors import testing
from reactors.stepwise import Stepwise


class Main(rx.Reactor):
    tick = rx.Timer(0, "1 ms")
    bell = rx.PhysicalAction(str)
    n = 0


main = Main()
rx.run(Main)  # error
rx.run(main, workers="2")  # error
rx.run(main, backend="threads")  # error
rx.run(main, placement=1)  # error
rx.run(main, placement={"main": "a"})  # error
rx.run(main, timeout=1.5)  # error
rx.run(main, time_out="1 s")  # error
rx.run(main, clock=rx.VirtualClock)  # error
rx.run(main, progress=lambda tag: None)  # error
rx.run(main, seed="1")  # error
result = rx.run(main)
result.digset  # error
result.digest + 1  # error
result.tags = 3  # error
result.statistics[0].secnods  # error
result.final_tag.time.upper()  # error
result.summary("x")  # error
rx.VirtualClock(True)  # error
clock = rx.VirtualClock()
clock.at("1 s", main.tick)  # error
clock.at(1.5, main.bell)  # error
graph = rx.Graph(main)
graph.levles  # error
graph.levels[0].upper()  # error
graph.draw(5)  # error
rx.Graph("main")  # error
rx.rnu(main)  # error
steps = Stepwise(main, placement=1)  # error
Stepwise(main, backend="thread")  # error
steps.advance("1 s")  # error
steps.result.tags  # error
steps.over()  # error
testing.trace(main, backend="fork")  # error
testing.trace(main, bckend="inline")  # error
testing.trace(main, workers="2")  # error
testing.trace(main, timeout=0.5)  # error
testing.trace(main)[0].tagg  # error
testing.trace(main)[0].late.upper()  # error
testing.assert_deterministic(main)  # error
testing.assert_deterministic(Main, backends=("fork",))  # error
testing.assert_deterministic(Main, workers=2)  # error
testing.assert_deterministic(Main, outcome=lambda it: it.m)  # error
testing.assert_deterministic(Main, backend="thread")  # error
testing.nothing_lef()  # error
testing.events(main.tick, until="1 s")  # error
testing.values(main)  # error
with testing.nothing_left(seconds="1"):  # error
    pass
