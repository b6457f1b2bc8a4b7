/* config.c - dcode config: every setting, its value and its source. */
/* SPDX-License-Identifier: MIT */
/*
 * Begin reading at show_settings(). config_entries.c collects the settings;
 * this file selects and prints them.
 */
#include "cmd/config.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/json.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/command.h"

enum { LARGEST = 16 << 20, KEY_WIDTH = 44, VALUE_WIDTH = 28 };

/* Prints untrusted text on one line, without control characters, padded to
 * width. */
static void print_clean(const char *text, int width)
{
	struct buf out = BUF_INIT(LARGEST);

	sanitize_message(str_of(text), &out);
	for (size_t i = 0; i < out.len; i++)
		if (out.ptr[i] == '\n')
			out.ptr[i] = ' ';
	printf("%s", out.len ? out.ptr : "");
	for (int n = (int)str_chars(buf_str(&out)); n < width; n++)
		putchar(' ');
	buf_release(&out);
}

static void print_catalog(const struct setting *row)
{
	printf("    %s (%s", row->help ? row->help : "",
	       setting_type_name(row->type));
	if (row->fallback)
		printf(", default %s", row->fallback);
	if (row->env)
		printf(", env %s%s",
		       row->flags & SETTING_PREFIX_ONLY ? "DEEPAGENTS_CODE_"
							: "",
		       row->env);
	puts(")");
}

/* Prints a setting with its value and source on one line, and its error on
 * another. */
static void print_entry(const struct config_entry *entry, bool verbose)
{
	fputs("  ", stdout);
	print_clean(entry->key, KEY_WIDTH);
	fputs("  ", stdout);
	if (entry->error)
		print_clean("(invalid)", VALUE_WIDTH);
	else
		print_clean(entry->text ? entry->text : "(unset)", VALUE_WIDTH);
	fputs("  ", stdout);
	print_clean(entry->source, 0);
	putchar('\n');
	if (entry->error) {
		fputs("    ", stdout);
		print_clean(entry->error, 0);
		putchar('\n');
	}
	if (verbose && entry->row)
		print_catalog(entry->row);
}

/* Appends a setting as a JSON object. verbose: with its description. */
static void add_json(struct buf *out, const struct config_entry *entry,
		     bool verbose)
{
	const struct setting *row = entry->row;

	buf_addc(out, '{');
	json_member(out, "key", str_of(entry->key));
	buf_addc(out, ',');
	json_member(out, "group", str_of(entry->group));
	buf_addf(out, ",\"value\":%s,", entry->json);
	json_member(out, "source", str_of(entry->source));
	buf_addf(out, ",\"set\":%s,\"secret\":%s",
		 entry->set ? "true" : "false",
		 entry->secret ? "true" : "false");
	if (entry->error) {
		buf_addc(out, ',');
		json_member(out, "error", str_of(entry->error));
	}
	if (verbose && row) {
		buf_addc(out, ',');
		json_member(out, "summary", str_of(row->help));
		buf_addc(out, ',');
		json_member(out, "type", str_of(setting_type_name(row->type)));
		buf_addc(out, ',');
		json_member(out, "default", str_of(row->fallback));
		buf_addc(out, ',');
		json_member(out, "env", str_of(row->env));
	}
	buf_addc(out, '}');
}

/* True if the setting is key or is below key, ignoring case. key NULL: true for
 * every setting. */
static bool matches_key(const struct config_entry *entry, const char *key)
{
	size_t len = key ? strlen(key) : 0;
	char next;

	if (!key)
		return true;
	if (len && key[len - 1] == '.')
		len--;
	if (!len || strlen(entry->key) < len ||
	    strncasecmp(entry->key, key, len) != 0)
		return false;
	next = entry->key[len];
	return next == '\0' || next == '.';
}

static bool is_exactly(const struct config_entry *entry, const char *key)
{
	return key && !strcmp(entry->key, key) &&
	       !(entry->row && entry->row->type == SETTING_TABLE);
}

/* Prints one setting as a JSON object, several as a list. */
static void show_json(const struct config_entries *e, const char *key,
		      bool verbose)
{
	struct buf data = BUF_INIT(LARGEST);
	bool single = false;
	const char *between = "";

	for (size_t i = 0; i < e->n; i++)
		single = single || is_exactly(&e->list[i], key);
	buf_adds(&data, single ? "" : "[");
	for (size_t i = 0; i < e->n; i++) {
		if (single ? !is_exactly(&e->list[i], key)
			   : !matches_key(&e->list[i], key))
			continue;
		buf_adds(&data, between);
		add_json(&data, &e->list[i], verbose);
		between = ",";
	}
	buf_adds(&data, single ? "" : "]");
	app_envelope(key ? "config get" : "config list", &data);
	buf_release(&data);
}

/* Prints the settings by group. Settings that are not set are only shown with a
 * key or -v. */
static void show_text(const struct config_entries *e, const char *key,
		      bool verbose)
{
	const char *group = NULL;
	bool hidden = false;

	for (size_t i = 0; i < e->n; i++) {
		const struct config_entry *entry = &e->list[i];

		if (!matches_key(entry, key))
			continue;
		if (!key && !verbose && !entry->set && !entry->error) {
			hidden = true;
			continue;
		}
		if (!key && (!group || strcmp(group, entry->group))) {
			printf("%s", group ? "\n" : "");
			print_clean(entry->group, 0);
			putchar('\n');
			group = entry->group;
		}
		print_entry(entry, verbose);
	}
	if (hidden)
		printf("%sUnset and default settings are not shown; `dcode "
		       "config -v` shows them.\n",
		       group ? "\n" : "");
}

static int report_unknown(struct app *app, const char *key)
{
	struct buf data = BUF_INIT(1 << 16);

	if (app->json) {
		buf_addc(&data, '{');
		json_member(&data, "key", str_of(key));
		buf_addc(&data, ',');
		json_member(&data, "error", STR("unknown option or section"));
		buf_addc(&data, '}');
		app_envelope("config get", &data);
	} else {
		sanitize_text(str_of(key), &data);
		fprintf(stderr,
			"Unknown config option or section: '%s'. `dcode config "
			"-v` shows all.\n",
			data.len ? data.ptr : "");
	}
	buf_release(&data);
	return 1;
}

/* Shows the named setting or section, or everything. */
static int show_settings(struct app *app, const struct args *args)
{
	const char *key = args->argc ? args->argv[0] : NULL;
	bool verbose = args_flag(args, "verbose") || args_flag(args, "all");
	struct config_entries e = { 0 };
	struct settings *set;
	struct error err = { 0 };
	bool any = false;
	int status = 0;

	if (app_settings(app, &set, &err) < 0)
		return app_fail(app, &err);
	app_tell_foreign(app);
	config_collect(&e, set, app->groups);
	for (size_t i = 0; i < e.n; i++)
		any = any || matches_key(&e.list[i], key);
	if (!any)
		status = report_unknown(app, key);
	else if (app->json)
		show_json(&e, key, verbose);
	else
		show_text(&e, key, verbose);
	config_release(&e);
	return status;
}

/* Prints the path and state of every settings file. */
static int show_paths(struct app *app, const struct args *args)
{
	static const char *const states[] = {
		[SETTINGS_FILE_OK] = "ok",
		[SETTINGS_FILE_MISSING] = "missing",
		[SETTINGS_FILE_DISABLED] = "disabled",
		[SETTINGS_FILE_BROKEN] = "broken",
	};
	const struct settings_file *files;
	struct buf data = BUF_INIT(1 << 16);
	struct settings *set;
	struct error err = { 0 };
	size_t n;

	(void)args;
	if (app_settings(app, &set, &err) < 0)
		return app_fail(app, &err);
	n = settings_files(set, &files);
	buf_addc(&data, '[');
	for (size_t i = 0; i < n; i++) {
		if (!app->json) {
			printf("%-14s %-9s", files[i].name,
			       states[files[i].state]);
			print_clean(files[i].path, 0);
			putchar('\n');
		}
		buf_adds(&data, i ? ",{" : "{");
		json_member(&data, "name", str_of(files[i].name));
		buf_addc(&data, ',');
		json_member_bytes(&data, "path", str_of(files[i].path));
		buf_addc(&data, ',');
		json_member(&data, "status", str_of(states[files[i].state]));
		buf_addc(&data, '}');
	}
	buf_addc(&data, ']');
	if (app->json)
		app_envelope("config path", &data);
	buf_release(&data);
	return 0;
}

static const struct arg_row show_options[] = {
	{ "verbose", 'v', ARG_FLAG, NULL,
	  "Show unset and default settings too, and what each is for" },
	{ "all", 0, ARG_FLAG, NULL, NULL }, /* same as --verbose */
	ARG_JSON,
	{ 0 },
};

static const struct arg_row path_options[] = { ARG_JSON, { 0 } };

static const struct subcommand subs[] = {
	{ .name = "",
	  .aliases = "list ls",
	  .options = show_options,
	  .flags = SUB_EXPLAINS,
	  .run = show_settings },
	{ .name = "get",
	  .args = "KEY",
	  .summary = "Show one setting or section, named as in dcode config -v",
	  .options = show_options,
	  .least = 1,
	  .most = 1,
	  .flags = SUB_EXPLAINS,
	  .run = show_settings },
	{ .name = "path",
	  .summary = "List the files that settings are read from",
	  .options = path_options,
	  .flags = SUB_EXPLAINS,
	  .run = show_paths },
	{ 0 },
};

const struct command command_config = {
	.name = "config",
	.summary = "Show the settings in effect, and where each comes from",
	.topic = "toml",
	.subs = subs,
};
