/* agentcore_path.c - paths as AgentCore's file tools take them. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/agentcore.h"

enum { PWD_MS = 30000, PATH_BYTES = 4096 };

/* The tools resolve paths against it, and it is not documented. */
int agentcore_cwd(struct sandbox *sb, const struct stop *stop,
		  struct error *err)
{
	struct agentcore_box *b = sb->priv;
	struct buf out = BUF_INIT(PATH_BYTES);
	struct str dir;
	bool known;
	int rc = 0;

	pthread_mutex_lock(&b->lock);
	known = b->cwd;
	pthread_mutex_unlock(&b->lock);
	if (known)
		return 0;
	rc = agentcore_run(sb, STR("pwd"), PWD_MS, &out, stop, err);
	dir = buf_str(&out);
	if (str_ends(dir, "\n"))
		dir.len--;
	if (rc == 0 &&
	    (!str_starts(dir, "/") || memchr(dir.ptr, '\n', dir.len)))
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: no directory");
	pthread_mutex_lock(&b->lock);
	if (rc == 0 && !b->cwd)
		b->cwd = xstrndup(dir.ptr, dir.len);
	pthread_mutex_unlock(&b->lock);
	buf_release(&out);
	return rc;
}

/* No "." or "..", no empty part, no control characters. */
static bool plain(struct str path)
{
	struct str part;

	for (size_t i = 0; i < path.len; i++)
		if ((unsigned char)path.ptr[i] < ' ' || path.ptr[i] == 0x7F ||
		    path.ptr[i] == '\\')
			return false;
	if (!path.len || str_ends(path, "/") || !str_is_utf8(path))
		return false;
	while (str_split(&path, '/', &part))
		if (!part.len || str_is(part, ".") || str_is(part, ".."))
			return false;
	return true;
}

char *agentcore_relative(struct sandbox *sb, const char *path)
{
	struct agentcore_box *b = sb->priv;
	struct str rest = str_of(path);
	struct str cwd;

	pthread_mutex_lock(&b->lock);
	cwd = str_of(b->cwd);
	pthread_mutex_unlock(&b->lock);
	if (!cwd.len || !str_starts(rest, cwd.ptr))
		return NULL;
	rest = str_skip(rest, cwd.len);
	if (!str_is(cwd, "/")) {
		if (!str_starts(rest, "/"))
			return NULL;
		rest = str_skip(rest, 1);
	}
	return plain(rest) ? xstrndup(rest.ptr, rest.len) : NULL;
}
