/* obstacle.c - compares a plan with the tree, before anything is written. */
/* SPDX-License-Identifier: MIT */
#include "apply/obstacle.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "tree/name.h"

struct obstacle_walk {
	struct apply_plan *plan;
	int root;
	mode_t perm;
	const struct obstacle_report *report;
	struct plan_dirs *keep; /* directories that new files need */
};

static bool is_removed(const struct apply_plan *p, const char *path)
{
	const struct plan_change *c = plan_find(p, path);

	return c && c->before.mode && !c->after.mode;
}

static mode_t perm_of_new(const struct obstacle_walk *k,
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

/* Calls visit with each directory above path, the topmost first. */
static int each_parent(const struct obstacle_walk *k, const char *path,
		       int (*visit)(const struct obstacle_walk *k,
				    const char *dir, struct error *err),
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

static int stat_dir(const struct obstacle_walk *k, const char *path,
		    struct stat *st)
{
	const char *name;
	int dir = treefile_parent(k->root, path, &name);
	int rc = dir < 0 ? -1 : fstatat(dir, name, st, AT_SYMLINK_NOFOLLOW);

	if (dir >= 0)
		close(dir);
	return rc;
}

static int add_drop(const struct obstacle_walk *k, const char *dir,
		    struct error *err)
{
	struct stat st;

	(void)err;
	if (stat_dir(k, dir, &st) == 0 && S_ISDIR(st.st_mode))
		plan_add_dir(&k->plan->drop, dir, st.st_mode & 07777);
	return 0;
}

/* A parent of a new file: there, or to be made where nothing stays. */
static int add_make(const struct obstacle_walk *k, const char *dir,
		    struct error *err)
{
	struct stat st;

	(void)err;
	if (stat_dir(k, dir, &st) == 0 && S_ISDIR(st.st_mode)) {
		plan_add_dir(k->keep, dir, 0);
		return 0;
	}
	if (stat_dir(k, dir, &st) == 0 && !is_removed(k->plan, dir)) {
		k->report->blocked(k->report->arg, dir);
		return 0;
	}
	plan_add_dir(&k->plan->make, dir, k->perm);
	return 0;
}

/* A directory where a file shall be: all in it has to be removed by the plan.
 * fd is closed. */
static int check_inside(const struct obstacle_walk *k, int fd, const char *path,
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

static int check_directory(const struct obstacle_walk *k, const char *path,
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

static int check_new(const struct obstacle_walk *k, const struct plan_change *c,
		     const struct treefile *now, struct error *err)
{
	/* What is above stays, also when the plan removes all else there. */
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

static int check_change(const struct obstacle_walk *k, struct plan_change *c,
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

int obstacle_check(struct apply_plan *p, int root, mode_t perm,
		   const struct obstacle_report *r, struct error *err)
{
	struct plan_dirs keep = { 0 };
	struct obstacle_walk k = { p, root, perm, r, &keep };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < p->n;) {
		bool leaves;

		rc = check_change(&k, &p->changes[i], &leaves, err);
		if (leaves)
			plan_remove(p, i);
		else
			i++;
	}
	plan_subtract_dirs(&p->drop, &keep);
	plan_release_dirs(&keep);
	return rc;
}

int obstacle_directory(struct apply_plan *p, int root, const char *path,
		       const struct obstacle_report *r, struct error *err)
{
	struct obstacle_walk k = { p, root, 0, r, NULL };

	return check_directory(&k, path, err);
}
