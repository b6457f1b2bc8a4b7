/* host_gate.c - asks about a host that a command has tried to reach. */
/* SPDX-License-Identifier: MIT */
#include "cmd/host_gate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "cmd/config_file.h"
#include "config/list_edit.h"
#include "sandbox/reach.h"

enum {
	COMMAND_BYTES = 60, /* of the command, in the question */
	LINE_BYTES = 1 << 13,
	OPEN_MS = 10000,
	READ_MS = 10000,
	/* questions; what a command needs more of belongs into the list */
	COMMAND_QUESTIONS = 8,
	SESSION_QUESTIONS = 64,
};

enum answer { ONCE, SESSION, ALWAYS, NEVER };
static const char *const answers[] = { "once", "session", "always", "never" };

/* Returns the question: "Let `cargo fetch` reach crates.io:443?", about the
 * command that began last, whose number is set. Owned. NULL: none is
 * running. The command is masked before it is cut. */
static char *describe(const struct host_gate *g, const char *host,
		      unsigned *number)
{
	struct buf command = BUF_INIT(LINE_BYTES);
	struct buf clean = BUF_INIT(LINE_BYTES);
	char *text = NULL;

	*number = reach_describe_command(g->sandbox, &command);
	if (*number) {
		bool cut;

		app_clean(g->app, CLEAN_LINE, buf_str(&command), &clean);
		cut = clean.len > COMMAND_BYTES;
		clean.len = cut ? COMMAND_BYTES : clean.len;
		clean.len = str_utf8_prefix(buf_str(&clean));
		text = xasprintf("Let `%.*s%s` reach %s?", (int)clean.len,
				 clean.len ? clean.ptr : "", cut ? "..." : "",
				 host);
	}
	buf_release(&command);
	buf_release(&clean);
	return text;
}

/* config_edit callback: adds "crates.io:443 /home/ann/app". */
static int edit_text(void *arg, const char *name, struct str text,
		     struct buf *out, struct error *err)
{
	const struct list_edit edit = { name, "network", "project_hosts" };

	return list_edit_add(&edit, text, str_of(arg), out, err);
}

static int store_host(const struct host_gate *g, const char *host,
		      struct error *err)
{
	char *entry = xasprintf("%s %s", host, settings_cwd(g->app->settings));
	int rc = config_file_edit(g->app, edit_text, entry, err);

	free(entry);
	return rc;
}

static void add_never(struct host_gate *g, const char *host)
{
	g->never = xrealloc(g->never, g->n_never + 1, sizeof(*g->never));
	g->never[g->n_never++] = xstrdup(host);
}

/* number: of the command that the question showed. */
static bool carry_out(struct host_gate *g, enum answer said, const char *host,
		      unsigned number)
{
	struct stop stop = stop_cleanup(OPEN_MS);
	struct error err = { 0 };
	int rc = -1;

	if (said == NEVER) {
		add_never(g, host);
		return false;
	}
	if (said == ALWAYS && store_host(g, host, &err) < 0)
		(void)app_fail(g->app, &err); /* it holds for the session */
	if (said == ONCE)
		rc = reach_open_host(g->sandbox, host, number, &stop, &err);
	else
		rc = reach_allow_now(g->sandbox, host, &stop, &err);
	if (rc < 0)
		(void)app_fail(g->app, &err);
	return rc == 0;
}

static void set_asked(struct host_gate *g, const struct cancel *asked,
		      unsigned number)
{
	pthread_mutex_lock(&g->lock);
	g->asked = asked;
	g->number = number;
	pthread_mutex_unlock(&g->lock);
}

/* Returns the answer, or -1: also if the command with this number ends. */
static int ask_question(struct host_gate *g, const char *text, unsigned number,
			const struct stop *stop)
{
	struct cancel_chain ended;
	struct stop until = *stop;
	struct error ignored = { 0 };
	const struct app_question q = {
		.text = text,
		.choices = "once/session/always/Never",
		.keys = "o once  s for this session  a always here  n never",
		.answers = answers,
		.n = sizeof(answers) / sizeof(*answers),
		.help = "o: for this command; s: until dcode ends; a: always "
			"in this directory; n: never",
		.usual = NEVER,
		.safe = NEVER,
		.escapes = true,
		.lasts = ALWAYS + 1,
		.stop = &until,
	};
	int said = -1;

	if (cancel_chain_init(&ended, stop->cancel, &ignored) < 0)
		return -1;
	until.cancel = &ended.cancel;
	set_asked(g, &ended.cancel, number);
	/* it may have ended before it was set */
	if (reach_is_running(g->sandbox, number))
		said = g->app->asker->choose(g->app->asker->arg, &q, &ignored);
	set_asked(g, NULL, 0);
	cancel_chain_release(&ended);
	return said;
}

static bool is_never(const struct host_gate *g, const char *host)
{
	for (size_t i = 0; i < g->n_never; i++)
		if (!strcmp(g->never[i], host))
			return true;
	return false;
}

/* Counts a question about the command with this number. False: there were too
 * many; says so once. Attack: a program in the sandbox tries one host after the
 * other, until the user says yes or sees nothing but questions. */
static bool count_question(struct host_gate *g, const char *host,
			   unsigned number)
{
	bool session = g->in_session >= SESSION_QUESTIONS;

	if (number > g->asked_about) {
		g->asked_about = number;
		g->in_command = 0;
		g->told = g->told && session;
	}
	if (!session && g->in_command < COMMAND_QUESTIONS) {
		g->in_command++;
		g->in_session++;
		return true;
	}
	if (!g->told)
		app_warn("%s and other hosts are refused without a question, "
			 "because this %s has caused %d. `/network allow HOST` "
			 "opens one.",
			 host, session ? "session" : "command",
			 session ? SESSION_QUESTIONS : COMMAND_QUESTIONS);
	g->told = true;
	return false;
}

/* Asks about the command that began last, and if that ends first, about the one
 * before it: nobody can tell which of them made the connection. */
static bool ask_about(struct host_gate *g, const char *host,
		      const struct stop *stop)
{
	struct error ignored = { 0 };
	unsigned number;
	char *text;
	int said = -1;

	while (said < 0 && stop_check(stop, &ignored) == 0 &&
	       (text = describe(g, host, &number))) {
		if (!count_question(g, host, number)) {
			free(text);
			return false;
		}
		said = ask_question(g, text, number, stop);
		free(text);
		if (said < 0 && reach_is_running(g->sandbox, number))
			return false; /* nobody has answered */
	}
	return said >= 0 && carry_out(g, (enum answer)said, host, number);
}

/* Implements network_gate.ask. */
static bool ask_host(void *arg, const char *name, unsigned port,
		     const struct stop *stop)
{
	struct host_gate *g = arg;
	char *host = xasprintf("%s:%u", name, port);
	struct error ignored = { 0 };
	bool opened = !is_never(g, host) &&
		      reach_may_allow(g->sandbox, host, &ignored) &&
		      ask_about(g, host, stop);

	free(host);
	return opened;
}

int host_gate_open(struct host_gate *g, struct app *app,
		   struct managed_sandbox *box, struct error *err)
{
	struct sandbox *sb = &box->sandbox;
	struct stop stop = stop_cleanup(READ_MS);
	struct network n = { 0 };
	bool asks = false;
	int rc = settings_bool(app->settings, NULL, "network.ask", &asks, err);

	host_gate_close(g); /* of an opening that failed */
	/* The list of a sandbox that somebody else made stays as it is. At a
	 * vendor nothing can wait, so the list need not be asked for. */
	asks = rc == 0 && asks && app->asker && box->ours &&
	       sb->client->provider->ops->proxy;
	if (asks)
		rc = reach_read(sb, &n, &stop, err);
	if (rc == 0 && asks && n.mode == NETWORK_LIST) {
		pthread_mutex_init(&g->lock, NULL);
		g->app = app;
		g->sandbox = sb;
		g->gate = (struct network_gate){ ask_host, g };
		if (!reach_set_gate(sb, &g->gate))
			host_gate_close(g);
	}
	network_release(&n);
	return rc;
}

void host_gate_end_command(struct host_gate *g)
{
	if (!g->app)
		return;
	pthread_mutex_lock(&g->lock);
	if (g->asked && !reach_is_running(g->sandbox, g->number))
		cancel_trigger(g->asked);
	pthread_mutex_unlock(&g->lock);
}

void host_gate_close(struct host_gate *g)
{
	if (!g->app)
		return;
	for (size_t i = 0; i < g->n_never; i++)
		free(g->never[i]);
	free(g->never);
	pthread_mutex_destroy(&g->lock);
	*g = (struct host_gate){ 0 };
}
