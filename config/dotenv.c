/* dotenv.c - reads .env files and exported variables into locked memory. */
/* SPDX-License-Identifier: MIT */
/*
 * Three parts. First, the names that a .env file must not set
 * (dotenv_denied()). Then the parser of a file: begin reading at
 * dotenv_parse(). Last, struct env: the variables of all sources. If several
 * sources set a variable, the first one added counts. The values are in locked
 * memory.
 */
#include "config/dotenv.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <sodium.h>

#include "base/mem.h"
#include "base/str.h"

/* All tables are sorted and in upper case. Names are compared in upper case. */

/* Variables that make a shell, loader or interpreter run or load other code. No
 * .env file may set them. */
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

/* Variables that decide where dcode looks for files, which servers it contacts
 * or what it permits. A project's .env file must not set them. */
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

/* Denied if the name contains one of these parts, such as
 * AWS_ENDPOINT_URL_S3. */
static const char *const no_project_holds[] = {
	"_BASE_URL_",
	"_ENDPOINT_",
	"_API_BASE_",
};

#define COUNT(table) (sizeof(table) / sizeof(*(table)))
static bool is_listed(struct str name, const char *const *table, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (str_is_nocase(name, table[i]))
			return true;
	return false;
}

static bool starts_with_any(struct str name, const char *const *table, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(table[i]);

		if (name.len >= len && !strncasecmp(name.ptr, table[i], len))
			return true;
	}
	return false;
}

static bool ends_with_any(struct str name, const char *const *table, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(table[i]);

		if (name.len >= len &&
		    !strncasecmp(name.ptr + name.len - len, table[i], len))
			return true;
	}
	return false;
}

static bool contains_any(struct str name, const char *const *table, size_t n)
{
	for (; name.len; name = str_skip(name, 1))
		if (starts_with_any(name, table, n))
			return true;
	return false;
}

bool dotenv_denied(struct str name, enum dotenv_owner owner)
{
	static const char *const prefix[] = { "DEEPAGENTS_CODE_" };

	if (is_listed(name, nobody, COUNT(nobody)))
		return true;
	/* Deny every name with the DEEPAGENTS_CODE_ prefix: it would override
	 * all of the user's other values. */
	if (owner == DOTENV_PROJECT && starts_with_any(name, prefix, 1))
		return true;
	while (starts_with_any(name, prefix, 1))
		name = str_skip(name, strlen(prefix[0]));
	if (is_listed(name, nobody, COUNT(nobody)) ||
	    starts_with_any(name, nobody_starts, COUNT(nobody_starts)))
		return true;
	if (owner == DOTENV_USER)
		return false;
	return is_listed(name, no_project, COUNT(no_project)) ||
	       starts_with_any(name, no_project_starts,
			       COUNT(no_project_starts)) ||
	       ends_with_any(name, no_project_ends, COUNT(no_project_ends)) ||
	       contains_any(name, no_project_holds, COUNT(no_project_holds));
}

struct dotenv_reader {
	const struct dotenv_input *in;
	struct dotenv *out;
	const char *at; /* next byte to read */
	const char *end;
	int line;         /* line number of at */
	struct buf value; /* the value being parsed */
};

static void add_warning(struct dotenv_reader *r, int line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void add_warning(struct dotenv_reader *r, int line, const char *fmt, ...)
{
	struct dotenv *d = r->out;
	char what[256];
	va_list ap;

	if (d->n_warnings > DOTENV_MOST_WARNINGS)
		return;
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	if (d->n_warnings == DOTENV_MOST_WARNINGS)
		snprintf(what, sizeof(what),
			 "more warnings about this file are not shown");
	d->warnings =
		xrealloc(d->warnings, d->n_warnings + 1, sizeof(*d->warnings));
	d->warnings[d->n_warnings++] =
		xasprintf("%s:%d: %s", r->in->file, line, what);
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_name_char(char c)
{
	return is_letter(c) || (c >= '0' && c <= '9');
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_at_line_end(const struct dotenv_reader *r)
{
	return r->at == r->end || *r->at == '\n' || *r->at == '\r';
}

static void skip_blanks(struct dotenv_reader *r)
{
	while (r->at < r->end && is_blank(*r->at))
		r->at++;
}

static void skip_line(struct dotenv_reader *r)
{
	while (r->at < r->end && *r->at != '\n')
		r->at++;
}

/* Skips blank lines and comments, up to the next statement or the end. */
static void skip_gap(struct dotenv_reader *r)
{
	for (; r->at < r->end; r->at++) {
		if (*r->at == '#')
			skip_line(r);
		if (r->at == r->end)
			return;
		if (*r->at == '\n')
			r->line++;
		else if (!is_blank(*r->at) && *r->at != '\r')
			return;
	}
}

static size_t name_length(const char *at, const char *end)
{
	const char *p = at;

	if (p == end || !is_letter(*p))
		return 0;
	while (p < end && is_name_char(*p))
		p++;
	return (size_t)(p - at);
}

const char *dotenv_get(const struct dotenv *d, struct str name)
{
	uint64_t code = hash_code(name, 0);
	size_t cursor = 0;
	uint32_t i;

	while (hash_next(&d->names, code, &cursor, &i))
		if (str_is(name, d->vars[i].name))
			return d->vars[i].value;
	return NULL;
}

/* Returns the value of ${NAME}. In a project's file only that file's own
 * variables are used: otherwise a line such as RUNLOOP_API_KEY=${GITHUB_TOKEN}
 * would send the user's token to a vendor. */
static const char *find_value(const struct dotenv_reader *r, struct str name)
{
	char *text = xstrndup(name.ptr, name.len);
	const char *value = NULL;

	if (r->in->lookup && r->in->owner != DOTENV_PROJECT)
		value = r->in->lookup(r->in->arg, text);
	free(text);
	return value ? value : dotenv_get(r->out, name);
}

/* Copies an unresolved reference of a project's file into the value, with a
 * warning. */
static void append_reference(struct dotenv_reader *r, struct str name,
			     const char *end)
{
	add_warning(
		r, r->line,
		"${%.*s} is not replaced, because this file does not set it: a "
		"project's .env file cannot use other variables",
		name.len > 80 ? 80 : (int)name.len, name.ptr);
	buf_add(&r->value, r->at, (size_t)(end - r->at));
}

/* Expands the reference at "${". False if it is not a reference. end: where the
 * value ends at the latest. */
static bool expand_reference(struct dotenv_reader *r, const char *end)
{
	const char *name = r->at + 2;
	size_t len = name_length(name, end);
	const char *p = name + len;
	struct str other = { 0 };
	const char *value;
	bool foreign = r->in->owner == DOTENV_PROJECT;

	if (!len)
		return false;
	if (end - p >= 2 && p[0] == ':' && p[1] == '-') {
		const char *close = memchr(p, '}', (size_t)(end - p));

		if (!close)
			return false;
		other = (struct str){ p + 2, (size_t)(close - p) - 2 };
		p = close;
	}
	if (p == end || *p != '}')
		return false;
	value = find_value(r, (struct str){ name, len });
	if (value && *value)
		buf_adds(&r->value, value);
	else if (!value && !other.ptr && foreign)
		append_reference(r, (struct str){ name, len }, p + 1);
	else
		buf_addstr(&r->value, other);
	r->at = p + 1;
	return true;
}

static void add_plain(struct dotenv_reader *r, const char *end)
{
	if (end - r->at > 2 && r->at[0] == '$' && r->at[1] == '{' &&
	    expand_reference(r, end))
		return;
	buf_addc(&r->value, *r->at++);
}

/* Handles a backslash inside quotes. */
static void add_escape(struct dotenv_reader *r, char quote)
{
	static const char letters[] = "abfnrtv\\\"'$";
	static const char bytes[] = "\a\b\f\n\r\t\v\\\"'$";
	char c = r->at + 1 < r->end ? r->at[1] : '\0';
	const char *known = c ? strchr(letters, c) : NULL;

	if (known && (quote == '"' || c == '\'' || c == '\\')) {
		buf_addc(&r->value, bytes[known - letters]);
		r->at += 2;
	} else {
		buf_addc(&r->value, *r->at++);
	}
}

/* Returns the closing quote for the one at r->at, or NULL. */
static const char *closing_quote(const struct dotenv_reader *r)
{
	for (const char *p = r->at + 1; p < r->end; p++) {
		if (*p == '\\' && p + 1 < r->end)
			p++;
		else if (*p == *r->at)
			return p;
	}
	return NULL;
}

/* Parses a quoted value into r->value. -1 if the line must be ignored. */
static int read_quoted(struct dotenv_reader *r)
{
	const char *close = closing_quote(r);
	char quote = *r->at;
	int line = r->line;

	if (!close) {
		add_warning(r, line,
			    "a quote is not closed; this line is ignored");
		return -1;
	}
	r->at++;
	while (r->at < close) {
		if (*r->at == '\\')
			add_escape(r, quote);
		else if (quote == '"')
			add_plain(r, close);
		else
			add_plain(r, r->at + 1);
	}
	r->at = close + 1;
	skip_blanks(r);
	if (is_at_line_end(r) || *r->at == '#')
		return 0;
	add_warning(r, line,
		    "text after the closing quote; this line is ignored");
	return -1;
}

/* Parses an unquoted value into r->value. */
static int read_plain(struct dotenv_reader *r)
{
	const char *end = r->at;
	const char *p = r->at;

	for (; p < r->end && *p != '\n' && *p != '\r'; p++) {
		if (*p == '#' && is_blank(p[-1]))
			break;
		if (!is_blank(*p))
			end = p + 1;
	}
	while (r->at < end)
		add_plain(r, end);
	return 0;
}

/* Stores a variable. A later assignment replaces an earlier one. */
static void store_value(struct dotenv_reader *r, struct str name, int line)
{
	struct dotenv *d = r->out;
	uint64_t code = hash_code(name, 0);
	char *value = xstrndup(r->value.ptr, r->value.len);
	size_t cursor = 0;
	uint32_t i;

	while (hash_next(&d->names, code, &cursor, &i)) {
		if (!str_is(name, d->vars[i].name))
			continue;
		free(d->vars[i].value);
		d->vars[i].value = value;
		d->vars[i].line = line;
		return;
	}
	if ((d->n & (d->n - 1)) == 0)
		d->vars = xrealloc(d->vars, d->n ? d->n * 2 : 1,
				   sizeof(*d->vars));
	hash_add(&d->names, code, (uint32_t)d->n);
	d->vars[d->n++] = (struct dotenv_var){ xstrndup(name.ptr, name.len),
					       value, line };
}

/* Warns that the file's values are too large in total; parsing stops. Discarded
 * values count too, since references can multiply a small file. */
static void warn_too_large(struct dotenv_reader *r, int line)
{
	add_warning(r, line,
		    "the values are larger than %d bytes; the rest is ignored",
		    DOTENV_LARGEST_SUM);
	r->at = r->end;
}

/* Stores the parsed value, or warns why it is refused. */
static void store_checked_value(struct dotenv_reader *r, struct str name,
				int line)
{
	const char *owner =
		r->in->owner == DOTENV_PROJECT ? "a project's " : "a ";
	int len = name.len > 80 ? 80 : (int)name.len;

	r->out->sum += r->value.len;
	if (r->out->sum > DOTENV_LARGEST_SUM)
		warn_too_large(r, line);
	else if (dotenv_denied(name, r->in->owner))
		add_warning(r, line,
			    "%.*s may not be set in %s.env file; ignored", len,
			    name.ptr, owner);
	else if (r->value.len && memchr(r->value.ptr, '\0', r->value.len))
		add_warning(r, line, "%.*s contains a NUL byte; ignored", len,
			    name.ptr);
	else if (r->value.over)
		add_warning(r, line, "%.*s is larger than %d bytes; ignored",
			    len, name.ptr, DOTENV_LARGEST_VALUE);
	else
		store_value(r, name, line);
}

/* Parses one NAME=value line. An invalid line becomes a warning. */
static void read_statement(struct dotenv_reader *r)
{
	int line = r->line;
	struct str name;
	int rc;

	if (r->end - r->at > 7 && !memcmp(r->at, "export", 6) &&
	    is_blank(r->at[6])) {
		r->at += 6;
		skip_blanks(r);
	}
	name = (struct str){ r->at, name_length(r->at, r->end) };
	r->at += name.len;
	skip_blanks(r);
	if (!name.len || r->at == r->end || *r->at != '=') {
		add_warning(r, line,
			    "expected NAME=value; this line is ignored");
		skip_line(r);
		return;
	}
	r->at++;
	skip_blanks(r);
	buf_clear(&r->value);
	if (r->at < r->end && (*r->at == '"' || *r->at == '\''))
		rc = read_quoted(r);
	else
		rc = read_plain(r);
	if (rc == 0)
		store_checked_value(r, name, line);
	skip_line(r);
}

void dotenv_parse(struct dotenv *d, const struct dotenv_input *in)
{
	struct dotenv_reader r = {
		.in = in,
		.out = d,
		.at = in->text.ptr,
		.end = in->text.ptr + in->text.len,
		.line = 1,
		.value = BUF_INIT(DOTENV_LARGEST_VALUE),
	};

	if (!in->text.len)
		return;
	if (in->text.len > DOTENV_LARGEST) {
		add_warning(&r, 1, "larger than %d bytes; this file is ignored",
			    DOTENV_LARGEST);
		return;
	}
	if (str_starts(in->text, "\xEF\xBB\xBF"))
		r.at += 3;
	for (skip_gap(&r); r.at < r.end; skip_gap(&r)) {
		const char *start = r.at;

		read_statement(&r);
		for (; start < r.at; start++)
			r.line += *start == '\n';
	}
	buf_wipe(&r.value);
}

void dotenv_release(struct dotenv *d)
{
	for (size_t i = 0; i < d->n; i++) {
		explicit_bzero(d->vars[i].value, strlen(d->vars[i].value));
		free(d->vars[i].name);
		free(d->vars[i].value);
	}
	for (size_t i = 0; i < d->n_warnings; i++)
		free(d->warnings[i]);
	free(d->vars);
	free(d->warnings);
	hash_release(&d->names);
	*d = (struct dotenv){ 0 };
}

/* Minimum block size: a block with its header and the 16 bytes that
 * sodium_malloc() adds fills one page. */
enum { BLOCK = 4096 - 3 * 8 - 16 };

struct env_block {
	struct env_block *next;
	size_t size, used;
	char bytes[];
};

/* Ensures that one block has room for size bytes. */
static void reserve_room(struct env *e, size_t size)
{
	struct env_block *b = e->blocks;
	size_t room = size > BLOCK ? size : BLOCK;

	if (b && size <= b->size - b->used)
		return;
	/* Round up: sodium_malloc() places a block so that it ends at the end
	 * of a page, so its size must be a multiple of 16 for its start to be
	 * aligned. */
	room = ((sizeof(*b) + room + 15) & ~(size_t)15) - sizeof(*b);
	b = sodium_init() < 0 ? NULL : sodium_malloc(sizeof(*b) + room);
	if (!b)
		abort();
	*b = (struct env_block){ .next = e->blocks, .size = room };
	e->blocks = b;
}

static char *alloc_room(struct env *e, size_t size)
{
	reserve_room(e, size);
	e->blocks->used += size;
	return e->blocks->bytes + e->blocks->used - size;
}

static const struct env_var *find_var(const struct env *e, struct str name,
				      uint64_t code)
{
	size_t cursor = 0;
	uint32_t i;

	while (hash_next(&e->names, code, &cursor, &i))
		if (str_is(name, e->vars[i].name))
			return &e->vars[i];
	return NULL;
}

static struct env_var *add_slot(struct env_var **vars, size_t n)
{
	if ((n & (n - 1)) == 0)
		*vars = xrealloc(*vars, n ? n * 2 : 1, sizeof(**vars));
	return &(*vars)[n];
}

void env_add(struct env *e, struct str name, const char *value,
	     enum setting_source source, int line)
{
	uint64_t code = hash_code(name, 0);
	const struct env_var *there = find_var(e, name, code);
	size_t size = strlen(value) + 1;
	struct env_var *slot;
	char *copy;

	if (!name.len || (there && !strcmp(there->value, value)))
		return;
	copy = alloc_room(e, name.len + 1 + size);
	memcpy(copy, name.ptr, name.len);
	copy[name.len] = '\0';
	memcpy(copy + name.len + 1, value, size);
	if (there) {
		slot = add_slot(&e->shadowed, e->n_shadowed++);
	} else {
		hash_add(&e->names, code, (uint32_t)e->n);
		slot = add_slot(&e->vars, e->n++);
	}
	*slot = (struct env_var){ copy, copy + name.len + 1, source, line };
}

void env_add_all(struct env *e, char **entries)
{
	size_t size = 0;

	/* Allocate one block for all entries, since each block costs system
	 * calls. */
	for (char **entry = entries; entry && *entry; entry++)
		size += strlen(*entry) + 1;
	reserve_room(e, size);
	for (; entries && *entries; entries++) {
		struct str entry = str_of(*entries);
		size_t at = str_find(entry, '=');

		if (at < entry.len)
			env_add(e, (struct str){ entry.ptr, at },
				entry.ptr + at + 1, SOURCE_ENV, 0);
	}
}

const struct env_var *env_get(const struct env *e, const char *name)
{
	struct str s = str_of(name);

	return find_var(e, s, hash_code(s, 0));
}

const struct env_var *env_prefixed(const struct env *e, const char *name)
{
	static const char prefix[] = "DEEPAGENTS_CODE_";
	size_t size = sizeof(prefix) + strlen(name);
	/* Called several times per setting, so the name is built on the
	 * stack. */
	char room[128];
	char *full = size <= sizeof(room) ? room : xcalloc(1, size);
	const struct env_var *v;

	memcpy(full, prefix, sizeof(prefix) - 1);
	memcpy(full + sizeof(prefix) - 1, name, size - sizeof(prefix) + 1);
	v = env_get(e, full);
	if (full != room)
		free(full);
	return v;
}

const struct env_var *env_resolve(const struct env *e, const char *name)
{
	const struct env_var *v = env_prefixed(e, name);

	return v ? v : env_get(e, name);
}

void env_release(struct env *e)
{
	while (e->blocks) {
		struct env_block *b = e->blocks;

		e->blocks = b->next;
		sodium_free(b); /* also zeroes it */
	}
	free(e->vars);
	free(e->shadowed);
	hash_release(&e->names);
	*e = (struct env){ 0 };
}
