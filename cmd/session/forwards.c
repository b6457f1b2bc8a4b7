/* forwards.c - the ports of a sandbox that the user has forwarded. */
/* SPDX-License-Identifier: MIT */
#include "cmd/session/forwards.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "cmd/app.h"

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
	if (!forward_is_possible(sb->client)) {
		error_set(err, ERR_USAGE,
			  "dcode has no way to a port of this sandbox (%s)",
			  sb->client->provider->name);
		return error_hint(err, "`dcode help ports` names the providers "
				       "that have one.");
	}
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
