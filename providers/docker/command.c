/* command.c - a command as the arguments of an exec. */
/* SPDX-License-Identifier: MIT */
#include "providers/docker/command.h"

#include "base/json.h"
#include "base/str.h"
#include "sandbox/setup/setup.h"

enum {
	PART_MAX = 120000,   /* Linux, MAX_ARG_STRLEN: 128 KiB an argument, */
	ARGS_MAX = 15 << 17, /* and a quarter of the stack, 2 MiB, in all */
};

/* Every command begins in its directory; the exec itself starts in /, so that
 * a deleted working directory is an ordinary failure of cd. */
static const char docker_exec[] = {
#include "scripts/sandbox/docker_exec.sh.inc"
	0
};
/* Of docker_exec.sh. The shell that reads a command has $0 and $# as after
 * sh -c. */
static const char join[] = "shift 2;IFS=;eval \"shift $#;unset IFS;$*\"";
/* Bytes that JSON cannot carry travel as octal escapes. */
static const char join_escaped[] =
	"shift 2;__dcode=$(printf %b \"$@\";echo x);"
	"eval \"shift $#;unset __dcode;${__dcode%x}\"";

static void add_word(struct buf *body, struct str word)
{
	buf_addc(body, ',');
	json_quote(body, word);
}

/* Cuts at the border of a character, since each part is a JSON string. */
static void add_parts(struct str text, struct buf *words)
{
	while (text.len) {
		struct str part = text;

		if (part.len > PART_MAX) {
			part.len = PART_MAX;
			part.len = str_utf8_prefix(part);
		}
		add_word(words, part);
		text = str_skip(text, part.len);
	}
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

/* COMMAND [PART...] of docker_exec.sh. */
static int add_command(struct str command, struct buf *words, struct error *err)
{
	if (!str_is_utf8(command)) {
		add_word(words, str_of(join_escaped));
		if (add_escaped_parts(command, words) <= ARGS_MAX)
			return 0;
		return error_set(
			err, ERR_LIMIT,
			"the command has too many bytes that are not UTF-8");
	}
	if (command.len <= PART_MAX) {
		add_word(words, command);
		return 0;
	}
	add_word(words, str_of(join));
	add_parts(command, words);
	return 0;
}

int docker_command(const struct exec_request *req, const char *workdir,
		   const char *token, struct buf *body, struct error *err)
{
	bool input = req->input.len || req->dialog || req->source;
	struct buf script = BUF_INIT(16384);

	buf_addf(body,
		 "{\"AttachStdin\":%s,\"AttachStdout\":true,"
		 "\"AttachStderr\":true,\"Tty\":false,\"WorkingDir\":\"/\","
		 "\"Env\":[\"DCODE_EXEC=%s\"",
		 input ? "true" : "false", token);
	for (const char *const *e = req->env; e && *e; e++) {
		if (!str_is_utf8(str_of(*e)))
			return error_set(err, ERR_USAGE,
					 "a variable's value is not UTF-8");
		add_word(body, str_of(*e));
	}
	if (req->merged)
		buf_adds(&script, "exec 2>&1\n");
	if (!req->plain)
		buf_adds(&script, "[ ! -O \"" SETUP_ENV_FILE
				  "\" ]||" SETUP_ENV_READ "\n");
	if (req->aside)
		facts_add_script(&script, req->aside);
	buf_adds(&script, docker_exec);
	buf_adds(body, "],\"Cmd\":[\"/bin/sh\",\"-c\"");
	add_word(body, buf_str(&script));
	add_word(body, STR("sh"));
	add_word(body, str_of(req->cwd ? req->cwd : workdir));
	add_word(body, str_of(req->plain ? "sh" : "bash"));
	add_word(body, str_of(input && !req->dialog ? "drain" : ""));
	buf_release(&script);
	if (add_command(req->command, body, err) < 0)
		return -1;
	buf_adds(body, "]}");
	return buf_check(body, "the command", err);
}
