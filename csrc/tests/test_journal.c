/* What is in a journal? A writer on one worker, a reader on another, and a hash of what goes from one to the other. */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "../hash.h"

enum { TAGS = 10000 };

static void write_tag(void **data, unsigned char *present, void *state)
{
    int64_t time = now().time;
    memcpy(data[1], &time, sizeof time);
    present[1] = 1;
    (void)state;
}

static void nothing(void **data, unsigned char *present, void *state) { (void)data, (void)present, (void)state; }

static program *journaled(int workers)
{
    program *p = new_program();
    p->workers = workers;
    int a = reactor_on(p, 0), b = reactor_on(p, workers - 1);
    int t = timer(p, a, 0, 1), out = output(p, a, 8), in = input(p, b, out, rx__tag(0, 0));
    react(p, a, OF(t), NOTHING, OF(out), write_tag, NULL);
    react(p, b, OF(in), NOTHING, NOTHING, nothing, NULL);
    for (int i = 0; i < p->n_reactions; i++) p->reactions[i].native = 1;
    p->timeout = TAGS - 1;
    p->journal = 1;
    return p;
}

static uint32_t get32(const uint8_t *p) { return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24; }

typedef struct { run *run; int worker, fd; } journaler;

static void *work_with_journal(void *argument)
{
    journaler *j = argument;
    runner *m = &j->run->runners[j->worker];
    open_worker(m);
    rx_journal_to(m->core, j->fd);
    assert(rx_start(m->core) == 0);
    int64_t given;
    do given = rx_next(m->core); while (go_on(m, given));
    assert(given == RX_DONE);
    rx_close(m->core);
    return NULL;
}

/* Runs it, and adds up the entries and hashes in the file; what its reactors have as chains of values. */
static void go_journaled(int workers, int fd, uint64_t counts[2], uint64_t chains[2])
{
    program *p = journaled(workers);
    run *r = new_run(p);
    journaler all[2];
    pthread_t threads[2];
    for (int i = 0; i < workers; i++) {
        all[i] = (journaler){r, i, fd};
        assert(!pthread_create(&threads[i], NULL, work_with_journal, &all[i]));
    }
    for (int i = 0; i < workers; i++) assert(!pthread_join(threads[i], NULL));
    const rx_tables *t = RX_AT(rx_tables, r->b->base, rx__image(r->b->base)->tables);
    for (int i = 0; i < 2; i++) chains[i] = workers == 1 ? RX_AT(uint64_t, r->b->base, t->values)[i] : RX_AT(uint64_t, r->b->base, t[i].values)[0];
    counts[0] = counts[1] = 0;
    uint8_t head[32];
    for (off_t at = 0; pread(fd, head, sizeof head, at) == sizeof head; at += 16 + get32(head + 8)) {
        assert(!memcmp(head, "RXJ1", 4) && head[4] == 1 && head[6] < workers);
        counts[0] += get32(head + 16);
        counts[1] += get32(head + 20);
    }
    end_run(r);
    free(p);
}

static int new_file(void)
{
    char name[] = "/tmp/journal-XXXXXX";
    int made = mkstemp(name), fd = open(name, O_RDWR | O_APPEND);
    assert(made >= 0 && fd >= 0 && !close(made) && !unlink(name));
    return fd;
}

static void test_every_execution_is_in_the_file_whatever_the_workers(void)
{
    uint64_t counts[2][2], chains[2][2];
    for (int workers = 1; workers <= 2; workers++) {
        int fd = new_file();
        go_journaled(workers, fd, counts[workers - 1], chains[workers - 1]);
        close(fd);
    }
    assert(counts[0][0] == 2 * TAGS && counts[0][1] == TAGS);
    assert(!memcmp(counts[0], counts[1], sizeof counts[0]) && !memcmp(chains[0], chains[1], sizeof chains[0]));
}

static void test_a_file_that_cannot_be_written_ends_the_journal_and_not_the_program(void)
{
    int full = open("/dev/full", O_RDWR);
    assert(full >= 0);
    program *p = journaled(1);
    run *r = new_run(p);
    journaler one = {r, 0, full};
    work_with_journal(&one);
    assert(rx__image(r->b->base)->journal_ended == ENOSPC);
    end_run(r);
    free(p);
    close(full);
}

static void test_a_hash_is_of_the_bytes_wherever_they_lie(void)
{
    enum { MOST_BYTES = 3000 };
    static uint8_t room[MOST_BYTES + 64];
    uint8_t bytes[MOST_BYTES];
    for (int i = 0; i < MOST_BYTES; i++) bytes[i] = (uint8_t)(i * 7919 >> 3);
    for (size_t size = 0; size < MOST_BYTES; size += size < 200 ? 1 : 97) {
        uint64_t h = rx__hash(bytes, size);
        for (size_t offset = 1; offset < 64; offset += 11) {
            memcpy(room + offset, bytes, size);
            assert(rx__hash(room + offset, size) == h);
        }
        for (size_t at = 0; at < size; at += 1 + size / 13) {
            bytes[at] ^= 64;
            assert(rx__hash(bytes, size) != h);
            bytes[at] ^= 64;
        }
        assert(size + 1 >= MOST_BYTES || rx__hash(bytes, size + 1) != h);
    }
    assert(rx_hash("reactors", 8) == rx__hash("reactors", 8) && rx_fold(1, 2) != rx_fold(2, 1));
}

int main(void)
{
    test_every_execution_is_in_the_file_whatever_the_workers();
    test_a_file_that_cannot_be_written_ends_the_journal_and_not_the_program();
    test_a_hash_is_of_the_bytes_wherever_they_lie();
    return 0;
}
