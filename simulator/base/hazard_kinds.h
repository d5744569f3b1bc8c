/* An enum of the kinds of hazards in base/hazards.def. */
#ifndef SIM_BASE_HAZARD_KINDS_H
#define SIM_BASE_HAZARD_KINDS_H

enum hazard {
#define HAZARD(id, name, advice) HAZARD_##id,
#include "base/hazards.def"
};

/* Returns the name of the hazard in reports and in the journal. */
const char *hazard_name(enum hazard kind);

#endif
