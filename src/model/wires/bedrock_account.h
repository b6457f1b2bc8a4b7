/* bedrock_account.h - whose AWS key signs requests to Bedrock, and when. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_BEDROCK_ACCOUNT_H
#define MODEL_BEDROCK_ACCOUNT_H

#include "model/model.h"

struct bedrock_account;

/*
 * Fills c->aws. region is that of config.toml; NULL: AWS_REGION,
 * AWS_DEFAULT_REGION or the profile's. An api_key in c is sent instead of a
 * signature, and no AWS key is looked for then. ERR_AUTH without any key,
 * ERR_CONFIG without a region.
 */
int bedrock_account_open(struct model_choice *c, const struct settings *set,
			 const char *region, struct error *err);
void bedrock_account_free(struct bedrock_account *a);
/* The vendor's address in that region; owned by the caller. */
char *bedrock_account_url(const struct bedrock_account *a);
/* The secrets that have been read so far, for masks: at most two, NULL ends. */
void bedrock_account_secrets(const struct bedrock_account *a,
			     const char *out[3]);

enum { SIGNED_HEADERS = 48 };

struct signed_request { /* signed_request_release() after */
	const char *url;
	const char *const *headers; /* borrowed, NULL-terminated */
	struct buf body;
	/* All headers, with those of the signature; the last n_own are owned.
	 */
	const char *lines[SIGNED_HEADERS + 1];
	char *own[4];
	size_t n_own;
};
/* Fills lines. May fetch a new key first: blocks. */
int bedrock_account_sign(struct bedrock_account *a, struct http *http,
			 struct signed_request *r, const struct stop *stop,
			 struct error *err);
void signed_request_release(struct signed_request *r);
/* Call when the server says that the key has expired. False if no other can be
 * fetched. */
bool bedrock_account_renew(struct bedrock_account *a);

/*
 * Corrects the time of signatures, if this machine's clock is wrong. Takes what
 * came with a refusal: x-amzn-errortype, Date ("" each if there was none) and
 * the body. True if the refusal was about the time of the signature and names a
 * time that is minutes away from this machine's: from then on, until the
 * process ends, all signatures have that time. A time that is more than a day
 * away is not believed: a server could otherwise collect signatures that become
 * valid later. Any thread.
 */
bool bedrock_clock_correct(const char *error_type, const char *date,
			   struct str body);

#endif
