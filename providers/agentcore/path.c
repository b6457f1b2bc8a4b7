/* path.c - paths as AgentCore's file tools take them. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/agentcore/agentcore.h"

enum { PWD_MS = 30000, PATH_BYTES = 4096 };

bool agentcore_cwd_known(struct sandbox *sb)
{
	struct agentcore_box *b = sb->priv;
	bool known;

	pthread_mutex_lock(&b->lock);
	known = b->cwd;
	pthread_mutex_unlock(&b->lock);
	return known;
}

bool agentcore_cwd_learn(struct sandbox *sb, struct str text)
{
	struct agentcore_box *b = sb->priv;
	struct str dir = { text.ptr, str_find(text, '\n') };

	if (!str_starts(dir, "/") || dir.len == text.len ||
	    dir.len > PATH_BYTES)
		return false;
	pthread_mutex_lock(&b->lock);
	if (!b->cwd)
		b->cwd = xstrndup(dir.ptr, dir.len);
	pthread_mutex_unlock(&b->lock);
	return true;
}

/* The tools resolve paths against it, and it is not documented. */
int agentcore_cwd(struct sandbox *sb, const struct stop *stop,
		  struct error *err)
{
	struct buf out = BUF_INIT(PATH_BYTES);
	int rc;

	if (agentcore_cwd_known(sb))
		return 0;
	rc = agentcore_run(sb, STR("pwd"), PWD_MS, &out, stop, err);
	if (rc == 0 && !agentcore_cwd_learn(sb, buf_str(&out)))
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: no directory");
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
