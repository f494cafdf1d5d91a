/* What those have in common who use a link: what they know of it, from the image, and what they share, in the arena. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "clock.h"
#include "link.h"

int rx__is_mine(const rx_link *l, uint32_t worker) { return l->image->machine_of[worker] == l->image->machine; }

rx__ring *rx__ring_between(const rx_link *l, uint32_t producer, uint32_t consumer)
{
    return RX_AT(rx__ring, l->base, RX_AT(uint64_t, l->base, l->image->rings)[producer * l->image->workers + consumer]);
}

/* ---- what the image says ---- */

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

static int find_all(rx_link *l)
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
    l->room = l->their_state_size > sizeof(rx__f_message) ? l->their_state_size : (uint32_t)sizeof(rx__f_message);
    l->quiet_size = (uint32_t)(sizeof(rx__f_quiet) + l->image->machines * sizeof(rx__f_traffic));
    if (l->room < l->quiet_size) l->room = l->quiet_size;
    l->outbox_room = 2 * (RX_DIRECT + sizeof(rx__frame) + l->state_size + l->quiet_size);
    l->inbox_room = 2 * (RX_DIRECT / 2 + sizeof(rx__frame) + l->room);
    rx__crc_fill(&l->crcs);
    return 1;
}

/* ---- what is shared ---- */

/* Where all of it lies if it begins at [at]; where it ends. */
static uint64_t lay_out(rx_link *l, uint64_t at)
{
    const struct { void *of; uint64_t bytes; } parts[] = {
        {&l->shared, sizeof *l->shared},
        {&l->told, l->n_out * sizeof *l->told},
        {&l->tails, l->n_out * sizeof *l->tails},
        {&l->carried, l->n_slots * sizeof *l->carried},
        {&l->state, l->state_size},
        {&l->last, l->state_size},
        {&l->quiet, l->quiet_size},
        {&l->last_quiet, l->quiet_size},
        {&l->outbox, l->outbox_room},
        {&l->inbox, l->inbox_room},
        {&l->body, l->room},
        {&l->lent, l->n_slots * sizeof *l->lent},
        {&l->held, l->n_slots * sizeof *l->held},
        {&l->in_use, l->n_slots * sizeof *l->in_use},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        uint8_t *there = (uint8_t *)l->base + at;
        memcpy(parts[i].of, &there, sizeof there);
        at += (parts[i].bytes + 63) & ~63ull;
    }
    return at;
}

static void make_lock(pthread_mutex_t *lock)
{
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(lock, &kind);
    pthread_mutexattr_destroy(&kind);
}

static int find_shared(rx_link *l)
{
    uint64_t *place = &l->image->links[l->machine];
    int first = !*place;
    if (first) *place = rx_spill(l->base, l->fd, lay_out(l, 0));
    if (!*place) return 0;
    lay_out(l, *place);
    if (!first) return 1;
    make_lock(&l->shared->telling);
    make_lock(&l->shared->hearing);
    make_lock(&l->shared->holding);
    l->shared->heard = rx__clock();
    for (uint32_t i = 0; i < l->n_slots; i++) l->carried[i] = rx__tag(-1, 0);
    for (uint32_t i = 0; i < l->n_theirs; i++) {     /* one of their bells is the thread's that tells, the others wake no one */
        rx_bell *bell = RX_AT(rx_bell, l->base, l->image->bells) + l->theirs[i];
        rx__put((uint64_t *)&bell->until, INT64_MAX);
        if (i) rx__put_fenced(&bell->looked, UINT64_MAX);
    }
    return 1;
}

rx_link *rx__link_made(void *base, int fd, uint32_t machine, int socket)
{
    rx_link *l = calloc(1, sizeof *l);
    if (!l) return NULL;
    l->base = base;
    l->image = rx__image(base);
    l->fd = fd;
    l->socket = socket;
    l->machine = machine;
    struct timeval silence = {0};
    getsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &silence, &(socklen_t){sizeof silence});
    l->silence = silence.tv_sec * 1000000000ll + silence.tv_usec * 1000ll;
    if (find_all(l) && find_shared(l)) return l;
    rx__link_freed(l);
    return NULL;
}

void rx__link_freed(rx_link *l)
{
    free(l->out); free(l->in); free(l->sent); free(l->heard); free(l->taken); free(l->gave); free(l->slots_of);
    free(l);
}

/* ---- locks, beginning and end ---- */

/* What a process that died was writing down is torn, and no other can go on with it. */
static int locked(rx_link *l, pthread_mutex_t *lock, int error)
{
    if (error == EOWNERDEAD) {
        pthread_mutex_consistent(lock);
        rx__link_over(l, RX_CUT);
        pthread_mutex_unlock(lock);
    }
    return !error;
}

int rx__lock(rx_link *l, pthread_mutex_t *lock) { return locked(l, lock, pthread_mutex_lock(lock)); }
int rx__try_lock(rx_link *l, pthread_mutex_t *lock) { return locked(l, lock, pthread_mutex_trylock(lock)); }

int rx__is_up(const rx_link *l) { return rx__get32(&l->shared->over) == RX_LINKED; }

void rx__link_over(rx_link *l, uint32_t why)
{
    if (!rx__swap_if32(&l->shared->over, RX_LINKED, why)) return;
    rx_abort(l->base, RX_E_ABORTED);
    rx__ring_bell(l->base, l->bell);
}

/* ---- the start: logical time 0 is when machine 0 hears that all are there, on all of them ------------------------ */

static void start(rx_link *l, int64_t start_ns)
{
    rx_image *image = l->image;
    if (!rx__swap_if32(&image->started, 0, 2)) return;
    image->start_ns = start_ns;
    rx__put32_fenced(&image->started, 1);
    rx__add(&image->changes, 1);
    rx__ring_all(l->base);
}

void rx__start_together(rx_link *l)
{
    const rx_image *image = l->image;
    if (image->machine || rx__get32(&image->ready) != image->here) return;
    if (rx__get32(&image->machines_ready) == image->machines - 1) start(l, rx__clock());
}

void rx__start_with_first(rx_link *l, int64_t start_ns)
{
    int64_t now = rx__clock(), here = start_ns + l->image->ahead_ns;
    start(l, here < now ? here : now);               /* it has begun, however wrong the measured offset is */
}
