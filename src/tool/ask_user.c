/* ask_user.c - the tool that lets the model ask the user questions. */
/* SPDX-License-Identifier: MIT */
/*
 * The answers come from agent_ui, by tool_env.ask; cmd/chat shows the
 * questions. Begin reading at execute_ask_user(). check_questions() checks the
 * arguments, whose schema is in args.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "tool/tool.h"

static const char *const kinds[] = { "text", "multiple_choice",
				     "multi_select" };

enum { N_KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static int find_kind(const cJSON *item)
{
	const char *name = json_string(item, "type", "");

	for (int i = 0; i < N_KINDS; i++)
		if (!strcmp(kinds[i], name))
			return i;
	return -1;
}

static void check_text(int i, const char *member, const cJSON *text,
		       struct buf *wrong)
{
	if (!cJSON_IsString(text))
		buf_addf(wrong,
			 " questions.%d.%s: Input should be a valid string\n",
			 i, member);
	else if (!str_trim(str_of(text->valuestring)).len)
		buf_addf(wrong, " questions.%d.%s: %s text must not be blank\n",
			 i, member, member);
	else if (str_chars(str_of(text->valuestring)) > INQUIRY_TEXT_CHARS)
		buf_addf(wrong, " questions.%d.%s: at most %d characters\n", i,
			 member, INQUIRY_TEXT_CHARS);
}

/* Checks the choices of question i. Appends errors to wrong. */
static void check_choices(int i, const cJSON *item, int kind, struct buf *wrong)
{
	const cJSON *choices = json_get(item, "choices");
	int n = cJSON_GetArraySize(choices);
	const cJSON *choice;

	if (cJSON_IsNull(choices) || (kind == INQUIRY_TEXT && !n))
		choices = NULL;
	if (kind == INQUIRY_TEXT && choices)
		buf_addf(wrong,
			 " questions.%d: a text question must not define "
			 "'choices'\n",
			 i);
	else if (kind != INQUIRY_TEXT && (!cJSON_IsArray(choices) || !n))
		buf_addf(wrong,
			 " questions.%d: a %s question requires a non-empty "
			 "'choices' list\n",
			 i, kinds[kind]);
	else if (n > INQUIRY_CHOICES)
		buf_addf(wrong, " questions.%d.choices: at most %d\n", i,
			 INQUIRY_CHOICES);
	else
		cJSON_ArrayForEach (choice, choices)
			check_text(i, "choice", json_get(choice, "value"),
				   wrong);
}

/* Checks question i. Appends errors to wrong. */
static void check_item(int i, const cJSON *item, struct buf *wrong)
{
	const cJSON *required = json_get(item, "required");
	int kind = find_kind(item);

	check_text(i, "question", json_get(item, "question"), wrong);
	if (kind < 0)
		buf_addf(wrong,
			 " questions.%d.type: Input should be 'text', "
			 "'multiple_choice' or 'multi_select'\n",
			 i);
	else
		check_choices(i, item, kind, wrong);
	if (required && !cJSON_IsBool(required))
		buf_addf(wrong,
			 " questions.%d.required: Input should be a valid "
			 "boolean\n",
			 i);
}

static void check_questions(const cJSON *value, struct buf *wrong)
{
	int n = cJSON_GetArraySize(value);
	const cJSON *item;
	int i = 0;

	if (!n)
		buf_adds(wrong, " questions: ask_user requires at least one "
				"question\n");
	if (n > INQUIRY_MOST) {
		buf_addf(wrong, " questions: at most %d\n", INQUIRY_MOST);
		return;
	}
	cJSON_ArrayForEach (item, value)
		check_item(i++, item, wrong);
}

/* Fills q from args, which must have been checked. Borrows their texts. */
static void read_questions(const cJSON *args, struct inquiry *q)
{
	const cJSON *item;
	const cJSON *choice;

	cJSON_ArrayForEach (item, json_get(args, "questions")) {
		struct inquiry_item *to = &q->items[q->n++];

		to->question = json_string(item, "question", "");
		to->kind = (enum inquiry_kind)find_kind(item);
		to->required = json_bool(item, "required", true);
		to->answer = BUF_INIT(INQUIRY_ANSWER_BYTES);
		cJSON_ArrayForEach (choice, json_get(item, "choices"))
			to->choices[to->n_choices++] =
				json_string(choice, "value", "");
	}
}

/* Appends the chosen items and the typed text as a JSON array. */
static void add_list(const struct inquiry_item *item, struct buf *out)
{
	bool any = false;

	buf_addc(out, '[');
	for (size_t i = 0; i < item->n_choices; i++) {
		if (!item->chosen[i])
			continue;
		buf_adds(out, any ? ", " : "");
		json_quote(out, str_of(item->choices[i]));
		any = true;
	}
	if (item->answer.len) {
		buf_adds(out, any ? ", " : "");
		json_quote(out, buf_str(&item->answer));
	}
	buf_addc(out, ']');
}

static void add_answer(const struct inquiry_item *item, struct buf *out)
{
	if (item->kind == INQUIRY_SEVERAL) {
		add_list(item, out);
		return;
	}
	for (size_t i = 0; i < item->n_choices; i++)
		if (item->chosen[i])
			buf_adds(out, item->choices[i]);
	buf_addstr(out, buf_str(&item->answer));
}

static void write_answers(const struct inquiry *q, enum inquiry_end end,
			  struct buf *out)
{
	for (size_t i = 0; i < q->n; i++) {
		buf_addf(out, "%sQ: %s\nA: ", i ? "\n\n" : "",
			 q->items[i].question);
		if (end == INQUIRY_DECLINED)
			buf_adds(out, "(cancelled)");
		else
			add_answer(&q->items[i], out);
	}
	if (end == INQUIRY_DECLINED)
		buf_adds(out, "\n\n" INQUIRY_DECLINED_TEXT);
}

/* Asks the user and returns the answers. */
static int execute_ask_user(const struct tool_env *env, const cJSON *args,
			    struct buf *out, struct error *err)
{
	struct inquiry *q = xcalloc(1, sizeof(*q));
	enum inquiry_end end = INQUIRY_NOBODY;
	int rc = 0;

	read_questions(args, q);
	if (env->ask)
		rc = env->ask(env->ask_arg, q, &end, env->stop, err);
	if (rc == 0 && end == INQUIRY_NOBODY) {
		rc = error_set(err, ERR_USAGE,
			       "Error: nobody can answer: no user is at a "
			       "terminal. Make a reasonable assumption, name "
			       "it at the end, and continue.");
	} else if (rc == 0) {
		write_answers(q, end, out);
	}
	for (size_t i = 0; i < q->n; i++)
		buf_release(&q->items[i].answer);
	free(q);
	return rc;
}

static const struct tool_arg args[] = {
	{ .name = "questions",
	  .type = ARG_LIST,
	  .description =
		  "All questions that you have now, in the order to ask them.",
	  .required = true,
	  .items = "{\"type\":\"object\",\"properties\":{"
		   "\"question\":{\"type\":\"string\",\"minLength\":1},"
		   "\"type\":{\"type\":\"string\",\"enum\":[\"text\","
		   "\"multiple_choice\",\"multi_select\"],\"description\":"
		   "\"text: in the user's own words; multiple_choice: one of"
		   " the choices; multi_select: any of them.\"},"
		   "\"choices\":{\"type\":\"array\",\"items\":{\"type\":"
		   "\"object\",\"properties\":{\"value\":{\"type\":\"string\"}}"
		   ",\"required\":[\"value\"]},\"description\":\"Not for text;"
		   " the user can always answer something else.\"},"
		   "\"required\":{\"type\":\"boolean\",\"default\":true}},"
		   "\"required\":[\"question\",\"type\"]}",
	  .check = check_questions },
	{ 0 },
};

const struct tool tool_ask_user = {
	.spec = {
		.name = "ask_user",
		.description =
			"Asks the user and waits for the answers. Use it for "
			"decisions that only the user can make and that change "
			"what you do next, not for facts that you can find "
			"out. Ask all questions at once; offer choices if "
			"there are only a few.",
	},
	.args = args,
	.summary = "",
	.flags = TOOL_SESSION | TOOL_INTERACTIVE,
	.run = execute_ask_user,
};
