/* catalog_rows.h - the built-in table of models, for catalog.c. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_CATALOG_ROWS_H
#define MODEL_CATALOG_ROWS_H

#include "model/catalog/facts.h"

struct catalog_row {
	const char *model; /* NULL ends the table */
	struct model_facts facts;
};
struct catalog_vendor {
	const char *provider; /* NULL ends the table */
	const struct catalog_row *rows;
};

extern const struct catalog_vendor catalog_vendors[];

#endif
