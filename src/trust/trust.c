/* trust.c - checks whether the user allowed what a repository wants to run. */
/* SPDX-License-Identifier: MIT */
/*
 * In this order: words of a command line become the paths that they may name;
 * the fingerprint is a hash of an entry and the content of those files; the
 * store is a JSON file with the fingerprints of allowed entries; trust_check()
 * and trust_ask() decide. Begin reading at trust_ask(). trust.h describes the
 * attack.
 */
#include "trust/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cjson/cJSON.h>
#include <sodium.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/stop.h"
#include "base/str.h"

enum { TRUST_HEX = 65 }; /* characters of a SHA-256 in hex, and NUL */

/* Paths that the words of a command line may name. */
struct word_list {
	char **list; /* owned, unique */
	size_t n;
	bool over; /* there were more than MOST_WORDS */
};

enum { MOST_WORDS = 2000, LONGEST = 4095 };

/* Adds a path, unless it is in the list. Ignores text that cannot be a path
 * because it is empty or too long. */
static void add_unique(struct word_list *w, const char *text, size_t len)
{
	if (!len || len > LONGEST)
		return;
	for (size_t i = 0; i < w->n; i++)
		if (!strncmp(w->list[i], text, len) && !w->list[i][len])
			return;
	if (w->n == MOST_WORDS) {
		w->over = true;
		return;
	}
	w->list = xrealloc(w->list, w->n + 1, sizeof(*w->list));
	w->list[w->n++] = xstrndup(text, len);
}

/* Adds a path and variants of it. In "$PWD/run.sh" the path is relative to the
 * start directory, and so is "/run.sh", which is left of "$(pwd)/run.sh" when
 * that is split at the parentheses. */
static void add_candidate(struct word_list *w, const char *text, size_t len)
{
	const char *slash = len ? memchr(text, '/', len) : NULL;

	add_unique(w, text, len);
	while (len && text[0] == '/') {
		text++;
		if (--len && text[0] != '/')
			add_unique(w, text, len);
	}
	if (slash && slash > text && strchr("$~)}", text[0]))
		add_unique(w, slash + 1, len - (size_t)(slash + 1 - text));
}

/* Adds each part of a word that may be a path, as in "--config=a", "-ra",
 * "a:b". */
static void add_parts(struct word_list *w, const char *text, size_t len)
{
	static const char between[] = " \t\r\n=:,;@|&<>()'\"`";
	const char *end = text + len;

	add_candidate(w, text, len);
	if (len > 2 && text[0] == '-' && text[1] != '-')
		add_candidate(w, text + 2, len - 2);
	for (const char *at = text; at < end;) {
		size_t n = strcspn(at, between);

		add_candidate(w, at, n);
		at += n + 1;
	}
}

/* Appends a shell word without its quotes and backslashes. Returns its end. */
static const char *read_word(const char *at, struct buf *word)
{
	char quote = 0;

	for (; *at && (quote || !strchr(" \t\r\n;|&<>()", *at)); at++) {
		if (*at == '\\' && quote != '\'' && at[1])
			buf_addc(word, *++at);
		else if (quote ? *at == quote : *at == '\'' || *at == '"')
			quote = quote ? 0 : *at;
		else
			buf_addc(word, *at);
	}
	return at;
}

static void parse_words(struct word_list *w, const char *word)
{
	struct buf part = BUF_INIT(LONGEST);

	add_parts(w, word, strlen(word));
	for (const char *at = word; *at;) {
		at = read_word(at, &part);
		if (part.len)
			add_parts(w, part.ptr, part.len);
		buf_clear(&part);
		at += *at != '\0';
	}
	buf_release(&part);
}

static void release_words(struct word_list *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->list[i]);
	free(w->list);
	*w = (struct word_list){ 0 };
}

/* True for programs that look for the code that they run in the current
 * directory. */
static bool is_runner(const char *name)
{
	static const char *const names[] = {
		"npx",     "npm",    "pnpm",       "pnpx",     "yarn",
		"bun",     "bunx",   "deno",       "tsx",      "ts-node",
		"uv",      "uvx",    "pipx",       "poetry",   "pdm",
		"hatch",   "rye",    "pipenv",     "tox",      "nox",
		"pytest",  "make",   "gmake",      "cmake",    "ninja",
		"just",    "task",   "rake",       "bundle",   "bundler",
		"cargo",   "go",     "mvn",        "mvnw",     "gradle",
		"gradlew", "sbt",    "dotnet",     "composer", "mix",
		"mise",    "direnv", "pre-commit", "lefthook", "nix",
		"bazel",   "java",   "pwsh",       "parallel", "entr",
		"gdb",     "lldb",   "expect",     "emacs",    "vim",
		"nvim",    "vi",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* True for an option that is followed by a module's name: "-m" in "python3 -m
 * NAME", "-Im" in "python3 -Im NAME". */
static bool takes_module(const char *word)
{
	size_t n = strlen(word);

	return word[0] == '-' && word[1] != '-' && n > 1 &&
	       (word[1] == 'm' || word[n - 1] == 'm');
}

/* True for "python", "python3", "python3.11", "pypy3" and the like. */
static bool is_python(const char *name)
{
	static const char *const stems[] = { "python", "pypy" };

	for (size_t i = 0; i < sizeof(stems) / sizeof(*stems); i++)
		if (path_is_version_of(name, stems[i]))
			return true;
	return false;
}

/* Adds a runner and its option (how), unless it is in the list. */
static void add_runner(struct buf *out, const char *name, const char *how)
{
	char *runner = xasprintf("%s%s", name, how);
	struct str rest = buf_str(out);
	struct str one;
	bool known = false;

	while (str_split(&rest, ',', &one))
		known |= str_is(str_trim(one), runner);
	if (!known)
		buf_addf(out, "%s%s", out->len ? ", " : "", runner);
	free(runner);
}

/* Removes the next word from a command line, without quotes around it. */
static bool next_word(struct str *line, struct str *word)
{
	static const char around[] = " \t\r\n\"'`();|&";

	while (line->len && strchr(around, line->ptr[0]))
		*line = str_skip(*line, 1);
	*word = (struct str){ line->ptr, 0 };
	while (word->len < line->len && !strchr(around, line->ptr[word->len]))
		word->len++;
	*line = str_skip(*line, word->len);
	return word->len > 0;
}

/* Interpreters whose code in an argument loads modules of the current
 * directory. */
static const struct code_runner {
	const char *name;  /* a version may follow: "python3.11" */
	const char *code;  /* the letters of the options that code follows */
	const char *apart; /* letters that keep it from that directory */
} code_runners[] = {
	{ "python", "c", "IP" }, { "pypy", "c", "IP" },  { "node", "ep", "" },
	{ "nodejs", "ep", "" },  { "php", "r", "" },     { "lua", "e", "" },
	{ "luajit", "e", "" },   { "Rscript", "e", "" },
};

static const struct code_runner *find_code_runner(const char *name)
{
	for (size_t i = 0; i < sizeof(code_runners) / sizeof(*code_runners);
	     i++)
		if (path_is_version_of(name, code_runners[i].name))
			return &code_runners[i];
	return NULL;
}

/* Adds "python3 -c", "node -e" and the like. */
static void add_code_runners(struct str line, struct buf *out)
{
	const struct code_runner *r = NULL; /* its options are being read */
	char *name = NULL;
	struct str word;

	while (next_word(&line, &word)) {
		char *text = xstrndup(word.ptr, word.len);
		const char last[] = { word.ptr[word.len - 1], '\0' };

		if (r && (text[0] != '-' || strpbrk(text, r->apart))) {
			r = NULL;
		} else if (r && text[1] != '-' && strstr(r->code, last)) {
			char *how = xasprintf(" -%s", last);

			add_runner(out, name, how);
			free(how);
		}
		if (find_code_runner(path_name(text))) {
			r = find_code_runner(path_name(text));
			free(name);
			name = xstrdup(path_name(text));
		}
		free(text);
	}
	free(name);
}

void trust_add_runners(const char *const *words, size_t n, struct buf *out)
{
	struct buf line = BUF_INIT(LONGEST);
	struct word_list parts = { 0 };
	bool module = false;

	for (size_t i = 0; i < n; i++)
		parse_words(&parts, words[i]);
	for (size_t i = 0; i < parts.n; i++)
		module |= takes_module(parts.list[i]);
	for (size_t i = 0; i < parts.n; i++) {
		const char *name = path_name(parts.list[i]);

		/* "a/npx", a part of "/a/npx", is not the program that runs:
		 * skip it. */
		if (name != parts.list[i] && parts.list[i][0] != '/')
			continue;
		if (is_runner(name))
			add_runner(out, name, "");
		else if (module && is_python(name))
			add_runner(out, name, " -m");
	}
	for (size_t i = 0; i < n; i++)
		buf_addf(&line, "%s ", words[i]);
	add_code_runners(buf_str(&line), out);
	buf_release(&line);
	release_words(&parts);
}

enum {
	MOST_BYTES = 256 << 20, /* bytes of all files that are hashed */
	MOST_DIRS = 32, /* directories that a "cd DIR" in a command may enter */
	CHUNK = 64 << 10,
};

struct hashing {
	const struct trust_entry *entry;
	char *root; /* real path; owned */
	char *dir;  /* real path; owned */
	crypto_hash_sha256_state sum;
	int64_t bytes;
	struct buf *files;
	/* directories in the repository that the command line names; owned */
	char *dirs[MOST_DIRS];
	size_t n_dirs;
	bool too_many; /* there are more than MOST_DIRS */
};

/* Hashes the length of a text and the text, so that the bytes show where each
 * text of a list ends. */
static void hash_text(struct hashing *p, struct str text)
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

/* Hashes the content of a file and counts its bytes. After a read error the
 * rest is missing, so the hash differs from that of the whole file. */
static int hash_content(struct hashing *p, int fd, struct error *err)
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
	hash_text(p, STR("end"));
	free(chunk);
	return rc;
}

/* Adds a directory of the repository to those that a "cd DIR" in the command
 * line may enter. */
static void note_dir(struct hashing *p, const char *real)
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

/* Hashes a regular file. Opens it with O_NONBLOCK: if it has become a FIFO,
 * that would block otherwise. */
static int hash_file(struct hashing *p, const char *real, struct error *err)
{
	int fd = open(real, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	int rc;

	if (fd < 0) {
		hash_text(p, STR("unreadable"));
		return 0;
	}
	hash_text(p, STR("file"));
	buf_addf(p->files, "%s\n", real);
	rc = hash_content(p, fd, err);
	close(fd);
	return rc;
}

/* Hashes what is at a path; real is its real path. Devices are not opened,
 * because just opening one may have an effect. */
static int hash_target(struct hashing *p, const char *real, struct error *err)
{
	struct stat st;

	hash_text(p, str_of(real));
	if (lstat(real, &st) == 0 && S_ISREG(st.st_mode))
		return hash_file(p, real, err);
	if (lstat(real, &st) == 0 && S_ISDIR(st.st_mode))
		note_dir(p, real);
	hash_text(p, STR("no file"));
	return 0;
}

/* Hashes a path and what is there, if the path or the target of its links is in
 * the repository. Of other paths only the name counts, as part of the entry's
 * text. */
static int hash_path(struct hashing *p, const char *path, struct error *err)
{
	char *real = realpath(path, NULL);
	int rc = 0;

	if (is_below(path, p->root) || is_below(path, p->entry->root) ||
	    (real && is_below(real, p->root))) {
		hash_text(p, str_of(path));
		if (real)
			rc = hash_target(p, real, err);
		else
			hash_text(p, STR("missing"));
	}
	free(real);
	return rc;
}

/* Hashes a word that is taken as a path relative to dir. */
static int hash_below(struct hashing *p, const char *dir, const char *word,
		      struct error *err)
{
	char *path = path_join(dir, word);
	int rc = hash_path(p, path, err);

	free(path);
	return rc;
}

/* Hashes the files that a program's name without a slash may mean: tools like
 * direnv add directories of the repository to $PATH. */
static int hash_programs(struct hashing *p, const char *word, struct error *err)
{
	struct str rest = str_of(p->entry->path);
	struct str item;
	int rc = 0;

	while (rc == 0 && str_split(&rest, ':', &item)) {
		char *dir = xstrndup(item.ptr, item.len);
		char *real = item.len ? realpath(dir, NULL) : NULL;

		if (real && is_below(real, p->root))
			rc = hash_below(p, real, word, err);
		free(real);
		free(dir);
	}
	return rc;
}

/* Hashes all files that a word may name. A relative word may be relative to the
 * start directory, be relative to the repository's root, or be a program in
 * $PATH. */
static int hash_word(struct hashing *p, const char *word, struct error *err)
{
	int rc;

	if (word[0] == '/')
		return hash_path(p, word, err);
	rc = hash_below(p, p->dir, word, err);
	if (rc == 0 && strcmp(p->dir, p->root) != 0)
		rc = hash_below(p, p->root, word, err);
	if (rc == 0 && !strchr(word, '/'))
		rc = hash_programs(p, word, err);
	return rc;
}

/* Hashes all words and their parts. A path too many costs the user a needless
 * question; a missing one would let a changed file run. */
static int hash_words(struct hashing *p, struct error *err)
{
	const struct trust_entry *e = p->entry;
	struct word_list words = { 0 };
	int rc = 0;

	for (size_t i = 0; i < e->n_words; i++)
		parse_words(&words, e->words[i]);
	for (size_t i = 0; rc == 0 && i < words.n; i++)
		rc = hash_word(p, words.list[i], err);
	/* words after "cd DIR", as in "cd scripts && ./run" */
	for (size_t d = 0; d < p->n_dirs; d++)
		for (size_t i = 0; rc == 0 && i < words.n; i++)
			if (words.list[i][0] != '/')
				rc = hash_below(p, p->dirs[d], words.list[i],
						err);
	if (rc == 0 && words.over)
		rc = error_set(err, ERR_LIMIT,
			       "its command line has too many words");
	if (rc == 0 && p->too_many)
		rc = error_set(err, ERR_LIMIT,
			       "its command line names more than %d "
			       "directories",
			       MOST_DIRS);
	release_words(&words);
	return rc;
}

/* Hashes the entry. The order is a part of the format: if it changes, no stored
 * fingerprint matches, and the user is asked about every entry again. */
static int hash_entry(struct hashing *p, struct error *err)
{
	const struct trust_entry *e = p->entry;

	p->root = realpath(e->root, NULL);
	if (!p->root)
		return error_errno(err, "%s", e->root);
	p->dir = realpath(e->dir ? e->dir : e->root, NULL);
	if (!p->dir)
		return error_errno(err, "%s", e->dir);
	hash_text(p, str_of(trust_kind_name(e->kind)));
	hash_text(p, str_of(p->root));
	hash_text(p, str_of(p->dir));
	hash_text(p, str_of(e->name));
	hash_text(p, e->text);
	for (size_t i = 0; i < e->n_words; i++)
		hash_text(p, str_of(e->words[i]));
	return hash_words(p, err);
}

/* Computes the fingerprint under which an answer is stored. files gets a line
 * for each file whose content is included. ERR_LIMIT if there is too much to
 * read. */
static int compute_fingerprint(const struct trust_entry *e, char hex[TRUST_HEX],
			       struct buf *files, struct error *err)
{
	struct hashing p = { .entry = e, .files = files };
	unsigned char sum[crypto_hash_sha256_BYTES];
	int rc;

	crypto_hash_sha256_init(&p.sum);
	rc = hash_entry(&p, err);
	crypto_hash_sha256_final(&p.sum, sum);
	sodium_bin2hex(hex, TRUST_HEX, sum, sizeof(sum));
	for (size_t i = 0; i < p.n_dirs; i++)
		free(p.dirs[i]);
	free(p.root);
	free(p.dir);
	return rc;
}

enum { FILE_MAX = 8 << 20, MOST_RECORDS = 5000, LOCK_MS = 5000 };

static cJSON *empty_store(void)
{
	cJSON *store = cJSON_CreateObject();

	cJSON_AddNumberToObject(store, "version", 1);
	cJSON_AddArrayToObject(store, "allowed");
	return store;
}

/* Returns 0 if only the user can write the file, 1 if it does not exist, -1
 * with err. */
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

/* Reads the store: {"version":1,"allowed":[{...}]}. If the file is missing,
 * returns an empty one. ERR_CONFIG if other users can write to the file,
 * because they could then allow anything. The caller owns the result. */
static cJSON *read_store(const char *path, struct error *err)
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

/* Replaces the file, with mode 0600. */
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

/* Locks the store against other dcode processes. Returns a descriptor; closing
 * it unlocks the store. -1 with err. */
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

/* Returns a record for the store. Only its "sha256" is compared; "dcode trust
 * list" shows the other members. */
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

/* Adds a record to the store. Reads the file again under the lock, so that no
 * answer is lost if two dcode processes write at once. */
static int store_record(const char *path, const struct trust_entry *e,
			const char *hex, struct error *err)
{
	int fd = lock_store(path, err);
	cJSON *store = fd < 0 ? NULL : read_store(path, err);
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

enum { FILES_MAX = 1 << 20 };

struct answer { /* An answer that is known in this run. */
	char hex[TRUST_HEX];
	bool allowed;
};

struct trust {
	char *path;             /* owned */
	unsigned allowed_kinds; /* kinds that options of this run allow */
	struct trust_ui ui;
	pthread_mutex_t lock; /* guards the fields below */
	bool loaded;
	/* owned; those from the store and those of this run */
	struct answer *answers;
	size_t n;
};

struct root_search {
	const char *kind, *root;
	bool found;
};

struct trust *trust_new(const char *store, unsigned allowed,
			const struct trust_ui *ui)
{
	struct trust *t = xcalloc(1, sizeof(*t));

	t->path = xstrdup(store);
	t->allowed_kinds = allowed;
	t->ui = *ui;
	pthread_mutex_init(&t->lock, NULL);
	return t;
}

void trust_free(struct trust *t)
{
	if (!t)
		return;
	pthread_mutex_destroy(&t->lock);
	free(t->answers);
	free(t->path);
	free(t);
}

const char *trust_kind_name(enum trust_kind kind)
{
	if (kind == TRUST_MCP)
		return "MCP server";
	return kind == TRUST_HOOK ? "hook" : "subagent";
}

static const char *flag_of(enum trust_kind kind)
{
	if (kind == TRUST_MCP)
		return "--trust-project-mcp";
	return kind == TRUST_HOOK ? "--trust-project-hooks" : "--trust-project";
}

/* Returns the newest answer for a fingerprint: it overrides earlier ones. Call
 * with the lock held. */
static const struct answer *find_answer(const struct trust *t, const char *hex)
{
	for (size_t i = t->n; i > 0; i--)
		if (!strcmp(t->answers[i - 1].hex, hex))
			return &t->answers[i - 1];
	return NULL;
}

/* Adds an answer. Ignores a hash of the wrong length, which comes from a
 * damaged store. Call with the lock held. */
static void add_answer(struct trust *t, const char *hex, bool allowed)
{
	struct answer a = { .allowed = allowed };

	if (strlen(hex) != TRUST_HEX - 1)
		return;
	memcpy(a.hex, hex, TRUST_HEX);
	t->answers = xrealloc(t->answers, t->n + 1, sizeof(*t->answers));
	t->answers[t->n++] = a;
}

/* Reads the store, unless that was done. Call with the lock held. */
static void load_store(struct trust *t)
{
	struct error err = { 0 };
	const cJSON *record;
	cJSON *store;

	if (t->loaded)
		return;
	t->loaded = true;
	store = read_store(t->path, &err);
	if (!store && t->ui.warn)
		t->ui.warn(err.message);
	cJSON_ArrayForEach (record, json_get(store, "allowed"))
		add_answer(t, json_string(record, "sha256", ""), true);
	cJSON_Delete(store);
}

static bool can_ask(const struct trust *t)
{
	return t->ui.ask && (!t->ui.can_ask || t->ui.can_ask(t->ui.arg));
}

/* Returns the verdict for a fingerprint, without asking the user. */
static enum trust_verdict find_verdict(struct trust *t, const char *hex)
{
	const struct answer *a;
	enum trust_verdict verdict;

	pthread_mutex_lock(&t->lock);
	load_store(t);
	a = find_answer(t, hex);
	if (a)
		verdict = a->allowed ? TRUST_ALLOWED : TRUST_REFUSED;
	else
		verdict = can_ask(t) ? TRUST_ASK : TRUST_REFUSED;
	pthread_mutex_unlock(&t->lock);
	return verdict;
}

enum trust_verdict trust_check(struct trust *t, const struct trust_entry *e)
{
	struct buf files = BUF_INIT(FILES_MAX);
	struct error err = { 0 };
	enum trust_verdict verdict = TRUST_REFUSED;
	char hex[TRUST_HEX];

	if (t->allowed_kinds & e->kind)
		return TRUST_ALLOWED;
	if (compute_fingerprint(e, hex, &files, &err) == 0)
		verdict = find_verdict(t, hex);
	buf_release(&files);
	return verdict;
}

/* Records an answer for this run. A yes is also written to the store. */
static void record_answer(struct trust *t, const struct trust_entry *e,
			  const char *hex, bool allowed)
{
	struct error err = { 0 };

	pthread_mutex_lock(&t->lock);
	add_answer(t, hex, allowed);
	pthread_mutex_unlock(&t->lock);
	if (allowed && store_record(t->path, e, hex, &err) < 0 && t->ui.warn)
		t->ui.warn(err.message);
}

int trust_ask(struct trust *t, const struct trust_entry *e,
	      enum trust_verdict *verdict, struct error *err)
{
	struct buf files = BUF_INIT(FILES_MAX);
	struct error why = { 0 };
	char hex[TRUST_HEX];
	int rc = 0;

	*verdict = TRUST_REFUSED;
	if (t->allowed_kinds & e->kind)
		*verdict = TRUST_ALLOWED;
	else if (compute_fingerprint(e, hex, &files, &why) == 0)
		*verdict = find_verdict(t, hex);
	if (*verdict == TRUST_ASK) {
		rc = t->ui.ask(t->ui.arg, e, files.len ? files.ptr : "", err);
		*verdict = rc > 0 ? TRUST_ALLOWED : TRUST_REFUSED;
		if (rc >= 0)
			record_answer(t, e, hex, rc > 0);
	}
	buf_release(&files);
	return rc < 0 ? -1 : 0;
}

bool trust_names_file(const struct trust_entry *e)
{
	struct buf files = BUF_INIT(FILES_MAX);
	struct error why = { 0 };
	char hex[TRUST_HEX];
	bool names = compute_fingerprint(e, hex, &files, &why) < 0 || files.len;

	buf_release(&files);
	return names;
}

void trust_explain(struct trust *t, const struct trust_entry *e,
		   struct buf *out)
{
	struct buf files = BUF_INIT(FILES_MAX);
	struct error why = { 0 };
	char hex[TRUST_HEX];
	bool denied = false;

	buf_addf(out,
		 "%s \"%s\" of %s does not run: ", trust_kind_name(e->kind),
		 e->name, e->file);
	if (compute_fingerprint(e, hex, &files, &why) == 0) {
		pthread_mutex_lock(&t->lock);
		denied = find_answer(t, hex) != NULL;
		pthread_mutex_unlock(&t->lock);
	}
	if (why.code)
		buf_addf(out, "%s; %s allows it", why.message,
			 flag_of(e->kind));
	else if (denied)
		buf_adds(out,
			 "you said no; dcode asks again at the next start");
	else
		buf_addf(out,
			 "it comes with the project, and you have not allowed "
			 "this version; start a chat in %s to be asked, or "
			 "pass %s",
			 e->root, flag_of(e->kind));
	buf_release(&files);
}

int trust_list(struct trust *t,
	       bool (*each)(void *arg, const struct trust_record *r), void *arg,
	       struct error *err)
{
	cJSON *store = read_store(t->path, err);
	const cJSON *record;

	if (!store)
		return -1;
	cJSON_ArrayForEach (record, json_get(store, "allowed")) {
		struct trust_record r = {
			.kind = json_string(record, "kind", ""),
			.root = json_string(record, "root", ""),
			.file = json_string(record, "file", ""),
			.name = json_string(record, "name", ""),
			.when = json_int(record, "when", 0),
		};

		if (!each(arg, &r))
			break;
	}
	cJSON_Delete(store);
	return 0;
}

static bool match_root(void *arg, const struct trust_record *r)
{
	struct root_search *s = arg;

	s->found = !strcmp(r->kind, s->kind) && !strcmp(r->root, s->root);
	return !s->found;
}

bool trust_is_known(struct trust *t, enum trust_kind kind, const char *root)
{
	char *real = root ? realpath(root, NULL) : NULL;
	struct root_search s = { trust_kind_name(kind), real ? real : "",
				 false };
	struct error ignored = { 0 };

	if (t->allowed_kinds & kind)
		s.found = true;
	else if (real)
		(void)trust_list(t, match_root, &s, &ignored);
	free(real);
	return s.found;
}

int trust_forget(struct trust *t, const char *root, struct error *err)
{
	int fd = lock_store(t->path, err);
	cJSON *store = fd < 0 ? NULL : read_store(t->path, err);
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
		rc = removed ? write_store(t->path, store, err) : 0;
	}
	cJSON_Delete(store);
	if (fd >= 0)
		close(fd);
	return rc < 0 ? -1 : removed;
}
