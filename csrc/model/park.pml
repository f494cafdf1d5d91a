/* Does a worker sleep for ever? Three workers that wait for each other, sleep and are rung, step by step as in park.c and bell.c.
 *
 *   here                            there
 *   line                            rx_line: what was passed, as a count of rounds
 *   lacks, look                     rx__wait's `done`: it looks at one worker after the other, and says what it waits for
 *   the inner loop                  last_look
 *   rung, futex                     sleep_until_rung, rx__sleep; a bell is counted, as the word there is
 *   the end of a round              rx__publish and rx__wake, with concerns for one who wants a worker to have passed
 *   ring                            rx__ring_bell: who is rung is awake for all others, too, before it runs
 *
 * No worker spins: a look more between two others changes nothing. A sleep is not bounded here as it is there, so that a
 * wake that is lost is a deadlock: an invalid end state. The workers take turns, so that none is rung by chance: a
 * worker ends a round after those before it have ended theirs, and those behind it the round before.
 *
 * Bounded: ROUNDS. */

#define WORKERS 3
#ifndef ROUNDS
#define ROUNDS 2
#endif
#define NOBODY 3
#define ME (1 << me)
#define NEEDED(i) (round + ((i) < me))

byte line[WORKERS];
byte sleepers, asleep;          /* bits of workers: those of the image; those in the futex */
byte bell[WORKERS], wants[WORKERS], want[WORKERS];

inline look()
{
	lacks = (me + 1) % WORKERS;
	if
	:: line[lacks] < NEEDED(lacks)
	:: else ->
		lacks = (me + 2) % WORKERS;
		if
		:: line[lacks] < NEEDED(lacks)
		:: else -> lacks = NOBODY
		fi
	fi
}

inline ring(i)
{
#ifndef BIT_CLEARED_LATE
	sleepers = sleepers & ~(1 << i);
#endif
	bell[i]++;
	asleep = asleep & ~(1 << i)
#ifdef BIT_CLEARED_LATE
	;
	sleepers = sleepers & ~(1 << i)
#endif
}

inline wake()
{
	do
	:: i < WORKERS && (bits >> i) & 1 ->
		if
		:: wants[i] == me ->
			if
			:: want[i] <= round -> ring(i)
			:: else
			fi
		:: else
		fi;
		i++
	:: i < WORKERS && !((bits >> i) & 1) -> i++
	:: i == WORKERS -> i = 0; bits = 0; break
	od
}

active [WORKERS] proctype worker()
{
	byte me = _pid, round, lacks, asked, rung, bits, i;
	do
	:: round < ROUNDS ->
		look();
		do
		:: lacks == NOBODY -> break
		:: lacks != NOBODY ->
#ifndef BELL_READ_LATE
			rung = bell[me];
#endif
			do
			:: true ->
				asked = lacks;
				wants[me] = asked;
				want[me] = NEEDED(asked);
#ifndef BIT_AFTER_LOOK
				sleepers = sleepers | ME;
#endif
				look();
#ifdef BIT_AFTER_LOOK
				sleepers = sleepers | ME;
#endif
				if
#ifdef WANTS_ONCE
				:: true -> break
#else
				:: lacks == NOBODY || lacks == asked -> break
				:: else
#endif
				fi
			od;
#ifdef BELL_READ_LATE
			rung = bell[me];
#endif
			if
			:: lacks == NOBODY
			:: lacks != NOBODY ->
				d_step { if :: bell[me] == rung -> asleep = asleep | ME :: else fi };
				!(asleep & ME)
			fi;
			sleepers = sleepers & ~ME;
			rung = 0
		od;
		round++;
#ifdef SLEEPERS_READ_EARLY      /* what a store without its fence comes to */
		bits = sleepers & ~ME;
		line[me] = round;
#else
		line[me] = round;
		bits = sleepers & ~ME;
#endif
		wake()
	:: round == ROUNDS -> break
	od
}
