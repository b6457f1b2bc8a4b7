/* skills.h - lists a run's skills to the model and sends them when used. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_SKILLS_H
#define CMD_SESSION_SKILLS_H

#include "cmd/app.h"
#include "skills/skills.h"

struct part; /* declared in model/message.h */
struct run;  /* declared in cmd/session/run.h */

/* Directory of the skills in a sandbox. It is outside the working directory, so
 * that their files are not fetched as changes. On a shared machine ".RANDOM" is
 * appended. Attack: the first request names the directory before the sandbox
 * exists, and another user who guesses it could put his scripts there. */
#define RUN_SKILLS_ROOT "/tmp/dcode-skills"

struct run_skills { /* part of struct run */
	struct skills all;
	bool *sent;    /* owned; sent flags, one per skill and directory:
			  skills.c */
	char root[64]; /* directory on a shared machine */
};

/* Returns where user and project keep skills. *allowed is an array owned by the
 * caller; its strings belong to the settings. ERR_CONFIG. */
int run_skills_places(struct app *app, const char *agent,
		      struct skills_request *request, const char ***allowed,
		      struct error *err);
/* Loads r->skills on the first call and warns about skipped skills (not with
 * -q). ERR_CONFIG. */
int run_skills_open(struct run *r, struct error *err);
void run_skills_close(struct run *r);
/* Returns the skills directory in the sandbox, or NULL if tools act on this
 * machine. */
const char *run_skills_root(const struct run *r);
/* Implements agent.prepare. arg is the run. */
int run_skills_prepare(void *arg, const struct part *const *calls, size_t n,
		       struct buf *remark, const struct stop *stop,
		       struct error *err);
/* At the end of a run, deletes the skills from a shared machine or an attached
 * sandbox, and from the latter also stored tool results. */
void run_skills_leave(struct run *r);
/* Appends the message for the model when the user calls a skill. The caller
 * appends the user's request, if any. ERR_NOT_FOUND, ERR_USAGE, ERR_CONFIG. */
int run_skills_invoke(struct run *r, struct str name, bool has_request,
		      struct buf *out, struct error *err);
/* True for "/skill:NAME ..." and for "/NAME ..." of a built-in skill. *name and
 * *request may be empty. */
bool run_skills_is_call(struct str text, struct str *name, struct str *request);
/* Builds the prompt for -s NAME. *prompt (owned, or NULL) is the request and is
 * replaced. */
int run_skills_begin(struct run *r, char **prompt, struct error *err);
/* True if a tool may read this file without approval: it belongs to a skill and
 * is not secret. real must be free of links. */
bool run_skills_may_read(const struct run *r, const char *real);

#endif
