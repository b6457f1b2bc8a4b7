/* skills.c - the skills that were read: finding them, and telling the model. */
/* SPDX-License-Identifier: MIT */
#include "skills/skills.h"

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
	"often with scripts and other files for it. When a task is what a "
	"skill is for, read its SKILL.md with read_file before you begin, all "
	"of it, and follow it. Paths in it are relative to its directory. "
	"Only what is listed here exists:\n";

void skills_add_problem(struct skills *s, const char *fmt, ...)
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

/* Of a word in any script, or one of "-_. ". */
static bool is_usable_character(utf8proc_int32_t c)
{
	utf8proc_category_t kind = utf8proc_category(c);

	return (kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_NO) ||
	       c == '-' || c == '_' || c == '.' || c == ' ';
}

static bool is_name(struct str name)
{
	bool hyphen = true; /* or the beginning */

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

bool skill_name_is_usable(const char *name)
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
	/* Attack: what runs in a sandbox that the project is bound into puts a
	 * link where the skill, or a directory above it, was. */
	return error_set(err, ERR_NOT_FOUND,
			 "skill %s: %s no longer exists, or has become a link",
			 s->name, s->dir);
}

/* The file itself is no link, or was one that stays within the skill. */
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
			 "These directories are copies: a skill's files come "
			 "into the sandbox when %s/NAME is first named in a "
			 "call, and what is changed there is not kept.\n",
			 root);
	return s->n - i;
}
