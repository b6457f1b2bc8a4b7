/* bedrock_account.h - signs requests to Bedrock: AWS key, region and time. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_BEDROCK_ACCOUNT_H
#define MODEL_BEDROCK_ACCOUNT_H

#include "model/model.h"

struct bedrock_account;

/* Sets c->aws. region is from config.toml; NULL: AWS_REGION, AWS_DEFAULT_REGION
 * or the profile's. If c has an api_key, it is sent instead of a signature, and
 * no AWS key is searched for. ERR_AUTH without any key, ERR_CONFIG without a
 * region. */
int bedrock_account_open(struct model_choice *c, const struct settings *set,
			 const char *region, struct error *err);
void bedrock_account_free(struct bedrock_account *a);
/* Returns the vendor's address in that region; owned by the caller. */
char *bedrock_account_url(const struct bedrock_account *a);
/* Returns the secrets read so far, for masking: at most two,
 * NULL-terminated. */
void bedrock_account_secrets(const struct bedrock_account *a,
			     const char *out[3]);

enum { SIGNED_HEADERS = 48 };

struct signed_request { /* release with signed_request_release() */
	const char *url;
	const char *const *headers; /* borrowed, NULL-terminated */
	struct buf body;
	/* All headers, including the signature's; the last n_own are owned. */
	const char *lines[SIGNED_HEADERS + 1];
	char *own[4];
	size_t n_own;
};
/* Fills lines. May fetch a new key first, which blocks. */
int bedrock_account_sign(struct bedrock_account *a, struct http *http,
			 struct signed_request *r, const struct stop *stop,
			 struct error *err);
void signed_request_release(struct signed_request *r);
/* Call when the server says that the key has expired. False if the source has
 * no other. */
bool bedrock_account_renew(struct bedrock_account *a);

/* Corrects the time of signatures if this machine's clock is wrong. Pass what
 * came with a refusal: x-amzn-errortype, Date ("" if missing) and the body.
 * True if the refusal was about the signature's time and names a time minutes
 * away from this machine's: all later signatures of this process use that time.
 * A difference of more than a day is ignored: a server could otherwise collect
 * signatures that become valid later. Any thread. */
bool bedrock_clock_correct(const char *error_type, const char *date,
			   struct str body);

#endif
