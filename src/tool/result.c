/* result.c - helpers for tool results: limits, lists, numbering, large
 * results. */
/* SPDX-License-Identifier: MIT */
/*
 * Every tool returns text for the model. In this order: limits and messages;
 * the change of a file; values as Python prints them; numbered lines; results
 * that are too large and are saved as a file in the sandbox (evict_apply()).
 */
#include "tool/result.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/mask/mask.h"
#include "base/mem.h"
#include "base/str.h"
#include "sandbox/files/files.h"
#include "sandbox/quote.h"
#include "tool/paths.h"
#include "tool/tool.h"

static void add_value(struct buf *out, const cJSON *value, size_t max,
		      int depth);

const char result_truncated[] =
	"... [results truncated, try being more specific with your parameters]";

bool result_clip(struct str text, size_t chars, struct buf *out)
{
	size_t len = str_char_offset(text, chars);

	buf_add(out, text.ptr, len);
	return len == text.len;
}

void result_add_limited(struct str text, struct buf *out)
{
	if (!result_clip(text, RESULT_CHARS, out))
		buf_addf(out, "\n%s", result_truncated);
}

bool result_is_file_error(const struct error *err)
{
	return err->code != ERR_NETWORK && err->code != ERR_UNREACHABLE &&
	       err->code != ERR_TIMEOUT && err->code != ERR_CANCELLED &&
	       err->code != ERR_GONE && err->code != ERR_PROTOCOL &&
	       err->code != ERR_AUTH;
}

int result_file_failed(struct buf *out, const char *noun, const char *path,
		       const struct error *err)
{
	if (!result_is_file_error(err))
		buf_addf(out, "Error: %s", err->message);
	else
		buf_addf(out, "Error: %s '%s': %s", noun, path, err->message);
	return -1;
}

void result_mask_line(void *arg, struct str line, bool whole, struct buf *out)
{
	const struct mask *const *m = arg;
	struct mask_stream s = { 0 };

	mask_pass(*m, &s, line, whole, out);
	buf_release(&s.held);
}

void result_mask_lines(const struct mask *m, struct buf *text)
{
	struct buf out = BUF_INIT(RESULT_RAW_BYTES);
	struct str rest = buf_str(text);

	if (!m)
		return;
	while (rest.len) {
		struct str line = { rest.ptr, str_find(rest, '\n') };

		result_mask_line(&m, line, true, &out);
		if (line.len < rest.len)
			buf_addc(&out, '\n');
		rest = str_skip(rest, line.len + 1);
	}
	buf_release(text);
	*text = out;
}

void result_note_left(const struct files_left *left, struct buf *out)
{
	const char *about = left->at_most ? "up to " : "";

	if (left->slow)
		buf_adds(out, "\n\nNote: the patterns of .gitignore take too "
			      "long, so files that git ignores were searched, "
			      "too.");
	if (!left->n)
		return;
	buf_addf(out,
		 "\n\nNote: %s%" PRId64 " file%s that git ignores %s left "
		 "out%s. Set include_ignored, or name an ignored directory in "
		 "path, to search there, too.",
		 about, left->n, left->n == 1 ? "" : "s",
		 left->n == 1 ? "was" : "were",
		 left->no_git ? " (by .gitignore alone: git is not installed, "
				"so tracked files may be among them)"
			      : "");
}

int result_path(const struct tool_env *env, const cJSON *args, const char *name,
		char **path, struct error *err)
{
	if (env->real_path) {
		*path = xstrdup(env->real_path);
		return 0;
	}
	return paths_resolve(env->sandbox->workdir,
			     json_string(args, name, "."), path, err);
}

static bool is_comparable(struct str s)
{
	return s.len <= TOOL_CHANGE_BYTES && str_is_utf8(s) &&
	       str_find(s, '\0') == s.len;
}

void tool_change_set(struct tool_change *c, struct str before, struct str after)
{
	tool_change_release(c);
	if (!is_comparable(before) || !is_comparable(after))
		return;
	c->before = BUF_INIT(TOOL_CHANGE_BYTES);
	c->after = BUF_INIT(TOOL_CHANGE_BYTES);
	buf_addstr(&c->before, before);
	buf_addstr(&c->after, after);
	c->known = true;
}

bool tool_change_copy(struct tool_change *c, const struct tool_change *from)
{
	tool_change_release(c);
	if (from && from->known)
		tool_change_set(c, buf_str(&from->before),
				buf_str(&from->after));
	else if (from)
		tool_change_store(c, buf_str(&from->stored));
	return c->known || c->stored.len;
}

void tool_change_store(struct tool_change *c, struct str stored)
{
	tool_change_release(c);
	c->stored = BUF_INIT(TOOL_CHANGE_BYTES);
	buf_addstr(&c->stored, stored);
}

void tool_change_release(struct tool_change *c)
{
	buf_release(&c->stored);
	buf_release(&c->before);
	buf_release(&c->after);
	*c = (struct tool_change){ 0 };
}

/* Appends "Tool call NAME with id ID ". */
static void add_name_and_id(const struct part *call, struct buf *out)
{
	buf_addf(out, "Tool call %s with id %s ", call->name,
		 call->id ? call->id : "unknown");
}

void result_add_cancelled(const struct part *call, bool ran, struct buf *out)
{
	add_name_and_id(call, out);
	buf_adds(out, ran ? "was cancelled by the user before it was completed."
			  : "was cancelled before it ran.");
}

bool result_is_cancelled(const struct part *call, struct str result, bool *ran)
{
	bool is = str_ends(result, RESULT_CANCELLED);

	*ran = true;
	for (int i = 0; i < 2 && !is; i++) {
		struct buf text = BUF_INIT(RESULT_RAW_BYTES);

		*ran = i;
		result_add_cancelled(call, *ran, &text);
		is = str_eq(buf_str(&text), result);
		buf_release(&text);
	}
	return is;
}

struct str result_without_id(const struct part *call, struct str result)
{
	struct buf head = BUF_INIT(RESULT_RAW_BYTES);

	add_name_and_id(call, &head);
	if (str_starts(result, head.ptr ? head.ptr : ""))
		result = str_skip(result, head.len);
	buf_release(&head);
	return result;
}

enum { MAX_DEPTH = 8 }; /* levels of a JSON value that are printed */

/*
 * Characters for which Python's str.isprintable() is false (Python 3, library
 * reference, "str"): general categories Cc, Cf, Co, Zl, Zp and Zs except the
 * space (Unicode 15.0), and unassigned ranges.
 */
static const struct {
	uint32_t first;
	uint32_t last;
} unprintable[] = {
	{ 0x0000, 0x001F },   { 0x007F, 0x00A0 },   { 0x00AD, 0x00AD },
	{ 0x0600, 0x0605 },   { 0x061C, 0x061C },   { 0x06DD, 0x06DD },
	{ 0x070F, 0x070F },   { 0x0890, 0x0891 },   { 0x08E2, 0x08E2 },
	{ 0x1680, 0x1680 },   { 0x180E, 0x180E },   { 0x2000, 0x200F },
	{ 0x2028, 0x202F },   { 0x205F, 0x206F },   { 0x3000, 0x3000 },
	{ 0xE000, 0xF8FF },   { 0xFDD0, 0xFDEF },   { 0xFEFF, 0xFEFF },
	{ 0xFFF9, 0xFFFB },   { 0xFFFE, 0xFFFF },   { 0x110BD, 0x110BD },
	{ 0x110CD, 0x110CD }, { 0x13430, 0x1343F }, { 0x1BCA0, 0x1BCA3 },
	{ 0x1D173, 0x1D17A }, { 0x40000, 0xE00FF }, { 0xE01F0, 0x10FFFF },
};

static bool is_printable(uint32_t c)
{
	size_t n = sizeof(unprintable) / sizeof(unprintable[0]);

	for (size_t i = 0; i < n && c >= unprintable[i].first; i++)
		if (c <= unprintable[i].last)
			return false;
	return true;
}

/* Decodes one UTF-8 sequence. If it is a single invalid byte, returns that byte
 * and sets *broken. */
static uint32_t decode_char(struct str sequence, bool *broken)
{
	const unsigned char *p = (const unsigned char *)sequence.ptr;
	uint32_t c = p[0];

	*broken = sequence.len == 1 && c >= 0x80;
	if (sequence.len > 1)
		c &= 0xFFU >> (sequence.len + 1);
	for (size_t i = 1; i < sequence.len; i++)
		c = c << 6 | (p[i] & 0x3F);
	return c;
}

/* Appends an unprintable character as the escape that Python's repr()
 * writes. */
static void add_escape(struct buf *out, uint32_t c)
{
	if (c == '\n')
		buf_adds(out, "\\n");
	else if (c == '\r')
		buf_adds(out, "\\r");
	else if (c == '\t')
		buf_adds(out, "\\t");
	else if (c <= 0xFF)
		buf_addf(out, "\\x%02x", c);
	else if (c <= 0xFFFF)
		buf_addf(out, "\\u%04x", c);
	else
		buf_addf(out, "\\U%08x", c);
}

void pylist_string(struct buf *out, struct str s)
{
	bool has_single = str_find(s, '\'') < s.len;
	bool has_double = str_find(s, '"') < s.len;
	char quote = has_single && !has_double ? '"' : '\'';

	buf_addc(out, quote);
	while (s.len) {
		struct str one = { s.ptr, str_char_offset(s, 1) };
		bool broken;
		uint32_t c = decode_char(one, &broken);

		if (broken || !is_printable(c)) {
			add_escape(out, c);
		} else {
			if (c == (unsigned char)quote || c == '\\')
				buf_addc(out, '\\');
			buf_addstr(out, one);
		}
		s = str_skip(s, one.len);
	}
	buf_addc(out, quote);
}

static const char no_names[] = "No files found";

void pylist_names(struct buf *out, char *const *names, size_t n)
{
	size_t total = 0;
	size_t shown = n;

	if (!n) {
		buf_adds(out, no_names);
		return;
	}
	for (size_t i = 0; i < n; i++)
		total += str_chars(str_of(names[i]));
	if (total > RESULT_CHARS)
		shown = (size_t)((uint64_t)n * RESULT_CHARS / total);
	buf_addc(out, '[');
	for (size_t i = 0; i < shown; i++) {
		if (i)
			buf_adds(out, ", ");
		pylist_string(out, str_of(names[i]));
	}
	if (shown < n) {
		if (shown)
			buf_adds(out, ", ");
		pylist_string(out, str_of(result_truncated));
	}
	buf_addc(out, ']');
}

/* Consumes a text of pylist_string(). Returns false if it has no end. */
static bool skip_string(struct str *rest)
{
	char quote = rest->len ? rest->ptr[0] : '\0';

	if (quote != '\'' && quote != '"')
		return false;
	for (size_t i = 1; i < rest->len; i++) {
		if (rest->ptr[i] == '\\') {
			i++;
		} else if (rest->ptr[i] == quote) {
			*rest = str_skip(*rest, i + 1);
			return true;
		}
	}
	return false;
}

bool pylist_count(struct str text, size_t *n, bool *whole)
{
	bool is_list = str_starts(text, "[");
	struct str name;

	*n = 0;
	*whole = true;
	if (!is_list)
		return str_starts(text, no_names);
	do {
		text = str_skip(text, str_starts(text, "[") ? 1 : 2);
		name = str_skip(text, 1);
		if (!skip_string(&text))
			return false;
		*whole = !str_starts(name, result_truncated);
		*n += *whole;
	} while (str_starts(text, ", "));
	if (str_search(text, STR("incomplete")) < text.len)
		*whole = false;
	return str_starts(text, "]");
}

/* Appends a quoted string, cut to max code points. */
static void add_string(struct buf *out, const char *text, size_t max)
{
	struct buf cut = BUF_INIT(RESULT_RAW_BYTES);

	if (!result_clip(str_of(text), max, &cut))
		buf_adds(&cut, "...");
	pylist_string(out, buf_str(&cut));
	buf_release(&cut);
}

/* Appends an object or a list as Python prints it. */
static void add_members(struct buf *out, const cJSON *value, size_t max,
			int depth)
{
	const cJSON *item;

	buf_addc(out, cJSON_IsObject(value) ? '{' : '[');
	cJSON_ArrayForEach (item, value) {
		if (item != value->child)
			buf_adds(out, ", ");
		if (cJSON_IsObject(value)) {
			add_string(out, item->string, max);
			buf_adds(out, ": ");
		}
		add_value(out, item, max, depth + 1);
	}
	buf_addc(out, cJSON_IsObject(value) ? '}' : ']');
}

static void add_value(struct buf *out, const cJSON *value, size_t max,
		      int depth)
{
	if (depth > MAX_DEPTH)
		buf_adds(out, "...");
	else if (cJSON_IsObject(value) || cJSON_IsArray(value))
		add_members(out, value, max, depth);
	else if (cJSON_IsString(value))
		add_string(out, value->valuestring, max);
	else if (cJSON_IsBool(value))
		buf_adds(out, cJSON_IsTrue(value) ? "True" : "False");
	else if (cJSON_IsNumber(value))
		json_print(out, value);
	else
		buf_adds(out, "None");
}

void pylist_value(struct buf *out, const cJSON *value, size_t max)
{
	add_value(out, value, max, 0);
}

enum {
	/* bytes; numbering a page of empty lines multiplies its size by nine */
	MAX_TEXT = 64 << 20,
	MARKER = 48 /* bytes: two int64_t, a dot and NUL */
};

size_t numbering_count(struct str text)
{
	size_t n = 0;

	while (text.len) {
		text = str_skip(text, str_find(text, '\n') + 1);
		n++;
	}
	return n;
}

static struct str next_line(struct str *rest)
{
	struct str line = { rest->ptr, str_find(*rest, '\n') };

	*rest = str_skip(*rest, line.len + 1);
	return line;
}

/* Formats the marker (number) of one row. part: which of the line's rows it is,
 * from 0. Returns the marker's length. */
static int format_marker(char out[MARKER], int64_t line, size_t part)
{
	if (!part)
		return snprintf(out, MARKER, "%" PRId64, line);
	return snprintf(out, MARKER, "%" PRId64 ".%zu", line, part);
}

/* Returns how many rows the line needs in addition to the first. */
static size_t further_parts(struct str line)
{
	size_t chars;

	if (line.len <= NUMBERING_WRAP)
		return 0;
	chars = str_chars(line);
	return chars ? (chars - 1) / NUMBERING_WRAP : 0;
}

/* Returns the width of the widest marker of the first n lines. */
static int widest_marker(struct str text, int64_t first, size_t n)
{
	char room[MARKER];
	int widest = 0;

	for (size_t i = 0; i < n; i++) {
		size_t part = further_parts(next_line(&text));
		int width;

		if (!part && i + 1 < n)
			/* its marker is not wider than that of a later line */
			continue;
		width = format_marker(room, first + (int64_t)i, part);
		if (width > widest)
			widest = width;
	}
	return widest;
}

/* Appends all rows of one line. */
static void add_line(struct buf *out, struct str line, int64_t number,
		     int width)
{
	char room[MARKER];
	size_t parts = further_parts(line);

	for (size_t part = 0; part <= parts; part++) {
		size_t len = line.len;

		if (parts)
			len = str_char_offset(line, NUMBERING_WRAP);
		if (part)
			buf_addc(out, '\n');
		format_marker(room, number, part);
		buf_addf(out, "%*s  ", width, room);
		buf_add(out, line.ptr, len);
		line = str_skip(line, len);
	}
}

void numbering_render(struct numbering *nb, struct str text, int64_t first,
		      size_t n)
{
	int width = widest_marker(text, first, n);

	*nb = (struct numbering){ .text = BUF_INIT(MAX_TEXT), .n = n };
	nb->ends = xcalloc(n ? n : 1, sizeof(*nb->ends));
	for (size_t i = 0; i < n; i++) {
		if (i)
			buf_addc(&nb->text, '\n');
		add_line(&nb->text, next_line(&text), first + (int64_t)i,
			 width);
		nb->ends[i] = nb->text.len;
	}
}

void numbering_release(struct numbering *nb)
{
	buf_release(&nb->text);
	free(nb->ends);
	*nb = (struct numbering){ 0 };
}

enum {
	FIND_MS = 20000, /* time limit of the script that finds the directory */
	DIR_BYTES = 1024,   /* bytes of the script's output */
	NAME_BYTES = 64,    /* bytes of a file name in the directory */
	ALL_MAX = 32 << 20, /* total bytes of the files in the directory */
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

/* The directory's name is defined in scripts/sandbox/results_dir.sh. */
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

	/* On a shared machine any user can create a directory of this name in
	 * /tmp. */
	own = own && lstat(dir, &st) == 0 && S_ISDIR(st.st_mode) &&
	      st.st_uid == geteuid() && !(st.st_mode & 077);
	free(dir);
	return own;
}

/* Moves n lines from the front of *text to out and cuts each to
 * EVICT_LINE_CHARS. */
static void cut_lines(struct str *text, size_t n, struct buf *out)
{
	while (n--) {
		struct str line = { text->ptr, str_find(*text, '\n') };

		*text = str_skip(*text, line.len + 1);
		result_clip(line, EVICT_LINE_CHARS, out);
		buf_addc(out, '\n');
	}
}

/* Moves n lines from the front of *text to out, cut, with line numbers from
 * first on. */
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

/* Appends the text that replaces a saved result: the file's path and a
 * preview. */
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

/* True for an absolute path without control characters. It was printed by the
 * sandbox, whose output is not trusted. */
static bool is_sane_dir(struct str dir)
{
	if (!str_starts(dir, "/") || !str_is_utf8(dir))
		return false;
	for (size_t i = 0; i < dir.len; i++)
		if ((unsigned char)dir.ptr[i] < 0x20 || dir.ptr[i] == 0x7F)
			return false;
	return true;
}

/* Finds or creates the directory for results in the sandbox. The script deletes
 * the oldest files in it if they exceed ALL_MAX. */
static int find_dir(const struct tool_env *env, struct buf *dir,
		    struct error *err)
{
	struct stop stop = stop_within(env->stop, FIND_MS);
	struct buf script = BUF_INIT(SCRIPT_MAX);
	struct exec_request req = {
		.plain = true,
		.timeout_ms = FIND_MS,
		.output = exec_collect_output,
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

/* Saves the text as a file in the sandbox and sets path to the file's path. */
static int save_file(const struct tool_env *env, struct str text,
		     struct buf *path, struct error *err)
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
	else if (save_file(env, buf_str(text), &path, &err))
		evict_clip(err.message, buf_str(text), &out);
	else
		add_reference(id, path.ptr, buf_str(text), &out);
	buf_release(text);
	*text = out;
	buf_release(&path);
}
