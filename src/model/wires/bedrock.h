/* bedrock.h - Bedrock's account: AWS key, region, time and signatures. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_WIRES_BEDROCK_H
#define MODEL_WIRES_BEDROCK_H

#include "model/model.h"

enum { SIGNED_HEADERS = 48 };

struct bedrock_account;

struct signed_request { /* release with signed_request_release() */
	const char *url;
	const char *const *headers; /* borrowed, NULL-terminated */
	struct buf body;
	/* The headers and those of the signature; the last n_own strings are
	 * owned. */
	const char *lines[SIGNED_HEADERS + 1];
	char *own[4];
	size_t n_own;
};

/* Finds the key and the region and sets c->aws. region is from config.toml;
 * NULL: AWS_REGION, AWS_DEFAULT_REGION or the profile's region. If c has an
 * api_key, that is sent instead of a signature, and no AWS key is searched for.
 * ERR_AUTH if there is no key, ERR_CONFIG if there is no region. */
int bedrock_account_open(struct model_choice *c, const struct settings *set,
			 const char *region, struct error *err);
void bedrock_account_free(struct bedrock_account *a);
/* Returns the vendor's address in the account's region; owned by the caller. */
char *bedrock_account_url(const struct bedrock_account *a);
/* Returns the secrets that were read so far, so that they can be masked: at
 * most two, NULL-terminated. */
void bedrock_account_secrets(const struct bedrock_account *a,
			     const char *out[3]);
/* Signs the request and fills lines. May fetch a new key first, which
 * blocks. */
int bedrock_account_sign(struct bedrock_account *a, struct http *http,
			 struct signed_request *r, const struct stop *stop,
			 struct error *err);
void signed_request_release(struct signed_request *r);
/* Call when the server says that the key has expired. The next request uses a
 * new one. False if the source has no other key. */
bool bedrock_account_renew(struct bedrock_account *a);
/* Corrects the time of signatures if this machine's clock is wrong. Pass the
 * parts of a refused request's answer: x-amzn-errortype, Date ("" if missing)
 * and the body. True if the request was refused because of the signature's
 * time, and the answer has a time that is minutes away from this machine's. All
 * later signatures of this process then use that time. A difference of more
 * than a day is ignored: otherwise a server could collect signatures that
 * become valid later. Any thread. */
bool bedrock_clock_correct(const char *error_type, const char *date,
			   struct str body);

#endif
