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
	LINE_BYTES = 1 << 12,
	OPEN_MS = 10000,
};

enum answer { ONCE, SESSION, ALWAYS, NEVER };
static const char *const answers[] = { "once", "session", "always", "never" };

/* Returns the question: "Let `cargo fetch` reach crates.io:443?". Owned. NULL:
 * no command is running. */
static char *describe(const struct host_gate *g, const char *host)
{
	struct buf command = BUF_INIT(LINE_BYTES);
	struct buf clean = BUF_INIT(LINE_BYTES);
	char *text = NULL;

	if (reach_describe_command(g->sandbox, &command)) {
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

static bool carry_out(struct host_gate *g, enum answer said, const char *host)
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
		rc = reach_open_host(g->sandbox, host, &stop, &err);
	else
		rc = reach_allow_host(g->sandbox, str_of(host), &stop, &err);
	if (rc < 0)
		(void)app_fail(g->app, &err);
	return rc == 0;
}

static void set_asked(struct host_gate *g, const struct cancel *asked)
{
	pthread_mutex_lock(&g->lock);
	g->asked = asked;
	pthread_mutex_unlock(&g->lock);
}

/* Returns the answer, or -1. */
static int ask_question(struct host_gate *g, const char *text,
			const struct stop *stop)
{
	struct cancel_chain ended;
	struct stop until = *stop;
	struct error ignored = { 0 };
	const struct app_question q = {
		.text = text,
		.choices = "once/session/always/Never",
		.answers = answers,
		.n = sizeof(answers) / sizeof(*answers),
		.help = "o: for this command; s: until dcode ends; a: always "
			"in this directory; n: never",
		.usual = NEVER,
		.safe = NEVER,
		.stop = &until,
	};
	int said;

	if (cancel_chain_init(&ended, stop->cancel, &ignored) < 0)
		return -1;
	until.cancel = &ended.cancel;
	set_asked(g, &ended.cancel);
	said = g->app->asker->choose(g->app->asker->arg, &q, &ignored);
	set_asked(g, NULL);
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

/* Implements network_gate.ask. */
static bool ask_host(void *arg, const char *name, unsigned port,
		     const struct stop *stop)
{
	struct host_gate *g = arg;
	char *host = xasprintf("%s:%u", name, port);
	char *text = NULL;
	struct error ignored = { 0 };
	bool opened = false;
	int said = -1;

	if (!is_never(g, host) && reach_may_allow(g->sandbox, host, &ignored))
		text = describe(g, host);
	if (text)
		said = ask_question(g, text, stop);
	if (said >= 0)
		opened = carry_out(g, (enum answer)said, host);
	free(text);
	free(host);
	return opened;
}

int host_gate_open(struct host_gate *g, struct app *app, struct sandbox *sb,
		   struct error *err)
{
	bool asks = false;

	host_gate_close(g); /* of an opening that failed */
	if (settings_bool(app->settings, NULL, "network.ask", &asks, err) < 0)
		return -1;
	if (!asks || !app->asker || !reach_can_open(sb))
		return 0;
	pthread_mutex_init(&g->lock, NULL);
	g->app = app;
	g->sandbox = sb;
	g->gate = (struct network_gate){ ask_host, g };
	(void)reach_set_gate(sb, &g->gate);
	return 0;
}

void host_gate_end_command(struct host_gate *g)
{
	struct buf running = BUF_INIT(LINE_BYTES);

	if (!g->app || reach_describe_command(g->sandbox, &running)) {
		buf_release(&running);
		return;
	}
	pthread_mutex_lock(&g->lock);
	if (g->asked)
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
