/* plan.c - the changes of an apply or undo, determined before writing. */
/* SPDX-License-Identifier: MIT */
/*
 * A plan contains each file's current and future state, and the directories to
 * create and remove. plan_check() compares it with the tree and completes it.
 * The journal writes it to disk (as JSON; paths in base64, because they may
 * contain any byte) and carries it out. After a crash it is read again.
 */
#include "worktree/plan.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"

enum { LONGEST_PATH = 4096 };

struct plan_change *plan_add(struct apply_plan *p, const char *path)
{
	struct plan_change *c;

	if (p->n == p->cap) {
		p->cap = p->cap ? 2 * p->cap : 16;
		p->changes = xrealloc(p->changes, p->cap, sizeof(*c));
	}
	c = &p->changes[p->n++];
	*c = (struct plan_change){ .id = (unsigned)p->n,
				   .path = xstrdup(path) };
	return c;
}

static bool has_dir(const struct plan_dirs *d, const char *path)
{
	for (size_t i = d->n; i > 0; i--)
		if (!strcmp(d->list[i - 1].path, path))
			return true;
	return false;
}

/* Adds a directory. One that is already listed keeps its permissions. */
static void add_dir(struct plan_dirs *d, const char *path, mode_t perm)
{
	if (has_dir(d, path))
		return;
	d->list = xrealloc(d->list, d->n + 1, sizeof(*d->list));
	d->list[d->n++] = (struct plan_dir){ xstrdup(path), perm };
}

/* Removes the directories from d that are also in other. */
static void subtract_dirs(struct plan_dirs *d, const struct plan_dirs *other)
{
	size_t n = 0;

	for (size_t i = 0; i < d->n; i++) {
		if (has_dir(other, d->list[i].path))
			free(d->list[i].path);
		else
			d->list[n++] = d->list[i];
	}
	d->n = n;
}

static void release_dirs(struct plan_dirs *d)
{
	for (size_t i = 0; i < d->n; i++)
		free(d->list[i].path);
	free(d->list);
}

struct plan_change *plan_find(const struct apply_plan *p, const char *path)
{
	for (size_t i = 0; i < p->n; i++)
		if (!strcmp(p->changes[i].path, path))
			return &p->changes[i];
	return NULL;
}

void plan_remove(struct apply_plan *p, size_t i)
{
	free(p->changes[i].path);
	p->n--;
	memmove(p->changes + i, p->changes + i + 1,
		(p->n - i) * sizeof(*p->changes));
}

static int compare_dirs(const void *a, const void *b)
{
	return strcmp(((const struct plan_dir *)a)->path,
		      ((const struct plan_dir *)b)->path);
}

void plan_sort(struct apply_plan *p)
{
	if (p->make.n)
		qsort(p->make.list, p->make.n, sizeof(struct plan_dir),
		      compare_dirs);
	if (p->drop.n)
		qsort(p->drop.list, p->drop.n, sizeof(struct plan_dir),
		      compare_dirs);
}

void plan_reverse(struct apply_plan *p)
{
	struct plan_dirs dirs = p->make;
	char oid[GIT_OID];

	p->make = p->drop;
	p->drop = dirs;
	memcpy(oid, p->base_before, sizeof(oid));
	memcpy(p->base_before, p->base_after, sizeof(oid));
	memcpy(p->base_after, oid, sizeof(oid));
	for (size_t i = 0; i < p->n; i++) {
		struct treefile t = p->changes[i].before;

		p->changes[i].before = p->changes[i].after;
		p->changes[i].after = t;
	}
}

static void write_bytes(struct buf *out, const char *key, const char *text)
{
	buf_addf(out, "\"%s\":\"", key);
	json_base64(out, str_of(text));
	buf_addc(out, '"');
}

/* Writes [mode, permissions, seconds, nanoseconds, hash]. */
static void write_file(struct buf *out, const char *key,
		       const struct treefile *t)
{
	char hex[2 * TREEFILE_HASH + 1];

	sodium_bin2hex(hex, sizeof(hex), t->hash, TREEFILE_HASH);
	buf_addf(out, "\"%s\":[%u,%u,%lld,%ld,\"%s\"]", key, t->mode,
		 (unsigned)t->perm, (long long)t->mtime.tv_sec,
		 t->mtime.tv_nsec, hex);
}

static void write_dirs(struct buf *out, const char *key,
		       const struct plan_dirs *d)
{
	buf_addf(out, "\"%s\":[", key);
	for (size_t i = 0; i < d->n; i++) {
		buf_addf(out, "%s{", i ? "," : "");
		write_bytes(out, "path", d->list[i].path);
		buf_addf(out, ",\"perm\":%u}", (unsigned)d->list[i].perm);
	}
	buf_adds(out, "],\n");
}

void plan_write(const struct apply_plan *p, struct buf *out)
{
	buf_adds(out, "{\"version\":1,");
	write_bytes(out, "root", p->root);
	buf_addf(out, ",\"token\":\"%s\",\"undoes\":%u,", p->token, p->undoes);
	if (p->label) {
		json_member(out, "label", str_of(p->label));
		buf_addc(out, ',');
	}
	if (p->index) {
		write_bytes(out, "index", p->index);
		buf_addc(out, ',');
	}
	buf_addf(out, "\"base\":[\"%s\",\"%s\"],\n", p->base_before,
		 p->base_after);
	write_dirs(out, "make", &p->make);
	write_dirs(out, "drop", &p->drop);
	buf_adds(out, "\"changes\":[\n");
	for (size_t i = 0; i < p->n; i++) {
		const struct plan_change *c = &p->changes[i];

		buf_addf(out, "%s{\"id\":%u,", i ? ",\n" : "", c->id);
		write_bytes(out, "path", c->path);
		buf_addc(out, ',');
		write_file(out, "before", &c->before);
		buf_addc(out, ',');
		write_file(out, "after", &c->after);
		buf_addc(out, '}');
	}
	buf_adds(out, "]}\n");
}

/* Returns the decoded bytes of a base64 member, owned, or NULL. */
static char *read_bytes(const cJSON *object, const char *key)
{
	struct buf out = BUF_INIT(LONGEST_PATH);
	const char *text = json_string(object, key, NULL);

	if (text && json_decode_base64(&out, str_of(text)))
		return buf_detach(&out);
	buf_release(&out);
	return NULL;
}

static bool read_file(const cJSON *object, const char *key, struct treefile *t)
{
	const cJSON *a = json_get(object, key);
	const cJSON *item[5];
	size_t len;

	for (int i = 0; i < 5; i++) {
		item[i] = cJSON_GetArrayItem(a, i);
		if (i < 4 ? !cJSON_IsNumber(item[i]) : !cJSON_IsString(item[i]))
			return false;
	}
	*t = (struct treefile){
		.mode = (unsigned)item[0]->valuedouble,
		.perm = (mode_t)item[1]->valuedouble,
		.mtime = { (time_t)item[2]->valuedouble,
			   (long)item[3]->valuedouble },
	};
	return sodium_hex2bin(t->hash, TREEFILE_HASH, item[4]->valuestring,
			      strlen(item[4]->valuestring), NULL, &len,
			      NULL) == 0 &&
	       len == TREEFILE_HASH;
}

static bool read_dirs(const cJSON *tree, const char *key, struct plan_dirs *d)
{
	const cJSON *one;

	cJSON_ArrayForEach (one, json_get(tree, key)) {
		char *path = read_bytes(one, "path");

		if (!path)
			return false;
		add_dir(d, path, (mode_t)json_int(one, "perm", 0700));
		free(path);
	}
	return true;
}

static bool read_changes(const cJSON *tree, struct apply_plan *p)
{
	const cJSON *one;

	cJSON_ArrayForEach (one, json_get(tree, "changes")) {
		char *path = read_bytes(one, "path");
		struct plan_change *c;

		if (!path)
			return false;
		c = plan_add(p, path);
		free(path);
		c->id = (unsigned)json_int(one, "id", 0);
		if (!read_file(one, "before", &c->before) ||
		    !read_file(one, "after", &c->after))
			return false;
	}
	return true;
}

static void read_oid(const cJSON *tree, int i, char oid[GIT_OID])
{
	const cJSON *text = cJSON_GetArrayItem(json_get(tree, "base"), i);

	if (cJSON_IsString(text) && strlen(text->valuestring) < GIT_OID)
		memcpy(oid, text->valuestring, strlen(text->valuestring) + 1);
}

int plan_read(struct apply_plan *p, struct str text, struct error *err)
{
	cJSON *tree = json_parse(text);
	bool ok;

	p->root = read_bytes(tree, "root");
	p->index = read_bytes(tree, "index");
	p->label = xstrdup(json_string(tree, "label", NULL));
	p->token = xstrdup(json_string(tree, "token", NULL));
	p->undoes = (unsigned)json_int(tree, "undoes", 0);
	read_oid(tree, 0, p->base_before);
	read_oid(tree, 1, p->base_after);
	ok = p->root && p->token && json_int(tree, "version", 0) == 1 &&
	     read_dirs(tree, "make", &p->make) &&
	     read_dirs(tree, "drop", &p->drop) && read_changes(tree, p);
	cJSON_Delete(tree);
	return ok ? 0
		  : error_set(err, ERR_SYSTEM,
			      "the journal's plan is damaged, or from another "
			      "dcode version");
}

void plan_release(struct apply_plan *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->changes[i].path);
	free(p->changes);
	release_dirs(&p->make);
	release_dirs(&p->drop);
	free(p->root);
	free(p->label);
	free(p->token);
	free(p->index);
	*p = (struct apply_plan){ 0 };
}

struct plan_walk { /* all borrowed */
	struct apply_plan *plan;
	int root;
	mode_t perm;
	const struct plan_report *report;
	struct plan_dirs *keep; /* parent directories of new files */
};

/* True if the plan removes the file at path. */
static bool is_removed(const struct apply_plan *p, const char *path)
{
	const struct plan_change *c = plan_find(p, path);

	return c && c->before.mode && !c->after.mode;
}

/* Returns the permissions of a new file: those of the file that it replaces,
 * with executable bits added or removed; otherwise those of a newly created
 * file. */
static mode_t perm_of_new(const struct plan_walk *k,
			  const struct plan_change *c)
{
	mode_t perm = c->before.perm & 0777;
	bool was_file =
		c->before.mode == NAME_FILE || c->before.mode == NAME_PROGRAM;

	if (!was_file)
		perm = k->perm;
	if (c->after.mode == NAME_PROGRAM)
		return perm | ((perm & 0444) >> 2);
	return perm & ~(mode_t)0111;
}

/* Calls visit with each directory above path, topmost first. */
static int each_parent(const struct plan_walk *k, const char *path,
		       int (*visit)(const struct plan_walk *k, const char *dir,
				    struct error *err),
		       struct error *err)
{
	char *copy = xstrdup(path);
	int rc = 0;

	for (char *p = strchr(copy, '/'); p && rc == 0;
	     p = strchr(p + 1, '/')) {
		*p = '\0';
		rc = visit(k, copy, err);
		*p = '/';
	}
	free(copy);
	return rc;
}

/* Stats a directory of the tree without following links. */
static int stat_dir(const struct plan_walk *k, const char *path,
		    struct stat *st)
{
	const char *name;
	int dir = treefile_parent(k->root, path, &name);
	int rc = dir < 0 ? -1 : fstatat(dir, name, st, AT_SYMLINK_NOFOLLOW);

	if (dir >= 0)
		close(dir);
	return rc;
}

/* An each_parent() visit: lists a directory to remove if it is empty at the
 * end. */
static int add_drop(const struct plan_walk *k, const char *dir,
		    struct error *err)
{
	struct stat st;

	(void)err;
	if (stat_dir(k, dir, &st) == 0 && S_ISDIR(st.st_mode))
		add_dir(&k->plan->drop, dir, st.st_mode & 07777);
	return 0;
}

/* An each_parent() visit: a parent of a new file exists, or will be created if
 * nothing is in its place after the removals. */
static int add_make(const struct plan_walk *k, const char *dir,
		    struct error *err)
{
	struct stat st;

	(void)err;
	if (stat_dir(k, dir, &st) == 0 && S_ISDIR(st.st_mode)) {
		add_dir(k->keep, dir, 0);
		return 0;
	}
	if (stat_dir(k, dir, &st) == 0 && !is_removed(k->plan, dir)) {
		k->report->blocked(k->report->arg, dir);
		return 0;
	}
	add_dir(&k->plan->make, dir, k->perm);
	return 0;
}

/* Checks a directory in the place of a future file: the plan must remove all
 * its contents. Closes fd. */
static int check_inside(const struct plan_walk *k, int fd, const char *path,
			struct error *err)
{
	DIR *dir = fdopendir(fd);
	const struct dirent *d;
	int rc = 0;

	if (!dir) {
		close(fd);
		return error_errno(err, "reading %s", path);
	}
	while (rc == 0 && (d = readdir(dir))) {
		char *inner;
		int sub;

		if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
			continue;
		inner = xasprintf("%s/%s", path, d->d_name);
		sub = openat(fd, d->d_name,
			     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (sub >= 0)
			rc = add_drop(k, inner, err) < 0
				     ? -1
				     : check_inside(k, sub, inner, err);
		else if (!is_removed(k->plan, inner))
			k->report->blocked(k->report->arg, inner);
		free(inner);
	}
	closedir(dir);
	return rc;
}

/* Checks that the plan removes all contents of the directory at path. */
static int check_directory(const struct plan_walk *k, const char *path,
			   struct error *err)
{
	const char *name;
	int dir = treefile_parent(k->root, path, &name);
	int fd = dir < 0 ? -1
			 : openat(dir, name,
				  O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
					  O_CLOEXEC);

	if (dir >= 0)
		close(dir);
	if (fd < 0)
		return error_errno(err, "reading %s", path);
	(void)add_drop(k, path, err);
	return check_inside(k, fd, path, err);
}

/* Checks a file that the plan adds: nothing may be in its place. */
static int check_new(const struct plan_walk *k, const struct plan_change *c,
		     const struct treefile *now, struct error *err)
{
	/* Directories above it stay, even if the plan removes everything else
	 * in them. */
	if (now->mode == TREEFILE_DIR)
		return each_parent(k, c->path, add_make, err) < 0
			       ? -1
			       : check_directory(k, c->path, err);
	if (now->mode && now->mode != TREEFILE_BLOCKED)
		k->report->blocked(k->report->arg, c->path);
	else
		return each_parent(k, c->path, add_make, err);
	return 0;
}

/* Compares a change with the tree. *leaves: the tree already has the change, so
 * the caller removes it from the plan. */
static int check_change(const struct plan_walk *k, struct plan_change *c,
			bool *leaves, struct error *err)
{
	struct treefile now;

	*leaves = false;
	if (treefile_stat(k->root, c->path, &now, err) < 0)
		return -1;
	if (!c->before.mode && c->after.mode &&
	    treefile_equal(&now, &c->after)) {
		*leaves = true;
		return 0;
	}
	if (c->before.mode && !treefile_equal(&now, &c->before)) {
		k->report->changed(k->report->arg, c->path);
		return 0;
	}
	if (c->before.mode) {
		c->before.perm = now.perm;
		c->before.mtime = now.mtime;
	}
	c->after.perm = perm_of_new(k, c);
	c->after.mtime.tv_nsec = UTIME_OMIT;
	if (!c->before.mode)
		return check_new(k, c, &now, err);
	return c->after.mode ? 0 : each_parent(k, c->path, add_drop, err);
}

int plan_check(struct apply_plan *p, int root, mode_t perm,
	       const struct plan_report *r, struct error *err)
{
	struct plan_dirs keep = { 0 };
	struct plan_walk k = { p, root, perm, r, &keep };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < p->n;) {
		bool leaves;

		rc = check_change(&k, &p->changes[i], &leaves, err);
		if (leaves)
			plan_remove(p, i);
		else
			i++;
	}
	subtract_dirs(&p->drop, &keep);
	release_dirs(&keep);
	return rc;
}

int plan_check_directory(struct apply_plan *p, int root, const char *path,
			 const struct plan_report *r, struct error *err)
{
	struct plan_walk k = { p, root, 0, r, NULL };

	return check_directory(&k, path, err);
}
