/* Called around every wait, if set: what embeds the core may hold a lock that others need meanwhile, as Python does. */
#ifndef RX_LOCK_H
#define RX_LOCK_H

extern void *(*rx__let_go)(void);
extern void (*rx__take_back)(void *);

#endif
