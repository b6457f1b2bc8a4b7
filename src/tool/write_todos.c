/* write_todos.c - the tool that lets the model maintain a list of tasks. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "tool/args.h"
#include "tool/result.h"
#include "tool/table.h"
#include "tool/todos.h"

static const char *const statuses[] = { "pending", "in_progress", "completed" };

const char *todos_status(enum todo_status status)
{
	return statuses[status];
}

static bool parse_status(const char *text, enum todo_status *status)
{
	for (int i = 0; text && i < N_TODO; i++) {
		if (strcmp(text, statuses[i]) != 0)
			continue;
		*status = (enum todo_status)i;
		return true;
	}
	return false;
}

/* Checks item i of the list. Appends errors to wrong. */
static void check_item(const cJSON *item, int i, struct buf *wrong)
{
	struct str content = str_of(json_string(item, "content", ""));
	enum todo_status status;

	if (!cJSON_IsObject(item)) {
		buf_addf(wrong, " todos.%d: Input should be an object\n", i);
		return;
	}
	if (!cJSON_IsString(json_get(item, "content")))
		buf_addf(wrong,
			 " todos.%d.content: Input should be a valid string\n",
			 i);
	else if (!str_trim(content).len)
		buf_addf(wrong, " todos.%d.content: it must not be blank\n", i);
	else if (str_chars(content) > TODOS_CONTENT_CHARS)
		buf_addf(wrong,
			 " todos.%d.content: at most %d characters, please\n",
			 i, TODOS_CONTENT_CHARS);
	if (!parse_status(json_string(item, "status", NULL), &status))
		buf_addf(wrong,
			 " todos.%d.status: Input should be 'pending', "
			 "'in_progress' or 'completed'\n",
			 i);
}

static void check_todos(const cJSON *value, struct buf *wrong)
{
	const cJSON *item;
	int i = 0;

	if (cJSON_GetArraySize(value) > TODOS_MOST) {
		buf_addf(wrong, " todos: at most %d items, please\n",
			 TODOS_MOST);
		return;
	}
	cJSON_ArrayForEach (item, value)
		check_item(item, i++, wrong);
}

static void read_items(struct todos *t, const cJSON *args)
{
	const cJSON *value = json_get(args, "todos");
	const cJSON *item;

	t->list = xcalloc((size_t)cJSON_GetArraySize(value) + 1,
			  sizeof(*t->list));
	cJSON_ArrayForEach (item, value) {
		struct todo *to = &t->list[t->n++];

		to->content = xstrdup(json_string(item, "content", ""));
		(void)parse_status(json_string(item, "status", NULL),
				   &to->status);
	}
}

bool todos_read(struct todos *t, const struct part *call)
{
	struct buf ignored = BUF_INIT(RESULT_RAW_BYTES);
	cJSON *args = NULL;

	if (call->name && !strcmp(call->name, tool_write_todos.spec.name))
		args = args_read(&tool_write_todos, call, &ignored);
	buf_release(&ignored);
	if (!args)
		return false;
	todos_release(t);
	read_items(t, args);
	cJSON_Delete(args);
	return true;
}

void todos_release(struct todos *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->list[i].content);
	free(t->list);
	*t = (struct todos){ 0 };
}

size_t todos_count(const struct todos *t, enum todo_status status)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++)
		n += t->list[i].status == status;
	return n;
}

/* Returns the call with this id from the nearest of the first n messages, from
 * the last one backwards; or NULL. */
static const struct part *find_call(const struct message *list, size_t n,
				    const char *id)
{
	for (size_t i = n; i > 0; i--) {
		const struct message *m = &list[i - 1];

		for (size_t k = 0; k < m->n; k++)
			if (m->parts[k].kind == PART_TOOL_CALL &&
			    m->parts[k].id && !strcmp(m->parts[k].id, id))
				return &m->parts[k];
	}
	return NULL;
}

static bool is_success(const struct part *p)
{
	return p->kind == PART_TOOL_RESULT && !p->failed && p->id && p->name &&
	       !strcmp(p->name, tool_write_todos.spec.name);
}

const struct part *todos_latest(const struct message *list, size_t n)
{
	for (size_t i = n; i > 0; i--) {
		const struct message *m = &list[i - 1];

		for (size_t k = m->n; k > 0; k--) {
			const struct part *call;

			if (!is_success(&m->parts[k - 1]))
				continue;
			call = find_call(list, i - 1, m->parts[k - 1].id);
			if (call)
				return call;
		}
	}
	return NULL;
}

/* Returns the list as text. The list itself is not stored: the newest call in
 * the conversation is the list, for the screen, a resumed thread and a
 * compaction. */
static int execute_write_todos(const struct tool_env *env, const cJSON *args,
			       struct buf *out, struct error *err)
{
	struct todos t = { 0 };

	(void)env;
	(void)err;
	read_items(&t, args);
	buf_adds(out, "Updated todo list to [");
	for (size_t i = 0; i < t.n; i++) {
		buf_adds(out, i ? ", {'content': " : "{'content': ");
		pylist_string(out, str_of(t.list[i].content));
		buf_addf(out, ", 'status': '%s'}",
			 todos_status(t.list[i].status));
	}
	buf_addc(out, ']');
	todos_release(&t);
	return 0;
}

static const struct tool_arg args[] = {
	{ .name = "todos",
	  .type = ARG_LIST,
	  .description = "All steps, in their order. The list replaces the "
			 "previous one.",
	  .required = true,
	  .items = "{\"type\":\"object\",\"properties\":{"
		   "\"content\":{\"type\":\"string\"},"
		   "\"status\":{\"type\":\"string\",\"enum\":"
		   "[\"pending\",\"in_progress\",\"completed\"]}},"
		   "\"required\":[\"content\",\"status\"]}",
	  .check = check_todos },
	{ 0 },
};

const struct tool tool_write_todos = {
	.spec = {
		.name = TODOS_TOOL,
		.description =
			"Keeps the list of steps of your current work, which "
			"the user sees. Use it for work of three steps or "
			"more, not for less. Every call contains the whole "
			"list. Set a step to in_progress before you begin it "
			"and to completed as soon as it is done and checked, "
			"not before; add, change or drop steps as you learn "
			"more. Call it at most once in an answer.",
	},
	.args = args,
	.summary = "", /* see ui/summary.h */
	.flags = TOOL_SESSION | TOOL_SINGLE,
	.run = execute_write_todos,
};
