/* bedrock_account.h - whose AWS key signs requests to Bedrock, and where. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_BEDROCK_ACCOUNT_H
#define MODEL_BEDROCK_ACCOUNT_H

#include "model/model.h"

struct bedrock_account;

/*
 * Fills c->aws. region is that of config.toml or NULL: then AWS_REGION,
 * AWS_DEFAULT_REGION and the profile's count. Where c has an api_key, that is
 * sent instead of a signature, and no other is looked for. ERR_AUTH without any
 * key, ERR_CONFIG without a region.
 */
int bedrock_account_open(struct model_choice *c, const struct settings *set,
			 const char *region, struct error *err);
void bedrock_account_free(struct bedrock_account *a);
/* The vendor's address in that region; owned by the caller. */
char *bedrock_account_url(const struct bedrock_account *a);
/* The secrets that are known by now, for masks: at most two, NULL ends. */
void bedrock_account_secrets(const struct bedrock_account *a,
			     const char *out[3]);

enum { SIGNED_HEADERS = 48 };

struct signed_request { /* signed_request_release() after */
	const char *url;
	const char *const *headers; /* borrowed, NULL-terminated */
	struct buf body;
	/* With those that sign it; the last n_own are owned. */
	const char *lines[SIGNED_HEADERS + 1];
	char *own[4];
	size_t n_own;
};
/* Fills lines. May ask for a new key first: blocks. */
int bedrock_account_sign(struct bedrock_account *a, struct http *http,
			 struct signed_request *r, const struct stop *stop,
			 struct error *err);
void signed_request_release(struct signed_request *r);
/* The server says that the key has expired. False when there is no other. */
bool bedrock_account_renew(struct bedrock_account *a);

#endif
