/* network.c - a container that reaches only the listed hosts. */
/* SPDX-License-Identifier: MIT */
/*
 * The container is created without a network, with a resolv.conf that names
 * dcode's DNS server, and with the list as a label. When it runs, dcode's proxy
 * enters its network namespace (egress/egress.h). After a restart the container
 * has a new namespace without a way out, until docker_network_open() runs
 * again. A label cannot be changed: a list that was changed later is in a file
 * of dcode's directory, which another dcode reads instead.
 */
#include <dirent.h>
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
#include "sandbox/reach.h"

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

/* Returns -1 if dcode cannot enforce a list for containers of this engine. */
static int check_engine(const struct docker *d, const struct network *n,
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
	int rc = check_engine(d, n, err);

	if (rc == 0)
		rc = write_resolv(path, err);

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

/* Returns the path of the file with the changed list of a container, owned. */
static char *record_path(const struct docker *d, const char *id)
{
	return xasprintf("%s/.state/container-networks/%s",
			 settings_dir(d->settings), id);
}

/* Stores the list for the next dcode that attaches. */
static int write_record(const struct docker *d, const char *id,
			const struct network *n, struct error *err)
{
	struct buf text = BUF_INIT(LABEL_BYTES);
	char *path = record_path(d, id);
	char *dir = xstrdup(path);
	int rc;

	*strrchr(dir, '/') = '\0';
	network_print_lines(n, &text);
	rc = buf_check(&text, "the list of hosts", err);
	if (rc == 0)
		rc = path_mkdirs(dir, 0700, err);
	if (rc == 0)
		rc = path_write(path, buf_str(&text), 0600, err);
	buf_release(&text);
	free(path);
	free(dir);
	return rc;
}

void docker_network_sweep(struct docker *d, const struct stop *stop)
{
	char *dir = record_path(d, "");
	DIR *list = opendir(dir); /* seldom there */
	const struct dirent *e;

	while (list && (e = readdir(list))) {
		char *path = record_path(d, e->d_name);
		struct error err = { 0 };
		cJSON *inspected = NULL;

		if (engine_name_ok(e->d_name) &&
		    engine_inspect(&d->engine, e->d_name, &inspected, stop,
				   &err) < 0 &&
		    err.code == ERR_NOT_FOUND)
			(void)unlink(path);
		cJSON_Delete(inspected);
		free(path);
	}
	if (list)
		closedir(list);
	(void)rmdir(dir); /* unless there are more */
	free(dir);
}

/* Reads the container's list into n. 0: it was made without one. */
static int read_list(const struct docker *d, const cJSON *inspected,
		     struct network *n, struct error *err)
{
	const cJSON *labels = json_get(json_get(inspected, "Config"), "Labels");
	struct str label = str_of(json_string(labels, LABEL, ""));
	char *path = record_path(d, json_string(inspected, "Id", ""));
	struct buf text = BUF_INIT(LABEL_BYTES);
	struct error why = { 0 };
	int rc = 0;

	if (label.len && path_read(path, &text, &why) < 0) {
		buf_addstr(&text, label);
		if (why.code != ERR_NOT_FOUND) {
			*err = why;
			rc = -1;
		}
	}
	if (rc == 0 && label.len)
		rc = network_parse_lines(n, buf_str(&text), err) < 0 ? -1 : 1;
	buf_release(&text);
	free(path);
	return rc;
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

/* True if a proxy of this process guards the container. */
static bool is_guarded(struct docker_box *box)
{
	bool guards;

	pthread_mutex_lock(&box->lock);
	guards = box->egress != NULL;
	pthread_mutex_unlock(&box->lock);
	return guards;
}

/* Sets n to the list in force. Returns 1; 0 if the container needs no proxy, or
 * has one. */
static int choose_list(struct docker_box *box, const cJSON *inspected,
		       pid_t pid, struct network *n, struct error *err)
{
	bool serves = false;
	bool known;

	pthread_mutex_lock(&box->lock);
	known = box->egress;
	if (known)
		serves = egress_serves(box->egress, pid);
	if (known && !serves)
		egress_copy_list(box->egress, n);
	pthread_mutex_unlock(&box->lock);
	if (known)
		return !serves;
	return read_list(box->docker, inspected, n, err);
}

/* Sets the box's proxy, or NULL. yields: see struct docker_box. */
static void set_proxy(struct docker_box *box, struct egress *new, bool yields)
{
	struct egress *old;

	pthread_mutex_lock(&box->lock);
	old = box->egress;
	box->egress = new;
	box->yields = yields;
	if (new && box->gate)
		egress_set_gate(new, box->gate);
	pthread_mutex_unlock(&box->lock);
	egress_end(old);
}

/* Call with box->opening held. */
static int open_way(struct docker_box *box, const cJSON *inspected,
		    const struct stop *stop, struct error *err)
{
	pid_t pid = (pid_t)json_int(json_get(inspected, "State"), "Pid", 0);
	struct network n = { 0 };
	const struct egress_policy policy = { &n, &box->secrets };
	struct egress *new = NULL;
	int most = box->yields ? 0 : BUSY_TRIES;
	bool yields; /* also after a failure: the next command tries again */
	int rc = choose_list(box, inspected, pid, &n, err);

	if (rc == 0)
		return 0;
	if (rc > 0 && !is_here(box->docker, pid))
		rc = error_set(err, ERR_SYSTEM,
			       "the container does not run on this machine, so "
			       "dcode cannot filter its network by host");
	/* ERR_BUSY: another dcode serves this container, or one that has just
	 * ended still does. A command does not wait for it. */
	for (int try = 0;
	     rc > 0 || (rc < 0 && err->code == ERR_BUSY && try < most &&
			stop_sleep(stop, BUSY_MS, err) == 0);
	     try++)
		rc = egress_start(&new, &policy, pid, stop, err);
	if (rc == 0)
		rc = egress_write_trust_inside(new, pid, err);
	yields = rc < 0;
	if (yields) {
		egress_end(new);
		new = NULL;
	}
	set_proxy(box, new, yields);
	network_release(&n);
	return yields && err->code != ERR_BUSY ? -1 : 0;
}

int docker_network_open(struct docker_box *box, const cJSON *inspected,
			const struct stop *stop, struct error *err)
{
	int rc;

	pthread_mutex_lock(&box->opening);
	rc = open_way(box, inspected, stop, err);
	pthread_mutex_unlock(&box->opening);
	return rc;
}

/* True if no proxy of this process serves the container's first process,
 * although one should. */
static bool is_stale(struct docker_box *box)
{
	bool stale;

	pthread_mutex_lock(&box->lock);
	stale = box->yields ||
		(box->egress && !egress_serves(box->egress, (pid_t)box->init));
	pthread_mutex_unlock(&box->lock);
	return stale;
}

int docker_network_renew(struct sandbox *sb, bool *guarded,
			 const struct stop *stop, struct error *err)
{
	struct docker_box *box = sb->priv;
	cJSON *inspected = NULL;
	int64_t pid;
	int rc = 0;

	*guarded = is_guarded(box);
	if (!is_stale(box))
		return 0;
	pthread_mutex_lock(&box->opening);
	if (is_stale(box))
		rc = engine_inspect(&box->docker->engine, sb->id, &inspected,
				    stop, err);
	pid = json_int(json_get(inspected, "State"), "Pid", 0);
	/* if the container has ended, the command fails by itself */
	if (rc == 0 && pid > 1) {
		pthread_mutex_lock(&box->lock);
		box->init = pid;
		pthread_mutex_unlock(&box->lock);
		rc = open_way(box, inspected, stop, err);
	}
	pthread_mutex_unlock(&box->opening);
	*guarded = rc == 0 && is_guarded(box);
	cJSON_Delete(inspected);
	return rc;
}

/* Implements reach_ops.widen. */
static int widen_network(struct sandbox *sb, const struct network *n,
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
				     "no proxy of this dcode guards the "
				     "container: it was made without a list of "
				     "hosts, or another dcode uses it");
	pthread_mutex_unlock(&box->lock);
	return rc;
}

/* The record is written first: what attaches later must not believe that the
 * container may reach less than it may. */
int docker_set_network(struct sandbox *sb, const struct network *n,
		       const struct stop *stop, struct error *err)
{
	struct docker_box *box = sb->priv;
	struct network old = { 0 };
	struct error ignored = { 0 };
	cJSON *inspected = NULL;
	int rc;

	if (!is_guarded(box))
		return widen_network(sb, n, stop, err);
	rc = engine_inspect(&box->docker->engine, sb->id, &inspected, stop,
			    err);
	if (rc == 0 && (rc = read_list(box->docker, inspected, &old, err)) >= 0)
		rc = write_record(box->docker, sb->id, n, err);
	if (rc == 0 && (rc = widen_network(sb, n, stop, err)) < 0)
		(void)write_record(box->docker, sb->id, &old, &ignored);
	cJSON_Delete(inspected);
	network_release(&old);
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
		rc = read_list(box->docker, inspected, n, err);
	mode = json_string(json_get(inspected, "HostConfig"), "NetworkMode",
			   "");
	if (rc == 0)
		n->mode = !strcmp(mode, "none") ? NETWORK_NONE : NETWORK_FULL;
	cJSON_Delete(inspected);
	return rc < 0 ? -1 : 0;
}

/* Implements reach_ops.take_contacts. */
static void take_contacts(struct sandbox *sb, struct network_contacts *c)
{
	struct docker_box *box = sb->priv;

	if (!box)
		return;
	pthread_mutex_lock(&box->lock);
	if (box->egress)
		egress_take(box->egress, c);
	pthread_mutex_unlock(&box->lock);
}

/* Implements reach_ops.set_gate. */
static bool set_gate(struct sandbox *sb, const struct network_gate *gate)
{
	struct docker_box *box = sb->priv;
	bool guards;

	if (!box)
		return false;
	pthread_mutex_lock(&box->lock);
	guards = box->egress || box->yields;
	box->gate = guards ? gate : NULL;
	if (box->egress)
		egress_set_gate(box->egress, gate);
	pthread_mutex_unlock(&box->lock);
	return guards;
}

/* Implements reach_ops.report. */
static void report(struct sandbox *sb, char notice[SANDBOX_NOTICE])
{
	struct docker_box *box = sb->priv;

	if (!box)
		return;
	pthread_mutex_lock(&box->lock);
	if (box->egress)
		egress_report(box->egress, notice, SANDBOX_NOTICE);
	pthread_mutex_unlock(&box->lock);
}

const struct reach_ops docker_reach = { widen_network, take_contacts, set_gate,
					report };
