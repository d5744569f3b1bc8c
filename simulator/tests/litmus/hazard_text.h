/* The names of hazards from base/hazards.def. A model names what a report must begin with. */
#ifndef HAZARD_TEXT_H
#define HAZARD_TEXT_H

#include "base/hazard_kinds.h"

static inline const char *hazard_text(enum hazard kind)
{
    static const char *const names[] = {
#define HAZARD(id, name, advice) [HAZARD_##id] = name,
#include "base/hazards.def"
    };
    return names[kind];
}

#endif
