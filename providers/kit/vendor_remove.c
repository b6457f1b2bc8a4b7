/* vendor_remove.c - a sandbox deleted, and its end confirmed. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "providers/kit/vendor.h"

enum {
	END_MS = 120000,
	LOOKS_MAX = 4, /* that see no end coming: about 0.4 s */
};

/* 1 when it is gone, 0 when its end is coming; ERR_BUSY: nothing happens, so
 * the request has to be sent again (an answer of 200 may come from a proxy). */
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
	if (step != STEP_ENDING && ++*looks == LOOKS_MAX)
		return error_set(err, ERR_BUSY,
				 "the %s %s is not being deleted",
				 c->vendor->noun, id);
	return 0;
}

/* As far as the answer to the request tells. */
static bool has_ended(const struct vendor *v, const char *id,
		      const cJSON *answer)
{
	return strcmp(json_string(answer, v->fields.id, ""), id) == 0 &&
	       vendor_state(v, answer)->step == STEP_ENDED;
}

/* After a refusal (400) that may mean that it had ended. */
static int confirm(struct vendor_client *c, const char *id,
		   const struct error *why, const struct stop *stop,
		   struct error *err)
{
	int looks = 0;
	int rc = check_ended(c, id, &looks, stop, err);

	if (rc == 0)
		*err = *why;
	return rc > 0 ? 0 : -1;
}

/* 409: its state is changing, maybe by an earlier request of ours. */
int vendor_remove(struct sandbox_client *client, const char *id,
		  const struct stop *stop, struct error *err)
{
	struct vendor_client *c = vendor_of(client);
	const struct vendor *v = c->vendor;
	struct rest_ask ask = { .method = v->end_path ? "POST" : "DELETE",
				.path = v->end_path,
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
	if (v->awaits_end && (rc == 0 || why.http_status == 409))
		return vendor_poll(c, id, END_MS, check_ended, stop, err);
	if (v->awaits_end && why.http_status == 400)
		return confirm(c, id, &why, stop, err);
	*err = why;
	if (err->http_status == 409)
		err->code = ERR_BUSY;
	return -1;
}
