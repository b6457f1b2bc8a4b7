/* network.c - dcode sandbox network: presets, a check, the log. */
/* SPDX-License-Identifier: MIT */
/*
 * `check` answers from the settings alone: it opens no account and sends no
 * request. So it says what a new sandbox would be created with, not what an
 * existing one has. network_log_print() prints what the commands of a thread
 * have connected to.
 */
#include "cmd/commands/network.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "cmd/commands/sandbox_use.h"
#include "cmd/print.h"
#include "cmd/session/options.h"
#include "providers/registry.h"
#include "sandbox/network/network.h"
#include "sandbox/sandbox.h"
#include "session/contact_log.h"
#include "session/thread.h"

enum { TLS_PORT = 443 };

/* The log of one thread. */

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

static void preset_json(struct buf *out, const struct network_preset *p)
{
	buf_addc(out, '{');
	json_member(out, "name", str_of(p->name));
	buf_addc(out, ',');
	json_member(out, "help", str_of(p->help));
	buf_adds(out, ",\"hosts\":[");
	for (size_t i = 0; p->hosts[i]; i++) {
		buf_adds(out, i ? "," : "");
		json_quote(out, str_of(p->hosts[i]));
	}
	buf_adds(out, "]}");
}

static int print_presets(const struct app *app)
{
	struct buf data = BUF_INIT(1 << 16);

	buf_addc(&data, '[');
	for (const struct network_preset *p = network_presets; p->name; p++) {
		if (p != network_presets)
			buf_addc(&data, ',');
		preset_json(&data, p);
		if (app->json)
			continue;
		printf("preset:%s  %s\n", p->name, p->help);
		for (size_t i = 0; p->hosts[i]; i++)
			printf("  %s\n", p->hosts[i]);
	}
	buf_addc(&data, ']');
	if (app->json)
		app_envelope("sandbox network", &data);
	buf_release(&data);
	return 0;
}

/* What would happen to a connection. */
struct outcome {
	const char *provider;
	struct buf host;
	/* "allowed", "refused", or "default": the vendor decides, and dcode
	 * does not know how */
	const char *verdict;
	bool unlisted;       /* the list neither allows nor denies it */
	struct buf rule;     /* the entry that decides, or the whole list */
	struct network list; /* owned: of a new sandbox */
	const char *note;    /* see struct network_limits, or NULL */
	struct buf secrets;  /* names of those that requests to it get */
};

static void outcome_json(const struct outcome *o)
{
	struct buf data = BUF_INIT(1 << 14);

	buf_addc(&data, '{');
	json_member(&data, "provider", str_of(o->provider));
	buf_addc(&data, ',');
	json_member(&data, "host", buf_str(&o->host));
	buf_addc(&data, ',');
	json_member(&data, "verdict", str_of(o->verdict));
	buf_addc(&data, ',');
	json_member(&data, "rule", buf_str(&o->rule));
	buf_addc(&data, ',');
	json_member(&data, "source", str_of(o->list.source));
	buf_addc(&data, ',');
	json_member(&data, "note", str_of(o->note));
	buf_addc(&data, ',');
	json_member(&data, "secrets", buf_str(&o->secrets));
	buf_addc(&data, '}');
	app_envelope("sandbox network", &data);
	buf_release(&data);
}

static void print_outcome(const struct outcome *o)
{
	bool here = sandbox_is_none(o->provider);

	if (here)
		printf("%s: %s on this machine\n", o->host.ptr, o->verdict);
	else
		printf("%s: %s in a new %s sandbox\n", o->host.ptr, o->verdict,
		       o->provider);
	if (o->list.source && o->rule.len)
		printf("  by %s (%s)\n", o->rule.ptr, o->list.source);
	else if (o->list.source)
		printf("  by %s\n", o->list.source);
	else if (!strcmp(o->verdict, "default"))
		puts("  no list of hosts is set: the provider's default holds");
	else if (!here)
		puts("  this is the provider's default");
	if (o->secrets.len)
		printf("  requests to it get secrets.%s\n", o->secrets.ptr);
	if (o->note)
		printf("  %s\n", o->note);
}

static void describe(struct outcome *o, const struct network_rule *host)
{
	const struct network *n = &o->list;
	const struct network_rule *rule;
	bool allowed = network_allows(n, host, &rule);

	network_print_rule(host, &o->host);
	o->verdict = n->mode == NETWORK_DEFAULT ? "default"
		     : allowed                  ? "allowed"
						: "refused";
	o->unlisted = n->mode == NETWORK_LIST && !allowed && !rule;
	if (rule)
		network_print_rule(rule, &o->rule);
	else if (n->mode != NETWORK_DEFAULT)
		network_print(n, &o->rule);
	if (rule && rule->preset)
		buf_addf(&o->rule, ", of %s", rule->preset);
}

static int describe_secrets(struct outcome *o, const struct settings *set,
			    const struct network_rule *host, struct error *err)
{
	struct secrets all = { 0 };
	int rc = secrets_read(&all, set, err);

	/* they go over HTTPS only */
	for (size_t i = 0; !host->family && host->port == TLS_PORT && i < all.n;
	     i++)
		if (secret_has_host(&all.list[i], host->host))
			buf_addf(&o->secrets, "%s%s",
				 o->secrets.len ? ", " : "", all.list[i].name);
	secrets_release(&all);
	return rc;
}

/* Reads the host to check. A name without a port is checked on port 443. */
static int read_host(struct network *n, const char *text, struct error *err)
{
	if (network_parse(n, &text, 1, err) < 0)
		return -1;
	if (n->mode != NETWORK_LIST || n->n != 1)
		return error_set(err, ERR_USAGE, "'%s' is not one host", text);
	if (!n->rules[0].family && !n->rules[0].port)
		n->rules[0].port = TLS_PORT;
	return 0;
}

/* True if a chat would ask the user about the host, because it is not
 * listed. */
static bool asks(const struct settings *set, const struct sandbox_client *c,
		 const struct outcome *o)
{
	struct error ignored = { 0 };
	bool on = false;

	return o->unlisted && c->provider->ops->proxy &&
	       settings_bool(set, NULL, "network.ask", &on, &ignored) == 0 &&
	       on;
}

/* Decides about the host in a new sandbox of the client. */
static int decide(struct outcome *o, struct sandbox_client *client,
		  const struct network *flag, const struct network_rule *host,
		  struct error *err)
{
	bool isolated = !(client->provider->flags & SANDBOX_UNISOLATED);
	int rc = 0;

	if (!isolated && flag->mode != NETWORK_DEFAULT)
		rc = error_set(err, ERR_USAGE,
			       "--sandbox-network requires a --sandbox "
			       "provider");
	if (rc == 0)
		rc = sandbox_choose_network(client, flag, &o->list, err);
	if (rc == 0)
		rc = describe_secrets(o, client->settings, host, err);
	if (rc == 0)
		describe(o, host);
	if (rc == 0 && o->list.mode == NETWORK_LIST)
		o->note = client->provider->network->note;
	if (rc == 0 && !isolated) {
		o->verdict = "allowed";
		o->note = "Commands run on this machine, whose network dcode "
			  "does not limit.";
	}
	if (rc == 0 && asks(client->settings, client, o))
		o->note = "In a chat you are asked about it first: "
			  "[network] ask.";
	return rc;
}

static int check_host(struct app *app, const struct args *args,
		      struct outcome *o, struct error *err)
{
	const char *type = args_value(args, "sandbox");
	struct run_options options = { 0 };
	struct sandbox_client client = { 0 };
	struct network host = { 0 };
	struct registry *registry = NULL;
	struct settings *set;
	int rc = app_settings(app, &set, err);

	if (rc == 0)
		rc = read_host(&host, args->argv[1], err);
	if (rc == 0)
		rc = run_read_network(&options.network, args, err);
	if (rc == 0)
		rc = run_sandbox_resolve(&options, app, type ? type : args_bare,
					 err);
	if (rc == 0)
		rc = app_providers(app, &registry, err);
	if (rc == 0) {
		client.settings = set;
		client.provider =
			sandbox_is_none(options.sandbox)
				? sandbox_provider_find("none")
				: registry_find(registry, options.sandbox);
		o->provider = options.sandbox;
		rc = decide(o, &client, &options.network, &host.rules[0], err);
	}
	if (rc == 0 && app->json)
		outcome_json(o);
	else if (rc == 0)
		print_outcome(o);
	network_release(&host);
	run_options_release(&options);
	return rc;
}

int sandbox_cmd_network(struct app *app, const struct args *args)
{
	const char *what = args->argv[0];
	struct outcome o = { .host = BUF_INIT(512),
			     .rule = BUF_INIT(1 << 12),
			     .secrets = BUF_INIT(1 << 12) };
	struct error err = { 0 };
	bool refused;
	int rc;

	if (!strcmp(what, "presets") && args->argc == 1)
		return print_presets(app);
	if (!strcmp(what, "log"))
		return network_log_print(app,
					 args->argc > 1 ? args->argv[1] : NULL,
					 &err) < 0
			       ? app_fail(app, &err)
			       : 0;
	if (strcmp(what, "check") != 0 || args->argc != 2) {
		error_set(&err, ERR_USAGE,
			  "dcode sandbox network takes presets, check and a "
			  "host, or log");
		return app_fail(app, &err);
	}
	rc = check_host(app, args, &o, &err);
	refused = rc == 0 && !strcmp(o.verdict, "refused");
	network_release(&o.list);
	buf_release(&o.host);
	buf_release(&o.rule);
	buf_release(&o.secrets);
	return rc < 0 ? app_fail(app, &err) : refused;
}
