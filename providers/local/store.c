/* store.c - the directories of local sandboxes and who runs in them. */
/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/str.h"
#include "providers/local/local.h"

enum {
	META_MAX = 64 << 10, /* bytes of sandbox.json */
	NAME_LENGTH = 64,
	END_MS = 2000,
};

bool local_id_ok(const char *id)
{
	size_t n = 0;

	for (; id && id[n]; n++)
		if (!strchr("abcdefghijklmnopqrstuvwxyz"
			    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_",
			    id[n]) ||
		    n >= NAME_LENGTH)
			return false;
	return n > 0;
}

static char *settings_path(const struct sandbox_client *client, const char *dir,
			   const char *name)
{
	return xasprintf("%s/%s%s%s", settings_dir(client->settings), dir,
			 name ? "/" : "", name ? name : "");
}

char *local_dir(const struct sandbox_client *client, const char *id)
{
	return settings_path(client, "sandboxes", id);
}

char *local_snapshot_dir(const struct sandbox_client *client, const char *name)
{
	return settings_path(client, "snapshots", name);
}

int local_meta_write(const char *dir, const struct local_meta *m,
		     struct error *err)
{
	struct buf text = BUF_INIT(META_MAX);
	char *path = path_join(dir, "sandbox.json");
	int rc;

	buf_adds(&text, "{\"version\":1,");
	json_member(&text, "owner", str_of(m->owner));
	buf_addf(&text, ",\"created\":%lld,\"ends\":%lld,\"network\":%s",
		 (long long)m->created, (long long)m->ends,
		 m->network ? "true" : "false");
	if (m->bind) {
		buf_addc(&text, ',');
		json_member(&text, "bind", str_of(m->bind));
	}
	buf_adds(&text, "}\n");
	rc = buf_check(&text, "sandbox.json", err);
	if (rc == 0)
		rc = path_write(path, buf_str(&text), 0600, err);
	buf_release(&text);
	free(path);
	return rc;
}

int local_meta_read(const char *dir, struct local_meta *m, struct error *err)
{
	struct buf text = BUF_INIT(META_MAX);
	char *path = path_join(dir, "sandbox.json");
	cJSON *tree = NULL;
	int rc = path_read(path, &text, err);

	*m = (struct local_meta){ 0 };
	if (rc == 0) {
		tree = json_parse(buf_str(&text));
		if (!cJSON_IsObject(tree))
			rc = error_set(err, ERR_PROTOCOL, "%s is damaged",
				       path);
	}
	if (rc == 0) {
		snprintf(m->owner, sizeof(m->owner), "%s",
			 json_string(tree, "owner", ""));
		m->created = json_int(tree, "created", 0);
		m->ends = json_int(tree, "ends", 0);
		m->network = json_bool(tree, "network", false);
		m->bind = xstrdup(json_string(tree, "bind", NULL));
	}
	cJSON_Delete(tree);
	buf_release(&text);
	free(path);
	return rc;
}

void local_meta_release(struct local_meta *m)
{
	free(m->bind);
	m->bind = NULL;
}

/* The process of a run.PID.START file; 0 when it has ended. */
static pid_t parse_mark(const char *name)
{
	unsigned long long started;
	int end = 0;
	int pid;

	if (sscanf(name, "run.%d.%llu%n", &pid, &started, &end) != 2 ||
	    name[end] || pid <= 1 || started == 0)
		return 0;
	return proc_started(pid) == started ? pid : 0;
}

int local_running(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int n = 0;

	while (d && (e = readdir(d)))
		n += parse_mark(e->d_name) > 0;
	if (d)
		closedir(d);
	return n;
}

/* Kills everything in the sandbox first: bubblewrap's own process ends once the
 * kernel has cleared it. */
static int end_one(pid_t pid, const struct stop *stop, struct error *err)
{
	struct proc_tree tree = { .root = pid, .spare_root = true };
	struct stop limit = stop_within(stop, END_MS);
	struct error ignored = { 0 };
	struct pollfd set = { .events = POLLIN };
	int rc = -1;

	set.fd = proc_fd(pid, &ignored);
	if (set.fd < 0)
		return 0; /* gone meanwhile */
	while (rc < 0 && stop_check(&limit, err) == 0) {
		(void)proc_tree_kill(&tree);
		if (poll(&set, 1, 20) > 0)
			rc = 0;
		tree.spare_root = false;
	}
	close(set.fd);
	return rc;
}

int local_end(const char *dir, const struct stop *stop, struct error *err)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int rc = 0;

	if (!d)
		return 0;
	while (rc == 0 && (e = readdir(d))) {
		pid_t pid = parse_mark(e->d_name);

		if (pid > 0)
			rc = end_one(pid, stop, err);
	}
	closedir(d);
	return rc;
}
