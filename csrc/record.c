/* What came from outside, written down while a program runs, and read when it runs again.
 *
 * That is: events of physical actions, when they happen; arrivals over physical connections; deadlines that were missed.
 * All else follows from the program. Each is a record of its own, appended to the file in one piece by the worker that
 * it concerns, so that a log that was cut off is good up to there. */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "engine.h"

static uint32_t mixed(uint32_t h, const void *data, size_t size)
{
    for (const uint8_t *p = data; size--; p++) h = (h ^ *p) * 16777619u;
    return h;
}

uint32_t rx_check(const rx_logged *logged, const void *value)
{
    uint32_t h = mixed(2166136261u, logged, offsetof(rx_logged, check));
    return logged->size ? mixed(h, value, logged->size) : h;
}

int rx_log(int fd, uint32_t kind, rx_tag tag, uint32_t number, const void *value, uint32_t size)
{
    rx_logged logged;
    memset(&logged, 0, sizeof logged);
    logged.size = size;
    logged.kind = kind;
    logged.tag = tag;
    logged.number = number;
    logged.check = rx_check(&logged, value);
    struct iovec parts[2] = {{&logged, sizeof logged}, {(void *)(uintptr_t)value, size}};
    ssize_t written = writev(fd, parts, size ? 2 : 1);
    return written == (ssize_t)(sizeof logged + size) ? 0 : written < 0 ? errno : ENOSPC;
}

void rx_record_to(rx_worker *w, int fd) { w->record = fd; }

static void log_to(rx_worker *w, uint32_t kind, rx_tag tag, uint32_t number, const void *value, uint32_t size)
{
    int error = rx_log(w->record, kind, tag, number, value, size);
    if (!error) return;
    w->error = RX_NOT_RECORDED;
    w->bell->unrecorded = (uint64_t)error;
}

void rx__log_action(rx_worker *w, const rx_cell *cell)
{
    const rx_action *action = &w->actions[cell->action];
    const rx_copy *copy = rx__copy_at(cell->payload);
    int valued = (cell->payload & RX_OUTSIDE) != 0;
    log_to(w, RX_LOG_ACTION, w->tag, action->element, valued ? copy + 1 : NULL, valued ? (uint32_t)copy->size : 0);
}

void rx__log_arrival(rx_worker *w, const rx_tap *tap, rx_tag arrival)
{
    log_to(w, RX_LOG_ARRIVAL, arrival, tap->element, NULL, 0);
}

void rx__log_late(rx_worker *w, uint32_t reaction)
{
    log_to(w, RX_LOG_LATE, w->tag, w->reactions[reaction].global, NULL, 0);
}

int rx__next_replayed(rx_worker *w, uint32_t *cell, uint64_t *payload)
{
    const rx_replayed *one = RX_AT(rx_replayed, w->base, w->t->replayed) + w->replayed;
    if (w->replayed == w->t->n_replayed || rx__less(w->tag, one->tag)) return 0;
    w->replayed++;
    w->coming--;
    *cell = w->actions[one->number].cell;
    *payload = one->size ? rx__copy(w->base + one->data, one->size, RX_PICKLED) : 0;
    if (one->size && !*payload) w->error = RX_NO_MEMORY;
    return 1;
}

int rx__was_late(rx_worker *w, uint32_t reaction)
{
    const rx_replayed *all = RX_AT(rx_replayed, w->base, w->t->late);
    uint32_t low = 0, high = w->t->n_late;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (rx__less(all[middle].tag, w->tag)) low = middle + 1;
        else high = middle;
    }
    for (; low < w->t->n_late && rx__equal(all[low].tag, w->tag); low++)
        if (all[low].number == reaction) return 1;
    return 0;
}
