/* setup_run.c - a setup script's way into the sandbox, and its run there. */
/* SPDX-License-Identifier: MIT */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/str.h"
#include "sandbox/quote.h"
#include "sandbox/setup.h"

enum {
	NAME_LEN = 16,
	COMMAND_MAX = 64 << 10, /* bytes: ours, the script is not in it */
	STEP_MS = 60000,        /* making or removing the directory */
	CLEANUP_MS = 5000,
};

static const char runner[] = {
#include "scripts/sandbox/setup.sh.inc"
};

/* Prints the directory it made. Given: name. */
static const char make_directory[] =
	"umask 077\n"
	"for t in \"${TMPDIR:-/tmp}\" /tmp /var/tmp /dev/shm \"$PWD\"; do\n"
	"\td=$t/dcode-setup-$name\n"
	"\tif mkdir \"$d\" 2>/dev/null ||"
	" busybox mkdir \"$d\" 2>/dev/null; then\n"
	"\t\tcd \"$d\" && pwd -P && exit 0\n"
	"\tfi\n"
	"done\n"
	"exit 1\n";

static const char remove_directory[] =
	"rm -rf \"${src%/*}\" 2>/dev/null || busybox rm -rf \"${src%/*}\"\n";

static int forward(void *arg, enum exec_stream stream, struct str chunk,
		   struct buf *reply, struct error *err)
{
	const struct setup_sink *sink = arg;

	(void)reply;
	(void)err;
	if (sink->output)
		sink->output(sink->arg, stream, chunk);
	return 0;
}

/* name and src are quoted for the shell that reads the command. */
static void command(struct buf *out, const char *name, const char *src,
		    struct str text)
{
	buf_adds(out, "name=");
	quote_word(out, str_of(name));
	buf_adds(out, "\nsrc=");
	quote_word(out, str_of(src));
	buf_addc(out, '\n');
	buf_addstr(out, text);
}

static int collect(void *arg, enum exec_stream stream, struct str chunk,
		   struct buf *reply, struct error *err)
{
	(void)reply;
	(void)err;
	if (stream == EXEC_STDOUT)
		buf_addstr(arg, chunk);
	return 0;
}

/* A fresh directory of mode 0700; *file is a path in it, owned. */
static int choose_file(struct sandbox *sb, const char *name, char **file,
		       const struct stop *stop, struct error *err)
{
	struct buf text = BUF_INIT(COMMAND_MAX);
	struct buf answer = BUF_INIT(PATH_MAX);
	struct exec_result res = { 0 };
	struct exec_request req = {
		.plain = true,
		.timeout_ms = STEP_MS,
		.output = collect,
		.arg = &answer,
	};
	struct str path;
	int rc;

	command(&text, name, "", str_of(make_directory));
	req.command = buf_str(&text);
	rc = sandbox_execute(sb, &req, &res, stop, err);
	path = str_trim(buf_str(&answer));
	if (rc == 0 && (res.exit_code || !str_starts(path, "/") ||
			!str_ends(path, name) || answer.over))
		rc = error_set(err, ERR_REMOTE,
			       "no directory for the setup script can be made"
			       " in the sandbox");
	if (rc == 0)
		*file = xasprintf("%.*s/script", (int)path.len, path.ptr);
	buf_release(&text);
	buf_release(&answer);
	return rc;
}

static int64_t read_script(void *arg, char *room, size_t len, struct error *err)
{
	struct str *rest = arg;

	(void)err;
	if (len > rest->len)
		len = rest->len;
	if (len)
		memcpy(room, rest->ptr, len);
	*rest = str_skip(*rest, len);
	return (int64_t)len;
}

static int upload(struct sandbox *sb, const char *file, struct str script,
		  const struct stop *stop, struct error *err)
{
	struct transfer t = {
		.path = file,
		.size = (int64_t)script.len,
		.mode = 0600,
		.read = read_script,
		.arg = &script,
	};

	if (sandbox_upload(sb, &t, 1, stop, err) < 0)
		return error_wrap(err, "uploading the setup script");
	if (t.error != FILE_OK)
		return error_set(
			err, ERR_REMOTE, "uploading the setup script: %s",
			t.error == FILE_OTHER ? t.detail
					      : file_error_name(t.error));
	return 0;
}

/* Whatever happened, nothing of it stays. */
static void clean_up(struct sandbox *sb, const char *file)
{
	struct stop limit = stop_cleanup(CLEANUP_MS);
	struct buf text = BUF_INIT(COMMAND_MAX);
	struct exec_request req = {
		.plain = true,
		.timeout_ms = CLEANUP_MS,
		.output = forward,
		.arg = &(struct setup_sink){ 0 },
	};
	struct exec_result res = { 0 };
	struct error ignored = { 0 };

	command(&text, "", file, str_of(remove_directory));
	req.command = buf_str(&text);
	(void)sandbox_execute(sb, &req, &res, &limit, &ignored);
	buf_release(&text);
}

int setup_run(struct sandbox *sb, struct str script,
	      const struct setup_sink *sink, struct exec_result *res,
	      const struct stop *stop, struct error *err)
{
	bool by_input = sb->host->provider->flags & SANDBOX_STDIN;
	struct setup_sink copy = *sink;
	struct buf text = BUF_INIT(COMMAND_MAX);
	struct exec_request req = {
		.plain = true,
		.output = forward,
		.arg = &copy,
	};
	char name[NAME_LEN + 1];
	char *file = NULL;
	int rc = 0;

	ids_random(name, NAME_LEN);
	if (by_input)
		req.input = script;
	else if (choose_file(sb, name, &file, stop, err) < 0)
		return -1;
	if (file)
		rc = upload(sb, file, script, stop, err);
	if (rc == 0) {
		command(&text, name, file ? file : "",
			(struct str){ runner, sizeof(runner) });
		req.command = buf_str(&text);
		rc = sandbox_execute(sb, &req, res, stop, err);
	}
	if (rc < 0 && file)
		clean_up(sb, file);
	buf_release(&text);
	free(file);
	return rc;
}
