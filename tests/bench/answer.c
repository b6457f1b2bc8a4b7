/* answer.c - canned model answers, as HTTP chunks of server-sent events. */
/* SPDX-License-Identifier: MIT */
#include "tests/bench/answer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK                                                                  \
	"{\"id\":\"c\",\"object\":\"chat.completion.chunk\","                  \
	"\"created\":1,\"model\":\"bench\",\"choices\":"
#define DELTA CHUNK "[{\"index\":0,\"finish_reason\":null,\"delta\":"

static void *checked(void *p)
{
	if (!p)
		abort();
	return p;
}

static void add(struct answer *a, const char *bytes, size_t len)
{
	if (a->len + len > a->cap) {
		a->cap = (a->len + len) * 2;
		a->bytes = checked(realloc(a->bytes, a->cap));
	}
	memcpy(a->bytes + a->len, bytes, len);
	a->len += len;
}

/* One event as one HTTP chunk; name NULL leaves its line out. */
static void __attribute__((format(printf, 3, 4)))
event(struct answer *a, const char *name, const char *fmt, ...)
{
	char data[1024];
	char text[1200];
	char size[16];
	va_list ap;
	int len;

	va_start(ap, fmt);
	vsnprintf(data, sizeof(data), fmt, ap);
	va_end(ap);
	len = snprintf(text, sizeof(text), "%s%s%sdata: %s\n\n",
		       name ? "event: " : "", name ? name : "",
		       name ? "\n" : "", data);
	snprintf(size, sizeof(size), "%x\r\n", (unsigned)len);
	add(a, size, strlen(size));
	add(a, text, (size_t)len);
	add(a, "\r\n", 2);
	a->ends = checked(realloc(a->ends, (a->n_ends + 1) * sizeof(*a->ends)));
	a->ends[a->n_ends++] = a->len;
}

static void begin(struct answer *a, enum wire wire)
{
	static const char head[] = "HTTP/1.1 200 OK\r\n"
				   "content-type: text/event-stream\r\n"
				   "transfer-encoding: chunked\r\n\r\n";

	add(a, head, sizeof(head) - 1);
	if (wire == WIRE_OPENAI)
		event(a, NULL,
		      DELTA "{\"role\":\"assistant\",\"content\":\"\"}}]}");
	else
		event(a, "message_start",
		      "{\"type\":\"message_start\",\"message\":{\"id\":\"m\","
		      "\"type\":\"message\",\"role\":\"assistant\",\"model\":"
		      "\"bench\",\"content\":[],\"stop_reason\":null,"
		      "\"stop_sequence\":null,\"usage\":{\"input_tokens\":10,"
		      "\"output_tokens\":1}}}");
}

static void end(struct answer *a, enum wire wire, const char *why)
{
	if (wire == WIRE_OPENAI) {
		event(a, NULL,
		      CHUNK "[{\"index\":0,\"delta\":{},"
			    "\"finish_reason\":\"%s\"}]}",
		      why);
		event(a, NULL,
		      CHUNK "[],\"usage\":{\"prompt_tokens\":10,"
			    "\"completion_tokens\":5,\"total_tokens\":15}}");
		event(a, NULL, "[DONE]");
	} else {
		event(a, "message_delta",
		      "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":"
		      "\"%s\",\"stop_sequence\":null},\"usage\":{"
		      "\"output_tokens\":5}}",
		      why);
		event(a, "message_stop", "{\"type\":\"message_stop\"}");
	}
	add(a, "0\r\n\r\n", 5);
	a->ends[a->n_ends - 1] = a->len;
}

static void block_end(struct answer *a, long index)
{
	event(a, "content_block_stop",
	      "{\"type\":\"content_block_stop\",\"index\":%ld}", index);
}

void answer_text(struct answer *a, enum wire wire, long tokens)
{
	begin(a, wire);
	if (wire == WIRE_ANTHROPIC)
		event(a, "content_block_start",
		      "{\"type\":\"content_block_start\",\"index\":0,"
		      "\"content_block\":{\"type\":\"text\",\"text\":\"\"}}");
	for (long i = 0; i < tokens; i++)
		if (wire == WIRE_OPENAI)
			event(a, NULL, DELTA "{\"content\":\" tok%ld\"}}]}",
			      i % 1000);
		else
			event(a, "content_block_delta",
			      "{\"type\":\"content_block_delta\",\"index\":0,"
			      "\"delta\":{\"type\":\"text_delta\",\"text\":"
			      "\" tok%ld\"}}",
			      i % 1000);
	if (wire == WIRE_ANTHROPIC)
		block_end(a, 0);
	end(a, wire, wire == WIRE_OPENAI ? "stop" : "end_turn");
}

static void call_openai(struct answer *a, long index, const char *command,
			long id)
{
	event(a, NULL,
	      DELTA "{\"tool_calls\":[{\"index\":%ld,\"id\":\"call_%ld\","
		    "\"type\":\"function\",\"function\":{\"name\":"
		    "\"execute\",\"arguments\":\"\"}}]}}]}",
	      index, id);
	event(a, NULL,
	      DELTA "{\"tool_calls\":[{\"index\":%ld,\"function\":{"
		    "\"arguments\":\"{\\\"command\\\":\\\"%s\\\"}\"}}]}}]}",
	      index, command);
}

static void call_anthropic(struct answer *a, long index, const char *command,
			   long id)
{
	event(a, "content_block_start",
	      "{\"type\":\"content_block_start\",\"index\":%ld,"
	      "\"content_block\":{\"type\":\"tool_use\",\"id\":\"toolu_%ld\","
	      "\"name\":\"execute\",\"input\":{}}}",
	      index, id);
	event(a, "content_block_delta",
	      "{\"type\":\"content_block_delta\",\"index\":%ld,\"delta\":{"
	      "\"type\":\"input_json_delta\",\"partial_json\":"
	      "\"{\\\"command\\\":\\\"%s\\\"}\"}}",
	      index, command);
	block_end(a, index);
}

void answer_calls(struct answer *a, enum wire wire, long calls,
		  const char *command, long id)
{
	begin(a, wire);
	for (long i = 0; i < calls; i++)
		if (wire == WIRE_OPENAI)
			call_openai(a, i, command, id + i);
		else
			call_anthropic(a, i, command, id + i);
	end(a, wire, wire == WIRE_OPENAI ? "tool_calls" : "tool_use");
}

void answer_release(struct answer *a)
{
	free(a->bytes);
	free(a->ends);
	*a = (struct answer){ 0 };
}
