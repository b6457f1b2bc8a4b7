/* doctor.c - dcode doctor: what works here, and what is missing. */
/* SPDX-License-Identifier: MIT */
/*
 * Each check prints one row, or with --json adds one object. The terminal is
 * asked for its features and has half a second to reply. Begin reading at the
 * table at the end.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/app.h"
#include "cmd/commands/provider.h"
#include "model/model.h"
#include "sandbox/secrets/secrets.h"
#include "term/keys.h"
#include "term/theme.h"
#include "term/tty.h"

enum verdict { FINE, REMARK, BROKEN };

struct report {
	struct app *app;
	struct buf json;
	bool broken;
};

static const struct arg_row options[] = {
	{ "verbose", 'v', ARG_FLAG, NULL,
	  "Also list the sandboxes that are not ready, and why" },
	ARG_JSON,
	{ 0 },
};

/* Prints a check, or records it for --json. Control characters are removed from
 * text. */
static void doctor_add(struct report *r, const char *section, const char *name,
		       enum verdict verdict, const char *text)
{
	static const char *const words[] = { "ok", "remark", "broken" };
	static const char *const marks[] = { " ok ", " -- ", "FAIL" };
	struct buf shown = BUF_INIT(1 << 14);

	sanitize_message(str_of(text), &shown);
	r->broken |= verdict == BROKEN;
	if (!r->app->json) {
		int at = printf("[%s] %-14s %-15s", marks[verdict], section,
				name);

		args_text(stdout, shown.len ? shown.ptr : "", at, at + 1);
		buf_release(&shown);
		return;
	}
	buf_adds(&r->json, r->json.len ? ",{" : "{");
	json_member(&r->json, "section", str_of(section));
	buf_addc(&r->json, ',');
	json_member(&r->json, "name", str_of(name));
	buf_addc(&r->json, ',');
	json_member(&r->json, "status", str_of(words[verdict]));
	buf_addc(&r->json, ',');
	json_member(&r->json, "text", buf_str(&shown));
	buf_addc(&r->json, '}');
	buf_release(&shown);
}

static void add_check_with_hint(struct report *r, const char *section,
				const char *name, enum verdict verdict,
				const struct error *err)
{
	struct buf text = BUF_INIT(1 << 12);

	buf_adds(&text, err->message);
	if (err->hint[0])
		buf_addf(&text, " (%s)", err->hint);
	doctor_add(r, section, name, verdict, text.ptr);
	buf_release(&text);
}

static void check_program(struct report *r)
{
	struct utsname u;
	char platform[256] = "unknown";

	if (uname(&u) == 0)
		snprintf(platform, sizeof(platform), "%s %s %s", u.sysname,
			 u.release, u.machine);
	doctor_add(r, "program", "version", FINE, "dcode " DCODE_VERSION);
	doctor_add(r, "program", "platform", FINE, platform);
}

/* Checks the data directory, the managed config and config.toml. */
static void check_configuration(struct report *r, const struct settings *set)
{
	const char *dir = settings_dir(set);
	const char *const *warnings;
	size_t n = settings_warnings(set, &warnings);
	struct buf text = BUF_INIT(1 << 13);
	enum verdict verdict = FINE;
	struct stat st;

	buf_adds(&text, dir);
	if (stat(dir, &st) < 0) {
		verdict = REMARK;
		buf_adds(&text,
			 " does not exist yet; dcode creates it when needed");
	} else if (access(dir, R_OK | W_OK | X_OK) < 0) {
		verdict = BROKEN;
		buf_adds(&text, " cannot be written");
	}
	doctor_add(r, "configuration", "data directory", verdict, text.ptr);
	buf_release(&text);
	if (settings_policy_error(set))
		doctor_add(r, "configuration", "managed config", BROKEN,
			   settings_policy_error(set));
	if (settings_broken(set))
		doctor_add(r, "configuration", "config.toml", BROKEN,
			   settings_broken(set));
	else
		doctor_add(r, "configuration", "config.toml", FINE,
			   "readable, or does not exist");
	/* without --json, app_settings() has printed these warnings already */
	for (size_t i = 0; i < n && r->app->json; i++)
		doctor_add(r, "configuration", "warning", REMARK, warnings[i]);
	if (settings_foreign(set) && r->app->json)
		doctor_add(r, "configuration", "warning", REMARK,
			   settings_foreign(set));
}

static void check_model(struct report *r, const struct settings *set)
{
	struct model_choice choice = { 0 };
	struct error err = { 0 };
	char text[256];

	if (model_choose(&choice, set, NULL, NULL, &err) < 0) {
		add_check_with_hint(r, "model", "default", REMARK, &err);
		return;
	}
	snprintf(text, sizeof(text), "%s:%s at %s", choice.provider,
		 choice.model, choice.base_url);
	doctor_add(r, "model", "default", FINE, text);
	if (choice.project_key)
		doctor_add(r, "model", "key", REMARK, choice.key_from);
	if (choice.url_unused)
		doctor_add(r, "model", "address", REMARK, choice.url_unused);
	model_choice_release(&choice);
}

/* Describes a provider that is ready: its address, key, working directory and
 * capabilities. */
static void describe_provider(struct report *r,
			      const struct sandbox_client *client,
			      const char *origin)
{
	const struct sandbox_provider *p = client->provider;
	struct buf text = BUF_INIT(1 << 12);
	char *unused;
	char *key;

	buf_addf(&text, "%s (%s)", p->summary, origin);
	if (client->endpoint && client->endpoint[0])
		buf_addf(&text, "; at %s", client->endpoint);
	key = client->project_key
		      ? settings_credential_name(client->settings,
						 client->project_key)
		      : NULL;
	if (key)
		buf_addf(&text, "; with %s", key);
	free(key);
	buf_addf(&text, "; in %s; ",
		 p->workdir ? p->workdir : "the current directory");
	provider_capabilities(&text, p->flags, false);
	doctor_add(r, "sandbox", p->name, FINE, text.ptr);
	buf_release(&text);
	unused = sandbox_unused_address(client);
	if (unused)
		doctor_add(r, "sandbox", p->name, REMARK, unused);
	free(unused);
}

/* Describes a provider that is not ready: why, and its capabilities. */
static void describe_missing(struct report *r, const struct sandbox_provider *p,
			     const struct error *err)
{
	struct buf text = BUF_INIT(1 << 12);

	buf_adds(&text, err->message);
	if (err->hint[0])
		buf_addf(&text, " (%s)", err->hint);
	buf_addf(&text, "; in %s; ",
		 p->workdir ? p->workdir : "the current directory");
	provider_capabilities(&text, p->flags, false);
	doctor_add(r, "sandbox", p->name, REMARK, text.ptr);
	buf_release(&text);
}

static void describe_limits(struct report *r,
			    const struct sandbox_client *client)
{
	const struct sandbox_provider *p = client->provider;
	struct buf text = BUF_INIT(1 << 12);
	char *name;

	if (!p->ops->describe_limits)
		return;
	p->ops->describe_limits(client, &text);
	name = xasprintf("%s limits", p->name);
	doctor_add(r, "sandbox", name, FINE, text.ptr);
	free(name);
	buf_release(&text);
}

/* Says whether the provider can enforce the list of hosts that a new sandbox
 * would get, and hold [secrets]; nothing if the settings have neither. */
static void describe_network(struct report *r, struct sandbox_client *client)
{
	const struct sandbox_provider *p = client->provider;
	char *name = xasprintf("%s network", p->name);
	struct network n = { 0 };
	struct secrets all = { 0 };
	struct error err = { 0 };
	struct error why = { 0 };
	bool none = p->flags & SANDBOX_UNISOLATED;

	if (!none && sandbox_choose_network(client, NULL, &n, &err) < 0)
		add_check_with_hint(r, "sandbox", name, REMARK, &err);
	else if (n.mode == NETWORK_LIST)
		doctor_add(r, "sandbox", name, FINE,
			   "can enforce your list of hosts");
	free(name);
	name = xasprintf("%s secrets", p->name);
	if (!none &&
	    (secrets_read(&all, client->settings, &why) < 0 ||
	     secrets_check(&all, p->secrets, p->name, &why) < 0 ||
	     secrets_check_network(&all, p->secrets, &n, p->name, &why) < 0))
		add_check_with_hint(r, "sandbox", name, REMARK, &why);
	else if (all.n)
		doctor_add(r, "sandbox", name, FINE, "can hold your secrets");
	free(name);
	network_release(&n);
	secrets_release(&all);
}

/* Checks every provider. Without -v, those that are not ready share one row. */
static void check_sandboxes(struct report *r, struct registry *registry,
			    bool verbose)
{
	const struct sandbox_provider *const *all = registry_list(registry);
	struct buf rest = BUF_INIT(1 << 14);
	size_t n = 0;

	for (size_t i = 0; all[i]; i++) {
		const struct sandbox_provider *p = all[i];
		struct sandbox_client client = { 0 };
		struct error err = { 0 };

		if (app_client_check(r->app, p->name, &client, &err) < 0) {
			if (verbose || r->app->json)
				describe_missing(r, p, &err);
			else
				buf_addf(&rest, "%s%s", n++ ? ", " : "",
					 p->name);
			continue;
		}
		describe_provider(r, &client, registry_origin(registry, p));
		describe_limits(r, &client);
		describe_network(r, &client);
		sandbox_client_close(&client);
	}
	if (n) {
		char *count = xasprintf("%zu more", n);

		buf_adds(&rest,
			 ": not ready; dcode doctor -v shows what is missing");
		doctor_add(r, "sandbox", count, FINE, rest.ptr);
		free(count);
	}
	buf_release(&rest);
}

enum {
	ANSWER_MS = 500,
	TMUX_MS = 2000,
	MODE_SYNCHRONIZED = 2026,
	MOST_ANSWER = 256, /* bytes of tmux's output */
};

static const char section[] = "terminal";

/* What the terminal has replied. */
struct told {
	bool kitty, device, background, synchronized;
	uint32_t rgb;
};

static void on_reply(void *arg, const struct key_event *ev)
{
	struct told *t = arg;

	switch (ev->kind) {
	case KEY_EVENT_KITTY_FLAGS:
		t->kitty = true;
		break;
	case KEY_EVENT_DEVICE:
		t->device = true;
		break;
	case KEY_EVENT_BACKGROUND:
		t->background = true;
		t->rgb = ev->value;
		break;
	case KEY_EVENT_MODE:
		t->synchronized |=
			ev->value == MODE_SYNCHRONIZED && ev->state != 0;
		break;
	default:
		break;
	}
}

/* Reads replies until the device attributes have arrived: every terminal sends
 * them, and they were asked for last. */
static void read_answers(struct told *t)
{
	const struct key_sink sink = { on_reply, t };
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
	struct key_reader keys = { 0 };
	int64_t end = clock_ms() + ANSWER_MS;
	char chunk[1024];

	for (int64_t left = ANSWER_MS; left > 0 && !t->device;
	     left = end - clock_ms()) {
		ssize_t n =
			poll(&p, 1, (int)left) > 0
				? io_read(STDIN_FILENO, chunk, sizeof(chunk))
				: -1;

		if (n == 0 || (n < 0 && errno != EINTR))
			break;
		if (n > 0)
			keys_feed(&keys, (struct str){ chunk, (size_t)n },
				  clock_ms(), sink);
	}
}

/* False if the terminal must not be asked for the state of a mode (DECRQM, see
 * xterm's ctlseqs): Apple's Terminal prints the last byte of that query. */
static bool is_mode_query_safe(void)
{
	const char *program = getenv("TERM_PROGRAM");

	return !program || strcmp(program, "Apple_Terminal") != 0;
}

/* Sends the queries and reads the replies. Returns false if there is no
 * terminal to query. */
static bool query_terminal(struct told *t)
{
	struct error ignored = { 0 };
	struct tty tty;

	fflush(stdout);
	if (tty_open(&tty, STDIN_FILENO, STDOUT_FILENO, &ignored) < 0)
		return false;
	if (!tty.plain) {
		read_answers(t);
		if (t->device && is_mode_query_safe()) {
			t->device = false;
			(void)tty_write(&tty, STR("\x1b[?2026$p\x1b[c"));
			read_answers(t);
		}
	}
	tty_close(&tty);
	return !tty.plain;
}

static void report_keys(struct report *r, const struct told *t)
{
	if (t->kitty)
		doctor_add(r, section, "keys", FINE,
			   "kitty keyboard protocol: Shift+Enter starts a new "
			   "line");
	else
		doctor_add(r, section, "keys", FINE,
			   "no kitty keyboard protocol: Shift+Enter needs "
			   "modifyOtherKeys; Alt+Enter and Ctrl+J always start "
			   "a new line");
}

/* Reports the theme and how it was chosen, links and the locale. */
static void report_colours(struct report *r, const struct told *t)
{
	struct theme theme;
	const char *why = "";

	theme_init(&theme);
	if (t->background)
		theme_background(&theme, t->rgb);
	if (theme.name == THEME_NONE)
		why = "none: NO_COLOR is set";
	else if (theme.name == THEME_LIGHT)
		why = t->background ? "light, like the terminal's background"
				    : "light, according to COLORFGBG";
	else
		why = t->background ? "dark, like the terminal's background"
				    : "dark: the terminal does not report its "
				      "background (/theme light changes it)";
	doctor_add(r, section, "colours", FINE, why);
	doctor_add(
		r, section, "links", FINE,
		theme.links
			? "sent as OSC 8; terminals that do not know it "
			  "show the text"
			: "not sent: the Linux console does not support them");
	if (theme.ascii)
		doctor_add(r, section, "locale", REMARK,
			   "not UTF-8: symbols are ASCII (export LANG=C.UTF-8, "
			   "or [ui] glyphs = \"unicode\")");
	else
		doctor_add(r, section, "locale", FINE, "UTF-8");
}

static void report_answers(struct report *r, const struct told *t)
{
	report_keys(r, t);
	doctor_add(r, section, "updates", FINE,
		   t->synchronized ? "synchronized (mode 2026): no flicker"
				   : "not synchronized (the terminal does not "
				     "know mode 2026)");
}

/* Runs "tmux show" and reads its output, at most out->max bytes. Returns -1 on
 * failure or timeout. */
static int run_tmux(const char *path, struct buf *out)
{
	extern char **environ;
	char *argv[] = { (char *)"tmux", (char *)"show", (char *)"-gv",
			 (char *)"extended-keys", NULL };
	int ends[2] = { -1, -1 };
	int fds[3] = { -1, -1, -1 };
	struct proc_spec spec = { .path = path,
				  .argv = argv,
				  .env = environ,
				  .fds = fds,
				  .nfds = 3,
				  .session = true };
	struct error ignored = { 0 };
	int64_t end = clock_ms() + TMUX_MS;
	bool whole = false;
	int status = -1;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	fds[1] = ends[1];
	if (proc_spawn(&spec, &pid, &ignored) < 0)
		pid = -1;
	close(ends[1]);
	while (pid > 0 && !whole && clock_ms() < end) {
		struct pollfd p = { .fd = ends[0], .events = POLLIN };
		char chunk[128];
		ssize_t n;

		if (poll(&p, 1, (int)(end - clock_ms())) <= 0)
			continue;
		n = io_read(ends[0], chunk, sizeof(chunk));
		whole = n <= 0;
		if (n > 0)
			buf_add(out, chunk, (size_t)n);
	}
	close(ends[0]);
	if (pid > 0) {
		if (!whole)
			(void)kill(pid, SIGKILL);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	return whole && status == 0 ? 0 : -1;
}

/* Reports whether tmux passes on keys such as Shift+Enter. */
static void check_tmux(struct report *r)
{
	struct buf value = BUF_INIT(MOST_ANSWER);
	char *path = proc_find("tmux", getenv("PATH"));
	struct str text;

	if (!path || run_tmux(path, &value) < 0) {
		doctor_add(
			r, section, "tmux", REMARK,
			path ? "does not report extended-keys (older than "
			       "3.2?): use Alt+Enter or Ctrl+J for a new line"
			     : "is not on PATH: extended-keys cannot be "
			       "checked");
	} else {
		text = str_trim(buf_str(&value));
		if (str_is(text, "on") || str_is(text, "always"))
			doctor_add(r, section, "tmux", FINE,
				   "extended-keys is on: Shift+Enter works if "
				   "the outer terminal reports it");
		else
			doctor_add(r, section, "tmux", REMARK,
				   "extended-keys is off: Shift+Enter is "
				   "Enter. In ~/.tmux.conf: set -s "
				   "extended-keys on; set -as "
				   "terminal-features ',*:extkeys'");
	}
	buf_release(&value);
	free(path);
}

/* Checks which features the terminal supports, by its replies, and which of
 * them tmux disables. Waits at most half a second for replies. */
static void doctor_check_terminal(struct report *r)
{
	const char *term = getenv("TERM");
	const char *tmux = getenv("TMUX");
	struct told told = { 0 };
	char text[128];

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) ||
	    tcgetpgrp(STDIN_FILENO) != getpgrp()) {
		doctor_add(
			r, section, "screen", FINE,
			"not checked, because this is not run in a terminal");
		return;
	}
	if (!term || !term[0] || !strcmp(term, "dumb")) {
		doctor_add(r, section, "screen", REMARK,
			   "TERM is not set, or names a terminal without "
			   "cursor control: the chat runs line by line");
		return;
	}
	if (query_terminal(&told) && !told.device)
		snprintf(text, sizeof(text),
			 "%.64s, which does not answer queries", term);
	else
		snprintf(text, sizeof(text), "%.64s", term);
	doctor_add(r, section, "type", FINE, text);
	if (told.device)
		report_answers(r, &told);
	report_colours(r, &told);
	if (tmux && tmux[0])
		check_tmux(r);
}

static int run(struct app *app, const struct args *args)
{
	struct report r = { .app = app, .json = BUF_INIT(1 << 20) };
	struct registry *registry;
	struct settings *set;
	struct error err = { 0 };

	if (app_settings(app, &set, &err) < 0 ||
	    app_providers(app, &registry, &err) < 0)
		return app_fail(app, &err);
	app_tell_foreign(app);
	check_program(&r);
	check_configuration(&r, set);
	check_model(&r, set);
	doctor_check_terminal(&r);
	check_sandboxes(&r, registry, args_flag(args, "verbose"));
	if (app->json) {
		struct buf data = BUF_INIT(1 << 21);

		buf_addf(&data, "{\"healthy\":%s,\"checks\":[",
			 r.broken ? "false" : "true");
		buf_addstr(&data, buf_str(&r.json));
		buf_adds(&data, "]}");
		app_envelope("doctor", &data);
		buf_release(&data);
	}
	buf_release(&r.json);
	return r.broken ? 1 : 0;
}

static const struct subcommand subs[] = {
	{ .name = "", .options = options, .flags = SUB_EXPLAINS, .run = run },
	{ 0 },
};

const struct command command_doctor = {
	.name = "doctor",
	.summary = "Check configuration, credentials and sandboxes",
	.topic = "chat",
	.subs = subs,
};
