/* The process as a whole: its first call, its end, a fork. */
#ifndef SIM_API_PROCESS_H
#define SIM_API_PROCESS_H

#include "base/types.h"

/* At each call, with the lock held; the first one reads the settings and opens the journal. */
void process_start(void);
/* Is this a child that was forked after the first call? No call of CUDA works there. */
bool process_is_forked(void);

#endif
