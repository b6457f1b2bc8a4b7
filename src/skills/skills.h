/* skills.h - SKILL.md folders: instructions that the model reads on demand. */
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

/* Texts are owned, one clean line each. */
struct skill {
	char *name;
	char *description;
	char *license;       /* or NULL */
	char *compatibility; /* or NULL */
	char *tools;         /* "Bash, Read": only told; or NULL */
	char *dir;           /* absolute, on this machine, no link in it */
	char *source;        /* the directory that it was found in */
	enum skill_scope scope;
	bool hides_user; /* a skill of the user's of the same name */
};

struct skills {             /* start from { 0 } */
	struct skill *list; /* by name */
	size_t n;
	char **problems; /* a line each: what was left out, and why */
	size_t n_problems;
};

struct skills_request {         /* all borrowed */
	const char *config_dir; /* ~/.deepagents */
	const char *agent;      /* "agent" */
	const char *home;       /* or NULL */
	const char *cwd;
	/* skills.extra_allowed_dirs: where links of the user's may lead. */
	const char *const *allowed;
	size_t n_allowed;
};

/*
 * Reads the front matter of each SKILL.md. Places, the later ones take
 * precedence: CONFIG_DIR/AGENT/skills, ~/.agents/skills, .deepagents/skills and
 * .agents/skills of the project's root, ~/.claude/skills, .claude/skills of the
 * project. What cannot be used becomes a problem, never an error. Links are
 * followed within the project, and for the user's own to these places of the
 * user's and to allowed. Any thread.
 */
void skills_read(struct skills *s, const struct skills_request *r);
void skills_release(struct skills *s);
const struct skill *skills_find(const struct skills *s, struct str name);
/* The skill that holds this file of this machine; path has no link. Or NULL. */
const struct skill *skills_holding(const struct skills *s, const char *path);
/* ERR_USAGE with the reference's words (spec of names: lower-case letters of
 * any script, digits, single hyphens within). */
int skill_check_name(const char *name, struct error *err);
/* The first place of the scope, where new ones are made. Owned. */
char *skills_new_place(const struct skills_request *r, enum skill_scope scope);

/* An open descriptor of the skill's directory: -1 with ERR_NOT_FOUND where it
 * is not what it was when the skills were read. */
int skill_open(const struct skill *s, struct error *err);
/* Appends the whole SKILL.md, UTF-8; *body is where its instructions begin. */
int skill_read_text(const struct skill *s, struct buf *text, size_t *body,
		    struct error *err);
/* The real path of an open descriptor, or NULL. Owned. */
char *skill_real_path(int fd);

/*
 * Appends what the system prompt says of them: the same bytes for the same
 * skills. root: where they are in the sandbox; NULL: this machine, at their
 * own places. Those that do not fit are left out, by name from the last on:
 * how many.
 */
size_t skills_add_prompt(const struct skills *s, const char *root,
			 struct buf *out);

/* Those of the Python program that make sense here. They have no files, and
 * the model is not told of them before they are called; a skill of the user's
 * or the project's of the same name takes precedence. */
struct skill_builtin {
	const char *name; /* NULL ends the list */
	const char *description;
	const char *text;
};

extern const struct skill_builtin skill_builtins[];
const struct skill_builtin *skill_builtin_find(struct str name);

#endif
