/* vertex_account.h - project, location and token of requests to Vertex AI. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_VERTEX_ACCOUNT_H
#define MODEL_VERTEX_ACCOUNT_H

#include "model/model.h"

struct vertex_account;

/* Values from [models.providers.google_vertexai]; each may be NULL. */
struct vertex_place {
	const char *project, *location;
};
/* Sets c->vertex. If place has no project: GOOGLE_CLOUD_PROJECT or
 * GCLOUD_PROJECT; if it has no location: GOOGLE_CLOUD_LOCATION,
 * GOOGLE_CLOUD_REGION or CLOUD_ML_REGION, else "global". An api_key in c is the
 * token. Without one, gcloud (found on PATH) is run at the first request to get
 * a token. A project's .env sets none of this. ERR_CONFIG without a project,
 * ERR_AUTH without a token and gcloud. set must outlive the account. */
int vertex_account_open(struct model_choice *c, const struct settings *set,
			const struct vertex_place *place, struct error *err);
void vertex_account_free(struct vertex_account *a);
/* Returns Google's address for that location, with the API version; owned by
 * the caller. */
char *vertex_account_url(const struct vertex_account *a);
/* Appends the path after that address:
 * "/projects/P/locations/L/publishers/PUBLISHER/models/M". A model may name its
 * publisher ("meta/llama-4"), or be a whole path ("publishers/...",
 * "projects/..."). */
void vertex_account_path(const struct vertex_account *a, const char *publisher,
			 const char *model, struct buf *out);
/* Returns "Authorization: Bearer TOKEN"; wipe and free it. NULL with err. Runs
 * gcloud if there is no token or it expires soon: blocks for up to a minute.
 * Any thread. */
char *vertex_account_header(struct vertex_account *a, const struct stop *stop,
			    struct error *err);
/* Call when the server has refused the token: the next request fetches a new
 * one. False if the token is the user's. */
bool vertex_account_renew(struct vertex_account *a);

#endif
