#include "lock.h"

#include <stddef.h>

void *(*rx__let_go)(void) = NULL;
void (*rx__take_back)(void *) = NULL;
