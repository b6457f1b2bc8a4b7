/* fingerprint.c - an entry and the files that it names, as one hash. */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "trust/trust_impl.h"

enum {
	MOST_BYTES = 256 << 20, /* of all files together */
	MOST_DIRS = 32,         /* that "cd DIR" may mean */
	CHUNK = 64 << 10,
};

struct print {
	const struct trust_entry *entry;
	char *root; /* links resolved; owned */
	char *dir;  /* the same */
	crypto_hash_sha256_state sum;
	int64_t bytes;
	struct buf *files;
	char *dirs[MOST_DIRS]; /* owned: of the repository */
	size_t n_dirs;
	bool too_many; /* there are more */
};

/* Framed by its length, so that no two lists of texts give the same bytes. */
static void add_text(struct print *p, struct str text)
{
	char frame[32];
	int n = snprintf(frame, sizeof(frame), "%zu:", text.len);

	crypto_hash_sha256_update(&p->sum, (unsigned char *)frame,
				  (unsigned long long)n);
	crypto_hash_sha256_update(&p->sum, (const unsigned char *)text.ptr,
				  text.len);
}

static bool is_below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	if (len == 1)
		return path[0] == '/';
	return !strncmp(path, dir, len) && (!path[len] || path[len] == '/');
}

static int add_content(struct print *p, int fd, struct error *err)
{
	unsigned char *chunk = xcalloc(1, CHUNK);
	int rc = 0;
	ssize_t n;

	while (rc == 0 && (n = read(fd, chunk, CHUNK)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		p->bytes += n;
		crypto_hash_sha256_update(&p->sum, chunk,
					  (unsigned long long)n);
		if (p->bytes > MOST_BYTES)
			rc = error_set(err, ERR_LIMIT,
				       "its command line names more than %d MiB"
				       " of files",
				       MOST_BYTES >> 20);
	}
	add_text(p, STR("end"));
	free(chunk);
	return rc;
}

static void note_dir(struct print *p, const char *real)
{
	for (size_t i = 0; i < p->n_dirs; i++)
		if (!strcmp(p->dirs[i], real))
			return;
	if (!strcmp(real, p->root))
		return;
	if (p->n_dirs < MOST_DIRS)
		p->dirs[p->n_dirs++] = xstrdup(real);
	else
		p->too_many = true;
}

static int add_file(struct print *p, const char *real, struct error *err)
{
	int fd = open(real, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	int rc;

	if (fd < 0) {
		add_text(p, STR("unreadable"));
		return 0;
	}
	add_text(p, STR("file"));
	buf_addf(p->files, "%s\n", real);
	rc = add_content(p, fd, err);
	close(fd);
	return rc;
}

/* What is at a path, real being where its links lead. A device is not opened:
 * that alone may do something. */
static int add_target(struct print *p, const char *real, struct error *err)
{
	struct stat st;

	add_text(p, str_of(real));
	if (lstat(real, &st) == 0 && S_ISREG(st.st_mode))
		return add_file(p, real, err);
	if (lstat(real, &st) == 0 && S_ISDIR(st.st_mode))
		note_dir(p, real);
	add_text(p, STR("no file"));
	return 0;
}

/* Of a path that is not in the repository, neither by its name nor by where its
 * links lead, the entry's own text says all that is remembered. */
static int add_path(struct print *p, const char *path, struct error *err)
{
	char *real = realpath(path, NULL);
	int rc = 0;

	if (is_below(path, p->root) || is_below(path, p->entry->root) ||
	    (real && is_below(real, p->root))) {
		add_text(p, str_of(path));
		if (real)
			rc = add_target(p, real, err);
		else
			add_text(p, STR("missing"));
	}
	free(real);
	return rc;
}

static int add_below(struct print *p, const char *dir, const char *word,
		     struct error *err)
{
	char *path = path_join(dir, word);
	int rc = add_path(p, path, err);

	free(path);
	return rc;
}

/* A program without a slash comes from $PATH, which direnv and the like lead
 * into the repository. */
static int add_programs(struct print *p, const char *word, struct error *err)
{
	struct str rest = str_of(p->entry->path);
	struct str item;
	int rc = 0;

	while (rc == 0 && str_split(&rest, ':', &item)) {
		char *dir = xstrndup(item.ptr, item.len);
		char *real = item.len ? realpath(dir, NULL) : NULL;

		if (real && is_below(real, p->root))
			rc = add_below(p, real, word, err);
		free(real);
		free(dir);
	}
	return rc;
}

static int add_word(struct print *p, const char *word, struct error *err)
{
	int rc;

	if (word[0] == '/')
		return add_path(p, word, err);
	rc = add_below(p, p->dir, word, err);
	if (rc == 0 && strcmp(p->dir, p->root) != 0)
		rc = add_below(p, p->root, word, err);
	if (rc == 0 && !strchr(word, '/'))
		rc = add_programs(p, word, err);
	return rc;
}

static int add_words(struct print *p, struct error *err)
{
	const struct trust_entry *e = p->entry;
	struct trust_words words = { 0 };
	int rc = 0;

	for (size_t i = 0; i < e->n_words; i++)
		trust_words_add(&words, e->words[i]);
	for (size_t i = 0; rc == 0 && i < words.n; i++)
		rc = add_word(p, words.list[i], err);
	/* "cd scripts && ./run" */
	for (size_t d = 0; d < p->n_dirs; d++)
		for (size_t i = 0; rc == 0 && i < words.n; i++)
			if (words.list[i][0] != '/')
				rc = add_below(p, p->dirs[d], words.list[i],
					       err);
	if (rc == 0 && words.over)
		rc = error_set(err, ERR_LIMIT,
			       "its command line has too many words");
	if (rc == 0 && p->too_many)
		rc = error_set(err, ERR_LIMIT,
			       "its command line names more than %d "
			       "directories",
			       MOST_DIRS);
	trust_words_release(&words);
	return rc;
}

static int make_print(struct print *p, struct error *err)
{
	const struct trust_entry *e = p->entry;

	p->root = realpath(e->root, NULL);
	if (!p->root)
		return error_errno(err, "%s", e->root);
	p->dir = realpath(e->dir ? e->dir : e->root, NULL);
	if (!p->dir)
		return error_errno(err, "%s", e->dir);
	add_text(p, str_of(trust_kind_name(e->kind)));
	add_text(p, str_of(p->root));
	add_text(p, str_of(p->dir));
	add_text(p, str_of(e->name));
	add_text(p, e->text);
	for (size_t i = 0; i < e->n_words; i++)
		add_text(p, str_of(e->words[i]));
	return add_words(p, err);
}

int trust_fingerprint(const struct trust_entry *e, char hex[TRUST_HEX],
		      struct buf *files, struct error *err)
{
	struct print p = { .entry = e, .files = files };
	unsigned char sum[crypto_hash_sha256_BYTES];
	int rc;

	crypto_hash_sha256_init(&p.sum);
	rc = make_print(&p, err);
	crypto_hash_sha256_final(&p.sum, sum);
	sodium_bin2hex(hex, TRUST_HEX, sum, sizeof(sum));
	for (size_t i = 0; i < p.n_dirs; i++)
		free(p.dirs[i]);
	free(p.root);
	free(p.dir);
	return rc;
}
