/* ls.c - the tool that lists a directory. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "sandbox/files/files.h"
#include "tool/result.h"

static void render_names(const struct files_names *list, struct buf *out)
{
	pylist_names(out, list->names, list->n);
	if (list->incomplete)
		buf_adds(out, "\n\nNote: the directory could not be listed "
			      "completely. The paths above are valid but "
			      "incomplete.");
}

static int execute_ls(const struct tool_env *env, const cJSON *args,
		      struct buf *out, struct error *err)
{
	struct stop stop = stop_within(env->stop, RESULT_FILE_MS);
	struct files_names list = { 0 };
	char *path;
	int rc;

	if (result_path(env, args, "path", &path, err))
		return -1;
	rc = files_ls(env->sandbox, path, &list, &stop, err);
	if (rc)
		result_file_failed(out, "Path", path, err);
	else
		render_names(&list, out);
	files_names_release(&list);
	free(path);
	return rc;
}

static const struct tool_arg args[] = {
	{ .name = "path",
	  .type = ARG_STRING,
	  .description = "The directory: absolute, or relative to the working "
			 "directory.",
	  .required = true },
	{ 0 },
};

const struct tool tool_ls = {
	.spec = {
		.name = "ls",
		.description =
			"Lists the entries of one directory as sorted "
			"absolute paths, hidden ones too. Directories end in "
			"'/'. Use it to find out what is there before you "
			"read or edit; use glob to search a whole tree.",
	},
	.args = args,
	.summary = "{path}",
	.lists = { "entry", "entries" },
	.path_arg = "path",
	.flags = TOOL_READS,
	.run = execute_ls,
};
