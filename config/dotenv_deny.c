/* dotenv_deny.c - the names that a .env file may not set. */
/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <strings.h>

#include "base/str.h"
#include "config/dotenv.h"

/* All tables are sorted and upper case; names are compared in upper case. */

/* They make a shell, loader or interpreter run or load something else. */
static const char *const nobody[] = {
	"BASHOPTS",
	"BASH_ENV",
	"CDPATH",
	"COMSPEC",
	"DEEPAGENTS_INHERITED_PYTHONPATH",
	"ENV",
	"GCONV_PATH",
	"GETCONF_DIR",
	"GIT_ALTERNATE_OBJECT_DIRECTORIES",
	"GIT_ASKPASS",
	"GIT_COMMON_DIR",
	"GIT_DIR",
	"GIT_EDITOR",
	"GIT_EXEC_PATH",
	"GIT_EXTERNAL_DIFF",
	"GIT_INDEX_FILE",
	"GIT_OBJECT_DIRECTORY",
	"GIT_PAGER",
	"GIT_PROXY_COMMAND",
	"GIT_SEQUENCE_EDITOR",
	"GIT_SSH",
	"GIT_SSH_COMMAND",
	"GIT_SSH_VARIANT",
	"GIT_TEMPLATE_DIR",
	"GIT_WORK_TREE",
	"GLIBC_TUNABLES",
	"GLOBIGNORE",
	"IFS",
	"JAVA_TOOL_OPTIONS",
	"JDK_JAVA_OPTIONS",
	"LESSCLOSE",
	"LESSOPEN",
	"LOCPATH",
	"NLSPATH",
	"NODE_OPTIONS",
	"NODE_PATH",
	"OPENSSL_CONF",
	"OPENSSL_ENGINES",
	"OPENSSL_MODULES",
	"PATH",
	"PATHEXT",
	"PERL5DB",
	"PERL5LIB",
	"PERL5OPT",
	"PERLLIB",
	"PROMPT_COMMAND",
	"PS4",
	"PYTHONBREAKPOINT",
	"PYTHONEXECUTABLE",
	"PYTHONHOME",
	"PYTHONINSPECT",
	"PYTHONPATH",
	"PYTHONSTARTUP",
	"PYTHONUSERBASE",
	"READ_PROJECT_DOTENV",
	"RUBYLIB",
	"RUBYOPT",
	"SHELLOPTS",
	"SSH_ASKPASS",
	"SSLKEYLOGFILE",
	"SYSTEMROOT",
	"WINDIR",
	"ZDOTDIR",
	"_JAVA_OPTIONS",
};

static const char *const nobody_starts[] = {
	"BASH_FUNC_", "DYLD_", "GIT_CONFIG", "GIT_TRACE", "LD_",
};

/* They steer where dcode looks, whom it asks, or what it lets pass. */
static const char *const no_project[] = {
	"AUTO_CLASSIFIER_MODEL",
	"AUTO_CLASSIFIER_TIMEOUT",
	"AWS_CONFIG_FILE",
	"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
	"AWS_CONTAINER_CREDENTIALS_FULL_URI",
	"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
	"AWS_DEFAULT_PROFILE",
	"AWS_PROFILE",
	"AWS_SHARED_CREDENTIALS_FILE",
	"AWS_WEB_IDENTITY_TOKEN_FILE",
	"BASE",
	"BROWSER",
	"CURL_HOME",
	"DANGEROUSLY_ENABLE_PROJECT_MCP_SERVERS",
	"DEBUG_FILE",
	"DISABLED_PROJECT_MCP_SERVERS",
	"DOCKER_CERT_PATH",
	"DOCKER_CONFIG",
	"DOCKER_CONTEXT",
	"DOCKER_TLS",
	"DOCKER_TLS_VERIFY",
	"DOMAIN",
	"EDITOR",
	"ENABLED_PROJECT_MCP_SERVERS",
	"ENDPOINT",
	"EXTERNAL_EVENT_SOCKET",
	"EXTERNAL_EVENT_SOCKET_PATH",
	"EXTRA_SKILLS_DIRS",
	"GOOGLE_APPLICATION_CREDENTIALS",
	"HOME",
	"HOST",
	"HOSTALIASES",
	"KEY_ENV",
	"LOCALDOMAIN",
	"LOGNAME",
	"MODAL_CONFIG_PATH",
	"MODAL_PROFILE",
	"NETRC",
	"NODE_EXTRA_CA_CERTS",
	"NODE_TLS_REJECT_UNAUTHORIZED",
	"OLDPWD",
	"PAGER",
	"PLUGIN_CACHE_DIR",
	"PWD",
	"PYTHONHTTPSVERIFY",
	"RESOLV_HOST_CONF",
	"RES_OPTIONS",
	"SHELL",
	"SHELL_ALLOW_LIST",
	"STARTUP_MODE",
	"TEMP",
	"TERM_PROGRAM",
	"TMP",
	"TMPDIR",
	"URL",
	"USER",
	"VISUAL",
	"YOLO_SWITCHER",
};

static const char *const no_project_starts[] = {
	"SSL_",
	"XDG_",
};

static const char *const no_project_ends[] = {
	"_BASE", "_CA_BUNDLE", "_DOMAIN", "_ENDPOINT", "_HEADERS",
	"_HOST", "_KEY_ENV",   "_PROXY",  "_URL",
};

/* Where a vendor puts the word in the middle: AWS_ENDPOINT_URL_S3. */
static const char *const no_project_holds[] = {
	"_BASE_URL_",
	"_ENDPOINT_",
	"_API_BASE_",
};

#define COUNT(table) (sizeof(table) / sizeof(*(table)))

static bool listed(struct str name, const char *const *table, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (str_is_nocase(name, table[i]))
			return true;
	return false;
}

static bool starts(struct str name, const char *const *table, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(table[i]);

		if (name.len >= len && !strncasecmp(name.ptr, table[i], len))
			return true;
	}
	return false;
}

static bool ends(struct str name, const char *const *table, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(table[i]);

		if (name.len >= len &&
		    !strncasecmp(name.ptr + name.len - len, table[i], len))
			return true;
	}
	return false;
}

static bool holds(struct str name, const char *const *table, size_t n)
{
	for (; name.len; name = str_skip(name, 1))
		if (starts(name, table, n))
			return true;
	return false;
}

bool dotenv_denied(struct str name, enum dotenv_owner owner)
{
	static const char *const prefix[] = { "DEEPAGENTS_CODE_" };

	if (listed(name, nobody, COUNT(nobody)))
		return true;
	/* The prefixed names come before everything else of the user's. */
	if (owner == DOTENV_PROJECT && starts(name, prefix, 1))
		return true;
	while (starts(name, prefix, 1))
		name = str_skip(name, strlen(prefix[0]));
	if (listed(name, nobody, COUNT(nobody)) ||
	    starts(name, nobody_starts, COUNT(nobody_starts)))
		return true;
	if (owner == DOTENV_USER)
		return false;
	return listed(name, no_project, COUNT(no_project)) ||
	       starts(name, no_project_starts, COUNT(no_project_starts)) ||
	       ends(name, no_project_ends, COUNT(no_project_ends)) ||
	       holds(name, no_project_holds, COUNT(no_project_holds));
}
