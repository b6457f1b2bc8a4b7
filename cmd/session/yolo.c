/* yolo.c - whether the user has said that he knows what yolo is. */
/* SPDX-License-Identifier: MIT */
#include "cmd/session/yolo.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/path.h"

/* The user's own file, which says that he knows what yolo is. */
static char *yolo_file(struct app *app)
{
	struct error ignored = { 0 };

	return app_state_path(app, "yolo-acknowledged", &ignored);
}

bool yolo_acknowledged(struct app *app)
{
	char *name = yolo_file(app);
	bool known = name && access(name, F_OK) == 0;

	free(name);
	return known;
}

void yolo_acknowledge(struct app *app)
{
	struct error err = { 0 };
	char *name = yolo_file(app);
	char *state = app_state_path(app, "", &err);

	if (!name || !state || path_mkdirs(state, 0700, &err) < 0 ||
	    path_write(name, STR("acknowledged\n"), 0600, &err) < 0)
		(void)app_fail(app, &err);
	free(state);
	free(name);
}
