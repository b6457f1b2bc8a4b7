/* suggest.h - the name of a model that was probably meant. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_SERVER_SUGGEST_H
#define MODEL_SERVER_SUGGEST_H

#include "model/model.h"

/* After a refusal with MODEL_UNKNOWN: asks the server for its list, for a few
 * seconds at most, and makes the nearest name of it the hint; where there is
 * no list the hint stays what it was. Cancelled by stop. */
void server_suggest(const struct model *m, const struct stop *stop,
		    struct error *err);

#endif
