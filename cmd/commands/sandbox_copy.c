/* sandbox_copy.c - dcode sandbox cp: which side is a sandbox, and which one. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cmd/commands/sandbox.h"
#include "cmd/session/copy.h"
#include "sandbox/supervise/supervise.h"

/* "ID:PATH": an ID that is known, which may hold slashes and colons (that of
 * ssh does), else a colon before the first slash. Returns the path, and the
 * id. */
static const char *remote_side(struct app *app, const char *argument, char **id)
{
	const char *colon = strchr(argument, ':');
	const char *slash = strchr(argument, '/');

	for (size_t n = strlen(argument); n-- > 1;) {
		if (argument[n] != ':')
			continue;
		*id = xstrndup(argument, n);
		if (target_is_known(app, *id))
			return argument + n + 1;
		free(*id);
		*id = NULL;
	}
	if (!colon || colon == argument || (slash && slash < colon))
		return NULL;
	*id = xstrndup(argument, (size_t)(colon - argument));
	return colon + 1;
}

static void print_summary(struct app *app, const struct copy *c)
{
	struct buf data = BUF_INIT(1 << 10);

	if (!app->json)
		return;
	buf_addf(&data,
		 "{\"files\":%" PRId64 ",\"directories\":%" PRId64
		 ",\"links\":%" PRId64 ",\"skipped\":%" PRId64 "}",
		 c->files, c->directories, c->links, c->skipped);
	app_envelope("sandbox cp", &data);
	buf_release(&data);
}

static int copy_sides(struct app *app, const struct args *args, const char *id,
		      const char *from, const char *to, struct error *err)
{
	struct stop stop = app_stop(app);
	struct target t = { 0 };
	struct sandbox sb = { 0 };
	struct copy c = { .sb = &sb, .stop = &stop, .disk = -1 };
	const char *bring[ARGS_MOST + 1];
	size_t at = 0;
	int rc = copy_read_limit(&c, app, err);

	c.incoming.bring = bring;
	while ((bring[c.incoming.n_bring] = args_next(args, "bring", &at)))
		c.incoming.n_bring++;

	if (rc == 0)
		rc = target_open(&t, app, args, id, err);
	if (rc == 0)
		rc = target_attach(&t, &sb, &stop, err);
	if (rc < 0) {
		target_close(&t);
		return -1;
	}
	rc = from ? copy_down(&c, from, args->argv[1], err)
		  : copy_up(&c, args->argv[0], to, err);
	free(c.target);
	supervise_leave(&sb);
	sandbox_release(&sb);
	target_stop_again(&t, app);
	target_close(&t);
	if (c.unread)
		return STATUS_PIPE;
	if (rc == 0 && c.skipped)
		rc = error_set(err, ERR_REMOTE, "%" PRId64 " not copied",
			       c.skipped);
	else if (rc == 0)
		print_summary(app, &c);
	return rc;
}

int sandbox_cmd_copy(struct app *app, const struct args *args)
{
	char *id = NULL;
	const char *from = remote_side(app, args->argv[0], &id);
	const char *to = from ? NULL : remote_side(app, args->argv[1], &id);
	struct error err = { 0 };
	char *second = NULL;
	int rc;

	if (from && remote_side(app, args->argv[1], &second)) {
		free(id);
		free(second);
		return command_misuse(&command_sandbox, "cp",
				      "sandbox cp: only one side can be a"
				      " sandbox");
	}
	if (!from && !to)
		return command_misuse(&command_sandbox, "cp",
				      "sandbox cp: one side must be ID:PATH");
	if (app->json && from && !strcmp(args->argv[1], "-")) {
		free(id);
		return command_misuse(&command_sandbox, "cp",
				      "sandbox cp: --json cannot be combined "
				      "with a copy to standard output");
	}
	rc = copy_sides(app, args, id, from, to, &err);
	free(id);
	return rc >= 0 ? rc : app_fail(app, &err);
}
