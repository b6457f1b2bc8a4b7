/* skills.h - lists a run's skills to the model and sends them when used. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_SKILLS_H
#define CMD_SESSION_SKILLS_H

#include "cmd/app.h"
#include "skills/skills.h"

struct part; /* declared in model/message.h */
struct run;  /* declared in cmd/session/run.h */

/* Directory of the skills in a sandbox. It is outside the working directory, so
 * that its files are not fetched as changes. On a shared machine ".RANDOM" is
 * appended. Attack: the first request names the directory before the sandbox
 * exists; another user of the machine who guessed it could put scripts there,
 * which the model would run. */
#define RUN_SKILLS_ROOT "/tmp/dcode-skills"

struct run_skills { /* part of struct run */
	struct skills all;
	bool *sent;    /* owned: sent[place * all.n + i] is true if skill i was
			  sent to that directory */
	char root[64]; /* the directory with a random name, on a shared
			machine */
};

/* Returns where the user and the project keep skills. *allowed is an array
 * owned by the caller; its strings are borrowed from the settings.
 * ERR_CONFIG. */
int run_skills_places(struct app *app, const char *agent,
		      struct skills_request *request, const char ***allowed,
		      struct error *err);
/* Loads r->skills on the first call. Warns about skills that cannot be used
 * (not with -q). ERR_CONFIG. */
int run_skills_open(struct run *r, struct error *err);
void run_skills_close(struct run *r);
/* Returns the skills directory in the sandbox, or NULL if tools act on this
 * machine. */
const char *run_skills_root(const struct run *r);
/* agent.prepare callback: sends skills that calls refer to. arg is the run. */
int run_skills_prepare(void *arg, const struct part *const *calls, size_t n,
		       struct buf *remark, const struct stop *stop,
		       struct error *err);
/* At the end of a run, deletes its skills from a shared machine and from the
 * sandbox of --sandbox-id. From the latter also deletes the stored tool
 * results. */
void run_skills_leave(struct run *r);
/* Appends the message that tells the model to work by a skill which the user
 * has called. The caller appends the user's request, if has_request.
 * ERR_NOT_FOUND, ERR_USAGE, ERR_CONFIG. */
int run_skills_invoke(struct run *r, struct str name, bool has_request,
		      struct buf *out, struct error *err);
/* True if text is "/skill:NAME ..." or, for a built-in skill, "/NAME ...".
 * *name and *request are borrowed from text and may be empty. */
bool run_skills_is_call(struct str text, struct str *name, struct str *request);
/* Builds the prompt for -s NAME. *prompt (owned) is the user's request, or
 * NULL; it is replaced by the complete prompt. */
int run_skills_begin(struct run *r, char **prompt, struct error *err);
/* True if a tool may read this file without approval: it is a file of a skill
 * and its name does not suggest a secret. real must be free of links. */
bool run_skills_may_read(const struct run *r, const char *real);

#endif
