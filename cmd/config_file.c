/* config_file.c - edits ~/.deepagents/config.toml at the user's request. */
/* SPDX-License-Identifier: MIT */
#include "cmd/config_file.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"

enum { MAX_CONFIG = 64 << 20, LOCK_MS = 5000 };

static int edit_text(const char *name, config_edit *edit, void *arg,
		     struct buf *out, struct error *err)
{
	struct buf text = BUF_INIT(MAX_CONFIG);
	struct error why = { 0 };
	int rc = path_read(name, &text, &why);

	if (rc < 0 && access(name, F_OK) < 0 && errno == ENOENT)
		rc = 0;
	if (rc < 0)
		*err = why;
	else
		rc = edit(arg, name, buf_str(&text), out, err);
	buf_release(&text);
	return rc;
}

static int lock_config(struct app *app, struct error *err)
{
	struct stop stop = app_stop(app);
	struct stop soon = stop_within(&stop, LOCK_MS);
	char *state = app_state_path(app, "", err);
	char *lock = state ? path_join(state, "config.lock") : NULL;
	int fd = -1;

	if (lock && path_mkdirs(state, 0700, err) == 0)
		fd = path_lock(lock, &soon, err);
	free(lock);
	free(state);
	return fd;
}

/* Rewrites the file under a lock. Keeps its mode. */
int config_file_edit(struct app *app, config_edit *edit, void *arg,
		     struct error *err)
{
	char *name = path_join(settings_dir(app->settings), "config.toml");
	char *real = realpath(name, NULL);
	const char *target = real ? real : name;
	struct buf out = BUF_INIT(MAX_CONFIG);
	struct stat st = { .st_mode = 0600 };
	int fd = lock_config(app, err);
	int rc = fd < 0 ? -1 : edit_text(target, edit, arg, &out, err);

	if (rc == 0) {
		(void)stat(target, &st);
		rc = path_write(target, buf_str(&out), st.st_mode & 0777, err);
	}
	if (fd >= 0)
		close(fd);
	buf_release(&out);
	free(real);
	free(name);
	return rc;
}
