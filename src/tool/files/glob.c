/* glob.c - the tool that finds files by name. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "sandbox/files/files.h"
#include "tool/result.h"

enum { GLOB_MS = 10000 };

static void render_result(const struct files_names *list, struct buf *out)
{
	pylist_names(out, list->names, list->n);
	if (list->incomplete)
		buf_adds(out,
			 "\n\nNote: the search stopped early because it hit "
			 "its time limit. The paths above are valid but "
			 "incomplete. Narrow the search (a more specific "
			 "pattern or a narrower path) to see the rest.");
	result_note_left(&list->left, out);
}

/* Removes the files that the model must not read. A search can find them from a
 * directory above, although the tools refuse their paths. */
static void remove_secret_files(const struct secret_files *secrets,
				struct files_names *list)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->n; i++) {
		if (secret_files_name(secrets, list->names[i]))
			free(list->names[i]);
		else
			list->names[kept++] = list->names[i];
	}
	list->n = kept;
}

static int execute_glob(const struct tool_env *env, const cJSON *args,
			struct buf *out, struct error *err)
{
	struct stop stop = stop_within(env->stop, GLOB_MS);
	struct files_names list = { 0 };
	struct files_search what = {
		.pattern = json_string(args, "pattern", ""),
		.ignored = json_bool(args, "include_ignored", false),
	};
	char *root;
	int rc;

	if (result_path(env, args, "path", &root, err))
		return -1;
	what.root = root;
	rc = files_glob(env->sandbox, &what, &list, &stop, err);
	remove_secret_files(env->secrets, &list);
	if (!rc)
		render_result(&list, out);
	else if (err->code == ERR_TIMEOUT)
		buf_addf(out,
			 "Error: glob timed out after %d.0s. Try a more "
			 "specific pattern or a narrower path.",
			 GLOB_MS / 1000);
	else
		result_file_failed(out, "Path", root, err);
	files_names_release(&list);
	free(root);
	return rc;
}

static const struct tool_arg args[] = {
	{ .name = "pattern",
	  .type = ARG_STRING,
	  .description = "The pattern of the names to find.",
	  .required = true },
	{ .name = "path",
	  .type = ARG_STRING,
	  .description = "The directory to search; the working directory if "
			 "not given." },
	{ .name = "include_ignored",
	  .type = ARG_BOOL,
	  .description = "Also find files that git ignores.",
	  .fallback = "false" },
	{ 0 },
};

const struct tool tool_glob = {
	.spec = {
		.name = "glob",
		.description =
			"Finds files (not directories) by name, as sorted "
			"absolute paths. A pattern without '/' matches the "
			"last component at any depth ('*.py'); one with '/' "
			"matches the path below the search root "
			"('src/**/*.c'), and a leading '/' means the root "
			"itself ('/*.md') or begins an absolute path below "
			"it. Supports *, ?, [abc], [!abc], {a,b} "
			"and ** for any directories; a name that begins with "
			"'.' needs a pattern that does. The exact path of an "
			"existing file is found even if it contains these "
			"characters. Files that git ignores are left out and "
			"counted, unless path names a directory of them or the "
			"pattern is the path of one; .git is never entered.",
	},
	.args = args,
	.summary = "{pattern}[ in {path}]",
	.lists = { "file", "files" },
	.path_arg = "path",
	.flags = TOOL_READS,
	.run = execute_glob,
};
