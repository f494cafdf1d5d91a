/* May machines without shared memory trust what they hear of each other? The frontier between three of them, one worker
 * on each, in every interleaving. frontier.pml has the workers of one machine; here it is about the links.
 *
 * A link looks at its machine, tells, and what the other machine hears is kept in memory of its own, where its worker
 * looks at it. How long a link waits before it looks is left open, and so is whether a reaction that runs writes to a
 * channel. check.sh runs it on several graphs, and with errors planted.
 *
 *   here                          there
 *   HEAD, PASSED at a machine     rx_line and rx_far of each worker, as that machine knows them
 *   SENT, ACKED, FIRST, RECEIVED  rx_passage, of the ring between the two other machines
 *   PUSHED, TAKEN, KNOWN_TAKEN    rx__ring: tail at the producer's machine; head at the consumer's; head at the producer's
 *   ARRIVED                       rx__ring: tail at the consumer's machine
 *   begin_look, look              look_once in tell.c; SOMETHING_NEW: a state that is not the last one sent, or a message
 *   hear_messages, hear_state     message and state in hear.c
 *   conclude                      collect, collect_passages and rx__snapshot in frontier.c, may_begin in team.c
 *   worker                        team.c, as in frontier.pml
 *
 * Most of the time a link looks and is heard in one step. AWAY of the six links at a time may be in the middle instead,
 * whichever they are (those in SLOW): between the two halves of a look, or with a frame on its way, or with its messages
 * heard and not its state. That is bounded because it multiplies the states by ten each time, and a frame that nothing
 * overtakes might as well have come at once: it takes news that goes around it by the third machine, or frames that
 * cross, to tell the difference, so one or two at a time.
 *
 * What lies between two steps of a process may be interrupted by the others. Some steps touch more memory than C can at
 * once, where nothing could show the difference:
 *
 * - A look at one's own machine begins again if the line of a worker there has moved meanwhile. So what moves only under a
 *   line is read in one step. How much of a ring to a third machine is acknowledged is nothing of that kind: another link
 *   writes it whenever it hears of it. That is read in the second half of a look.
 * - A state is written in one step, for all of it is written while the versions of lines are odd.
 * - A worker concludes whenever its memory has changed, in that step. In C it may look less often; what it has concluded
 *   stays true, so that lets it do less, and when it acts is left open here.
 * - Who tells is awake whenever there is something new. Bells are in park.pml.
 * - Who can not be reached from a worker, at any delay, hears of its head only whether there is one; who reads nothing of
 *   it does not hear how far it is within a tag; tags after LAST are all one.
 *
 * A tag is a number, and delays add: so are microsteps. Delays that drop the microstep, workers that publish later, and
 * rings that are full are in frontier.pml.
 *
 * What is asserted: no worker takes a message for a reaction that it has passed (PASSED BY); messages and states are such
 * as hear.c accepts (IN ORDER, POSSIBLE); each worker begins its tags in increasing order; who finds that the program
 * starves is right (NOTHING LEFT), and all find the same last tag (ONE END). That all workers come to the end is spin's
 * check for invalid end states.
 *
 * Bounded: three machines, a worker each, two or three wires, one or two messages in a ring, nothing sent for a tag after
 * UNTIL, and AWAY. Not here: several workers on a machine, the stop tag that follows, what comes from outside, values and
 * their slots, damaged frames, a link that is cut: these are in csrc/tests/test_link.c, test_link_nonsense.c. */

#define FOREVER   15
#define NO_PATH   15
#define MICROSTEP 1
#define LATER(g, delay) ((g) + (delay) >= FOREVER -> FOREVER : (g) + (delay))
#define MARK(g, rank)   ((g) * 4 + (rank))      /* all of the tags before g, and of g the ranks before */
#define END       3
#define LAST      1               /* no worker has an event after it */
#define KEPT(g)   ((g) > LAST -> FOREVER : (g))    /* what comes after it is all one, for fewer states */
#define AT(g)     (1 << (g))
#define MIN(a, b) ((a) < (b) -> (a) : (b))
#define MAX(a, b) ((a) > (b) -> (a) : (b))

/* ---- the graphs: channel, writer and its rank, reader and its rank, delay; worker, ranks, its own events ---- */

#if defined(JOIN)               /* 0 has a tag because 1 has one */
#define UNTIL    0
#define CHANNELS 2
#define GRAPH \
	wire(0,  0, 0,  1, 0, 0); \
	wire(1,  1, 0,  0, 1, 0); \
	events(0, 2, 0); \
	events(1, 1, AT(0)); \
	events(2, 1, AT(0))
#elif defined(REPLY)            /* 1 answers 0 a microstep later, where 0 has an event of its own */
#define UNTIL    1
#define CHANNELS 2
#define GRAPH \
	wire(0,  0, 0,  1, 0, 0); \
	wire(1,  1, 0,  0, 1, MICROSTEP); \
	events(0, 2, AT(0) | AT(1)); \
	events(1, 1, 0); \
	events(2, 1, 0)
#elif defined(ROUND)            /* a loop without delay through all three */
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
#elif defined(CHAIN)            /* 0 to 1 to 2, which has an event of its own */
#define UNTIL    0
#define CHANNELS 2
#define GRAPH \
	wire(0,  0, 0,  1, 0, 0); \
	wire(1,  1, 0,  2, 0, 0); \
	events(0, 1, AT(0)); \
	events(1, 1, 0); \
	events(2, 1, AT(1))
#elif defined(TWICE)            /* likewise, and 0 sends twice */
#define UNTIL    1
#define CHANNELS 2
#define GRAPH \
	wire(0,  0, 0,  1, 0, 0); \
	wire(1,  1, 0,  2, 0, 0); \
	events(0, 1, AT(0) | AT(1)); \
	events(1, 1, 0); \
	events(2, 1, AT(1))
#else                           /* RELAY: 0 to 1 to 2, and back a microstep later; 2 has an event of its own */
#define UNTIL    1
#define CHANNELS 3
#define GRAPH \
	wire(0,  0, 0,  1, 0, 0); \
	wire(1,  1, 0,  2, 0, 0); \
	wire(2,  2, 0,  0, 1, MICROSTEP); \
	events(0, 2, AT(0)); \
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
hidden byte from, to, via;      /* of init alone */
hidden byte tag, at_me, at_a, at_b;      /* within a step */

#define TO(x, y)    ((x) * MACHINES + (y))
#define IS_RING(x, y) (direct[TO(x, y)] < NO_PATH)
#define IS_MATE(x)  (D[TO(x, me)] == 0 && D[TO(me, x)] == 0)

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

short looking;                  /* bits of links: the line has not changed since it began to look */
byte away;                      /* links in the middle of a look, or with a frame on its way */

/* of its worker: the tag that it is in, and how many reactions of it are over; what it has concluded */
byte now[MACHINES], position[MACHINES];
byte bound[MACHINES];           /* own events before or at it may be executed */
byte may[9];                    /* at m: the least tag at which x may still act */
byte next[MACHINES];            /* the tag that it may begin now, FOREVER if there is none */
byte running, starves;          /* bits of workers: in a tag; has found that nothing is left */

#define NOW(m)            now[m]
#define POSITION(m)       position[m]
#define MAY(m, x)         may[TO(m, x)]
#define BIT(m)            (1 << (m))
#define IS_IN_TAG(m)      ((running >> (m)) & 1)

/* Only the assertions read this. */
byte last = FOREVER;            /* the last tag, once a worker has found that the program starves */

/* ---- what machine me knows of itself and of a and b ---- */

#define UNREAD(x)      (TAKEN(me, x) < ARRIVED(me, x))
#define DRAINED        (!UNREAD(a) && !UNREAD(b))
#define MESSAGE_OF(x)  MESSAGE(x, me, TAKEN(me, x))
#define ARRIVAL(x)     (MESSAGE_OF(x) % 16 + delay[MESSAGE_OF(x) / 16])
#define UNREAD_OF(x)   (UNREAD(x) -> LATER(MESSAGE_OF(x) % 16, direct[TO(x, me)]) : FOREVER)

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
#ifdef NO_MATES
#define HAS_MATE    false
#else
#define HAS_MATE    (IS_MATE(a) || IS_MATE(b))
#endif

inline keep_may(m, w) { tag = (IS_RING(w, m) -> KEPT(tag) : 0); MAY(m, w) = MAX(MAY(m, w), tag) }

/* Whenever anything has changed here. What it concluded once, it keeps. */
inline conclude(me, a, b)
{
	next[me] = (HAS_MATE || HEAD(me, me) > bound[me] -> FOREVER : HEAD(me, me));
	if
	:: IS_CERTAIN(a, b) && IS_CERTAIN(b, a) ->
		at_me = HEAD(me, me); tag = UNREAD_OF(a); at_me = MIN(at_me, tag); tag = UNREAD_OF(b); at_me = MIN(at_me, tag);
		at_a = HEAD(me, a); tag = SENT_BY_ME(a); at_a = MIN(at_a, tag); tag = ON_ITS_WAY(b, a); at_a = MIN(at_a, tag);
		at_b = HEAD(me, b); tag = SENT_BY_ME(b); at_b = MIN(at_b, tag); tag = ON_ITS_WAY(a, b); at_b = MIN(at_b, tag);
		tag = MIN(FROM(at_a, a, me), FROM(at_b, b, me));
		tag = MIN(tag, LATER(at_me, D[TO(me, a)] + D[TO(a, me)]));
		tag = MIN(tag, LATER(at_me, D[TO(me, b)] + D[TO(b, me)]));
		tag = KEPT(tag); bound[me] = MAX(bound[me], tag);
		tag = MIN(FROM(at_b, b, a), FROM(at_me, me, a)); tag = MIN(tag, at_a); keep_may(me, a);
		tag = MIN(FROM(at_a, a, b), FROM(at_me, me, b)); tag = MIN(tag, at_b); keep_may(me, b);
		next[me] = HEAD(me, me);
		next[me] = (HAS_MATE && IS_MATE(a) -> MIN(next[me], at_a) : next[me]);
		next[me] = (HAS_MATE && IS_MATE(b) -> MIN(next[me], at_b) : next[me]);
		starves = (at_me == FOREVER && at_a == FOREVER && at_b == FOREVER -> starves | BIT(me) : starves & ~BIT(me))
	:: else ->
		starves = starves & ~BIT(me)
	fi;
	if
	:: IS_IN_TAG(me) || !DRAINED || next[me] > bound[me] || MARK(next[me], 0) < PASSED(me, me) -> next[me] = FOREVER
	:: else
	fi
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
/* Who reads nothing of x does not ask how far it is within a tag. */
#define SAID_OF_PASSED (IS_RING(x, y) || PASSED(x, x) % 4 == END -> PASSED(x, x) : (PASSED(x, x) < 4 -> 0 : PASSED(x, x) / 4 * 4 - 1))
#define SAID_OF_HEAD   (D[TO(x, y)] < NO_PATH || HEAD(x, x) == FOREVER -> HEAD(x, x) : 0)
#define LOOK_AT_LINE  says_head = SAID_OF_HEAD; says_passed = SAID_OF_PASSED
#ifdef ONE_LOOK
#define SAME_LINE     true
#else
#define SAME_LINE     (looking & BIT(TO(x, y)))
#endif

#ifndef AWAY
#define AWAY 0
#endif
#ifndef SLOW
#define SLOW 511
#endif

#define STATE_IS_NEW \
	(SAID_OF_HEAD != HEAD(y, x) || SAID_OF_PASSED != PASSED(y, x) || COUNT(x, y) != KNOWN_TAKEN(y, x) || \
	IS_RING(x, z) && (KNOWN_TAKEN(x, z) != ACKED(y, x) || PUSHED(x, z) != SENT(y, x) || FIRST_NOW != FIRST(y, x)) || \
	IS_RING(z, x) && COUNT(x, z) != RECEIVED(y, x))
#define SOMETHING_NEW (STATE_IS_NEW || PUSHED(x, y) > ARRIVED(y, x))

inline begin_look()
{
	if :: IS_RING(x, z) -> READ_ONE :: else fi;
	LOOK_AT_LINE
}

inline look()
{
	if :: IS_RING(x, z) -> READ_OTHER; says_sent = PUSHED(x, z) :: else fi;
	upto = PUSHED(x, y);
	says_taken = COUNT(x, y); says_received = COUNT(x, z);
#ifdef EMPTIED_WHEN_SENT
	KNOWN_TAKEN(x, y) = upto;
	conclude(x, y, z);
#endif
	looking = looking & ~BIT(TO(x, y));
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

inline hear_line() { HEAD(y, x) = says_head; PASSED(y, x) = says_passed }

inline hear_of_rings()
{
	SENT(y, x) = says_sent; ACKED(y, x) = says_acked; FIRST(y, x) = says_first;
	RECEIVED(y, x) = says_received;
	do
	:: KNOWN_TAKEN(y, x) < says_taken ->
		MESSAGE(y, x, KNOWN_TAKEN(y, x)) = 0;
		KNOWN_TAKEN(y, x)++
	:: else -> break
	od;
	printf("%d hears of %d: head %d, passed (%d, %d); to %d sent %d, acknowledged %d, first %d; received %d, of %d %d\n", y, x,
		says_head, says_passed / 4, says_passed % 4, z, says_sent, says_acked, says_first, says_taken, z, says_received)
}

inline check_state()
{
	assert(says_passed >= PASSED(y, x) && says_taken <= PUSHED(y, x));              /* POSSIBLE */
	assert(says_acked <= says_sent && says_acked >= ACKED(y, x) && says_sent >= SENT(y, x) && says_received >= RECEIVED(y, x))
}

inline forget_frame()
{
	upto = 0; says_head = 0; says_passed = 0; says_sent = 0; says_acked = 0; says_first = 0; says_taken = 0;
	says_received = 0
}

inline hear_state() { check_state(); hear_line(); hear_of_rings() }

/* First the messages, then the state that counts them as sent. */
#if defined(STATE_BEFORE_MESSAGES)
#define HEAR \
	true; \
	d_step { hear_state(); conclude(y, x, z) }; \
	d_step { hear_messages(); conclude(y, x, z); forget_frame(); away-- }
#elif defined(HALF_A_STATE)
#define HEAR \
	true; \
	d_step { hear_messages(); check_state(); hear_line(); conclude(y, x, z) }; \
	d_step { hear_of_rings(); conclude(y, x, z); forget_frame(); away-- }
#else
#define HEAR \
	if \
	:: d_step { upto > ARRIVED(y, x) -> hear_messages(); conclude(y, x, z) } \
	:: upto == ARRIVED(y, x) \
	fi; \
	d_step { hear_state(); conclude(y, x, z); forget_frame(); away-- }
#endif

proctype link(byte x; byte y; byte z)
{
	byte upto, says_head, says_passed, says_sent, says_acked, says_first, says_taken, says_received;
	bool is_away;
	byte one;                       /* what was read first of the ring to the third machine */

end:	do
	:: d_step { SOMETHING_NEW -> begin_look(); look(); hear_messages(); hear_state(); conclude(y, x, z); forget_frame() }
	:: atomic { SOMETHING_NEW && away < AWAY && (SLOW & BIT(TO(x, y))) ->
			away++;
			d_step { looking = looking | BIT(TO(x, y)); begin_look() };
			if :: d_step { look(); is_away = true } :: true fi
		};
		do
		:: d_step { !is_away && !(SAME_LINE) -> looking = looking | BIT(TO(x, y)); begin_look() }
		:: atomic { !is_away && SAME_LINE -> d_step { look() }; break }
		:: atomic { is_away -> is_away = false; break }
		od;
		HEAR
	od
}

/* ---- a worker; a and b are the others ---- */

inline publish(h, mark)
{
	HEAD(me, me) = h; PASSED(me, me) = mark;
	looking = looking & ~(BIT(TO(me, a)) | BIT(TO(me, b)));
	printf("%d: head %d, passed (%d, %d)\n", me, h, (mark) / 4, (mark) % 4)
}

#define LOWERS(x)    (!IS_IN_TAG(me) && ARRIVAL(x) < HEAD(me, me))
#define REACHED      (IS_IN_TAG(me) -> MARK(NOW(me), POSITION(me)) : PASSED(me, me))    /* the first reaction not yet begun */

inline take(x)
{
	tag = ARRIVAL(x);
	assert(MARK(tag, read_rank[MESSAGE_OF(x) / 16]) >= REACHED);            /* PASSED BY */
	QUEUED(me, read_rank[MESSAGE_OF(x) / 16]) = QUEUED(me, read_rank[MESSAGE_OF(x) / 16]) | BIT(tag);
	printf("%d takes message %d of %d, for %d\n", me, TAKEN(me, x), x, tag);
	TAKEN(me, x)++
}

/* One ring after the other. The lower head comes first, then the message is gone. */
#define ANY         (UNREAD(a) -> a : b)
#ifdef HEAD_LOWERED_LATE
#define DRAIN \
	:: d_step { !ran && !DRAINED -> lower = (IS_IN_TAG(me) -> FOREVER : ARRIVAL(ANY)); c = ANY; take(c); conclude(me, a, b) }; \
		d_step { if :: lower < HEAD(me, me) -> publish(lower, PASSED(me, me)) :: else fi; lower = 0; c = 0; conclude(me, a, b) }
#else
#define DRAIN \
	:: d_step { !ran && !DRAINED -> \
		c = ANY; \
		if :: LOWERS(c) -> publish(ARRIVAL(c), PASSED(me, me)) :: else -> take(c) fi; \
		c = 0; \
		conclude(me, a, b) }
#endif

inline begin_tag()
{
	assert(MARK(next[me], 0) >= PASSED(me, me));    /* in increasing order */
	running = running | BIT(me);
	NOW(me) = next[me];
	bound[me] = (bound[me] > NOW(me) -> bound[me] : 0);     /* forget what is of no use any more, for fewer states */
	MAY(me, a) = (MAY(me, a) >= NOW(me) -> MAY(me, a) : 0);
	MAY(me, b) = (MAY(me, b) >= NOW(me) -> MAY(me, b) : 0);
	publish(NOW(me), MARK(NOW(me), 0));
	conclude(me, a, b)
}

/* Is the channel complete at this tag? As in frontier.pml. */
#define READS(c)    (reader[c] == me && read_rank[c] == POSITION(me))
#define KNOWN(c)    (NOW(me) < delay[c] || LATER(MAY(me, writer[c]), delay[c]) > NOW(me))
#define COMPLETE(c) (!READS(c) || KNOWN(c) || PASSED(me, writer[c]) > MARK(NOW(me) - delay[c], write_rank[c]))
#if CHANNELS == 2
#define ALL_COMPLETE (COMPLETE(0) && COMPLETE(1))
#else
#define ALL_COMPLETE (COMPLETE(0) && COMPLETE(1) && COMPLETE(2))
#endif

#define WRITES(c)   (ran && writer[c] == me && write_rank[c] == POSITION(me) && LATER(NOW(me), delay[c]) <= UNTIL)
#ifdef ALWAYS
#define MAY_NOT_WRITE false
#else
#define MAY_NOT_WRITE true
#endif

/* The next reaction is reached: does it run, and to which channels does it write then? */
inline react()
{
	c = 0;
	ran = (QUEUED(me, POSITION(me)) >> NOW(me)) & 1;
	QUEUED(me, POSITION(me)) = QUEUED(me, POSITION(me)) & ~BIT(NOW(me));
	do
	:: c < CHANNELS && WRITES(c) -> writes = writes | BIT(c); c++
	:: c < CHANNELS && (MAY_NOT_WRITE || !WRITES(c)) -> c++
	:: c == CHANNELS -> break
	od;
	c = 0;
	POSITION(me)++
}

inline send()
{
	do
	:: (writes >> c) & 1 -> break
	:: else -> c++
	od;
	writes = writes & ~BIT(c);
	tag = reader[c];
	printf("%d at %d: channel %d to %d\n", me, NOW(me), c, tag);
	MESSAGE(me, tag, PUSHED(me, tag)) = c * 16 + NOW(me);
	PUSHED(me, tag)++;
	c = 0;
	conclude(me, a, b)
}

/* After the last reaction it is at the end of the tag. */
inline tell()
{
	if
	:: POSITION(me) < ranks[me] ->
		if
		:: ran && (sends[me] >> (POSITION(me) - 1)) & 1 -> publish(NOW(me), MARK(NOW(me), POSITION(me)))
		:: else
		fi
	:: else ->
		running = running & ~BIT(me);
		tag = 0;
		do
		:: tag <= LAST && !(((QUEUED(me, 0) | QUEUED(me, 1)) >> tag) & 1) -> tag++
		:: else -> break
		od;
		tag = (tag > LAST -> FOREVER : tag);
		publish(tag, MARK(NOW(me), END));
		MAY(me, a) = (MAY(me, a) > NOW(me) -> MAY(me, a) : 0);
		MAY(me, b) = (MAY(me, b) > NOW(me) -> MAY(me, b) : 0);
		POSITION(me) = 0; NOW(me) = 0
	fi;
	ran = false;
	conclude(me, a, b)
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
	last = tag
}

#define BEGINS  (next[me] < FOREVER)
#define STARVES (!IS_IN_TAG(me) && (starves & BIT(me)) && DRAINED)
#define REACHES_NEXT (IS_IN_TAG(me) && !ran && DRAINED)

proctype worker(byte me; byte a; byte b)
{
	byte c, writes;
	bool ran;
#ifdef HEAD_LOWERED_LATE
	byte lower;
#endif

	do
	DRAIN
	:: d_step { STARVES -> nothing_left() }; break
	:: d_step { BEGINS -> begin_tag() }
	:: atomic { REACHES_NEXT && ALL_COMPLETE ->
			react();
			if :: d_step { writes -> send() } :: d_step { !writes -> tell() } fi
		}
#ifndef WAITS_UNSAID
	:: d_step { REACHES_NEXT && !(ALL_COMPLETE) && PASSED(me, me) < MARK(NOW(me), POSITION(me)) ->
			publish(NOW(me), MARK(NOW(me), POSITION(me))); conclude(me, a, b) }
#endif
	:: d_step { writes -> send() }
	:: d_step { ran && !writes -> tell() }
	od
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
			conclude(0, 1, 2); conclude(1, 0, 2); conclude(2, 0, 1);
			from = 0; to = 0; via = 0
		};
		run worker(0, 1, 2); run worker(1, 0, 2); run worker(2, 0, 1);
		run link(0, 1, 2); run link(0, 2, 1); run link(1, 0, 2); run link(1, 2, 0); run link(2, 0, 1); run link(2, 1, 0)
	}
}
