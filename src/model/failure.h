/* failure.h - explains a vendor's refusal and decides whether to retry. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_FAILURE_FAILURE_H
#define MODEL_FAILURE_FAILURE_H

#include <cjson/cJSON.h>

#include "model/draft.h"
#include "net/http.h"

/* Handles an error object in a stream, {"error":{...}} or {"type":"error",...}.
 * Always returns -1. Sets d->fatal if a retry cannot help. The caller adds a
 * prefix to the message. */
int failure_in_stream(struct draft *d, const cJSON *tree, struct error *err);
/* Fills err for an answer with status 400 or more and returns -1. Names the
 * variable of a refused key, and gives hints about a full context window or an
 * unknown model. *again says whether a retry may help. */
int failure_of_status(const struct model_choice *choice,
		      const struct http_response *res, bool *again,
		      struct error *err);
/* True if an answer of this Content-Type and body is an HTML page. */
bool failure_is_page(struct str type, struct str body);
/* Returns -1 with ERR_PROTOCOL: the answer is a web page. The message has the
 * page's title. */
int failure_of_page(const struct model_choice *choice, int status,
		    struct str page, struct error *err);

#endif
