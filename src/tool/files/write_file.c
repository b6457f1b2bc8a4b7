/* write_file.c - the tool that creates or overwrites a file. */
/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>

#include "base/str.h"
#include "sandbox/files/files.h"
#include "tool/paths.h"
#include "tool/result.h"

/* largest old content that is read: fits into one answer of every vendor */
enum { BEFORE_BYTES = 256 << 10 };

/* True if the change must be computed here: the UI shows it, the approval has
 * not computed it, and the file may be shown. */
static bool is_shown(const struct tool_env *env, const char *path)
{
	return env->change && !env->change->known &&
	       !secret_files_hold(env->secrets, path);
}

static int execute_write_file(const struct tool_env *env, const cJSON *args,
			      struct buf *out, struct error *err)
{
	struct stop stop = stop_within(env->stop, RESULT_FILE_MS);
	struct files_before before = { .text = BUF_INIT(BEFORE_BYTES) };
	struct files_writing writing = {
		.exact = env->real_path,
		.content = str_of(json_string(args, "content", "")),
		.written = BUF_INIT(SIZE_MAX / 4),
		.kept = BUF_INIT(400),
	};
	char *path;
	int rc;

	if (result_path(env, args, "file_path", &path, err))
		return -1;
	writing.path = path;
	if (is_shown(env, path))
		writing.before = &before;
	rc = files_overwrite(env->sandbox, &writing, &stop, err);
	if (rc == 0 && before.known)
		tool_change_set(env->change, buf_str(&before.text),
				writing.written.len ? buf_str(&writing.written)
						    : writing.content);
	buf_release(&before.text);
	buf_release(&writing.written);
	if (rc)
		buf_addf(out, "Failed to write file '%s': %s%s%s", path,
			 err->message, err->hint[0] ? "; " : "", err->hint);
	else
		buf_addf(out, "Updated file %s", path);
	if (!rc && writing.kept.len)
		buf_addf(out, " (kept: %s)", writing.kept.ptr);
	buf_release(&writing.kept);
	free(path);
	return rc;
}

static const struct tool_arg args[] = {
	ARG_FILE_PATH,
	{ .name = "content",
	  .type = ARG_STRING,
	  .description =
		  "The complete text of the file, with its last line break.",
	  .required = true },
	{ 0 },
};

const struct tool tool_write_file = {
	.spec = {
		.name = "write_file",
		.description =
			"Writes a whole file: creates it and the directories "
			"above it, or replaces its contents. An existing file "
			"keeps its mode, encoding, byte order mark and line "
			"ends, and whether it ends with a line break. To "
			"change part of an existing file, use edit_file "
			"instead.",
	},
	.args = args,
	.summary = "{file_path}",
	.new_arg = "content",
	.path_arg = "file_path",
	.flags = TOOL_ASKS,
	.run = execute_write_file,
};
