/* Opening and closing of a link. */
#include "link.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "clock.h"
#include "peers.h"

enum { TELLS = 1, HEARS = 2 };

static int is_theirs(const rx_link *l, uint32_t worker) { return l->image->machine_of[worker] == l->machine; }

/* Rings between workers of which the first is one of [from] and the second one of [to]. */
typedef int (*is)(const rx_link *l, uint32_t worker);
static int is_third(const rx_link *l, uint32_t worker) { return !rx__is_mine(l, worker) && !is_theirs(l, worker); }
static int is_other(const rx_link *l, uint32_t worker) { return !rx__is_mine(l, worker); }
static int is_not_theirs(const rx_link *l, uint32_t worker) { return !is_theirs(l, worker); }

static rx__pair *find_rings(const rx_link *l, is from, is to, uint32_t *n)
{
    uint32_t W = l->image->workers;
    const uint64_t *rings = RX_AT(uint64_t, l->base, l->image->rings);
    rx__pair *found = malloc((W * W + 1) * sizeof *found);
    *n = 0;
    for (uint32_t a = 0; found && a < W; a++)
        for (uint32_t b = 0; b < W; b++)
            if (rings[a * W + b] && from(l, a) && to(l, b)) found[(*n)++] = (rx__pair){a, b};
    return found;
}

static uint32_t state_size(uint32_t workers, uint32_t rings, uint32_t counts)
{
    return (uint32_t)(sizeof(rx__f_state) + workers * sizeof(rx__f_worker) + rings * sizeof(rx__f_ring) + counts * sizeof(uint64_t));
}

/* Subscriptions of one source lie side by side, and have its slots in common. */
static int find_slots(rx_link *l)
{
    const rx_sub *subs = RX_AT(rx_sub, l->base, l->image->subs);
    uint32_t n = l->image->n_subs;
    l->slots_of = calloc(n + 1, sizeof *l->slots_of);
    if (!l->slots_of) return 0;
    for (uint32_t i = 0; i < n; i++) {
        int same = i && subs[i].producer == subs[i - 1].producer && subs[i].source == subs[i - 1].source;
        l->slots_of[i] = same ? l->slots_of[i - 1] : l->n_slots;
        if (!same && subs[i].mode == RX_SLOTS) l->n_slots += subs[i].slots;
    }
    return 1;
}

static int prepare(rx_link *l)
{
    for (uint32_t i = 0; i < l->image->workers; i++) {
        if (rx__is_mine(l, i)) l->mine[l->n_mine++] = i;
        if (is_theirs(l, i)) l->theirs[l->n_theirs++] = i;
    }
    l->bell = l->theirs[0];
    l->out = find_rings(l, rx__is_mine, is_theirs, &l->n_out);
    l->in = find_rings(l, is_theirs, rx__is_mine, &l->n_in);
    l->sent = find_rings(l, rx__is_mine, is_third, &l->n_sent);
    l->heard = find_rings(l, is_theirs, is_third, &l->n_heard);
    l->taken = find_rings(l, is_other, rx__is_mine, &l->n_taken);
    l->gave = find_rings(l, is_not_theirs, is_theirs, &l->n_gave);
    if (!l->out || !l->in || !l->sent || !l->heard || !l->taken || !l->gave || !find_slots(l)) return 0;
    l->state_size = state_size(l->n_mine, l->n_sent, l->n_taken);
    l->their_state_size = state_size(l->n_theirs, l->n_heard, l->n_gave);
    uint64_t releases = (l->n_slots + 1) * sizeof(rx__f_release);
    l->room = l->their_state_size > sizeof(rx__f_message) ? l->their_state_size : (uint32_t)sizeof(rx__f_message);
    if (l->room < releases) l->room = (uint32_t)releases;
    l->told = calloc(l->n_out + 1, sizeof *l->told);
    l->tails = calloc(l->n_out + 1, sizeof *l->tails);
    l->carried = malloc((l->n_slots + 1) * sizeof *l->carried);
    l->lent = calloc(l->n_slots + 1, sizeof *l->lent);
    l->held = calloc(l->n_slots + 1, sizeof *l->held);
    l->in_use = calloc(l->n_slots + 1, sizeof *l->in_use);
    l->state = calloc(1, l->state_size);
    l->last = calloc(1, l->state_size);
    l->body = calloc(1, l->room);
    if (!l->told || !l->tails || !l->carried || !l->lent || !l->held || !l->in_use || !l->state || !l->last || !l->body) return 0;
    for (uint32_t i = 0; i < l->n_slots; i++) l->carried[i] = rx__tag(-1, 0);
    rx__crc_fill(&l->crcs);
    return 1;
}

rx_link *rx_link_open(void *base, int fd, uint32_t machine, int socket)
{
    rx_link *l = calloc(1, sizeof *l);
    if (!l) return NULL;
    l->base = base;
    l->image = rx__image(base);
    l->fd = fd;
    l->socket = socket;
    l->machine = machine;
    pthread_mutex_init(&l->lock, NULL);
    if (prepare(l)) {
        if (!pthread_create(&l->hearing, NULL, rx__hear, l)) l->started |= HEARS;
        if (l->started && !pthread_create(&l->telling, NULL, rx__tell, l)) l->started |= TELLS;
    }
    if (l->started == (TELLS | HEARS)) return l;
    rx_link_close(l);
    return NULL;
}

int rx_link_state(const rx_link *l)
{
    uint32_t over = rx__get32(&l->over);
    return over != RX_LINKED ? (int)over : rx__get32(&l->said_bye) ? RX_SAID_BYE : RX_LINKED;
}

int rx_link_end(rx_link *l, int64_t ns)
{
    int64_t until = rx__clock() + ns;
    rx__put32_fenced(&l->ending, 1);
    rx__ring_bell(l->base, l->bell);
    while (rx_link_state(l) == RX_LINKED && rx__clock() < until)
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    return rx_link_state(l);
}

void rx_link_close(rx_link *l)
{
    if (!l) return;
    rx__put32_fenced(&l->ending, 1);
    if (l->started) rx__ring_bell(l->base, l->bell);
    if (l->started & TELLS) pthread_join(l->telling, NULL);
    shutdown(l->socket, SHUT_RDWR);
    if (l->started & HEARS) pthread_join(l->hearing, NULL);
    pthread_mutex_destroy(&l->lock);
    free(l->out); free(l->in); free(l->sent); free(l->heard); free(l->taken); free(l->gave); free(l->slots_of);
    free(l->told); free(l->tails); free(l->carried); free(l->lent); free(l->held); free(l->in_use); free(l->state); free(l->last);
    free(l->body); free(l->buffer.bytes);
    free(l);
}
