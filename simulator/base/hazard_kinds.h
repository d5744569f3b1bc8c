/* The kinds of hazards, from the list of them. */
#ifndef SIM_BASE_HAZARD_KINDS_H
#define SIM_BASE_HAZARD_KINDS_H

enum hazard {
#define HAZARD(id, name, advice) HAZARD_##id,
#include "base/hazards.def"
};

/* Returns the name, with which a report begins, and which the journal has. */
const char *hazard_name(enum hazard kind);

#endif
