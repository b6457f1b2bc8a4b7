/* guard.h - keeps a bound directory from running things on the host. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_LOCAL_GUARD_H
#define PROVIDERS_LOCAL_GUARD_H

#include "providers/local/record.h"
#include "providers/local/watch.h"
#include "sandbox/bind.h"

/*
 * A model that may write a directory of the user's could leave there what
 * makes git, an editor or a shell of the user run a program: a hook, a
 * core.fsmonitor, a task of .vscode, an .envrc. So, inside the sandbox,
 *   - .git is a mount of its own: it cannot be renamed or replaced;
 *   - what git takes programs from in it is read-only, and what is missing of
 *     it is occupied by a placeholder;
 *   - names of the setting `protect` are read-only; those at the root that
 *     are missing and no pattern, too.
 * Mounts cannot prevent new names elsewhere: guard_check() names those.
 */
struct guard { /* from { .record.fd = -1, .record.lock = -1 } */
	struct watch watch;
	struct record record;
	char *inside;    /* owned: where the directory is in the sandbox */
	char *arguments; /* owned: bubblewrap's, NUL after each */
	size_t arguments_len;
	size_t left_out; /* names without a mount: there are too many */
	char **found;    /* owned; relative paths, reported already */
	size_t n_found;
	int reported; /* what is not covered: 1 mounts, 2 the tree, too */
};

struct guard_request { /* all borrowed */
	const struct settings *settings;
	const char *root; /* the directory */
	const char *inside;
	const char *label; /* of the sandbox */
};
int guard_open(struct guard *g, const struct guard_request *r,
	       const struct stop *stop, struct error *err);
/*
 * The same for a repository that lies outside of the bound directory: root and
 * inside are git->common. All of it is read-only but what a commit writes: the
 * objects, branches (those that are there only where the checkout is on them)
 * with their logs, and what the checkout itself has. The arguments begin with
 * the mount of root.
 */
int guard_open_git(struct guard *g, const struct guard_request *r,
		   const struct bind_git *git, const struct stop *stop,
		   struct error *err);
/* Reports what was found since the last call; last: all of it once more. */
void guard_check(struct guard *g, bool last,
		 void (*each)(void *arg, const char *line), void *arg);
/* Removes the placeholders: the sandbox must have ended. */
void guard_release(struct guard *g);

#endif
