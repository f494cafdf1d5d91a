/* One worker, from its opening to its end.
 *
 * rx_next is called by whoever runs the reactions, in a loop: it finishes what has just run (which declared effects are
 * present? whom do they trigger?), finds what comes next, and returns it. Between two tags it takes the next events;
 * when there is nothing to do it waits. Where one goes through a tag alone (solo.c) less is to be done than with others
 * (team.c). */
#include "worker.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "shared.h"
#include "tag.h"

#define RUNAWAY_MICROSTEPS 10000000ull

/* ---- opening and closing -------------------------------------------------------------------------------- */

static void *zeroed(uint64_t n, size_t size) { return calloc(n ? n : 1, size); }

rx_worker *rx_open(void *base, uint32_t index)
{
    rx_worker *w = calloc(1, sizeof *w);
    if (!w) return NULL;
    rx_image *image = rx__image(base);
    rx_tables *t = RX_AT(rx_tables, base, image->tables) + index;
    uint32_t n = image->workers;
    w->base = base;
    w->image = image;
    w->t = t;
    w->index = index;
    w->workers = n;
    w->solo = n == 1;
    w->line = rx__line(base, index);
    w->bell = RX_AT(rx_bell, base, image->bells) + index;
    w->reactions = RX_AT(rx_reaction, base, t->reactions);
    w->cells = RX_AT(rx_cell, base, t->cells);
    w->fans = RX_AT(rx_fan, base, t->fans);
    w->lists = RX_AT(uint32_t, base, t->lists);
    w->sources = RX_AT(rx_source, base, t->sources);
    w->subs = RX_AT(rx_sub, base, image->subs);
    w->taps = RX_AT(rx_tap, base, t->taps);
    w->waits = RX_AT(rx_wait, base, t->waits);
    w->stop_waits = RX_AT(rx_wait, base, t->stop_waits);
    w->actions = RX_AT(rx_action, base, t->actions);
    w->modes = RX_AT(rx_mode, base, t->modes);
    w->machines = RX_AT(rx_machine, base, t->machines);
    w->first_of_word = RX_AT(uint32_t, base, t->first_of_word);
    w->visit_words = RX_AT(uint64_t, base, t->visit_words);
    w->doors = RX_AT(uint8_t, base, t->doors);
    w->where = RX_AT(uint64_t, base, t->where);
    w->low = RX_AT(uint64_t, base, t->low);
    w->batch = RX_AT(uint32_t, base, t->batch);
    w->stats = RX_AT(rx_stats, base, t->stats);
    w->now = RX_AT(rx_tag, base, t->now);
    w->current = RX_AT(int64_t, base, t->current);
    w->digests = RX_AT(uint64_t, base, image->digests);
    w->delays = RX_AT(rx_tag, base, image->delays);
    w->direct = w->delays + (uint64_t)n * n;
    w->tag = rx__tag(-1, 0);
    w->stop = image->timeout;
    w->head = rx__tag(0, 0);
    w->bound = rx__tag(-1, 0);
    w->record = -1;
    w->coming = t->n_injections + t->n_replayed;
    w->until_sample = 1;
    w->spin = image->spin_ns;
    w->dice = 1;
    w->runaway = image->max_microsteps ? image->max_microsteps : RUNAWAY_MICROSTEPS;
    w->ready.n_summary = (t->n_words + 63) / 64;
    w->ready.words = zeroed(t->n_words, sizeof(uint64_t));
    w->ready.summary = zeroed(w->ready.n_summary, sizeof(uint64_t));
    w->triggered = zeroed(t->n_words, sizeof(uint64_t));
    w->partial = zeroed(t->n_reactions, sizeof(uint64_t));
    w->heavy = zeroed(t->n_reactions, 1);            /* set below: the first time is always measured */
    w->calls = zeroed(t->n_reactions, sizeof(rx__call));
    w->sends = zeroed(t->n_reactions, sizeof(uint64_t));
    w->senders = zeroed(t->n_reactions, sizeof(uint64_t));
    w->needs_room = zeroed(t->n_reactions, 1);
    w->cell_of = zeroed(t->n_doors, sizeof(rx_cell *));
    w->unsent = zeroed(t->n_sources, sizeof(uint32_t));
    w->enabled = t->n_modes ? zeroed(t->n_words, sizeof(uint64_t)) : NULL;
    w->renewed = zeroed(t->n_modes, sizeof(uint32_t));
    w->in = zeroed(n, sizeof(rx__ring *));
    w->out = zeroed(n, sizeof(rx__ring *));
    if (!w->ready.words || !w->ready.summary || !w->triggered || !w->partial || !w->heavy || !w->calls || !w->sends || !w->senders ||
        !w->needs_room || !w->cell_of || !w->unsent || !w->renewed || (t->n_modes && !w->enabled) || !w->in || !w->out) {
        rx_close(w);
        return NULL;
    }
    memset(w->heavy, 1, t->n_reactions);
    const uint64_t *rings = RX_AT(uint64_t, base, image->rings);
    for (uint32_t i = 0; i < image->n_subs; i++)
        if (w->subs[i].producer == index) w->most[w->subs[i].consumer]++;
    for (uint32_t i = 0; i < n; i++) {
        w->in[i] = rings[i * n + index] ? RX_AT(rx__ring, base, rings[i * n + index]) : NULL;
        w->out[i] = rings[index * n + i] ? RX_AT(rx__ring, base, rings[index * n + i]) : NULL;
        rx_tag none = {0, 0};
        w->mate[i] = i != index && rx__equal(w->delays[i * n + index], none) && rx__equal(w->delays[index * n + i], none);
        w->n_mates += w->mate[i];
        w->may[i] = w->passed[i] = rx__tag(-1, 0);
    }
    if (image->virtual_time) {
        for (uint32_t i = 0; i < t->n_cells; i++)
            if (w->cells[i].tap != RX_NONE && w->cells[i].tap >= w->n_clocks) w->n_clocks = w->cells[i].tap + 1;
        w->clocks = zeroed(w->n_clocks, sizeof(rx__clocks));
        if (!w->clocks) {
            rx_close(w);
            return NULL;
        }
    }
    const uint32_t *door_cells = RX_AT(uint32_t, base, t->door_cells);
    for (uint32_t i = 0; i < t->n_doors; i++) w->cell_of[i] = &w->cells[door_cells[i]];
    for (uint32_t i = 0; i < t->n_reactions; i++) {
        const rx_reaction *r = &w->reactions[i];
        if (i) w->senders[i] = w->sends[i - 1] ? i : w->senders[i - 1];
        for (uint32_t k = 0; k < r->n_ports; k++) {
            uint32_t source = w->cell_of[w->lists[r->writes + k]]->source;
            if (source == RX_NONE) continue;
            const rx_source *s = &w->sources[source];
            w->needs_room[i] |= s->mode == RX_SLOTS;
            for (uint32_t j = s->subs; j < s->subs + s->n_subs; j++) {
                uint32_t consumer = w->subs[w->lists[j]].consumer;
                if (consumer != index) w->sends[i] |= 1ull << consumer;
            }
        }
        w->needs_room[i] |= w->sends[i] != 0;
    }
    return w;
}

void rx_close(rx_worker *w)
{
    if (!w) return;
    for (uint32_t i = 0; i < w->n_holds; i++)
        if (w->holds[i].payload & RX_OUTSIDE) free((void *)(uintptr_t)(w->holds[i].payload & ~RX_OUTSIDE));
    for (uint32_t i = 0; i < w->heap.n; i++)
        if (w->heap.items[i].payload & RX_OUTSIDE) free((void *)(uintptr_t)(w->heap.items[i].payload & ~RX_OUTSIDE));
    for (uint32_t i = 0; i < w->soon.n; i++)
        if (w->soon.items[i].payload & RX_OUTSIDE) free((void *)(uintptr_t)(w->soon.items[i].payload & ~RX_OUTSIDE));
    for (uint32_t i = 0; i < w->aside.n; i++)
        if (w->aside.items[i].payload & RX_OUTSIDE) free((void *)(uintptr_t)(w->aside.items[i].payload & ~RX_OUTSIDE));
    for (uint32_t i = 0; w->clocks && i < w->n_clocks; i++) free(w->clocks[i].items);
    free(w->clocks);
    if (w->calls)
        for (uint32_t i = 0; i < w->t->n_reactions; i++) rx__end_call(&w->calls[i]);
    free(w->ready.words);
    free(w->ready.summary);
    free(w->triggered);
    free(w->partial);
    free(w->heavy);
    free(w->calls);
    free(w->sends);
    free(w->senders);
    free(w->needs_room);
    free(w->cell_of);
    free(w->unsent);
    free(w->enabled);
    free(w->aside.items);
    free(w->renewed);
    free(w->in);
    free(w->out);
    free(w->heap.items);
    free(w->soon.items);
    free(w->soon_next.items);
    free(w->holds);
    free(w->free_values);
    free(w);
}

void rx_view(rx_worker *w, rx_worker_view *view)
{
    *view = (rx_worker_view){w->doors, w->where, w->low, w->batch, w->now, w->current};
}

int64_t rx_clock_ns(void) { return rx__clock(); }
int64_t rx_physical_time(rx_worker *w) { return w->started ? rx__now(w) : 0; }
void rx_pause(rx_worker *w) { w->pausing = 1; }
void rx_watch(rx_worker *w) { w->watched = 1; }
void rx_sleep(rx_worker *w, int64_t ns) { rx__put((uint64_t *)&w->bell->slept, (uint64_t)rx__add_ns(rx__now(w), ns)); }

/* ---- from start to end ---- */

static int everybody_here(rx_worker *w) { return (int)rx__get32(&w->image->started); }

int rx_start(rx_worker *w)
{
    rx_image *image = w->image;
    rx__start_events(w);
    if (rx__add32(&image->ready, 1) + 1 == image->workers) {
        image->start_ns = rx__clock();
        rx__put32_fenced(&image->started, 1);
        rx__wake(w);
    }
    w->until = INT64_MAX;
    int c = rx__wait(w, everybody_here);
    if (c < 0) return c;
    rx__inbox_state(w, 1);
    w->started = 1;
    return 0;
}

/* A worker that is done takes what still comes, all of it beyond the stop tag, so that nobody waits for room. */
static int others_done(rx_worker *w)
{
    rx__drain(w);
    for (uint32_t i = 0; i < w->workers; i++) {
        if (i == w->index) continue;
        rx__look_at(w, i);
        if (!rx__is_forever(w->passed[i])) return 0;
    }
    return 1;
}

int64_t rx__stopped(rx_worker *w)
{
    rx__inbox_state(w, 0);
    *w->current = -1;
    if (!w->solo) {
        w->in_tag = 0;
        rx__publish(w, rx__forever(), rx__forever(), UINT64_MAX);
        w->wants = 1;
        w->want = rx__forever();
        if (rx__wait(w, others_done) == RX_INTERRUPTED) return RX_INTERRUPTED;
        rx__put((uint64_t *)&w->bell->until, INT64_MAX);
        rx__put_fenced(&w->bell->looked, UINT64_MAX);
        if (w->image->virtual_time) rx__changed(w);
    }
    rx__put(&w->bell->finished, w->started ? (uint64_t)(rx__clock() - w->image->start_ns) : 1);
    return RX_DONE;
}

/* What the caller is to hear between two tags; 0: nothing. */
int rx__aside(rx_worker *w)
{
    if (w->n_renewed) return RX_RENEWED;
    if (!w->pausing) return 0;
    w->pausing = 0;
    return RX_PAUSED;
}

int rx__runaway(rx_worker *w)
{
    if (w->tag.microstep < w->runaway) return 0;
    w->runaway = UINT64_MAX;
    return 1;
}

/* ---- after a failure: shutdown reactions only, nothing goes anywhere any more ---- */

static int64_t next_failed(rx_worker *w)
{
    if (w->n_batch) rx__shut_doors(w, &w->reactions[w->batch[0] % w->t->n_reactions]);
    w->n_batch = 0;
    int64_t word = rx__ready_first(&w->ready);
    if (word < 0) return rx__stopped(w);
    uint64_t bits = w->ready.words[word];
    uint32_t index = w->first_of_word[word] + (uint32_t)__builtin_ctzll(bits);
    const rx_reaction *r = &w->reactions[index];
    rx__ready_remove(&w->ready, (uint32_t)word, bits & -bits);
    if (r->flags & RX_NATIVE) return next_failed(w);
    return rx__dispatch(w, index, 0) % w->t->n_reactions;
}

/* Gives up what was to run. Of a batch, what comes after the reaction that was running has not run, and is ready again. */
static void break_off(rx_worker *w)
{
    uint32_t n = w->t->n_reactions, word = 0;
    int begun = 1;
    for (uint32_t i = 0; i < w->n_batch; i++) {
        uint32_t index = w->batch[i] % n;
        rx__shut_doors(w, &w->reactions[index]);
        while (word + 1 < w->t->n_words && w->first_of_word[word + 1] <= index) word++;
        if (!begun) rx__ready_add(&w->ready, word, 1ull << (index - w->first_of_word[word]));
        if (index == *w->current) begun = 0;
    }
    w->n_batch = 0;
    w->dispatched = 0;
}

void rx_fail(rx_worker *w)
{
    if (w->failed) return;
    w->failed = 1;
    rx_cell *shutdown = &w->cells[w->t->shutdown];
    int shutting = w->stamp && shutdown->stamp == w->stamp;      /* this is the stop tag: what has run does not run again */
    uint64_t *left = w->partial;                                 /* of a batch that there is not any more */
    break_off(w);
    for (uint32_t i = 0; i < w->t->n_words; i++) left[i] = shutting ? w->ready.words[i] : UINT64_MAX;
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
    for (uint32_t i = 0; i < w->t->n_words; i++) rx__ready_remove(&w->ready, i, ~left[i]);
}

int64_t rx_next(rx_worker *w)
{
    if (w->failed) return next_failed(w);
    if (w->n_batch) {
        int sends = rx__finish(w);
        if (sends) rx__progress(w, w->position);
    }
    return w->solo ? rx__next_alone(w) : rx__next_together(w);
}
