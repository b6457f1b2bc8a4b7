/* skills.h - SKILL.md folders: instructions that the model reads when
 * needed. */
/* SPDX-License-Identifier: MIT */
#ifndef SKILLS_SKILLS_H
#define SKILLS_SKILLS_H

#include <stdbool.h>

#include "base/buf.h"

enum {
	SKILL_FILE_MAX = 10 << 20, /* bytes of a SKILL.md */
	SKILL_NAME_MAX = 64,       /* characters */
};

enum skill_scope { SKILL_USER = 1, SKILL_PROJECT = 2 };

/* Texts are owned. Each is one line without control characters. */
struct skill {
	char *name;
	char *description;
	char *license;       /* or NULL */
	char *compatibility; /* or NULL */
	/* tools that it wants to use, "Bash, Read": the model is told, but it
	 * is not enforced; or NULL */
	char *tools;
	char *dir;    /* real path on this machine */
	char *source; /* the skills directory in which it was found */
	enum skill_scope scope;
	/* it has replaced a skill of the user with the same name */
	bool hides_user;
};

struct skills {             /* initialise with { 0 } */
	struct skill *list; /* sorted by name */
	size_t n;
	/* one line for each skill that was left out, with the reason */
	char **problems;
	size_t n_problems;
};

struct skills_request {         /* all borrowed */
	const char *config_dir; /* ~/.deepagents */
	const char *agent;      /* name of the agent, usually "agent" */
	const char *home;       /* or NULL */
	const char *cwd;
	/* From skills.extra_allowed_dirs: directories outside of the skill
	 * directories to which the user's links may lead. */
	const char *const *allowed;
	size_t n_allowed;
};

/*
 * Reads the front matter of each SKILL.md. Searches these directories; a skill
 * from a later one replaces one of the same name: CONFIG_DIR/AGENT/skills,
 * ~/.agents/skills, .deepagents/skills and .agents/skills of the project's
 * root, ~/.claude/skills, .claude/skills of the project's root. A skill that
 * cannot be used is added to problems and is not an error. A project's links
 * may only lead into the project; the user's links only into the user's skill
 * directories and those in `allowed`. Any thread.
 */
void skills_read(struct skills *s, const struct skills_request *r);
void skills_release(struct skills *s);
const struct skill *skills_find(const struct skills *s, struct str name);
/* Returns the skill that contains this local file, or NULL. path must be a real
 * path. */
const struct skill *skills_holding(const struct skills *s, const char *path);
/* Checks the name of a new skill: lower-case letters of any script and digits,
 * with single hyphens between them. ERR_USAGE with the Python program's
 * message. */
int skill_check_name(const char *name, struct error *err);
/* Returns the directory in which new skills of this scope are created.
 * Owned. */
char *skills_new_place(const struct skills_request *r, enum skill_scope scope);

/* Opens the skill's directory and returns the descriptor. Fails with
 * ERR_NOT_FOUND if it was moved, deleted or replaced since the skills were
 * read. */
int skill_open(const struct skill *s, struct error *err);
/* Appends the whole SKILL.md, which is UTF-8. *body: offset of the text after
 * the front matter, the instructions. */
int skill_read_text(const struct skill *s, struct buf *text, size_t *body,
		    struct error *err);
/* Returns the real path of an open descriptor, or NULL. Owned. */
char *skill_real_path(int fd);

/*
 * Appends the list of skills for the system prompt. The same skills always give
 * the same bytes. root: the directory in the sandbox that has copies of the
 * skills; NULL: the model reads them where they are on this machine. If not all
 * fit, leaves out the last ones by name, and returns their number.
 */
size_t skills_add_prompt(const struct skills *s, const char *root,
			 struct buf *out);

/* The built-in skills: those of the Python program that are useful in dcode.
 * They have no files, and the model learns of one only when the user calls it.
 * A skill of the user or the project with the same name takes precedence. */
struct skill_builtin {
	const char *name; /* NULL ends the list */
	const char *description;
	const char *text;
};

extern const struct skill_builtin skill_builtins[];
const struct skill_builtin *skill_builtin_find(struct str name);

#endif
