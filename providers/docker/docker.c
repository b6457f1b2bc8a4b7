/* docker.c - creates, lists, stops and removes containers of Docker or
 * Podman. */
/* SPDX-License-Identifier: MIT */
/*
 * The provider's row is at the end of the file. Begin with docker_create(): it
 * reads which limits the engine supports, describes the container
 * (container.c), pulls the image if it is missing (engine.c), creates and
 * starts the container, and makes its user the owner of the working directory.
 *
 * A container is named after the label that dcode wrote to its ledger before it
 * sent the request. So if the answer to a create was lost, the container is
 * found by its name. Labels on the container store its owner, working directory
 * and lifetime; docker_list() reads them.
 *
 * Commands are in exec.c; how they are ended is in kill.c.
 */
#include "providers/docker/docker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "archive/archive.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "net/retry.h"
#include "providers/docker/engine.h"
#include "providers/kit/lease.h"
#include "providers/kit/rest.h"
#include "sandbox/ports/ports.h"

enum {
	BODY_MAX = 1 << 20,    /* bytes of a container's description */
	COMMAND_MAX = 1 << 20, /* bytes; Linux allows 2 MiB of arguments */
	LIFETIME_S = 4 * 3600,
	CGROUP_MAX = 64 << 10, /* bytes of /proc/PID/cgroup */
	ID_LEAST = 32,         /* characters of a container's id, at least */
	POLL_MS = 50,
	/*
	 * ms; longest wait until a container whose name is already used can be
	 * inspected
	 */
	APPEAR_MS = 5000,
	/* bytes at an archive's start that contain its first entry */
	BEGINNING = 64 << 10,
	ACCOUNTS_MAX = 1 << 20, /* bytes of /etc/passwd */
	LINKS_MAX = 8,
	SNAPSHOT_NAME_MAX = 128, /* bytes of an image's tag */
};

static struct docker *docker_of(const struct sandbox_client *client)
{
	return client->priv;
}

static struct engine *engine_of(const struct sandbox_client *client)
{
	return &docker_of(client)->engine;
}

static int docker_open(struct sandbox_client *client,
		       const struct settings *set, struct error *err)
{
	struct docker *d = xcalloc(1, sizeof(*d));

	d->settings = set;
	if (engine_init(&d->engine, client->http, set, client->also, err) < 0) {
		engine_release(&d->engine);
		free(d);
		return -1;
	}
	client->priv = d;
	client->endpoint = d->engine.shown;
	client->isolation = docker_isolation(set);
	client->lacks |= docker_has_mounts(set) ? SANDBOX_PLACED : 0;
	/* gVisor and virtual machines have a network of their own, which
	 * dcode's proxy cannot enter */
	if (client->isolation != ISOLATION_CONTAINER)
		client->lacks |= SANDBOX_HOSTS;
	return 0;
}

static void docker_close(struct sandbox_client *client)
{
	struct docker *d = docker_of(client);

	if (!d)
		return;
	engine_release(&d->engine);
	free(d);
	client->endpoint = client->priv = NULL;
}

/* Maps Docker's state names, and Podman's ("stopped", "configured"). */
static enum sandbox_state state_of(const char *word)
{
	static const struct {
		const char *word;
		enum sandbox_state state;
	} words[] = {
		{ "running", STATE_RUNNING },     { "created", STATE_STARTING },
		{ "restarting", STATE_STARTING }, { "exited", STATE_STOPPED },
		{ "paused", STATE_STOPPED },      { "stopped", STATE_STOPPED },
		{ "removing", STATE_GONE },       { "dead", STATE_GONE },
		{ "configured", STATE_STARTING },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(words[i].word, word) == 0)
			return words[i].state;
	return STATE_UNKNOWN;
}

/* Fills info from the labels that dcode set at creation. Set info->created
 * before: the expiry is computed from it. */
static void fill_labels(struct sandbox_info *info, const cJSON *labels)
{
	int64_t lifetime;

	info->label = json_string(labels, "dcode.label", "");
	info->owner = json_string(labels, "dcode.owner", "");
	if (info->created &&
	    str_to_int(str_of(json_string(labels, "dcode.lifetime", "")),
		       &lifetime) &&
	    lifetime > 0 && lifetime < INT64_MAX / 2)
		info->ends = info->created + lifetime;
}

/* True if the container has the name of the label. A container made from a
 * snapshot inherits the label of the original, but not its name. */
static bool is_named(const cJSON *item, const char *label)
{
	const cJSON *name;

	cJSON_ArrayForEach (name, json_get(item, "Names")) {
		const char *text =
			cJSON_IsString(name) ? name->valuestring : "";

		if (strcmp(text + (text[0] == '/'), label) == 0)
			return true;
	}
	return false;
}

/* Builds the path of GET /containers/json with a filter, owned by the caller.
 * owner NULL: containers of every dcode. */
static char *list_path(const char *owner)
{
	struct buf filter = BUF_INIT(1024);
	struct buf path = BUF_INIT(4096);
	char *label = owner ? xasprintf("dcode.owner=%s", owner) : NULL;

	buf_adds(&filter, "{\"label\":[\"dcode.label\"");
	if (label) {
		buf_addc(&filter, ',');
		json_quote(&filter, str_of(label));
	}
	buf_adds(&filter, "]}");
	buf_adds(&path, "/containers/json?all=true&filters=");
	rest_encode(&path, buf_str(&filter));
	buf_release(&filter);
	free(label);
	return buf_detach(&path);
}

static int docker_list(struct sandbox_client *client, const char *owner,
		       const struct info_sink *sink, const struct stop *stop,
		       struct error *err)
{
	struct docker *d = client->priv;
	char *path = list_path(owner);
	cJSON *answer = NULL;
	const cJSON *item;
	struct engine_ask ask = { .http.method = "GET",
				  .http.path = path,
				  .http.what = "listing containers" };
	int rc = engine_json(&d->engine, &ask, &answer, stop, err);

	cJSON_ArrayForEach (item, answer) {
		struct sandbox_info info = {
			.id = json_string(item, "Id", ""),
			.state = state_of(json_string(item, "State", "")),
			.image = json_string(item, "Image", ""),
			.created = json_int(item, "Created", 0),
		};

		fill_labels(&info, json_get(item, "Labels"));
		if (!engine_name_ok(info.id) || !is_named(item, info.label) ||
		    (owner && strcmp(info.owner, owner) != 0))
			continue;
		info_emit(sink, &info);
	}
	cJSON_Delete(answer);
	free(path);
	return rc;
}

static int docker_info(struct sandbox_client *client, const char *id,
		       const struct info_sink *sink, const struct stop *stop,
		       struct error *err)
{
	struct docker *d = client->priv;
	cJSON *answer = NULL;
	const cJSON *config;
	struct sandbox_info info = { 0 };

	if (engine_inspect(&d->engine, id, &answer, stop, err) < 0)
		return -1;
	config = json_get(answer, "Config");
	info.id = json_string(answer, "Id", "");
	info.image = json_string(config, "Image", "");
	info.state =
		state_of(json_string(json_get(answer, "State"), "Status", ""));
	info.created = json_time(answer, "Created");
	fill_labels(&info, json_get(config, "Labels"));
	info.isolation = docker_runtime_isolation(
		json_string(json_get(answer, "HostConfig"), "Runtime", ""));
	info_emit(sink, &info);
	cJSON_Delete(answer);
	return 0;
}

/* Returns 0 when removed, 1 if there is no such container, 2 if the engine is
 * still removing it. */
static int remove_once(struct engine *e, const char *id,
		       const struct stop *stop, struct error *err)
{
	struct http_response res = { 0 };
	struct engine_ask ask = { .http.method = "DELETE",
				  .http.path = "/containers/",
				  .id = id,
				  .action = "?force=true&v=true",
				  .http.what = "removing the container" };
	int rc = engine_call(e, &ask, &res, stop, err);

	if (rc == 0 && (res.status == 404 || res.status == 409))
		rc = res.status == 404 ? 1 : 2;
	else if (rc == 0 && res.status >= 400)
		rc = http_status_error(&res, ask.http.what, err);
	http_response_release(&res);
	return rc;
}

static int docker_remove(struct sandbox_client *client, const char *id,
			 const struct stop *stop, struct error *err)
{
	struct engine *e = engine_of(client);
	bool was_there = false;
	int rc;

	if (!engine_name_ok(id))
		return error_set(err, ERR_USAGE,
				 "not a container's name or id: '%s'", id);
	while ((rc = remove_once(e, id, stop, err)) == 2) {
		was_there = true;
		if (stop_sleep(stop, POLL_MS, err) < 0)
			return -1;
	}
	if (rc >= 0)
		docker_network_sweep(docker_of(client), stop);
	return rc == 1 && was_there ? 0 : rc;
}

/* Stops the container. POST /containers/ID/stop answers 304 if it does not run.
 * A paused container is resumed first, so that its processes see the signal. */
static int docker_stop(struct sandbox_client *client, const char *id,
		       int64_t *keep_s, const struct stop *stop,
		       struct error *err)
{
	struct engine *e = engine_of(client);
	cJSON *inspected = NULL;
	struct error why = { 0 };
	int rc = engine_inspect(e, id, &inspected, stop, &why);

	if (rc == 0 && json_bool(json_get(inspected, "State"), "Paused", false))
		rc = engine_post(e, id, "/unpause", "resuming the container",
				 stop, &why);
	if (rc == 0)
		rc = engine_post(e, id, "/stop?t=2", "stopping the container",
				 stop, &why);
	cJSON_Delete(inspected);
	*keep_s = 0;
	if (rc == 0 || why.http_status == 304)
		return 0;
	if (why.code == ERR_NOT_FOUND)
		return 1;
	*err = why;
	return -1;
}

static int check_snapshot_name(const char *name, struct error *err)
{
	if (engine_name_ok(name) && strlen(name) <= SNAPSHOT_NAME_MAX)
		return 0;
	return error_set(err, ERR_USAGE,
			 "a snapshot's name may have letters, digits, '_', '.' "
			 "and '-', at most %d",
			 SNAPSHOT_NAME_MAX);
}

/* *id: the image's digest. */
static int docker_find_snapshot(struct sandbox_client *client, const char *name,
				char **id, const struct stop *stop,
				struct error *err)
{
	struct http_response res = { 0 };
	struct engine_ask ask = { .http.method = "GET",
				  .http.path = "/images/dcode-snapshot:",
				  .id = name,
				  .action = "/json",
				  .http.what = "looking for the snapshot" };
	int rc = check_snapshot_name(name, err);

	if (rc == 0)
		rc = engine_call(engine_of(client), &ask, &res, stop, err);
	if (rc == 0 && res.status >= 400 && res.status != 404)
		rc = http_status_error(&res, ask.http.what, err);
	else if (rc == 0)
		rc = res.status != 404;
	if (rc > 0) {
		cJSON *image = json_parse(buf_str(&res.body));

		*id = xstrdup(json_string(image, "Id", ""));
		cJSON_Delete(image);
	}
	http_response_release(&res);
	return rc;
}

/* Removes the name, and the image if it has no other name. Docker answers 409
 * while a container uses the image; Podman does too (containers-api, 2026-11).
 * Both keep the layers that other images have. */
static int docker_remove_snapshot(struct sandbox_client *client,
				  const char *name, const char *id,
				  const struct stop *stop, struct error *err)
{
	struct http_response res = { 0 };
	struct engine_ask ask = { .http.method = "DELETE",
				  .http.path = "/images/dcode-snapshot:",
				  .id = name,
				  .http.what = "deleting the snapshot" };
	int rc = check_snapshot_name(name, err);

	(void)id;
	if (rc == 0)
		rc = engine_call(engine_of(client), &ask, &res, stop, err);
	if (rc == 0 && res.status == 404)
		rc = 1;
	else if (rc == 0 && res.status >= 400)
		rc = http_status_error(&res, ask.http.what, err);
	if (rc < 0 && res.status == 409)
		err->code = ERR_BUSY;
	http_response_release(&res);
	return rc;
}

/* Commits the container's files as the image dcode-snapshot:NAME. */
static int commit_image(struct sandbox *sb, const char *name, bool pause,
			const struct stop *stop, struct error *err)
{
	struct engine *e = engine_of(sb->client);
	struct engine_ask ask = { .http.method = "POST",
				  .http.body = STR("{}"),
				  .http.what = "committing the container" };
	struct buf path = BUF_INIT(1024);
	int rc;

	buf_addf(&path, "/commit?container=%s&repo=dcode-snapshot&tag=%s",
		 sb->id, name);
	buf_addf(&path, "&pause=%s&changes=", pause ? "true" : "false");
	rest_encode(&path, STR("LABEL dcode.snapshot="));
	rest_encode(&path, str_of(name));
	ask.http.path = path.ptr;
	rc = engine_json(e, &ask, NULL, stop, err);
	buf_release(&path);
	return rc;
}

/* Commits the container while it is paused, so that the files are consistent.
 * An engine without control groups cannot pause (rootless Podman without
 * systemd) and copies while the container runs. */
static int docker_snapshot(struct sandbox *sb, const char *name, bool replace,
			   const struct stop *stop, struct error *err)
{
	struct error why = { 0 };

	(void)replace; /* the engine moves an existing tag to the new image */
	if (check_snapshot_name(name, err) < 0)
		return -1;
	if (commit_image(sb, name, true, stop, &why) == 0)
		return 0;
	if (why.code == ERR_REMOTE &&
	    commit_image(sb, name, false, stop, err) == 0)
		return 0;
	*err = why;
	return -1;
}

/* The engine creates the working directory, and root owns it. dcode changes the
 * owner with the engine's archive requests. A chown in the container would have
 * to run as root, and dcode starts no program of an image as root if the
 * container's user is somebody else. */
struct file_owner {
	int64_t uid;
	int64_t gid; /* -1: keep the group */
};

/* Stores the beginning of an archive, then ends the transfer with an error. */
static int store_beginning(void *arg, struct str chunk, struct error *err)
{
	struct buf *in = arg;

	buf_addstr(in, chunk);
	return in->len < in->max ? 0
				 : error_set(err, ERR_LIMIT, "that is enough");
}

/* Reads the first in->max bytes of the archive of a path in the container. */
static int read_archive(struct engine *e, const char *id, const char *path,
			struct buf *in, const struct stop *stop,
			struct error *err)
{
	struct buf query = BUF_INIT(1 << 16);
	struct http_response res = { 0 };
	struct engine_ask ask = { .http.method = "GET",
				  .http.data = store_beginning,
				  .http.arg = in };
	struct error why = { 0 };
	int rc;

	buf_addf(&query, "/containers/%s/archive?path=", id);
	rest_encode(&query, str_of(path));
	ask.http.path = query.ptr;
	rc = engine_call(e, &ask, &res, stop, &why);
	if (rc == 0 && res.status >= 400)
		rc = http_status_error(&res, path, &why);
	buf_release(&query);
	http_response_release(&res);
	if (rc < 0 && !in->len)
		*err = why;
	return in->len ? 0 : rc;
}

/* Returns NUMBER of the line "NAME:x:NUMBER:", or -1. */
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

/* Returns the number of a user or group, given as a number or as a name in file
 * (/etc/passwd, /etc/group); -1 if unknown. */
static int64_t find_account_id(struct engine *e, const char *id,
			       struct str name, const char *file,
			       const struct stop *stop)
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

/* Reads owner and mode of a directory. Follows symbolic links, including links
 * that the image contains: *dir (owned) becomes the path that they lead to. */
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

/* Unpacks an archive into parent. copyUIDGID=0 makes the engine use the owner
 * in the archive, not that of the directory. */
static int write_archive(struct engine *e, const char *id, const char *parent,
			 struct str archive, const struct stop *stop,
			 struct error *err)
{
	struct buf query = BUF_INIT(1 << 16);
	struct engine_ask ask = { .http.method = "PUT",
				  .http.body = archive,
				  .http.type = "application/x-tar",
				  .http.what =
					  "changing the owner of the working "
					  "directory" };
	int rc;

	buf_addf(&query, "/containers/%s/archive?copyUIDGID=0&path=", id);
	rest_encode(&query, str_of(parent));
	ask.http.path = query.ptr;
	rc = engine_json(e, &ask, NULL, stop, err);
	buf_release(&query);
	return rc;
}

/* Splits dir into its parent's path and its name; the caller frees both. */
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

/* Writes the directory's own entry back with another owner. Its files are
 * unchanged. */
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

/* Makes the container's user the owner of the working directory. */
static int docker_give_workdir(struct docker *d, const struct sandbox *sb,
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
	uid = find_account_id(&d->engine, sb->id, user, "/etc/passwd", stop);
	if (group.len)
		gid = find_account_id(&d->engine, sb->id, group, "/etc/group",
				      stop);
	if (uid < 0 || (group.len && gid < 0))
		return error_set(err, ERR_REMOTE,
				 "cannot give %s to user %s: no such user or "
				 "group in the image",
				 sb->workdir, text);
	return change_owner(&d->engine, sb->id, sb->workdir,
			    (struct file_owner){ uid, gid }, stop, err);
}

static const char *label_of(const cJSON *inspected, const char *name)
{
	return json_string(json_get(json_get(inspected, "Config"), "Labels"),
			   name, "");
}

/* Records the directories of this machine that the container may write. Volumes
 * do not count, because the engine stores them. Sockets count even if mounted
 * read-only: they can still be connected to, and the engine's own socket gives
 * access to the whole machine. */
static void add_mounts(struct sandbox *sb, const cJSON *inspected)
{
	const cJSON *mount;

	cJSON_ArrayForEach (mount, json_get(inspected, "Mounts")) {
		const char *source = json_string(mount, "Source", "");
		struct stat st;

		if (!strcmp(json_string(mount, "Type", ""), "bind") &&
		    (json_bool(mount, "RW", true) ||
		     (stat(source, &st) == 0 && S_ISSOCK(st.st_mode))))
			mounts_add(&sb->mounts,
				   json_string(mount, "Destination", "?"),
				   source);
	}
}

/* Fills sb from the answer of GET /containers/ID/json. */
static void fill_sandbox(struct sandbox *sb, const struct secrets *secrets,
			 bool created, const cJSON *inspected)
{
	const char *dir = label_of(inspected, "dcode.workdir");
	struct docker_box *box = docker_box_new(sb->client->priv, created);

	add_mounts(sb, inspected);

	if (dir[0] != '/')
		dir = json_string(json_get(inspected, "Config"), "WorkingDir",
				  "/");
	if (dir[0] != '/')
		dir = "/";
	free(sb->workdir);
	sb->workdir = xstrdup(dir);
	if (secrets)
		box->secrets = *secrets;
	docker_box_set_init(box, inspected);
	sb->priv = box;
}

/* Sets sb->id from an answer. */
static int set_id(struct sandbox *sb, const cJSON *answer, struct error *err)
{
	const char *id = json_string(answer, "Id", "");

	if (!engine_name_ok(id))
		return error_set(err, ERR_PROTOCOL,
				 "the engine returned no container id");
	free(sb->id);
	sb->id = xstrdup(id);
	return 0;
}

/* Finds the container with this label, which an earlier create made.
 * ERR_NOT_FOUND if there is none. */
static int find_labelled(struct engine *e, const char *label, cJSON **found,
			 const struct stop *stop, struct error *err)
{
	cJSON *answer = NULL;

	if (engine_inspect(e, label, &answer, stop, err) < 0)
		return -1;
	if (strcmp(label_of(answer, "dcode.label"), label) != 0) {
		cJSON_Delete(answer);
		return error_set(err, ERR_REMOTE,
				 "a container named %s exists, and dcode did "
				 "not make it",
				 label);
	}
	*found = answer;
	return 0;
}

static int fail_no_snapshot(const char *name, struct error *err)
{
	error_set(err, ERR_NOT_FOUND, "unknown snapshot '%s'", name);
	return error_hint(err, "Make one: dcode sandbox snapshot ID %s", name);
}

/* Waits for a container that an earlier try created. An engine reserves the
 * name before the container can be inspected. taken: the engine refused the
 * name because it is used (Docker with status 409, Podman 4.3 with 500). *err
 * changes only if stop ended the wait. */
static int find_created(struct engine *e, const char *label, bool taken,
			cJSON **answer, const struct stop *stop,
			struct error *err)
{
	struct stop limit = stop_within(stop, APPEAR_MS);
	struct error why = { 0 };

	do {
		why = (struct error){ 0 };
		if (find_labelled(e, label, answer, &limit, &why) == 0)
			return 0;
	} while (taken && why.code == ERR_NOT_FOUND &&
		 stop_sleep(&limit, POLL_MS, &why) == 0);
	if (stop_check(stop, &why) < 0)
		*err = why;
	return -1;
}

/* Sends POST /containers/create. Returns 0 with *answer, or 1 if the image is
 * missing. A used name is not a failure if dcode created that container with an
 * earlier request whose answer was lost: *answer then describes it. */
static int post_create(struct engine *e, const char *label, struct str body,
		       cJSON **answer, const struct stop *stop,
		       struct error *err)
{
	struct http_response res = { 0 };
	struct engine_ask ask = { .http.method = "POST",
				  .http.path = "/containers/create?name=",
				  .id = label,
				  .http.body = body,
				  .http.what = "creating a container" };
	int rc = engine_call(e, &ask, &res, stop, err);

	if (rc == 0 && res.status == 404) {
		rc = 1;
	} else if (rc == 0 && res.status >= 400) {
		http_status_error(&res, ask.http.what, err);
		/* Do not retry: a local engine's refusal is final. */
		err->exhausted = true;
		rc = find_created(e, label,
				  res.status == 409 || res.status == 500,
				  answer, stop, err);
	} else if (rc == 0) {
		*answer = json_parse(buf_str(&res.body));
	}
	http_response_release(&res);
	return rc;
}

/* Pulls the image if the setting for that says so. Returns 0 if the image
 * should exist now. */
static int fetch_image(struct docker *d, const struct sandbox_spec *spec,
		       const char *image, bool missing, const struct stop *stop,
		       struct error *err)
{
	const char *policy = NULL;

	if (settings_string(d->settings, "docker", "pull", &policy, err) < 0)
		return -1;
	if (strcmp(policy, "missing") != 0 && strcmp(policy, "always") != 0 &&
	    strcmp(policy, "never") != 0)
		return error_set(err, ERR_CONFIG,
				 "pull = \"%s\": use missing, always or never",
				 policy);
	if (missing && spec->snapshot)
		return fail_no_snapshot(spec->snapshot, err);
	if (missing && strcmp(policy, "never") == 0) {
		error_set(err, ERR_NOT_FOUND,
			  "the image %s is missing here, and pull = \"never\"",
			  image);
		error_topic(err, "docker");
		return error_hint(err, "Pull it yourself, or set pull = "
				       "\"missing\", or another image, in "
				       "[sandboxes.providers.docker.params] of "
				       "~/.deepagents/config.toml.");
	}
	if (spec->snapshot || (!missing && strcmp(policy, "always") != 0))
		return 0;
	return engine_pull(&d->engine, image, spec, stop, err);
}

/* Sends POST /containers/ID/start. */
static int start_container(struct engine *e, const char *id,
			   const struct stop *stop, struct error *err)
{
	struct error why = { 0 };
	int rc = engine_post(e, id, "/start", "starting the container", stop,
			     &why);

	/* Status 304: the container already runs. */
	if (rc == 0 || why.http_status == 304)
		return 0;
	*err = why;
	return -1;
}

/* Creates the container without starting it, and sets sb->id. If the image is
 * missing, it is pulled and the create repeated. */
static int create_container(struct sandbox *sb, const struct sandbox_spec *spec,
			    const char *image,
			    const struct docker_limits *limits,
			    const struct stop *stop, struct error *err)
{
	struct docker *d = docker_of(sb->client);
	struct buf body = BUF_INIT(BODY_MAX);
	cJSON *answer = NULL;
	int rc = docker_create_body(d, spec, image, limits, &body, err);

	err->nothing_made = rc < 0;
	for (int missing = 0; missing < 2 && rc >= 0; missing++) {
		rc = fetch_image(d, spec, image, missing, stop, err);
		if (rc < 0)
			err->nothing_made = true;
		else
			rc = post_create(&d->engine, spec->label,
					 buf_str(&body), &answer, stop, err);
		if (rc <= 0)
			break;
	}
	if (rc == 1)
		rc = error_set(err, ERR_NOT_FOUND,
			       "the engine cannot find the image %s", image);
	if (rc == 0)
		rc = set_id(sb, answer, err);
	cJSON_Delete(answer);
	buf_release(&body);
	return rc;
}

/* Creates and starts the container: some engines refuse a limit only at the
 * start. */
static int create_started(struct sandbox *sb, const struct sandbox_spec *spec,
			  const char *image, const struct docker_limits *limits,
			  const struct stop *stop, struct error *err)
{
	struct docker *d = docker_of(sb->client);

	if (create_container(sb, spec, image, limits, stop, err) < 0)
		return -1;
	return start_container(&d->engine, sb->id, stop, err);
}

/* Creates the container with limits. Engines that cannot limit memory or
 * processes have no common error for it. So after any refusal that the limits
 * may have caused, dcode tries once without them. */
static int create_limited(struct sandbox *sb, const struct sandbox_spec *spec,
			  const char *image, const struct stop *stop,
			  struct error *err)
{
	struct docker_limits limits;
	struct error why = { 0 };
	struct error again = { 0 };
	char *line;

	/* Ask before the create: it takes Podman 0.1 s to say what it can
	 * limit. */
	if (docker_limits_init(docker_of(sb->client), &limits, stop, err) < 0) {
		err->nothing_made = true;
		return -1;
	}
	if (create_started(sb, spec, image, &limits, stop, &why) == 0)
		return 0;
	*err = why;
	if (why.http_status != 400 && why.http_status < 500)
		return -1;
	if (docker_lacks_runtime(docker_of(sb->client), stop, err)) {
		err->nothing_made = !sb->id;
		return -1;
	}
	if (sb->id && docker_remove(sb->client, sb->id, stop, &again) < 0)
		return -1;
	limits.wanted = false;
	limits.memory = 0;
	if (create_started(sb, spec, image, &limits, stop, &again) < 0) {
		/* not refused: the container may exist, so report this error */
		if (!retry_was_refused(&again))
			*err = again;
		err->nothing_made = why.nothing_made && again.nothing_made;
		return -1;
	}
	*err = (struct error){ 0 };
	line = xasprintf("the container has no memory or process limits: %s",
			 why.message);
	if (spec->progress)
		spec->progress(spec->arg, line);
	free(line);
	return 0;
}

/* Secrets are put in by the proxy, which then is the only way out. Fails if the
 * user has chosen a network of the engine. */
static int require_proxy(const struct docker *d, struct sandbox_spec *spec,
			 struct error *err)
{
	static const struct network full = { .mode = NETWORK_LIST,
					     .open = true };
	const char *network = NULL;

	if (!spec->secrets || spec->network->mode == NETWORK_LIST)
		return 0;
	if (spec->network->mode == NETWORK_DEFAULT &&
	    settings_string(d->settings, "docker", "network", &network, err) <
		    0)
		return -1;
	if (network && *network)
		return error_set(err, ERR_USAGE,
				 "a container in the network %s cannot have "
				 "secrets: use a list of hosts",
				 network);
	spec->network = &full;
	return 0;
}

static int docker_create(struct sandbox *sb, const struct sandbox_spec *given,
			 const struct stop *stop, struct error *err)
{
	struct docker *d = docker_of(sb->client);
	struct sandbox_spec chosen = *given;
	const struct sandbox_spec *spec = &chosen;
	cJSON *inspected = NULL;
	char *image = NULL;
	int rc;

	if (!engine_name_ok(spec->label))
		rc = error_set(err, ERR_USAGE, "not a label: '%s'",
			       spec->label);
	else if (spec->snapshot && !engine_name_ok(spec->snapshot))
		rc = fail_no_snapshot(spec->snapshot, err);
	else if (require_proxy(d, &chosen, err) < 0)
		rc = -1;
	else
		rc = docker_image(d, spec, &image, err);
	if (rc < 0) {
		err->nothing_made = true;
		return -1;
	}
	rc = -1;
	if (create_limited(sb, spec, image, stop, err) == 0 &&
	    engine_inspect(&d->engine, sb->id, &inspected, stop, err) == 0 &&
	    docker_check_runtime(d, inspected, err) == 0) {
		fill_sandbox(sb, spec->secrets, true, inspected);
		rc = docker_is_bound(sb)
			     ? 0
			     : docker_give_workdir(d, sb, inspected, stop, err);
		if (rc == 0)
			rc = docker_network_open(sb->priv, inspected, stop,
						 err);
	}
	cJSON_Delete(inspected);
	free(image);
	return rc;
}

/* Starts a stopped container or resumes a paused one. A started container is
 * inspected again, since some end as soon as they start. */
static int ensure_running(struct sandbox *sb, cJSON **inspected,
			  const struct stop *stop, struct error *err)
{
	struct engine *e = engine_of(sb->client);
	const cJSON *state = json_get(*inspected, "State");

	if (json_bool(state, "Paused", false))
		return engine_post(e, sb->id, "/unpause",
				   "resuming the container", stop, err);
	if (json_bool(state, "Running", false))
		return 0;
	if (start_container(e, sb->id, stop, err) < 0 ||
	    stop_sleep(stop, 100, err) < 0)
		return -1;
	cJSON_Delete(*inspected);
	*inspected = NULL;
	if (engine_inspect(e, sb->id, inspected, stop, err) < 0)
		return -1;
	if (json_bool(json_get(*inspected, "State"), "Running", false))
		return 0;
	return error_set(err, ERR_GONE,
			 "the container ends as soon as it is started");
}

static int docker_attach(struct sandbox *sb, const char *id,
			 const struct stop *stop, struct error *err)
{
	struct engine *e = engine_of(sb->client);
	cJSON *inspected = NULL;
	int rc = -1;

	if (engine_inspect(e, id, &inspected, stop, err) == 0 &&
	    set_id(sb, inspected, err) == 0 &&
	    ensure_running(sb, &inspected, stop, err) == 0) {
		fill_sandbox(sb, &sb->secrets, false, inspected);
		rc = docker_network_open(sb->priv, inspected, stop, err);
	}
	cJSON_Delete(inspected);
	return rc;
}

static void docker_discard(struct sandbox *sb)
{
	docker_box_free(sb->priv);
	sb->priv = NULL;
}

static void docker_settle(struct sandbox *sb, char notice[SANDBOX_NOTICE])
{
	if (sb->priv)
		docker_box_take_notice(sb->priv, notice);
}

/* True if the process on this machine is the container's. Attack, or accident:
 * the engine is on another machine, and the number is that of another process
 * here. */
static bool is_container(int64_t pid, const char *id)
{
	struct buf groups = BUF_INIT(CGROUP_MAX);
	struct error ignored = { 0 };
	char path[64];
	bool is;

	snprintf(path, sizeof(path), "/proc/%lld/cgroup", (long long)pid);
	is = pid > 1 && strlen(id) >= ID_LEAST &&
	     path_read(path, &groups, &ignored) == 0 &&
	     str_search(buf_str(&groups), str_of(id)) < groups.len;
	buf_release(&groups);
	return is;
}

/* Implements port_ops.dial: through the container's network namespace, if
 * this process may enter it, else through a command. */
static int docker_dial(struct sandbox *sb, unsigned port,
		       struct port_link *link, const struct stop *stop,
		       struct error *err)
{
	const struct docker_box *box = sb->priv;
	struct engine *e = &box->docker->engine;
	cJSON *inspected = NULL;
	int64_t pid;
	bool here;
	int rc = engine_inspect(e, sb->id, &inspected, stop, err);

	if (rc < 0)
		return -1;
	pid = json_int(json_get(inspected, "State"), "Pid", 0);
	here = e->socket && is_container(pid, json_string(inspected, "Id", ""));
	cJSON_Delete(inspected);
	if (here) {
		rc = ports_dial_inside((pid_t)pid, port, link, stop, err);
		if (rc == 0 || err->code != ERR_USAGE)
			return rc;
		*err = (struct error){ 0 };
	}
	return ports_dial_by_command(sb, sandbox_execute, port, link, stop,
				     err);
}

static const struct port_ops port_ops = { .dial = docker_dial };

static const struct sandbox_ops ops = {
	.open = docker_open,
	.close = docker_close,
	.create = docker_create,
	.attach = docker_attach,
	.list = docker_list,
	.info = docker_info,
	.set_network = docker_set_network,
	.get_network = docker_get_network,
	.proxy = &docker_reach,
	.snapshot = docker_snapshot,
	.find_snapshot = docker_find_snapshot,
	.ports = &port_ops,
	.remove_snapshot = docker_remove_snapshot,
	.execute = docker_execute,
	.shell = docker_execute,
	.settle = docker_settle,
	.stop = docker_stop,
	.remove = docker_remove,
	.discard = docker_discard,
};

/* For --workspace bind: the engine mounts the user's directory. */
static const struct sandbox_binding docker_binding = {
	.key = "bind",
	.path_key = "workdir",
	.by_engine = true,
};

const struct sandbox_provider docker_provider = {
	.name = "docker",
	.summary = "containers of Docker or Podman",
	.also = "podman",
	.also_summary = "containers of Podman, by the provider docker",
	.workdir = "/workspace",
	.flags = SANDBOX_ATTACH | SANDBOX_SNAPSHOT | SANDBOX_LIVE |
		 SANDBOX_STDIN | SANDBOX_NETWORK | SANDBOX_LIST |
		 SANDBOX_STAYS | SANDBOX_PLACED,
	.max_command = COMMAND_MAX,
	.lifetime_s = LIFETIME_S,
	.settings = docker_settings,
	.url_env = (const char *const[]){ "DOCKER_HOST", NULL },
	.ops = &ops,
	.price = rates_nothing,
	.isolation = ISOLATION_CONTAINER,
	.binding = &docker_binding,
	.network = &egress_limits,
	.secrets = &egress_secret_limits,
	.topic = "docker",
};
