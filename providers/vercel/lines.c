/* lines.c - a command's NDJSON: its output, its end, its troubles. */
/* SPDX-License-Identifier: MIT */
#include "providers/vercel/lines.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"

enum { LINE_MAX_BYTES = 16 << 20 };

static void on_stream(struct vercel_lines *l, const cJSON *tree,
		      const char *stream)
{
	const cJSON *data = json_get(tree, "data");

	if (strcmp(stream, "error") == 0) {
		snprintf(l->code, sizeof(l->code), "%s",
			 json_string(data, "code", "unknown"));
		snprintf(l->message, sizeof(l->message), "%s",
			 json_string(data, "message", ""));
	} else if (strcmp(stream, "stdout") == 0) {
		buf_adds(l->out, json_string(tree, "data", ""));
	}
}

static int on_line(struct vercel_lines *l, struct str line, struct error *err)
{
	const cJSON *command;
	cJSON *tree;

	line = str_trim(line);
	if (!line.len)
		return 0;
	tree = json_parse(line);
	if (!tree)
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: a line that is "
				 "no JSON");
	command = json_get(tree, "command");
	if (command && cJSON_IsNumber(json_get(command, "exitCode")))
		l->ended = true;
	on_stream(l, tree, json_string(tree, "stream", ""));
	cJSON_Delete(tree);
	return buf_check(l->out, "the answer", err);
}

int vercel_lines_feed(struct vercel_lines *l, struct str chunk,
		      struct error *err)
{
	l->line.max = LINE_MAX_BYTES;
	while (chunk.len) {
		size_t n = str_find(chunk, '\n');

		buf_addstr(&l->line, (struct str){ chunk.ptr, n });
		if (buf_check(&l->line, "a line of the answer", err) < 0)
			return -1;
		if (n == chunk.len)
			return 0;
		if (on_line(l, buf_str(&l->line), err) < 0)
			return -1;
		buf_clear(&l->line);
		chunk = str_skip(chunk, n + 1);
	}
	return 0;
}

int vercel_lines_end(struct vercel_lines *l, bool logs, struct error *err)
{
	if (l->code[0])
		return error_set(err, ERR_NETWORK, "%s: %s", l->code,
				 l->message);
	if (str_trim(buf_str(&l->line)).len || (!logs && !l->ended))
		return error_set(err, ERR_NETWORK, "the answer was cut");
	return 0;
}

void vercel_lines_release(struct vercel_lines *l)
{
	buf_release(&l->line);
}
