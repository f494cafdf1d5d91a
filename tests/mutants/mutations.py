"""Which mistakes could an implementation of the model make? Each as a change of the reference interpreter's text."""

MUTATIONS: dict[str, tuple[str, str]] = {
    # tags
    "a positive delay keeps the microstep": (
        "return Tag(tag.time + delay, 0) if delay",
        "return Tag(tag.time + delay, tag.microstep) if delay",
    ),
    "no delay is the same tag for what is sent": (
        "arrival = later(sent, link.after or 0)",
        "arrival = later(sent, link.after or 1)",
    ),
    "a delay of zero skips a microstep": (
        "else Tag(tag.time, tag.microstep + 1)",
        "else Tag(tag.time, tag.microstep + 2)",
    ),
    "the least tag is not the next": (
        "return min([self.stop, *(event.tag for event in self.events)",
        "return min([self.stop, *(event.tag for event in self.events[:1])",
    ),
    # one tag
    "all triggers have to be present": (
        "if causes and (is_active",
        "if len(causes) == len(reaction.triggers) and (is_active",
    ),
    "uses trigger": (
        "causes = [trigger for trigger in reaction.triggers if",
        "causes = [trigger for trigger in (*reaction.triggers, *reaction.uses) if",
    ),
    "only the first trigger counts": (
        "for trigger in reaction.triggers if trigger.is_present]",
        "for trigger in reaction.triggers[:1] if trigger.is_present]",
    ),
    "reactions run in reverse": (
        "for reaction in self.order:\n            causes",
        "for reaction in reversed(self.order):\n            causes",
    ),
    "presence outlives the tag": (
        "x.value, x.sent, x.is_present = None, None, False",
        "x.value, x.sent, x.is_present = x.value, x.sent, x.is_present and self.tag.microstep > 3",
    ),
    "values outlive the tag": ("x.value, x.sent, x.is_present = None, None, False", "x.is_present = False"),
    "the first value set stays": (
        "element.value, element.sent, element.is_present = value, value, True",
        "if not element.is_present:\n            element.value, element.sent, element.is_present = value, value, True",
    ),
    "a value set twice is not passed on": (
        "for link in element.outgoing:\n            if not",
        "for link in element.outgoing:\n            if not link.target.is_present and not",
    ),
    "an empty value is absent": (
        "element.value, element.sent, element.is_present = value, value, True",
        "element.value, element.sent, element.is_present = value, value, value is not None or not isinstance(element, Port)",
    ),
    "zero is absent": (
        "element.value, element.sent, element.is_present = value, value, True",
        "element.value, element.sent, element.is_present = value, value, not isinstance(value, int) or value != 0",
    ),
    "reactions of a reactor run in any order": (
        "before[r] = [*earlier, *r.triggers, *r.uses]",
        "before[r] = [*r.triggers, *r.uses]",
    ),
    "what a reaction uses may come later": (
        "before[r] = [*earlier, *r.triggers, *r.uses]",
        "before[r] = [*earlier, *r.triggers]",
    ),
    # events
    "a second event of one tag is lost": ("self.events.append(event.at(later(self.tag, 0)))", "pass"),
    "a second event of one tag overwrites": (
        "self.events.append(event.at(later(self.tag, 0)))",
        "self.put(element, event.value)",
    ),
    "events of one action come out in reverse": (
        "due = [event for event in self.events if event.tag == self.tag]",
        "due = [event for event in reversed(self.events) if event.tag == self.tag]",
    ),
    "an action's value is lost": (
        "self.accept(action, later(self.tag, action.min_delay + delay), value)",
        "self.accept(action, later(self.tag, action.min_delay + delay), None)",
    ),
    "the minimal delay is left out": (
        "self.accept(action, later(self.tag, action.min_delay + delay), value)",
        "self.accept(action, later(self.tag, delay), value)",
    ),
    "the extra delay is left out": (
        "self.accept(action, later(self.tag, action.min_delay + delay), value)",
        "self.accept(action, later(self.tag, action.min_delay), value)",
    ),
    "the longer of two delays counts": ("action.min_delay + delay), value)", "max(action.min_delay, delay)), value)"),
    # spacing
    "spacing is ignored": ("if action.min_spacing is not None and", "if False and"),
    "spacing of zero is none": ("if action.min_spacing is not None and", "if action.min_spacing and"),
    "spacing counts from the first event": (
        "action.last = tag\n            self.add",
        "action.last = action.last or tag\n            self.add",
    ),
    "exactly the spacing is too early": ("earliest > tag.time or", "earliest >= tag.time or"),
    "drop defers": ('if action.policy == "drop":', 'if action.policy == "never":'),
    "replace drops": ("event._replace(value=value) if event is pending else event", "event"),
    "replace moves the event": (
        "event._replace(value=value) if event is pending",
        "event._replace(value=value, tag=tag) if event is pending",
    ),
    "update keeps the old event, too": (
        "self.events = [event for event in self.events if event is not pending]",
        "pass",
    ),
    "update keeps the old tag": (
        "if event is not pending]",
        "if event is not pending]\n                    tag = pending.tag if pending else tag",
    ),
    "what is over is replaced": (
        'if action.policy == "replace" and action.last > self.tag:',
        'if action.policy == "replace":',
    ),
    # timers
    "a timer fires once": (
        "if isinstance(element, Timer) and element.period:",
        "if isinstance(element, Timer) and element.period and self.tag.time == 0:",
    ),
    "a timer forgets its offset": (
        "self.add(Tag(x.offset, 0), x)",
        "self.add(Tag(0, 0), x)",
    ),
    "a timer begins after a period": (
        "self.add(Tag(x.offset, 0), x)",
        "self.add(Tag(x.offset + (x.period or 0), 0), x)",
    ),
    "the period is one longer": (
        "self.add(later(self.tag, element.period), element)",
        "self.add(later(self.tag, element.period + 1), element)",
    ),
    # the end
    "shutdown never runs": ("for x in self.ends:\n                self.put(x, None)", "pass"),
    "startup comes late": ("self.add(START, x)", "self.add(Tag(0, 1), x)"),
    "stop is at the present tag": (
        "*(later(self.tag, s.delay) for s in self.current.stops))",
        "*(later(self.tag, s.delay) if s.delay else self.tag for s in self.current.stops))",
    ),
    "stop is a microstep later": (
        "*(later(self.tag, s.delay) for s in",
        "*(later(later(self.tag, s.delay), 0) for s in",
    ),
    "the last request to stop counts": (
        "self.stop = min(self.stop, *(",
        "self.stop = min(*[FOREVER, FOREVER], *(",
    ),
    "timeout is a microstep late": (
        "FOREVER if timeout is None else Tag(timeout, 0)",
        "FOREVER if timeout is None else Tag(timeout, 1)",
    ),
    "timeout is exclusive": (
        "FOREVER if timeout is None else Tag(timeout, 0)",
        "FOREVER if timeout is None else Tag(max(0, timeout - 1), 0)",
    ),
    "starvation ends at the present tag": (
        "self.stop = min(self.stop, later(self.tag, 0))\n            after",
        "self.stop = min(self.stop, later(later(self.tag, 0), 0))\n            after",
    ),
    "starvation waits a nanosecond": (
        "self.stop = min(self.stop, later(self.tag, 0))\n            after",
        "self.stop = min(self.stop, later(self.tag, 1))\n            after",
    ),
    # connections
    "what travels late is lost if another is under way": (
        "self.add(arrival, x, link.source.sent, link.mode)",
        "self.add(arrival, x, link.source.sent, link.mode) if not any(e.element is x for e in self.events) else None",
    ),
    "delayed values are lost": (
        "self.add(arrival, x, link.source.sent, link.mode)",
        "self.add(arrival, x, None, link.mode)",
    ),
    "every delay is a microstep": ("arrival = later(sent, link.after or 0)", "arrival = later(sent, 0)"),
    "broadcast repeats each": (
        "zip(itertools.cycle(sources) if broadcast else sources,",
        "zip([s for s in sources for _ in range(-(-len(targets) // max(1, len(sources))))] if broadcast else sources,",
    ),
    "interleaved is not": ("flat(alternating(src) if interleaved else src)", "flat(src)"),
    "the last channel of a multiport is lost": (
        "for channel, row in zip(self, value, strict=True):",
        "for channel, row in list(zip(self, value, strict=True))[:-1]:",
    ),
    "a mutable input is shared": ("x.value = copy.deepcopy(x.sent)", "pass"),
    "an array is shared": (
        "value = np.array(value, self.dtype)  # a copy",
        "value = np.asarray(value, self.dtype)  # a copy",
    ),
    # physical time
    "an event from outside takes the next microstep": (
        "max(Tag(when + action.min_delay, 0), later(self.tag, 0))",
        "max(Tag(when + action.min_delay, 1), later(self.tag, 0))",
    ),
    "an event from outside has no minimal delay": (
        "max(Tag(when + action.min_delay, 0)",
        "max(Tag(when, 0)",
    ),
    "a physical connection is none": ("self.after is not None or self.physical", "self.after is not None"),
    "a physical connection counts from the tag": (
        "sent = max(self.tag, Tag(link.source.clock, 0)) if link.physical else self.tag",
        "sent = self.tag",
    ),
    "values of a physical connection overtake one another": (
        "arrival = link.last = max(arrival, later(link.last, 0))",
        "link.last = arrival",
    ),
    "a physical connection counts from the end of the tag": (
        "sent = max(self.tag, Tag(link.source.clock, 0))",
        "sent = max(self.tag, Tag(self.now, 0))",
    ),
    "a resumed physical connection is overtaken": (
        "for link in event.element.incoming:",
        "for link in []:",
    ),
    "a physical connection that begins again waits for what it has lost": (
        "link.last = START if lies_in(link.mode, around) else link.last",
        "pass",
    ),
    "what reactions schedule of physical actions belongs to the next mode": (
        "self.run.arrive(self, self.run.now + delay, value)",
        "self.run.outside.insert(0, (self.run.now + delay, self, value))",
    ),
    "a deadline is missed when it is met": ("self.now > self.tag.time + ns)", "self.now >= self.tag.time + ns)"),
    "a deadline is never missed": (
        "return ns is not None and (ns == 0",
        "return ns is not None and False and (ns == 0",
    ),
    "a deadline of zero is one like others": ("(ns == 0 or self.now", "(self.now"),
    "both run when a deadline is missed": (
        "(reaction.late if late and reaction.late else reaction.body)()",
        "(reaction.late if late and reaction.late else reaction.body)()\n        if late and reaction.late:\n            reaction.body()",
    ),
    "updates of deadlines are forgotten": ("self.run.current.deadline = deadline", "pass"),
    # modes
    "mode= of a reactor means nothing": (
        "with mode or nullcontext():\n            return super",
        "with nullcontext():\n            return super",
    ),
    "mode= of a bank means nothing": (
        "with mode or nullcontext():\n        members",
        "with nullcontext():\n        members",
    ),
    "history resets": ("if by_reset:\n                    self.renew", "if True:\n                    self.renew"),
    "reset is history": ("if by_reset:\n                    self.renew", "if False:\n                    self.renew"),
    "all modes are active": ("(mode.owner.current is mode and is_active(mode.owner.mode))", "True"),
    "modes around do not matter": (
        "(mode.owner.current is mode and is_active(mode.owner.mode))",
        "mode.owner.current is mode",
    ),
    "time goes on in modes that were left": (
        "rest = Tag(left, event.tag.microstep - (0 if left else now.microstep))",
        "rest = Tag(max(0, left - 1), 1)",
    ),
    "events of a mode that is left are lost": ("self.aside.append(event.at(rest))", "pass"),
    "events of a mode that is left happen": (
        "self.run.events = [event for event in self.run.events if is_active(event.mode)]",
        "pass",
    ),
    "reset keeps what was put aside": (
        "self.aside = [event for event in self.aside if not lies_in(event.mode, around)]",
        "pass",
    ),
    "reset keeps what is pending": (
        "self.run.events = [event for event in self.run.events if not lies_in(event.mode, around)]",
        "pass",
    ),
    "reset lets timers go on": ("if lies_in(x.mode, around) and isinstance(x, Timer):", "if False:"),
    "reset leaves modes inside alone": ("if mode.initial:\n                        reactor.current = mode", "pass"),
    "reset reactions of modes inside do not run": (
        "mode.renewed = mode.initial and reactor.mode.renewed",
        "mode.renewed = False",
    ),
    "reset reactions never run": ("(kind is reset and x.mode.renewed)", "(kind is reset and False)"),
    "startup runs on every entry": ("(kind is startup and not x.mode.entered)", "(kind is startup)"),
    "shutdown of modes never entered": (
        "if kind is shutdown and (x.mode is None or x.mode.entered)]",
        "if kind is shutdown]",
    ),
    "shutdown of active modes only": ("or any(cause in self.ends for cause in causes)):", "or False):"),
    "the first of several modes set counts": (
        "mode.owner.wanted = Transition(mode, by_reset)",
        "mode.owner.wanted = mode.owner.wanted or Transition(mode, by_reset)",
    ),
    "a transition takes effect at once": (
        "mode.owner.wanted = Transition(mode, by_reset)",
        "mode.owner.wanted = Transition(mode, by_reset)\n        mode.owner.current = mode",
    ),
    "state is kept": (
        "is_active(mode) and mode.renewed:\n                        state.renew(reactor)",
        "is_active(mode) and mode.renewed:\n                        pass",
    ),
    "state is renewed by history": (
        "if mode is not None and is_active(mode) and mode.renewed:",
        "if mode is not None and is_active(mode) and True:",
    ),
    "connections of modes always carry": ("if not link.delayed and is_active(link.mode):", "if not link.delayed:"),
    "delayed connections of modes always carry": (
        "if link.delayed and link.source.is_present and is_active(link.mode):",
        "if link.delayed and link.source.is_present:",
    ),
    "reactions of different modes are in order": ("if reactor.mode in (x.mode, r.mode) or x.mode is r.mode", "if True"),
}
