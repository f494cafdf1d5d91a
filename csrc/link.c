/* Opening and closing of a link, by the process that has its threads. */
#include "link.h"

#include <sys/socket.h>
#include <time.h>

#include "clock.h"
#include "lock.h"

enum { TELLS = 1, HEARS = 2 };

rx_link *rx_link_open(void *base, int fd, uint32_t machine, int socket)
{
    rx_link *l = rx__link_made(base, fd, machine, socket);
    if (!l) return NULL;
    if (!pthread_create(&l->hearing, NULL, rx__hear, l)) l->started |= HEARS;
    if (l->started && !pthread_create(&l->telling, NULL, rx__tell, l)) l->started |= TELLS;
    if (l->started == (TELLS | HEARS)) return l;
    rx_link_close(l);
    return NULL;
}

int rx_link_state(const rx_link *l)
{
    uint32_t over = rx__get32(&l->shared->over);
    return over != RX_LINKED ? (int)over : rx__get32(&l->shared->said_bye) ? RX_SAID_BYE : RX_LINKED;
}

int rx_link_end(rx_link *l, int64_t ns)
{
    int64_t until = rx__clock() + ns;
    rx__put32_fenced(&l->shared->ending, 1);
    rx__ring_bell(l->base, l->bell);
    void *held = rx__let_go ? rx__let_go() : NULL;       /* who copies what the link sends may need it */
    while (rx_link_state(l) == RX_LINKED && rx__clock() < until)
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    if (rx__take_back) rx__take_back(held);
    return rx_link_state(l);
}

void rx_link_close(rx_link *l)
{
    if (!l) return;
    rx__put32_fenced(&l->shared->ending, 1);
    if (l->started) rx__ring_bell(l->base, l->bell);
    void *held = rx__let_go ? rx__let_go() : NULL;
    if (l->started & TELLS) pthread_join(l->telling, NULL);
    shutdown(l->socket, SHUT_RDWR);
    rx__call_thread(l);
    if (l->started & HEARS) pthread_join(l->hearing, NULL);
    if (rx__take_back) rx__take_back(held);
    l->image->links[l->machine] = 0;
    rx__link_freed(l);
}
