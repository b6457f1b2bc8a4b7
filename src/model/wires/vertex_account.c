/* vertex_account.c - project, location and token of requests to Vertex AI. */
/* SPDX-License-Identifier: MIT */
/* vertex_account_open() finds the project, the location and the program gcloud;
 * vertex_account_header() makes the header of a request. A token from gcloud is
 * reused for all requests of the account; the account's lock guards it. Sources
 * of the variables, addresses and paths: @google/genai 2.32.0
 * (dist/node/index.mjs: GoogleGenAI, ApiClient, tModel) and google-auth-library
 * (getProjectId). Names of regions: @anthropic-ai/vertex-sdk. Read
 * 2026-11-23. */
#include "model/wires/vertex_account.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/proc.h"
#include "base/str.h"
#include "config/settings_env.h"
#include "model/wire.h"

enum {
	GCLOUD_MS = 60000,
	/* How long a token is reused. gcloud's tokens are valid for an hour
	 * (cloud.google.com/sdk, "gcloud auth print-access-token", read
	 * 2026-11-23). */
	LIFE_MS = 50 * 60 * 1000,
	MAX_TOKEN = 16 << 10,
};

struct vertex_account {
	const struct settings *set; /* borrowed */
	char *project, *location;
	char *program; /* path of gcloud; NULL: the user gave a token */
	pthread_mutex_t lock;
	char *token;        /* the last token from gcloud, or NULL */
	int64_t good_until; /* until when token is reused: CLOCK_MONOTONIC ms */
};

/* True for a valid project id: "my-app", "example.com:my-app". Accepts no other
 * characters, because the id becomes part of a URL's path. */
static bool is_name(const char *s)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789-_.:";
	size_t len = strlen(s);

	return len > 0 && len <= 100 && strspn(s, letters) == len &&
	       s[0] != '-' && s[0] != '.';
}

static bool is_location(const char *s)
{
	size_t len = strlen(s);

	return len > 0 && len <= 40 && s[0] != '-' &&
	       strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == len;
}

static const char *first_env(const struct settings *set,
			     const char *const *names)
{
	const char *found = NULL;

	for (; *names && !found; names++)
		found = settings_env(set, *names);
	return found;
}

/* Finds the project and the location and checks both. */
static int find_place(struct vertex_account *a, const char *project,
		      const char *location, struct error *err)
{
	static const char *const projects[] = { "GOOGLE_CLOUD_PROJECT",
						"GCLOUD_PROJECT", NULL };
	static const char *const locations[] = { "GOOGLE_CLOUD_LOCATION",
						 "GOOGLE_CLOUD_REGION",
						 "CLOUD_ML_REGION", NULL };

	if (!project)
		project = first_env(a->set, projects);
	if (!location)
		location = first_env(a->set, locations);
	if (!project) {
		(void)error_set(err, ERR_CONFIG,
				"provider google_vertexai has no project");
		return error_hint(
			err,
			"Set GOOGLE_CLOUD_PROJECT (and GOOGLE_CLOUD_LOCATION), "
			"or project in [models.providers.google_vertexai].");
	}
	if (!is_name(project))
		return error_set(
			err, ERR_CONFIG,
			"not the id of a Google Cloud project: '%.100s'",
			project);
	if (!location)
		location = "global";
	if (!is_location(location))
		return error_set(err, ERR_CONFIG,
				 "not a Vertex AI location: '%.60s'", location);
	a->project = xstrdup(project);
	a->location = xstrdup(location);
	return 0;
}

/* Finds gcloud, which provides tokens. variable: the one that could hold a
 * token instead, for the error message. */
static int find_gcloud(struct vertex_account *a, const char *variable,
		       struct error *err)
{
	a->program = proc_find("gcloud", settings_exported(a->set, "PATH"));
	if (a->program)
		return 0;
	(void)error_set(err, ERR_AUTH,
			"No credentials found for provider 'google_vertexai': "
			"%s is not set, and gcloud is not on PATH",
			variable);
	return error_hint(err,
			  "Install the Google Cloud CLI and run gcloud auth "
			  "login, or put an access token into %s.",
			  variable);
}

int vertex_account_open(struct model_choice *c, const struct settings *set,
			const struct vertex_place *place, struct error *err)
{
	struct vertex_account *a = xcalloc(1, sizeof(*a));

	c->vertex = a;
	a->set = set;
	pthread_mutex_init(&a->lock, NULL);
	if (find_place(a, place->project, place->location, err) < 0)
		return -1;
	return c->api_key ? 0 : find_gcloud(a, c->key_env, err);
}

void vertex_account_free(struct vertex_account *a)
{
	if (!a)
		return;
	mem_wipe(a->token);
	pthread_mutex_destroy(&a->lock);
	free(a->project);
	free(a->location);
	free(a->program);
	free(a);
}

char *vertex_account_url(const struct vertex_account *a)
{
	static const char host[] = "googleapis.com/v1";

	if (strcmp(a->location, "global") == 0)
		return xasprintf("https://aiplatform.%s", host);
	/* the multi-regions "us" and "eu" have a host of another form */
	if (strcmp(a->location, "us") == 0 || strcmp(a->location, "eu") == 0)
		return xasprintf("https://aiplatform.%s.rep.%s", a->location,
				 host);
	return xasprintf("https://%s-aiplatform.%s", a->location, host);
}

void vertex_account_path(const struct vertex_account *a, const char *publisher,
			 const char *model, struct buf *out)
{
	struct str name = str_of(model);
	const char *slash = strchr(model, '/');

	buf_addc(out, '/');
	if (str_starts(name, "projects/")) {
		wire_escape(out, model, "/");
		return;
	}
	buf_addf(out, "projects/%s/locations/%s/", a->project, a->location);
	if (str_starts(name, "publishers/")) {
		wire_escape(out, model, "/");
		return;
	}
	buf_adds(out, "publishers/");
	if (slash) {
		char *owner = xstrndup(model, (size_t)(slash - model));

		wire_escape(out, owner, "");
		free(owner);
	} else {
		buf_adds(out, publisher);
	}
	buf_adds(out, "/models/");
	wire_escape(out, slash ? slash + 1 : model, "");
}

static int hint_login(struct error *err)
{
	return error_hint(err, "Run gcloud auth login, or put an access token "
			       "into GOOGLE_OAUTH_ACCESS_TOKEN.");
}

/* Stores the output of gcloud as the token, if it has the form of one. */
static int parse_token(struct vertex_account *a, struct str printed,
		       struct error *err)
{
	struct str token = str_trim(printed);

	for (size_t i = 0; i < token.len; i++)
		if ((unsigned char)token.ptr[i] <= ' ' ||
		    (unsigned char)token.ptr[i] >= 0x7F)
			token.len = 0;
	if (!token.len)
		return error_set(err, ERR_AUTH, "it printed no access token");
	mem_wipe(a->token);
	a->token = xstrndup(token.ptr, token.len);
	a->good_until = clock_ms() + LIFE_MS;
	return 0;
}

/* Runs gcloud and stores the token that it prints. */
static int run_gcloud(struct vertex_account *a, const struct stop *stop,
		      struct error *err)
{
	static const char *const argv[] = { "gcloud", "auth",
					    "print-access-token", NULL };
	struct stop within = stop_within(stop, GCLOUD_MS);
	struct buf out = BUF_INIT(MAX_TOKEN);
	char **env = settings_environ(a->set, NULL);
	int rc = proc_output(a->program, (char *const *)argv, env, &out,
			     &within, err);

	settings_environ_free(env);
	if (rc > 0)
		rc = error_set(err, ERR_AUTH, "it exited with status %d", rc);
	else if (rc < 0 && err->code == ERR_TIMEOUT &&
		 clock_ms() < stop->deadline)
		error_set(err, ERR_AUTH, "no answer within %d s",
			  GCLOUD_MS / 1000);
	if (rc == 0)
		rc = parse_token(a, buf_str(&out), err);
	buf_wipe(&out);
	if (rc < 0 && err->code == ERR_AUTH)
		hint_login(err);
	return rc < 0 && err->code != ERR_CANCELLED
		       ? error_wrap(err, "gcloud auth print-access-token")
		       : rc;
}

char *vertex_account_header(struct vertex_account *a, const struct stop *stop,
			    struct error *err)
{
	char *header = NULL;
	int rc = 0;

	pthread_mutex_lock(&a->lock);
	if (!a->token || clock_ms() >= a->good_until)
		rc = run_gcloud(a, stop, err);
	if (rc == 0)
		header = xasprintf("Authorization: Bearer %s", a->token);
	pthread_mutex_unlock(&a->lock);
	return header;
}

bool vertex_account_renew(struct vertex_account *a)
{
	pthread_mutex_lock(&a->lock);
	a->good_until = 0;
	pthread_mutex_unlock(&a->lock);
	return a->program != NULL;
}
