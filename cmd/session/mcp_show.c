/* mcp_show.c - how MCP servers are, as text and as JSON. */
/* SPDX-License-Identifier: MIT */
#include "cmd/session/mcp_show.h"

#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/print.h"

enum {
	SAID_MAX = 64 << 10,
	SAID_LINES = 5, /* the last ones of its standard error */
	NAMES_MAX = 2 << 20,
};

static const char *const states[] = {
	[MCP_IDLE] = "not started", [MCP_STARTING] = "starting",
	[MCP_READY] = "ready",      [MCP_FAILED] = "failed",
	[MCP_OFF] = "off",
};

void mcp_show_command(const struct app *app, const struct mcp_entry *e,
		      struct buf *out)
{
	if (e->url) {
		buf_adds(out, e->kind == MCP_SSE ? "sse: " : "http: ");
		print_add_line(app, out, e->url);
	} else if (e->command) {
		buf_adds(out, "stdio: ");
		print_add_line(app, out, e->command);
		for (size_t i = 0; e->args && e->args[i]; i++) {
			buf_addc(out, ' ');
			print_add_line(app, out, e->args[i]);
		}
	} else {
		buf_adds(out, "?");
	}
}

static void add_tools(const struct mcp_status *st, struct buf *out)
{
	buf_addf(out, ", %zu tool%s", st->tools, st->tools == 1 ? "" : "s");
	if (st->recalled)
		buf_adds(out, " when last started");
	if (st->left_out)
		buf_addf(out, " (%zu left out: %s%s)", st->left_out, st->lost,
			 st->left_out > 5 ? " ..." : "");
}

/* The last lines that it wrote to its standard error. */
static void add_said(const struct app *app, struct mcp_server *s,
		     struct buf *out)
{
	struct buf raw = BUF_INIT(SAID_MAX);
	struct buf masked = BUF_INIT(SAID_MAX);
	struct buf clean = BUF_INIT(SAID_MAX);
	struct str text;
	struct str line;
	size_t lines = 0;

	mcp_server_said(s, &raw);
	mask_text(app->mask, buf_str(&raw), &masked);
	sanitize_text(buf_str(&masked), &clean);
	text = str_trim(buf_str(&clean));
	for (size_t i = text.len; i > 0; i--)
		if (text.ptr[i - 1] == '\n' && ++lines == SAID_LINES) {
			text = str_skip(text, i);
			break;
		}
	while (str_split(&text, '\n', &line))
		buf_addf(out, "    | %.*s\n", (int)line.len, line.ptr);
	buf_release(&raw);
	buf_release(&masked);
	buf_release(&clean);
}

static void add_tool_line(void *arg, const struct mcp_tool *t)
{
	buf_addf(arg, "    %s%s\n", t->name, t->reads ? " (reads only)" : "");
}

static void add_error(const struct app *app, const struct mcp_status *st,
		      struct buf *out)
{
	if (!st->why.code)
		return;
	buf_adds(out, "    ");
	print_add_line(app, out, st->why.message);
	buf_addc(out, '\n');
	if (st->why.hint[0])
		buf_addf(out, "    %s\n", st->why.hint);
}

void mcp_show(const struct app *app, struct mcp_server *s, bool names,
	      struct buf *out)
{
	const struct mcp_entry *e = mcp_server_entry(s);
	struct mcp_status st;

	mcp_server_status(s, &st);
	print_add_line(app, out, e->name);
	buf_addf(out, ": %s", states[st.state]);
	if (st.started_ms >= 0)
		buf_addf(out, " after %" PRId64 " ms", st.started_ms);
	if (st.state != MCP_OFF && st.state != MCP_FAILED)
		add_tools(&st, out);
	if (st.calls)
		buf_addf(out, ", %" PRId64 " call%s in %" PRId64 " ms",
			 st.calls, st.calls == 1 ? "" : "s", st.calls_ms);
	buf_adds(out, "\n    ");
	mcp_show_command(app, e, out);
	buf_adds(out, "\n    of ");
	print_add_line(app, out, e->file);
	buf_adds(out, e->project ? " (the project's)\n" : "\n");
	if (e->ignored)
		buf_addf(out, "    not used by dcode: %s of its entry\n",
			 e->ignored);
	add_error(app, &st, out);
	if (st.state == MCP_READY || st.state == MCP_FAILED)
		add_said(app, s, out);
	if (names)
		mcp_server_each_tool(s, add_tool_line, out);
}

struct mcp_tool_json {
	struct buf *out;
	size_t n;
};

static void add_tool_json(void *arg, const struct mcp_tool *t)
{
	struct mcp_tool_json *j = arg;

	buf_adds(j->out, j->n++ ? ",{" : "{");
	json_member(j->out, "name", str_of(t->name));
	buf_addf(j->out, ",\"read_only\":%s}", t->reads ? "true" : "false");
}

void mcp_show_json(const struct app *app, struct mcp_server *s, struct buf *out)
{
	const struct mcp_entry *e = mcp_server_entry(s);
	struct mcp_tool_json j = { out, 0 };
	struct buf command = BUF_INIT(NAMES_MAX);
	struct mcp_status st;

	mcp_server_status(s, &st);
	mcp_show_command(app, e, &command);
	buf_addc(out, '{');
	print_add_member(app, out, "name", e->name);
	buf_addf(out, ",\"state\":\"%s\",", states[st.state]);
	print_add_member(app, out, "server", command.ptr);
	buf_addc(out, ',');
	print_add_member(app, out, "file", e->file);
	buf_addf(out, ",\"project\":%s,\"started_ms\":",
		 e->project ? "true" : "false");
	if (st.started_ms >= 0)
		buf_addf(out, "%" PRId64, st.started_ms);
	else
		buf_adds(out, "null");
	buf_addc(out, ',');
	if (st.why.code)
		print_add_member(app, out, "error", st.why.message);
	else
		buf_adds(out, "\"error\":null");
	buf_adds(out, ",\"tools\":[");
	mcp_server_each_tool(s, add_tool_json, &j);
	buf_addf(out, "],\"left_out\":%zu,", st.left_out);
	print_add_member(app, out, "left_out_why", st.lost);
	buf_addc(out, '}');
	buf_release(&command);
}
