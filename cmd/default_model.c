/* default_model.c - dcode --default-model and --clear-default-model. */
/* SPDX-License-Identifier: MIT */
#include "cmd/default_model.h"

#include <stdio.h>
#include <stdlib.h>

#include "cmd/config_file.h"
#include "cmd/print.h"
#include "config/list_edit.h"
#include "model/model.h"

static const char key[] = "models.default";

/* Config edit: sets models.default to arg, or removes it if arg is NULL. */
static int edit_default(void *arg, const char *name, struct str text,
			struct buf *out, struct error *err)
{
	const struct list_edit e = { name, "models", "default" };

	return list_edit_string(&e, text, arg, out, err);
}

static void print_model(const struct app *app, const char *before,
			const char *model)
{
	struct buf line = BUF_INIT(1 << 16);

	print_add_line(app, &line, model);
	printf("%s%s\n", before, line.len ? line.ptr : "");
	buf_release(&line);
}

static int show_default(struct app *app)
{
	const char *model = NULL;
	struct error err = { 0 };

	if (settings_string(app->settings, NULL, key, &model, &err) < 0)
		return app_fail(app, &err);
	if (model && model[0])
		print_model(app, "Default model: ", model);
	else
		puts("No default model set.");
	return 0;
}

int models_default_store(struct app *app, const char *spec, struct error *err)
{
	return config_file_edit(app, edit_default, (void *)spec, err);
}

/* Sets the default or, if spec is NULL, clears it, and prints the result. Fails
 * if the machine's policy sets it. */
static int store_default(struct app *app, const char *spec, struct error *err)
{
	char *full = NULL;
	int rc = 0;

	if (settings_policy(app->settings, key))
		return error_set(err, ERR_POLICY,
				 "%s is set by %s, which overrides config.toml",
				 key, SETTINGS_POLICY_FILE);
	if (spec)
		rc = model_full_name(app->settings, spec, &full, err);
	if (rc == 0)
		rc = config_file_edit(app, edit_default, full, err);
	if (rc == 0 && full)
		print_model(app, "Default model set to ", full);
	else if (rc == 0)
		puts("Default model cleared.");
	free(full);
	return rc;
}

bool models_default_is_asked(const struct args *args)
{
	return args_value(args, "default-model") ||
	       args_flag(args, "clear-default-model");
}

int models_default(struct app *app, const struct args *args)
{
	const char *spec = args_value(args, "default-model");
	bool clears = args_flag(args, "clear-default-model");
	struct settings *set;
	struct error err = { 0 };

	if (app_settings(app, &set, &err) < 0)
		return app_fail(app, &err);
	if (spec && clears)
		return app_fail(
			app,
			(error_set(&err, ERR_USAGE,
				   "--default-model and --clear-default-model "
				   "are mutually exclusive"),
			 &err));
	if (spec == args_bare)
		return show_default(app);
	return store_default(app, spec, &err) < 0 ? app_fail(app, &err) : 0;
}
