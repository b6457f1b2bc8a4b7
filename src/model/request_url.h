/* request_url.h - where a request to a model goes, and its key's header. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_REQUEST_URL_H
#define MODEL_REQUEST_URL_H

#include "model/model.h"
#include "model/wire.h"

/* Any thread; neither can fail. */

/* The whole address, which the caller frees. A choice with a version is asked
 * as Azure has it: BASE/deployments/MODEL/chat/completions?api-version=VERSION,
 * and without deployments where the wire has none (AzureOpenAI of openai-node
 * 6.49.0, azure.js, read 2026-11-23). */
char *request_url(const struct wire *wire, const struct model_choice *c);

/* What the key comes after: "Authorization: Bearer ", or the header of the
 * provider's preset, unless the key is of the preset's variable for tokens, or
 * goes over a wire with a header of its own. Static text. */
const char *request_key_header(const struct wire *wire,
			       const struct model_choice *c);

#endif
