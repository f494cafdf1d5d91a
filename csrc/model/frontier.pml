/* May three workers trust what they read of each other? The frontier protocol, checked in every interleaving.
 *
 * Each worker is a process. It does what team.c does: take messages, find a tag, begin it, go
 * through its reactions by rank, send, publish. Whether a reaction that runs writes to a channel is left open, so one
 * graph stands for all programs with its wires. check.sh runs it on several graphs, and with errors planted.
 *
 *   here                          there
 *   head, passed                  rx_line: head; passed and rank packed into one number (MARK)
 *   publish, tell                 rx__publish
 *   calm                          rx_line.version, see below
 *   look_at_lines, snapshot       collect and rx__snapshot in frontier.c; bound and may are kept as there
 *   COVERED                       rx__covered
 *   ring, drain, deliver          channel.c: the ring of an ordered pair of workers, rx__drain; tags.c: rx__deliver
 *   idle                          may_begin in team.c;   begin_tag: begin_shared;   checkpoint: inputs_complete
 *   untold, tell_where_it_stands  rx_peers.untold and tell in team.c: a worker may go from tag to tag and publish later;
 *                                 how many tags later is left open, and LATE says which worker
 *   starved                       rx_image.starved and starved_at
 *   quiet                         rx__wait and rx__wake: who waits looks again whenever another has published
 *
 * What lies between two steps of a process (a statement, an atomic or a d_step) may be interrupted by the others; a step
 * touches the memory of others once. Where it seems to touch more, nothing could show the difference:
 *
 * - A publication is one step, for a line is read under its version only. That is checked in channel.pml, and so is that
 *   the first message of a ring can be read by a third worker while its slot is used again.
 * - Versions are not counted. A bit in `calm` says of the reader that no head has changed since it read the versions:
 *   what comparing them shows. Publishing what was passed, or taking a message, does not clear it, though a version
 *   moves in C: the heads alone must do. A snapshot that has failed begins again at once instead of reading on.
 * - As the heads are then the same all through a snapshot that succeeds, all are read in the first step of it. The rings
 *   change meanwhile; each is read in its own step. The second look at the versions falls into the last of them: a
 *   publication right after it is one after the snapshot.
 * - Of two messages in one ring the C core may take both at once; here they go one by one.
 *
 * What is asserted: no message is sent for what its reader has already passed (PASSED BY, at the sender, the moment it
 * happens); each worker begins its tags in increasing order; a reaction that is reached sees of each channel exactly what
 * was sent for that tag (EXACT). By induction over the tags and ranks every run is then the sequential one. That all
 * workers come to the end, having done the stop tag, is spin's check for invalid end states; that they do not run in
 * circles, its check for cycles: who waits is blocked until another publishes, so a run without a cycle ends.
 *
 * Bounded: three workers, a few wires and ranks, events of one's own in the masks of `events`, nothing sent beyond UNTIL,
 * rings of CAPACITY. Not here: a timeout (idle, beyond, stop_is_certain), stop_waits, physical actions and the inbox,
 * values and their slots. Whom a publication wakes, and how one sleeps, is in park.pml.
 *
 * Memory is sequentially consistent here. C11 acquire and release are enough for the protocol, since a snapshot only has
 * to be closed under "happened before", not to have existed at one instant; the memory orders are csrc/tests' business. */

/* ---- tags and delays: time * 4 + microstep ---- */

#define ZERO      0
#define MICROSTEP 1
#define AFTER(d)  ((d) * 4)                     /* drops the microstep of the tag it is added to */
#define NO_PATH   63
#define FOREVER   63
#define TAG(time, micro)  ((time) * 4 + (micro))
#define AT(time, micro)   (1 << TAG(time, micro))
#define LAST      TAG(2, 3)
#define SENDABLE(g)       ((g) <= UNTIL && (g) % 4 <= 1 && (g) <= stop)   /* beyond, the program sends nothing */
#define LATER(g, delay)   ((g) >= FOREVER || (delay) >= NO_PATH -> FOREVER : \
                           ((delay) >= 4 -> (g) / 4 * 4 + (delay) : (g) + (delay)))
#define MARK(g, rank)     ((g) * 4 + (rank))    /* all of the tags before g that were begun, and of g the ranks before */
#define END       3
#define MIN(a, b) ((a) < (b) -> (a) : (b))
#define MAX(a, b) ((a) > (b) -> (a) : (b))

/* ---- the graphs: channel, ring, writer and its rank, reader and its rank, delay; worker, ranks, its own events ---- */

#ifndef LATE
#define LATE     WORKERS                        /* which worker may publish later, see untold; none */
#endif
#ifndef CAPACITY
#define CAPACITY 1
#endif

#if defined(CYCLE)              /* 0 and 1 in a zero-delay cycle; 2 hangs on it, and comes back a microstep later */
#define UNTIL    TAG(1, 1)
#define CHANNELS 4
#define RINGS    4
#define GRAPH \
	wire(0, 0,  0, 0,  1, 0, ZERO); \
	wire(1, 1,  1, 0,  0, 1, ZERO); \
	wire(2, 2,  0, 1,  2, 0, ZERO); \
	wire(3, 3,  2, 0,  1, 1, MICROSTEP); \
	events(0, 2, AT(0, 0) | AT(1, 0)); \
	events(1, 2, 0); \
	events(2, 1, AT(1, 0))
#elif defined(FEEDBACK)         /* a loop through all three, closed by a microstep */
#define UNTIL    TAG(1, 1)
#define CHANNELS 3
#define RINGS    3
#define GRAPH \
	wire(0, 0,  0, 0,  1, 0, ZERO); \
	wire(1, 1,  1, 0,  2, 0, ZERO); \
	wire(2, 2,  2, 0,  0, 0, MICROSTEP); \
	events(0, 1, AT(0, 0) | AT(1, 0)); \
	events(1, 1, 0); \
	events(2, 1, AT(0, 1))
#elif defined(DELAY)            /* two microsteps of 0 meet at one tag of 1 */
#define UNTIL    TAG(1, 0)
#define CHANNELS 3
#define RINGS    3
#define GRAPH \
	wire(0, 0,  0, 0,  1, 0, AFTER(1)); \
	wire(1, 1,  1, 0,  2, 0, ZERO); \
	wire(2, 2,  2, 0,  0, 0, MICROSTEP); \
	events(0, 1, AT(0, 0)); \
	events(1, 1, AT(1, 0)); \
	events(2, 1, AT(0, 0))
#elif defined(EXCHANGE)         /* 0 and 1 send each other more than a ring holds, before either reads */
#define UNTIL    TAG(1, 0)
#define CHANNELS 4
#define RINGS    2
#define GRAPH \
	wire(0, 0,  0, 0,  1, 0, MICROSTEP); \
	wire(1, 0,  0, 0,  1, 0, AFTER(1)); \
	wire(2, 1,  1, 0,  0, 0, MICROSTEP); \
	wire(3, 1,  1, 0,  0, 0, AFTER(1)); \
	events(0, 1, AT(0, 0)); \
	events(1, 1, AT(0, 0)); \
	events(2, 0, 0)             /* no third worker: it would only look on */
#elif defined(MIXED)            /* two delays in one ring: its first message is taken to arrive sooner than it does */
#define UNTIL    TAG(1, 1)
#define CHANNELS 4
#define RINGS    3
#define GRAPH \
	wire(0, 0,  0, 0,  1, 0, ZERO); \
	wire(1, 0,  0, 0,  1, 0, AFTER(1)); \
	wire(2, 1,  1, 0,  2, 0, ZERO); \
	wire(3, 2,  2, 0,  1, 1, MICROSTEP); \
	events(0, 1, AT(0, 0)); \
	events(1, 2, AT(1, 0)); \
	events(2, 1, AT(0, 1))
#elif defined(REPLY)            /* 1 answers 0, who has a later tag of its own and no other to look at */
#define UNTIL    TAG(0, 1)
#define CHANNELS 3
#define RINGS    3
#define GRAPH \
	wire(0, 0,  0, 0,  1, 0, ZERO); \
	wire(1, 1,  1, 0,  0, 0, MICROSTEP); \
	wire(2, 2,  1, 0,  2, 0, MICROSTEP); \
	events(0, 1, AT(0, 0) | AT(1, 0)); \
	events(1, 1, 0); \
	events(2, 1, 0)
#elif defined(ONWARD)           /* 1 goes on by itself until it waits for 0, which waits to hear of one of its tags before */
#define UNTIL    TAG(2, 0)
#define CHANNELS 3
#define RINGS    2
#define GRAPH \
	wire(0, 0,  0, 0,  1, 0, ZERO); \
	wire(1, 1,  1, 0,  0, 0, AFTER(2)); \
	wire(2, 0,  0, 0,  1, 0, MICROSTEP); \
	events(0, 1, AT(2, 0)); \
	events(1, 1, AT(0, 0) | AT(1, 0) | AT(2, 0)); \
	events(2, 0, 0)             /* no third worker: it would only look on */
#elif defined(STOP)             /* a zero-delay cycle and a third worker run out of events, and stop */
#define UNTIL    TAG(0, 1)
#define CHANNELS 3
#define RINGS    3
#define GRAPH \
	wire(0, 0,  0, 0,  1, 0, ZERO); \
	wire(1, 1,  1, 0,  0, 1, ZERO); \
	wire(2, 2,  1, 0,  2, 0, ZERO); \
	events(0, 2, AT(0, 0)); \
	events(1, 1, 0); \
	events(2, 1, 0)
#else                           /* PIPELINE: 0 to 1 to 2, with tags of its own at 2 */
#define UNTIL    TAG(1, 0)
#define CHANNELS 3
#define RINGS    2
#define GRAPH \
	wire(0, 0,  0, 0,  1, 0, ZERO); \
	wire(1, 0,  0, 0,  1, 1, AFTER(1)); \
	wire(2, 1,  1, 0,  2, 0, ZERO); \
	events(0, 1, AT(0, 0) | AT(1, 0)); \
	events(1, 2, 0); \
	events(2, 1, AT(1, 0))
#endif

#define WORKERS 3
#define RANKS   2               /* at most, in a worker */

hidden byte ring_of[CHANNELS], writer[CHANNELS], write_rank[CHANNELS], reader[CHANNELS], read_rank[CHANNELS];
hidden byte delay[CHANNELS];
hidden byte ring_to[RINGS], ring_delay[RINGS];  /* ring_delay: the least of its channels */
hidden byte D[WORKERS * WORKERS];               /* the least delay over all paths */
hidden byte cycle[WORKERS];                     /* the least delay from a worker through another back to it */
hidden byte ranks[WORKERS];
hidden short timer[WORKERS];
hidden byte i, j, k;                            /* of init alone */

/* The next ring to me, the next ring to another, the next channel that my reaction of this rank reads or writes: at or
 * after a number; RINGS or CHANNELS if there is none. */
hidden byte next_in[WORKERS * (RINGS + 1)], next_other[WORKERS * (RINGS + 1)];
hidden byte next_read[WORKERS * RANKS * (CHANNELS + 1)], next_write[WORKERS * RANKS * (CHANNELS + 1)];
#define IN(x)    next_in[me * (RINGS + 1) + (x)]
#define OTHER(x) next_other[me * (RINGS + 1) + (x)]
#define READ(c)  next_read[(me * RANKS + rank) * (CHANNELS + 1) + (c)]
#define WRITE(c) next_write[(me * RANKS + rank) * (CHANNELS + 1) + (c)]
#define MATE(i)  ((i) != me && D[(i) * WORKERS + me] == ZERO && D[me * WORKERS + (i)] == ZERO)
#define HAS_MATE (MATE(0) || MATE(1) || MATE(2))

/* ---- what is shared ---- */

chan ring[RINGS] = [CAPACITY] of { byte, byte };        /* send tag, channel */
byte head[WORKERS];
byte passed[WORKERS];
byte starved = FOREVER;         /* the stop tag, once a worker has found that all is still */
byte calm;                      /* bit of a worker: in a snapshot, and no head has changed since it began */
byte quiet;                     /* bit of a worker: it would wait now, for none has published since it began to look */

/* Only the assertions read these. */
byte reached[WORKERS];          /* MARK of the first reaction not yet begun */
short unseen[CHANNELS];         /* bits of tags: sent for then, not yet seen by the reader */

#define ME (1 << me)
#ifdef SINGLE_COLLECT
#define STILL true
#else
#define STILL (calm & ME)
#endif

inline tell() { quiet = quiet & ME }
inline publish(h) { head[me] = h; calm = calm & ME; tell(); printf("%d: head %d\n", me, h) }

/* ---- one worker ---- */

/* Its own next event, of those queued. */
#if CHANNELS == 3
#define DUE (ticks | due[0] | due[1] | due[2])
#else
#define DUE (ticks | due[0] | due[1] | due[2] | due[3])
#endif
inline find_own()
{
	own = 0;
	do
	:: own <= LAST && !((DUE >> own) & 1) -> own++
	:: else -> break
	od;
	own = (own > LAST -> FOREVER : own)
}

/* Present now if it is for this tag, else queued; a second one for the same tag moves on one microstep. */
inline deliver()
{
	if
	:: running && t == g && !((here >> ch) & 1) ->
		here = here | (1 << ch)
	:: else ->
		t = (running && t == g -> t + 1 : t);
		do
		:: (due[ch] >> t) & 1 -> t++
		:: else -> break
		od;
		assert(t <= LAST);
		due[ch] = due[ch] | (1 << t);
		own = (!running && t < own -> t : own)
	fi
}

/* Empties each of its rings in turn. The lower head comes first, then the message is gone. */
inline drain()
{
	do
	:: d_step { IN(x) < RINGS && len(ring[IN(x)]) > 0 ->
			x = IN(x);
#ifndef HEAD_LOWERED_LATE
			ring[x]?<s, ch>;
			t = LATER(s, delay[ch]);
			if :: t < head[me] -> publish(t) :: else fi;
			s = 0; ch = 0; t = 0;
#endif
			looked = false; took = !running
		}
		d_step { ring[x]?s, ch;
			t = LATER(s, delay[ch]);
			printf("%d takes channel %d, sent at (%d, %d)\n", me, ch, s / 4, s % 4);
			deliver();
			s = 0; ch = 0; t = 0;
#ifndef SILENT_POP
			tell()
#endif
		}
#ifdef HEAD_LOWERED_LATE
		d_step { if :: !running && own < head[me] -> publish(own) :: else fi }
#endif
	:: d_step { IN(x) < RINGS && len(ring[IN(x)]) == 0 && IN(IN(x) + 1) < RINGS -> looked = false; x = IN(x) + 1 }
	:: atomic { (IN(x) == RINGS || len(ring[IN(x)]) == 0 && IN(IN(x) + 1) == RINGS) -> looked = false; x = 0; break }
	od
}

/* A worker that has yet to do the stop tag of a starvation will act there, whatever its head still says. */
#ifdef STARVED_CACHE
#define HEAD(i) head[i]
#else
#define HEAD(i) (stop < FOREVER && passed[i] < MARK(stop, END) -> MIN(head[i], stop) : head[i])
#endif

/* Its first message bounds what is in a ring, as if it had come by the fastest channel. */
inline see_ring()
{
	ring[x]?<s, ch>;
	t = LATER(s, ring_delay[x]);
	view[ring_to[x]] = MIN(t, view[ring_to[x]]);
	s = 0; t = 0; ch = 0
}

inline look_at_lines()
{
	calm = calm | ME;
	view[0] = HEAD(0); view[1] = HEAD(1); view[2] = HEAD(2);
	x = IN(0);
	do
	:: x < RINGS && len(ring[x]) > 0 -> see_ring(); x = IN(x + 1)
	:: x < RINGS && len(ring[x]) == 0 -> x = IN(x + 1)
	:: x == RINGS -> break
	od;
	x = 0
}

#define FROM(i, j)  LATER(view[i], D[(i) * WORKERS + (j)])
#define EARLIEST(p) MIN(MIN(FROM(0, p), FROM(1, p)), FROM(2, p))
#define FORGET(p)   may[p] = (LATER(may[p], AFTER(1)) > g -> may[p] : 0)
#ifdef BOUND_WITHOUT_ME
#define TO_ME(i)    (i == me -> FOREVER : FROM(i, me))
#else
#define TO_ME(i)    (i == me -> LATER(view[me], cycle[me]) : FROM(i, me))
#endif
#define KEEP(p)     may[p] = (p == me -> 0 : MAX(may[p], EARLIEST(p)))

/* From view, all workers' earliest acts, follow the bound, for each worker the tag before which nothing can make it
 * act, and the earliest act of a mate. */
inline conclude()
{
	s = FOREVER;
	t = TO_ME(0); s = MIN(s, t);
	t = TO_ME(1); s = MIN(s, t);
	t = TO_ME(2); s = MIN(s, t);
	still = !running && view[0] == FOREVER && view[1] == FOREVER && view[2] == FOREVER;
	printf("%d: snapshot %d %d %d, bound %d, was %d\n", me, view[0], view[1], view[2], s, bound);
	bound = MAX(bound, s + 1);
	KEEP(0); KEEP(1); KEEP(2);
	near = (running -> 0 : FOREVER);
#ifndef NO_MATES
	if :: MATE(0) -> near = MIN(near, view[0]) :: else fi;
	if :: MATE(1) -> near = MIN(near, view[1]) :: else fi;
	if :: MATE(2) -> near = MIN(near, view[2]) :: else fi;
#endif
	s = 0; t = 0;
	view[0] = 0; view[1] = 0; view[2] = 0;
	calm = calm & ~ME;
	looked = running
}

/* The rings of the others, one by one. */
inline look_at_rings()
{
	do
	:: d_step { !STILL && OTHER(x) < RINGS -> look_at_lines() }
	:: d_step { STILL && OTHER(x) < RINGS ->
			x = OTHER(x);
			if
			:: len(ring[x]) == 0
			:: len(ring[x]) > 0 -> see_ring()
			fi;
			x++;
			if :: OTHER(x) == RINGS -> conclude() :: else fi
		}
	:: atomic { OTHER(x) == RINGS -> x = 0; break }
	od
}

/* Is the channel complete at g? Nothing arrives at g at all, or nothing can make its producer act early enough (KNOWN,
 * from the last snapshot); or the producer has passed the last reaction that could have sent it. */
#ifdef KEPT_MICROSTEP
#define PASSED(c) (passed[writer[c]] > MARK(g - delay[c], write_rank[c]))
#else
#define PASSED(c) (delay[c] < AFTER(1) -> passed[writer[c]] > MARK(g - delay[c], write_rank[c]) : \
                   passed[writer[c]] >= MARK(g - delay[c] + 4, 0))
#endif
#define NEVER(c)  (delay[c] < AFTER(1) -> g % 4 < delay[c] : g % 4 != 0 || g < delay[c])
#define KNOWN(c)  (NEVER(c) || LATER(may[writer[c]], delay[c]) > g)

inline progress(mark)
{
	if
#ifndef UNTOLD_WHILE_WAITING
	:: untold -> passed[me] = mark; publish(g); untold = false
#endif
	:: !untold && passed[me] < mark -> passed[me] = mark; tell()
	:: else
	fi
}
#ifdef UNTOLD_AT_REST
#define AT_REST    false
#else
#define AT_REST    untold
#endif
inline tell_where_it_stands() { if :: AT_REST -> passed[me] = reached[me] - 1; publish(own); untold = false :: else fi }

inline begin_tag()
{
	assert(MARK(g, 0) >= reached[me]);          /* in increasing order */
	printf("%d begins (%d, %d)\n", me, g / 4, g % 4);
	reached[me] = MARK(g, 0);
	running = true;
	visiting = !((me == 0 || may[0] > g) && (me == 1 || may[1] > g) && (me == 2 || may[2] > g));
	bound = (bound > g + 1 -> bound : 0);           /* forget what is of no use any more, for fewer states */
	FORGET(0); FORGET(1); FORGET(2);
	near = 0; own = 0; still = false;
	here = ((ticks >> g) & 1) << 7;
	ticks = ticks & ~(1 << g);
	do
	:: c < CHANNELS ->
		here = here | (((due[c] >> g) & 1) << c);
		due[c] = due[c] & ~(1 << g);
		c++
	:: else -> break
	od;
	c = 0;
	quiet = quiet & ~ME;
	if
	:: untold
	:: else -> passed[me] = MARK(g, 0); if :: head[me] != g -> publish(g) :: else -> tell() fi
	fi
}

/* The reaction of this rank is reached: what does it see, does it run, and to which channels does it write then? */
inline react()
{
	quiet = quiet & ~ME;
	reached[me] = MARK(g, rank + 1);
	runs = (here >> 7) && rank == 0;
	do
	:: c < CHANNELS ->
		if
		:: reader[c] == me && read_rank[c] == rank ->
			assert(((here >> c) & 1) == ((unseen[c] >> g) & 1));                    /* EXACT */
			unseen[c] = unseen[c] & ~(1 << g);
			runs = runs || ((here >> c) & 1)
		:: else
		fi;
		c++
	:: else -> c = 0; break
	od;
	do
	:: runs && WRITE(c) < CHANNELS && SENDABLE(LATER(g, delay[WRITE(c)])) -> writes = writes | (1 << WRITE(c)); c = WRITE(c) + 1
	:: WRITE(c) < CHANNELS -> c = WRITE(c) + 1
	:: WRITE(c) == CHANNELS -> break
	od;
	c = 0;
	do
	:: c < CHANNELS && !((writes >> c) & 1) -> c++
	:: else -> break
	od
}

inline send()
{
	t = LATER(g, delay[c]);
	assert(MARK(t, read_rank[c]) >= reached[reader[c]]);                            /* PASSED BY */
	do
	:: (unseen[c] >> t) & 1 -> t++
	:: else -> break
	od;
	printf("%d at (%d, %d): channel %d, for (%d, %d) to %d\n", me, g / 4, g % 4, c, t / 4, t % 4, reader[c]);
	unseen[c] = unseen[c] | (1 << t);
	t = 0;
	quiet = quiet & ~ME;
	ring[ring_of[c]]!g, c;
	do
	:: c++; if :: c == CHANNELS || ((writes >> c) & 1) -> break :: else fi
	od
}

#ifdef STOP             /* starvation ends with a stop tag, at which every worker has an event; without, it is the end */
#define KNOWS      (stop < FOREVER || starved == FOREVER)
inline learn_of_stop()
{
	if
	:: !KNOWS ->
		stop = starved;
		ticks = ticks | (1 << stop);
		own = MIN(own, stop);
		publish(own);
#ifndef STARVED_CACHE
		bound = MIN(bound, stop + 1);
		may[0] = MIN(may[0], stop); may[1] = MIN(may[1], stop); may[2] = MIN(may[2], stop)
#endif
	:: else
	fi
}
inline starve()
{
	starved = MAX(MAX(passed[0], passed[1]), passed[2]);
	starved = starved / 4 + 1;
	printf("%d: nothing left, stop at (%d, %d)\n", me, starved / 4, starved % 4);
	tell();
	quiet = quiet & ~ME
}
#endif

#define BEGINS     (g < FOREVER && MARK(g, 0) >= reached[me] && g < bound)
#define STARVES    (still && stop == FOREVER && starved == FOREVER)
#define ROOM       (len(ring[ring_of[c]]) < CAPACITY)
#define NEXT_READ  (visiting && READ(c) < CHANNELS)

proctype worker(byte me)
{
	short due[CHANNELS];            /* bits of tags: what has arrived of a channel */
	short ticks;                    /* its own events */
	byte here;                      /* bits of channels: present at this tag; the eighth is its own event */
	byte writes;                    /* bits of channels: written by the reaction that runs */
	byte view[WORKERS], may[WORKERS];
	byte bound;                     /* tags before it may begin, of its own events */
	byte own, g, near, rank, c, x, s, t, ch;
	byte stop = FOREVER;
	bool running, visiting, runs, looked, took, still;
	bool untold;                    /* what others see of it is older */

	d_step { ticks = timer[me]; own = head[me]; quiet = quiet | ME };

idle:	drain();
#ifdef STOP
	atomic { learn_of_stop() };
#endif
	if
	:: atomic { !HAS_MATE && own < bound && own < FOREVER -> took = false; g = own; goto found }
	:: d_step { HAS_MATE || own >= bound || own == FOREVER -> tell_where_it_stands(); took = false; near = FOREVER; look_at_lines() }
	fi;
	look_at_rings();
	atomic {
		g = MIN(own, near);
		near = 0;
#if defined(STOP) && !defined(STARVED_READ_ONCE)
		if :: !KNOWS -> g = 0; still = false; goto idle :: else fi;
#endif
		if :: !BEGINS -> goto wait :: else fi
	};
found:
#ifndef DRAINED_BEFORE_ONLY
	drain();
#endif
	if
	:: atomic { took -> took = false; g = 0; still = false; goto idle }
	:: d_step { !took -> begin_tag() }
	fi;
	drain();

	do
	:: atomic { NEXT_READ && KNOWN(READ(c)) -> c = READ(c) + 1 }
	:: atomic { NEXT_READ && !KNOWN(READ(c)) && PASSED(READ(c)) -> looked = true; c = READ(c) + 1 }
	:: d_step { NEXT_READ && !KNOWN(READ(c)) && !PASSED(READ(c)) -> quiet = quiet | ME; progress(MARK(g, rank)); look_at_lines() };
		look_at_rings();
		if
		:: atomic { KNOWN(READ(c)) -> c = READ(c) + 1 }
		:: atomic { !KNOWN(READ(c)) -> skip }; drain(); !(quiet & ME)
		fi
	:: atomic { !NEXT_READ -> c = 0; if :: !looked -> goto body :: else fi };
#ifndef COVERED_UNDRAINED
		drain();
#else
		looked = false;
#endif
body:		atomic {
			react();
#ifdef PASSED_EARLY
			if :: runs && WRITE(0) < CHANNELS -> progress(MARK(g, rank + 1)) :: else fi;
#endif
#ifdef HEAD_BEFORE_MESSAGE
			if :: rank + 1 == ranks[me] -> find_own(); publish(own); own = 0 :: else fi;
#endif
		};
		do
		:: atomic { c < CHANNELS && ROOM -> send() }
		:: d_step { c < CHANNELS && !ROOM -> if :: untold -> progress(MARK(g, rank)) :: else -> tell() fi };
			do
			:: atomic { ROOM -> break }
			:: d_step { !ROOM -> quiet = quiet | ME };
#ifndef FULL_UNDRAINED
				drain();
#endif
				!(quiet & ME)
			od
		:: atomic { c == CHANNELS ->
			c = 0; writes = 0;
			if :: runs && WRITE(0) < CHANNELS -> progress(MARK(g, rank + 1)) :: else fi;
			runs = false;
			rank++;
			if :: rank == ranks[me] -> goto over :: else -> break fi }
		od
	od;

over:	atomic {
		running = false; visiting = false; rank = 0; here = 0;
		find_own();
		reached[me] = MARK(g + 1, 0);
		own = (g == stop -> FOREVER : own);
		if
		:: me == LATE && g != stop && !HAS_MATE -> untold = true
		:: true -> untold = false; passed[me] = (g == stop -> MARK(FOREVER, END) : MARK(g, END)); publish(own)
		fi;
		quiet = quiet | ME;
		if :: g == stop -> goto end :: else -> g = 0; goto idle fi
	};

wait:	if
#ifdef STOP
	:: d_step { STARVES -> starve(); still = false; g = 0 }
#else
	:: atomic { STARVES -> goto end }
#endif
	:: atomic { !STARVES -> still = false; g = 0 }
	fi;
	atomic { !(quiet & ME) -> quiet = quiet | ME; goto idle };
end:	skip
}

/* ---- the tables, and the end ---- */

inline wire(c, r, a, ra, b, rb, d)
{
	ring_of[c] = r; writer[c] = a; write_rank[c] = ra; reader[c] = b; read_rank[c] = rb; delay[c] = d;
	ring_to[r] = b;
	ring_delay[r] = MIN(d, ring_delay[r]);
	D[a * WORKERS + b] = MIN(d, D[a * WORKERS + b])
}

inline events(w, n, mask)
{
	ranks[w] = n;
	timer[w] = mask;
	head[w] = 0;
	do
	:: head[w] <= LAST && !((timer[w] >> head[w]) & 1) -> head[w]++
	:: else -> break
	od;
	head[w] = (head[w] > LAST -> FOREVER : head[w])
}

inline shortest_paths()
{
	for (k : 0 .. WORKERS - 1) {
		for (i : 0 .. WORKERS - 1) {
			for (j : 0 .. WORKERS - 1) {
				D[i * WORKERS + j] = MIN(D[i * WORKERS + j], LATER(D[i * WORKERS + k], D[k * WORKERS + j]))
			}
		}
	};
	for (i : 0 .. WORKERS - 1) {
		cycle[i] = NO_PATH;
		for (j : 0 .. WORKERS - 1) {
			k = LATER(D[i * WORKERS + j], D[j * WORKERS + i]);
			cycle[i] = (i != j -> MIN(cycle[i], k) : cycle[i])
		}
	}
}

inline tables()
{
	for (i : 0 .. WORKERS - 1) {
		next_in[i * (RINGS + 1) + RINGS] = RINGS;
		next_other[i * (RINGS + 1) + RINGS] = RINGS;
		for (j : 1 .. RINGS) {
			k = i * (RINGS + 1) + RINGS - j;
			next_in[k] = (ring_to[RINGS - j] == i -> RINGS - j : next_in[k + 1]);
			next_other[k] = (ring_to[RINGS - j] != i -> RINGS - j : next_other[k + 1])
		}
	};
	for (i : 0 .. WORKERS * RANKS - 1) {
		next_read[i * (CHANNELS + 1) + CHANNELS] = CHANNELS;
		next_write[i * (CHANNELS + 1) + CHANNELS] = CHANNELS;
		for (j : 1 .. CHANNELS) {
			k = i * (CHANNELS + 1) + CHANNELS - j;
			next_read[k] = (reader[CHANNELS - j] * RANKS + read_rank[CHANNELS - j] == i -> CHANNELS - j : next_read[k + 1]);
			next_write[k] = (writer[CHANNELS - j] * RANKS + write_rank[CHANNELS - j] == i -> CHANNELS - j : next_write[k + 1])
		}
	}
}

init
{
	d_step {
		for (i : 0 .. WORKERS * WORKERS - 1) { D[i] = (i % (WORKERS + 1) == 0 -> ZERO : NO_PATH) };
		for (i : 0 .. RINGS - 1) { ring_delay[i] = NO_PATH };
		GRAPH;
		shortest_paths();
		tables();
		i = 0; j = 0; k = 0
	};
	atomic {
		run worker(0);
		run worker(1);
		if :: ranks[2] > 0 -> run worker(2) :: else fi
	};
	_nr_pr == 1;
	d_step {
		for (i : 0 .. RINGS - 1) { assert(len(ring[i]) == 0) };
		for (i : 0 .. CHANNELS - 1) { assert(unseen[i] == 0) };
		i = 0
	}
}
