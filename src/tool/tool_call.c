/* tool_call.c - runs one call of a tool and returns the text for the model. */
/* SPDX-License-Identifier: MIT */
/*
 * Begin reading at tool_call(). It masks every result before it is stored,
 * shown or sent. Tools that split results into lines or stream them mask
 * earlier, because a secret that is split would not be found. tool_call() also
 * limits the size: with TOOL_EVICTS, a result of more than RESULT_CHARS becomes
 * a file in the sandbox (evict_apply() in result.c). Other tools limit their
 * own text.
 */
#include <string.h>

#include "base/str.h"
#include "tool/args.h"
#include "tool/result.h"
#include "tool/tool.h"

const struct tool *tool_find(const char *name)
{
	for (size_t i = 0; name && tools[i]; i++)
		if (tools[i]->spec.name[0] == name[0] &&
		    !strcmp(tools[i]->spec.name, name))
			return tools[i];
	return NULL;
}

const struct tool *tool_find_among(const struct tool *const *more,
				   const char *name)
{
	const struct tool *found = tool_find(name);

	for (size_t i = 0; !found && name && more && more[i]; i++)
		if (!strcmp(more[i]->spec.name, name))
			found = more[i];
	return found;
}

/* Appends the names of those tools in the list that the model is offered. */
static void add_offered(const struct tool_env *env,
			const struct tool *const *list, size_t *n,
			struct buf *out)
{
	for (size_t i = 0; list && list[i]; i++) {
		const char *name = list[i]->spec.name;

		if (env->offers ? !env->offers(env->arg, name)
				: (list[i]->flags & TOOL_LATER) != 0)
			continue;
		buf_addf(out, "%s%s", (*n)++ ? ", " : "", name);
	}
}

/* Fails with a result that names the available tools, so that the model can
 * correct itself. */
static int refuse_unknown(const struct tool_env *env, const char *name,
			  struct buf *out, struct error *err)
{
	size_t n = 0;

	buf_adds(out, "Error: ");
	result_clip(str_of(name ? name : ""), RESULT_ECHO_CHARS, out);
	buf_adds(out, " is not a valid tool, try one of [");
	add_offered(env, tools, &n, out);
	add_offered(env, env->more, &n, out);
	buf_adds(out, "].");
	return error_set(err, ERR_USAGE, "unknown tool");
}

static bool ends_turn(const struct error *err)
{
	return err->code == ERR_CANCELLED || err->code == ERR_GONE;
}

/* Uses the error's message as the result if the tool returned no text. */
static void explain_failure(const struct part *call, const struct error *err,
			    struct buf *out)
{
	if (out->len)
		return;
	if (err->code == ERR_CANCELLED)
		result_add_cancelled(call, true, out);
	else
		buf_adds(out, err->message);
}

/* Replaces invalid UTF-8 by U+FFFD, and NUL too, because it would end a C
 * string. */
static void repair_text(struct buf *text)
{
	struct buf out = BUF_INIT(RESULT_RAW_BYTES);
	struct str rest = buf_str(text);

	if (str_is_utf8(rest) && str_find(rest, '\0') == rest.len)
		return;
	while (rest.len) {
		struct str good = { rest.ptr, str_find(rest, '\0') };

		good.len = str_utf8_prefix(good);
		buf_addstr(&out, good);
		rest = str_skip(rest, good.len);
		if (rest.len)
			buf_adds(&out, "\xEF\xBF\xBD");
		rest = str_skip(rest, 1);
	}
	buf_release(text);
	*text = out;
}

static void clean_result(const struct mask *m, struct buf *text)
{
	(void)mask_buf(m, text);
	repair_text(text);
}

/* True if the tool knows why it could not act. After any other error, such as a
 * lost connection, it may have acted. */
static bool is_refusal(const struct error *err)
{
	return err->exact != CASE_NONE || err->code == ERR_USAGE;
}

int tool_call(const struct tool_env *env, const struct part *call,
	      struct buf *out, bool *failed, struct error *err)
{
	const struct tool *tool = tool_find_among(env->more, call->name);
	struct buf text = BUF_INIT(RESULT_RAW_BYTES);
	struct tool_env mine = *env;
	struct error why = { 0 };
	cJSON *read = tool && !env->args ? args_read(tool, call, &text) : NULL;
	bool ended;
	int rc;

	mine.tool = tool;
	if (read)
		mine.args = read;
	if (!tool)
		rc = refuse_unknown(env, call->name, &text, &why);
	else if (!mine.args)
		rc = error_set(&why, ERR_USAGE, "wrong arguments");
	else if ((rc = tool->run(&mine, mine.args, &text, &why)) != 0)
		explain_failure(call, &why, &text);
	if (rc && mine.change)
		mine.change->none = is_refusal(&why);
	cJSON_Delete(read);
	ended = rc && ends_turn(&why);
	*failed = rc != 0;
	clean_result(env->mask, &text);
	if (env->masked)
		mask_count(env->mask, buf_str(&text), env->masked);
	if (env->end)
		clean_result(env->mask, env->end);
	if (tool && (tool->flags & TOOL_EVICTS))
		evict_apply(env, call->id, !ended, &text);
	buf_addstr(out, buf_str(&text));
	buf_release(&text);
	if (!ended)
		return 0;
	*err = why;
	return -1;
}
