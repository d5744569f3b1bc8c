/* Sets of bytes of a window: a bit for each. */
#ifndef SIM_PTX_TOUCHED_H
#define SIM_PTX_TOUCHED_H

#include "ptx/grid.h"

/* Gives the set its bits, none of which is set. */
void touched_begin(const struct window *win, struct touched *t);
/* Moves all bytes of a set of the same window to another one. */
void touched_move(const struct window *win, struct touched *to, struct touched *from);
/* Has a byte in both? */
bool touched_meet(const struct touched *x, const struct touched *y);

#endif
