/* Machines that are all in this process: each has an arena, threads for its workers, and links to all others. What
 * goes from machine 0 to machine 1 can be recorded on its way. */
#ifndef MACHINES_H
#define MACHINES_H

#include <poll.h>
#include <sys/socket.h>

#include "run.h"

enum { MOST_MACHINES = 3 };

typedef struct { uint8_t *bytes; size_t n; } recording;

typedef struct {              /* a thread between two links */
    pthread_t thread;
    int ends[2];              /* of machine 0, of machine 1 */
    recording *recording;
} relay;

typedef struct {
    program *p;
    run *runs[MOST_MACHINES]; /* what reactions saw is in the last one, wherever they ran */
    rx_link *links[MOST_MACHINES][MOST_MACHINES];
    int sockets[MOST_MACHINES][MOST_MACHINES];
    relay relay;
} machines;

static inline void send_whole(int socket, const uint8_t *bytes, size_t n)
{
    for (ssize_t gone; n; bytes += gone, n -= (size_t)gone)
        if ((gone = send(socket, bytes, n, MSG_NOSIGNAL)) <= 0) return;
}

static inline void *pass_on_and_record(void *argument)
{
    relay *r = argument;
    static uint8_t bytes[1 << 16];
    for (int open = 2; open;) {
        struct pollfd ends[2] = {{.fd = r->ends[0], .events = POLLIN}, {.fd = r->ends[1], .events = POLLIN}};
        assert(poll(ends, 2, PATIENCE_S * 1000) > 0);
        for (int from = 0; from < 2; from++) {
            if (!ends[from].revents) continue;
            ssize_t n = recv(r->ends[from], bytes, sizeof bytes, 0);
            if (n <= 0) {
                shutdown(r->ends[!from], SHUT_WR);
                r->ends[from] = -1 - r->ends[from];  /* poll leaves it out */
                open--;
                continue;
            }
            send_whole(r->ends[!from], bytes, (size_t)n);
            if (from) continue;
            r->recording->bytes = realloc(r->recording->bytes, r->recording->n + (size_t)n);
            memcpy(r->recording->bytes + r->recording->n, bytes, (size_t)n);
            r->recording->n += (size_t)n;
        }
    }
    return NULL;
}

static inline void connect_machines(machines *m, int a, int b, recording *recording)
{
    int pair[2], other[2];
    assert(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
    m->sockets[a][b] = pair[0];
    m->sockets[b][a] = pair[1];
    for (int i = 0; i < 2 && m->p->narrow; i++) assert(!setsockopt(pair[i], SOL_SOCKET, SO_SNDBUF, &(int){4096}, sizeof(int)));
    if (!recording) return;
    assert(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, other));
    m->relay = (relay){.ends = {pair[1], other[0]}, .recording = recording};
    m->sockets[b][a] = other[1];
    assert(!pthread_create(&m->relay.thread, NULL, pass_on_and_record, &m->relay));
}

/* The program says which worker is on which machine. Its reactions look. */
static inline machines *link_up(program *p, uint64_t budget, uint64_t often, recording *recording)
{
    machines *m = calloc(1, sizeof *m);
    m->p = p;
    for (p->machine = 0; p->machine < p->machines; p->machine++)
        m->runs[p->machine] = new_looking_run(p, budget, often);
    for (int a = 0; a < p->machines; a++)
        for (int b = a + 1; b < p->machines; b++) connect_machines(m, a, b, b == 1 ? recording : NULL);
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
    if (m->relay.recording) {
        pthread_join(m->relay.thread, NULL);
        for (int i = 0; i < 2; i++) close(-1 - m->relay.ends[i]);
    }
    for (int a = 0; a < n; a++) end_run(m->runs[a]);
    free(m);
}

#endif
