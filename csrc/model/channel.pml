/* A tag is two words. Can a worker read half of one and half of another? The ring and the line, word by word.
 *
 * frontier.pml takes it for granted that a publication, a message put, a message taken and a look at the first message
 * of another worker's ring are single steps. Here they are what the C core does, one load or store at a time:
 *
 *   here            there
 *   producer        send in channel.c: the slot is written, then the tail moved; never while the ring is full
 *   consumer        rx__drain: takes all there is, publishes, moves the head, publishes again
 *   onlooker        rx__ring_first, called by a third worker in the course of a snapshot
 *   publisher       rx__publish in frontier.c: odd version, the words, even version
 *   reader          rx__look_at, and each line in a collect
 *
 * What is asserted: the consumer gets every message whole and in order. What the onlooker gets is not later than any
 * message that lay unread in the ring all the while it looked; messages that came or went meanwhile are covered by the
 * heads of those who put or took them. A reader gets a whole publication, and the one that is current as it ends.
 *
 * The ring and the line have nothing in common, so each is checked alone: the line with -DLINE. Three workers each.
 * Bounded: MESSAGES, through a ring of CAPACITY, so that every slot is used again and again; PUBLISHED. */

#define CAPACITY  2
#define MESSAGES  6
#define PUBLISHED 4

/* Send tags never decrease within a ring. Of any two neighbours here, one half from each can be later than both. */
#define TIME(n)  ((n) / 2)
#define MICRO(n) (((n) + 1) % 2)
#define TAG(time, micro) ((time) * 2 + (micro))

#ifndef LINE
byte time[CAPACITY], micro[CAPACITY];
byte head;                      /* the consumer's */
byte tail;                      /* the producer's */
byte moved;                     /* the consumer's version */

active proctype producer()
{
	do
	:: tail < MESSAGES ->
#ifndef FULL_IGNORED
		tail - head < CAPACITY;
#endif
#ifdef TAIL_BEFORE_MESSAGE
		tail++;
		time[(tail - 1) % CAPACITY] = TIME(tail - 1);
		micro[(tail - 1) % CAPACITY] = MICRO(tail - 1)
#else
		time[tail % CAPACITY] = TIME(tail);
		micro[tail % CAPACITY] = MICRO(tail);
		tail++
#endif
	:: tail == MESSAGES -> break
	od
}

active proctype consumer()
{
	byte next, end;
	do
	:: head < MESSAGES ->
		atomic { tail > head -> next = head; end = tail };
#ifdef HEAD_BEFORE_TAKEN
		head = end;
#endif
		do
		:: next < end ->
			assert(time[next % CAPACITY] == TIME(next) && micro[next % CAPACITY] == MICRO(next));
			next++
		:: next == end -> break
		od;
		moved++;
		head = end;
		moved++
	:: head == MESSAGES -> break
	od
}

active proctype onlooker()
{
	byte first, there, t, m, version;
look:	version = moved;
	atomic { first = head; there = tail };          /* `there` is for the assertion */
	if
	:: first == tail -> goto done                   /* empty: and indeed, for the head was read before the tail */
	:: first != tail
	fi;
	t = time[first % CAPACITY];
	m = micro[first % CAPACITY];
	atomic {
		if
#if defined(ONE_LOOK)
		:: true
#elif defined(VERSION_INSTEAD)
		:: moved != version -> goto look
		:: moved == version
#else
		:: head != first -> goto look
		:: head == first
#endif
		fi;
		assert(head >= there || TAG(t, m) <= TAG(TIME(head), MICRO(head)))
	};
done:	skip
}

#else
byte version, line_time, line_micro;
byte current;                   /* for the assertion: number of the publication, as it becomes visible */

active proctype publisher()
{
	byte n = 1;
	do
	:: n <= PUBLISHED ->
		version++;
		line_time = TIME(n);
		line_micro = MICRO(n);
		atomic { version++; current = n };
		n++
	:: n > PUBLISHED -> break
	od
}

active [2] proctype reader()
{
	byte before, t, m;
look:	before = version;
	t = line_time;
	m = line_micro;
	atomic {
		if
#ifdef ODD_IGNORED
		:: version != before -> goto look
		:: version == before
#else
		:: version != before || before % 2 == 1 -> goto look
		:: version == before && before % 2 == 0
#endif
		fi;
		assert(current == 0 || t == TIME(current) && m == MICRO(current))
	}
}
#endif
