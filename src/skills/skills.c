/* skills.c - finds and checks SKILL.md folders, and describes them to the
 * model. */
/* SPDX-License-Identifier: MIT */
/*
 * First, a skill's name and its description for the model. Then the directories
 * with skills, and the checks of a SKILL.md. Begin reading at skills_read(). A
 * project's skills come from a repository and are not trusted: their links must
 * not lead out of it.
 */
#include "skills/skills.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utf8proc.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/project.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "skills/front_matter.h"

enum {
	PROMPT_MAX = 96 << 10, /* bytes of the list in the system prompt */
	LINE_MAX_BYTES = 8 << 10,
};

static const char rules[] =
	"\n# Skills\n"
	"A skill is a directory with instructions for one kind of task, and "
	"often with scripts and other files for it. When a task matches a "
	"skill, read its whole SKILL.md with read_file before you begin, and "
	"follow it. Paths in it are relative to its directory. Only the skills "
	"listed here exist:\n";

static void skills_add_problem(struct skills *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Appends a formatted line to the list of problems. */
static void skills_add_problem(struct skills *s, const char *fmt, ...)
{
	struct buf line = BUF_INIT(LINE_MAX_BYTES);
	char text[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	sanitize_line(str_of(text), &line);
	s->problems =
		xrealloc(s->problems, s->n_problems + 1, sizeof(*s->problems));
	s->problems[s->n_problems++] = buf_detach(&line);
}

void skills_release(struct skills *s)
{
	for (size_t i = 0; i < s->n; i++) {
		struct skill *k = &s->list[i];

		free(k->name);
		free(k->description);
		free(k->license);
		free(k->compatibility);
		free(k->tools);
		free(k->dir);
		free(k->source);
	}
	for (size_t i = 0; i < s->n_problems; i++)
		free(s->problems[i]);
	free(s->list);
	free(s->problems);
	*s = (struct skills){ 0 };
}

const struct skill *skills_find(const struct skills *s, struct str name)
{
	for (size_t i = 0; i < s->n; i++)
		if (str_is(name, s->list[i].name))
			return &s->list[i];
	return NULL;
}

const struct skill *skills_holding(const struct skills *s, const char *path)
{
	for (size_t i = 0; i < s->n; i++) {
		size_t len = strlen(s->list[i].dir);

		if (!strncmp(path, s->list[i].dir, len) &&
		    (path[len] == '/' || !path[len]))
			return &s->list[i];
	}
	return NULL;
}

static bool is_name_character(utf8proc_int32_t c)
{
	utf8proc_category_t kind = utf8proc_category(c);

	return kind == UTF8PROC_CATEGORY_LL || kind == UTF8PROC_CATEGORY_ND;
}

/* True for letters, combining marks and digits of any script, and for "-_.
 * ". */
static bool is_usable_character(utf8proc_int32_t c)
{
	utf8proc_category_t kind = utf8proc_category(c);

	return (kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_NO) ||
	       c == '-' || c == '_' || c == '.' || c == ' ';
}

/* True if a new skill may have this name. */
static bool is_name(struct str name)
{
	/* the character before is a hyphen, or there is none */
	bool hyphen = true;

	while (name.len) {
		utf8proc_int32_t c;
		utf8proc_ssize_t n =
			utf8proc_iterate((const utf8proc_uint8_t *)name.ptr,
					 (utf8proc_ssize_t)name.len, &c);

		if (n <= 0 || (c == '-' ? hyphen : !is_name_character(c)))
			return false;
		hyphen = c == '-';
		name = str_skip(name, (size_t)n);
	}
	return !hyphen;
}

/* True if an existing skill may have this name although skill_check_name()
 * refuses it for new ones: a file name that consists of letters and digits of
 * any script and "-_. ". The Python program accepts such names too. */
static bool skill_name_is_usable(const char *name)
{
	struct str rest = str_of(name);

	if (!rest.len || rest.len > NAME_MAX || name[0] == '.' ||
	    name[0] == ' ' || name[rest.len - 1] == ' ')
		return false;
	while (rest.len) {
		utf8proc_int32_t c;
		utf8proc_ssize_t n =
			utf8proc_iterate((const utf8proc_uint8_t *)rest.ptr,
					 (utf8proc_ssize_t)rest.len, &c);

		if (n <= 0 || !is_usable_character(c))
			return false;
		rest = str_skip(rest, (size_t)n);
	}
	return true;
}

int skill_check_name(const char *name, struct error *err)
{
	static const char what[] = "the name of a skill";

	if (!name[0])
		return error_set(err, ERR_USAGE, "%s cannot be empty", what);
	if (str_chars(str_of(name)) > SKILL_NAME_MAX)
		return error_set(err, ERR_USAGE,
				 "%s cannot exceed %d characters", what,
				 SKILL_NAME_MAX);
	if (strchr(name, '/') || strchr(name, '\\') || strstr(name, ".."))
		return error_set(err, ERR_USAGE,
				 "%s cannot contain path components", what);
	if (!is_name(str_of(name)))
		return error_set(err, ERR_USAGE,
				 "%s must be lowercase alphanumeric with "
				 "single hyphens only",
				 what);
	return 0;
}

char *skill_real_path(int fd)
{
	char link[64];
	char path[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path));
	if (n <= 0 || (size_t)n == sizeof(path) || path[0] != '/')
		return NULL;
	return xstrndup(path, (size_t)n);
}

int skill_open(const struct skill *s, struct error *err)
{
	int fd = open(s->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char *real = fd >= 0 ? skill_real_path(fd) : NULL;
	bool same = real && !strcmp(real, s->dir);

	free(real);
	if (same)
		return fd;
	if (fd >= 0)
		close(fd);
	/* Attack: a program in a sandbox that mounts the project replaces the
	 * skill, or a directory above it, by a link to other files of the
	 * user. */
	return error_set(err, ERR_NOT_FOUND,
			 "skill %s: %s no longer exists, or has become a link",
			 s->name, s->dir);
}

/* Opens SKILL.md. Fails if it is a link that leads out of the skill's
 * directory. */
static int open_text(const struct skill *s, int dir)
{
	int fd = openat(dir, "SKILL.md", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	char *real = fd >= 0 ? skill_real_path(fd) : NULL;
	size_t len = strlen(s->dir);
	bool inside = real && !strncmp(real, s->dir, len) && real[len] == '/';

	free(real);
	if (inside)
		return fd;
	if (fd >= 0)
		close(fd);
	errno = ENOENT;
	return -1;
}

/* Reads the rest of the file. -1 with errno. */
static int read_all(int fd, struct buf *text)
{
	for (;;) {
		char *room = buf_room(text, 64 << 10);
		ssize_t n;

		if (!room) {
			errno = EFBIG;
			return -1;
		}
		n = io_read(fd, room, 64 << 10);
		if (n < 0)
			return -1;
		buf_added(text, (size_t)n);
		if (!n)
			return 0;
	}
}

int skill_read_text(const struct skill *s, struct buf *text, size_t *body,
		    struct error *err)
{
	struct front_matter f = { 0 };
	struct stat st;
	int dir = skill_open(s, err);
	int fd = dir >= 0 ? open_text(s, dir) : -1;
	int rc = -1;

	if (dir < 0)
		return -1;
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    read_all(fd, text) < 0)
		error_set(err, ERR_NOT_FOUND,
			  "Could not read content for skill: %s. Check that "
			  "%s/SKILL.md exists, is readable, and is saved as "
			  "UTF-8",
			  s->name, s->dir);
	else if (!str_is_utf8(buf_str(text)))
		error_set(err, ERR_CONFIG,
			  "Could not read content for skill: %s. %s/SKILL.md "
			  "is not UTF-8",
			  s->name, s->dir);
	else if (front_matter_read(&f, buf_str(text), err) < 0)
		error_wrap(err, "skill %s: %s/SKILL.md", s->name, s->dir);
	else
		rc = 0;
	*body = f.body;
	front_matter_release(&f);
	close(dir);
	if (fd >= 0)
		close(fd);
	return rc;
}

/* Appends the description of one skill for the model. */
static void add_line(const struct skill *k, const char *root, struct buf *out)
{
	buf_addf(out, "- **%s**: %s", k->name, k->description);
	if (k->license && k->compatibility)
		buf_addf(out, " (License: %s, Compatibility: %s)", k->license,
			 k->compatibility);
	else if (k->license)
		buf_addf(out, " (License: %s)", k->license);
	else if (k->compatibility)
		buf_addf(out, " (Compatibility: %s)", k->compatibility);
	buf_addc(out, '\n');
	if (k->tools)
		buf_addf(out, "  -> Allowed tools: %s\n", k->tools);
	if (root)
		buf_addf(out, "  -> Read `%s/%s/SKILL.md`\n", root, k->name);
	else
		buf_addf(out, "  -> Read `%s/SKILL.md`\n", k->dir);
}

size_t skills_add_prompt(const struct skills *s, const char *root,
			 struct buf *out)
{
	size_t begin = out->len;
	size_t i;

	if (!s->n)
		return 0;
	buf_adds(out, rules);
	for (i = 0; i < s->n; i++) {
		struct buf line = BUF_INIT(LINE_MAX_BYTES);
		bool fits;

		add_line(&s->list[i], root, &line);
		fits = !line.over && out->len - begin + line.len <= PROMPT_MAX;
		if (fits)
			buf_addstr(out, buf_str(&line));
		buf_release(&line);
		if (!fits)
			break;
	}
	if (root)
		buf_addf(out,
			 "These directories are copies: dcode sends a skill's "
			 "files to the sandbox when a call first names "
			 "%s/NAME. Changes to them are not kept.\n",
			 root);
	return s->n - i;
}

enum {
	MOST_ENTRIES = 1000, /* entries read per directory */
	MOST_SKILLS = 500,
	DESCRIPTION_CHARS = 1024,
	/* limit for license, compatibility and allowed-tools */
	OTHER_CHARS = 500,
	/* more than a name may have, so that the error can show one that is too
	 * long */
	NAME_CHARS = 1000,
	N_PLACES = 6,
};

struct place {
	char *path; /* owned */
	enum skill_scope scope;
	/* real path, set when the directory is opened; owned, or NULL */
	char *real;
	dev_t device;
	ino_t number;
};

struct skill_scan {
	struct skills *out;
	const struct skills_request *request;
	struct place places[N_PLACES];
	size_t n;
	char *project; /* real path of the project's root; or NULL */
	uid_t owner;   /* owner of cwd */
	/* start of the current file: a buffer of FRONT_MATTER_MAX bytes */
	char *head;
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

/* Lists the directories that may have skills: the one with the highest
 * precedence last. */
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

/* True if a link of the user may lead to this path: into one of the user's own
 * skill directories or a directory that the user has allowed. */
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

/* True if a link may lead to this path. Attack: a repository has a link
 * .claude/skills/x to ~/.ssh or to the user's notes, which would then be sent
 * to a model. So its links must stay in the repository. */
static bool may_lead_to(const struct skill_scan *s, const struct place *p,
			const char *real)
{
	return p->scope == SKILL_PROJECT ? is_inside(real, s->project)
					 : is_allowed(s, real);
}

/* Checks the real path of a descriptor that was opened through a link. Returns
 * the path (owned). If the link may not lead there, closes fd and returns
 * NULL. */
static char *check_link(struct skill_scan *s, const struct place *p, int fd,
			const char *shown)
{
	char *real = skill_real_path(fd);

	if (real && may_lead_to(s, p, real))
		return real;
	skills_add_problem(s->out, "%s is left out: it links to %s%s", shown,
			   real ? real : "another directory",
			   p->scope == SKILL_PROJECT
				   ? ", outside of the project"
				   : ". To allow that, add the directory to "
				     "[skills] extra_allowed_dirs");
	free(real);
	close(fd);
	return NULL;
}

static void release_skill(struct skill *k)
{
	struct skills one = { .list = xcalloc(1, sizeof(*k)), .n = 1 };

	one.list[0] = *k;
	skills_release(&one);
}

/* Adds a skill. It replaces an earlier one of the same name. */
static void add_or_replace(struct skill_scan *s, struct skill *k)
{
	struct skills *out = s->out;

	for (size_t i = 0; i < out->n; i++) {
		struct skill *old = &out->list[i];

		if (strcmp(old->name, k->name) != 0)
			continue;
		k->hides_user = k->scope == SKILL_PROJECT &&
				(old->scope == SKILL_USER || old->hides_user);
		release_skill(old);
		*old = *k;
		return;
	}
	if (out->n == MOST_SKILLS) {
		skills_add_problem(out,
				   "%s is left out: there are more than %d "
				   "skills",
				   k->dir, MOST_SKILLS);
		release_skill(k);
		return;
	}
	if (!(out->n & (out->n - 1)))
		out->list = xrealloc(out->list, out->n ? 2 * out->n : 1,
				     sizeof(*out->list));
	out->list[out->n++] = *k;
}

/* Checks the name and the description of a skill. */
static int check_skill(const struct skill *k, const struct front_matter *f,
		       struct error *err)
{
	const struct front_field *name = front_matter_field(f, "name");
	const char *written;

	if (!k->name)
		return error_set(err, ERR_CONFIG, "it has no name");
	/* Check the name as it was written: removing control characters may
	 * have made it valid. */
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

/* Adds a skill with this front matter, or reports why it is left out. */
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

	if (check_skill(&k, f, &err) < 0) {
		skills_add_problem(s->out, "%s/%s/SKILL.md is left out: %s",
				   p->path, entry, err.message);
		release_skill(&k);
		return;
	}
	if (skill_check_name(k.name, &err) < 0)
		skills_add_problem(s->out, "%s/%s/SKILL.md is used, but %s",
				   p->path, entry, err.message);
	add_or_replace(s, &k);
}

/* Reads the start of the file, at most FRONT_MATTER_MAX bytes, into s->head.
 * Returns their number, or -1 with err. */
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

/* True if the directory, or with entry the entry's SKILL.md, is trusted (see
 * base/project.h). */
static bool is_trusted(struct skill_scan *s, const struct place *p,
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

/* Reads SKILL.md in the open directory `at`, whose real path is dir. */
static void read_skill_file(struct skill_scan *s, const struct place *p, int at,
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

/* Reads one entry of a directory with skills, following allowed links. */
static void read_skill_entry(struct skill_scan *s, const struct place *p,
			     int top, const char *entry)
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
	if (is_trusted(s, p, entry))
		read_skill_file(s, p, at, dir, entry);
	close(at);
	free(dir);
}

/* Lists the names in a directory, sorted, so that the order of problems does
 * not change. */
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
	qsort(names, n, sizeof(*names), str_compare);
	return n;
}

/* True if an earlier place in the list is the same directory, as when the
 * user's home directory is a repository. */
static bool is_known(const struct skill_scan *s, const struct place *p)
{
	for (const struct place *q = s->places; q < p; q++)
		if (q->real && q->device == p->device && q->number == p->number)
			return true;
	return false;
}

/* Opens a directory with skills. A directory of the user may be a link to
 * anywhere; one of a project must not lead out of the project. */
static int open_place(struct skill_scan *s, struct place *p)
{
	int top = open(p->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (top < 0)
		return -1;
	if (fstat(top, &st) < 0 || !is_trusted(s, p, NULL)) {
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

/* Reads all skills of one directory. */
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
		read_skill_entry(s, p, top, names[i]);
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
