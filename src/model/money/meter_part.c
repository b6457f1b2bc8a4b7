/* meter_part.c - what several who spend at once may have each. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/mem.h"
#include "model/money/meter_impl.h"

struct meter_model *meter_part(struct meter_model *of, int64_t cap)
{
	struct meter_model *part = xcalloc(1, sizeof(*part));

	pthread_mutex_lock(&of->meter->lock);
	part->meter = of->meter;
	part->facts = of->facts;
	part->line.name = of->line.name;
	part->of = of;
	part->cap = cap;
	pthread_mutex_unlock(&of->meter->lock);
	return part;
}

void meter_part_free(struct meter_model *part)
{
	free(part);
}

void meter_share(struct meter *m, int change)
{
	pthread_mutex_lock(&m->lock);
	m->sharers += change;
	pthread_mutex_unlock(&m->lock);
}
