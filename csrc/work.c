/* What does this machine give to several threads at once? Each does work as programs do, arithmetic and memory, for a while. */
#include <pthread.h>
#include <stdlib.h>

#include "clock.h"
#include "reactors.h"

enum { WORDS = 1 << 15 };     /* 256 KiB, as a second-level cache holds */

typedef struct {
    pthread_t thread;
    int64_t until;
    uint64_t rounds, words[WORDS];
} worker;

static void *work(void *given)
{
    worker *w = given;
    uint64_t x = 1;
    while (rx__clock() < w->until) {
        for (int i = 0; i < 1024; i++) {
            x = x * 6364136223846793005u + 1442695040888963407u;
            w->words[x >> 49] += x;
        }
        w->rounds++;
    }
    return NULL;
}

int64_t rx_work(uint32_t threads, int64_t ns)
{
    worker *all = calloc(threads, sizeof *all);
    uint32_t started = 0;
    int64_t rounds = 0, until = rx__clock() + ns;
    if (!all) return -1;
    for (; started < threads; started++) {
        all[started].until = until;
        if (pthread_create(&all[started].thread, NULL, work, &all[started])) break;
    }
    for (uint32_t i = 0; i < started; i++) {
        pthread_join(all[i].thread, NULL);
        rounds += (int64_t)all[i].rounds;
    }
    free(all);
    return started == threads ? rounds : -1;
}
