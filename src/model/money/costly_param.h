/* costly_param.h - parameters by which a request costs more than it shows. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_COSTLY_PARAM_H
#define MODEL_COSTLY_PARAM_H

#include <stdbool.h>

struct costly_param {
	enum costly_kind {
		COSTLY_ANSWERS, /* several answers to one request */
		COSTLY_TIER,    /* other prices than the list's */
		COSTLY_UNSEEN,  /* input, tools or models at the server's */
	} kind;
	char shown[100]; /* "service_tier = \"priority\"", one clean line */
};
/* The first of params, the JSON object of model_choice, or NULL: with it the
 * worst case of a request, or its price, is not known. Values that the vendor
 * documents to cost the list's price or less are none. */
bool costly_param_find(const char *params, struct costly_param *found);

#endif
