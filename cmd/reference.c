/* reference.c - flags and commands that only the Python program has. */
/* SPDX-License-Identifier: MIT */
#include "cmd/reference.h"

#include <string.h>

struct absent {
	const char *name;
	char letter;
	const char *instead; /* what dcode has instead; or NULL */
};

static const char keep_task[] = "say it in the task itself (-n, -m)";
static const char by_package[] = "update dcode the way it was installed";

static const struct absent flags[] = {
	{ "acp", 0, NULL },
	{ "auto-classifier-model", 0, NULL },
	{ "auto-update", 0, by_package },
	{ "extension", 'e', NULL },
	{ "goal", 0, keep_task },
	{ "interpreter", 0, NULL },
	{ "interpreter-tools", 0, NULL },
	{ "no-interpreter", 0, "leave it out: dcode has no interpreter" },
	{ "prerelease", 0, by_package },
	{ "profile-override", 0, "set fields with --model-params" },
	{ "project", 0, "leave it out: dcode does no tracing" },
	{ "recursion-limit", 0, "limit the turns with --max-turns N" },
	{ "rubric", 0, keep_task },
	{ "rubric-max-iterations", 0, NULL },
	{ "rubric-model", 0, NULL },
	{ "show-reasoning", 0, NULL },
	{ "summarization-model", 0, NULL },
	{ "trust-project-extensions", 0, NULL },
	{ "uninstall", 0, "dcode uninstall NAME" },
	{ "update", 0, by_package },
	{ 0 },
};

static const struct absent names[] = {
	{ "plugin", 0, NULL },
	{ "skills trust", 0,
	  "name the directories in [skills] extra_allowed_dirs of "
	  "config.toml" },
	{ "plugins", 0, NULL },
	{ "tools", 0, NULL },
	{ "update", 0, by_package },
	{ 0 },
};

static bool fail_absent(const char *dashes, const struct absent *a,
			const char *what, struct error *err)
{
	error_set(err, ERR_USAGE,
		  "%s%s: dcode does not have this %s of the Python program",
		  dashes, a->name, what);
	if (a->instead)
		error_hint(err, "Instead: %s.", a->instead);
	error_topic(err, "from-python");
	return true;
}

/* name may be a unique prefix of a flag; letter must be exact. */
bool reference_flag(const char *name, size_t len, char letter,
		    struct error *err)
{
	const struct absent *found = NULL;
	int matches = 0;

	for (const struct absent *a = flags; a->name; a++) {
		bool exact =
			letter ? a->letter == letter : strlen(a->name) == len;

		if (!letter && (!len || strncmp(a->name, name, len) != 0))
			continue;
		if (letter && !exact)
			continue;
		found = a;
		if (exact)
			return fail_absent("--", a, "flag", err);
		matches++;
	}
	return matches == 1 && fail_absent("--", found, "flag", err);
}

bool reference_command(const char *name, struct error *err)
{
	for (const struct absent *a = names; a->name; a++)
		if (!strcmp(a->name, name))
			return fail_absent("dcode ", a, "command", err);
	return false;
}
