/* contacts.c - logs what the commands of a run have connected to. */
/* SPDX-License-Identifier: MIT */
#include "cmd/contacts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/stop.h"
#include "base/str.h"
#include "sandbox/reach.h"
#include "session/contact_log.h"

enum {
	COMMAND_BYTES = 200, /* of a command, in the log */
	LINE_BYTES = 1 << 20,
};

void contacts_open(struct contacts *c, struct app *app)
{
	*c = (struct contacts){ .app = app };
	pthread_mutex_init(&c->lock, NULL);
}

/* Returns the beginning of the call's command, masked, on one line. */
static char *describe_call(const struct app *app, const struct part *call)
{
	cJSON *args = json_parse(str_of(call->args));
	struct buf line = BUF_INIT(LINE_BYTES);
	struct str text;
	char *owned;

	app_clean(app, CLEAN_LINE, str_of(json_string(args, "command", "")),
		  &line);
	text = buf_str(&line);
	if (text.len > COMMAND_BYTES)
		text.len = COMMAND_BYTES;
	text.len = str_utf8_prefix(text);
	owned = xstrndup(text.len ? text.ptr : "", text.len);
	cJSON_Delete(args);
	buf_release(&line);
	return owned;
}

static int64_t clamp(uint64_t n)
{
	return n > INT64_MAX / 2 ? INT64_MAX / 2 : (int64_t)n;
}

/* Adds the contacts to the thread's log. Call with the lock held. */
static int store_contacts(struct contacts *c, const struct contact_row *of,
			  const struct network_contacts *new, struct error *err)
{
	struct contact_row *rows = xcalloc(new->n, sizeof(*rows));
	struct store *first;
	int rc = 0;

	for (size_t i = 0; i < new->n; i++) {
		const struct network_contact *one = &new->list[i];

		rows[i] = *of;
		rows[i].host = one->host;
		rows[i].port = one->port;
		rows[i].verdict = one->verdict;
		rows[i].up = clamp(one->up);
		rows[i].down = clamp(one->down);
		rows[i].times = clamp(one->count);
		rows[i].first = one->first;
		rows[i].last = one->last;
	}
	if (!c->store) {
		rc = app_store_later(c->app, &first, err);
		c->store = rc == 0 ? store_again(first) : NULL;
	}
	if (rc == 0)
		rc = contact_log_add(c->store, rows, new->n, err);
	free(rows);
	return rc;
}

void contacts_note(struct contacts *c, const char *thread, struct sandbox *sb,
		   const struct part *call)
{
	struct network_contacts new = { 0 };
	struct error ignored = { 0 };
	struct contact_row row = { .thread = thread,
				   .provider = sb->client->provider->name,
				   .sandbox = sb->id };

	if (!reach_take_contacts(sb, &new))
		return;
	pthread_mutex_lock(&c->lock);
	if (call) {
		free(c->call);
		free(c->command);
		c->call = xstrdup(call->id);
		c->command = describe_call(c->app, call);
	}
	row.call = c->call ? c->call : "";
	row.command = c->command ? c->command : "";
	for (size_t i = 0; i < new.n; i++)
		if (network_contact_refused(&new.list[i]))
			network_contacts_add(&c->refused, &new.list[i]);
	/* a log that cannot be written must not fail the command */
	if (new.n)
		(void)store_contacts(c, &row, &new, &ignored);
	pthread_mutex_unlock(&c->lock);
	network_contacts_release(&new);
}

void contacts_refuse(struct contacts *c, struct str hosts)
{
	int64_t now = clock_unix_ms();
	struct str line;

	pthread_mutex_lock(&c->lock);
	while (str_split(&hosts, '\n', &line)) {
		struct network n = { 0 };
		struct error ignored = { 0 };
		struct network_contact one = { .verdict = "unlisted",
					       .count = 1,
					       .first = now,
					       .last = now };
		char *text = xstrndup(line.ptr, line.len);
		const char *entry = text;

		if (line.len && network_parse(&n, &entry, 1, &ignored) == 0 &&
		    n.n == 1) {
			snprintf(one.host, sizeof(one.host), "%s",
				 n.rules[0].host);
			one.port = n.rules[0].port;
			network_contacts_add(&c->refused, &one);
		}
		network_release(&n);
		free(text);
	}
	pthread_mutex_unlock(&c->lock);
}

void contacts_json(const struct contacts *c, struct buf *out)
{
	if (!c->refused.n)
		return;
	buf_adds(out, ",\"network_refused\":[");
	for (size_t i = 0; i < c->refused.n; i++) {
		const struct network_contact *one = &c->refused.list[i];

		buf_adds(out, i ? ",{" : "{");
		json_member(out, "host", str_of(one->host));
		buf_addf(out, ",\"port\":%u,", one->port);
		json_member(out, "reason", str_of(one->verdict));
		buf_addf(out, ",\"times\":%" PRIu64 "}", one->count);
	}
	buf_addc(out, ']');
}

void contacts_close(struct contacts *c)
{
	if (!c->app)
		return;
	network_contacts_release(&c->refused);
	free(c->call);
	free(c->command);
	if (c->store)
		store_close(c->store);
	pthread_mutex_destroy(&c->lock);
	*c = (struct contacts){ 0 };
}
