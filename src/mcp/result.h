/* result.h - what a call has brought, for the model. */
/* SPDX-License-Identifier: MIT */
#ifndef MCP_RESULT_H
#define MCP_RESULT_H

#include "base/json.h"
#include "model/message.h"

/*
 * Appends the content of a result of tools/call as text: control characters and
 * escape sequences are left out; images that models take go to media (NULL:
 * none are shown), all else that is no text becomes a line. True when the
 * server says that the call has failed.
 */
bool mcp_result_read(const cJSON *result, struct message *media,
		     struct buf *out);

#endif
