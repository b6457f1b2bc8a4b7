/* forwards.c - the ports of a sandbox: /forward, dcode sandbox forward and
 * url. */
/* SPDX-License-Identifier: MIT */
/* A forward makes a port of a sandbox a port of this machine. url prints the
 * address that the vendor has for it, and with --public opens the port to
 * everybody. Begin reading at forwards_add() and show_url(). */
#include "cmd/session/forwards.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "cmd/browser.h"
#include "cmd/session/target.h"

enum { CLOSE_MS = 30000, URL_MAX = 4 << 10, JSON_MAX = 64 << 10 };

/* forward_request.warn: called on the thread of a connection. */
static void on_failure(void *arg, const char *line)
{
	struct forwards *fs = arg;

	if (fs->prints) {
		app_warn("%s", line);
		return;
	}
	pthread_mutex_lock(&fs->lock);
	free(fs->failure);
	fs->failure = xstrdup(line);
	pthread_mutex_unlock(&fs->lock);
}

static void add_line(struct forward *f, struct buf *out)
{
	buf_addf(out, "http://127.0.0.1:%u is port %u of the sandbox.\n",
		 forward_local(f), forward_port(f));
}

int forwards_add(struct forwards *fs, struct sandbox *sb, const char *text,
		 struct buf *out, struct error *err)
{
	struct forward_request r = { .sandbox = sb,
				     .warn = on_failure,
				     .arg = fs };

	if (forward_parse(text, &r.local, &r.port, err) < 0)
		return -1;
	if (forward_check(sb->client, err) < 0)
		return -1;
	for (size_t i = 0; i < fs->n; i++)
		if (forward_port(fs->list[i]) == r.port && !r.local) {
			add_line(fs->list[i], out);
			return 0;
		}
	if (fs->n == FORWARDS_MAX)
		return error_set(err, ERR_LIMIT,
				 "%d ports are forwarded already",
				 FORWARDS_MAX);
	if (!fs->ready)
		pthread_mutex_init(&fs->lock, NULL);
	fs->ready = true;
	if (forward_open(&fs->list[fs->n], &r, err) < 0)
		return -1;
	add_line(fs->list[fs->n++], out);
	return 0;
}

int forwards_remove(struct forwards *fs, const char *port, struct error *err)
{
	unsigned local;
	unsigned wanted;

	if (forward_parse(port, &local, &wanted, err) < 0)
		return -1;
	for (size_t i = 0; i < fs->n; i++) {
		struct forward *f = fs->list[i];

		if (forward_port(f) != wanted)
			continue;
		forward_close(f);
		fs->list[i] = fs->list[--fs->n];
		return 0;
	}
	return error_set(err, ERR_NOT_FOUND, "port %u is not forwarded",
			 wanted);
}

void forwards_print(struct forwards *fs, struct buf *out)
{
	if (!fs->n) {
		buf_adds(out, "No port of the sandbox is forwarded. /forward "
			      "PORT forwards one.\n");
		return;
	}
	for (size_t i = 0; i < fs->n; i++) {
		unsigned open = forward_count(fs->list[i]);

		add_line(fs->list[i], out);
		if (open)
			buf_addf(out, "  %u connection%s\n", open,
				 open == 1 ? "" : "s");
	}
	pthread_mutex_lock(&fs->lock);
	if (fs->failure)
		buf_addf(out, "  last failure: %s\n", fs->failure);
	pthread_mutex_unlock(&fs->lock);
}

void forwards_close(struct forwards *fs)
{
	while (fs->n)
		forward_close(fs->list[--fs->n]);
	if (fs->ready)
		pthread_mutex_destroy(&fs->lock);
	free(fs->failure);
	*fs = (struct forwards){ .prints = fs->prints };
}

/* Waits for Ctrl-C. */
static int await_cancel(struct app *app, struct error *err)
{
	struct stop stop = app_stop(app);

	return cancel_await(stop.cancel,
			    &(struct stop){ .deadline = INT64_MAX }, err);
}

/* Opens the ports that args names after the sandbox, and waits for Ctrl-C.
 * show: opens the first one in a browser. */
static int forward_ports(struct app *app, struct sandbox *sb,
			 const struct args *args, bool show, struct error *err)
{
	struct forwards forwards = { .prints = true };
	struct buf text = BUF_INIT(1 << 14);
	char url[64];
	int rc = 0;

	for (int i = 1; rc == 0 && i < args->argc; i++)
		rc = forwards_add(&forwards, sb, args->argv[i], &text, err);
	if (rc == 0) {
		fputs(text.ptr, stdout);
		fflush(stdout);
		snprintf(url, sizeof(url), "http://127.0.0.1:%u/",
			 forward_local(forwards.list[0]));
		if (show)
			(void)browser_open(app, url);
		rc = await_cancel(app, err);
	}
	forwards_close(&forwards);
	buf_release(&text);
	return rc;
}

static void print_json(const struct port_url *u, bool token)
{
	struct buf out = BUF_INIT(JSON_MAX);

	buf_addc(&out, '{');
	json_member(&out, "url", str_of(u->url));
	buf_addf(&out, ",\"public\":%s", u->token ? "false" : "true");
	if (u->token) {
		buf_addc(&out, ',');
		json_member(&out, "header", str_of(u->header));
	}
	if (u->token && token) {
		buf_addc(&out, ',');
		json_member(&out, "token", str_of(u->token));
	}
	buf_addc(&out, '}');
	app_envelope("sandbox url", &out);
	buf_wipe(&out);
}

/* Prints an address that answers to its token alone. */
static void print_protected(struct app *app, const struct port_url *u,
			    bool token)
{
	if (app->json) {
		print_json(u, token);
		return;
	}
	printf("%s\n", u->url);
	if (token)
		printf("%s: %s\n%s", u->header, u->token,
		       u->more ? u->more : "");
	else
		fprintf(stderr,
			"Requests need the header %s, which is a secret: "
			"--token prints it. `dcode sandbox forward` adds it.\n",
			u->header);
}

/* Prints a public address, and closes it after Ctrl-C if the vendor can. */
static int hold_public(struct app *app, struct sandbox *sb, unsigned port,
		       const struct port_url *u, bool show, struct error *err)
{
	bool closes = ports_ops(sb->client)->withdraw;
	struct stop cleanup;
	int rc = 0;

	if (app->json)
		print_json(u, false);
	else
		printf("%s\n", u->url);
	fflush(stdout);
	fprintf(stderr,
		"Port %u is open to anybody who knows this address, until "
		"%s.\n",
		port,
		closes ? "you press Ctrl-C"
		       : "the sandbox ends: its vendor cannot close it");
	if (show)
		(void)browser_open(app, u->url);
	if (closes) {
		rc = await_cancel(app, err);
		cleanup = stop_cleanup(CLOSE_MS);
		if (rc == 0)
			rc = ports_close_url(sb, port, u, &cleanup, err);
		if (rc < 0)
			error_hint(err, "The port is still open. `dcode "
					"sandbox rm` deletes the sandbox.");
		else
			fprintf(stderr, "Port %u is %s.\n", port,
				rc ? "still open: it was before"
				   : "closed again");
	}
	return rc < 0 ? -1 : 0;
}

static int show_url(struct app *app, struct sandbox *sb,
		    const struct args *args, const struct stop *stop,
		    struct error *err)
{
	bool is_public = args_flag(args, "public");
	bool show = args_flag(args, "open");
	struct port_url u = { 0 };
	unsigned local;
	unsigned port;
	int rc;

	if (show && !is_public)
		return forward_ports(app, sb, args, true, err);
	rc = forward_parse(args->argv[1], &local, &port, err);
	if (rc == 0 && local)
		rc = error_set(err, ERR_USAGE,
			       "url takes the sandbox's port alone");
	if (rc == 0)
		rc = ports_ask_url(sb, port, is_public, &u, stop, err);
	if (rc == 0 && is_public)
		rc = hold_public(app, sb, port, &u, show, err);
	else if (rc == 0)
		print_protected(app, &u, args_flag(args, "token"));
	port_url_release(&u);
	return rc;
}

/* Attaches to the sandbox that args names, and calls run. */
static int with_sandbox(struct app *app, const struct args *args, bool url)
{
	struct stop stop = app_stop(app);
	struct sandbox sb = { 0 };
	struct target t = { 0 };
	struct error err = { 0 };
	int rc = target_open(&t, app, args, args->argv[0], &err);

	if (rc == 0 && target_attach(&t, &sb, &stop, &err) < 0) {
		rc = -1;
	} else if (rc == 0) {
		rc = url ? show_url(app, &sb, args, &stop, &err)
			 : forward_ports(app, &sb, args, false, &err);
		sandbox_release(&sb);
		target_stop_again(&t, app);
	}
	target_close(&t);
	return rc < 0 ? app_fail(app, &err) : 0;
}

int sandbox_cmd_forward(struct app *app, const struct args *args)
{
	return with_sandbox(app, args, false);
}

int sandbox_cmd_url(struct app *app, const struct args *args)
{
	return with_sandbox(app, args, true);
}
