/* each_file.c - a batch of files, moved one by one by a provider. */
/* SPDX-License-Identifier: MIT */
#include "providers/each_file.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "sandbox/quote.h"

enum { COMMAND_MAX = 100000 };

void file_fail(struct transfer *f, enum file_error code, const char *detail)
{
	f->error = code;
	snprintf(f->detail, sizeof(f->detail), "%s", detail);
}

static bool path_ok(struct transfer *f)
{
	size_t len = f->path ? strlen(f->path) : 0;

	f->error = FILE_OK;
	f->detail[0] = '\0';
	if (len > 1 && f->path[0] == '/' && f->path[len - 1] != '/')
		return true;
	file_fail(f, FILE_INVALID_PATH, "");
	return false;
}

static bool fatal(const struct error *e)
{
	return e->code == ERR_CANCELLED || e->code == ERR_GONE ||
	       e->code == ERR_TIMEOUT || e->code == ERR_NETWORK;
}

int each_file(struct sandbox *sb, struct transfer *files, size_t n,
	      int (*one)(struct sandbox *sb, struct transfer *f,
			 const struct stop *stop, struct error *err),
	      const struct stop *stop, struct error *err)
{
	for (size_t i = 0; i < n; i++) {
		struct error e = { 0 };

		if (!path_ok(&files[i]) || one(sb, &files[i], stop, &e) == 0)
			continue;
		file_fail(&files[i], FILE_OTHER, e.message);
		if (!fatal(&e))
			continue;
		*err = e;
		for (i++; i < n; i++)
			file_fail(&files[i], FILE_OTHER, e.message);
		return -1;
	}
	return 0;
}

int each_file_mode(struct sandbox *sb, struct transfer *files, size_t n,
		   const struct stop *stop, struct error *err)
{
	const struct sandbox_ops *ops = sb->host->provider->ops;
	struct buf command = BUF_INIT(COMMAND_MAX);
	struct exec_result res;
	size_t i = 0;
	int rc = 0;

	while (rc == 0 && i < n) {
		struct exec_request req = { .cwd = "/", .plain = true };

		buf_clear(&command);
		for (; i < n && command.len < COMMAND_MAX / 2; i++) {
			if (files[i].error != FILE_OK || !files[i].mode)
				continue;
			buf_addf(&command, "chmod %o ", files[i].mode & 07777);
			quote_word(&command, str_of(files[i].path));
			buf_addc(&command, '\n');
		}
		req.command = buf_str(&command);
		if (command.len)
			rc = ops->execute(sb, &req, &res, stop, err);
	}
	buf_release(&command);
	return rc;
}
