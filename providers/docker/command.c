/* command.c - a command as the arguments of an exec. */
/* SPDX-License-Identifier: MIT */
#include "providers/docker/command.h"

#include "base/json.h"
#include "base/str.h"
#include "sandbox/setup/setup.h"

enum {
	PART_MAX = 120000,    /* Linux, MAX_ARG_STRLEN: 128 KiB an argument, */
	ARGS_MAX = 15 << 17,  /* and a quarter of the stack, 2 MiB, in all */
	WORDS_MAX = 16 << 20, /* the same as JSON */
};

/*
 * Every command begins in its directory; the exec itself starts in /, so that
 * a deleted working directory is an ordinary failure of cd. The command's text
 * is an argument, never part of our text, and the shell that reads it has $0
 * and $# as after sh -c.
 */
static const char enter[] = "cd -- \"$1\"||exit 126;shift;";
/* Bytes that JSON cannot carry travel as octal escapes. */
static const char join_escaped[] =
	"__dcode=$(printf %b \"$@\";echo x);"
	"eval \"shift $#;unset __dcode;${__dcode%x}\"";

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

/* What is UTF-8 stays, the rest becomes escapes; returns the bytes of all. */
static size_t add_escaped_parts(struct str text, struct buf *words)
{
	struct buf part = BUF_INIT(PART_MAX + 8);
	size_t total = 0;

	while (text.len) {
		struct str one = { text.ptr, text.len < 4 ? text.len : 4 };
		unsigned char c = (unsigned char)text.ptr[0];

		one.len = str_char_offset(one, 1);
		if (!str_is_utf8(one))
			buf_addf(&part, "\\0%03o", c);
		else if (c == '\\')
			buf_adds(&part, "\\\\");
		else
			buf_addstr(&part, one);
		text = str_skip(text, one.len);
		if (part.len < PART_MAX && text.len)
			continue;
		add_word(words, buf_str(&part));
		total += part.len;
		buf_clear(&part);
	}
	buf_release(&part);
	return total;
}

/* The parts' words, and what to run: join takes them as arguments. A single
 * part is run as it is: join stays empty. */
static int add_words(const struct exec_request *req, struct buf *join,
		     struct buf *words, struct error *err)
{
	size_t parts;

	if (!str_is_utf8(req->command)) {
		buf_adds(join, join_escaped);
		if (add_escaped_parts(req->command, words) <= ARGS_MAX)
			return 0;
		return error_set(err, ERR_LIMIT,
				 "the command has too many bytes that are no "
				 "UTF-8");
	}
	parts = add_parts(req->command, words);
	if (parts <= 1 && !req->plain)
		return 0;
	buf_adds(join, "eval \"shift $#;");
	for (size_t i = 1; i <= parts; i++)
		buf_addf(join, "${%zu}", i);
	buf_addc(join, '"');
	return 0;
}

static void add_shell(const char *shell, const char *join, struct buf *script)
{
	if (*join)
		buf_addf(script, "%s -c '%s' %s \"$@\"", shell, join, shell);
	else
		buf_addf(script, "%s -c \"${1-}\"", shell);
}

/*
 * With input the first shell stays, and reads what the command left of it:
 * Podman 4.3 loses the output of a command that ends before its input does
 * (conmon's socket is reset).
 */
static void add_script(const struct exec_request *req, const char *join,
		       struct buf *script)
{
	bool drained = (req->input.len || req->source) && !req->dialog;
	const char *exec = drained ? "" : "exec ";

	buf_adds(script, enter);
	if (req->plain && !drained) {
		buf_adds(script, join);
		return;
	}
	if (!req->plain) {
		buf_adds(script, "[ ! -O \"" SETUP_ENV_FILE
				 "\" ]||" SETUP_ENV_READ ";");
		buf_addf(script, "if command -v bash >/dev/null 2>&1;then %s",
			 exec);
		add_shell("bash", join, script);
		buf_adds(script, ";else ");
	}
	buf_adds(script, exec);
	add_shell("sh", join, script);
	if (!req->plain)
		buf_adds(script, ";fi");
	if (drained)
		buf_adds(script, ";set -- $?;cat >/dev/null 2>&1;exit $1");
}

static int add_command(const struct exec_request *req, const char *cwd,
		       struct buf *body, struct error *err)
{
	struct buf join = BUF_INIT(4096);
	struct buf script = BUF_INIT(16384);
	struct buf words = BUF_INIT(WORDS_MAX);
	int rc = add_words(req, &join, &words, err);

	add_script(req, join.len ? join.ptr : "", &script);
	json_quote(body, buf_str(&script));
	buf_adds(body, ",\"sh\"");
	add_word(body, str_of(cwd));
	buf_addstr(body, buf_str(&words));
	buf_release(&join);
	buf_release(&script);
	buf_release(&words);
	return rc;
}

int docker_command(const struct exec_request *req, const char *workdir,
		   const char *token, struct buf *body, struct error *err)
{
	bool input = req->input.len || req->dialog || req->source;

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
	if (add_command(req, req->cwd ? req->cwd : workdir, body, err) < 0)
		return -1;
	buf_adds(body, "]}");
	return buf_check(body, "the command", err);
}
