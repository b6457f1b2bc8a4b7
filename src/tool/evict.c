/* evict.c - moves a result too large for the model into a file. */
/* SPDX-License-Identifier: MIT */
#include "tool/evict.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/str.h"
#include "sandbox/files/files.h"
#include "sandbox/quote.h"
#include "tool/files/numbering.h"
#include "tool/result.h"

enum {
	FIND_MS = 20000,    /* for the directory's script */
	DIR_BYTES = 1024,   /* of its answer */
	NAME_BYTES = 64,    /* of a file in it */
	ALL_MAX = 32 << 20, /* bytes of the files in it */
	SCRIPT_MAX = 16 << 10,
	CLIP_EDGE = RESULT_CHARS / 2 - 1000,
	PREVIEW_BYTES = 64 << 10
};

static const unsigned char private_dir[] = {
#include "scripts/sandbox/private_dir.sh.inc"
};
static const unsigned char results_dir[] = {
#include "scripts/sandbox/results_dir.sh.inc"
};

#define SCRIPT(array) ((struct str){ (const char *)(array), sizeof(array) })

static const char dir_name[] = "dcode_large_tool_results";

void evict_name(const char *thread, unsigned n, struct buf *out)
{
	char id[17];

	if (thread) {
		buf_addf(out, "%s-%u", thread, n);
		return;
	}
	ids_random(id, 16);
	buf_adds(out, id);
}

/* scripts/sandbox/results_dir.sh names the directory. */
bool evict_is_own(const char *thread, const char *real)
{
	const char *name = strrchr(real, '/');
	char *dir = name ? xstrndup(real, (size_t)(name - real)) : NULL;
	size_t len = thread ? strlen(thread) : 0;
	struct stat st;
	bool own = len && dir && strstr(dir, dir_name) &&
		   !strncmp(name + 1, thread, len) && name[1 + len] == '-' &&
		   name[2 + len] &&
		   !name[2 + len + strspn(name + 2 + len, "0123456789")];

	/* On a shared machine anybody can make such a name in /tmp. */
	own = own && lstat(dir, &st) == 0 && S_ISDIR(st.st_mode) &&
	      st.st_uid == geteuid() && !(st.st_mode & 077);
	free(dir);
	return own;
}

/* Appends n lines off the front of *text, each cut. */
static void cut_lines(struct str *text, size_t n, struct buf *out)
{
	while (n--) {
		struct str line = { text->ptr, str_find(*text, '\n') };

		*text = str_skip(*text, line.len + 1);
		result_clip(line, EVICT_LINE_CHARS, out);
		buf_addc(out, '\n');
	}
}

static void add_numbered(struct str *text, size_t first, size_t n,
			 struct buf *out)
{
	struct buf lines = BUF_INIT(PREVIEW_BYTES);
	struct numbering nb;

	cut_lines(text, n, &lines);
	numbering_render(&nb, buf_str(&lines), (int64_t)first, n);
	buf_addstr(out, buf_str(&nb.text));
	numbering_release(&nb);
	buf_release(&lines);
}

void evict_preview(struct str text, struct buf *out)
{
	size_t total = numbering_count(text);
	size_t skip = total;

	if (total <= 2 * EVICT_EDGE_LINES) {
		add_numbered(&text, 1, total, out);
		return;
	}
	skip -= 2 * EVICT_EDGE_LINES;
	add_numbered(&text, 1, EVICT_EDGE_LINES, out);
	buf_addf(out, "\n... [%zu lines truncated] ...\n", skip);
	while (skip--)
		text = str_skip(text, str_find(text, '\n') + 1);
	add_numbered(&text, total - EVICT_EDGE_LINES + 1, EVICT_EDGE_LINES,
		     out);
}

/* What stands for the text. */
static void add_reference(const char *id, const char *path, struct str text,
			  struct buf *out)
{
	buf_adds(out, "Tool result too large, the result of this tool call ");
	result_clip(str_of(id ? id : "unknown"), EVICT_ID_BYTES, out);
	buf_addf(out, " was saved in the filesystem at this path: %s\n\n",
		 path);
	buf_adds(out, "Read that file with read_file, but only the part that "
		      "you need: all of it would not fit here either.\n\n"
		      "Page through it with offset and limit, beginning for "
		      "example with offset=0 and limit=100.\n\n"
		      "Below are its first and last lines; a line of the form "
		      "`... [N lines truncated] ...` stands for the N lines "
		      "between them.\n\n");
	evict_preview(text, out);
	buf_addc(out, '\n');
}

void evict_clip(const char *why, struct str text, struct buf *out)
{
	size_t total = str_chars(text);
	size_t head = str_char_offset(text, CLIP_EDGE);
	size_t tail = str_char_offset(text, total - CLIP_EDGE);

	buf_add(out, text.ptr, head);
	buf_addf(out,
		 "\n\n... [%zu characters cut here: the result is too large "
		 "and was not saved (%s). Ask for less, or let the command "
		 "write to a file and read parts of that] ...\n\n",
		 total - 2 * (size_t)CLIP_EDGE, why);
	buf_addstr(out, str_skip(text, tail));
}

static int read_dir(void *arg, enum exec_stream stream, struct str chunk,
		    struct buf *reply, struct error *err)
{
	(void)reply;
	(void)err;
	if (stream == EXEC_STDOUT)
		buf_addstr(arg, chunk);
	return 0;
}

/* One line, absolute, nothing in it that would not print. */
static bool is_sane_dir(struct str dir)
{
	if (!str_starts(dir, "/") || !str_is_utf8(dir))
		return false;
	for (size_t i = 0; i < dir.len; i++)
		if ((unsigned char)dir.ptr[i] < 0x20 || dir.ptr[i] == 0x7F)
			return false;
	return true;
}

static int find_dir(const struct tool_env *env, struct buf *dir,
		    struct error *err)
{
	struct stop stop = stop_within(env->stop, FIND_MS);
	struct buf script = BUF_INIT(SCRIPT_MAX);
	struct exec_request req = {
		.plain = true,
		.timeout_ms = FIND_MS,
		.output = read_dir,
		.arg = dir,
	};
	struct exec_result res = { 0 };
	int rc;

	quote_assign(&script, "keep", str_of(env->thread));
	buf_addf(&script, "most=%d\n", ALL_MAX);
	quote_script(&script, SCRIPT(private_dir));
	quote_script(&script, SCRIPT(results_dir));
	req.command = buf_str(&script);
	rc = sandbox_execute(env->sandbox, &req, &res, &stop, err);
	buf_release(&script);
	if (rc)
		return -1;
	while (dir->len && dir->ptr[dir->len - 1] == '\n')
		dir->ptr[--dir->len] = '\0';
	if (res.exit_code || dir->over || !is_sane_dir(buf_str(dir)))
		return error_set(err, ERR_REMOTE,
				 "no writable directory in the sandbox");
	return 0;
}

static int save(const struct tool_env *env, struct str text, struct buf *path,
		struct error *err)
{
	struct stop stop = stop_within(env->stop, RESULT_FILE_MS);

	if (find_dir(env, path, err))
		return -1;
	path->max += NAME_BYTES;
	buf_addc(path, '/');
	evict_name(env->thread, env->saved ? ++*env->saved : 0, path);
	return files_write(env->sandbox, path->ptr, false, text, &stop, err);
}

void evict_apply(const struct tool_env *env, const char *id, bool may_save,
		 struct buf *text)
{
	struct buf path = BUF_INIT(DIR_BYTES);
	struct buf out = BUF_INIT(TOOL_RESULT_BYTES);
	struct error err = { 0 };

	if (text->len <= RESULT_CHARS ||
	    str_chars(buf_str(text)) <= RESULT_CHARS)
		return;
	if (!may_save)
		evict_clip("the call was ended", buf_str(text), &out);
	else if (save(env, buf_str(text), &path, &err))
		evict_clip(err.message, buf_str(text), &out);
	else
		add_reference(id, path.ptr, buf_str(text), &out);
	buf_release(text);
	*text = out;
	buf_release(&path);
}
