/* masking.c - [redact]: which forms of credentials are masked in this run. */
/* SPDX-License-Identifier: MIT */
#include "config/masking.h"

#include "base/shapes/shapes.h"

static int apply_lists(const struct masking *m, struct shapes *shapes,
		       struct error *err)
{
	struct error why = { 0 };

	for (size_t i = 0; i < m->n_off; i++)
		if (!shapes_turn_off(shapes, m->off[i]))
			return error_set(err, ERR_CONFIG,
					 "redact.kinds_off: no kind is called "
					 "'%s'; `dcode help redaction` lists "
					 "them",
					 m->off[i]);
	for (size_t i = 0; i < m->n_patterns; i++)
		if (shapes_add(shapes, m->patterns[i], &why) < 0)
			return error_set(err, ERR_CONFIG, "redact.patterns: %s",
					 why.message);
	return 0;
}

int masking_shapes(const struct masking *m, struct shapes **shapes,
		   struct error *err)
{
	struct shapes *made;
	int rc;

	if (!m->n_off && !m->n_patterns)
		return 0;
	made = shapes_new();
	rc = apply_lists(m, made, err);
	if (rc == 0 && shapes)
		*shapes = made;
	else
		shapes_free(made);
	return rc;
}
