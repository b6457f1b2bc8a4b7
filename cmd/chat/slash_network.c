/* slash_network.c - /network and /forward: what the sandbox may reach, and how
 * the user reaches it. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "cmd/chat/slash_cmd.h"
#include "cmd/commands/network.h"
#include "cmd/print.h"
#include "cmd/session/run.h"
#include "sandbox/reach.h"
#include "session/ledger.h"

enum { LINE_MOST = 1 << 14 };

/* Prints the list and where it is written. */
static int show_network(struct run *r, struct error *err)
{
	struct sandbox *sb = &r->box.sandbox;
	const struct network_limits *limits = r->client.provider->network;
	struct stop stop = app_stop(r->app);
	struct buf line = BUF_INIT(LINE_MOST);
	struct network n = { 0 };

	reach_copy_network(sb, &n);
	if (n.mode == NETWORK_DEFAULT && !limits) {
		fprintf(stderr, "The network is the default of %s.\n",
			r->client.provider->name);
		return 0;
	}
	if (reach_read(sb, &n, &stop, err) < 0)
		return -1;
	network_print(&n, &line);
	print_text(r->app, "  hosts      ", line.ptr, "");
	if (n.source)
		print_text(r->app, "  from       ", n.source, "");
	if (n.mode == NETWORK_LIST && r->gate.app)
		print_text(r->app, "  ask        ",
			   "about hosts that are not listed: [network] ask",
			   "");
	if (n.mode == NETWORK_LIST && limits && limits->note)
		fprintf(stderr, "  %s\n", limits->note);
	network_release(&n);
	buf_release(&line);
	return 0;
}

/* The new list also holds for sandboxes that this chat creates later, for
 * itself or for subagents, and when this one is resumed. Hosts that the user
 * has allowed for the session do not become part of it. */
static int allow_host(struct run *r, const char *host, struct error *err)
{
	struct stop stop = app_stop(r->app);
	struct error ignored = { 0 };
	struct store *store;

	if (!r->box.ours)
		return error_set(err, ERR_USAGE,
				 "dcode did not create this sandbox and does "
				 "not change its network");
	if (reach_allow_host(&r->box.sandbox, str_of(host), &stop, err) < 0)
		return -1;
	reach_copy_lasting(&r->box.sandbox, &r->options.network);
	if (app_store(r->app, &store, &ignored) == 0)
		(void)ledger_add_host(store, r->box.label, host, &ignored);
	print_text(r->app, "✓ The sandbox may now reach ", host, "");
	return 0;
}

/* Prints the log with what ended after the last command. */
static int show_log(struct run *r, struct error *err)
{
	contacts_note(&r->contacts, session_id(r->session), &r->box.sandbox,
		      NULL);
	return network_log_print(r->app, NULL, err);
}

void slash_cmd_forward(struct run *r, int n, char **words, size_t columns,
		       struct buf *out)
{
	struct error err = { 0 };
	int rc = 0;

	(void)columns;
	if (!run_has_sandbox(r)) {
		buf_adds(out, "Tools run on this machine: its ports need no "
			      "forward.\n");
	} else if (n == 0) {
		forwards_print(&r->forwards, out);
	} else if (n == 2 && !strcmp(words[0], "stop")) {
		rc = forwards_remove(&r->forwards, words[1], &err);
		if (rc == 0)
			buf_addf(out, "Port %s is closed.\n", words[1]);
	} else if (n == 1) {
		rc = forwards_add(&r->forwards, &r->box.sandbox, words[0], out,
				  &err);
	} else {
		rc = error_set(&err, ERR_USAGE,
			       "write /forward, /forward [LOCAL:]PORT or "
			       "/forward stop PORT");
	}
	if (rc < 0)
		buf_addf(out, "Error: %s\n%s%s", err.message, err.hint,
			 err.hint[0] ? "\n" : "");
}

void slash_list_network(struct run *r, struct buf *out)
{
	(void)r;
	buf_adds(out, "allow\tlet the sandbox reach one more host\n"
		      "log\tlist what commands connected to\n");
}

bool slash_cmd_network(struct run *r, int n, char **words)
{
	struct error err = { 0 };
	int rc;

	if (!run_has_sandbox(r))
		rc = error_set(&err, ERR_USAGE,
			       "tools run on this machine, and its network is "
			       "not limited");
	else if (n == 0)
		rc = show_network(r, &err);
	else if (n == 2 && !strcmp(words[0], "allow"))
		rc = allow_host(r, words[1], &err);
	else if (n == 1 && !strcmp(words[0], "log"))
		rc = show_log(r, &err);
	else
		rc = error_set(
			&err, ERR_USAGE,
			"write /network, /network allow HOST or /network "
			"log");
	if (rc < 0)
		(void)app_fail(r->app, &err);
	return true;
}
