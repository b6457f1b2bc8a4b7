/* bug_report.c - dcode bug-report: writes a file that is safe to send. */
/* SPDX-License-Identifier: MIT */
/*
 * The file has facts about the program and this machine, and no contents of
 * conversations. The output of other commands comes from child processes. All
 * of it is masked as one text, by known values and by all built-in shapes, even
 * those that [redact] has turned off. Begin reading at sections[].
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/shapes/shapes.h"
#include "base/str.h"
#include "cmd/command.h"
#include "config/masking.h"
#include "config/settings_env.h"
#include "session/thread.h"

enum {
	OUTPUT_MAX = 1 << 20, /* bytes of one command's output */
	OUTPUT_MS = 30000,    /* time limit of one command */
	LOG_LINES = 20,
	MOST_THREADS = 3,
	MOST_MESSAGES = 200, /* of one thread */
};

struct bug_report {
	struct app *app;
	struct settings *set;
	struct buf text;
	size_t threads;  /* written so far */
	size_t messages; /* of the thread */
	struct store *store;
};

/* Returns the list changed so that a check of a provider asks no server:
 * without the addresses of containers' credentials and of remote engines, and
 * with the metadata service turned off. */
static char **keep_offline(char **env)
{
	static const char *const drop[] = {
		"AWS_CONTAINER_", "AWS_EC2_METADATA_",
		"DOCKER_HOST=tcp:", "DOCKER_HOST=ssh:"
	};
	size_t n = 0;

	for (size_t i = 0; env[i]; i++) {
		bool remove = false;

		for (size_t k = 0; k < sizeof(drop) / sizeof(*drop); k++)
			remove |= str_starts(str_of(env[i]), drop[k]);
		if (remove)
			mem_wipe(env[i]);
		else
			env[n++] = env[i];
	}
	env = xrealloc(env, n + 2, sizeof(*env));
	env[n] = xstrdup("AWS_EC2_METADATA_DISABLED=true");
	env[n + 1] = NULL;
	return env;
}

/* Appends the output of this program with these arguments. */
static void add_output(struct bug_report *r, char *const *argv, struct buf *out)
{
	char **env = keep_offline(settings_environ_exported(r->set));
	struct proc_run run = { .program = "/proc/self/exe",
				.argv = argv,
				.env = env,
				.cwd = settings_cwd(r->set),
				.ms = OUTPUT_MS,
				.out = BUF_INIT(OUTPUT_MAX),
				.err = BUF_INIT(OUTPUT_MAX) };
	struct proc_run *list[] = { &run };
	struct stop stop = app_stop(r->app);
	struct error err = { 0 };

	if (proc_run_all(list, 1, &stop, &err) < 0)
		buf_addf(out, "%s\n", err.message);
	else if (run.failed.code)
		buf_addf(out, "%s\n", run.failed.message);
	buf_addstr(out, buf_str(&run.out));
	buf_addstr(out, buf_str(&run.err));
	buf_release(&run.out);
	buf_release(&run.err);
	settings_environ_free(env);
}

static void add_program(struct bug_report *r)
{
	char *const argv[] = { (char *)"dcode", (char *)"version", NULL };

	add_output(r, argv, &r->text);
	buf_addf(&r->text, "built with %s for C%ld\n", __VERSION__,
		 __STDC_VERSION__);
}

/* Appends the name of the distribution. */
static void add_system(struct bug_report *r)
{
	struct buf release = BUF_INIT(1 << 16);
	struct error ignored = { 0 };
	struct utsname name;
	struct str rest;
	struct str line;

	if (uname(&name) == 0)
		buf_addf(&r->text, "%s %s %s\n", name.sysname, name.release,
			 name.machine);
	if (path_read("/etc/os-release", &release, &ignored) == 0) {
		rest = buf_str(&release);
		while (str_split(&rest, '\n', &line))
			if (str_starts(line, "PRETTY_NAME=")) {
				buf_addstr(&r->text, line);
				buf_addc(&r->text, '\n');
			}
	}
	buf_release(&release);
}

static void add_terminal(struct bug_report *r)
{
	static const char *const names[] = {
		"TERM", "COLORTERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION",
		"LANG", "LC_ALL",    "LC_CTYPE"
	};
	struct winsize size;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *value = getenv(names[i]);

		if (value)
			buf_addf(&r->text, "%s=%s\n", names[i], value);
	}
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
		buf_addf(&r->text, "%d columns, %d lines\n", size.ws_col,
			 size.ws_row);
	else
		buf_adds(&r->text, "standard output is not a terminal\n");
}

/* Reads the JSON: the lines for people are wrapped, and a wrapped value would
 * not be recognised. */
static void add_doctor(struct bug_report *r)
{
	char *const argv[] = { (char *)"dcode", (char *)"doctor", (char *)"-v",
			       (char *)"--json", NULL };
	struct buf out = BUF_INIT(OUTPUT_MAX);
	const cJSON *check;
	cJSON *tree;

	add_output(r, argv, &out);
	tree = json_parse(
		(struct str){ out.ptr, str_find(buf_str(&out), '\n') });
	cJSON_ArrayForEach (check, json_get(json_get(tree, "data"), "checks"))
		buf_addf(&r->text, "%s: %s %s: %s\n",
			 json_string(check, "status", ""),
			 json_string(check, "section", ""),
			 json_string(check, "name", ""),
			 json_string(check, "text", ""));
	if (!tree)
		buf_addstr(&r->text, buf_str(&out));
	cJSON_Delete(tree);
	buf_release(&out);
}

/* Appends the settings as `dcode config` prints them, with keys hidden. The
 * arguments of the user's own programs are left out: no list tells which of
 * them is a secret. */
static void add_settings(struct bug_report *r)
{
	char *const argv[] = { (char *)"dcode", (char *)"config", NULL };
	struct buf out = BUF_INIT(OUTPUT_MAX);
	struct str rest;
	struct str line;

	add_output(r, argv, &out);
	rest = buf_str(&out);
	while (str_split(&rest, '\n', &line)) {
		struct str key = str_trim(line);

		key.len = str_find(key, ' ');
		if (str_ends(key, "command")) {
			buf_addf(&r->text, "  %.*s  (not shown)\n",
				 (int)key.len, key.ptr);
			continue;
		}
		buf_addstr(&r->text, line);
		buf_addc(&r->text, '\n');
	}
	buf_release(&out);
}

/* Appends the last lines of the log of `dcode install`. */
static void add_log(struct bug_report *r)
{
	struct buf log = BUF_INIT(OUTPUT_MAX);
	struct error err = { 0 };
	char *path = app_state_path(r->app, "install.log", &err);
	struct str rest;
	struct str line;
	size_t skip = 0;

	if (path && path_read(path, &log, &err) == 0) {
		rest = buf_str(&log);
		skip = str_count_lines(rest);
		skip -= skip < LOG_LINES ? skip : LOG_LINES;
		for (; str_split(&rest, '\n', &line); skip -= skip > 0)
			if (!skip && line.len) {
				buf_addstr(&r->text, line);
				buf_addc(&r->text, '\n');
			}
	} else {
		buf_adds(&r->text, "no log\n");
	}
	buf_release(&log);
	free(path);
}

static bool add_message(void *arg, struct thread_message *m)
{
	static const char *const kinds[] = {
		[PART_TEXT] = "text",      [PART_THINKING] = "thinking",
		[PART_TOOL_CALL] = "call", [PART_TOOL_RESULT] = "result",
		[PART_MEDIA] = "file",
	};
	static const char *const roles[] = { [ROLE_USER] = "user",
					     [ROLE_ASSISTANT] = "assistant",
					     [ROLE_TOOL] = "tool" };
	struct bug_report *r = arg;

	if (r->messages++ == MOST_MESSAGES)
		return false;
	buf_addf(&r->text, "  %" PRId64 " %s%s%s:", m->no,
		 roles[m->message.role], m->message.cut ? ", cut" : "",
		 m->damaged ? ", damaged" : "");
	for (size_t i = 0; i < m->message.n; i++) {
		const struct part *p = &m->message.parts[i];
		size_t len =
			str_of(p->text).len + str_of(p->args).len + p->n_bytes;

		buf_addf(&r->text, " %s %zu%s", kinds[p->kind], len,
			 p->failed ? " failed" : "");
	}
	buf_addc(&r->text, '\n');
	return true;
}

static bool add_thread(void *arg, struct thread *t)
{
	struct bug_report *r = arg;
	struct error ignored = { 0 };

	buf_addf(&r->text, "thread %zu\n", ++r->threads);
	r->messages = 0;
	(void)thread_each_message(r->store, t->no, add_message, r, &ignored);
	return true;
}

/* Appends kinds and bytes of the messages of the newest threads. */
static void add_threads(struct bug_report *r)
{
	struct thread_filter newest = { .limit = MOST_THREADS };
	struct error err = { 0 };

	if (app_store(r->app, &r->store, &err) < 0 ||
	    thread_each(r->store, &newest, add_thread, r, &err) < 0)
		buf_addf(&r->text, "%s\n", err.message);
}

static const struct section {
	const char *title;
	void (*add)(struct bug_report *r);
} sections[] = {
	{ "version and build", add_program },
	{ "system", add_system },
	{ "terminal", add_terminal },
	{ "checks of dcode doctor -v", add_doctor },
	{ "settings, without keys and arguments of your programs",
	  add_settings },
	{ "last lines of install.log", add_log },
	{ "kinds and bytes of the messages of the last 3 threads, without "
	  "contents",
	  add_threads },
};

/* Masks by all built-in kinds and the user's patterns, whatever was turned
 * off. */
static void mask_all_kinds(struct bug_report *r)
{
	struct shapes *shapes = NULL;
	struct error ignored = { 0 };
	struct masking m = { 0 };

	if (settings_list(r->set, NULL, "redact.patterns", &m.patterns,
			  &m.n_patterns, &ignored) == 0)
		(void)masking_shapes(&m, &shapes, &ignored);
	mask_set_shapes(r->app->mask, shapes ? shapes : shapes_new());
}

/* Writes a new file of mode 0600. */
static int write_report(const char *path, struct str text, struct error *err)
{
	int fd =
		open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
		     0600);
	int rc;

	if (fd < 0)
		return error_errno(err, "creating %s", path);
	rc = io_write_all(fd, text.ptr, text.len);
	if (close(fd) < 0 || rc < 0)
		return error_errno(err, "writing %s", path);
	return 0;
}

static void print_summary(const struct app *app, const char *path)
{
	struct buf name = BUF_INIT(1 << 14);

	app_clean(app, CLEAN_NAME, str_of(path), &name);
	printf("%.*s\n", (int)name.len, name.ptr);
	buf_release(&name);
	fputs("It has:\n", stderr);
	for (size_t i = 0; i < sizeof(sections) / sizeof(*sections); i++)
		fprintf(stderr, "- %s\n", sections[i].title);
	fputs("Keys and what looks like a credential are masked. Nothing was "
	      "sent. Read it before you send it: names of files and hosts are "
	      "not hidden.\n",
	      stderr);
}

static int bug_report_cmd(struct app *app, const struct args *args)
{
	struct bug_report r = { .app = app, .text = BUF_INIT(16 << 20) };
	struct buf clean = BUF_INIT(32 << 20);
	struct error err = { 0 };
	char name[64];
	time_t now = time(NULL);
	struct tm day = { 0 };
	const char *path = args->argc ? args->argv[0] : name;
	int rc = app_settings(app, &r.set, &err);

	gmtime_r(&now, &day);
	(void)strftime(name, sizeof(name), "dcode-bug-report-%Y%m%d-%H%M%S.txt",
		       &day);
	if (rc == 0) {
		mask_all_kinds(&r);
		for (size_t i = 0; i < sizeof(sections) / sizeof(*sections);
		     i++) {
			buf_addf(&r.text, "%s## %s\n\n", i ? "\n" : "",
				 sections[i].title);
			sections[i].add(&r);
		}
		app_clean(app, CLEAN_TEXT, buf_str(&r.text), &clean);
		rc = write_report(path, buf_str(&clean), &err);
	}
	buf_wipe(&r.text);
	buf_release(&clean);
	if (rc < 0)
		return app_fail(app, &err);
	print_summary(app, path);
	return 0;
}

static const struct subcommand subs[] = {
	{ .name = "",
	  .args = "[FILE]",
	  .most = 1,
	  .flags = SUB_EXPLAINS,
	  .run = bug_report_cmd },
	{ 0 },
};

const struct command command_bug_report = {
	.name = "bug-report",
	.summary = "Write a file about dcode and this machine for a bug report",
	.topic = "redaction",
	.subs = subs,
};
