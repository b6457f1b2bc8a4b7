/* link.c - what both transports to a server have in common. */
/* SPDX-License-Identifier: MIT */
#include "mcp/link.h"

#include <stdio.h>
#include <string.h>

enum { NO_METHOD = -32601, ID_MAX = 256 };

void mcp_link_cancel(struct buf *out, int64_t id)
{
	buf_addf(out,
		 "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
		 "\"params\":{\"requestId\":%lld,\"reason\":\"given up by the "
		 "client\"}}\n",
		 (long long)id);
}

void mcp_link_init(struct mcp_link *l, const struct mcp_link_setup *setup)
{
	l->setup = *setup;
	snprintf(l->name, sizeof(l->name), "MCP server %s", setup->entry->name);
	l->peer.name = l->name;
	l->peer.cancel = mcp_link_cancel;
	l->peer.lenient = true;
}

/* Appends the answer to a request of the server: ping succeeds, all others are
 * refused. Sampling, roots and the like would let a server query the model or
 * read the user's disk. */
static void refuse_request(const cJSON *id, const char *method,
			   struct buf *reply)
{
	bool ping = !strcmp(method, "ping");

	buf_adds(reply, "{\"jsonrpc\":\"2.0\",\"id\":");
	json_print(reply, id);
	if (ping)
		buf_adds(reply, ",\"result\":{}}\n");
	else
		buf_addf(reply,
			 ",\"error\":{\"code\":%d,\"message\":\"this client "
			 "offers no such method\"}}\n",
			 NO_METHOD);
}

void mcp_link_receive(struct mcp_link *l, const cJSON *message,
		      struct buf *reply)
{
	const char *method = json_string(message, "method", "");
	const cJSON *id = json_get(message, "id");

	if (!id)
		l->setup.notice(l->setup.arg, method);
	else if (cJSON_IsNumber(id) ||
		 (cJSON_IsString(id) && strlen(id->valuestring) < ID_MAX))
		refuse_request(id, method, reply);
}
