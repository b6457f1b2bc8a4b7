/* stat_files.c - by the shell, what a vendor's files API cannot tell or do. */
/* SPDX-License-Identifier: MIT */
#include "providers/kit/stat_files.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "sandbox/quote.h"

enum { COMMAND_MAX = 48 << 10, WORD_MAX = 12 << 10, STAT_MS = 60000 };

/* Each prints one letter for a file: k good, d a directory, p not allowed, i a
 * parent that is no directory. */
static const char upload_sh[] =
	"c(){ d=${1%/*} d=${d:-/}\n"
	"[ -d \"$d\" ]||mkdir -p -- \"$d\" 2>/dev/null\n"
	"if [ -d \"$1\" ];then printf d;return;fi\n"
	"if [ -e \"$1\" ];then t=$1;else t=$d;fi\n"
	"if [ -e \"$t\" ]&&[ -d \"$d\" ];then\n"
	"[ -w \"$t\" ]&&printf k||printf p;return;fi\n"
	"while [ -n \"$t\" ]&&[ ! -e \"$t\" ];do t=${t%/*};done\n"
	"[ -d \"${t:-/}\" ]&&printf p||printf i;}\n";
static const char modes_sh[] =
	"c(){ chmod $2 \"$1\" 2>/dev/null&&printf k||printf p;}\n";

struct answers {
	char letters[512];
	size_t n;
};

static int on_output(void *arg, enum exec_stream stream, struct str chunk,
		     struct buf *reply, struct error *err)
{
	struct answers *a = arg;

	(void)reply;
	(void)err;
	for (size_t i = 0; stream == EXEC_STDOUT && i < chunk.len; i++)
		if (a->n < sizeof(a->letters))
			a->letters[a->n++] = chunk.ptr[i];
	return 0;
}

static bool is_concerned(const struct transfer *f, enum stat_purpose what)
{
	return f->error == FILE_OK && (what != STAT_SET_MODES || f->mode);
}

static int set_error(struct transfer *f, char letter, struct error *err)
{
	switch (letter) {
	case 'k':
		return 0;
	case 'd':
		f->error = FILE_IS_DIRECTORY;
		return 0;
	case 'p':
		f->error = FILE_PERMISSION_DENIED;
		return 0;
	case 'i':
		f->error = FILE_INVALID_PATH;
		return 0;
	default:
		return error_set(
			err, ERR_PROTOCOL,
			"unexpected server response: nothing about %.100s",
			f->path);
	}
}

/* Files from *i on, as many as fit into one command. */
/* NOLINTNEXTLINE(readability-function-size): parameters to be gathered */
static int stat_some(struct sandbox *sb, enum stat_purpose what,
		     struct transfer *files, size_t n, size_t *i,
		     const struct stop *stop, struct error *err)
{
	static const char *const scripts[] = { upload_sh, modes_sh };
	struct buf command = BUF_INIT(COMMAND_MAX);
	struct answers a = { .n = 0 };
	struct exec_result res;
	struct exec_request req = { .cwd = "/",
				    .plain = true,
				    .timeout_ms = STAT_MS,
				    .output = on_output,
				    .arg = &a };
	size_t first = *i;
	size_t asked = 0;
	int rc = 0;

	buf_adds(&command, scripts[what]);
	for (; *i < n && command.len < COMMAND_MAX - WORD_MAX &&
	       asked < sizeof(a.letters);
	     (*i)++) {
		if (!is_concerned(&files[*i], what))
			continue;
		if (strlen(files[*i].path) > WORD_MAX / 4) {
			files[*i].error = FILE_INVALID_PATH;
			continue;
		}
		buf_adds(&command, "c ");
		quote_word(&command, str_of(files[*i].path));
		buf_addf(&command, " %o\n", files[*i].mode & 07777);
		asked++;
	}
	req.command = buf_str(&command);
	if (asked)
		rc = sb->client->provider->ops->execute(sb, &req, &res, stop,
							err);
	for (size_t k = first, at = 0; rc == 0 && k < *i; k++)
		if (is_concerned(&files[k], what))
			rc = set_error(&files[k],
				       at < a.n ? a.letters[at] : '?', err),
			at++;
	buf_release(&command);
	return rc;
}

int stat_files(struct sandbox *sb, enum stat_purpose what,
	       struct transfer *files, size_t n, const struct stop *stop,
	       struct error *err)
{
	size_t i = 0;

	while (i < n)
		if (stat_some(sb, what, files, n, &i, stop, err) < 0)
			return -1;
	return 0;
}
