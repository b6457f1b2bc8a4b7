/* select_secret.c - files that are never sent unasked. */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/str.h"
#include "worktree/select.h"

#define SIZE_MOST ((int64_t)100 << 20)

enum { STATE_DEPTH = 3 }; /* of ~/.deepagents/.state/workspaces/KEY */

/* Without case: some file systems have none. In at most size bytes. */
static struct str lower_name(struct str name, char *room, size_t size)
{
	size_t n = 0;

	for (; n < name.len && n < size; n++) {
		char c = name.ptr[n];

		room[n] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
	}
	return (struct str){ room, n };
}

static bool is_env(struct str name)
{
	if (str_is(name, ".env"))
		return true;
	return str_starts(name, ".env.") && !str_ends(name, ".example") &&
	       !str_ends(name, ".sample") && !str_ends(name, ".template");
}

/* "id_ed25519", not "id_map.c" and not the public half, "id_rsa.pub". */
static bool is_ssh_key(struct str name)
{
	return str_starts(name, "id_") && str_find(name, '.') == name.len;
}

static bool is_listed(struct str name)
{
	static const char *const names[] = { ".netrc", ".npmrc", ".pypirc" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (str_is(name, names[i]))
			return true;
	return false;
}

/* A line "-----BEGIN ... PRIVATE KEY-----" (RFC 7468; OpenPGP: BLOCK), also
 * indented (YAML), or in a string with "\n" after it (JSON). Source code that
 * only names the marker has neither. */
static bool begins_key(struct str line)
{
	static const char mark[] = "-----BEGIN ";
	size_t at = str_search(line, str_of(mark));
	struct str rest = str_skip(line, at);
	size_t name = str_search(rest, STR(" PRIVATE KEY"));

	if (name == rest.len)
		return false;
	if (str_trim((struct str){ line.ptr, at }).len == 0)
		return true;
	rest = str_skip(rest, name);
	name = str_search(rest, STR("-----\\"));
	return name < rest.len;
}

/* PuTTY's own format: "PuTTY-User-Key-File-3: ssh-ed25519". */
static bool begins_putty_key(struct str line)
{
	static const char mark[] = "PuTTY-User-Key-File-";
	struct str rest = str_skip(line, strlen(mark));

	return str_starts(line, mark) && rest.len > 1 && rest.ptr[0] >= '1' &&
	       rest.ptr[0] <= '9' && rest.ptr[1] == ':';
}

static bool has_key_line(struct str text)
{
	struct str line;

	if (str_starts(text, "\xef\xbb\xbf")) /* UTF-8's byte order mark */
		text = str_skip(text, 3);
	while (str_split(&text, '\n', &line))
		if (begins_key(line) || begins_putty_key(line))
			return true;
	return false;
}

/* Editors of Windows write UTF-16, of either byte order. */
static bool has_wide_key(struct str head)
{
	struct buf text = BUF_INIT(SELECT_HEAD);
	bool found;

	if (str_search(head, STR("-\0B\0E\0G\0I\0N\0 ")) == head.len &&
	    str_search(head, STR("P\0u\0T\0T\0Y\0-")) == head.len)
		return false;
	if (str_starts(head, "\xff\xfe") || str_starts(head, "\xfe\xff"))
		head = str_skip(head, 2);
	for (size_t i = 0; i < head.len; i++)
		if (head.ptr[i])
			buf_addc(&text, head.ptr[i]);
	found = has_key_line(buf_str(&text));
	buf_wipe(&text);
	return found;
}

static bool has_private_key(struct str head)
{
	return has_key_line(head) || has_wide_key(head);
}

bool select_is_own(const struct workspace *w, const char *path)
{
	size_t root = str_is(str_of(w->root), "/") ? 0 : strlen(w->root);
	const char *own = w->directory;
	size_t len = strlen(own);

	for (int up = 0; up < STATE_DEPTH; up++)
		while (len && own[--len] != '/')
			;
	if (len <= root || strncmp(own, w->root, root) != 0 || own[root] != '/')
		return false;
	own += root + 1;
	len -= root + 1;
	return !strncmp(path, own, len) && (path[len] == '/' || !path[len]);
}

const char *select_secret(const char *path, int64_t size, struct str head)
{
	struct str rest = str_of(path);
	struct str name = rest;
	char room[NAME_MAX];

	while (str_split(&rest, '/', &name)) {
		name = lower_name(name, room, sizeof(room));
		if (rest.len && str_is(name, ".aws"))
			return "AWS credentials";
		if (rest.len && is_env(name))
			return "in a directory of secrets";
	}
	if (is_env(name) || is_listed(name))
		return "a file of secrets";
	if (is_ssh_key(name))
		return "a key";
	if (size > SIZE_MOST)
		return "larger than 100 MiB";
	return has_private_key(head) ? "a private key" : NULL;
}

/* The bytes that a file begins with. False: the user may not read it. */
static bool read_head(const struct select_look *l, struct str *head)
{
	const char *slash = strrchr(l->path, '/');
	int fd = openat(l->dir, slash ? slash + 1 : l->path,
			O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	bool refused = fd < 0 && (errno == EACCES || errno == EPERM);
	size_t len = 0;
	ssize_t n = fd < 0 ? 0 : 1;

	while (n > 0 && len < SELECT_HEAD) {
		n = io_read(fd, l->head + len, SELECT_HEAD - len);
		len += n > 0 ? (size_t)n : 0;
	}
	if (fd >= 0)
		close(fd);
	*head = (struct str){ l->head, len };
	return !refused;
}

const char select_unreadable[] = "cannot be read";

const char *select_find_secret(const struct select_look *l, bool *keyless)
{
	const char *why =
		select_secret(l->path, l->st->st_size, (struct str){ 0 });
	struct stat_cached known = { .keyless = false };
	struct str head;

	*keyless = false;
	if (why || !S_ISREG(l->st->st_mode))
		return why;
	*keyless = stat_cache_get(l->cache, l->path, l->st, &known) &&
		   known.keyless;
	if (!*keyless && !read_head(l, &head))
		return select_unreadable;
	if (!*keyless)
		why = select_secret(l->path, l->st->st_size, head);
	*keyless = !why;
	return why;
}
