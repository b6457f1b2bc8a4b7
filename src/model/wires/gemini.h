/* gemini.h - Vertex AI's account: project, location and token. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_WIRES_GEMINI_H
#define MODEL_WIRES_GEMINI_H

#include "model/model.h"

struct vertex_account;

/* Values from [models.providers.google_vertexai]; each may be NULL. */
struct vertex_place {
	const char *project, *location;
};

/* Finds project and location and sets c->vertex. If place has no project:
 * GOOGLE_CLOUD_PROJECT or GCLOUD_PROJECT. If it has no location:
 * GOOGLE_CLOUD_LOCATION, GOOGLE_CLOUD_REGION or CLOUD_ML_REGION, else "global".
 * If c has an api_key, that is the token. Otherwise gcloud (found on PATH) is
 * run before the first request to get one. A project's .env sets none of this.
 * ERR_CONFIG without a project, ERR_AUTH without a token and gcloud. set must
 * outlive the account. */
int vertex_account_open(struct model_choice *c, const struct settings *set,
			const struct vertex_place *place, struct error *err);
void vertex_account_free(struct vertex_account *a);
/* Returns Google's address for the account's location, with the API version;
 * owned by the caller. */
char *vertex_account_url(const struct vertex_account *a);
/* Appends the path that follows that address:
 * "/projects/P/locations/L/publishers/PUBLISHER/models/M". The name of a model
 * may contain its publisher ("meta/llama-4"), or be a whole path
 * ("publishers/...", "projects/..."). */
void vertex_account_path(const struct vertex_account *a, const char *publisher,
			 const char *model, struct buf *out);
/* Returns "Authorization: Bearer TOKEN"; the caller wipes and frees it. NULL
 * with err. If there is no token or it expires soon, first runs gcloud, which
 * may take up to a minute. Any thread. */
char *vertex_account_header(struct vertex_account *a, const struct stop *stop,
			    struct error *err);
/* Call when the server has refused the token: the next request gets a new one
 * from gcloud. False if the user gave the token. */
bool vertex_account_renew(struct vertex_account *a);

#endif
