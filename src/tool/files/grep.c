/* grep.c - the tool that finds text in files. */
/* SPDX-License-Identifier: MIT */
/*
 * Begin reading at execute_grep(). The search runs in the sandbox
 * (scripts/sandbox/grep.sh, by files_grep()); this file formats the matches.
 * Lines are masked as they arrive.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/files/files.h"
#include "tool/result.h"

enum matches_mode {
	MATCHES_FILES = 1, /* one path per line */
	MATCHES_CONTENT,   /* "path:" and "  12: text" */
	MATCHES_COUNT,     /* "path: 3" */
};

/* Returns the index of the first match in the next file. */
static size_t next_file(const struct files_matches *list, size_t i)
{
	size_t n = i + 1;

	while (n < list->n && !strcmp(list->items[n].path, list->items[i].path))
		n++;
	return n;
}

static void add_file(const struct files_match *items, size_t n,
		     enum matches_mode mode, struct buf *out)
{
	if (out->len)
		buf_addc(out, '\n');
	buf_adds(out, items->path);
	if (mode == MATCHES_COUNT)
		buf_addf(out, ": %zu", n);
	if (mode != MATCHES_CONTENT)
		return;
	buf_addc(out, ':');
	for (size_t i = 0; i < n; i++) {
		buf_addf(out, "\n  %" PRId64 ": ", items[i].line);
		buf_adds(out, items[i].text);
	}
}

/* Appends the matches of a sorted list: at most RESULT_CHARS code points, and a
 * note if they were cut. */
static void render_matches(const struct files_matches *list,
			   enum matches_mode mode, struct buf *out)
{
	struct buf text = BUF_INIT(RESULT_RAW_BYTES);

	for (size_t i = 0; i < list->n;) {
		size_t next = next_file(list, i);

		add_file(&list->items[i], next - i, mode, &text);
		i = next;
	}
	if (list->n)
		result_add_limited(buf_str(&text), out);
	else
		buf_adds(out, "No matches found");
	buf_release(&text);
}

/* True if the pattern looks like a regular expression, which grep does not
 * support. */
static bool looks_like_regex(const char *pattern)
{
	if (strchr(pattern, '|') || strstr(pattern, ".*") ||
	    strstr(pattern, ".+"))
		return true;
	for (const char *p = strchr(pattern, '\\'); p; p = strchr(p + 1, '\\'))
		if (p[1] && strchr(".wWdDsSbB(){}[]|+*?^$", p[1]))
			return true;
	return false;
}

enum {
	GREP_MS = 35000,
	DEFAULT_CAP = 1000 /* matches */
};

static const char *const modes[] = { "files_with_matches", "content", "count",
				     NULL };

static enum matches_mode mode_of(const cJSON *args)
{
	const char *name = json_string(args, "output_mode", modes[0]);

	if (!strcmp(name, modes[1]))
		return MATCHES_CONTENT;
	return strcmp(name, modes[2]) ? MATCHES_FILES : MATCHES_COUNT;
}

/* Appends the matches, and notes about what is missing. */
static void render_result(const struct files_matches *list, const cJSON *args,
			  struct buf *out)
{
	render_matches(list, mode_of(args), out);
	if (list->incomplete)
		buf_adds(out,
			 "\n\nNote: the search stopped early (it hit its time "
			 "limit or the maximum match count). The matches above "
			 "are valid but incomplete. Narrow the search (a more "
			 "specific pattern or a narrower path), or raise "
			 "max_count, to see the rest.");
	else if (!list->n && looks_like_regex(json_string(args, "pattern", "")))
		buf_adds(out,
			 "\n\nNote: grep matches literal text, not regex, so "
			 "characters like `|`, `.*`, and `\\.` are searched "
			 "verbatim. Search for the literal text you need "
			 "instead; for `|` alternation, run a separate search "
			 "per alternative.");
	result_note_left(&list->left, out);
}

/* Appends why the search failed, and the matches that were found before. */
static void explain_failure(const struct files_matches *list, const cJSON *args,
			    const char *root, const struct error *err,
			    struct buf *out)
{
	if (err->code == ERR_TIMEOUT)
		buf_addf(out,
			 "Error: grep timed out after %ds. Try a more specific "
			 "pattern or a narrower path.",
			 GREP_MS / 1000);
	else if (result_is_file_error(err))
		buf_addf(out, "Path '%s': %s", root, err->message);
	else
		buf_adds(out, err->message);
	if (!list->n)
		return;
	buf_adds(out, "\n\nPartial matches:\n");
	render_matches(list, mode_of(args), out);
}

/* Removes matches in files that the model must not read. A search can find them
 * from a directory above, although the tools refuse their paths. */
static void remove_secret_files(const struct secret_files *secrets,
				struct files_matches *list)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->n; i++) {
		if (!secret_files_name(secrets, list->items[i].path)) {
			list->items[kept++] = list->items[i];
			continue;
		}
		free(list->items[i].path);
		free(list->items[i].text);
	}
	list->n = kept;
}

static int execute_grep(const struct tool_env *env, const cJSON *args,
			struct buf *out, struct error *err)
{
	struct stop stop = stop_within(env->stop, GREP_MS);
	struct files_matches list = { 0 };
	const struct mask *mask = env->mask;
	struct files_search what;
	char *root;
	int rc;

	if (result_path(env, args, "path", &root, err))
		return -1;
	what = (struct files_search){
		.root = root,
		.pattern = json_string(args, "pattern", ""),
		.glob = json_string(args, "glob", NULL),
		.cap = json_int(args, "max_count", DEFAULT_CAP),
		.ignored = json_bool(args, "include_ignored", false),
		.clean = mask ? result_mask_line : NULL,
		.arg = &mask,
	};
	rc = files_grep(env->sandbox, &what, &list, &stop, err);
	remove_secret_files(env->secrets, &list);
	if (rc)
		explain_failure(&list, args, root, err, out);
	else
		render_result(&list, args, out);
	files_matches_release(&list);
	free(root);
	return rc;
}

static const struct tool_arg args[] = {
	{ .name = "pattern",
	  .type = ARG_STRING,
	  .description = "The literal text to find.",
	  .required = true },
	{ .name = "path",
	  .type = ARG_STRING,
	  .description = "The directory or file to search; the working "
			 "directory if not given." },
	{ .name = "glob",
	  .type = ARG_STRING,
	  .description = "Search only files that match, as in the tool glob: "
			 "'*.py', 'src/**/*.c'." },
	{ .name = "output_mode",
	  .type = ARG_STRING,
	  .choices = modes,
	  .fallback = "\"files_with_matches\"" },
	{ .name = "max_count",
	  .type = ARG_INT,
	  .description = "The most matches to return; 1000 if not given.",
	  .positive = true },
	{ .name = "include_ignored",
	  .type = ARG_BOOL,
	  .description = "Also search files that git ignores.",
	  .fallback = "false" },
	{ 0 },
};

const struct tool tool_grep = {
	.spec = {
		.name = "grep",
		.description =
			"Finds literal text in files; regular expressions are "
			"not supported (for those run execute with rg "
			"'<regex>' or grep -rE '<regex>'). By default only the "
			"names of the files are listed; output_mode 'content' "
			"shows the lines with their numbers, 'count' the "
			"number of matches in each file. Files that git "
			"ignores are left out and counted, unless path names "
			"one of them or a directory of them; .git is never "
			"searched.",
	},
	.args = args,
	.summary = "{pattern}[ in {path}][ ({glob})]",
	.path_arg = "path",
	.flags = TOOL_READS,
	.run = execute_grep,
};
