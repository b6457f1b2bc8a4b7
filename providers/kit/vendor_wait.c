/* vendor_wait.c - a sandbox's way to running, and that it stays so. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "providers/kit/lease.h"
#include "providers/kit/vendor.h"

enum {
	POLL_MS = 100, /* grows by a quarter each time */
	POLL_MAX_MS = 1000,
	SLOW_MS = 1800000,
	KEEP_MS = 10000,
	KEEP_PAUSE_MS = 15000,
	WORD_MAX = 40,
};

const struct vendor_state *vendor_state(const struct vendor *v,
					const cJSON *answer)
{
	const char *word = json_string(answer, v->fields.state, "");
	const struct vendor_state *s = v->states;

	while (s->word && strcmp(s->word, word) != 0)
		s++;
	return s; /* the one that ends the table is a row of zeros */
}

struct wait {
	struct sandbox *sb;
	const struct vendor *v;
	const struct sandbox_spec *spec; /* or NULL */
	cJSON *answer;                   /* owned: the last one */
	char word[WORD_MAX];             /* its state */
	int64_t until;                   /* it may last */
	int64_t pause;                   /* ms before the next request */
	bool started; /* once: one that falls back does not start */
};

static int check_id(const struct wait *w, const char *want, struct error *err)
{
	const char *id = json_string(w->answer, w->v->fields.id, "");

	if (!vendor_id_ok(id))
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: no %s id",
				 w->v->noun);
	if (w->sb->id)
		want = w->sb->id;
	if (want && strcmp(id, want) != 0)
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: asked for "
				 "%s %s, got %s",
				 w->v->noun, want, id);
	if (!w->sb->id)
		w->sb->id = xstrdup(id);
	return 0;
}

static void note_state(struct wait *w, const struct vendor_state *s)
{
	const char *word = json_string(w->answer, w->v->fields.state, "");
	char line[96];

	if (w->until && strncmp(w->word, word, WORD_MAX - 1) == 0)
		return;
	snprintf(w->word, sizeof(w->word), "%s", word);
	w->until = clock_ms() +
		   sandbox_start_ms(w->sb->client,
				    s->slow ? SLOW_MS : w->v->wait_ms);
	if (!w->spec || !w->spec->progress || s->step == STEP_READY)
		return;
	snprintf(line, sizeof(line), "the %s is %s", w->v->noun, w->word);
	w->spec->progress(w->spec->arg, line);
}

static int fail(const struct wait *w, enum vendor_step step, struct error *err)
{
	const char *reason = w->v->fields.reason;

	if (step == STEP_FAIL)
		return error_set(
			err, ERR_REMOTE, "the %s failed to start: %.300s",
			w->v->noun,
			json_string(w->answer, reason ? reason : "", w->word));
	return error_set(err, ERR_GONE, "the %s %s has ended (%s)", w->v->noun,
			 w->sb->id, w->word);
}

/* Before the next request; *pause grows. */
static int sleep_longer(int64_t *pause, const struct stop *stop,
			struct error *err)
{
	if (stop_sleep(stop, *pause, err) < 0)
		return -1;
	if (*pause < POLL_MAX_MS)
		*pause += *pause / 4;
	return 0;
}

int vendor_poll(struct vendor_client *c, const char *id, int64_t within_ms,
		int (*check)(struct vendor_client *c, const char *id,
			     int *looks, const struct stop *stop,
			     struct error *err),
		const struct stop *stop, struct error *err)
{
	struct stop within = stop_within(stop, within_ms);
	int64_t pause = POLL_MS;
	int looks = 0;
	int rc;

	while ((rc = check(c, id, &looks, &within, err)) == 0)
		if (sleep_longer(&pause, &within, err) < 0)
			return -1;
	return rc < 0 ? -1 : 0;
}

static int get_again(struct wait *w, const struct stop *stop, struct error *err)
{
	int rc;

	if (sleep_longer(&w->pause, stop, err) < 0)
		return -1;
	rc = vendor_get(vendor_of(w->sb->client), w->sb->id, &w->answer, stop,
			err);
	if (rc > 0)
		return error_set(err, ERR_GONE, "the %s %s has ended",
				 w->v->noun, w->sb->id);
	return rc;
}

static int await_change(struct wait *w, const struct stop *stop,
			struct error *err)
{
	struct stop within = stop_within(stop, w->until - clock_ms());
	int rc = w->v->poll
			 ? w->v->poll(w->sb, w->word, &w->answer, &within, err)
			 : get_again(w, &within, err);

	if (rc < 0 && err->code == ERR_TIMEOUT && clock_ms() < stop->deadline)
		return error_set(err, ERR_TIMEOUT,
				 "the %s does not start: it stays \"%s\"",
				 w->v->noun, w->word);
	return rc;
}

/* 409: its state is changing. */
static int start(struct wait *w, const struct stop *stop, struct error *err)
{
	struct error why = { 0 };
	int rc = w->v->start(w->sb, w->sb->id, &w->answer, stop, &why);

	w->started = rc == 0;
	if (rc < 0 && why.http_status != 409) {
		*err = why;
		return -1;
	}
	return w->answer ? 0 : await_change(w, stop, err);
}

/* 1 when it runs, 0 to go on with another answer. */
static int do_step(struct wait *w, const char *want, const struct stop *stop,
		   struct error *err)
{
	const struct vendor_state *s = vendor_state(w->v, w->answer);

	if (check_id(w, want, err) < 0)
		return -1;
	note_state(w, s);
	if (s->step == STEP_READY)
		return w->v->set_endpoint &&
				       w->v->set_endpoint(w->sb, w->answer,
							  stop, err) < 0
			       ? -1
			       : 1;
	if (s->step == STEP_FAIL || s->step == STEP_ENDING ||
	    s->step == STEP_ENDED)
		return fail(w, s->step, err);
	cJSON_Delete(w->answer);
	w->answer = NULL;
	return s->step == STEP_START && !w->started
		       ? start(w, stop, err)
		       : await_change(w, stop, err);
}

int vendor_wait(struct sandbox *sb, cJSON *answer, const char *want,
		const struct sandbox_spec *spec, const struct stop *stop,
		struct error *err)
{
	struct wait w = { .sb = sb,
			  .v = vendor_of(sb->client)->vendor,
			  .spec = spec,
			  .answer = answer,
			  .pause = POLL_MS };
	int rc;

	do
		rc = do_step(&w, want, stop, err);
	while (rc == 0);
	cJSON_Delete(w.answer);
	return rc < 0 ? -1 : 0;
}

int vendor_ensure_running(struct sandbox *sb, const struct stop *stop,
			  struct error *err)
{
	struct vendor_client *c = vendor_of(sb->client);
	cJSON *answer = NULL;
	int rc = vendor_get(c, sb->id, &answer, stop, err);

	if (rc > 0)
		return error_set(err, ERR_GONE, "the %s %s has ended",
				 c->vendor->noun, sb->id);
	return rc < 0 ? -1 : vendor_wait(sb, answer, NULL, NULL, stop, err);
}

void vendor_touch(struct sandbox *sb, const struct stop *stop)
{
	const struct vendor *v = vendor_of(sb->client)->vendor;
	struct vendor_box *b = vendor_box(sb);
	struct stop within = stop_within(stop, KEEP_MS);
	struct error ignored = { 0 };
	int64_t lifetime;
	bool due;

	pthread_mutex_lock(&b->lock);
	lifetime = b->lifetime_s;
	due = lease_due(b->ends, lifetime, KEEP_PAUSE_MS, &b->asked);
	pthread_mutex_unlock(&b->lock);
	if (!due)
		return;
	if (v->touch && v->touch(sb, &within, &ignored) == 0)
		vendor_set_lease(sb, lifetime);
	else if (!v->touch && v->extend)
		(void)vendor_extend(sb, lifetime, &within, &ignored);
}

int vendor_extend(struct sandbox *sb, int64_t lifetime_s,
		  const struct stop *stop, struct error *err)
{
	const struct vendor *v = vendor_of(sb->client)->vendor;
	struct vendor_box *b = vendor_box(sb);
	int rc = v->extend(sb, lifetime_s, stop, err);

	if (rc < 0) {
		if (err->code == ERR_NOT_FOUND)
			err->code = ERR_GONE;
		return -1;
	}
	pthread_mutex_lock(&b->lock);
	b->ends = clock_ms() + lifetime_s * 1000;
	pthread_mutex_unlock(&b->lock);
	return 0;
}
