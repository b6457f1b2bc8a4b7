/* vertex_account.h - the project, place and token of requests to Vertex AI. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_VERTEX_ACCOUNT_H
#define MODEL_VERTEX_ACCOUNT_H

#include "model/model.h"

struct vertex_account;

/* The values of [models.providers.google_vertexai], or NULL each. */
struct vertex_place {
	const char *project, *location;
};
/*
 * Fills c->vertex. Without a project in place, that of GOOGLE_CLOUD_PROJECT or
 * GCLOUD_PROJECT is used; without a location, that of GOOGLE_CLOUD_LOCATION,
 * GOOGLE_CLOUD_REGION or CLOUD_ML_REGION, else "global". An api_key in c is the
 * token; without one the program gcloud, on PATH, is run with the first request
 * to get a token. A project's .env sets none of this. ERR_CONFIG without a
 * project, ERR_AUTH without token and gcloud. set outlives the account.
 */
int vertex_account_open(struct model_choice *c, const struct settings *set,
			const struct vertex_place *place, struct error *err);
void vertex_account_free(struct vertex_account *a);
/* Google's address for that location, with the version; owned by the caller. */
char *vertex_account_url(const struct vertex_account *a);
/* Adds the path behind it:
 * "/projects/P/locations/L/publishers/PUBLISHER/models/M". A model may name its
 * publisher ("meta/llama-4"), or be a whole path ("publishers/...",
 * "projects/..."). */
void vertex_account_path(const struct vertex_account *a, const char *publisher,
			 const char *model, struct buf *out);
/* "Authorization: Bearer TOKEN", to be wiped and freed; NULL with err. Runs
 * gcloud if there is no token, or one that expires soon: blocks, at most a
 * minute. Any thread. */
char *vertex_account_header(struct vertex_account *a, const struct stop *stop,
			    struct error *err);
/* Call when the server has refused the token: a new one is fetched with the
 * next request. False if the token is the user's. */
bool vertex_account_renew(struct vertex_account *a);

#endif
