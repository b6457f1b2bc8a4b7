/* store.c - the user's file of what he has allowed. */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/stop.h"
#include "base/str.h"
#include "trust/trust_impl.h"

enum { FILE_MAX = 8 << 20, MOST_RECORDS = 5000, LOCK_MS = 5000 };

static cJSON *empty_store(void)
{
	cJSON *store = cJSON_CreateObject();

	cJSON_AddNumberToObject(store, "version", 1);
	cJSON_AddArrayToObject(store, "allowed");
	return store;
}

/* 0, 1: there is no file, -1 with err. */
static int check_owner(const char *path, struct error *err)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return errno == ENOENT ? 1 : error_errno(err, "%s", path);
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    st.st_mode & (S_IWGRP | S_IWOTH)) {
		error_set(err, ERR_CONFIG,
			  "%s is not used, because others may write to it",
			  path);
		return error_hint(err, "Run chmod 600 %s, or remove it.", path);
	}
	return 0;
}

cJSON *trust_store_read(const char *path, struct error *err)
{
	struct buf text = BUF_INIT(FILE_MAX);
	cJSON *store = NULL;
	int rc = check_owner(path, err);

	if (rc > 0)
		return empty_store();
	if (rc == 0 && path_read(path, &text, err) == 0) {
		store = json_parse(buf_str(&text));
		if (!store || !cJSON_IsArray(json_get(store, "allowed")) ||
		    json_int(store, "version", 0) != 1) {
			cJSON_Delete(store);
			store = NULL;
			error_set(err, ERR_CONFIG, "%s is damaged", path);
			error_hint(err, "Remove it; dcode asks again.");
		}
	}
	buf_release(&text);
	return store;
}

static int write_store(const char *path, const cJSON *store, struct error *err)
{
	struct buf text = BUF_INIT(FILE_MAX);
	int rc;

	json_print(&text, store);
	buf_addc(&text, '\n');
	rc = buf_check(&text, path, err);
	if (rc == 0)
		rc = path_write(path, buf_str(&text), 0600, err);
	buf_release(&text);
	return rc;
}

/* Until the descriptor is closed no other dcode changes the file. */
static int lock_store(const char *path, struct error *err)
{
	char *dir = xstrndup(path, (size_t)(strrchr(path, '/') - path));
	char *lock = xasprintf("%s.lock", path);
	struct stop soon = stop_cleanup(LOCK_MS);
	int fd = path_mkdirs(dir, 0700, err);

	if (fd == 0)
		fd = path_lock(lock, &soon, err);
	free(lock);
	free(dir);
	return fd;
}

static cJSON *make_record(const struct trust_entry *e, const char *hex)
{
	cJSON *record = cJSON_CreateObject();
	char *root = realpath(e->root, NULL);
	int64_t now = clock_unix_ms() / 1000; /* Unix seconds */

	cJSON_AddStringToObject(record, "sha256", hex);
	cJSON_AddStringToObject(record, "kind", trust_kind_name(e->kind));
	cJSON_AddStringToObject(record, "root", root ? root : e->root);
	cJSON_AddStringToObject(record, "file", e->file ? e->file : "");
	cJSON_AddStringToObject(record, "name", e->name ? e->name : "");
	cJSON_AddNumberToObject(record, "when", (double)now);
	free(root);
	return record;
}

int trust_store_add(const char *path, const struct trust_entry *e,
		    const char *hex, struct error *err)
{
	int fd = lock_store(path, err);
	cJSON *store = fd < 0 ? NULL : trust_store_read(path, err);
	int rc = -1;

	if (store) {
		cJSON *list =
			cJSON_GetObjectItemCaseSensitive(store, "allowed");

		cJSON_AddItemToArray(list, make_record(e, hex));
		while (cJSON_GetArraySize(list) > MOST_RECORDS)
			cJSON_DeleteItemFromArray(list, 0);
		rc = write_store(path, store, err);
	}
	cJSON_Delete(store);
	if (fd >= 0)
		close(fd);
	return rc;
}

int trust_store_remove(const char *path, const char *root, struct error *err)
{
	int fd = lock_store(path, err);
	cJSON *store = fd < 0 ? NULL : trust_store_read(path, err);
	int removed = 0;
	int rc = -1;

	if (store) {
		cJSON *list =
			cJSON_GetObjectItemCaseSensitive(store, "allowed");

		for (int i = cJSON_GetArraySize(list) - 1; i >= 0; i--) {
			const cJSON *r = cJSON_GetArrayItem(list, i);

			if (root && strcmp(json_string(r, "root", ""), root))
				continue;
			cJSON_DeleteItemFromArray(list, i);
			removed++;
		}
		rc = removed ? write_store(path, store, err) : 0;
	}
	cJSON_Delete(store);
	if (fd >= 0)
		close(fd);
	return rc < 0 ? -1 : removed;
}
