/* workdir.c - hands the working directory to the container's user. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "archive/archive.h"
#include "base/mem.h"
#include "base/str.h"
#include "providers/docker/engine.h"
#include "providers/kit/rest.h"

/*
 * The engine makes the working directory, for root. That its owner changes
 * goes through the engine's archive requests: a chown in the container would
 * have to run as root, which no program of an image gets to do where the user
 * is somebody else.
 */
enum {
	BEGINNING = 64 << 10,   /* bytes of an archive that hold its entry */
	ACCOUNTS_MAX = 1 << 20, /* bytes of /etc/passwd */
	LINKS_MAX = 8,
};

/* Keeps the beginning of an archive and ends the transfer when it has it. */
static int keep_beginning(void *arg, struct str chunk, struct error *err)
{
	struct buf *in = arg;

	buf_addstr(in, chunk);
	return in->len < in->max ? 0
				 : error_set(err, ERR_LIMIT, "that is enough");
}

/* The first max bytes of the archive of a path. */
static int read_archive(struct engine *e, const char *id, const char *path,
			struct buf *in, const struct stop *stop,
			struct error *err)
{
	struct buf query = BUF_INIT(1 << 16);
	struct http_response res = { 0 };
	struct engine_ask ask = { .method = "GET",
				  .data = keep_beginning,
				  .arg = in };
	struct error why = { 0 };
	int rc;

	buf_addf(&query, "/containers/%s/archive?path=", id);
	rest_encode(&query, str_of(path));
	ask.path = query.ptr;
	rc = engine_call(e, &ask, &res, stop, &why);
	if (rc == 0 && res.status >= 400)
		rc = http_status_error(&res, path, &why);
	buf_release(&query);
	http_response_release(&res);
	if (rc < 0 && !in->len)
		*err = why;
	return in->len ? 0 : rc;
}

/* The numeric field of the line "NAME:x:NUMBER:". */
static int64_t find_account(struct str rest, struct str name)
{
	struct str line;
	struct str part[3];
	int64_t n;

	while (str_split(&rest, '\n', &line)) {
		size_t i = 0;

		while (i < 3 && str_split(&line, ':', &part[i]))
			i++;
		if (i == 3 && str_eq(part[0], name) &&
		    str_to_int(part[2], &n) && n >= 0)
			return n;
	}
	return -1;
}

/* A user or a group as a number; its name stands in the file. -1 unknown. */
static int64_t resolve(struct engine *e, const char *id, struct str name,
		       const char *file, const struct stop *stop)
{
	struct buf in = BUF_INIT(ACCOUNTS_MAX);
	struct buf text = BUF_INIT(ACCOUNTS_MAX);
	struct archive_single entry = { 0 };
	struct error ignored = { 0 };
	int64_t n = -1;

	if (!str_to_int(name, &n) &&
	    read_archive(e, id, file, &in, stop, &ignored) == 0 &&
	    archive_single_read(buf_str(&in), &entry, &text, &ignored) == 0)
		n = find_account(buf_str(&text), name);
	free(entry.link);
	buf_release(&text);
	buf_release(&in);
	return n;
}

/* What a directory is like; *dir (owned) changes when it is a link. */
static int read_directory(struct engine *e, const char *id, char **dir,
			  struct archive_single *found, const struct stop *stop,
			  struct error *err)
{
	for (int i = 0; i < LINKS_MAX; i++) {
		struct buf in = BUF_INIT(BEGINNING);
		char *parent;
		int rc = read_archive(e, id, *dir, &in, stop, err);

		if (rc == 0)
			rc = archive_single_read(buf_str(&in), found, NULL,
						 err);
		buf_release(&in);
		if (rc < 0 || !found->link)
			return rc;
		parent = xstrndup(*dir, (size_t)(strrchr(*dir, '/') - *dir));
		free(*dir);
		*dir = found->link[0] == '/'
			       ? xstrdup(found->link)
			       : xasprintf("%s/%s", parent, found->link);
		free(parent);
		free(found->link);
		found->link = NULL;
	}
	return error_set(err, ERR_REMOTE, "%s: too many links", *dir);
}

static int write_archive(struct engine *e, const char *id, const char *parent,
			 struct str archive, const struct stop *stop,
			 struct error *err)
{
	struct buf query = BUF_INIT(1 << 16);
	struct engine_ask ask = { .method = "PUT",
				  .body = archive,
				  .type = "Content-Type: application/x-tar",
				  .what = "changing the owner of the working "
					  "directory" };
	int rc;

	buf_addf(&query, "/containers/%s/archive?copyUIDGID=0&path=", id);
	rest_encode(&query, str_of(parent));
	ask.path = query.ptr;
	rc = engine_json(e, &ask, NULL, stop, err);
	buf_release(&query);
	return rc;
}

/* dir as the parent's path and a name: both owned. */
static void split_path(const char *dir, char **parent, char **name)
{
	const char *end = dir + strlen(dir);
	const char *slash;

	while (end > dir && end[-1] == '/')
		end--;
	slash = end;
	while (slash > dir && slash[-1] != '/')
		slash--;
	*name = slash == end ? xstrdup(".")
			     : xstrndup(slash, (size_t)(end - slash));
	*parent = slash == dir ? xstrdup("/")
			       : xstrndup(dir, (size_t)(slash - dir));
}

struct file_owner {
	int64_t uid;
	int64_t gid; /* -1: as it is */
};

static int change_owner(struct engine *e, const char *id, const char *workdir,
			struct file_owner owner, const struct stop *stop,
			struct error *err)
{
	char *dir = xstrdup(workdir);
	char *parent = NULL;
	char *name = NULL;
	struct archive_single entry = { 0 };
	struct buf archive = BUF_INIT(BEGINNING);
	int rc = read_directory(e, id, &dir, &entry, stop, err);

	if (rc == 0) {
		split_path(dir, &parent, &name);
		if (!S_ISDIR(entry.mode))
			entry.mode = S_IFDIR | 0755;
		entry.uid = owner.uid;
		entry.gid = owner.gid >= 0 ? owner.gid : entry.gid;
		rc = archive_single_write(&entry, name, &archive, err);
	}
	if (rc == 0)
		rc = write_archive(e, id, parent, buf_str(&archive), stop, err);
	buf_release(&archive);
	free(parent);
	free(name);
	free(dir);
	return rc;
}

int docker_give_workdir(struct docker *d, const struct sandbox *sb,
			const cJSON *inspected, const struct stop *stop,
			struct error *err)
{
	const char *text =
		json_string(json_get(inspected, "Config"), "User", "");
	struct str user = str_of(text);
	struct str group = str_skip(user, str_find(user, ':'));
	int64_t uid;
	int64_t gid = -1;

	user.len -= group.len;
	group = str_skip(group, 1);
	if (!user.len || str_is(user, "root") || str_is(user, "0"))
		return 0;
	uid = resolve(&d->engine, sb->id, user, "/etc/passwd", stop);
	if (group.len)
		gid = resolve(&d->engine, sb->id, group, "/etc/group", stop);
	if (uid < 0 || (group.len && gid < 0))
		return error_set(err, ERR_REMOTE,
				 "cannot give %s to user %s: no such user or "
				 "group in the image",
				 sb->workdir, text);
	return change_owner(&d->engine, sb->id, sb->workdir,
			    (struct file_owner){ uid, gid }, stop, err);
}
