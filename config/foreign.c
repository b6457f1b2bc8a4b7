/* foreign.c - settings of the Python program that dcode does not have. */
/* SPDX-License-Identifier: MIT */
#include "config/foreign.h"

#include <stddef.h>
#include <string.h>

enum {
	ANY = 0,
	BOOL = 1 << TOML_BOOL,
	INT = 1 << TOML_INT,
	TEXT = 1 << TOML_STRING,
	LIST = 1 << TOML_ARRAY,
};

/* Its documentation, "Configuration", version 0.1.59 and later. A row before
 * the one of the table that it is in. */
static const struct foreign_key keys[] = {
	{ "agents", ANY, true },
	{ "async_subagents", ANY, true },
	{ "display", ANY, true },
	{ "effort", ANY, true },
	{ "extensions", ANY, true },
	{ "features", ANY, true },
	{ "goals", ANY, true },
	{ "interpreter.enable_interpreter", BOOL, false },
	{ "interpreter.ptc", TEXT | LIST, false },
	{ "interpreter.ptc_acknowledge_unsafe", BOOL, false },
	{ "interpreter", ANY, true },
	{ "mcp", ANY, true },
	{ "memory", ANY, true },
	{ "models.auto_classifier", TEXT, false },
	{ "models.auto_classifier_timeout", ANY, false },
	{ "models.ollama_discovery", BOOL, false },
	{ "models.openai_prompt_cache_key", BOOL, false },
	{ "models.summarization_default", TEXT, false },
	{ "plugins", ANY, true },
	{ "runtime.recursion_limit", INT, false },
	{ "skills", ANY, true },
	{ "startup.mode", TEXT, false },
	{ "startup.recent", TEXT, false },
	{ "startup.yolo_switcher", BOOL, false },
	{ "themes", ANY, true },
	{ "threads", ANY, true },
	{ "tracing.langsmith_redact", BOOL, false },
	{ "tracing", ANY, true },
	{ "ui", ANY, true },
	{ "update", ANY, true },
	{ "warnings", ANY, true },
};

const struct foreign_key *foreign_key_find(const char *path)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		size_t len = strlen(keys[i].path);

		if (strncmp(path, keys[i].path, len) == 0 &&
		    (!path[len] || (keys[i].part && path[len] == '.')))
			return &keys[i];
	}
	return NULL;
}
