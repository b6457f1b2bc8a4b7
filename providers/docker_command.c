/* docker_command.c - a command as the arguments of an exec. */
/* SPDX-License-Identifier: MIT */
#include "providers/docker_command.h"

#include "base/json.h"
#include "base/str.h"

/* Linux takes at most 128 KiB in one argument (MAX_ARG_STRLEN). */
enum { PART_MAX = 120000 };

/*
 * Every command begins in its directory; the exec itself starts in /, so that
 * a deleted working directory is an ordinary failure of cd. The command's text
 * is an argument, never part of our text, and the shell that reads it has $0
 * and $# as after sh -c.
 */
#define ENTER "cd -- \"$1\"||exit 126;"

/* Ours: the shell at hand reads it itself. */
static const char run_plain[] = ENTER "eval \"shift 2;$2\"";
/* The model's: bash where there is one. */
static const char run_short[] =
	ENTER "command -v bash >/dev/null 2>&1&&exec bash -c \"$2\";"
	      "exec sh -c \"$2\"";
/* Longer than one argument may be: %s joins the parts. */
static const char run_long[] =
	ENTER "shift;command -v bash >/dev/null 2>&1&&exec bash -c '%s' bash "
	      "\"$@\";exec sh -c '%s' sh \"$@\"";
static const char run_long_plain[] = ENTER "shift;%s";
/* Bytes that JSON cannot carry travel as octal escapes. */
static const char join_escaped[] =
	"__dcode=$(printf %b \"$@\";echo x);"
	"eval \"shift $#;unset __dcode;${__dcode%x}\"";

#undef ENTER

/* eval "shift $#;${1}${2}..." */
static void add_join(struct buf *join, size_t parts)
{
	buf_adds(join, "eval \"shift $#;");
	for (size_t i = 1; i <= parts; i++)
		buf_addf(join, "${%zu}", i);
	buf_addc(join, '"');
}

static void add_word(struct buf *body, struct str word)
{
	buf_addc(body, ',');
	json_quote(body, word);
}

/* Cuts at the border of a character, since each part is a JSON string. */
static size_t add_parts(struct str text, struct buf *words)
{
	size_t parts = 0;

	for (; text.len; parts++) {
		struct str part = text;

		if (part.len > PART_MAX) {
			part.len = PART_MAX;
			part.len = str_utf8_prefix(part);
		}
		add_word(words, part);
		text = str_skip(text, part.len);
	}
	return parts;
}

static void add_escaped_parts(struct str text, struct buf *words)
{
	struct buf part = BUF_INIT(PART_MAX + 8);

	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.ptr[i];

		if (c == '\\')
			buf_adds(&part, "\\\\");
		else if (c < 0x80)
			buf_addc(&part, (char)c);
		else
			buf_addf(&part, "\\0%03o", c);
		if (part.len < PART_MAX && i + 1 < text.len)
			continue;
		add_word(words, buf_str(&part));
		buf_clear(&part);
	}
	buf_release(&part);
}

static void add_long(const struct exec_request *req, const char *cwd,
		     struct buf *body)
{
	struct buf join = BUF_INIT(4096);
	struct buf script = BUF_INIT(16384);
	struct buf words = BUF_INIT(body->max);

	if (str_is_utf8(req->command)) {
		add_join(&join, add_parts(req->command, &words));
	} else {
		add_escaped_parts(req->command, &words);
		buf_adds(&join, join_escaped);
	}
	if (req->plain)
		buf_addf(&script, run_long_plain, join.ptr);
	else
		buf_addf(&script, run_long, join.ptr, join.ptr);
	json_quote(body, buf_str(&script));
	buf_adds(body, ",\"sh\"");
	add_word(body, str_of(cwd));
	buf_addstr(body, buf_str(&words));
	buf_release(&words);
	buf_release(&script);
	buf_release(&join);
}

static void add_command(const struct exec_request *req, const char *cwd,
			struct buf *body)
{
	if (req->command.len > PART_MAX || !str_is_utf8(req->command)) {
		add_long(req, cwd, body);
		return;
	}
	json_quote(body, str_of(req->plain ? run_plain : run_short));
	buf_adds(body, ",\"sh\"");
	add_word(body, str_of(cwd));
	add_word(body, req->command);
}

int docker_command(const struct exec_request *req, const char *workdir,
		   const char *token, struct buf *body, struct error *err)
{
	bool input = req->input.len || req->dialog;

	buf_addf(body,
		 "{\"AttachStdin\":%s,\"AttachStdout\":true,"
		 "\"AttachStderr\":true,\"Tty\":false,\"WorkingDir\":\"/\","
		 "\"Env\":[\"DCODE_EXEC=%s\"",
		 input ? "true" : "false", token);
	for (const char *const *e = req->env; e && *e; e++) {
		if (!str_is_utf8(str_of(*e)))
			return error_set(err, ERR_USAGE,
					 "a variable's value is no UTF-8");
		add_word(body, str_of(*e));
	}
	buf_adds(body, "],\"Cmd\":[\"/bin/sh\",\"-c\",");
	add_command(req, req->cwd ? req->cwd : workdir, body);
	buf_adds(body, "]}");
	return buf_check(body, "the command", err);
}
