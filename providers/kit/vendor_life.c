/* vendor_life.c - a vendor's sandbox from create to confirmed removal. */
/* SPDX-License-Identifier: MIT */
/* await_running() makes a sandbox run. For that, advance_state() looks up the
 * sandbox's state in the vendor's table. vendor_create() sends one create
 * request, and finds the sandbox of an earlier request if its answer was lost.
 * Stop and remove wait until the vendor shows the new state. Commands run as
 * supervised jobs; vendor_exec_failed() classifies their failures. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "net/retry.h"
#include "providers/kit/lease.h"
#include "providers/kit/rest.h"
#include "providers/kit/vault.h"
#include "providers/kit/vendor.h"
#include "sandbox/supervise/supervise.h"

enum {
	POLL_MS = 100, /* pause between polls; grows by a quarter each time */
	POLL_MAX_MS = 1000,
	SLOW_MS = 1800000,
	KEEP_MS = 10000,
	KEEP_PAUSE_MS = 15000,
	WORD_MAX = 40,
	/* Constants for stop and remove: */
	/* some vendors write the sandbox's memory to disk */
	STOP_MS = 120000,
	/* some vendors answer only when the sandbox has stopped */
	REQUEST_MS = 110000,
	/* polls that still show it running before giving up: about 2 s */
	RUNNING_LOOKS = 8,
	END_MS = 120000,
	/* polls without a sign of deletion before giving up: about 0.4 s */
	ENDING_LOOKS = 4,
};

struct wait {
	struct sandbox *sb;
	const struct vendor *v;
	const struct sandbox_spec *spec; /* receives progress, or NULL */
	cJSON *answer;                   /* owned: the last answer */
	char word[WORD_MAX];             /* state in that answer */
	int64_t until; /* clock_ms() until which that state may last */
	int64_t pause; /* ms before the next request */
	bool started;  /* start() succeeded; it is not called again */
};

/* Sets sb->id. ERR_PROTOCOL if the answer is about another sandbox. */
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

/* Records a new state, restarts the time limit for it, and reports it as
 * progress. */
static void record_state(struct wait *w, const struct vendor_state *s)
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
	snprintf(line, sizeof(line), "%s state: %s", w->v->noun, w->word);
	w->spec->progress(w->spec->arg, line);
}

static int fail_state(const struct wait *w, enum vendor_step step,
		      struct error *err)
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

/* Sleeps before the next request and increases *pause. */
static int sleep_with_backoff(int64_t *pause, const struct stop *stop,
			      struct error *err)
{
	if (stop_sleep(stop, *pause, err) < 0)
		return -1;
	if (*pause < POLL_MAX_MS)
		*pause += *pause / 4;
	return 0;
}

/* Calls check() with growing pauses until it does not return 0. check() can
 * count its calls in *looks. Returns 0 if the last result was positive, else
 * -1. */
static int
poll_until(struct vendor_client *c, const char *id, int64_t within_ms,
	   int (*check)(struct vendor_client *c, const char *id, int *looks,
			const struct stop *stop, struct error *err),
	   const struct stop *stop, struct error *err)
{
	struct stop within = stop_within(stop, within_ms);
	int64_t pause = POLL_MS;
	int looks = 0;
	int rc;

	while ((rc = check(c, id, &looks, &within, err)) == 0)
		if (sleep_with_backoff(&pause, &within, err) < 0)
			return -1;
	return rc < 0 ? -1 : 0;
}

static int get_again(struct wait *w, const struct stop *stop, struct error *err)
{
	int rc;

	if (sleep_with_backoff(&w->pause, stop, err) < 0)
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
				 "the %s did not start in time: its state is "
				 "still \"%s\"",
				 w->v->noun, w->word);
	return rc;
}

/* Starts the sandbox. Status 409 means that its state is changing: poll
 * again. */
static int start_sandbox(struct wait *w, const struct stop *stop,
			 struct error *err)
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

/* Does what the current state requires. Returns 1 if the sandbox runs, 0 if the
 * state changed or must be polled again. */
static int advance_state(struct wait *w, const char *want,
			 const struct stop *stop, struct error *err)
{
	const struct vendor_state *s = vendor_state(w->v, w->answer);

	if (check_id(w, want, err) < 0)
		return -1;
	record_state(w, s);
	if (s->step == STEP_READY)
		return w->v->set_endpoint &&
				       w->v->set_endpoint(w->sb, w->answer,
							  stop, err) < 0
			       ? -1
			       : 1;
	if (s->step == STEP_FAIL || s->step == STEP_ENDING ||
	    s->step == STEP_ENDED)
		return fail_state(w, s->step, err);
	cJSON_Delete(w->answer);
	w->answer = NULL;
	return s->step == STEP_START && !w->started
		       ? start_sandbox(w, stop, err)
		       : await_change(w, stop, err);
}

/* Waits until a sandbox runs. answer describes it and is freed here. want is
 * the id that it must have, or NULL. spec receives progress, or is NULL. */
static int await_running(struct sandbox *sb, cJSON *answer, const char *want,
			 const struct sandbox_spec *spec,
			 const struct stop *stop, struct error *err)
{
	struct wait w = { .sb = sb,
			  .v = vendor_of(sb->client)->vendor,
			  .spec = spec,
			  .answer = answer,
			  .pause = POLL_MS };
	int rc;

	do
		rc = advance_state(&w, want, stop, err);
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
	return rc < 0 ? -1 : await_running(sb, answer, NULL, NULL, stop, err);
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

/* Sets the working directory from the settings. Done before the sandbox
 * exists. */
static int set_workdir(struct sandbox *sb, struct error *err)
{
	const char *dir = NULL;

	if (settings_directory(sb->client->settings, sb->client->provider->name,
			       "workdir", &dir, err) < 0)
		return -1;
	if (dir && !sb->workdir)
		sb->workdir = xstrdup(dir);
	return 0;
}

/* Builds the body of the create request. If it fails, no request was sent yet,
 * so nothing was made. */
static int describe_sandbox(struct sandbox *sb, const struct sandbox_spec *spec,
			    cJSON *body, const struct stop *stop,
			    struct error *err)
{
	struct vendor_client *c = vendor_of(sb->client);
	const char *field = c->vendor->fields.labels;
	cJSON *labels = cJSON_CreateObject();

	if (spec->lifetime_s <= 0)
		error_set(err, ERR_CONFIG, "the lifetime must be above zero");
	else if (set_workdir(sb, err) == 0 &&
		 env_list_labels(sb->client->settings,
				 sb->client->provider->name, spec, labels,
				 err) == 0 &&
		 c->vendor->describe(c, spec, body, stop, err) == 0) {
		if (!field)
			cJSON_Delete(labels);
		else if (!cJSON_ReplaceItemInObjectCaseSensitive(body, field,
								 labels))
			cJSON_AddItemToObject(body, field, labels);
		return 0;
	}
	cJSON_Delete(labels);
	return -1;
}

/* For vendors with unique_names. After a failed create, a GET by the name tells
 * whether the sandbox exists. Even a create that was refused can leave a
 * sandbox that failed to start; the caller needs its id to delete it. */
static int find_by_name(struct sandbox *sb, const char *label, cJSON **answer,
			const struct stop *stop, struct error *err)
{
	struct vendor_client *c = vendor_of(sb->client);
	const struct vendor_fields *f = &c->vendor->fields;
	struct error other = { 0 };
	const char *ours;
	const char *id;
	int rc;

	if (err->code == ERR_AUTH || err->http_status == 429)
		return -1;
	rc = vendor_get(c, label, answer, stop, &other);
	if (rc < 0 && err->http_status == 409) {
		/* the name is used: the create may have worked */
		*err = other;
		err->http_status = 0;
	}
	if (rc != 0)
		return -1;
	id = json_string(*answer, f->id, "");
	ours = c->vendor->name_is_id ? id
				     : json_string(json_get(*answer, f->labels),
						   "dcode.label", "");
	if (strcmp(ours, label) == 0) {
		if (err->http_status == 409 || retry_is_transient(err))
			return 0;
		if (vendor_id_ok(id))
			sb->id = xstrdup(id);
	}
	cJSON_Delete(*answer);
	*answer = NULL;
	return -1;
}

static int list_label(struct sandbox_client *client, const char *label,
		      const struct info_sink *sink, const struct stop *stop,
		      struct error *err)
{
	return vendor_search(vendor_of(client), "dcode.label", label, sink,
			     stop, err);
}

/* Finds the sandbox that an earlier request for this label made, starts it, and
 * deletes duplicates. Returns 1 if there is one, 0 if not. */
static int find_by_label(struct sandbox *sb,
			 const struct duplicate_query *query, cJSON **answer,
			 const struct stop *stop, struct error *err)
{
	struct vendor_client *c = vendor_of(sb->client);
	char *id = NULL;
	int rc = duplicate_create_resolve(sb->client, query, &id, stop, err);

	if (rc == 0 && id) {
		rc = c->vendor->attach_starts
			     ? c->vendor->start(sb, id, answer, stop, err)
			     : vendor_get(c, id, answer, stop, err);
		rc = rc < 0 ? -1 : rc == 0;
	}
	free(id);
	return rc;
}

/* For vendors with name_is_id. If the answer to a create has an id other than
 * the label, a GET by the label is sent and its answer is used instead. If that
 * finds nothing, the vendor chose another name for the sandbox. */
static int check_name(struct sandbox *sb, const char *label, cJSON **answer,
		      const struct stop *stop, struct error *err)
{
	struct vendor_client *c = vendor_of(sb->client);
	cJSON *named = NULL;
	int rc;

	if (!c->vendor->name_is_id || sb->id ||
	    strcmp(json_string(*answer, c->vendor->fields.id, ""), label) == 0)
		return 0;
	rc = vendor_get(c, label, &named, stop, err);
	if (rc == 0)
		sb->id = xstrdup(label);
	if (rc <= 0) {
		cJSON_Delete(*answer);
		*answer = named;
	}
	return rc < 0 ? -1 : 0;
}

/* Sends one create request. If the answer was lost, a vendor with unique names
 * finds the sandbox by its name. */
static int send_create(struct sandbox *sb, const struct sandbox_spec *spec,
		       cJSON *body, cJSON **answer, const struct stop *stop,
		       struct error *err)
{
	const struct vendor *v = vendor_of(sb->client)->vendor;
	struct error why = { 0 };

	if (v->post(sb, spec, body, answer, stop, &why) == 0 && *answer) {
		if (check_name(sb, spec->label, answer, stop, err) < 0) {
			/* The sandbox was created, so this is not a failure of
			 * the create. */
			sb->id = xstrdup(spec->label);
			return -1;
		}
		vendor_set_lease(sb, spec->lifetime_s);
		return 0;
	}
	if (!why.code) {
		error_set(&why, ERR_PROTOCOL, "an empty answer");
		why.http_status = 200;
	}
	*err = why;
	return v->unique_names
		       ? find_by_name(sb, spec->label, answer, stop, err)
		       : -1;
}

int vendor_create(struct sandbox *sb, const struct sandbox_spec *spec,
		  const struct stop *stop, struct error *err)
{
	struct vendor_client *c = vendor_of(sb->client);
	cJSON *body = cJSON_CreateObject();
	cJSON *answer = NULL;
	const struct duplicate_query labelled = { spec->label, list_label,
						  spec->label };
	struct error ignored = { 0 };
	bool again = false;
	int rc = describe_sandbox(sb, spec, body, stop, err);

	if (rc < 0)
		err->nothing_made = true;
	if (rc == 0 && spec->secrets)
		rc = c->vendor->vault->add(c, spec, body, stop, err);
	if (rc == 0 && !c->vendor->unique_names)
		again = create_log_add(&c->created, spec->label);
	if (rc == 0)
		vendor_set_lease(sb, spec->lifetime_s);
	if (rc == 0 && again)
		rc = find_by_label(sb, &labelled, &answer, stop, err);
	if (rc > 0)
		again = false;
	if (rc == 0)
		rc = send_create(sb, spec, body, &answer, stop, err);
	body_wipe(body);
	if (rc < 0)
		return -1;
	rc = await_running(sb, answer, NULL, spec, stop, err);
	if (rc < 0 && err->code == ERR_GONE) {
		err->code = ERR_REMOTE;
		error_wrap(err, "it did not boot");
	}
	/* The create was sent twice, so the first request may have been
	 * executed later than the second. */
	if (rc == 0 && again)
		(void)duplicate_create_resolve(sb->client, &labelled, &sb->id,
					       stop, &ignored);
	if (rc == 0 && c->vendor->prepare)
		rc = c->vendor->prepare(sb, stop, err);
	return rc;
}

static bool is_uuid(const char *id)
{
	return strlen(id) == 36 && strspn(id, "0123456789abcdefABCDEF-") == 36;
}

/* For a sandbox that was requested by its alias (by a name instead of its UUID,
 * or by a UUID instead of its name): sets sb->id. An answer with another UUID
 * than the requested one is wrong. */
static void set_id_of_alias(struct sandbox *sb, const char *asked,
			    const cJSON *answer)
{
	const struct vendor_fields *f = &vendor_of(sb->client)->vendor->fields;
	const char *id = json_string(answer, f->id, "");

	if (f->alias && !sb->id && is_uuid(asked) != is_uuid(id) &&
	    strcmp(json_string(answer, f->alias, ""), asked) == 0)
		sb->id = xstrdup(id);
}

int vendor_attach(struct sandbox *sb, const char *id, const struct stop *stop,
		  struct error *err)
{
	struct vendor_client *c = vendor_of(sb->client);
	const struct sandbox_provider *p = sb->client->provider;
	const struct vendor *v = c->vendor;
	int64_t lifetime = 0;
	cJSON *answer = NULL;
	int rc;

	if (vendor_check_id(v, id, err) < 0 || set_workdir(sb, err) < 0 ||
	    settings_int(sb->client->settings, p->name, "lifetime", &lifetime,
			 err) < 0)
		return -1;
	vendor_set_lease(sb, lifetime > 0 ? lifetime : p->lifetime_s);
	if (v->attach_starts)
		rc = v->start(sb, id, &answer, stop, err);
	else
		rc = vendor_get(c, id, &answer, stop, err);
	if (rc > 0)
		rc = error_set(err, ERR_NOT_FOUND, "no %s %s", v->noun, id);
	if (rc == 0) {
		set_id_of_alias(sb, id, answer);
		rc = await_running(sb, answer, id, NULL, stop, err);
	}
	if (rc < 0 && err->code == ERR_GONE)
		err->code = ERR_NOT_FOUND;
	if (rc == 0 && v->prepare)
		rc = v->prepare(sb, stop, err);
	return rc;
}

static int request_stop(struct vendor_client *c, const char *id,
			const cJSON *sandbox, const struct stop *stop,
			struct error *err)
{
	const struct vendor *v = c->vendor;
	struct http_request ask = { .method = "POST",
				    .path = v->stop_path,
				    .body = str_of(v->stop_body),
				    .what = "stopping the sandbox",
				    .timeout_ms = REQUEST_MS };

	return v->halt ? v->halt(c, id, sandbox, stop, err)
		       : vendor_ask(c, id, &ask, NULL, stop, err);
}

/* Returns 1 when the sandbox has stopped, 0 to poll again. */
static int check_stopped(struct vendor_client *c, const char *id, int *looks,
			 const struct stop *stop, struct error *err)
{
	enum vendor_step step;
	cJSON *answer = NULL;
	int rc = vendor_get(c, id, &answer, stop, err);

	step = rc == 0 ? vendor_state(c->vendor, answer)->step : STEP_ENDED;
	cJSON_Delete(answer);
	if (rc < 0)
		return -1;
	if (step == STEP_START)
		return 1;
	if (step == STEP_ENDED || step == STEP_ENDING)
		return error_set(err, ERR_GONE,
				 "the %s %s has ended instead of stopping",
				 c->vendor->noun, id);
	if (step == STEP_WAIT || ++*looks < RUNNING_LOOKS)
		return 0;
	return error_set(err, ERR_REMOTE, "the %s %s does not stop",
			 c->vendor->noun, id);
}

/* True if the stop may have been refused because the state is changing, or
 * because the sandbox is already stopped. */
static bool may_be_stopping(const struct error *why)
{
	return why->http_status == 400 || why->http_status == 409 ||
	       why->http_status == 410 || why->http_status == 422;
}

static int stop_running(struct vendor_client *c, const char *id,
			const cJSON *sandbox, const struct stop *stop,
			struct error *err)
{
	struct error why = { 0 };
	struct error later = { 0 };

	if (request_stop(c, id, sandbox, stop, &why) == 0)
		return poll_until(c, id, STOP_MS, check_stopped, stop, err);
	if (may_be_stopping(&why) &&
	    poll_until(c, id, STOP_MS, check_stopped, stop, &later) == 0)
		return 0;
	*err = later.code == ERR_GONE ? later : why;
	return -1;
}

/* Asks the vendor to keep the sandbox, stops it, and waits until it has
 * stopped. */
int vendor_stop(struct sandbox_client *client, const char *id, int64_t *keep_s,
		const struct stop *stop, struct error *err)
{
	struct vendor_client *c = vendor_of(client);
	const struct vendor *v = c->vendor;
	enum vendor_step step;
	cJSON *sandbox = NULL;
	int rc;

	if (vendor_check_id(v, id, err) < 0)
		return -1;
	rc = vendor_get(c, id, &sandbox, stop, err);
	step = rc == 0 ? vendor_state(v, sandbox)->step : STEP_ENDED;
	if (rc == 0 && (step == STEP_ENDED || step == STEP_ENDING))
		rc = 1;
	if (!v->hold)
		*keep_s = 0;
	else if (rc == 0)
		rc = v->hold(c, id, keep_s, stop, err);
	if (rc == 0 && step != STEP_START)
		rc = stop_running(c, id, sandbox, stop, err);
	cJSON_Delete(sandbox);
	return rc;
}

/* Returns 1 when the sandbox is gone, 0 while it is being deleted. ERR_BUSY:
 * the vendor shows no sign of a deletion, so the request must be sent again.
 * (Its status of 200 may have come from a proxy.) */
static int check_ended(struct vendor_client *c, const char *id, int *looks,
		       const struct stop *stop, struct error *err)
{
	enum vendor_step step;
	cJSON *answer = NULL;
	int rc = vendor_get(c, id, &answer, stop, err);

	if (rc != 0)
		return rc;
	step = vendor_state(c->vendor, answer)->step;
	cJSON_Delete(answer);
	if (step == STEP_ENDED)
		return 1;
	if (step != STEP_ENDING && ++*looks == ENDING_LOOKS)
		return error_set(err, ERR_BUSY,
				 "the %s %s is not being deleted",
				 c->vendor->noun, id);
	return 0;
}

/* True if the answer to the request says that the sandbox has ended. */
static bool has_ended(const struct vendor *v, const char *id,
		      const cJSON *answer)
{
	return strcmp(json_string(answer, v->fields.id, ""), id) == 0 &&
	       vendor_state(v, answer)->step == STEP_ENDED;
}

/* Call after status 400, which may mean that the sandbox has already ended.
 * Returns 0 if it has, else -1 with why. */
static int confirm_ended(struct vendor_client *c, const char *id,
			 const struct error *why, const struct stop *stop,
			 struct error *err)
{
	int looks = 0;
	int rc = check_ended(c, id, &looks, stop, err);

	if (rc == 0)
		*err = *why;
	return rc > 0 ? 0 : -1;
}

/* Deletes the sandbox. Status 409 means that its state is changing, perhaps
 * because of an earlier request. */
int vendor_remove(struct sandbox_client *client, const char *id,
		  const struct stop *stop, struct error *err)
{
	struct vendor_client *c = vendor_of(client);
	const struct vendor *v = c->vendor;
	struct http_request ask = { .method = "DELETE",
				    .what = "deleting the sandbox",
				    .flags = REST_MISSING_OK };
	struct error why = { 0 };
	cJSON *answer = NULL;
	bool ended;
	int rc;

	if (vendor_check_id(v, id, err) < 0)
		return -1;
	rc = v->end ? v->end(c, id, &answer, stop, &why)
		    : vendor_ask(c, id, &ask, &answer, stop, &why);
	ended = rc == 0 && (!v->awaits_end || has_ended(v, id, answer));
	cJSON_Delete(answer);
	if (rc > 0 || ended)
		return rc;
	/* The vendor deletes in the background, so ask until it is gone. */
	if (v->awaits_end && (rc == 0 || why.http_status == 409))
		return poll_until(c, id, END_MS, check_ended, stop, err);
	if (v->awaits_end && why.http_status == 400)
		return confirm_ended(c, id, &why, stop, err);
	*err = why;
	if (err->http_status == 409)
		err->code = ERR_BUSY;
	return -1;
}

static bool is_listed(const int *statuses, int status)
{
	while (*statuses && *statuses != status)
		statuses++;
	return *statuses;
}

int vendor_exec_failed(struct sandbox *sb, int status, bool may_be_gone,
		       const struct stop *stop, struct error *err)
{
	const struct vendor *v = vendor_of(sb->client)->vendor;
	struct error why = { 0 };

	if (err->code == ERR_CANCELLED ||
	    (err->code == ERR_LIMIT && status != 429))
		return -1;
	may_be_gone = may_be_gone || is_listed(v->may_be_gone, status);
	if (may_be_gone && vendor_ensure_running(sb, stop, &why) < 0 &&
	    why.code != ERR_NETWORK && why.code != ERR_TIMEOUT) {
		*err = why;
		return -1;
	}
	if (may_be_gone || status == 408 || status == 429 || status >= 500)
		err->code = ERR_NETWORK;
	return -1;
}

int vendor_execute(struct sandbox *sb, const struct exec_request *req,
		   struct exec_result *res, const struct stop *stop,
		   struct error *err)
{
	const struct vendor *v = vendor_of(sb->client)->vendor;
	const struct supervisor s = { .call = v->call,
				      .arg = sb,
				      .max_command = v->max_command,
				      .max_answer = v->max_answer };

	return supervise_execute(sb, req, res, &s, stop, err);
}
