/* One worker, from its opening to its end.
 *
 * rx_next is called by what runs the reactions, in a loop: it finishes what has just run (which declared effects are
 * present? whom do they trigger?), finds what comes next, and returns it. Between two tags it takes the next events;
 * when there is nothing to do it waits. Where one goes through a tag alone (solo.c) less is to be done than with others
 * (team.c). */
#include <stdlib.h>
#include <string.h>

#include "peers.h"

#define RUNAWAY_MICROSTEPS 10000000ull

/* ---- opening and closing -------------------------------------------------------------------------------- */

static void find_tables(rx_worker *w)
{
    rx_peers *p = rx__peers(w);
    void *base = w->base;
    const rx_image *image = w->image;
    const rx_tables *t = w->t = RX_AT(rx_tables, base, image->tables) + w->index;
    w->bell = RX_AT(rx_bell, base, image->bells) + w->index;
    w->reactions = RX_AT(rx_reaction, base, t->reactions);
    w->cells = RX_AT(rx_cell, base, t->cells);
    w->fans = RX_AT(rx_fan, base, t->fans);
    w->lists = RX_AT(uint32_t, base, t->lists);
    w->first_of_word = RX_AT(uint32_t, base, t->first_of_word);
    w->sources = RX_AT(rx_source, base, t->sources);
    w->subs = RX_AT(rx_sub, base, image->subs);
    w->taps = RX_AT(rx_tap, base, t->taps);
    w->actions = RX_AT(rx_action, base, t->actions);
    w->modes = RX_AT(rx_mode, base, t->modes);
    w->modals = RX_AT(rx_modal, base, t->modals);
    w->doors = RX_AT(uint8_t, base, t->doors);
    w->where = RX_AT(uint64_t, base, t->where);
    w->low = RX_AT(uint64_t, base, t->low);
    w->stats = RX_AT(rx_stats, base, t->stats);
    w->digests = RX_AT(uint64_t, base, t->digests);
    w->now = RX_AT(rx_tag, base, t->now);
    w->current = RX_AT(int64_t, base, t->current);
    w->ready.n_summary = (t->n_words + 63) / 64;
    if (image->virtual_time) w->n_clocks = 1;
    for (uint32_t i = 0; image->virtual_time && i < t->n_cells; i++)
        if (w->cells[i].tap != RX_NONE && w->cells[i].tap >= w->n_clocks) w->n_clocks = w->cells[i].tap + 1;
    p->line = rx__line(base, w->index);
    p->waits = RX_AT(rx_wait, base, t->waits);
    p->stop_waits = RX_AT(rx_wait, base, t->stop_waits);
    p->visit_words = RX_AT(uint64_t, base, t->visit_words);
    p->delays = RX_AT(rx_tag, base, image->delays);
    p->direct = p->delays + (uint64_t)w->workers * w->workers;
}

/* The arrays that have their sizes from the image; made when a worker opens, freed when it closes. */
typedef struct {
    void *at;                 /* of the pointer to it */
    uint64_t n;
    size_t size;
    int always;               /* else it is NULL where n is 0 */
} array;

enum { N_ARRAYS = 21 };

static void find_arrays(rx_worker *w, array *arrays)
{
    rx_peers *p = rx__peers(w);
    const rx_tables *t = w->t;
    const array all[N_ARRAYS] = {
        {&w->ready.words, t->n_words, sizeof *w->ready.words, 1},
        {&w->ready.summary, w->ready.n_summary, sizeof *w->ready.summary, 1},
        {&w->triggered, t->n_words, sizeof *w->triggered, 1},
        {&w->enabled, t->n_modes ? t->n_words : 0, sizeof *w->enabled, 0},
        {&w->renewed, t->n_modes, sizeof *w->renewed, 1},
        {&w->batch, t->n_reactions, sizeof *w->batch, 1},
        {&w->left, t->n_words, sizeof *w->left, 1},
        {&w->heavy, t->n_reactions, sizeof *w->heavy, 1},
        {&w->calls, t->n_reactions, sizeof *w->calls, 1},
        {&w->sends, t->n_reactions, sizeof *w->sends, 1},
        {&w->needs_room, t->n_reactions, sizeof *w->needs_room, 1},
        {&w->reads_last, t->n_reactions, sizeof *w->reads_last, 1},
        {&w->last_reader, t->n_cells, sizeof *w->last_reader, 1},
        {&w->holds, t->n_cells, sizeof *w->holds, 1},
        {&w->held, t->n_cells, sizeof *w->held, 1},
        {&w->cell_of, t->n_doors, sizeof *w->cell_of, 1},
        {&w->unsent, t->n_sources, sizeof *w->unsent, 1},
        {&w->clocks, w->n_clocks, sizeof *w->clocks, 0},
        {&p->senders, t->n_reactions, sizeof *p->senders, 1},
        {&p->in, w->workers, sizeof *p->in, 1},
        {&p->out, w->workers, sizeof *p->out, 1},
    };
    memcpy(arrays, all, sizeof all);
}

static int make_arrays(rx_worker *w)
{
    array arrays[N_ARRAYS];
    find_arrays(w, arrays);
    for (const array *a = arrays; a < arrays + N_ARRAYS; a++) {
        if (!a->n && !a->always) continue;
        void *made = calloc(a->n ? a->n : 1, a->size);
        if (!made) return RX_NO_MEMORY;
        memcpy(a->at, &made, sizeof made);
    }
    return 0;
}

static void free_arrays(rx_worker *w)
{
    array arrays[N_ARRAYS];
    find_arrays(w, arrays);
    for (const array *a = arrays; a < arrays + N_ARRAYS; a++) {
        void *made;
        memcpy(&made, a->at, sizeof made);
        free(made);
    }
}

static void find_peers(rx_worker *w)
{
    rx_peers *p = rx__peers(w);
    uint32_t n = w->workers, index = w->index;
    const uint64_t *rings = RX_AT(uint64_t, w->base, w->image->rings);
    for (uint32_t i = 0; i < w->image->n_subs; i++)
        if (w->subs[i].producer == index) p->most[w->subs[i].consumer]++;
    for (uint32_t i = 0; i < n; i++) {
        p->in[i] = rings[i * n + index] ? RX_AT(rx__ring, w->base, rings[i * n + index]) : NULL;
        p->out[i] = rings[index * n + i] ? RX_AT(rx__ring, w->base, rings[index * n + i]) : NULL;
        rx_tag none = {0, 0};
        p->mate[i] = i != index && rx__equal(p->delays[i * n + index], none) && rx__equal(p->delays[index * n + i], none);
        p->n_mates += p->mate[i];
        p->may[i] = p->passed[i] = rx__tag(-1, 0);
    }
}

/* What each reaction writes, and to which workers that goes. */
static void find_writes(rx_worker *w)
{
    rx_peers *p = rx__peers(w);
    const uint32_t *door_cells = RX_AT(uint32_t, w->base, w->t->door_cells);
    for (uint32_t i = 0; i < w->t->n_doors; i++) w->cell_of[i] = &w->cells[door_cells[i]];
    for (uint32_t i = 0; i < w->t->n_reactions; i++) {
        const rx_reaction *r = &w->reactions[i];
        if (i) p->senders[i] = w->sends[i - 1] ? i : p->senders[i - 1];
        for (uint32_t k = 0; k < r->n_ports; k++) {
            uint32_t source = w->cell_of[w->lists[r->writes + k]]->source;
            if (source == RX_NONE) continue;
            const rx_source *s = &w->sources[source];
            w->needs_room[i] |= s->mode == RX_SLOTS;
            for (uint32_t j = s->subs; j < s->subs + s->n_subs; j++) {
                uint32_t consumer = w->subs[w->lists[j]].consumer;
                if (consumer != w->index) w->sends[i] |= 1ull << consumer;
            }
        }
        w->needs_room[i] |= w->sends[i] != 0;
    }
}

/* Which reaction is the last to read a value that came into a slot: ranks are the order in which they run. */
static void find_last_readers(rx_worker *w)
{
    for (uint32_t i = 0; i < w->t->n_cells; i++) w->last_reader[i] = RX_NONE;
    for (uint32_t i = w->t->n_reactions; i-- > 0;) {
        const rx_reaction *r = &w->reactions[i];
        for (uint32_t k = 0; k < r->n_reads; k++) {
            const rx_cell *cell = w->cell_of[w->lists[r->reads + k]];
            uint32_t *last = &w->last_reader[cell - w->cells];
            if (*last != RX_NONE || cell->tap == RX_NONE || w->subs[w->taps[cell->tap].sub].mode != RX_SLOTS) continue;
            *last = i;
            w->reads_last[i] = 1;
        }
    }
}

rx_worker *rx_open(void *base, uint32_t index)
{
    rx_peers *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    rx_worker *w = &p->self;
    rx_image *image = rx__image(base);
    w->base = base;
    w->image = image;
    w->index = index;
    w->workers = image->workers;
    w->solo = image->workers == 1;
    find_tables(w);
    w->tag = rx__tag(-1, 0);
    w->stop = image->timeout;
    w->record = -1;
    w->coming = w->t->n_injections + w->t->n_replayed;
    w->until_sample = 1;
    w->spin = image->spin_ns;
    w->dice = 1;
    w->runaway = image->max_microsteps ? image->max_microsteps : RUNAWAY_MICROSTEPS;
    p->head = rx__tag(0, 0);
    p->bound = rx__tag(-1, 0);
    p->patience = RX_PATIENCE;
    if (make_arrays(w) || rx__open_journal(w)) {
        rx_close(w);
        return NULL;
    }
    memset(w->heavy, RX_LONG, w->t->n_reactions);    /* the first time is always measured */
    find_peers(w);
    find_writes(w);
    find_last_readers(w);
    return w;
}

static int none_stays(void *who, rx_tag tag, const rx_event *e)
{
    (void)who, (void)tag;
    rx__free_copy(e->payload);
    return 0;
}

void rx_close(rx_worker *w)
{
    if (!w) return;
    rx__end_links(w);
    rx__close_journal(w);
    for (uint32_t i = 0; i < w->n_holds; i++)
        if (w->held[w->holds[i]]) rx__free_copy(w->cells[w->holds[i]].payload);
    rx__queue_filter(&w->queue, none_stays, NULL);
    for (uint32_t i = 0; i < w->soon.n; i++) rx__free_copy(w->soon.items[i].payload);
    rx__queue_filter(&w->aside, none_stays, NULL);
    for (uint32_t i = 0; w->clocks && i < w->n_clocks; i++) free(w->clocks[i].items);
    for (uint32_t i = 0; w->calls && i < w->t->n_reactions; i++) rx__end_call(&w->calls[i]);
    free_arrays(w);
    rx__queue_free(&w->queue);
    rx__queue_free(&w->aside);
    free(w->soon.items);
    free(w->soon_next.items);
    free(w->free_values);
    free(w->unneeded);
    free(rx__peers(w));
}

void rx_view(rx_worker *w, rx_worker_view *view)
{
    *view = (rx_worker_view){w->doors, w->where, w->low, w->now, w->current};
}

int64_t rx_clock_ns(void) { return rx__clock(); }
int64_t rx_physical_time(rx_worker *w) { return w->started ? rx__now(w) : 0; }
void rx_pause(rx_worker *w) { w->pausing = 1; }
void rx_watch(rx_worker *w) { w->watched = 1; }

/* ---- from start to end ---- */

static int all_here(rx_worker *w) { return rx__get32(&w->image->started) == 1; }

int rx_start(rx_worker *w)
{
    rx_image *image = w->image;
    rx__start_events(w);
    if (rx__add32(&image->ready, 1) + 1 == image->here) {
        if (image->machines > 1) rx__ring_all(w->base);          /* links tell others */
        else {
            image->start_ns = rx__clock();
            rx__put32_fenced(&image->started, 1);
            rx__wake(w);
        }
    }
    int c = rx__wait(w, all_here);
    if (c < 0) return c;
    rx__inbox_state(w, 1);
    w->started = 1;
    return 0;
}

/* A worker that is done takes what still comes, all of it beyond the stop tag, so that no other waits for room. */
static int others_done(rx_worker *w)
{
    const rx_peers *p = rx__peers(w);
    rx__drain(w);
    for (uint32_t i = 0; i < w->workers; i++) {
        if (i == w->index) continue;
        rx__look_at(w, i);
        if (!rx__is_forever(p->passed[i])) return 0;
    }
    return 1;
}

static int64_t stopped(rx_worker *w)
{
    rx_peers *p = rx__peers(w);
    rx__inbox_state(w, 0);
    *w->current = -1;
    if (!w->solo) {
        w->in_tag = 0;
        rx__publish(w, rx__forever(), rx__forever(), UINT64_MAX);
        p->wants = RX_TO_BEGIN;
        p->want = rx__forever();
        if (rx__wait(w, others_done) == RX_INTERRUPTED) return RX_INTERRUPTED;
        rx__put((uint64_t *)&w->bell->until, INT64_MAX);
        rx__put_fenced(&w->bell->looked, UINT64_MAX);
        if (w->image->virtual_time) rx__changed(w);
    }
    rx__leave_across(w);
    if (w->t->trace) rx__show_spans(w);
    rx__put(&w->bell->finished, w->started ? (uint64_t)(rx__clock() - w->image->start_ns) : 1);
    return RX_DONE;
}

/* ---- after a failure: shutdown reactions only, whatever their deadlines, and nothing goes anywhere any more ---- */

static int64_t next_failed(rx_worker *w)
{
    if (w->n_batch) rx__shut_doors(w, &w->reactions[w->batch[0]]);
    for (int64_t word; (word = rx__ready_first(&w->ready)) >= 0;) {
        uint64_t bits = w->ready.words[word];
        uint32_t index = w->first_of_word[word] + (uint32_t)__builtin_ctzll(bits);
        rx__ready_remove(&w->ready, (uint32_t)word, bits & -bits);
        rx__find_slots(w, index);
        if (rx__run_unheard(w, index)) continue;
        w->batch[0] = index;
        w->n_batch = 1;
        return rx__enter(w);
    }
    return stopped(w);
}

/* Gives up what was to run. Of a batch, what comes after the reaction that was running has not run, and is ready again. */
static void break_off(rx_worker *w)
{
    uint32_t n = w->t->n_reactions, word = 0;
    for (uint32_t i = w->at; i < w->n_batch; i++) {
        uint32_t index = w->batch[i] % n;
        if (i == w->at) rx__shut_doors(w, &w->reactions[index]);
        while (word + 1 < w->t->n_words && w->first_of_word[word + 1] <= index) word++;
        if (i > w->at) rx__ready_add(&w->ready, word, 1ull << (index - w->first_of_word[word]));
    }
    w->n_batch = w->at = 0;
    w->dispatched = 0;
}

void rx_fail(rx_worker *w)
{
    if (w->failed) return;
    w->failed = 1;
    rx__leave_across(w);
    rx_cell *shutdown = &w->cells[w->t->shutdown];
    int shutting = w->stamp && shutdown->stamp == w->stamp;      /* this is the stop tag: what has run does not run again */
    break_off(w);
    for (uint32_t i = 0; i < w->t->n_words; i++) w->left[i] = shutting ? w->ready.words[i] : UINT64_MAX;
    memset(w->ready.words, 0, w->t->n_words * sizeof *w->ready.words);
    memset(w->ready.summary, 0, w->ready.n_summary * sizeof *w->ready.summary);
    w->ready.at = 0;
    if (!shutting) {
        w->tag = rx__next_microstep(w->tag);
        if (w->tag.time < 0) w->tag = rx__tag(0, 0);
        *w->now = w->tag;
        w->stamp++;
        shutdown->stamp = w->stamp;
    }
    rx__trigger(w, shutdown);
    rx__shut_modes(w);
    for (uint32_t i = 0; i < w->t->n_words; i++) rx__ready_remove(&w->ready, i, ~w->left[i]);
}

int64_t rx_next(rx_worker *w)
{
    w->tags_alone = 0;
    if (w->failed) return next_failed(w);
    if (w->n_batch) {
        int64_t next = rx__finish(w);
        if (next != RX_RAN) return next;
        if (w->sent) rx__progress(w, rx__peers(w)->position);
        w->sent = 0;
    }
    if (w->pausing == RX_DUE) {
        w->pausing = 0;
        return RX_PAUSED;
    }
    int64_t next = w->solo ? rx__next_alone(w) : rx__next_together(w);
    return next == RX_DONE ? stopped(w) : next;
}
