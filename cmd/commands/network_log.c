/* network_log.c - prints what the commands of a thread have connected to. */
/* SPDX-License-Identifier: MIT */
#include "cmd/commands/network_log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "cmd/print.h"
#include "providers/registry.h"
#include "sandbox/sandbox.h"
#include "session/contact_log.h"
#include "session/thread.h"

struct log_printer {
	const struct app *app;
	struct buf out; /* text or JSON */
	size_t n;
	char *call;     /* owned: the call of the last row; NULL: none */
	char *provider; /* owned: of the last row or of the thread */
};

static void add_json_row(struct log_printer *p, const struct contact_row *row)
{
	struct buf *out = &p->out;
	const struct {
		const char *key;
		const char *value;
	} texts[] = { { "host", row->host },        { "verdict", row->verdict },
		      { "thread", row->thread },    { "call", row->call },
		      { "command", row->command },  { "sandbox", row->sandbox },
		      { "provider", row->provider } };

	buf_adds(out, p->n ? ",{" : "{");
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		print_add_member(p->app, out, texts[i].key, texts[i].value);
		buf_addc(out, ',');
	}
	buf_addf(out,
		 "\"port\":%u,\"bytes_up\":%" PRId64 ",\"bytes_down\":%" PRId64
		 ",\"times\":%" PRId64 ",\"first\":%" PRId64
		 ",\"last\":%" PRId64 "}",
		 row->port, row->up, row->down, row->times, row->first,
		 row->last);
}

/* Begins the rows of another call with its command. */
static void add_heading(struct log_printer *p, const struct contact_row *row)
{
	char age[PRINT_AGE];

	char *call = xasprintf("%s %s", row->call, row->command);

	if (p->call && !strcmp(p->call, call)) {
		free(call);
		return;
	}
	free(p->call);
	p->call = call;
	buf_addf(&p->out, "%s, ", print_age(row->first, age));
	if (row->command[0])
		print_add_line(p->app, &p->out, row->command);
	else
		buf_adds(&p->out, "after the commands");
	buf_addc(&p->out, '\n');
}

static void add_text_row(struct log_printer *p, const struct contact_row *row)
{
	bool allowed = !strcmp(row->verdict, NETWORK_REACHED);
	bool failed = !strcmp(row->verdict, NETWORK_FAILED);
	char up[32];
	char down[32];

	add_heading(p, row);
	buf_adds(&p->out, "  ");
	print_add_name(p->app, &p->out, row->host);
	if (row->port)
		buf_addf(&p->out, ":%u", row->port);
	buf_adds(&p->out, allowed || failed ? "  " : "  refused: ");
	print_add_line(p->app, &p->out, row->verdict);
	if (row->times > 1)
		buf_addf(&p->out, " %" PRId64 " times", row->times);
	if (allowed) {
		str_format_size(row->up, up);
		str_format_size(row->down, down);
		buf_addf(&p->out, ", %s up, %s down", up, down);
	}
	buf_addc(&p->out, '\n');
}

static void add_row(void *arg, const struct contact_row *row)
{
	struct log_printer *p = arg;

	free(p->provider);
	p->provider = xstrdup(row->provider);
	if (p->app->json)
		add_json_row(p, row);
	else
		add_text_row(p, row);
	p->n++;
}

/* Says why there are no rows. */
static int add_reason(struct app *app, struct log_printer *p, struct error *err)
{
	struct registry *registry = NULL;
	const struct sandbox_provider *provider;

	if (app_providers(app, &registry, err) < 0)
		return -1;
	provider = p->provider ? registry_find(registry, p->provider) : NULL;
	if (!provider)
		buf_adds(&p->out, "Nothing is logged.\n");
	else if (!provider->ops->proxy)
		buf_addf(&p->out,
			 "Nothing is logged: %s does not report what its "
			 "sandboxes connect to.\n",
			 provider->name);
	else
		buf_adds(&p->out, "Nothing is logged: no command has connected "
				  "to a host. Without a list of hosts dcode "
				  "does not see connections.\n");
	return 0;
}

/* Finds the thread. name may be a sandbox's id, which is none. */
static int find_thread(const struct app *app, struct store *store,
		       const char *name, struct thread *t, struct error *err)
{
	struct error why = { 0 };

	if (!name && app->chat)
		name = app->chat->thread;
	if (thread_find(store, name, settings_cwd(app->settings), t, &why) == 0)
		return 0;
	if (app->chat || (name && why.code == ERR_NOT_FOUND))
		return 0; /* a sandbox, or a thread that is not stored yet */
	*err = why;
	return -1;
}

static int read_log(struct app *app, const char *name, struct log_printer *p,
		    struct error *err)
{
	struct thread t = { 0 };
	struct store *store;
	const char *thread;
	int rc = app_store(app, &store, err);

	if (rc == 0)
		rc = find_thread(app, store, name, &t, err);
	thread = t.id ? t.id : !name && app->chat ? app->chat->thread : "";
	if (rc == 0)
		rc = contact_log_each(store, thread,
				      thread[0] || !name ? "" : name, add_row,
				      p, err);
	if (rc == 0 && !p->n && !thread[0])
		rc = error_set(err, ERR_NOT_FOUND,
			       "no thread and no logged sandbox is called '%s'",
			       name);
	if (rc == 0 && !p->provider && app->chat && app->chat->sandbox)
		p->provider =
			xstrdup(app->chat->sandbox->client->provider->name);
	else if (rc == 0 && !p->provider && t.provider)
		p->provider = xstrdup(t.provider);
	thread_release(&t);
	return rc;
}

int network_log_print(struct app *app, const char *name, struct error *err)
{
	struct log_printer p = { .app = app, .out = BUF_INIT(16 << 20) };
	int rc;

	if (app->json)
		buf_addc(&p.out, '[');
	rc = read_log(app, name, &p, err);
	if (app->json)
		buf_addc(&p.out, ']');
	else if (rc == 0 && !p.n)
		rc = add_reason(app, &p, err);
	if (rc == 0 && app->json)
		app_envelope("sandbox network", &p.out);
	else if (rc == 0)
		fputs(p.out.ptr, stdout);
	buf_release(&p.out);
	free(p.call);
	free(p.provider);
	return rc;
}
