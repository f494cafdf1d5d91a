/* May machines without shared memory trust what they hear of each other? The frontier between three of them, one worker
 * on each, in every interleaving. frontier.pml has the workers of one machine; here it is about the links.
 *
 * A link looks at its machine, tells, and what the other machine hears is kept in memory of its own, where its worker
 * looks at it. How long anything is on its way is left open, and so is whether a reaction that runs writes to a channel.
 * check.sh runs it on several graphs, and with errors planted.
 *
 *   here                          there
 *   HEAD, PASSED at a machine     rx_line and rx_far of each worker, as that machine knows them
 *   SENT, ACKED, FIRST, RECEIVED  rx_passage, of the ring between the two other machines
 *   PUSHED, TAKEN, KNOWN_TAKEN    rx__ring: tail at the producer's machine; head at the consumer's; head at the producer's
 *   ARRIVED                       rx__ring: tail at the consumer's machine
 *   begin_look, look              look_once in tell.c
 *   hear_messages, hear_state     message and state in hear.c
 *   snapshot                      collect, collect_passages and rx__snapshot in frontier.c
 *   worker                        team.c, as in frontier.pml
 *
 * What lies between two steps of a process may be interrupted by the others. Some steps touch more memory than C can at
 * once, where nothing could show the difference:
 *
 * - A look at one's own machine begins again if the line of a worker there has moved meanwhile. So what moves only under a
 *   line is read in one step. How much of a ring to a third machine is acknowledged is nothing of that kind: another link
 *   writes it whenever it hears of it. That is read in two steps, with the first message that is not.
 * - A state is written in one step, for all of it is written while the versions of lines are odd. So a worker reads all
 *   lines, passages and acknowledgements in one step, too. A ring to itself only grows until it empties it; what came
 *   after the lines were read is found when it does that, after the look.
 * - Who tells is awake whenever there is something new. Bells are in park.pml.
 *
 * A tag is a number, and delays add: so are microsteps. Delays that drop the microstep, workers that publish later, and
 * rings that are full are in frontier.pml.
 *
 * What is asserted: no worker takes a message for a reaction that it has passed (PASSED BY); messages and states are such
 * as hear.c accepts (IN ORDER, POSSIBLE); each worker begins its tags in increasing order; who finds that the program
 * starves is right (NOTHING LEFT), and all find the same last tag (ONE END). That all workers come to the end is spin's
 * check for invalid end states; that they do not run in circles, its check for cycles.
 *
 * Bounded: three machines, a worker each, a few wires and events, nothing sent for a tag after UNTIL. A link has one frame
 * on its way, with LONG two; a frame is the messages that a look found, and the state after them. Not here: several
 * workers on a machine, the stop tag that follows, what comes from outside, values and their slots, damaged frames, a
 * link that is cut. */

#define FOREVER   15
#define NO_PATH   15
#define MICROSTEP 1
#define LATER(g, delay) ((g) + (delay) >= FOREVER -> FOREVER : (g) + (delay))
#define MARK(g, rank)   ((g) * 4 + (rank))      /* all of the tags before g, and of g the ranks before */
#define END       3
#define LAST      2               /* no worker has an event after it */
#define AT(g)     (1 << (g))
#define MIN(a, b) ((a) < (b) -> (a) : (b))
#define MAX(a, b) ((a) > (b) -> (a) : (b))

/* ---- the graphs: channel, writer and its rank, reader and its rank, delay; worker, ranks, its own events ---- */

#if defined(ROUND)              /* a loop without delay through all three */
#define UNTIL    0
#define CHANNELS 3
#define GRAPH \
	wire(0,  0, 0,  1, 0, 0); \
	wire(1,  1, 0,  2, 0, 0); \
	wire(2,  2, 0,  0, 1, 0); \
	events(0, 2, AT(0)); \
	events(1, 1, 0); \
	events(2, 1, 0)
#elif defined(PAIR)             /* 0 and 1 in a loop without delay; 2 hangs on it */
#define UNTIL    0
#define CHANNELS 3
#define GRAPH \
	wire(0,  0, 0,  1, 0, 0); \
	wire(1,  1, 0,  0, 1, 0); \
	wire(2,  1, 0,  2, 0, 0); \
	events(0, 2, AT(0)); \
	events(1, 1, 0); \
	events(2, 1, AT(1))
#else                           /* RELAY: 0 to 1 to 2, and back a microstep later; 2 has an event of its own */
#define UNTIL    1
#define CHANNELS 3
#define GRAPH \
	wire(0,  0, 0,  1, 0, 0); \
	wire(1,  1, 0,  2, 0, 0); \
	wire(2,  2, 0,  0, 1, MICROSTEP); \
	events(0, 2, AT(0) | AT(1)); \
	events(1, 1, 0); \
	events(2, 1, AT(1))
#endif

#define MACHINES 3
#define RANKS    2              /* at most, in a worker */
#define MOST     2              /* messages in a ring, in all */

hidden byte writer[CHANNELS], write_rank[CHANNELS], reader[CHANNELS], read_rank[CHANNELS], delay[CHANNELS];
hidden byte direct[9];          /* the least delay of the channels of a ring; NO_PATH: there is none */
hidden byte D[9];               /* the least delay over all paths */
hidden byte ranks[MACHINES];
hidden byte sends[MACHINES];    /* bits of ranks: writes to a channel */
hidden byte from, to, via;            /* of init alone */
hidden byte tag, at_me, at_a, at_b;       /* within a step */

#define TO(x, y)    ((x) * MACHINES + (y))
#define IS_RING(x, y) (direct[TO(x, y)] < NO_PATH)
#define IS_MATE(x)  (D[TO(x, me)] == 0 && D[TO(me, x)] == 0)
#define HAS_MATE    (IS_MATE(a) || IS_MATE(b))

/* ---- the memory of each machine: at m, of x ---- */

byte head[9], passed[9];
byte sent[9], acked[9], first[9];       /* as x says: of the ring from x to the third machine */
byte received[9];                       /* as x says: of the ring from the third machine to x */
byte pushed[9], known_taken[9];         /* of the ring from m to x */
byte arrived[9], taken[9];              /* of the ring from x to m */
byte messages[9 * MOST];                /* of the ring from m to x: channel and tag of those that are not acknowledged */
byte queue[MACHINES * RANKS];           /* bits of tags at which a reaction runs */

#define HEAD(m, x)        head[TO(m, x)]
#define PASSED(m, x)      passed[TO(m, x)]
#define SENT(m, x)        sent[TO(m, x)]
#define ACKED(m, x)       acked[TO(m, x)]
#define FIRST(m, x)       first[TO(m, x)]
#define RECEIVED(m, x)    received[TO(m, x)]
#define PUSHED(m, x)      pushed[TO(m, x)]
#define KNOWN_TAKEN(m, x) known_taken[TO(m, x)]
#define ARRIVED(m, x)     arrived[TO(m, x)]
#define TAKEN(m, x)       taken[TO(m, x)]
#define MESSAGE(x, y, n)  messages[TO(x, y) * MOST + (n)]
#define QUEUED(m, rank)   queue[(m) * RANKS + (rank)]

short news;                     /* bit of a link: what it is to say of its machine has changed since it looked */
short looking;                  /* bit of a link: it has begun to look, and the line of its machine has not changed since */
byte quiet;                     /* bit of a worker: it would wait now, for nothing was heard since it began to look */

/* Only the assertions read this. */
byte last = FOREVER;            /* the last tag, once a worker has found that the program starves */

#define ME          (1 << me)
#define LINK(x, y)  (1 << TO(x, y))
#define MY_LINKS    (LINK(me, a) | LINK(me, b))

/* Who reads nothing of x does not ask how far it is within a tag. */
#define SAYS_PASSED(x, y, mark) (IS_RING(x, y) || (mark) % 4 == END -> (mark) : ((mark) < 4 -> 0 : (mark) / 4 * 4 - 1))
#define TELL_LINE(y, h, mark) \
	news = news | (HEAD(me, me) != (h) || SAYS_PASSED(me, y, PASSED(me, me)) != SAYS_PASSED(me, y, mark) -> LINK(me, y) : 0)

inline publish(h, mark)
{
	TELL_LINE(a, h, mark); TELL_LINE(b, h, mark);
	HEAD(me, me) = h; PASSED(me, me) = mark;
	looking = looking & ~MY_LINKS;
	printf("%d: head %d, passed (%d, %d)\n", me, h, (mark) / 4, (mark) % 4)
}

/* ---- a link from x to y; z is the third ---- */

/* The first tag on its way is read first: if more is acknowledged by the time that this is read, it is too early a tag. */
#define FIRST_NOW  (KNOWN_TAKEN(x, z) < PUSHED(x, z) -> MESSAGE(x, z, KNOWN_TAKEN(x, z)) % 16 : 0)
#ifdef FIRST_AFTER_ACKED
#define READ_ONE      one = KNOWN_TAKEN(x, z)
#define READ_OTHER    says_acked = one; says_first = FIRST_NOW
#else
#define READ_ONE      one = FIRST_NOW
#define READ_OTHER    says_first = one; says_acked = KNOWN_TAKEN(x, z)
#endif
#ifdef UNREAD_COUNTED
#define COUNT(m, x)   ARRIVED(m, x)
#else
#define COUNT(m, x)   TAKEN(m, x)
#endif
#define LOOK_AT_LINE  says_head = HEAD(x, x); says_passed = SAYS_PASSED(x, y, PASSED(x, x))
#ifdef ONE_LOOK
#define SAME_LINE     true
#else
#define SAME_LINE     (looking & LINK(x, y))
#endif

#ifndef SLOW
#define SLOW 511
#endif
#define AT_ONCE       ((SLOW & LINK(x, y)) == 0)
#define NOTE_NEWS     is_new = is_new || (news & LINK(x, y)); news = news & ~LINK(x, y)

inline begin_look()
{
	looking = looking | LINK(x, y);
	NOTE_NEWS;
	if :: IS_RING(x, z) -> READ_ONE :: else fi;
	LOOK_AT_LINE
}

inline look()
{
	if :: IS_RING(x, z) -> READ_OTHER; says_sent = PUSHED(x, z) :: else fi;
	upto = PUSHED(x, y);
	says_taken = COUNT(x, y); says_received = COUNT(x, z);
#ifndef ONE_LOOK
	NOTE_NEWS;
#endif
	looking = looking & ~LINK(x, y);
	one = 0
}

inline hear_messages()
{
	do
	:: ARRIVED(y, x) < upto ->
		tag = MESSAGE(x, y, ARRIVED(y, x)) % 16;
		assert(tag >= PASSED(y, x) / 4 && LATER(tag, direct[TO(x, y)]) >= PASSED(y, y) / 4);        /* IN ORDER */
		ARRIVED(y, x)++
	:: else -> break
	od
}

inline hear_state()
{
	assert(says_passed >= PASSED(y, x) && says_taken >= KNOWN_TAKEN(y, x) && says_taken <= PUSHED(y, x));
	assert(says_acked <= says_sent && says_acked >= ACKED(y, x) && says_sent >= SENT(y, x) && says_received >= RECEIVED(y, x));
	HEAD(y, x) = says_head; PASSED(y, x) = says_passed;
	SENT(y, x) = says_sent; ACKED(y, x) = says_acked; FIRST(y, x) = says_first;
	RECEIVED(y, x) = says_received;
	do
	:: KNOWN_TAKEN(y, x) < says_taken ->
		MESSAGE(y, x, KNOWN_TAKEN(y, x)) = 0;
		KNOWN_TAKEN(y, x)++;
		news = news | LINK(y, z)                /* to whom this ring is one between others */
	:: else -> break
	od;
	quiet = quiet & ~(1 << y);
	printf("%d hears of %d: head %d, passed (%d, %d); to %d sent %d, acknowledged %d, first %d; received %d, of %d %d\n", y, x,
		says_head, says_passed / 4, says_passed % 4, z, says_sent, says_acked, says_first, says_taken, z, says_received)
}

#define SOMETHING_NEW ((news & LINK(x, y)) || PUSHED(x, y) > ARRIVED(y, x))

#define FRAME    upto, says_head, says_passed, says_sent, says_acked, says_first, says_taken, says_received, is_new
#define NO_FRAME \
	upto = 0; says_head = 0; says_passed = 0; says_sent = 0; says_acked = 0; says_first = 0; says_taken = 0; \
	says_received = 0; is_new = false

/* First the messages, then the state that counts them as sent. A state that says nothing new is not sent. */
#ifdef LINE_BEFORE_MESSAGES
#define HEAR \
	if \
	:: d_step { is_new -> hear_state(); is_new = false } \
	:: !is_new \
	fi; \
	d_step { hear_messages(); NO_FRAME }
#else
#define HEAR \
	if \
	:: d_step { upto > ARRIVED(y, x) && is_new -> hear_messages() }; d_step { hear_state(); NO_FRAME } \
	:: d_step { upto > ARRIVED(y, x) && !is_new -> hear_messages(); NO_FRAME } \
	:: d_step { upto == ARRIVED(y, x) -> hear_state(); NO_FRAME } \
	fi
#endif

proctype link(byte x; byte y; byte z)
{
	byte upto, says_head, says_passed, says_sent, says_acked, says_first, says_taken, says_received;
	byte one;                       /* what was read first of the ring to the third machine */
	bool is_new;

end:	do
	:: atomic { SOMETHING_NEW && !AT_ONCE ->
			begin_look();
#ifndef ONE_LOOK
			if :: !IS_RING(x, z) -> look(); goto away :: else fi
#endif
		};
		do
		:: d_step { !(SAME_LINE) -> begin_look() }
		:: atomic { SAME_LINE -> look(); break }
		od;
away:		HEAR
	:: d_step { SOMETHING_NEW && AT_ONCE ->
			begin_look(); look(); hear_messages();
			if :: is_new -> hear_state() :: else fi;
			NO_FRAME
		}
	od
}

/* ---- a worker; a and b are the others ---- */

#define UNREAD(x)    (TAKEN(me, x) < ARRIVED(me, x))
#define MESSAGE_OF(x)  MESSAGE(x, me, TAKEN(me, x))
#define ARRIVAL(x)   (MESSAGE_OF(x) % 16 + delay[MESSAGE_OF(x) / 16])
#define LOWERS(x)    (!running && ARRIVAL(x) < HEAD(me, me))
#define REACHED      (running -> MARK(g, rank) : PASSED(me, me))        /* the first reaction not yet begun */
#define AWAKE        (!(quiet & ME) && !ran)

inline take(x)
{
	tag = ARRIVAL(x);
	assert(MARK(tag, read_rank[MESSAGE_OF(x) / 16]) >= REACHED);            /* PASSED BY */
	QUEUED(me, read_rank[MESSAGE_OF(x) / 16]) = QUEUED(me, read_rank[MESSAGE_OF(x) / 16]) | (1 << tag);
	printf("%d takes message %d of %d, for %d\n", me, TAKEN(me, x), x, tag);
	TAKEN(me, x)++;
	news = news | MY_LINKS
}

/* The lower head comes first, then the message is gone. */
#ifdef HEAD_LOWERED_LATE
#define DRAIN_OF(x) \
	:: d_step { AWAKE && UNREAD(x) -> lower = (running -> FOREVER : ARRIVAL(x)); take(x) }; \
		d_step { if :: lower < HEAD(me, me) -> publish(lower, PASSED(me, me)) :: else fi; lower = 0 }
#else
#define DRAIN_OF(x) \
	:: d_step { AWAKE && UNREAD(x) && LOWERS(x) -> publish(ARRIVAL(x), PASSED(me, me)) } \
	:: d_step { AWAKE && UNREAD(x) && !LOWERS(x) -> take(x) }
#endif
#define DRAIN   DRAIN_OF(a) DRAIN_OF(b)
#define DRAINED (!UNREAD(a) && !UNREAD(b))

/* What is on its way from x to y, the others, makes y act. */
#ifdef NO_CUT
#define IS_CERTAIN(x, y) true
#else
#define IS_CERTAIN(x, y) (RECEIVED(me, y) >= ACKED(me, x))
#endif
#ifdef NO_UNACKNOWLEDGED
#define ON_ITS_WAY(x, y) FOREVER
#else
#define ON_ITS_WAY(x, y) (RECEIVED(me, y) < SENT(me, x) -> LATER(FIRST(me, x), direct[TO(x, y)]) : FOREVER)
#endif
#define SENT_BY_ME(x) \
	(KNOWN_TAKEN(me, x) < PUSHED(me, x) -> LATER(MESSAGE(me, x, KNOWN_TAKEN(me, x)) % 16, direct[TO(me, x)]) : FOREVER)
#define FROM(at, x, y) LATER(at, D[TO(x, y)])

/* Its own ring is empty when it looks. What comes of it: the bound, when the others may act, and if it is between two tags
 * which one is next, and whether nothing is left. */
inline snapshot()
{
	if
	:: IS_CERTAIN(a, b) && IS_CERTAIN(b, a) ->
		at_me = HEAD(me, me);
		at_a = HEAD(me, a); tag = SENT_BY_ME(a); at_a = MIN(at_a, tag); tag = ON_ITS_WAY(b, a); at_a = MIN(at_a, tag);
		at_b = HEAD(me, b); tag = SENT_BY_ME(b); at_b = MIN(at_b, tag); tag = ON_ITS_WAY(a, b); at_b = MIN(at_b, tag);
		tag = MIN(FROM(at_a, a, me), FROM(at_b, b, me));
		tag = MIN(tag, LATER(at_me, D[TO(me, a)] + D[TO(a, me)]));
		tag = MIN(tag, LATER(at_me, D[TO(me, b)] + D[TO(b, me)]));
		bound = MAX(bound, tag);
		tag = MIN(FROM(at_b, b, a), FROM(at_me, me, a)); tag = MIN(tag, at_a); may_a = MAX(may_a, tag);
		tag = MIN(FROM(at_a, a, b), FROM(at_me, me, b)); tag = MIN(tag, at_b); may_b = MAX(may_b, tag);
		printf("%d: snapshot %d, of %d %d, of %d %d; bound %d\n", me, at_me, a, at_a, b, at_b, bound);
		if
		:: !running ->
			still = at_me == FOREVER && at_a == FOREVER && at_b == FOREVER;
			g = at_me;
			g = (IS_MATE(a) -> MIN(g, at_a) : g);
			g = (IS_MATE(b) -> MIN(g, at_b) : g)
		:: else
		fi
	:: else
	fi
}

inline find_tag()
{
	g = FOREVER;
	if
	:: !HAS_MATE && HEAD(me, me) <= bound && HEAD(me, me) < FOREVER -> g = HEAD(me, me)
	:: else -> snapshot()
	fi
}
#define BEGINS     (g < FOREVER && MARK(g, 0) >= PASSED(me, me) && g <= bound)

inline begin_tag()
{
	assert(MARK(g, 0) >= PASSED(me, me));           /* in increasing order */
	running = true;
	bound = (bound > g -> bound : 0);               /* forget what is of no use any more, for fewer states */
	may_a = (may_a >= g -> may_a : 0);
	may_b = (may_b >= g -> may_b : 0);
	publish(g, MARK(g, 0))
}

/* Is the channel complete at g? As in frontier.pml. */
#define MAY(x)      (x == a -> may_a : may_b)
#define READS(c)    (reader[c] == me && read_rank[c] == rank)
#define KNOWN(c)    (g < delay[c] || LATER(MAY(writer[c]), delay[c]) > g)
#define COMPLETE(c) (!READS(c) || KNOWN(c) || PASSED(me, writer[c]) > MARK(g - delay[c], write_rank[c]))

/* Up to the next reaction, or to what it waits for. */
inline go_on()
{
	do
	:: c < CHANNELS && COMPLETE(c) -> c++
	:: c < CHANNELS && !COMPLETE(c) -> snapshot(); if :: KNOWN(c) -> c++ :: else -> break fi
	:: c == CHANNELS -> break
	od
}

inline wait()
{
	quiet = quiet | ME;
	if :: PASSED(me, me) < MARK(g, rank) -> publish(g, MARK(g, rank)) :: else fi;
	c = 0
}

/* The reaction of this rank is reached: does it run, and to which channels does it write then? */
inline react()
{
	c = 0;
	ran = (QUEUED(me, rank) >> g) & 1;
	QUEUED(me, rank) = QUEUED(me, rank) & ~(1 << g);
	do
	:: c < CHANNELS && ran && writer[c] == me && write_rank[c] == rank && LATER(g, delay[c]) <= UNTIL ->
		writes = writes | (1 << c); c++
	:: c < CHANNELS -> c++
	:: c == CHANNELS -> break
	od;
	c = 0;
	rank++
}

inline send()
{
	do
	:: (writes >> c) & 1 -> break
	:: else -> c++
	od;
	writes = writes & ~(1 << c);
	tag = reader[c];
	printf("%d at %d: channel %d to %d\n", me, g, c, tag);
	MESSAGE(me, tag, PUSHED(me, tag)) = c * 16 + g;
	PUSHED(me, tag)++;
	news = news | (tag == a -> LINK(me, b) : LINK(me, a));  /* to whom this ring is one between others */
	c = 0
}

/* After the last reaction it is at the end of the tag. */
inline tell()
{
	if
	:: rank < ranks[me] -> if :: ran && (sends[me] >> (rank - 1)) & 1 -> publish(g, MARK(g, rank)) :: else fi
	:: else ->
		running = false;
		tag = 0;
		do
		:: tag <= LAST && !(((QUEUED(me, 0) | QUEUED(me, 1)) >> tag) & 1) -> tag++
		:: else -> break
		od;
		tag = (tag > LAST -> FOREVER : tag);
		publish(tag, MARK(g, END));
		may_a = (may_a > g -> may_a : 0);
		may_b = (may_b > g -> may_b : 0);
		rank = 0; g = 0
	fi;
	ran = false
}

inline nothing_left()
{
	assert(PUSHED(0, 1) == TAKEN(1, 0) && PUSHED(0, 2) == TAKEN(2, 0) && PUSHED(1, 0) == TAKEN(0, 1));
	assert(PUSHED(1, 2) == TAKEN(2, 1) && PUSHED(2, 0) == TAKEN(0, 2) && PUSHED(2, 1) == TAKEN(1, 2));
	assert(!(queue[0] | queue[1] | queue[2] | queue[3] | queue[4] | queue[5]));     /* NOTHING LEFT */
	tag = MAX(PASSED(me, me), PASSED(me, a));
	tag = MAX(tag, PASSED(me, b)) / 4;
	printf("%d: nothing left after %d\n", me, tag);
	assert(last == FOREVER || last == tag);         /* ONE END */
	last = tag;
	bound = 0; may_a = 0; may_b = 0; g = 0; still = false
}

proctype worker(byte me; byte a; byte b)
{
	byte g, rank, bound, may_a, may_b, c, writes;
	bool running, ran, still;
#ifdef HEAD_LOWERED_LATE
	byte lower;
#endif

idle:	do
	DRAIN
	:: atomic { AWAKE && DRAINED ->
			d_step { find_tag() };
			if
			:: d_step { still -> nothing_left() }; goto over
			:: d_step { !still && BEGINS -> begin_tag() }; break
			:: d_step { !still && !BEGINS -> g = 0; quiet = quiet | ME }
			fi
		}
	od;

	do
	DRAIN
	:: atomic { AWAKE && DRAINED && !ran ->
			d_step { go_on() };
			if
			:: c == CHANNELS -> react(); if :: !writes -> d_step { tell() } :: else fi
			:: d_step { c < CHANNELS -> wait() }
			fi;
			if :: !running -> goto idle :: else fi
		}
	:: d_step { writes -> send() }
	:: atomic { ran && !writes -> d_step { tell() }; if :: !running -> goto idle :: else fi }
	od;
over:	skip
}

/* ---- the tables ---- */

inline wire(c, x, rx, y, ry, d)
{
	writer[c] = x; write_rank[c] = rx; reader[c] = y; read_rank[c] = ry; delay[c] = d;
	direct[TO(x, y)] = MIN(d, direct[TO(x, y)]);
	D[TO(x, y)] = MIN(d, D[TO(x, y)]);
	sends[x] = sends[x] | (1 << rx)
}

/* All know all heads at the start, for none starts before it has heard of all. */
inline events(w, n, mask)
{
	ranks[w] = n;
	QUEUED(w, 0) = mask;
	tag = 0;
	do
	:: tag < FOREVER && !((mask >> tag) & 1) -> tag++
	:: else -> break
	od;
	HEAD(0, w) = tag; HEAD(1, w) = tag; HEAD(2, w) = tag
}

init
{
	atomic {
		d_step {
			for (from : 0 .. 8) { direct[from] = NO_PATH; D[from] = (from % 4 == 0 -> 0 : NO_PATH) };
			GRAPH;
			for (via : 0 .. 2) {
				for (from : 0 .. 2) {
					for (to : 0 .. 2) { D[TO(from, to)] = MIN(D[TO(from, to)], LATER(D[TO(from, via)], D[TO(via, to)])) }
				}
			};
			from = 0; to = 0; via = 0
		};
		run worker(0, 1, 2); run worker(1, 0, 2); run worker(2, 0, 1);
		run link(0, 1, 2); run link(0, 2, 1); run link(1, 0, 2); run link(1, 2, 0); run link(2, 0, 1); run link(2, 1, 0)
	}
}
