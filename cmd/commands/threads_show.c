/* threads_show.c - dcode threads show: one thread with its messages. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/commands/sandbox.h"
#include "cmd/commands/threads.h"
#include "cmd/print.h"
#include "cmd/session/saved_patch.h"
#include "model/money.h"
#include "session/compaction.h"
#include "session/thread_label.h"
#include "ui/summary.h"

enum {
	TEXT_MOST = 64 << 20,
	MISSING_MOST = 20,
	EARLIER_MOST = 50, /* sandboxes; --json has all */
	RESULT_LINES = 8,  /* of a tool's result; --json has all */
};

struct showing {
	struct app *app;
	struct buf json;
	struct compaction_marks marks;
	size_t n; /* messages so far */
};

/* Masked and cleaned; lines: at most so many, 0: all. */
static void print_clean(struct app *app, const char *text, const char *indent,
			int lines)
{
	struct buf masked = BUF_INIT(TEXT_MOST);
	struct buf clean = BUF_INIT(TEXT_MOST);
	struct str rest;
	struct str line;
	int n = 0;

	mask_text(app->mask, str_of(text), &masked);
	sanitize_text(buf_str(&masked), &clean);
	rest = str_trim(buf_str(&clean));
	while ((!lines || n < lines) && str_split(&rest, '\n', &line)) {
		printf("%s%.*s\n", indent, (int)line.len, line.ptr);
		n++;
	}
	if (rest.len)
		printf("%s...\n", indent);
	buf_release(&masked);
	buf_release(&clean);
}

/* The steps that a call sets, a line each; false: it sets none. */
static bool print_todos(struct app *app, const struct part *p)
{
	struct buf text = BUF_INIT(1 << 20);
	struct todos t = { 0 };
	bool sets = todos_read(&t, p);

	if (sets) {
		todo_view_count(&t, &text);
		printf("* %s: %s\n", p->name, text.ptr);
		buf_clear(&text);
		todo_view_text(&t, &text);
		print_clean(app, t.n ? text.ptr : "", "  ", 0);
	}
	buf_release(&text);
	todos_release(&t);
	return sets;
}

static void print_call(struct app *app, const struct part *p)
{
	struct buf line = BUF_INIT(TEXT_MOST);

	if (print_todos(app, p))
		return;
	print_add_line(app, &line, p->name);
	buf_addc(&line, ' ');
	print_add_line(app, &line, p->args);
	printf("* %.*s\n", (int)line.len, line.ptr);
	buf_release(&line);
}

static void print_part(struct app *app, enum role role, const struct part *p)
{
	if (p->kind == PART_TOOL_CALL)
		print_call(app, p);
	else if (p->kind == PART_TOOL_RESULT)
		print_clean(app, p->text, p->failed ? "  ! " : "  | ",
			    RESULT_LINES);
	else if (p->kind == PART_TEXT ||
		 (p->kind == PART_MEDIA && role == ROLE_USER))
		print_clean(app, p->text, role == ROLE_USER ? "> " : "", 0);
}

/* A line for each compaction that stands behind the messages so far. */
static void print_marks(struct showing *s)
{
	const struct compaction_mark *mark;
	char time[20];

	while ((mark = compaction_next(&s->marks, (int64_t)s->n)))
		printf("\n-- compacted here, %s: the model has a summary of "
		       "the messages above, and the newest of them\n",
		       sandbox_time(mark->created / 1000, time));
}

static bool print_message(void *arg, struct thread_message *m)
{
	struct showing *s = arg;

	print_marks(s);
	s->n++;
	if (m->damaged)
		puts("(a message that cannot be read)");
	if (m->message.role == ROLE_USER)
		putchar('\n');
	for (size_t i = 0; i < m->message.n; i++)
		print_part(s->app, m->message.role, &m->message.parts[i]);
	if (m->message.refused)
		puts("(refused: no longer part of the conversation)");
	if (m->message.cut)
		puts("(interrupted: the rest of this answer is missing)");
	return true;
}

static void add_part(struct showing *s, const struct part *p, bool first)
{
	static const char *const kinds[] = {
		[PART_TEXT] = "text",
		[PART_THINKING] = "thinking",
		[PART_TOOL_CALL] = "tool_call",
		[PART_TOOL_RESULT] = "tool_result",
		[PART_MEDIA] = "media",
	};
	const struct {
		const char *key, *value;
	} members[] = { { "text", p->text },
			{ "id", p->id },
			{ "name", p->name },
			{ "args", p->args } };

	buf_adds(&s->json, first ? "{" : ",{");
	print_add_member(s->app, &s->json, "kind", kinds[p->kind]);
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		if (!members[i].value)
			continue;
		buf_addc(&s->json, ',');
		print_add_member(s->app, &s->json, members[i].key,
				 members[i].value);
	}
	buf_adds(&s->json, p->failed ? ",\"failed\":true}" : "}");
}

static bool add_message(void *arg, struct thread_message *m)
{
	static const char *const roles[] = { "damaged", "user", "assistant",
					     "tool" };
	struct showing *s = arg;

	buf_addf(&s->json,
		 "%s{\"role\":\"%s\",\"created\":%" PRId64 ",\"refused\":%s,"
		 "%s\"usage\":",
		 s->n++ ? "," : "", roles[m->message.role], m->created,
		 m->message.refused ? "true" : "false",
		 m->message.cut ? "\"cut\":true," : "");
	usage_to_json(&m->usage, &s->json);
	buf_adds(&s->json, ",\"parts\":[");
	for (size_t i = 0; i < m->message.n; i++)
		add_part(s, &m->message.parts[i], i == 0);
	buf_adds(&s->json, "]}");
	return true;
}

static void print_fact(struct app *app, const char *name, const char *value)
{
	struct buf line = BUF_INIT(1 << 16);

	print_add_line(app, &line, value[0] ? value : "-");
	printf("%-10s%s\n", name, line.ptr);
	buf_release(&line);
}

struct missing_list {
	struct app *app;
	struct buf *json; /* or NULL: it is printed */
	size_t n;
};

static void add_missing(void *arg, struct str line)
{
	struct missing_list *m = arg;
	char *text = xstrndup(line.ptr, line.len);
	struct buf masked = BUF_INIT(TEXT_MOST);

	if (m->json) {
		mask_text(m->app->mask, line, &masked);
		buf_adds(m->json, m->n ? "," : "");
		json_quote(m->json, buf_str(&masked));
	} else if (m->n < MISSING_MOST) {
		print_fact(m->app, "", text);
	}
	m->n++;
	buf_release(&masked);
	free(text);
}

/* Where changes of its sandbox were saved last, and what is not in it. */
static void print_patch(struct app *app, const char *id)
{
	struct missing_list m = { .app = app };
	char *path = saved_patch_find(app, id);

	if (path) {
		print_fact(app, "patch", path);
		saved_patch_each_missing(path, add_missing, &m);
	}
	if (m.n > MISSING_MOST)
		printf("%-10s%zu more\n", "", m.n - MISSING_MOST);
	free(path);
}

static void add_patch_missing(struct app *app, const char *id, struct buf *out)
{
	struct missing_list m = { .app = app, .json = out };
	char *path = saved_patch_find(app, id);

	buf_adds(out, ",\"patch_missing\":[");
	if (path)
		saved_patch_each_missing(path, add_missing, &m);
	buf_addc(out, ']');
	free(path);
}

struct past_sandboxes {
	struct app *app;
	struct store *store;
	const char *label; /* of the one that it has now */
	struct buf *json;  /* or NULL: they are printed */
	size_t n;
};

static bool add_sandbox(void *arg, const struct thread_label *l)
{
	struct past_sandboxes *p = arg;
	char room[4 * THREADS_SHORT];
	struct thread_sandbox box;

	threads_read_sandbox(p->store, l->label, &box);
	if (p->json) {
		buf_adds(p->json, p->n++ ? ",{" : "{");
		print_add_member(p->app, p->json, "label", l->label);
		buf_addc(p->json, ',');
		print_add_member(p->app, p->json, "provider", l->provider);
		buf_addc(p->json, ',');
		print_add_member(p->app, p->json, "state", box.state);
		buf_addc(p->json, '}');
	} else if (strcmp(l->label, p->label) != 0 && p->n < EARLIER_MOST) {
		snprintf(room, sizeof(room), "%.40s %s %s", l->provider,
			 box.state, box.name);
		print_fact(p->app, p->n++ ? "" : "earlier", room);
	}
	return true;
}

static void print_facts(struct app *app, struct store *s,
			const struct thread *t)
{
	struct past_sandboxes past = { app, s, t->label, NULL, 0 };
	struct error ignored = { 0 };
	struct thread_sandbox box;
	char room[2 * THREADS_SHORT];
	char more[THREADS_SHORT];

	threads_read_sandbox(s, t->label, &box);
	print_fact(app, "thread", t->id);
	print_fact(app, "title", t->title);
	print_fact(app, "model", t->model);
	print_fact(app, "directory", t->cwd);
	print_fact(app, "branch", t->branch);
	print_patch(app, t->id);
	print_fact(app, "sandbox", threads_place(t, &box, room));
	if (box.name[0])
		print_fact(app, "", box.name);
	(void)thread_label_each(s, t->no, NULL, add_sandbox, &past, &ignored);
	if (t->imported && !t->model[0] && t->sandbox[0])
		print_fact(app, "on offer", t->sandbox);
	if (t->imported)
		print_fact(app, "imported", t->origin);
	print_fact(app, "begun", sandbox_time(t->created / 1000, room));
	print_fact(app, "last used", sandbox_time(t->updated / 1000, room));
	printf("%-10s%" PRId64 ", %s tokens in, %s out\n", "messages",
	       t->messages, threads_count(t->input, room),
	       threads_count(t->output, more));
	if (t->pid)
		printf("%-10sdcode %" PRId64 "\n", "in use by", t->pid);
}

static int show_json(struct showing *s, struct store *store,
		     const struct thread *t, struct error *err)
{
	struct app *app = s->app;
	struct past_sandboxes past = { app, store, t->label, NULL, 0 };
	int rc;

	buf_addc(&s->json, '{');
	threads_add_json(app, store, t, &s->json);
	add_patch_missing(app, t->id, &s->json);
	past.json = &s->json;
	buf_adds(&s->json, ",\"sandboxes\":[");
	(void)thread_label_each(store, t->no, NULL, add_sandbox, &past, err);
	buf_addc(&s->json, ']');
	buf_adds(&s->json, ",\"compactions\":");
	compaction_marks_json(&s->marks, &s->json);
	buf_adds(&s->json, ",\"messages\":[");
	rc = thread_each_message(store, t->no, add_message, s, err);
	buf_adds(&s->json, "]}");
	if (rc == 0)
		rc = buf_check(&s->json, "the thread as JSON", err);
	if (rc == 0)
		app_envelope("threads show", &s->json);
	return rc;
}

int threads_cmd_show(struct app *app, const struct args *args)
{
	struct showing s = { .app = app, .json = BUF_INIT(1 << 30) };
	struct store *store;
	struct thread t = { 0 };
	struct error err = { 0 };
	int rc = threads_find(app, args->argv[0], &store, &t, &err);

	if (rc == 0)
		rc = compaction_list(store, t.no, &s.marks, &err);
	if (rc == 0 && app->json) {
		rc = show_json(&s, store, &t, &err);
	} else if (rc == 0) {
		print_facts(app, store, &t);
		rc = thread_each_message(store, t.no, print_message, &s, &err);
		print_marks(&s);
	}
	compaction_marks_release(&s.marks);
	buf_release(&s.json);
	thread_release(&t);
	return rc == 0 ? 0 : app_fail(app, &err);
}
