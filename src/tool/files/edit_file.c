/* edit_file.c - the tool that replaces text in a file. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "sandbox/files/files.h"
#include "tool/result.h"

/* Appends text in quotes, shortened: the model, which wrote it, has all of
 * it. */
static void add_quoted(struct str text, struct buf *out)
{
	buf_addc(out, '\'');
	if (!result_clip(text, RESULT_ECHO_CHARS, out))
		buf_adds(out, "...");
	buf_addc(out, '\'');
}

static void explain_not_found(struct str old, const struct files_edited *result,
			      const struct error *err, struct buf *out)
{
	if (result->near.len) {
		buf_adds(out, "Error: String not found in file, but ");
		buf_addstr(out, buf_str(&result->near));
		return;
	}
	if (err->hint[0]) {
		buf_addf(out, "Error: %s", err->hint);
		return;
	}
	buf_adds(out, "Error: String not found in file: ");
	add_quoted(old, out);
}

static void explain_several(struct str old, int64_t count, struct buf *out)
{
	buf_adds(out, "Error: String ");
	add_quoted(old, out);
	buf_adds(out,
		 " appears multiple times. Use replace_all=True to replace "
		 "all occurrences.");
	if (count > 1)
		buf_addf(out,
			 " It appears %" PRId64 " times in file: to replace "
			 "one of them, provide a more specific string with "
			 "surrounding context.",
			 count);
}

static const struct {
	enum err_case exact;
	const char *before;
	const char *after; /* the text that follows the quoted path */
} texts[] = {
	{ CASE_FILE_NOT_FOUND, "Error: File ", " not found" },
	{ CASE_PERMISSION_DENIED, "Error: Permission denied editing file ",
	  "" },
	{ CASE_NOT_A_FILE, "Error: ", " is not a regular file" },
	{ CASE_IS_DIRECTORY, "Error: ", " is not a regular file" },
	{ CASE_NOT_TEXT, "Error: File ", " is not a text file" },
};

static void explain_failure(const char *path, const struct error *err,
			    struct buf *out)
{
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (texts[i].exact != err->exact)
			continue;
		buf_addf(out, "%s'%s'%s", texts[i].before, path,
			 texts[i].after);
		return;
	}
	buf_addf(out, "Error editing file '%s': %s", path, err->message);
}

static void store_change(void *arg, struct str before, struct str after)
{
	tool_change_set(arg, before, after);
}

/* Replaces text in a file of the sandbox and records the change. */
static int execute_edit_file(const struct tool_env *env, const cJSON *args,
			     struct buf *out, struct error *err)
{
	struct stop stop = stop_within(env->stop, RESULT_FILE_MS);
	struct files_edited result = { 0 };
	struct files_replacement change = {
		.old = str_of(json_string(args, "old_string", "")),
		.new = str_of(json_string(args, "new_string", "")),
		.all = json_bool(args, "replace_all", false),
		.exact = env->real_path,
		.made = env->change ? store_change : NULL,
		.arg = env->change,
		.result = &result,
	};
	int64_t count = 0;
	char *path;
	int rc;

	if (result_path(env, args, "file_path", &path, err))
		return -1;
	change.path = path;
	rc = files_edit(env->sandbox, &change, &count, &stop, err);
	if (!rc)
		buf_addf(out,
			 "Successfully replaced %" PRId64 " instance(s) of the "
			 "string in '%s'%s%s",
			 count, path, result.encoding ? ", which stays " : "",
			 result.encoding ? result.encoding : "");
	else if (err->exact == CASE_STRING_NOT_FOUND)
		explain_not_found(change.old, &result, err, out);
	else if (err->exact == CASE_MULTIPLE_OCCURRENCES)
		explain_several(change.old, count, out);
	else
		explain_failure(path, err, out);
	buf_release(&result.near);
	free(path);
	return rc;
}

static const struct tool_arg args[] = {
	ARG_FILE_PATH,
	{ .name = "old_string",
	  .type = ARG_STRING,
	  .description = "The text to find.",
	  .required = true },
	{ .name = "new_string",
	  .type = ARG_STRING,
	  .description = "The text to put in its place.",
	  .required = true },
	{ .name = "replace_all",
	  .type = ARG_BOOL,
	  .description = "Replace every occurrence instead of the only one.",
	  .fallback = "false" },
	{ 0 },
};

const struct tool tool_edit_file = {
	.spec = {
		.name = "edit_file",
		.description =
			"Replaces exact text in a file. Read the file first: "
			"old_string must be the exact text of the file, with "
			"its white space and without the line numbers of "
			"read_file. It must occur once: include enough lines "
			"around the change, or set replace_all. The file keeps "
			"its line ends, encoding, byte order mark and mode. "
			"Always write line breaks as LF.",
	},
	.args = args,
	.summary = "{file_path}",
	.old_arg = "old_string",
	.new_arg = "new_string",
	.path_arg = "file_path",
	.flags = TOOL_ASKS,
	.run = execute_edit_file,
};
