/* Machines that are all in this process: each has an arena, threads for its workers, and links to all others. What they
 * say can be late, and what machine 0 says to machine 1 can be recorded. */
#ifndef MACHINES_H
#define MACHINES_H

#include <sys/socket.h>

#include "run.h"

enum { MOST_MACHINES = 4 };

typedef struct { uint8_t *bytes; size_t n; } recording;

typedef struct {              /* a thread that passes on what one machine says to another */
    pthread_t thread;
    int from, to;
    recording *recording;     /* NULL: none */
    uint64_t dice, latest_us; /* in pieces of any length, each at most so late; 0: as it comes */
} relay;

typedef struct way { recording *recording; uint64_t late; } way;  /* late: what decides how late all is; 0: nothing is */

typedef struct {
    program *p;
    run *runs[MOST_MACHINES]; /* what reactions saw is in the last one, wherever they ran */
    rx_link *links[MOST_MACHINES][MOST_MACHINES];
    int sockets[MOST_MACHINES][MOST_MACHINES];
    relay relays[MOST_MACHINES * MOST_MACHINES];
    int n_relays;
} machines;

static inline void send_whole(int socket, const uint8_t *bytes, size_t n)
{
    for (ssize_t gone; n; bytes += gone, n -= (size_t)gone)
        if ((gone = send(socket, bytes, n, MSG_NOSIGNAL)) <= 0) return;
}

static inline void record_piece(recording *r, const uint8_t *bytes, size_t n)
{
    r->bytes = realloc(r->bytes, r->n + n);
    memcpy(r->bytes + r->n, bytes, n);
    r->n += n;
}

static inline void *relay_all(void *argument)
{
    relay *r = argument;
    uint8_t bytes[1 << 14];
    size_t most = sizeof bytes;
    for (ssize_t n; (n = recv(r->from, bytes, most, 0)) > 0;) {
        if (r->latest_us) {
            r->dice = mixed(r->dice, (uint64_t)n);
            most = 1 + r->dice % 600;                /* a frame and a half, or a few bytes */
            if (r->dice >> 32 & 1) usleep((useconds_t)(r->dice >> 33) % (useconds_t)r->latest_us);
        }
        if (r->recording) record_piece(r->recording, bytes, (size_t)n);
        send_whole(r->to, bytes, (size_t)n);
    }
    shutdown(r->to, SHUT_WR);
    return NULL;
}

/* Some directions are slower than others, so that what one machine says is overtaken by what others say of it. */
static inline void start_relay(machines *m, int from, int to, way way)
{
    relay *r = &m->relays[m->n_relays++];
    uint64_t dice = mixed(way.late, (uint64_t)m->n_relays);
    *r = (relay){.from = from, .to = to, .recording = way.recording, .dice = dice};
    if (way.late) r->latest_us = (uint64_t[]){0, 50, 400, 3000}[dice % 4];
    assert(!pthread_create(&r->thread, NULL, relay_all, r));
}

static inline void connect_machines(machines *m, int a, int b, way way)
{
    int pair[2], other[2];
    assert(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
    m->sockets[a][b] = pair[0];
    m->sockets[b][a] = pair[1];
    for (int i = 0; i < 2 && m->p->narrow; i++) assert(!setsockopt(pair[i], SOL_SOCKET, SO_SNDBUF, &(int){4096}, sizeof(int)));
    if (!way.recording && !way.late) return;
    assert(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, other));
    m->sockets[b][a] = other[1];
    start_relay(m, pair[1], other[0], way);
    way.recording = NULL;
    start_relay(m, other[0], pair[1], way);
}

/* The program says which worker is on which machine. [runs]: one for each machine. */
static inline machines *link_runs(program *p, run *const *runs, way way)
{
    machines *m = calloc(1, sizeof *m);
    m->p = p;
    memcpy(m->runs, runs, (size_t)p->machines * sizeof *runs);
    for (int a = 0; a < p->machines; a++)
        for (int b = a + 1; b < p->machines; b++)
            connect_machines(m, a, b, (struct way){b == 1 ? way.recording : NULL, way.late});
    for (int a = 0; a < p->machines; a++)
        for (int b = 0; b < p->machines; b++) {
            const build *here = m->runs[a]->b;
            if (a == b) continue;
            m->links[a][b] = rx_link_open(here->base, here->fd, (uint32_t)b, m->sockets[a][b]);
            assert(m->links[a][b]);
            if (p->apart) continue;
            m->runs[a]->links[m->runs[a]->n_links].machine = (uint32_t)b;
            m->runs[a]->links[m->runs[a]->n_links++].socket = m->sockets[a][b];
        }
    return m;
}

/* Its reactions look. */
static inline machines *link_up(program *p, uint64_t budget, uint64_t often, way way)
{
    run *runs[MOST_MACHINES];
    for (p->machine = 0; p->machine < p->machines; p->machine++) runs[p->machine] = new_looking_run(p, budget, often);
    return link_runs(p, runs, way);
}

static inline runner *runner_of(const machines *m, int worker)
{
    return &m->runs[m->p->machine_of[worker]]->runners[worker];
}

static inline void start_machines(machines *m)
{
    for (int w = 0; w < m->p->workers; w++)
        assert(!pthread_create(&runner_of(m, w)->thread, NULL, work, runner_of(m, w)));
}

static inline void join_machines(machines *m)
{
    struct timespec end = in_seconds(PATIENCE_S);
    for (int w = 0; w < m->p->workers; w++)
        if (pthread_timedjoin_np(runner_of(m, w)->thread, NULL, &end)) give_up(runner_of(m, w)->run);
}

/* What workers of other machines know of their reactors, to where what reactions saw is. */
static inline void bring_home(machines *m)
{
    run *home = m->runs[m->p->machines - 1];
    for (int w = 0; w < m->p->workers; w++) {
        const run *there = runner_of(m, w)->run;
        const rx_tables *tables = RX_AT(rx_tables, home->b->base, home->b->image->tables) + w;
        size_t n = 0;
        for (int r = 0; r < m->p->n_reactors; r++) n += m->p->placement[r] == w;
        if (there == home) continue;
        memcpy(home->b->base + tables->digests, there->b->base + tables->digests, n * sizeof(uint64_t));
    }
}

/* All say goodbye, then all wait for it; each link says [state] then. */
static inline void end_links(machines *m, int state)
{
    for (int again = 0; again < 2; again++)
        for (int a = 0; a < m->p->machines; a++)
            for (int b = 0; b < m->p->machines; b++) {
                if (a == b) continue;
                int found = rx_link_end(m->links[a][b], again * PATIENCE_S * 1000000000ll);
                if (again && found != state) fprintf(stderr, "the link from %d to %d: %d\n", a, b, found);
                assert(!again || found == state);
            }
}

static inline void end_machines(machines *m)
{
    int n = m->p->machines;
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++) rx_link_close(m->links[a][b]);
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++)
            if (a != b) close(m->sockets[a][b]);
    for (int i = 0; i < m->n_relays; i++) pthread_join(m->relays[i].thread, NULL);
    for (int i = 0; i < m->n_relays; i++) close(m->relays[i].from);
    for (int a = 0; a < n; a++) end_run(m->runs[a]);
    free(m);
}

#endif
