/* result.h - turns the result of a tool call into text for the model. */
/* SPDX-License-Identifier: MIT */
#ifndef MCP_RESULT_H
#define MCP_RESULT_H

#include "base/json.h"
#include "model/message.h"

/* Appends the content of a tools/call result as text, without control
 * characters and escape sequences. Images that models accept go to media (NULL:
 * no images); other content is described in one line. True if the server
 * reports that the call failed. */
bool mcp_result_read(const cJSON *result, struct message *media,
		     struct buf *out);

#endif
