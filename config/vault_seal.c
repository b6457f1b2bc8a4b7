/* vault_seal.c - sealing and opening the file of stored keys. */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "base/path.h"
#include "base/str.h"
#include "config/vault_impl.h"

enum {
	LINE_MAX_ = 200, /* bytes of the first line */
	OPS_MAX = 10,
	MEM_MAX = 1 << 30, /* bytes: a damaged file must not take more */
	NONCE = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES,
	TAG = crypto_aead_xchacha20poly1305_ietf_ABYTES,
};

static const char by_file[] = "dcode-credentials 1 key-file";
static const char by_phrase[] = "dcode-credentials 1 argon2id";

void *vault_memory(size_t size)
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

void vault_seal_release(struct vault_seal *s)
{
	sodium_free(s->secret);
	*s = (struct vault_seal){ 0 };
}

static int damaged(struct error *err)
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

int vault_seal_read(struct vault_seal *s, struct str file, struct error *err)
{
	struct str line = { file.ptr, str_find(file, '\n') };
	struct str word;
	int64_t ops;
	int64_t mem;

	if (line.len == file.len || line.len > LINE_MAX_)
		return damaged(err);
	if (str_is(line, by_file))
		return 0;
	if (!str_starts(line, by_phrase) || line.len < sizeof(by_phrase))
		return damaged(err);
	s->phrase = true;
	line = str_skip(line, sizeof(by_phrase));
	if (!str_split(&line, ' ', &word) || !str_to_int(word, &ops) ||
	    !str_split(&line, ' ', &word) || !str_to_int(word, &mem) ||
	    ops < 1 || ops > OPS_MAX || mem < crypto_pwhash_MEMLIMIT_MIN ||
	    mem > MEM_MAX || read_salt(s, line) < 0)
		return damaged(err);
	s->ops = (unsigned long long)ops;
	s->mem = (size_t)mem;
	return 0;
}

int vault_seal_derive(struct vault_seal *s, struct str phrase,
		      struct error *err)
{
	if (!s->secret)
		s->secret = vault_memory(VAULT_SECRET);
	if (crypto_pwhash(s->secret, VAULT_SECRET, phrase.ptr ? phrase.ptr : "",
			  phrase.len, s->salt, s->ops, s->mem,
			  crypto_pwhash_ALG_ARGON2ID13) < 0)
		return error_set(err, ERR_SYSTEM,
				 "too little memory for the passphrase");
	return 0;
}

int vault_seal_phrase(struct vault_seal *s, struct str phrase,
		      struct error *err)
{
	vault_seal_release(s);
	s->phrase = true;
	s->ops = crypto_pwhash_OPSLIMIT_INTERACTIVE;
	s->mem = crypto_pwhash_MEMLIMIT_INTERACTIVE;
	randombytes_buf(s->salt, sizeof(s->salt));
	return vault_seal_derive(s, phrase, err);
}

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

int vault_seal_file(struct vault_seal *s, const char *path, bool create,
		    struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	int rc;

	if (!s->secret)
		s->secret = vault_memory(VAULT_SECRET);
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

int vault_unseal(const struct vault_seal *s, struct str file, char **text,
		 size_t *len)
{
	size_t head = str_find(file, '\n') + 1;
	const unsigned char *nonce = (const unsigned char *)file.ptr + head;
	unsigned long long got = 0;
	size_t room;

	if (file.len < head + NONCE + TAG)
		return -1;
	room = file.len - head - NONCE - TAG;
	*text = vault_memory(room);
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

void vault_close_in(const struct vault_seal *s, struct str text,
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
		return; /* the caller's buf_check() tells */
	randombytes_buf(nonce, NONCE);
	crypto_aead_xchacha20poly1305_ietf_encrypt(
		nonce + NONCE, NULL, (const unsigned char *)text.ptr, text.len,
		(const unsigned char *)file->ptr, head, NULL, nonce, s->secret);
	buf_added(file, NONCE + text.len + TAG);
}
