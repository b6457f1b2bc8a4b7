/* delete.c - the tool that deletes a file or a tree. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "sandbox/files/files.h"
#include "tool/paths.h"
#include "tool/result.h"

/* True if path is or contains the working directory. That must not be deleted,
 * because commands start in it. */
static bool holds_workdir(const struct tool_env *env, const char *path)
{
	struct error ignored = { 0 };
	char *workdir;
	bool holds;

	if (paths_resolve("/", env->sandbox->workdir, &workdir, &ignored))
		return false;
	holds = paths_contain(path, workdir);
	free(workdir);
	return holds;
}

/* Deletes the path, unless it contains the working directory. */
static int remove_path(const struct tool_env *env, const char *path,
		       struct buf *out, struct error *err)
{
	struct stop stop = stop_within(env->stop, RESULT_FILE_MS);

	if (holds_workdir(env, path)) {
		buf_addf(out,
			 "Error deleting file '%s': it holds the working "
			 "directory",
			 path);
		return error_set(err, ERR_USAGE, "holds the working directory");
	}
	if (!files_delete(env->sandbox, path, env->real_path, &stop, err)) {
		buf_addf(out, "Deleted %s", path);
		return 0;
	}
	if (err->exact == CASE_FILE_NOT_FOUND ||
	    err->exact == CASE_PATH_NOT_FOUND)
		buf_addf(out, "Error: '%s' not found", path);
	else
		buf_addf(out, "Error deleting file '%s': %s", path,
			 err->message[0] ? err->message : "unknown error");
	return -1;
}

static int execute_delete(const struct tool_env *env, const cJSON *args,
			  struct buf *out, struct error *err)
{
	char *path;
	int rc;

	if (result_path(env, args, "file_path", &path, err))
		return -1;
	rc = remove_path(env, path, out, err);
	free(path);
	return rc;
}

static const struct tool_arg args[] = {
	{ .name = "file_path",
	  .type = ARG_STRING,
	  .description = "What to delete: absolute, or relative to the working"
			 " directory.",
	  .required = true },
	{ 0 },
};

const struct tool tool_delete = {
	.spec = {
		.name = "delete",
		.description =
			"Deletes a file, a symbolic link (not what it points "
			"to), or a directory with all that is in it. This "
			"cannot be undone.",
	},
	.args = args,
	.summary = "{file_path}",
	.path_arg = "file_path",
	.flags = TOOL_ASKS | TOOL_DELETES,
	.run = execute_delete,
};
