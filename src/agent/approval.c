/* approval.c - a call that waits for approval, and what the user changes of it.
 */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "base/mem.h"
#include "base/str.h"
#include "tool/args.h"
#include "tool/result.h"

/* Before the user's reason, in what the model is told. */
static const char rejected[] = "User rejected the tool call with reason: ";

void approval_decline(struct approval *a, struct str why)
{
	a->declined = true;
	if (why.len)
		buf_addf(&a->reason, "%s%.*s", rejected, (int)why.len, why.ptr);
}

struct str approval_why(struct str result)
{
	return str_starts(result, rejected)
		       ? str_skip(result, sizeof(rejected) - 1)
		       : (struct str){ 0 };
}

void approval_clear(struct approval *a)
{
	buf_clear(&a->reason);
	buf_clear(&a->place);
	free(a->real_path);
	a->real_path = NULL;
	a->allowed = a->auto_edit = a->declined = false;
	a->file_note = NULL;
	tool_change_release(&a->change);
}

void approval_release(struct approval *a)
{
	approval_clear(a);
	buf_release(&a->reason);
	buf_release(&a->place);
	cJSON_free(a->edited);
	a->edited = NULL;
	cJSON_Delete(a->edited_args);
	a->edited_args = NULL;
}

const char *approval_editable(const struct approval *a)
{
	if (a->tool->flags & TOOL_RUNS)
		return "command";
	return a->tool->new_arg;
}

enum { MOST_REMARK = 8000 /* bytes of what the user put into a call */ };

/* All members as the model wrote them, but one. Owned by the caller. */
static char *print_edited(const struct approval *a, struct str text)
{
	const char *name = approval_editable(a);
	cJSON *args = cJSON_Duplicate(a->args, true);
	char *value = xstrndup(text.ptr ? text.ptr : "", text.len);
	char *printed;

	cJSON_ReplaceItemInObjectCaseSensitive(args, name,
					       cJSON_CreateString(value));
	printed = cJSON_PrintUnformatted(args);
	free(value);
	cJSON_Delete(args);
	return printed;
}

int approval_edit(struct approval *a, struct str text, struct error *err)
{
	struct buf refusal = BUF_INIT(RESULT_RAW_BYTES);
	struct part call = *a->call;
	cJSON *args;

	if (!str_is_utf8(text) || str_find(text, '\0') < text.len)
		return error_set(err, ERR_USAGE,
				 "the changed text is not UTF-8, so the call "
				 "is unchanged");
	call.args = print_edited(a, text);
	call.bad_args = false;
	args = args_read(a->tool, &call, &refusal);
	buf_release(&refusal);
	if (!args) {
		cJSON_free(call.args);
		return error_set(err, ERR_USAGE,
				 "%s does not accept the changed text, so the "
				 "call is unchanged",
				 a->tool->spec.name);
	}
	cJSON_free(a->edited);
	cJSON_Delete(a->edited_args);
	a->edited = call.args;
	a->args = a->edited_args = args;
	approval_clear(a);
	return 0;
}

void approval_describe_edit(const struct approval *a, const struct mask *m,
			    struct buf *out)
{
	const char *name = approval_editable(a);
	struct str text = str_of(json_string(a->args, name, ""));
	struct str shown = text;

	if (shown.len > MOST_REMARK) {
		shown.len = MOST_REMARK;
		shown.len = str_utf8_prefix(shown);
	}
	buf_addf(out, "The user changed this call before it ran. Its %s was:\n",
		 name);
	mask_text(m, shown, out);
	if (shown.len < text.len)
		buf_addf(out, "\n[the first %zu of %zu bytes]", shown.len,
			 text.len);
	buf_adds(out, "\n\nThe result of the changed call:\n");
}
