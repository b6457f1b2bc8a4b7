/* keepalive.c - extends a sandbox's lifetime while no command runs in it. */
/* SPDX-License-Identifier: MIT */

/*
 * Vendors delete a sandbox that nobody extends. A thread extends it three times
 * per lifetime, from the opening until lifecycle_keepalive_stop(), so that it
 * survives a long answer of the model and a pause of the user. The sandbox's
 * state, as far as the answers report it, is passed to ui.changed when it
 * changes.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "base/thread.h"
#include "lifecycle/lifecycle.h"

enum {
	SHARE = 3,       /* extensions per lifetime */
	CALL_MS = 30000, /* time limit of an extension */
	/* stop after this many failures that say the sandbox is gone */
	GONE_MAX = 2,
	LEAST_MS = 1000,
};

struct lifecycle_keepalive {
	struct managed_sandbox *box; /* borrowed */
	/* copied: box may be used by another thread */
	struct lifecycle_ui ui;
	int64_t lifetime_s;
	enum sandbox_state seen; /* as last reported */
	struct cancel cancel;
	pthread_t thread;
};

static void note_state(struct lifecycle_keepalive *k, enum sandbox_state state)
{
	bool is_new = state != k->seen;

	k->seen = state;
	if (is_new && k->ui.changed)
		k->ui.changed(k->ui.arg, state);
}

static void read_state(void *arg, const struct sandbox_info *info)
{
	*(enum sandbox_state *)arg = info->state;
}

/* After a failed extension: asks the vendor for the sandbox's state. */
static void check_state(struct lifecycle_keepalive *k, bool gone,
			const struct stop *stop)
{
	struct sandbox *sb = &k->box->sandbox;
	enum sandbox_state state = gone ? STATE_GONE : STATE_UNKNOWN;
	const struct info_sink sink = { read_state, &state };
	struct error why = { 0 };

	if (sandbox_can_get(sb->client) &&
	    sandbox_get(sb->client, sb->id, &sink, stop, &why) < 0 &&
	    why.code == ERR_NOT_FOUND)
		state = STATE_GONE;
	if (state == STATE_STOPPED || state == STATE_GONE)
		note_state(k, state);
}

/* A failed extension does not end the session: the next command reports it. */
static void *run_keepalive(void *arg)
{
	struct lifecycle_keepalive *k = arg;
	struct stop stop = stop_on(&k->cancel);
	int64_t pause = k->lifetime_s * 1000 / SHARE;
	struct error err = { 0 };
	int gone = 0;

	if (pause < LEAST_MS)
		pause = LEAST_MS;
	while (gone < GONE_MAX && stop_sleep(&stop, pause, &err) == 0) {
		struct stop within = stop_within(&stop, CALL_MS);
		struct error why = { 0 };

		if (sandbox_extend(&k->box->sandbox, k->lifetime_s, &within,
				   &why) == 0) {
			gone = 0;
			note_state(k, STATE_RUNNING);
			continue;
		}
		gone = why.code == ERR_GONE ? gone + 1 : 0;
		check_state(k, gone == GONE_MAX, &within);
	}
	return NULL;
}

void lifecycle_keepalive_start(struct managed_sandbox *box, int64_t lifetime_s)
{
	const struct sandbox_client *client = box->sandbox.client;
	struct lifecycle_keepalive *k;
	struct error ignored = { 0 };

	if (!sandbox_can_extend(client) ||
	    client->provider->flags & SANDBOX_UNISOLATED || lifetime_s <= 0)
		return;
	k = xcalloc(1, sizeof(*k));
	k->box = box;
	k->ui = box->request.ui;
	k->seen = STATE_RUNNING;
	k->lifetime_s = lifetime_s;
	if (cancel_init(&k->cancel, &ignored) < 0) {
		free(k);
		return;
	}
	if (thread_start(&k->thread, run_keepalive, k, &ignored) == 0) {
		box->keepalive = k;
		return;
	}
	cancel_release(&k->cancel);
	free(k);
}

void lifecycle_keepalive_stop(struct managed_sandbox *box)
{
	struct lifecycle_keepalive *k = box->keepalive;

	if (!k)
		return;
	cancel_trigger(&k->cancel);
	pthread_join(k->thread, NULL);
	cancel_release(&k->cancel);
	free(k);
	box->keepalive = NULL;
}
