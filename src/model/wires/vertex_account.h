/* vertex_account.h - the project, place and token of requests to Vertex AI. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_VERTEX_ACCOUNT_H
#define MODEL_VERTEX_ACCOUNT_H

#include "model/model.h"

struct vertex_account;

/* What [models.providers.google_vertexai] says, or NULL each. */
struct vertex_place {
	const char *project, *location;
};
/*
 * Fills c->vertex. Where place has none, the project is that of
 * GOOGLE_CLOUD_PROJECT or GCLOUD_PROJECT, the location that of
 * GOOGLE_CLOUD_LOCATION, GOOGLE_CLOUD_REGION or CLOUD_ML_REGION, else "global".
 * Where c has an api_key that is the token; else the program gcloud, on PATH,
 * is asked for one with the first request. Nothing of it is ever a project's
 * .env's. ERR_CONFIG without a project, ERR_AUTH without token and gcloud. set
 * outlives it.
 */
int vertex_account_open(struct model_choice *c, const struct settings *set,
			const struct vertex_place *place, struct error *err);
void vertex_account_free(struct vertex_account *a);
/* Google's address for that location, with the version; owned by the caller. */
char *vertex_account_url(const struct vertex_account *a);
/* What follows it: "/projects/P/locations/L/publishers/PUBLISHER/models/M". A
 * model may name its publisher ("meta/llama-4"), or be a path of its own
 * ("publishers/...", "projects/..."). */
void vertex_account_path(const struct vertex_account *a, const char *publisher,
			 const char *model, struct buf *out);
/* "Authorization: Bearer TOKEN", to be wiped and freed; NULL with err. Runs
 * gcloud where there is no token, or one that ends soon: blocks, at most a
 * minute. Any thread. */
char *vertex_account_header(struct vertex_account *a, const struct stop *stop,
			    struct error *err);
/* The server has refused the token: the next one is asked for. False where it
 * is the user's own. */
bool vertex_account_renew(struct vertex_account *a);

#endif
