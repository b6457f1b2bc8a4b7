/* vendor_stop.c - a sandbox stopped so that its files stay. */
/* SPDX-License-Identifier: MIT */
#include "base/str.h"
#include "providers/kit/vendor.h"

enum {
	STOP_MS = 120000,    /* to save its memory, where a vendor does */
	REQUEST_MS = 110000, /* some answer when it has stopped */
	LOOKS_MAX = 8,       /* that see it run on: about 2 s */
};

static int ask_stop(struct vendor_client *c, const char *id,
		    const cJSON *sandbox, const struct stop *stop,
		    struct error *err)
{
	const struct vendor *v = c->vendor;
	struct rest_ask ask = { .method = "POST",
				.path = v->stop_path,
				.body = str_of(v->stop_body),
				.what = "stopping the sandbox",
				.timeout_ms = REQUEST_MS };

	return v->halt ? v->halt(c, id, sandbox, stop, err)
		       : vendor_ask(c, id, &ask, NULL, stop, err);
}

/* 1 when it has stopped, 0 to look again. */
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
	if (step == STEP_WAIT || ++*looks < LOOKS_MAX)
		return 0;
	return error_set(err, ERR_REMOTE, "the %s %s does not stop",
			 c->vendor->noun, id);
}

/* Refused because its state is changing, or is what was asked for. */
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

	if (ask_stop(c, id, sandbox, stop, &why) == 0)
		return vendor_poll(c, id, STOP_MS, check_stopped, stop, err);
	if (may_be_stopping(&why) &&
	    vendor_poll(c, id, STOP_MS, check_stopped, stop, &later) == 0)
		return 0;
	*err = later.code == ERR_GONE ? later : why;
	return -1;
}

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
