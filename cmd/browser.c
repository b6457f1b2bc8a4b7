/* browser.c - shows an address in the user's browser. */
/* SPDX-License-Identifier: MIT */
#include "cmd/browser.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/proc.h"
#include "config/settings_env.h"

/* Returns the program in $BROWSER if that is a single word, otherwise the
 * desktop's program for opening addresses. Owned. NULL if there is none, or if
 * the browser would not appear on the user's screen. */
static char *find_browser(const struct settings *set)
{
	const char *path = settings_exported(set, "PATH");
	const char *own = settings_exported(set, "BROWSER");

	if (own && own[0] == '/' && access(own, X_OK) == 0)
		return xstrdup(own);
	if (own && own[0] && !strpbrk(own, " :%/"))
		return proc_find(own, path);
	if (settings_exported(set, "SSH_CONNECTION") ||
	    (!settings_exported(set, "DISPLAY") &&
	     !settings_exported(set, "WAYLAND_DISPLAY")))
		return NULL;
	return proc_find("xdg-open", path);
}

pid_t browser_open(struct app *app, char *url)
{
	char *program = find_browser(app->settings);
	char *argv[] = { program, url, NULL };
	static const int none[] = { -1, -1, -1 };
	struct proc_spec spec = { .path = program,
				  .argv = argv,
				  .fds = none,
				  .nfds = 3,
				  .session = true };
	struct error ignored = { 0 };
	char **env;
	pid_t pid = 0;

	if (!program)
		return 0;
	env = settings_environ_exported(app->settings);
	spec.env = env;
	if (proc_spawn(&spec, &pid, &ignored) < 0)
		pid = 0;
	settings_environ_free(env);
	free(program);
	return pid;
}
