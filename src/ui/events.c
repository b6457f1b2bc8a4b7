/* events.c - agent events as JSON, one per line: --json with -n. */
/* SPDX-License-Identifier: MIT */
#include "ui/events.h"

#include <errno.h>
#include <unistd.h>

#include "base/json.h"
#include "base/str.h"
#include "tool/todos.h"
#include "ui/output.h"

enum { MAX_LINES = 256 << 20, WRITE_AT = 16 << 10 };

static void flush(struct events *e)
{
	if (!e->started)
		return; /* the first line is still to come */
	if (!e->failed &&
	    output_write(STDOUT_FILENO, buf_str(&e->out), e->stop) < 0)
		e->failed = errno;
	buf_clear(&e->out);
}

static void begin(struct events *e, const char *type)
{
	e->out.max = MAX_LINES;
	buf_adds(&e->out, "{\"type\":\"");
	buf_adds(&e->out, type);
	buf_addc(&e->out, '"');
}

static void member(struct events *e, const char *key, struct str value)
{
	buf_addc(&e->out, ',');
	json_member(&e->out, key, value);
}

static void member_or_null(struct events *e, const char *key, const char *value)
{
	if (value)
		member(e, key, str_of(value));
	else
		buf_addf(&e->out, ",\"%s\":null", key);
}

static void end(struct events *e)
{
	buf_adds(&e->out, "}\n");
}

static void delta(struct events *e, const char *type, struct str text)
{
	begin(e, type);
	member(e, "delta", text);
	end(e);
	if (e->out.len > WRITE_AT)
		flush(e);
}

void events_start(struct events *e, const char *thread, const char *model,
		  const char *provider, const char *id)
{
	struct buf held = e->out;

	if (e->started)
		return;
	e->started = true;
	e->out = BUF_INIT(MAX_LINES);
	begin(e, "start");
	buf_addf(&e->out, ",\"schema_version\":%d", EVENTS_SCHEMA);
	member_or_null(e, "thread_id", thread);
	member_or_null(e, "model", model);
	buf_adds(&e->out, ",\"sandbox\":{");
	json_member(&e->out, "provider", str_of(provider ? provider : "none"));
	member_or_null(e, "id", id);
	buf_addc(&e->out, '}');
	end(e);
	buf_addstr(&e->out, buf_str(&held));
	buf_release(&held);
	flush(e);
}

/* The arguments printed anew: what the model wrote may hold line ends. */
static void add_args(struct buf *out, const struct part *call)
{
	struct str raw = str_of(call->args);
	cJSON *args = call->bad_args ? NULL : json_parse(raw);
	struct buf text = BUF_INIT(MAX_LINES);

	if (args)
		json_print(&text, args);
	if (text.len && str_is_utf8(buf_str(&text)))
		buf_addstr(out, buf_str(&text));
	else
		json_quote(out, raw);
	cJSON_Delete(args);
	buf_release(&text);
}

static void tool_call_line(struct events *e, const struct part *call)
{
	begin(e, "tool_call");
	member(e, "id", str_of(call->id));
	member(e, "name", str_of(call->name));
	buf_adds(&e->out, ",\"args\":");
	add_args(&e->out, call);
	end(e);
	flush(e);
}

/* Behind the result of a call that has set the list of steps. */
static void todos_line(struct events *e, const struct part *call)
{
	struct todos t = { 0 };

	if (!todos_read(&t, call))
		return;
	begin(e, "todos");
	buf_adds(&e->out, ",\"todos\":[");
	for (size_t i = 0; i < t.n; i++) {
		buf_adds(&e->out, i ? ",{" : "{");
		json_member(&e->out, "content", str_of(t.list[i].content));
		member(e, "status", str_of(todos_status(t.list[i].status)));
		buf_addc(&e->out, '}');
	}
	buf_addc(&e->out, ']');
	end(e);
	flush(e);
	todos_release(&t);
}

static void tool_line(struct events *e, const struct agent_event *ev)
{
	bool result = ev->kind == EVENT_TOOL_RESULT;

	begin(e, result ? "tool_result" : "tool_output");
	member(e, "id", str_of(ev->call->id));
	member(e, result ? "content" : "delta", ev->text);
	if (result)
		buf_adds(&e->out, ev->failed ? ",\"is_error\":true"
					     : ",\"is_error\":false");
	end(e);
	flush(e);
	if (result && !ev->failed)
		todos_line(e, ev->call);
}

static void usage_line(struct events *e, const struct usage *usage)
{
	begin(e, "usage");
	buf_adds(&e->out, ",\"usage\":");
	usage_to_json(usage, &e->out);
	end(e);
	flush(e);
}

static void compaction_line(struct events *e, const struct agent_event *ev)
{
	const struct compact_step *s = &ev->compact;

	begin(e, "compaction");
	buf_addf(&e->out, ",\"over\":%s,\"messages\":%zu,\"tokens\":%lld",
		 s->over ? "true" : "false", s->messages, (long long)s->before);
	if (s->over) {
		buf_addf(&e->out, ",\"tokens_after\":%lld,\"summary\":%s",
			 (long long)s->after, s->excerpt ? "false" : "true");
		buf_adds(&e->out, ",\"usage\":");
		usage_to_json(ev->usage, &e->out);
	}
	end(e);
	flush(e);
}

/* What a subagent does, as the line that the agent's own would be, without its
 * end. */
static void add_step(struct events *e, const struct agent_event *ev)
{
	struct events inner = { .stop = e->stop }; /* never written */

	events_event(&inner, ev);
	if (inner.out.len > 1 && inner.out.len < MAX_LINES / 2) {
		buf_adds(&e->out, ",\"event\":");
		buf_add(&e->out, inner.out.ptr, inner.out.len - 1);
	}
	events_release(&inner);
}

static void subagent_line(struct events *e, const struct agent_event *ev)
{
	const struct subagent_step *s = ev->subagent;

	begin(e, "subagent");
	member(e, "id", str_of(ev->call->id));
	member(e, "subagent_type", str_of(s->type));
	buf_addf(&e->out, ",\"number\":%u", s->number);
	member(e, "state",
	       s->over    ? STR("ended")
	       : s->event ? STR("working")
			  : STR("started"));
	if (s->over)
		member(e, "status", str_of(s->end));
	if (s->event)
		add_step(e, s->event);
	end(e);
	flush(e);
}

void events_event(void *arg, const struct agent_event *ev)
{
	struct events *e = arg;

	switch (ev->kind) {
	case EVENT_TEXT:
		delta(e, "text", ev->text);
		break;
	case EVENT_THINKING:
		delta(e, "thinking", ev->text);
		break;
	case EVENT_RESTART:
		events_error(e, "retrying", ev->text, (struct str){ 0 });
		break;
	case EVENT_WARNING:
		events_error(e, "warning", ev->text, (struct str){ 0 });
		break;
	case EVENT_TERMINAL:
		break;
	case EVENT_JOB:
		begin(e, "job");
		member(e, "text", ev->text);
		end(e);
		break;
	case EVENT_SUBAGENT:
		subagent_line(e, ev);
		break;
	case EVENT_FILE:
		begin(e, "file");
		member(e, "text", ev->text);
		end(e);
		break;
	case EVENT_COMPACT:
		compaction_line(e, ev);
		break;
	case EVENT_TOOL_CALL:
		tool_call_line(e, ev->call);
		break;
	case EVENT_TOOL_OUTPUT:
	case EVENT_TOOL_RESULT:
		tool_line(e, ev);
		break;
	case EVENT_TURN:
		usage_line(e, ev->usage);
		break;
	case EVENT_FLUSH:
		flush(e);
		break;
	}
}

void events_error(struct events *e, const char *code, struct str message,
		  struct str hint)
{
	begin(e, "error");
	member(e, "code", str_of(code));
	member(e, "message", message);
	member(e, "hint", hint);
	end(e);
	flush(e);
}

void events_add(struct events *e, const char *key, struct str json)
{
	e->members.max = MAX_LINES;
	if (!json.len)
		return;
	buf_addf(&e->members, ",\"%s\":", key);
	buf_addstr(&e->members, json);
}

void events_members(struct events *e, struct str json)
{
	e->members.max = MAX_LINES;
	buf_addstr(&e->members, json);
}

int events_result(struct events *e, const char *status, struct str text,
		  int64_t turns, const struct usage *usage, int exit_status)
{
	begin(e, "result");
	member(e, "status", str_of(status));
	member(e, "text", text);
	buf_addf(&e->out, ",\"turns\":%lld,\"usage\":", (long long)turns);
	usage_to_json(usage, &e->out);
	buf_addf(&e->out, ",\"exit_status\":%d", exit_status);
	buf_addstr(&e->out, buf_str(&e->members));
	end(e);
	flush(e);
	return e->failed ? -1 : 0;
}

void events_release(struct events *e)
{
	buf_release(&e->out);
	buf_release(&e->members);
}
