/* vault.c - stores keys encrypted in one file. */
/* SPDX-License-Identifier: MIT */
/*
 * Begin reading at vault_change(). Three parts: encryption with a passphrase
 * (Argon2id) or a key file; the records in the decrypted text; the file, which
 * is replaced as a whole under a lock. Decrypted data is in locked memory and
 * is zeroed afterwards.
 */
#include "config/vault.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <sodium.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"

enum { VAULT_FILE_MAX = 4 << 20, VAULT_SECRET = 32 };

/* A seal: how a file is encrypted. The file's first line describes it. */
struct vault_seal {
	bool phrase;
	unsigned long long ops; /* Argon2id's opslimit */
	size_t mem;
	unsigned char salt[16];
	unsigned char *secret; /* VAULT_SECRET bytes of locked memory; owned */
};

/* The decrypted text is a sequence of NAME NUL KEY NUL URL NUL WHEN NUL. */
struct vault {
	char *text; /* locked, owned */
	size_t text_len;
	/* records made from auth.json, in the same format as text; owned */
	char *plain;
	struct vault_entry *entries;
	size_t n;
};

enum {
	LINE_MAX_ = 200, /* bytes of the first line */
	OPS_MAX = 10,
	/* limit in bytes for Argon2id: a damaged file could request any
	 * amount */
	MEM_MAX = 1 << 30,
	NONCE = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES,
	TAG = crypto_aead_xchacha20poly1305_ietf_ABYTES,
};

static const char by_file[] = "dcode-credentials 1 key-file";

static const char by_phrase[] = "dcode-credentials 1 argon2id";

/* Allocates zeroed locked memory, to be freed with sodium_free(). Aborts if it
 * cannot. */
static void *alloc_locked(size_t size)
{
	void *p;

	if (sodium_init() < 0)
		abort();
	p = sodium_malloc(size ? size : 1);
	if (!p)
		abort();
	sodium_memzero(p, size);
	return p;
}

/* Initialize a seal to { 0 }. */
static void release_seal(struct vault_seal *s)
{
	sodium_free(s->secret);
	*s = (struct vault_seal){ 0 };
}

static int set_damaged(struct error *err)
{
	return error_set(err, ERR_CONFIG, "the file is damaged");
}

static int read_salt(struct vault_seal *s, struct str hex)
{
	const char *end = NULL;
	size_t len = 0;

	if (hex.len != 2 * sizeof(s->salt) ||
	    sodium_hex2bin(s->salt, sizeof(s->salt), hex.ptr, hex.len, NULL,
			   &len, &end) < 0)
		return -1;
	return len == sizeof(s->salt) ? 0 : -1;
}

/* Parses the first line of an encrypted file. Does not set the secret. */
static int read_seal(struct vault_seal *s, struct str file, struct error *err)
{
	struct str line = { file.ptr, str_find(file, '\n') };
	struct str word;
	int64_t ops;
	int64_t mem;

	if (line.len == file.len || line.len > LINE_MAX_)
		return set_damaged(err);
	if (str_is(line, by_file))
		return 0;
	if (!str_starts(line, by_phrase) || line.len < sizeof(by_phrase))
		return set_damaged(err);
	s->phrase = true;
	line = str_skip(line, sizeof(by_phrase));
	if (!str_split(&line, ' ', &word) || !str_to_int(word, &ops) ||
	    !str_split(&line, ' ', &word) || !str_to_int(word, &mem) ||
	    ops < 1 || ops > OPS_MAX || mem < crypto_pwhash_MEMLIMIT_MIN ||
	    mem > MEM_MAX || read_salt(s, line) < 0)
		return set_damaged(err);
	s->ops = (unsigned long long)ops;
	s->mem = (size_t)mem;
	return 0;
}

static int derive_secret(struct vault_seal *s, struct str phrase,
			 struct error *err)
{
	if (!s->secret)
		s->secret = alloc_locked(VAULT_SECRET);
	if (crypto_pwhash(s->secret, VAULT_SECRET, phrase.ptr ? phrase.ptr : "",
			  phrase.len, s->salt, s->ops, s->mem,
			  crypto_pwhash_ALG_ARGON2ID13) < 0)
		return error_set(err, ERR_SYSTEM,
				 "not enough memory to use the passphrase");
	return 0;
}

/* Makes a new seal with a secret derived from the passphrase. */
static int make_seal(struct vault_seal *s, struct str phrase, struct error *err)
{
	release_seal(s);
	s->phrase = true;
	s->ops = crypto_pwhash_OPSLIMIT_INTERACTIVE;
	s->mem = crypto_pwhash_MEMLIMIT_INTERACTIVE;
	randombytes_buf(s->salt, sizeof(s->salt));
	return derive_secret(s, phrase, err);
}

/* Reads the secret from an open key file. Refuses a file that other users can
 * read. */
static int read_secret(struct vault_seal *s, int fd, const char *path,
		       struct error *err)
{
	struct stat st;
	unsigned char more;

	if (fstat(fd, &st) < 0)
		return error_errno(err, "reading %s", path);
	if (!S_ISREG(st.st_mode) || st.st_mode & 077) {
		error_set(err, ERR_CONFIG,
			  "%s: others can read this key, so it is not used",
			  path);
		return error_hint(err, "chmod 600 %s", path);
	}
	if (read(fd, s->secret, VAULT_SECRET) != VAULT_SECRET ||
	    read(fd, &more, 1) != 0)
		return error_set(err, ERR_CONFIG, "%s is damaged", path);
	return 0;
}

/* Reads the secret from a key file. With create, makes a new file if there is
 * none. */
static int read_key_file(struct vault_seal *s, const char *path, bool create,
			 struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	int rc;

	if (!s->secret)
		s->secret = alloc_locked(VAULT_SECRET);
	if (fd >= 0) {
		rc = read_secret(s, fd, path, err);
		close(fd);
		return rc;
	}
	if (errno != ENOENT || !create)
		return error_errno(err, "reading %s", path);
	randombytes_buf(s->secret, VAULT_SECRET);
	return path_write(path, (struct str){ (char *)s->secret, VAULT_SECRET },
			  0600, err);
}

/* Decrypts the file into locked memory, which the caller owns. Returns -1 if it
 * was not encrypted with this seal. */
static int unseal_file(const struct vault_seal *s, struct str file, char **text,
		       size_t *len)
{
	size_t head = str_find(file, '\n') + 1;
	const unsigned char *nonce = (const unsigned char *)file.ptr + head;
	unsigned long long got = 0;
	size_t room;

	if (file.len < head + NONCE + TAG)
		return -1;
	room = file.len - head - NONCE - TAG;
	*text = alloc_locked(room);
	if (crypto_aead_xchacha20poly1305_ietf_decrypt(
		    (unsigned char *)*text, &got, NULL, nonce + NONCE,
		    room + TAG, (const unsigned char *)file.ptr, head, nonce,
		    s->secret) < 0) {
		sodium_free(*text);
		*text = NULL;
		return -1;
	}
	*len = (size_t)got;
	return 0;
}

/* Encrypts text and appends it to file, after the line that describes the
 * seal. */
static void seal_text(const struct vault_seal *s, struct str text,
		      struct buf *file)
{
	char salt[2 * sizeof(s->salt) + 1];
	unsigned char *nonce;
	size_t head;

	sodium_bin2hex(salt, sizeof(salt), s->salt, sizeof(s->salt));
	if (s->phrase)
		buf_addf(file, "%s %llu %zu %s\n", by_phrase, s->ops, s->mem,
			 salt);
	else
		buf_addf(file, "%s\n", by_file);
	head = file->len;
	nonce = (unsigned char *)buf_room(file, NONCE + text.len + TAG);
	if (!nonce)
		return; /* out of memory; the caller's buf_check() reports it */
	randombytes_buf(nonce, NONCE);
	crypto_aead_xchacha20poly1305_ietf_encrypt(
		nonce + NONCE, NULL, (const unsigned char *)text.ptr, text.len,
		(const unsigned char *)file->ptr, head, NULL, nonce, s->secret);
	buf_added(file, NONCE + text.len + TAG);
}

enum { FIELDS = 4 };

/* Locked memory of fixed size. Appending beyond its end does nothing. */
struct text {
	char *ptr;
	size_t len;
	size_t size;
};

bool vault_key_ok(struct str key)
{
	if (!key.len || key.len > VAULT_KEY_MAX)
		return false;
	for (size_t i = 0; i < key.len; i++)
		if (key.ptr[i] <= ' ' || key.ptr[i] >= 0x7F)
			return false;
	return true;
}

static void add_entry(struct vault *v, const char *const *field, bool plain)
{
	v->entries = xrealloc(v->entries, v->n + 1, sizeof(*v->entries));
	v->entries[v->n++] = (struct vault_entry){
		.name = field[0],
		.key = field[1],
		.url = field[2],
		.when = field[3],
		.plain = plain,
	};
}

/* Adds the records in text. -1 if it is not a list of records. plain: text was
 * made from auth.json. */
static int read_records(struct vault *v, char *text, size_t len, bool plain)
{
	struct str rest = { text, len };

	if (plain)
		v->plain = text;
	else
		v->text = text;
	v->text_len = plain ? v->text_len : len;
	while (rest.len) {
		const char *field[FIELDS];

		for (int i = 0; i < FIELDS; i++) {
			size_t end = str_find(rest, '\0');

			if (end == rest.len)
				return -1;
			field[i] = rest.ptr;
			rest = str_skip(rest, end + 1);
		}
		if (v->n >= VAULT_MOST)
			return -1;
		add_entry(v, field, plain);
	}
	return 0;
}

static void append_text(struct text *t, const char *s, size_t len)
{
	if (len + 1 > t->size - t->len)
		abort();
	if (len)
		memcpy(t->ptr + t->len, s, len);
	t->len += len;
	t->ptr[t->len++] = '\0';
}

static void append_entry(struct text *t, const struct vault_entry *e)
{
	append_text(t, e->name, strlen(e->name));
	append_text(t, e->key, strlen(e->key));
	append_text(t, e->url, strlen(e->url));
	append_text(t, e->when, strlen(e->when));
}

/* Returns the encrypted file's records with one change applied, in locked
 * memory. *changed as in vault_change(). */
static char *write_records(const struct vault *v, const struct vault_change *c,
			   size_t *len, bool *changed)
{
	const char *url = c->url ? c->url : "";
	struct text t = { 0 };
	char when[24];

	snprintf(when, sizeof(when), "%lld", (long long)time(NULL));
	t.size = v->text_len + strlen(c->name) + c->key.len + strlen(url) +
		 sizeof(when) + FIELDS;
	t.ptr = alloc_locked(t.size);
	*changed = false;
	for (size_t i = 0; i < v->n; i++) {
		if (v->entries[i].plain)
			continue;
		if (!strcmp(v->entries[i].name, c->name))
			*changed = true;
		else
			append_entry(&t, &v->entries[i]);
	}
	if (c->key.len) {
		append_text(&t, c->name, strlen(c->name));
		append_text(&t, c->key.ptr, c->key.len);
		append_text(&t, url, strlen(url));
		append_text(&t, when, strlen(when));
	}
	*len = t.len;
	return t.ptr;
}

static void wipe_tree(cJSON *tree)
{
	for (; tree; tree = tree->next) {
		if (tree->valuestring)
			sodium_memzero(tree->valuestring,
				       strlen(tree->valuestring));
		wipe_tree(tree->child);
	}
}

/* True if the entry of auth.json can be used. Its "added_at" need not be valid:
 * it is only displayed. */
static bool is_usable(const cJSON *item)
{
	const char *key = json_string(item, "key", "");

	return item->string && item->string[0] &&
	       strlen(item->string) <= VAULT_NAME_MAX &&
	       !strcmp(json_string(item, "type", ""), "api_key") &&
	       vault_key_ok(str_trim(str_of(key))) &&
	       strlen(json_string(item, "base_url", "")) <= VAULT_KEY_MAX;
}

/* Adds the entries of auth.json as records. */
static void read_tree(struct vault *v, const cJSON *all, size_t size)
{
	struct text t = { alloc_locked(size), 0, size };
	const cJSON *item;
	size_t n = 0;

	cJSON_ArrayForEach (item, all) {
		const char *url = json_string(item, "base_url", "");
		struct str key;

		if (!is_usable(item) || n++ >= VAULT_MOST)
			continue;
		key = str_trim(str_of(json_string(item, "key", "")));
		append_text(&t, item->string, strlen(item->string));
		append_text(&t, key.ptr, key.len);
		append_text(&t, url, strlen(url));
		append_text(&t, "", 0);
	}
	(void)read_records(v, t.ptr, t.len, true);
}

/* Reads auth.json and skips entries that cannot be used. */
static void read_auth_json(struct vault *v, const char *path)
{
	struct buf text = BUF_INIT(VAULT_FILE_MAX);
	struct error ignored = { 0 };
	const cJSON *all;
	cJSON *tree = NULL;

	if (path_read(path, &text, &ignored) == 0)
		tree = json_parse(buf_str(&text));
	all = json_get(tree, "credentials");
	/* Unescaping only shortens strings, so the result fits into the file's
	 * size. */
	if (cJSON_IsObject(all))
		read_tree(v, all, text.len + 1);
	wipe_tree(tree);
	cJSON_Delete(tree);
	buf_wipe(&text);
}

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

/* Asks for the passphrase until it is correct or the user gives up. */
static int open_with_passphrase(struct vault_seal *seal, struct str file,
				const struct vault_ask *ask, char **text,
				size_t *len, struct error *err)
{
	char *room;
	int rc = -1;

	if (!ask)
		return error_set(err, ERR_CONFIG, "a passphrase is needed");
	room = alloc_locked(VAULT_PHRASE_MAX);
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
		if (derive_secret(seal, (struct str){ room, (size_t)n }, err) <
		    0)
			break;
		rc = unseal_file(seal, file, text, len);
	}
	sodium_free(room);
	return rc;
}

static int open_by_file(struct vault_seal *seal, struct str file,
			const char *dir, char **text, size_t *len,
			struct error *err)
{
	char *path = path_join(dir, "credentials.key");
	int rc = read_key_file(seal, path, false, err);

	if (rc == 0 && unseal_file(seal, file, text, len) < 0)
		rc = error_set(
			err, ERR_CONFIG,
			"the file is damaged, or was not encrypted with %s",
			path);
	free(path);
	return rc;
}

/* Reads and decrypts the file. The seal, with its secret, goes to the
 * caller. */
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
		rc = read_seal(seal, buf_str(&file), err);
	if (rc == 0)
		rc = seal->phrase ? open_with_passphrase(seal, buf_str(&file),
							 ask, &text, &len, err)
				  : open_by_file(seal, buf_str(&file), dir,
						 &text, &len, err);
	if (rc == 0 && read_records(v, text, len, false) < 0)
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
	read_auth_json(v, legacy);
	free(legacy);
	*out = v;
	return 0;
}

int vault_open(struct vault **v, const char *dir, const struct vault_ask *ask,
	       struct error *err)
{
	struct vault_seal seal = { 0 };
	int rc = open_all(v, &seal, dir, ask, err);

	release_seal(&seal);
	return rc;
}

/* Locks the vault. Returns the descriptor of the lock, -1 on failure. */
static int lock_vault(const char *dir, const struct stop *stop,
		      struct error *err)
{
	char *path = path_join(dir, "credentials.lock");
	int fd = path_lock(path, stop, err);

	if (fd < 0 && err->code == ERR_TIMEOUT)
		error_set(err, ERR_TIMEOUT,
			  "another dcode is changing the stored keys");
	free(path);
	return fd;
}

/* Removes temporary files of writers that were killed: NAME, a dot and six
 * characters. */
static void sweep_temporary(const char *dir)
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

/* Chooses the seal of the file to write: the existing one, or a new one. */
static int choose_seal(struct vault_seal *seal, const char *key,
		       const struct vault_change *change, struct error *err)
{
	if (change->phrase.len)
		return make_seal(seal, change->phrase, err);
	return seal->secret ? 0 : read_key_file(seal, key, true, err);
}

/* Writes the encrypted file with one change applied. Does nothing if there was
 * no entry to remove. */
static int rewrite_file(const char *dir, const struct vault *v,
			struct vault_seal *seal,
			const struct vault_change *change, bool *changed,
			struct error *err)
{
	struct buf file = BUF_INIT(VAULT_FILE_MAX);
	char *path = path_join(dir, "credentials");
	char *key = path_join(dir, "credentials.key");
	size_t len = 0;
	char *text = write_records(v, change, &len, changed);
	int rc = 0;

	if (!change->key.len && !*changed)
		goto out;
	rc = choose_seal(seal, key, change, err);
	if (rc == 0) {
		seal_text(seal, (struct str){ text, len }, &file);
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
	fd = lock_vault(dir, stop, err);
	if (fd < 0)
		return -1;
	sweep_temporary(dir);
	if (open_all(&v, &seal, dir, ask, err) < 0)
		goto out;
	if (change->key.len && v->n >= VAULT_MOST) {
		error_set(err, ERR_LIMIT, "%d keys are stored already",
			  VAULT_MOST);
		goto out;
	}
	rc = rewrite_file(dir, v, &seal, change, &was, err);
	if (changed)
		*changed = was;
out:
	release_seal(&seal);
	vault_close(v);
	close(fd);
	return rc;
}
