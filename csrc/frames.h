/* What goes over a link between two machines: frames, each with a length and a checksum, and behind some of them the bytes
 * of a value, which the checksum leaves out: TCP has its own, and theirs would cost more than the journey.
 *
 * Both machines have the same image and the same kind of processor, so numbers, tags and slots need no other form. */
#ifndef RX_FRAMES_H
#define RX_FRAMES_H

#include "crc.h"
#include "reactors.h"

/* The first four say what may end a wait there; in virtual time they are counted. */
enum { RX_F_STATE = 1, RX_F_MESSAGE = 2, RX_F_RELEASE = 3, RX_F_TIME = 4, RX_F_QUIET = 5, RX_F_PING = 6, RX_F_BYE = 7 };

typedef struct {
    uint32_t kind, size;      /* RX_F_...; bytes of the body */
    uint64_t data;            /* bytes of a value behind the body */
    uint32_t check;           /* of the rest of this and of the body */
    uint32_t pad;
} rx__frame;

typedef struct {              /* body of a state; rows follow: of workers, of rings to third machines, counts of rings here */
    uint64_t ready;           /* its workers have reached the start line */
    uint64_t abort;           /* rx_image.abort there */
    int64_t start_ns;         /* machine 0 alone: rx_image.start_ns, 0 before that */
    uint64_t starved;         /* the program starves, */
    rx_tag starved_at;        /* and stops then */
} rx__f_state;

typedef struct { rx_tag events, own, passed; uint64_t rank, idle; } rx__f_worker;
typedef struct { uint64_t sent, acknowledged; rx_tag first; } rx__f_ring;

typedef struct {
    rx_tag sent;
    int64_t clock;
    uint64_t payload;
    uint64_t kind;            /* of an object's record */
    uint32_t sub;
    uint32_t known;           /* 1: the value came with an earlier message */
} rx__f_message;

typedef struct { uint32_t sub, slot, count, pad; } rx__f_release;         /* consumers that need it no more */

typedef struct { int64_t now; } rx__f_time;                   /* the virtual clock there, before what was done by it */
typedef struct { int64_t until; } rx__f_quiet;                /* as in rx_quiet; a row for each machine follows: */
typedef struct { uint64_t sent, heard; } rx__f_traffic;       /* as in rx_traffic */

uint32_t rx__frame_check(const rx__crcs *crcs, const rx__frame *f, const void *body);

#endif
