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
	/* "Bash, Read": shown to the model, not enforced; or NULL */
	char *tools;
	char *dir;    /* real path on this machine */
	char *source; /* the directory where it was found */
	enum skill_scope scope;
	/* it replaced a skill of the user with the same name */
	bool hides_user;
};

struct skills {             /* start from { 0 } */
	struct skill *list; /* sorted by name */
	size_t n;
	/* one line for each skill that was left out, with the reason */
	char **problems;
	size_t n_problems;
};

struct skills_request {         /* all borrowed */
	const char *config_dir; /* ~/.deepagents */
	const char *agent;      /* "agent" */
	const char *home;       /* or NULL */
	const char *cwd;
	/* skills.extra_allowed_dirs: directories that the user's links may lead
	 * to. */
	const char *const *allowed;
	size_t n_allowed;
};

/*
 * Reads the front matter of each SKILL.md. Directories, in order of rising
 * precedence: CONFIG_DIR/AGENT/skills, ~/.agents/skills, .deepagents/skills and
 * .agents/skills of the project's root, ~/.claude/skills, .claude/skills of the
 * project. An unusable skill is added to problems and is not an error. A
 * project's links may lead only into the project; the user's links only to the
 * user's skill directories and to allowed. Any thread.
 */
void skills_read(struct skills *s, const struct skills_request *r);
void skills_release(struct skills *s);
const struct skill *skills_find(const struct skills *s, struct str name);
/* Returns the skill that contains this local file, or NULL. path must be a real
 * path. */
const struct skill *skills_holding(const struct skills *s, const char *path);
/* Checks the name of a new skill: lower-case letters of any script, digits,
 * single hyphens between them. ERR_USAGE with the Python program's message. */
int skill_check_name(const char *name, struct error *err);
/* Returns the first directory of the scope, where new skills are created.
 * Owned. */
char *skills_new_place(const struct skills_request *r, enum skill_scope scope);

/* Opens the skill's directory and returns the descriptor. Fails with
 * ERR_NOT_FOUND if it was moved, deleted or replaced since the skills were
 * read. */
int skill_open(const struct skill *s, struct error *err);
/* Appends the whole SKILL.md, which is UTF-8. *body is the offset of the
 * instructions. */
int skill_read_text(const struct skill *s, struct buf *text, size_t *body,
		    struct error *err);
/* Returns the real path of an open descriptor, or NULL. Owned. */
char *skill_real_path(int fd);

/*
 * Appends the list of skills for the system prompt. The same skills give the
 * same bytes. root: the directory of the skills in the sandbox; NULL: they are
 * used where they are on this machine. Returns how many did not fit and were
 * left out, the last names first.
 */
size_t skills_add_prompt(const struct skills *s, const char *root,
			 struct buf *out);

/* The built-in skills of the Python program that are useful here. They have no
 * files, and the model learns of them only when they are called. A skill of the
 * user or the project with the same name takes precedence. */
struct skill_builtin {
	const char *name; /* NULL ends the list */
	const char *description;
	const char *text;
};

extern const struct skill_builtin skill_builtins[];
const struct skill_builtin *skill_builtin_find(struct str name);

#endif
