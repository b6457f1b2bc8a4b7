/* setup.c - a user's setup script: read and expanded. */
/* SPDX-License-Identifier: MIT */
#include "sandbox/setup/setup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "sandbox/quote.h"
#include "sandbox/setup/shell_assignments.h"
#include "sandbox/setup/shell_word.h"

/* A script that names one of these means the sandbox's own. Sorted; "LC_*" is
 * a prefix. */
static const char *const machine_names[] = {
	"BASH",
	"BASHOPTS",
	"BASHPID",
	"BASH_*",
	"CDPATH",
	"COLUMNS",
	"COMP_*",
	"DBUS_SESSION_BUS_ADDRESS",
	"DIRSTACK",
	"DISPLAY",
	"EGID",
	"ENV",
	"EPOCHREALTIME",
	"EPOCHSECONDS",
	"EUID",
	"FUNCNAME",
	"GID",
	"GROUPS",
	"HISTFILE",
	"HISTSIZE",
	"HOME",
	"HOST",
	"HOSTNAME",
	"HOSTTYPE",
	"IFS",
	"INFOPATH",
	"LANG",
	"LANGUAGE",
	"LC_*",
	"LD_LIBRARY_PATH",
	"LD_PRELOAD",
	"LINENO",
	"LINES",
	"LOGNAME",
	"MACHTYPE",
	"MAIL",
	"MANPATH",
	"OLDPWD",
	"OPTARG",
	"OPTERR",
	"OPTIND",
	"OSTYPE",
	"PATH",
	"PIPESTATUS",
	"POSIXLY_CORRECT",
	"PPID",
	"PROMPT_COMMAND",
	"PS0",
	"PS1",
	"PS2",
	"PS3",
	"PS4",
	"PWD",
	"PYTHONHOME",
	"PYTHONPATH",
	"RANDOM",
	"REPLY",
	"SECONDS",
	"SHELL",
	"SHELLOPTS",
	"SHLVL",
	"SRANDOM",
	"SSH_AGENT_PID",
	"SSH_AUTH_SOCK",
	"SSH_CLIENT",
	"SSH_CONNECTION",
	"SSH_TTY",
	"TEMP",
	"TERM",
	"TERMCAP",
	"TERMINFO",
	"TMP",
	"TMPDIR",
	"UID",
	"USER",
	"USERNAME",
	"VIRTUAL_ENV",
	"WAYLAND_DISPLAY",
	"WINDOWID",
	"XAUTHORITY",
	"XDG_*",
	"_",
	NULL,
};

bool setup_machine_name(struct str name)
{
	for (size_t i = 0; machine_names[i]; i++) {
		struct str row = str_of(machine_names[i]);

		if (str_ends(row, "*")) {
			row.len--;
			if (name.len > row.len &&
			    !memcmp(name.ptr, row.ptr, row.len))
				return true;
		} else if (str_eq(name, row)) {
			return true;
		}
	}
	return false;
}

int setup_check(const char *path, struct error *err)
{
	struct stat st;

	if (stat(path, &st) < 0 && errno == ENOENT)
		return error_set(err, ERR_NOT_FOUND,
				 "Setup script not found: %s", path);
	if (access(path, R_OK) < 0)
		return error_errno(err, "Setup script: %s", path);
	if (S_ISDIR(st.st_mode))
		return error_set(err, ERR_SYSTEM,
				 "Setup script: %s is a directory", path);
	return 0;
}

int setup_read(const char *path, struct buf *script, struct error *err)
{
	if (setup_check(path, err) < 0)
		return -1;
	if (script->max > SETUP_MAX)
		script->max = SETUP_MAX;
	if (path_read(path, script, err) < 0)
		return error_wrap(err, "Setup script");
	return 0;
}

struct expansion {
	const struct setup_values *values;
	struct assigned assigned;
	struct str *used; /* names whose value went in */
	size_t n_used;
	bool noted;
	struct setup_script *out;
};

/* True the first time. */
static bool remember(struct expansion *x, struct str name, const char *key,
		     const struct setup_value *value)
{
	for (size_t i = 0; i < x->n_used; i++)
		if (str_eq(x->used[i], name))
			return false;
	x->used = xrealloc(x->used, x->n_used + 1, sizeof(*x->used));
	x->used[x->n_used++] = name;
	if (x->values->used)
		x->values->used(x->values->arg, key, value);
	return true;
}

/* A repository's FOO='$(cat "$0" >x)' must not run in a script that holds the
 * user's tokens: such a value reaches the script as data. */
static bool may_be_text(const struct setup_value *value)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_-./:@%+=,";

	return !value->foreign || !value->text[strspn(value->text, plain)];
}

static void pass_as_data(struct expansion *x, struct str name, const char *key,
			 const struct setup_value *value)
{
	char *line;

	buf_addf(&x->out->text, "${%s}", key);
	if (!remember(x, name, key, value))
		return;
	buf_addf(&x->out->exports, "export %s=", key);
	quote_word(&x->out->exports, str_of(value->text));
	buf_addc(&x->out->exports, '\n');
	if (!x->values->note)
		return;
	line = xasprintf(
		"setup script: the value of %s in the project's .env contains "
		"characters that a shell may run, so the script gets it as an "
		"environment variable and ${%s} stays in its text",
		key, key);
	x->values->note(x->values->arg, line);
	free(line);
}

/* NAME=$NAME: the script hopes for a value that it does not get. */
static void note_own(struct expansion *x, struct str before, const char *key)
{
	char *line;

	if (str_ends(before, "\""))
		before.len--;
	if (x->noted || !x->values->note || !str_ends(before, "="))
		return;
	before.len--;
	if (!str_ends(before, key))
		return;
	line = xasprintf("setup script: $%s is left to the script, which "
			 "assigns %s itself; write ${%s} to use your value",
			 key, key, key);
	x->values->note(x->values->arg, line);
	free(line);
	x->noted = true;
}

/* Puts the value in; false when the text has to stay as it is. plain: written
 * $NAME; before: the script up to there. */
static bool put(struct expansion *x, struct str name, bool plain,
		struct str before)
{
	struct setup_value value = { 0 };
	char *key;

	if (!name.len || setup_machine_name(name))
		return false;
	key = xstrndup(name.ptr, name.len);
	if (x->values->value)
		value = x->values->value(x->values->arg, key);
	if (value.text && plain && assigned_has(&x->assigned, name)) {
		note_own(x, before, key);
		value.text = NULL;
	}
	if (value.text && may_be_text(&value)) {
		buf_adds(&x->out->text, value.text);
		(void)remember(x, name, key, &value);
	} else if (value.text) {
		pass_as_data(x, name, key, &value);
	}
	free(key);
	return value.text != NULL;
}

/* One $ at script[at]; returns how many bytes of the script were handled. */
static size_t dollar(struct expansion *x, struct str script, size_t at)
{
	struct str rest = str_skip(script, at + 1);
	struct str before = { script.ptr, at };
	bool braced = str_starts(rest, "{");
	bool angled = str_starts(rest, "<");
	struct str name = name_prefix(str_skip(rest, braced || angled));
	size_t len = 1 + name.len;

	if (str_starts(rest, "$")) {
		len = 2; /* the shell's own pid */
	} else if (braced || angled) {
		len = name.len + 2;
		if (str_starts(str_skip(script, at + len), braced ? "}" : ">"))
			len++;
		else
			name.len = 0;
		if (!put(x, name, false, before)) {
			/* ${X:-${Y}}: what is inside has its own turn */
			len = 2;
			buf_add(&x->out->text, script.ptr + at, len);
		}
		return len;
	} else if (put(x, name, true, before)) {
		return len;
	}
	buf_add(&x->out->text, script.ptr + at, len);
	return len;
}

/* A first line "#!..." that ends in CR LF: no program has that name. */
static bool shebang_with_cr(struct str script)
{
	struct str first = { script.ptr, str_find(script, '\n') };

	return first.len < script.len && str_starts(script, "#!") &&
	       str_ends(first, "\r");
}

static void drop_cr(struct str script, struct buf *out)
{
	struct str line;
	struct str rest = script;

	while (str_split(&rest, '\n', &line)) {
		if (rest.ptr && str_ends(line, "\r"))
			line.len--;
		buf_addstr(out, line);
		if (rest.ptr)
			buf_addc(out, '\n');
	}
}

int setup_expand(struct str script, const struct setup_values *values,
		 struct setup_script *out, struct error *err)
{
	struct expansion x = { .values = values, .out = out };
	struct buf lines = BUF_INIT(SETUP_EXPANDED_MAX);
	size_t at = 0;
	int rc;

	if (shebang_with_cr(script)) {
		drop_cr(script, &lines);
		script = buf_str(&lines);
		if (values->note)
			values->note(values->arg, "setup script: its CR LF "
						  "line ends are read as LF");
	}
	assigned_find(&x.assigned, script);
	while (at < script.len && !out->text.over) {
		size_t plain = str_find(str_skip(script, at), '$');

		buf_add(&out->text, script.ptr + at, plain);
		at += plain;
		if (at < script.len)
			at += dollar(&x, script, at);
	}
	rc = buf_check(&out->text, "setup script with its values", err);
	if (rc == 0)
		rc = buf_check(&out->exports, "setup script's variables", err);
	assigned_release(&x.assigned);
	free(x.used);
	buf_wipe(&lines);
	return rc;
}

void setup_script_init(struct setup_script *s)
{
	s->text = BUF_INIT(SETUP_EXPANDED_MAX);
	s->exports = BUF_INIT(SETUP_EXPANDED_MAX);
}

void setup_script_release(struct setup_script *s)
{
	buf_wipe(&s->text);
	buf_wipe(&s->exports);
}
