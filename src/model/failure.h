/* failure.h - what a vendor's refusal means for the user, and for a retry. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_FAILURE_FAILURE_H
#define MODEL_FAILURE_FAILURE_H

#include <cjson/cJSON.h>

#include "model/draft.h"
#include "net/http.h"

/*
 * An error object inside a stream, {"error":{...}} or {"type":"error",...}.
 * Always -1; d->fatal is set when asking again cannot help. The message has no
 * prefix yet.
 */
int failure_in_stream(struct draft *d, const cJSON *tree, struct error *err);
/*
 * -1 with the error for an answer of status 400 or more: names the variable of
 * a refused key, hints at a full context window or an unknown model. *again
 * says whether a retry may help.
 */
int failure_of_status(const struct model_choice *choice,
		      const struct http_response *res, bool *again,
		      struct error *err);
/* Whether an answer of this Content-Type is a page for people. */
bool failure_is_page(struct str type, struct str body);
/* -1 with ERR_PROTOCOL that has the title of a page which came in place of the
 * model's answer. */
int failure_of_page(const struct model_choice *choice, int status,
		    struct str page, struct error *err);

#endif
