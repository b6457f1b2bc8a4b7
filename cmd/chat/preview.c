/* preview.c - what a call that is asked about would do to a file. */
/* SPDX-License-Identifier: MIT */
#include "cmd/chat/preview.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "sandbox/files/files.h"
#include "sandbox/files/text.h"
#include "tool/paths.h"
#include "tool/result.h"

enum { READ_MS = 30000 };

static struct str text_arg(const struct approval *a, const char *name)
{
	return str_of(json_string(a->args, name, ""));
}

/* The file as it would be after an edit: -1 where the edit fails. */
static int edit(const struct approval *a, struct str before, struct buf *after)
{
	struct edit_change change = { .middle = BUF_INIT(after->max) };
	struct error ignored = { 0 };
	int rc = edit_match(before, text_arg(a, a->tool->old_arg),
			    text_arg(a, a->tool->new_arg),
			    json_bool(a->args, "replace_all", false), &change,
			    &ignored);

	if (rc == 0) {
		buf_add(after, before.ptr, change.head);
		buf_addstr(after, buf_str(&change.middle));
		buf_addstr(after, str_skip(before, before.len - change.tail));
	}
	buf_release(&change.middle);
	return rc < 0 || after->over ? -1 : 0;
}

static void compare(struct approval *a, struct str file)
{
	struct buf after = BUF_INIT(TOOL_CHANGE_BYTES);
	struct buf text = BUF_INIT(TOOL_CHANGE_BYTES);
	struct encoding encoding;
	struct error ignored = { 0 };
	struct str before = file;

	if (!encoding_detect(file, false, &encoding, &ignored) &&
	    !encoding_decode(&encoding, file, &text, &ignored))
		before = buf_str(&text);

	if (!str_is_utf8(before) || str_find(before, '\0') < before.len) {
		a->file_note = "not a text file, so no diff is shown";
	} else if (!a->tool->old_arg) {
		tool_change_set(&a->change, before,
				text_arg(a, a->tool->new_arg));
	} else if (edit(a, before, &after) == 0) {
		tool_change_set(&a->change, before, buf_str(&after));
	} else {
		a->file_note = "does not contain this text exactly once, so "
			       "the edit will fail";
	}
	if (!a->change.known && !a->file_note)
		a->file_note = "too large, so no diff is shown";
	buf_release(&after);
	buf_release(&text);
}

static void explain_failure(struct approval *a, const struct error *err)
{
	if (err->code == ERR_LIMIT)
		a->file_note = "too large, so no diff is shown";
	if (strcmp(err->reason, "file_not_found") != 0)
		return;
	a->file_note = "does not exist yet";
	if (!a->tool->old_arg)
		tool_change_set(&a->change, STR(""),
				text_arg(a, a->tool->new_arg));
}

int preview_read(struct run *r, struct approval *a, const struct stop *stop,
		 struct error *err)
{
	struct stop soon = stop_within(stop, READ_MS);
	struct buf before = BUF_INIT(TOOL_CHANGE_BYTES);
	struct error why = { 0 };
	char *path = NULL;
	const char *real;

	a->file_note = NULL;
	tool_change_release(&a->change);
	if (!a->tool->new_arg || !a->tool->path_arg)
		return 0;
	if (!a->real_path)
		(void)paths_resolve(
			a->acts_in->workdir,
			json_string(a->args, a->tool->path_arg, "."), &path,
			&why);
	real = a->real_path ? a->real_path : path;
	if (real && secret_files_hold(&r->secrets, real))
		a->file_note = "contains keys, so no diff is shown";
	else if (real && files_load(a->acts_in, real, a->real_path != NULL,
				    &before, &soon, &why) == 0)
		compare(a, buf_str(&before));
	else if (real)
		explain_failure(a, &why);
	buf_release(&before);
	free(path);
	return stop_check(stop, err);
}
