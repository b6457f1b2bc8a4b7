/* skills.h - the skills of a run: named to the model, sent when used. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_SKILLS_H
#define CMD_SESSION_SKILLS_H

#include "cmd/app.h"
#include "skills/skills.h"

struct part; /* model/message.h */
struct run;  /* cmd/session/run.h */

/*
 * Where they are in a sandbox: outside of the working directory, so that what
 * comes back from there has none of their files. On a machine of several users
 * ".RANDOM" follows. Attack: the first request names the directory before there
 * is a sandbox; another user who could guess it would put his scripts there.
 */
#define RUN_SKILLS_ROOT "/tmp/dcode-skills"

struct run_skills { /* of struct run */
	struct skills all;
	bool *sent;    /* owned; one for each skill, twice: skills.c */
	char root[64]; /* on a machine of several users */
};

/* Where user and project keep them. *allowed is owned by the caller, its
 * strings by the settings. ERR_CONFIG */
int run_skills_places(struct app *app, const char *agent,
		      struct skills_request *request, const char ***allowed,
		      struct error *err);
/* Fills r->skills where that was not done yet; says what was left out, but not
 * with -q. ERR_CONFIG */
int run_skills_open(struct run *r, struct error *err);
void run_skills_close(struct run *r);
/* Their directory, or NULL: the tools act on this machine. */
const char *run_skills_root(const struct run *r);
/* As agent.prepare; arg is the run. */
int run_skills_prepare(void *arg, const struct part *const *calls, size_t n,
		       struct buf *remark, const struct stop *stop,
		       struct error *err);
/* Removes them from a machine that is not ours alone, at the end of a run; from
 * a sandbox that is not ours also the results that were too large for the
 * model. */
void run_skills_leave(struct run *r);
/* Appends what the model is told when the user calls a skill by its name; what
 * he wants of it is to be appended, if anything. ERR_NOT_FOUND and more. */
int run_skills_invoke(struct run *r, struct str name, bool has_request,
		      struct buf *out, struct error *err);
/* True for "/skill:NAME ...", and for "/NAME ..." of a built-in one: *name may
 * be empty, *request too. */
bool run_skills_is_call(struct str text, struct str *name, struct str *request);
/* The prompt of -s NAME: *prompt (owned, or NULL) becomes its request. */
int run_skills_begin(struct run *r, char **prompt, struct error *err);
/* True where a tool may read this file of this machine unasked: one of a
 * skill's that is no secret. real has no link. */
bool run_skills_may_read(const struct run *r, const char *real);

#endif
