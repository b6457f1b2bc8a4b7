/* skills_read.c - looks for skills at the places of user and project. */
/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/project.h"
#include "base/str.h"
#include "skills/front_matter.h"
#include "skills/front_text.h"
#include "skills/skills.h"

enum {
	MOST_ENTRIES = 1000, /* of one place */
	MOST_SKILLS = 500,
	DESCRIPTION_CHARS = 1024,
	OTHER_CHARS = 500, /* license, compatibility, allowed-tools */
	NAME_CHARS = 1000, /* enough to see that it is too long */
	N_PLACES = 6,
};

struct place {
	char *path; /* owned */
	enum skill_scope scope;
	char *real; /* owned: without links, once it was opened; or NULL */
	dev_t device;
	ino_t number;
};

struct skill_scan {
	struct skills *out;
	const struct skills_request *request;
	struct place places[N_PLACES];
	size_t n;
	char *project; /* the root, no link in it; or NULL */
	uid_t owner;   /* of the working directory */
	char *head;    /* room for FRONT_MATTER_MAX bytes */
};

static const char *const project_names[] = { ".deepagents/skills",
					     ".agents/skills",
					     ".claude/skills" };

char *skills_new_place(const struct skills_request *r, enum skill_scope scope)
{
	size_t len;

	if (scope == SKILL_USER)
		return xasprintf("%s/%s/skills", r->config_dir, r->agent);
	len = project_root(r->cwd, project_owner(r->cwd), NULL);
	return xasprintf("%.*s/%s", (int)len, r->cwd, project_names[0]);
}

static void add_place(struct skill_scan *s, enum skill_scope scope,
		      const char *dir, const char *name)
{
	if (!dir)
		return;
	s->places[s->n++] =
		(struct place){ .path = path_join(dir, name), .scope = scope };
}

/* In the order of their strength, the weakest first. */
static void list_places(struct skill_scan *s)
{
	const struct skills_request *r = s->request;
	size_t len = project_root(r->cwd, s->owner, NULL);
	char *root = xasprintf("%.*s", (int)len, r->cwd);
	char *own = path_join(r->config_dir, r->agent);

	add_place(s, SKILL_USER, own, "skills");
	add_place(s, SKILL_USER, r->home, ".agents/skills");
	add_place(s, SKILL_PROJECT, root, project_names[0]);
	add_place(s, SKILL_PROJECT, root, project_names[1]);
	add_place(s, SKILL_USER, r->home, ".claude/skills");
	add_place(s, SKILL_PROJECT, root, project_names[2]);
	s->project = realpath(root, NULL);
	free(own);
	free(root);
}

static bool is_inside(const char *path, const char *dir)
{
	size_t len = dir ? strlen(dir) : 0;

	return len && !strncmp(path, dir, len) &&
	       (path[len] == '/' || !path[len] || len == 1);
}

static bool is_allowed(const struct skill_scan *s, const char *real)
{
	const struct skills_request *r = s->request;
	bool found = false;

	for (size_t i = 0; i < s->n && !found; i++) {
		const struct place *p = &s->places[i];
		char *dir =
			p->scope == SKILL_USER ? realpath(p->path, NULL) : NULL;

		found = is_inside(real, dir);
		free(dir);
	}
	for (size_t i = 0; i < r->n_allowed && !found; i++) {
		char *path = path_expand(r->allowed[i], r->home ? r->home : "");
		char *dir = path[0] == '/' ? realpath(path, NULL) : NULL;

		found = is_inside(real, dir);
		free(dir);
		free(path);
	}
	return found;
}

/* A repository's links stay in the repository. Attack: .claude/skills/x that
 * links to ~/.ssh, or to notes of the user's, which would then be sent. */
static bool may_lead_to(const struct skill_scan *s, const struct place *p,
			const char *real)
{
	return p->scope == SKILL_PROJECT ? is_inside(real, s->project)
					 : is_allowed(s, real);
}

/* What is opened through a link has to be where links may lead: its real path,
 * owned; else NULL, and fd is closed. */
static char *check_link(struct skill_scan *s, const struct place *p, int fd,
			const char *shown)
{
	char *real = skill_real_path(fd);

	if (real && may_lead_to(s, p, real))
		return real;
	skills_add_problem(
		s->out, "%s is left out: it is a link to %s%s", shown,
		real ? real : "somewhere else",
		p->scope == SKILL_PROJECT
			? ", outside of the project"
			: "; [skills] extra_allowed_dirs names where links "
			  "may lead");
	free(real);
	close(fd);
	return NULL;
}

static void drop(struct skill *k)
{
	struct skills one = { .list = xcalloc(1, sizeof(*k)), .n = 1 };

	one.list[0] = *k;
	skills_release(&one);
}

/* The later one takes the place of one that has its name. */
static void put(struct skill_scan *s, struct skill *k)
{
	struct skills *out = s->out;

	for (size_t i = 0; i < out->n; i++) {
		struct skill *old = &out->list[i];

		if (strcmp(old->name, k->name) != 0)
			continue;
		k->hides_user = k->scope == SKILL_PROJECT &&
				(old->scope == SKILL_USER || old->hides_user);
		drop(old);
		*old = *k;
		return;
	}
	if (out->n == MOST_SKILLS) {
		skills_add_problem(out,
				   "%s is left out: there are more than %d "
				   "skills",
				   k->dir, MOST_SKILLS);
		drop(k);
		return;
	}
	if (!(out->n & (out->n - 1)))
		out->list = xrealloc(out->list, out->n ? 2 * out->n : 1,
				     sizeof(*out->list));
	out->list[out->n++] = *k;
}

static int check(const struct skill *k, const struct front_matter *f,
		 struct error *err)
{
	const struct front_field *name = front_matter_field(f, "name");
	const char *written;

	if (!k->name)
		return error_set(err, ERR_CONFIG, "it has no name");
	/* As it was written: no escape is taken out of it first. */
	written = str_trim(str_of(name->items[0])).len == strlen(k->name)
			  ? k->name
			  : name->items[0];
	if (skill_check_name(written, err) < 0 &&
	    !skill_name_is_usable(written))
		return -1;
	if (!k->description)
		return error_set(err, ERR_CONFIG, "it has no description");
	return 0;
}

static void add_skill(struct skill_scan *s, const struct place *p,
		      const char *dir, const char *entry,
		      const struct front_matter *f)
{
	struct error err = { 0 };
	struct skill k = {
		.name = front_text(f, "name", NAME_CHARS),
		.description = front_text(f, "description", DESCRIPTION_CHARS),
		.license = front_text(f, "license", OTHER_CHARS),
		.compatibility = front_text(f, "compatibility", OTHER_CHARS),
		.tools = front_words(f, "allowed-tools", OTHER_CHARS),
		.dir = xstrdup(dir),
		.source = xstrdup(p->path),
		.scope = p->scope,
	};

	if (check(&k, f, &err) < 0) {
		skills_add_problem(s->out, "%s/%s/SKILL.md is left out: %s",
				   p->path, entry, err.message);
		drop(&k);
		return;
	}
	if (skill_check_name(k.name, &err) < 0)
		skills_add_problem(s->out, "%s/%s/SKILL.md is used, but %s",
				   p->path, entry, err.message);
	put(s, &k);
}

/* As much of the file as its front matter may have; -1 with err. */
static ssize_t read_head(struct skill_scan *s, const struct place *p, int fd,
			 struct error *err)
{
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) < 0)
		return error_errno(err, "stat");
	if (!S_ISREG(st.st_mode))
		return error_set(err, ERR_CONFIG, "it is not a regular file");
	if (st.st_size > SKILL_FILE_MAX)
		return error_set(err, ERR_LIMIT, "it is larger than %d MiB",
				 SKILL_FILE_MAX >> 20);
	if (p->scope == SKILL_PROJECT && !project_trusts(&st, s->owner))
		return error_set(err, ERR_CONFIG, "another user owns it");
	n = io_read(fd, s->head, FRONT_MATTER_MAX);
	return n < 0 ? error_errno(err, "reading it") : n;
}

static void read_skill(struct skill_scan *s, const struct place *p,
		       const char *dir, const char *entry, int fd)
{
	struct front_matter f = { 0 };
	struct error err = { 0 };
	ssize_t n = read_head(s, p, fd, &err);

	if (n >= 0 && front_matter_read(&f, (struct str){ s->head, (size_t)n },
					&err) == 0)
		add_skill(s, p, dir, entry, &f);
	else
		skills_add_problem(s->out, "%s/%s/SKILL.md is left out: %s",
				   p->path, entry, err.message);
	front_matter_release(&f);
}

/* Whether entry of a place counts, or, without one, the place itself. */
static bool counts(struct skill_scan *s, const struct place *p,
		   const char *entry)
{
	struct error err = { 0 };
	char *path = entry ? xasprintf("%s/%s/SKILL.md", p->path, entry)
			   : xstrdup(p->path);
	int rc = p->scope == SKILL_USER || !s->project
			 ? 0
			 : project_check(s->project, path, s->owner, &err);

	if (rc < 0)
		skills_add_problem(s->out, "%s is left out: %s", path,
				   err.message);
	free(path);
	return rc >= 0;
}

/* SKILL.md in an open directory, whose real path is dir. */
static void look_into(struct skill_scan *s, const struct place *p, int at,
		      const char *dir, const char *entry)
{
	enum { HOW = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC };
	int fd = openat(at, "SKILL.md", HOW | O_NOFOLLOW);

	if (fd < 0 && errno == ELOOP) {
		char *real = NULL;

		fd = openat(at, "SKILL.md", HOW);
		if (fd >= 0)
			real = skill_real_path(fd);
		if (fd >= 0 && (!real || !is_inside(real, dir))) {
			skills_add_problem(s->out,
					   "%s/%s/SKILL.md is left out: it is "
					   "a link that leads out of its "
					   "directory",
					   p->path, entry);
			close(fd);
			fd = -1;
		}
		free(real);
	} else if (fd < 0 && errno != ENOENT) {
		skills_add_problem(s->out, "%s/%s/SKILL.md cannot be read",
				   p->path, entry);
	}
	if (fd < 0)
		return;
	read_skill(s, p, dir, entry, fd);
	close(fd);
}

static void look_at(struct skill_scan *s, const struct place *p, int top,
		    const char *entry)
{
	enum { HOW = O_RDONLY | O_DIRECTORY | O_CLOEXEC };
	int at = openat(top, entry, HOW | O_NOFOLLOW);
	char *dir = NULL;

	if (at >= 0) {
		dir = path_join(p->real, entry);
	} else if (errno == ELOOP || errno == ENOTDIR) {
		at = openat(top, entry, HOW);
		if (at >= 0) {
			char *shown = path_join(p->path, entry);

			dir = check_link(s, p, at, shown);
			free(shown);
		}
	}
	if (!dir)
		return;
	if (counts(s, p, entry))
		look_into(s, p, at, dir, entry);
	close(at);
	free(dir);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names of a place, sorted, so that what is said has an order. */
static size_t list_entries(struct skill_scan *s, const struct place *p, int top,
			   char **names)
{
	int copy = fcntl(top, F_DUPFD_CLOEXEC, 0);
	DIR *d = copy >= 0 ? fdopendir(copy) : NULL;
	const struct dirent *e;
	size_t n = 0;

	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		if (e->d_type != DT_DIR && e->d_type != DT_LNK &&
		    e->d_type != DT_UNKNOWN)
			continue;
		if (n == MOST_ENTRIES) {
			skills_add_problem(s->out,
					   "%s has more than %d entries: the "
					   "others are left out",
					   p->path, MOST_ENTRIES);
			break;
		}
		names[n++] = xstrdup(e->d_name);
	}
	if (d)
		closedir(d);
	else if (copy >= 0)
		close(copy);
	qsort(names, n, sizeof(*names), compare_names);
	return n;
}

/* The same directory by two names, as where the home is a repository: the
 * first one has it. */
static bool is_known(const struct skill_scan *s, const struct place *p)
{
	for (const struct place *q = s->places; q < p; q++)
		if (q->real && q->device == p->device && q->number == p->number)
			return true;
	return false;
}

/* The place itself may be a link of the user's; a project's stays inside. */
static int open_place(struct skill_scan *s, struct place *p)
{
	int top = open(p->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (top < 0)
		return -1;
	if (fstat(top, &st) < 0 || !counts(s, p, NULL)) {
		close(top);
		return -1;
	}
	if (p->scope == SKILL_PROJECT)
		p->real = check_link(s, p, top, p->path);
	else
		p->real = skill_real_path(top);
	p->device = st.st_dev;
	p->number = st.st_ino;
	if (p->real && !is_known(s, p))
		return top;
	if (p->real || p->scope == SKILL_USER)
		close(top);
	free(p->real);
	p->real = NULL;
	return -1;
}

static void read_place(struct skill_scan *s, struct place *p)
{
	char *names[MOST_ENTRIES];
	int top = open_place(s, p);
	size_t n;

	if (top < 0)
		return;
	if (!s->head)
		s->head = xcalloc(1, FRONT_MATTER_MAX);
	n = list_entries(s, p, top, names);
	for (size_t i = 0; i < n; i++) {
		look_at(s, p, top, names[i]);
		free(names[i]);
	}
	close(top);
}

static int compare_skills(const void *a, const void *b)
{
	return strcmp(((const struct skill *)a)->name,
		      ((const struct skill *)b)->name);
}

void skills_read(struct skills *out, const struct skills_request *r)
{
	struct skill_scan s = { .out = out,
				.request = r,
				.owner = project_owner(r->cwd) };

	list_places(&s);
	for (size_t i = 0; i < s.n; i++)
		read_place(&s, &s.places[i]);
	for (size_t i = 0; i < s.n; i++) {
		free(s.places[i].path);
		free(s.places[i].real);
	}
	if (out->n)
		qsort(out->list, out->n, sizeof(*out->list), compare_skills);
	free(s.project);
	free(s.head);
}
