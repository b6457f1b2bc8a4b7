/* vault.c - stored keys, sealed on disk, in locked memory once opened. */
/* SPDX-License-Identifier: MIT */
#include "config/vault.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "config/vault_impl.h"

enum { ATTEMPTS = 3 };

void vault_close(struct vault *v)
{
	if (!v)
		return;
	sodium_free(v->text);
	sodium_free(v->plain);
	free(v->entries);
	free(v);
}

size_t vault_list(const struct vault *v, const struct vault_entry **list)
{
	*list = v->entries;
	return v->n;
}

const struct vault_entry *vault_find(const struct vault *v, const char *name)
{
	for (size_t i = 0; i < v->n; i++)
		if (!strcmp(v->entries[i].name, name))
			return &v->entries[i];
	return NULL;
}

static int open_by_phrase(struct vault_seal *seal, struct str file,
			  const struct vault_ask *ask, char **text, size_t *len,
			  struct error *err)
{
	char *room;
	int rc = -1;

	if (!ask)
		return error_set(err, ERR_CONFIG, "it needs a passphrase");
	room = vault_memory(VAULT_PHRASE_MAX);
	for (int i = 0; i < ATTEMPTS && rc < 0; i++) {
		struct error why = { 0 };
		int n = ask->passphrase(ask->arg, i, room, VAULT_PHRASE_MAX,
					&why);

		if (n < 0 && i == 0)
			*err = why;
		if (n < 0)
			break;
		error_set(err, ERR_CONFIG,
			  "wrong passphrase, or the file is damaged");
		if (vault_seal_derive(seal, (struct str){ room, (size_t)n },
				      err) < 0)
			break;
		rc = vault_unseal(seal, file, text, len);
	}
	sodium_free(room);
	return rc;
}

static int open_by_file(struct vault_seal *seal, struct str file,
			const char *dir, char **text, size_t *len,
			struct error *err)
{
	char *path = path_join(dir, "credentials.key");
	int rc = vault_seal_file(seal, path, false, err);

	if (rc == 0 && vault_unseal(seal, file, text, len) < 0)
		rc = error_set(err, ERR_CONFIG,
			       "the file is damaged, or was not sealed with %s",
			       path);
	free(path);
	return rc;
}

/* The sealed part; leaves its seal, secret and all, to the caller. */
static int read_sealed(struct vault *v, struct vault_seal *seal,
		       const char *dir, const struct vault_ask *ask,
		       struct error *err)
{
	struct buf file = BUF_INIT(VAULT_FILE_MAX);
	char *path = path_join(dir, "credentials");
	char *text = NULL;
	size_t len = 0;
	int rc = 0;

	if (access(path, F_OK) < 0 && errno == ENOENT)
		goto out;
	rc = path_read(path, &file, err);
	if (rc == 0)
		rc = vault_seal_read(seal, buf_str(&file), err);
	if (rc == 0)
		rc = seal->phrase ? open_by_phrase(seal, buf_str(&file), ask,
						   &text, &len, err)
				  : open_by_file(seal, buf_str(&file), dir,
						 &text, &len, err);
	if (rc == 0 && vault_records_read(v, text, len, false) < 0)
		rc = error_set(err, ERR_CONFIG, "the file is damaged");
	if (rc < 0)
		error_wrap(err, "%s", path);
out:
	buf_release(&file);
	free(path);
	return rc;
}

static int open_all(struct vault **out, struct vault_seal *seal,
		    const char *dir, const struct vault_ask *ask,
		    struct error *err)
{
	struct vault *v = xcalloc(1, sizeof(*v));
	char *legacy = path_join(dir, "auth.json");

	if (read_sealed(v, seal, dir, ask, err) < 0) {
		vault_close(v);
		free(legacy);
		return -1;
	}
	vault_records_legacy(v, legacy);
	free(legacy);
	*out = v;
	return 0;
}

int vault_open(struct vault **v, const char *dir, const struct vault_ask *ask,
	       struct error *err)
{
	struct vault_seal seal = { 0 };
	int rc = open_all(v, &seal, dir, ask, err);

	vault_seal_release(&seal);
	return rc;
}

/* Returns the locked file, -1 on failure. */
static int lock(const char *dir, const struct stop *stop, struct error *err)
{
	char *path = path_join(dir, "credentials.lock");
	int fd = path_lock(path, stop, err);

	if (fd < 0 && err->code == ERR_TIMEOUT)
		error_set(err, ERR_TIMEOUT,
			  "another dcode is changing the stored keys");
	free(path);
	return fd;
}

/* What writers that were killed left: NAME and a dot and six characters. */
static void sweep(const char *dir)
{
	static const char *const names[] = { "credentials.",
					     "credentials.key." };
	DIR *entries = opendir(dir);
	struct dirent *e;

	while (entries && (e = readdir(entries)))
		for (size_t i = 0; i < 2; i++) {
			size_t len = strlen(names[i]);

			if (strncmp(e->d_name, names[i], len) == 0 &&
			    strlen(e->d_name) == len + 6)
				(void)unlinkat(dirfd(entries), e->d_name, 0);
		}
	if (entries)
		closedir(entries);
}

/* The seal of the file to write: the one it had, or a new one. */
static int choose_seal(struct vault_seal *seal, const char *key,
		       const struct vault_change *change, struct error *err)
{
	if (change->phrase.len)
		return vault_seal_phrase(seal, change->phrase, err);
	return seal->secret ? 0 : vault_seal_file(seal, key, true, err);
}

static int rewrite(const char *dir, const struct vault *v,
		   struct vault_seal *seal, const struct vault_change *change,
		   bool *changed, struct error *err)
{
	struct buf file = BUF_INIT(VAULT_FILE_MAX);
	char *path = path_join(dir, "credentials");
	char *key = path_join(dir, "credentials.key");
	size_t len = 0;
	char *text = vault_records_write(v, change, &len, changed);
	int rc = 0;

	if (!change->key.len && !*changed)
		goto out;
	rc = choose_seal(seal, key, change, err);
	if (rc == 0) {
		vault_close_in(seal, (struct str){ text, len }, &file);
		rc = buf_check(&file, path, err);
	}
	if (rc == 0)
		rc = path_write(path, buf_str(&file), 0600, err);
	if (rc == 0 && change->phrase.len)
		(void)unlink(key);
out:
	sodium_free(text);
	buf_release(&file);
	free(path);
	free(key);
	return rc;
}

int vault_change(const char *dir, const struct vault_ask *ask,
		 const struct vault_change *change, bool *changed,
		 const struct stop *stop, struct error *err)
{
	struct vault_seal seal = { 0 };
	struct vault *v = NULL;
	bool was = false;
	int rc = -1;
	int fd;

	if (!change->name[0] || strlen(change->name) > VAULT_NAME_MAX ||
	    (change->key.len && !vault_key_ok(change->key)))
		return error_set(err, ERR_USAGE, "not a key");
	if (path_mkdirs(dir, 0700, err) < 0)
		return -1;
	fd = lock(dir, stop, err);
	if (fd < 0)
		return -1;
	sweep(dir);
	if (open_all(&v, &seal, dir, ask, err) < 0)
		goto out;
	if (change->key.len && v->n >= VAULT_MOST) {
		error_set(err, ERR_LIMIT, "%d keys are stored already",
			  VAULT_MOST);
		goto out;
	}
	rc = rewrite(dir, v, &seal, change, &was, err);
	if (changed)
		*changed = was;
out:
	vault_seal_release(&seal);
	vault_close(v);
	close(fd);
	return rc;
}
