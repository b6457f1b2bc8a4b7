/* foreign.c - settings of the Python program that dcode does not have. */
/* SPDX-License-Identifier: MIT */
#include "config/foreign.h"

#include <stddef.h>
#include <stdlib.h>
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
	{ "runtime", ANY, true },
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

/* Those that have no key in config.toml, or another one here. */
static const char *const variables[] = {
	"AUTO_CLASSIFIER_MODEL",
	"AUTO_CLASSIFIER_TIMEOUT",
	"AUTO_UPDATE",
	"COLLAPSE_PASTES",
	"CURSOR_BLINK",
	"CURSOR_STYLE",
	"DANGEROUSLY_ENABLE_PROJECT_MCP_SERVERS",
	"DEBUG",
	"DEBUG_CONSOLE_CLICK_TO_COPY",
	"DEBUG_FILE",
	"DISABLED_PROJECT_MCP_SERVERS",
	"EXPERIMENTAL",
	"EXTERNAL_EVENT_SOCKET",
	"EXTERNAL_EVENT_SOCKET_PATH",
	"EXTRAS",
	"FORKED_SUBAGENTS",
	"GOAL_AUTO_ACCEPT_CRITERIA",
	"HIDE_CWD",
	"HIDE_GIT_BRANCH",
	"HIDE_LANGSMITH_TRACING",
	"HIDE_SPLASH_TIPS",
	"HIDE_SPLASH_VERSION",
	"KITTY_KEYBOARD",
	"LANGSMITH_PROJECT",
	"LANGSMITH_REDACT",
	"LANGSMITH_REPLICA_PROJECTS",
	"LOG_LEVEL",
	"MEMORY_AUTO_SAVE",
	"NO_TERMINAL_ESCAPE",
	"NO_UPDATE_CHECK",
	"OFFLINE",
	"OLLAMA_DISCOVERY",
	"ONBOARDING",
	"ONBOARDING_INTEGRATIONS_SCREEN",
	"OPENAI_PROMPT_CACHE_KEY",
	"PLUGIN_AUTO_UPDATE",
	"PLUGIN_CACHE_DIR",
	"PRICES_AUTO_UPDATE",
	"RECURSION_LIMIT",
	"RESUME_TERM_PROGRAM",
	"RIPGREP_INSTALLER",
	"SHOW_HEADER",
	"SHOW_LANGSMITH_REPLICA_TRACING",
	"SHOW_MESSAGE_TIMESTAMPS",
	"SHOW_REASONING",
	"SHOW_SCROLLBAR",
	"SHOW_URL_OPEN_TOAST",
	"SHOW_USAGE_STATS",
	"SPLASH_SHOW_CWD",
	"SPLASH_SHOW_MODEL",
	"SUPPRESS_ENV_OVERRIDE_WARNING",
	"TERMINAL_PROGRESS",
	"USER_ID",
	"YOLO_SWITCHER",
};

static int compare(const void *name, const void *row)
{
	return strcmp(name, *(const char *const *)row);
}

bool foreign_variable(const char *name)
{
	static const char prefix[] = "DEEPAGENTS_CODE_";

	return !strncmp(name, prefix, sizeof(prefix) - 1) &&
	       bsearch(name + sizeof(prefix) - 1, variables,
		       sizeof(variables) / sizeof(variables[0]),
		       sizeof(variables[0]), compare);
}
