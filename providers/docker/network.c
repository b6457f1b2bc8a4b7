/* network.c - a container that reaches only the listed hosts. */
/* SPDX-License-Identifier: MIT */
/*
 * The container is created without a network, with a resolv.conf that names
 * dcode's DNS server, and with the list as a label. When it runs, dcode's proxy
 * enters its network namespace (egress/egress.h). After a restart the container
 * has a new namespace without a way out, until docker_network_open() runs
 * again.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "providers/docker/docker.h"

#define LABEL "dcode.network"

enum {
	LABEL_BYTES = 256 << 10,
	BUSY_TRIES = 10,
	BUSY_MS = 50,
};

/* Returns the path of the resolv.conf that containers mount, owned. */
static char *resolv_path(const struct docker *d)
{
	return xasprintf("%s/.state/resolv.conf", settings_dir(d->settings));
}

int docker_network_check(const struct docker *d, const struct network *n,
			 struct error *err)
{
	struct stat st;

	if (!d->engine.socket || stat(d->engine.socket, &st) < 0)
		return error_set(err, ERR_USAGE,
				 "the engine at %s is on another machine, so "
				 "dcode cannot filter the network of its "
				 "containers by host",
				 d->engine.shown);
	if (geteuid() != 0 && st.st_uid != geteuid()) {
		error_set(err, ERR_USAGE,
			  "only root can filter the network of containers of "
			  "the engine at %s by host",
			  d->engine.shown);
		return error_hint(err, "Use a rootless Podman, --sandbox local "
				       "or --sandbox-network none.");
	}
	return egress_check(n, err);
}

/* Writes the file, unless it is there: running containers have it mounted. */
static int write_resolv(const char *path, struct error *err)
{
	struct buf text = BUF_INIT(4096);
	struct error ignored = { 0 };
	bool same = path_read(path, &text, &ignored) == 0 &&
		    str_is(buf_str(&text), EGRESS_RESOLV_CONF);
	char *dir = xstrdup(path);
	int rc = 0;

	*strrchr(dir, '/') = '\0';
	if (!same && (path_mkdirs(dir, 0700, err) < 0 ||
		      path_write(path, STR(EGRESS_RESOLV_CONF), 0644, err) < 0))
		rc = -1;
	free(dir);
	buf_release(&text);
	return rc;
}

int docker_network_add(const struct docker *d, const struct network *n,
		       cJSON *body, struct error *err)
{
	struct buf list = BUF_INIT(LABEL_BYTES);
	cJSON *config = cJSON_GetObjectItem(body, "HostConfig");
	cJSON *mounts = cJSON_GetObjectItem(config, "Mounts");
	cJSON *mount = cJSON_CreateObject();
	char *path = resolv_path(d);
	int rc = write_resolv(path, err);

	if (!mounts)
		mounts = cJSON_AddArrayToObject(config, "Mounts");
	cJSON_AddStringToObject(mount, "Type", "bind");
	cJSON_AddStringToObject(mount, "Source", path);
	cJSON_AddStringToObject(mount, "Target", "/etc/resolv.conf");
	cJSON_AddBoolToObject(mount, "ReadOnly", true);
	cJSON_AddItemToArray(mounts, mount);
	network_print_lines(n, &list);
	if (rc == 0)
		rc = buf_check(&list, "the list of hosts", err);
	cJSON_AddStringToObject(cJSON_GetObjectItem(body, "Labels"), LABEL,
				list.ptr ? list.ptr : "");
	buf_release(&list);
	free(path);
	return rc;
}

/* Reads the label into n. 0: the container has none. */
static int read_label(const cJSON *inspected, struct network *n,
		      struct error *err)
{
	const cJSON *labels = json_get(json_get(inspected, "Config"), "Labels");
	struct str text = str_of(json_string(labels, LABEL, ""));

	if (!text.len)
		return 0;
	return network_parse_lines(n, text, err) < 0 ? -1 : 1;
}

/* True if the process is the container's: it sees the file that was mounted.
 * Attack, or accident: the engine is on another machine, and the number is that
 * of another process here. */
static bool is_here(const struct docker *d, int64_t pid)
{
	char *ours = resolv_path(d);
	char theirs[64];
	struct stat a;
	struct stat b;
	bool same;

	snprintf(theirs, sizeof(theirs), "/proc/%lld/root/etc/resolv.conf",
		 (long long)pid);
	same = pid > 1 && stat(ours, &a) == 0 && stat(theirs, &b) == 0 &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
	free(ours);
	return same;
}

int docker_network_open(struct docker_box *box, const cJSON *inspected,
			const struct stop *stop, struct error *err)
{
	int64_t pid = json_int(json_get(inspected, "State"), "Pid", 0);
	struct network n = { 0 };
	const struct egress_policy policy = { &n, &box->secrets };
	struct egress *new = NULL;
	struct egress *old;
	int rc = read_label(inspected, &n, err);

	if (rc > 0 && !is_here(box->docker, pid))
		rc = error_set(err, ERR_SYSTEM,
			       "the container does not run on this machine, so "
			       "dcode cannot filter its network by host");
	/* Busy: another dcode that uses this container serves it, or one that
	 * has just ended did. */
	for (int try = 0;
	     rc > 0 || (rc < 0 && err->code == ERR_BUSY && try < BUSY_TRIES &&
			stop_sleep(stop, BUSY_MS, err) == 0);
	     try++)
		rc = egress_start(&new, &policy, (pid_t)pid, stop, err);
	if (rc < 0 && err->code == ERR_BUSY)
		rc = 0;
	else if (rc == 0 && new)
		rc = egress_write_trust_inside(new, (pid_t)pid, err);
	pthread_mutex_lock(&box->lock);
	old = box->egress;
	box->egress = new;
	if (new && box->gate)
		egress_set_gate(new, box->gate);
	pthread_mutex_unlock(&box->lock);
	egress_end(old);
	network_release(&n);
	return rc < 0 ? -1 : 0;
}

void docker_network_report(struct docker_box *box, char notice[SANDBOX_NOTICE])
{
	pthread_mutex_lock(&box->lock);
	if (box->egress && !notice[0])
		egress_report(box->egress, notice, SANDBOX_NOTICE);
	pthread_mutex_unlock(&box->lock);
}

int docker_set_network(struct sandbox *sb, const struct network *n,
		       const struct stop *stop, struct error *err)
{
	struct docker_box *box = sb->priv;
	int rc;

	if (n->mode != NETWORK_LIST || egress_check(n, err) < 0)
		return n->mode == NETWORK_LIST
			       ? -1
			       : error_set(err, ERR_USAGE,
					   "a container's network can only be "
					   "changed to a list of hosts");
	pthread_mutex_lock(&box->lock);
	rc = box->egress ? egress_change(box->egress, n, stop, err)
			 : error_set(err, ERR_USAGE,
				     "this container was made without a list "
				     "of hosts");
	pthread_mutex_unlock(&box->lock);
	return rc;
}

int docker_get_network(struct sandbox *sb, struct network *n,
		       const struct stop *stop, struct error *err)
{
	const struct docker_box *box = sb->priv;
	cJSON *inspected = NULL;
	const char *mode;
	int rc = engine_inspect(&box->docker->engine, sb->id, &inspected, stop,
				err);

	network_release(n);
	if (rc == 0)
		rc = read_label(inspected, n, err);
	mode = json_string(json_get(inspected, "HostConfig"), "NetworkMode",
			   "");
	if (rc == 0)
		n->mode = !strcmp(mode, "none") ? NETWORK_NONE : NETWORK_FULL;
	cJSON_Delete(inspected);
	return rc < 0 ? -1 : 0;
}
