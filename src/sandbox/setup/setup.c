/* setup.c - the user's setup script: read, expanded, run in the sandbox. */
/* SPDX-License-Identifier: MIT */

/*
 * The first half reads a script and inserts the user's values (setup_expand()).
 * A value becomes script text only where the script's author intended that;
 * otherwise it is passed in the environment. The second half runs the result
 * (setup_run()). The script contains the user's secrets, so it is never part of
 * a command line, which other processes in the sandbox could read. It is sent
 * as a file, as input, or enciphered with a one-time pad that the sandbox made.
 * Variables that it exports are stored in a file that later commands read
 * (setup_env.sh).
 */
#include "sandbox/setup/setup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "sandbox/frame.h"
#include "sandbox/helper.h"
#include "sandbox/quote.h"
#include "sandbox/setup/shell_assignments.h"

/* Variables of the sandbox's shell and system: a script that uses one means the
 * sandbox's value, so dcode never inserts its own. Sorted; "LC_*" is a
 * prefix. */
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

struct expansion {
	const struct setup_values *values;
	struct assigned assigned;
	struct str *used; /* names whose value was inserted */
	size_t n_used;
	bool noted;
	struct setup_script *out;
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

/* Records that name was used, and tells the caller about each name once. True
 * the first time. */
static bool record_use(struct expansion *x, struct str name, const char *key,
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

/* True if the value may be inserted as script text. Attack: a repository sets
 * FOO='$(cat "$0" >x)', and the command would run in a script that contains the
 * user's tokens. Such a value is passed in a variable instead. */
static bool may_be_text(const struct setup_value *value)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_-./:@%+=,";

	return !value->foreign || !value->text[strspn(value->text, plain)];
}

/* Leaves ${NAME} in the script and adds an export of the value to
 * out->exports. */
static void pass_as_data(struct expansion *x, struct str name, const char *key,
			 const struct setup_value *value)
{
	char *line;

	buf_addf(&x->out->text, "${%s}", key);
	if (!record_use(x, name, key, value))
		return;
	buf_addf(&x->out->exports, "export %s=", key);
	quote_word(&x->out->exports, str_of(value->text));
	buf_addc(&x->out->exports, '\n');
	if (!x->values->note)
		return;
	line = xasprintf("setup script: the value of %s in the project's .env "
			 "contains characters that a shell may run. The script "
			 "gets it as an environment variable, and dcode does "
			 "not replace ${%s} in the script",
			 key, key);
	x->values->note(x->values->arg, line);
	free(line);
}

/* Warns once about NAME=$NAME, by which the user probably meant the value of
 * this machine: it is not inserted, because the script assigns NAME. */
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
	line = xasprintf(
		"setup script: dcode does not replace $%s, because the script "
		"assigns %s itself. To use your value, write ${%s}",
		key, key, key);
	x->values->note(x->values->arg, line);
	free(line);
	x->noted = true;
}

/* Inserts the value of name; false if the reference must stay as it is. plain:
 * it is written as $NAME. before: the script up to the $. */
static bool insert_value(struct expansion *x, struct str name, bool plain,
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
		(void)record_use(x, name, key, &value);
	} else if (value.text) {
		pass_as_data(x, name, key, &value);
	}
	free(key);
	return value.text != NULL;
}

/* Handles one $ at script[at]. Returns the number of bytes handled. */
static size_t expand_dollar(struct expansion *x, struct str script, size_t at)
{
	struct str rest = str_skip(script, at + 1);
	struct str before = { script.ptr, at };
	bool braced = str_starts(rest, "{");
	bool angled = str_starts(rest, "<");
	struct str name = name_prefix(str_skip(rest, braced || angled));
	size_t len = 1 + name.len;

	if (str_starts(rest, "$")) {
		len = 2; /* $$ is the shell's process ID */
	} else if (braced || angled) {
		len = name.len + 2;
		if (str_starts(str_skip(script, at + len), braced ? "}" : ">"))
			len++;
		else
			name.len = 0;
		if (!insert_value(x, name, false, before)) {
			/* Not a plain reference, such as ${X:-${Y}}: skip only
			 * the "${", so that ${Y} is found later. */
			len = 2;
			buf_add(&x->out->text, script.ptr + at, len);
		}
		return len;
	} else if (insert_value(x, name, true, before)) {
		return len;
	}
	buf_add(&x->out->text, script.ptr + at, len);
	return len;
}

/* True if the first line is "#!..." and ends in CR LF. The kernel would look
 * for an interpreter whose name ends in CR. */
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
			values->note(values->arg, "setup script: dcode changes "
						  "its CR LF line ends to LF");
	}
	assigned_find(&x.assigned, script);
	while (at < script.len && !out->text.over) {
		size_t plain = str_find(str_skip(script, at), '$');

		buf_add(&out->text, script.ptr + at, plain);
		at += plain;
		if (at < script.len)
			at += expand_dollar(&x, script, at);
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

enum {
	NAME_LEN = 16,
	COMMAND_MAX = 64 << 10, /* bytes of a command, without the script */
	/* maximum bytes of the sandbox's answer to a step */
	ANSWER_MAX = 2 << 20,
	STEP_MS = 60000, /* time limit for making or removing the directory */
	CLEANUP_MS = 5000,
};

static const char runner[] = {
#include "scripts/sandbox/setup.sh.inc"
};

static const char environment[] = {
#include "scripts/sandbox/setup_env.sh.inc"
};

static const char putter[] = {
#include "scripts/sandbox/setup_put.sh.inc"
};

static const char remove_directory[] =
	"rm -rf \"${src%/*}\" 2>/dev/null || busybox rm -rf \"${src%/*}\"\n";

struct receiver {
	const struct setup_sink *sink;
	struct aside aside; /* finds the mark that ends the script's output */
	struct buf text;    /* buffer for the output without the mark */
};

/* A directory of mode 0700 in the sandbox through which the script is sent. */
struct entry {
	struct sandbox *sb;
	char name[NAME_LEN + 1];
	char *dir;    /* owned; NULL until it exists */
	int64_t size; /* bytes of the script received by the sandbox */
	/* One-time pad for the next piece: base64 in lines, as the sandbox
	 * printed it. */
	struct buf pad;
};

static void pass_on(struct receiver *r, enum exec_stream stream)
{
	if (r->sink->output && r->text.len)
		r->sink->output(r->sink->arg, stream, buf_str(&r->text));
	buf_clear(&r->text);
}

static int forward_output(void *arg, enum exec_stream stream, struct str chunk,
			  struct buf *reply, struct error *err)
{
	struct receiver *r = arg;

	(void)reply;
	(void)err;
	aside_feed(&r->aside, chunk, &r->text);
	pass_on(r, stream);
	return 0;
}

/* Builds a command: assignments of name and src, quoted for sh, then text. */
static void compose_command(struct buf *out, const char *name, const char *src,
			    struct str text)
{
	buf_adds(out, "name=");
	quote_word(out, str_of(name));
	buf_adds(out, "\nsrc=");
	quote_word(out, str_of(src));
	buf_addc(out, '\n');
	buf_addstr(out, text);
}

/* Parses the sandbox's answer to a step: the directory, the number of bytes
 * received and the next pad, a line each. */
static int parse_entry(struct entry *e, struct str answer, struct error *err)
{
	struct str line = { 0 };

	e->size = 0;
	buf_clear(&e->pad);
	(void)str_split(&answer, '\n', &line);
	if (!str_starts(line, "/") || !str_ends(line, e->name))
		return error_set(err, ERR_REMOTE,
				 "cannot create the setup script's directory "
				 "in the sandbox");
	free(e->dir);
	e->dir = xstrndup(line.ptr, line.len);
	line = (struct str){ answer.ptr, str_find(answer, '\n') };
	if (str_to_int(str_trim(line), &e->size))
		answer = str_skip(answer, line.len + 1);
	buf_addstr(&e->pad, answer);
	return 0;
}

/* Sends a piece of the script, unless text is empty, and gets a pad for a next
 * piece of `want` bytes into e->pad. */
static int send_piece(struct entry *e, struct str text, size_t want,
		      const struct stop *stop, struct error *err)
{
	struct buf line = BUF_INIT(COMMAND_MAX + ANSWER_MAX);
	struct buf answer = BUF_INIT(ANSWER_MAX);
	struct exec_result res = { 0 };
	struct exec_request req = {
		.plain = true,
		.timeout_ms = STEP_MS,
		.output = exec_collect_output,
		.arg = &answer,
	};
	int rc;

	buf_addf(&line, "name=%s want=%zu\n", e->name, want);
	quote_assign(&line, "dir", str_of(e->dir ? e->dir : ""));
	buf_adds(&line, "text() { printf '%s\\n' '");
	buf_addstr(&line, text);
	buf_adds(&line, "'; }\n");
	buf_addstr(&line, (struct str){ putter, sizeof(putter) });
	req.command = buf_str(&line);
	rc = sandbox_execute(e->sb, &req, &res, stop, err);
	if (rc == 0 && res.timed_out)
		rc = error_set(
			err, ERR_TIMEOUT,
			"creating a directory in the sandbox took too long");
	if (rc == 0)
		rc = parse_entry(e, buf_str(&answer), err);
	buf_wipe(&answer);
	buf_release(&line);
	return rc;
}

/* Appends the bytes in base64, each symbol added modulo 64 to the pad's symbol
 * at the same place, in lines of the same length as the pad's. */
static int encipher_bytes(struct str bytes, struct str pad, struct buf *out,
			  struct error *err)
{
	static const char symbols[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "abcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t room = sodium_base64_encoded_len(bytes.len,
						sodium_base64_VARIANT_ORIGINAL);
	char *plain = xcalloc(1, room);
	char *c = plain;

	sodium_bin2base64(plain, room, (const unsigned char *)bytes.ptr,
			  bytes.len, sodium_base64_VARIANT_ORIGINAL);
	for (pad = str_trim(pad); *c && pad.len; pad = str_skip(pad, 1)) {
		const char *p = strchr(symbols, *pad.ptr);
		const char *s = strchr(symbols, *c);

		if (*pad.ptr == '\n' || !*pad.ptr) {
			buf_addc(out, '\n');
			continue;
		}
		if (s && !p)
			break;
		buf_addc(out,
			 s ? symbols[(s - symbols + p - symbols) % 64] : *c);
		c++;
	}
	room = strlen(c);
	sodium_memzero(plain, strlen(plain));
	free(plain);
	if (room)
		return error_set(err, ERR_REMOTE,
				 "the sandbox cannot run the setup script: it "
				 "needs awk, base64 and /dev/urandom");
	return 0;
}

/* Returns how many bytes of the script the next command can contain, in base64
 * with line ends. */
static size_t piece_size(const struct entry *e, struct str script)
{
	size_t most = helper_room(e->sb) / 5 * 3;

	return script.len < most ? script.len : most;
}

/*
 * Sends the script to a provider that can only execute commands. The command's
 * text is an argument of a shell, visible to other processes. So the sandbox
 * prints a random pad for each piece, and the piece is sent enciphered with it.
 */
static int send_enciphered(struct entry *e, struct str script,
			   const struct stop *stop, struct error *err)
{
	size_t len = piece_size(e, script);
	int rc = e->pad.len ? 0
			    : send_piece(e, (struct str){ 0 }, len, stop, err);
	int64_t sent = 0;

	while (rc == 0 && script.len) {
		struct str piece = { script.ptr, len };
		struct buf text = BUF_INIT(ANSWER_MAX);

		script = str_skip(script, len);
		sent += (int64_t)len;
		len = piece_size(e, script);
		rc = encipher_bytes(piece, buf_str(&e->pad), &text, err);
		if (rc == 0)
			rc = send_piece(e, buf_str(&text), len, stop, err);
		if (rc == 0 && e->size != sent)
			rc = error_set(err, ERR_REMOTE,
				       "only a part of the setup script "
				       "reached the sandbox");
		buf_release(&text);
	}
	return rc;
}

/* Uploads the script as a file. 1: the provider does not support that. */
static int upload_script(struct sandbox *sb, const char *file,
			 struct str script, const struct stop *stop,
			 struct error *err)
{
	struct transfer t = { .path = file, .mode = 0600, .api_only = true };

	if (sandbox_upload_bytes(sb, &t, script, stop, err) < 0)
		return error_wrap(err, "uploading the setup script");
	if (t.error == FILE_NO_API)
		return 1;
	if (t.error != FILE_OK)
		return error_set(
			err, ERR_REMOTE, "uploading the setup script: %s",
			t.error == FILE_OTHER ? t.detail
					      : file_error_name(t.error));
	return 0;
}

/* Sends the script into a new directory. *file: its path in the sandbox, owned;
 * set even if sending fails after the directory was made, so that the caller
 * can remove it. */
static int send_script(struct entry *e, struct str script, char **file,
		       const struct stop *stop, struct error *err)
{
	bool takes_files = sandbox_can_upload(e->sb->client);
	size_t want = takes_files ? 0 : piece_size(e, script);
	int rc = send_piece(e, (struct str){ 0 }, want, stop, err);

	if (e->dir)
		*file = xasprintf("%s/script", e->dir);
	if (rc == 0)
		rc = takes_files
			     ? upload_script(e->sb, *file, script, stop, err)
			     : 1;
	return rc > 0 ? send_enciphered(e, script, stop, err) : rc;
}

/* Removes the directory with everything in it; errors are ignored. */
static void clean_up(struct sandbox *sb, const char *file)
{
	struct stop limit = stop_cleanup(CLEANUP_MS);
	struct buf text = BUF_INIT(COMMAND_MAX);
	struct exec_request req = {
		.plain = true,
		.timeout_ms = CLEANUP_MS,
	};
	struct exec_result res = { 0 };
	struct error ignored = { 0 };

	compose_command(&text, "", file, str_of(remove_directory));
	req.command = buf_str(&text);
	(void)sandbox_execute(sb, &req, &res, &limit, &ignored);
	buf_release(&text);
}

/* Concatenates what the script's interpreter is given: lines with exports, then
 * the script. *lines: number of lines with exports. */
static void join_script(const struct setup_script *script, struct buf *out,
			int *lines)
{
	struct str exports = buf_str(&script->exports);

	for (size_t i = 0; i < exports.len; i++)
		*lines += exports.ptr[i] == '\n';
	buf_addstr(out, exports);
	buf_addstr(out, buf_str(&script->text));
}

int setup_run(struct sandbox *sb, const struct setup_script *script,
	      const struct setup_sink *sink, struct exec_result *res,
	      const struct stop *stop, struct error *err)
{
	struct receiver to = { .sink = sink, .text = BUF_INIT(SIZE_MAX / 2) };
	bool by_input = sb->client->provider->flags & SANDBOX_STDIN;
	struct entry e = { .sb = sb, .pad = BUF_INIT(ANSWER_MAX) };
	struct buf whole = BUF_INIT(2 * SETUP_EXPANDED_MAX);
	struct buf text = BUF_INIT(COMMAND_MAX);
	struct exec_request req = {
		.plain = true,
		.live = true,
		.merged = true,
		.output = forward_output,
		.arg = &to,
	};
	char *file = NULL;
	int lines = 0;
	int rc = 0;

	aside_init(&to.aside);
	ids_random(e.name, NAME_LEN);
	join_script(script, &whole, &lines);
	if (by_input)
		req.input = buf_str(&whole);
	else
		rc = send_script(&e, buf_str(&whole), &file, stop, err);
	if (rc == 0) {
		buf_addf(&text, "exports=%d report=%s\n", lines,
			 to.aside.nonce);
		compose_command(
			&text, e.name, file ? file : "",
			(struct str){ environment, sizeof(environment) });
		buf_addstr(&text, (struct str){ runner, sizeof(runner) });
		req.command = buf_str(&text);
		rc = sandbox_execute(sb, &req, res, stop, err);
	}
	aside_end(&to.aside, &to.text);
	pass_on(&to, EXEC_STDOUT);
	if (rc == 0 && res->exit_code == 0 && to.aside.found)
		(void)sandbox_move(sb, buf_str(&to.aside.text));
	aside_release(&to.aside);
	buf_release(&to.text);
	if (rc < 0 && file)
		clean_up(sb, file);
	buf_wipe(&e.pad);
	buf_wipe(&whole);
	buf_release(&text);
	free(e.dir);
	free(file);
	return rc;
}
