/* gemini.c - Gemini's generateContent: requests and streamed answers. */
/* SPDX-License-Identifier: MIT */
/*
 * Requests first: write_head() writes the fixed start of a request,
 * push_message() appends one message. Then answers: parse_event() is called for
 * each chunk. wire_gemini, at the end, lists the functions. Source:
 * @google/genai 2.32.0 (dist/genai.d.ts) and ai.google.dev/gemini-api/docs
 * (thought-signatures, function-calling, thinking), read 2026-11-22. A thought
 * signature must be sent back in the part in which it came, even if that part
 * has no text. So a part with a signature is never joined with another.
 *
 * The account at Vertex AI: vertex_account_open() finds the project, the
 * location and the program gcloud; vertex_account_header() makes the header of
 * a request. A token from gcloud is reused for all requests of the account; the
 * account's lock guards it. Sources of the variables, addresses and paths:
 * @google/genai 2.32.0 (dist/node/index.mjs: GoogleGenAI, ApiClient, tModel)
 * and google-auth-library (getProjectId). Names of regions:
 * @anthropic-ai/vertex-sdk. Read 2026-11-23.
 */
#include "model/wires/gemini.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/str.h"
#include "config/settings_env.h"
#include "model/draft.h"
#include "model/failure.h"
#include "model/model.h"
#include "model/params.h"
#include "model/wire.h"

/* The vendor accepts this instead of a signature, for calls that another model
 * made. */
#define UNSIGNED "skip_thought_signature_validator"

/* Project, location and token of requests to Vertex AI. */

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

static void write_url(const struct model_choice *c, struct buf *out)
{
	if (c->vertex) {
		vertex_account_path(c->vertex, "google", c->model, out);
	} else {
		buf_adds(out, strchr(c->model, '/') ? "/" : "/models/");
		wire_escape(out, c->model, "/");
	}
	buf_adds(out, ":streamGenerateContent?alt=sse");
}

enum { NEWEST = 9 };

/* Returns the generation: 2 for "gemini-2.5-pro", NEWEST for
 * "gemini-flash-latest", 0 for a model that is not a Gemini. */
static int parse_generation(const char *model)
{
	struct str name = str_of(model);
	struct str gemini = STR("gemini-");
	size_t at = str_search(name, gemini);

	if (at == name.len)
		return 0;
	name = str_skip(name, at + gemini.len);
	return name.len && name.ptr[0] >= '0' && name.ptr[0] <= '9'
		       ? name.ptr[0] - '0'
		       : NEWEST;
}

/* Sets what the model requires of the history. Generation 3 refuses calls
 * without a signature, even other models' calls: "Function call is missing a
 * thought_signature" (jeremychone/rust-genai pull request 115, read
 * 2026-11-22). */
static void init_history(const struct model_choice *c, struct history *h)
{
	h->sign_calls = parse_generation(c->model) >= 3;
	/* From generation 3 on, files are part of results
	 * (FunctionResponse.parts of the SDK). For older models they are sent
	 * in a content after the results (badlogic/pi-mono, google-shared.ts;
	 * read 2026-11-23). */
	h->result_media = h->sign_calls;
	/* Vertex AI refuses ids: "Unknown name "id" at ... function_call"
	 * (vercel/ai issue 15664, charmbracelet/fantasy issue 265; read
	 * 2026-11-23) */
	h->no_ids = c->vertex != NULL;
}

static bool has_no_thinking(const char *model)
{
	static const char *const names[] = { "gemini-1", "gemini-2.0", "gemma",
					     NULL };
	const char *const *n = names;

	while (*n && !str_starts(str_of(model), *n))
		n++;
	return *n != NULL;
}

static const struct {
	const char *from, *group, *to;
} places[] = {
	/* Python client's names and the vendor's own */
	{ "reasoning_effort", "thinkingConfig", "thinkingLevel" },
	{ "thinking_level", "thinkingConfig", "thinkingLevel" },
	{ "thinking_budget", "thinkingConfig", "thinkingBudget" },
	{ "include_thoughts", "thinkingConfig", "includeThoughts" },
	{ "thinkingConfig", "generationConfig", "thinkingConfig" },
	{ "temperature", "generationConfig", "temperature" },
	{ "top_p", "generationConfig", "topP" },
	{ "topP", "generationConfig", "topP" },
	{ "top_k", "generationConfig", "topK" },
	{ "topK", "generationConfig", "topK" },
	{ "max_output_tokens", "generationConfig", "maxOutputTokens" },
	{ "max_tokens", "generationConfig", "maxOutputTokens" },
	{ "maxOutputTokens", "generationConfig", "maxOutputTokens" },
	{ "stop", "generationConfig", "stopSequences" },
	{ "stopSequences", "generationConfig", "stopSequences" },
	{ "seed", "generationConfig", "seed" },
};

/* Converts a thinking level to upper case: the user writes "low", the vendor's
 * ThinkingLevel has LOW (npm @google/genai 2.32.0, read 2026-11-23). */
static void capitalize_level(cJSON *level)
{
	if (!cJSON_IsString(level))
		return;
	for (char *c = level->valuestring; *c; c++)
		*c -= *c >= 'a' && *c <= 'z' ? 'a' - 'A' : 0;
}

/* Asks the model to send its thoughts, unless the user's parameters decide
 * that. */
static void show_thoughts(const struct model_choice *c, cJSON *params)
{
	cJSON *config =
		cJSON_GetObjectItemCaseSensitive(params, "generationConfig");
	cJSON *thinking;

	if (has_no_thinking(c->model)) {
		if (!config)
			cJSON_AddNullToObject(params, "generationConfig");
		return;
	}
	if (!cJSON_IsObject(config))
		return;
	thinking = cJSON_GetObjectItemCaseSensitive(config, "thinkingConfig");
	if (!thinking)
		thinking = cJSON_AddObjectToObject(config, "thinkingConfig");
	capitalize_level(
		cJSON_GetObjectItemCaseSensitive(thinking, "thinkingLevel"));
	if (cJSON_IsObject(thinking) &&
	    !json_get(thinking, "includeThoughts") &&
	    json_int(thinking, "thinkingBudget", -1) != 0)
		cJSON_AddTrueToObject(thinking, "includeThoughts");
}

static void fit_params(const struct model_choice *c, cJSON *params)
{
	cJSON_DeleteItemFromObjectCaseSensitive(params, "contents");
	cJSON_DeleteItemFromObjectCaseSensitive(params, "systemInstruction");
	params_rename(params, "safety_settings", "safetySettings");
	params_rename(params, "generation_config", "generationConfig");
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		params_nest(params, places[i].from, places[i].group,
			    places[i].to);
	show_thoughts(c, params);
}

static void write_tools(const struct wire_head *in, struct buf *out)
{
	for (size_t i = 0; i < in->brief->n_tools; i++) {
		buf_adds(out, i ? ",{" : "{");
		wire_tool(out, &in->brief->tools[i],
			  ",\"parametersJsonSchema\":");
		buf_addc(out, '}');
	}
}

/* Writes the start of a request, up to the first message. */
static void write_head(const struct wire_head *in, struct buf *out)
{
	buf_addc(out, '{');
	wire_params(in->params, out);
	if (in->brief->system && in->brief->system[0]) {
		buf_adds(out, "\"systemInstruction\":{\"role\":\"user\","
			      "\"parts\":[{");
		json_member(out, "text", str_of(in->brief->system));
		buf_adds(out, "}]},");
	}
	if (in->brief->n_tools) {
		buf_adds(out, "\"tools\":[{\"functionDeclarations\":[");
		write_tools(in, out);
		buf_adds(out, "]}],");
	}
	buf_adds(out, "\"contents\":[");
}

/* Writes the signature that came with a part, if there is one. */
static void write_signature(struct buf *out, const struct part *p)
{
	size_t len = p->replay ? strlen(p->replay) : 0;

	if (!len || !str_starts(str_of(p->replay), "{\"thoughtSignature\":"))
		return;
	buf_addc(out, ',');
	buf_add(out, p->replay + 1, len - 2);
}

/* Writes the id of a call or result. If the server refuses ids (no_ids), writes
 * nothing: it then matches results to calls by their order. */
static void write_id(const struct history *h, struct buf *out, const char *id)
{
	if (h->no_ids)
		return;
	buf_adds(out, "\"id\":");
	wire_id(out, id);
	buf_addc(out, ',');
}

static void write_call(struct history *h, const struct part *p, bool sign)
{
	struct buf *out = &h->bytes;

	buf_adds(out, "{\"functionCall\":{");
	write_id(h, out, p->id);
	buf_adds(out, "\"name\":");
	wire_name(out, p->name);
	buf_adds(out, ",\"args\":");
	wire_args(out, p);
	buf_addc(out, '}');
	write_signature(out, p);
	if (sign)
		buf_adds(out, ",\"thoughtSignature\":\"" UNSIGNED "\"");
	buf_addc(out, '}');
}

static void write_media(struct buf *out, const struct part *p)
{
	buf_addf(out,
		 "{\"inlineData\":{\"mimeType\":\"%s\",\"data\":", p->type);
	wire_base64(out, p);
	buf_adds(out, "}}");
}

/* Adds a result. The n files that follow p in the message belong to it. */
static void write_result(struct history *h, const struct part *p, size_t n)
{
	struct buf *out = &h->bytes;

	buf_adds(out, "{\"functionResponse\":{");
	write_id(h, out, p->id);
	buf_adds(out, "\"name\":");
	wire_name(out, p->name);
	buf_adds(out, ",\"response\":{");
	json_member(out, p->failed ? "error" : "output", str_of(p->text));
	buf_adds(out, n ? "},\"parts\":[" : "}}}");
	for (size_t i = 1; i <= n; i++) {
		buf_adds(out, i > 1 ? "," : "");
		write_media(out, p + i);
	}
	buf_adds(out, n ? "]}}" : "");
}

static void write_text(struct buf *out, const struct part *p)
{
	buf_addc(out, '{');
	json_member(out, "text", str_of(p->text));
	if (p->kind == PART_THINKING)
		buf_adds(out, ",\"thought\":true");
	write_signature(out, p);
	buf_addc(out, '}');
}

static void write_part(struct history *h, const struct part *p, bool sign)
{
	if (p->kind == PART_TOOL_CALL)
		write_call(h, p, sign);
	else if (p->kind == PART_MEDIA)
		write_media(&h->bytes, p);
	else
		write_text(&h->bytes, p);
}

static bool is_sendable(const struct part *p)
{
	if (p->kind == PART_TEXT)
		return (p->text && p->text[0]) || p->replay;
	return p->kind != PART_THINKING || p->replay;
}

/* Starts a part. If the last content has another role, starts a new content
 * first. */
static void open_part(struct history *h, enum role role)
{
	wire_open_block(h, role, role == ROLE_ASSISTANT ? "model" : "user",
			"parts");
}

static bool has_signed_call(const struct message *m)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->parts[i].kind == PART_TOOL_CALL && m->parts[i].replay)
			return true;
	return false;
}

/* Adds the files of results in a user content after them. */
static void follow_results(struct history *h, const struct message *m)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->parts[i].kind == PART_MEDIA) {
			open_part(h, ROLE_USER);
			write_media(&h->bytes, &m->parts[i]);
		}
}

/* Adds a message. Calls of other models get UNSIGNED instead of a signature. */
static void push_message(struct history *h, const struct message *m)
{
	bool sign = h->sign_calls && !has_signed_call(m);
	size_t sent = 0;

	for (size_t i = 0; i < m->n; i++) {
		const struct part *p = &m->parts[i];

		if (!is_sendable(p) ||
		    (m->role == ROLE_TOOL && p->kind == PART_MEDIA))
			continue;
		open_part(h, m->role);
		if (p->kind == PART_TOOL_RESULT)
			write_result(h, p,
				     h->result_media ? message_count_media(m, i)
						     : 0);
		else
			write_part(h, p, sign);
		/* of parallel calls only the first needs a signature */
		sign = sign && p->kind != PART_TOOL_CALL;
		sent++;
	}
	if (m->role == ROLE_TOOL && !h->result_media)
		follow_results(h, m);
	if (sent || m->role != ROLE_USER)
		return;
	open_part(h, m->role);
	buf_adds(&h->bytes, "{\"text\":\"(empty)\"}");
}

static const struct wire_option options[] = {
	/* The different refusals of models that cannot think have this text in
	 * common. */
	{ .name = "generationConfig",
	  .member = ",\"generationConfig\":{\"thinkingConfig\":{"
		    "\"includeThoughts\":true}}",
	  .at_first = true,
	  .complaint = "hinking" },
	{ 0 },
};

/* draft_part.key of text: open, or with a signature; these must not be
 * joined */
enum { KEY_OPEN = 0, KEY_SIGNED = -1 };

/* Returns the last part if text of this kind can be appended to it, else
 * NULL. */
static struct draft_part *open_text(struct draft *d, enum part_kind kind)
{
	struct draft_part *p = d->n ? &d->parts[d->n - 1] : NULL;

	return p && p->kind == kind && p->key == KEY_OPEN ? p : NULL;
}

static int store_signature(struct draft_part *p, const cJSON *part,
			   struct error *err)
{
	const char *sign = json_string(part, "thoughtSignature", NULL);

	if (!sign)
		return 0;
	p->key = KEY_SIGNED;
	json_member(&p->extra, "thoughtSignature", str_of(sign));
	return buf_check(&p->extra, "a thought signature", err);
}

/* Adds text or thinking, with its signature. */
static int parse_text(struct draft *d, const cJSON *part, struct error *err)
{
	bool thought = json_bool(part, "thought", false);
	const char *sign = json_string(part, "thoughtSignature", NULL);
	const char *text = json_string(part, "text", "");
	enum part_kind kind = thought ? PART_THINKING : PART_TEXT;
	struct draft_part *p = sign ? NULL : open_text(d, kind);

	if (!text[0] && !sign)
		return 0;
	if (!p)
		p = draft_part(d, kind, KEY_OPEN, err);
	if (!p || draft_add(d, p, str_of(text), err) < 0)
		return -1;
	return store_signature(p, part, err);
}

/* Adds a call. Gemini sends each call as a whole. */
static int parse_call(struct draft *d, const cJSON *part, struct error *err)
{
	const cJSON *call = json_get(part, "functionCall");
	const cJSON *args = json_get(call, "args");
	struct draft_part *p = draft_part(d, PART_TOOL_CALL, KEY_OPEN, err);
	struct buf text = BUF_INIT(DRAFT_MAX_ARGS + 1);
	int rc;

	if (!p)
		return -1;
	draft_name(&p->id, json_string(call, "id", NULL));
	draft_name(&p->name, json_string(call, "name", NULL));
	if (args)
		json_print(&text, args);
	rc = draft_add(d, p, buf_str(&text), err);
	buf_release(&text);
	return rc < 0 ? -1 : store_signature(p, part, err);
}

static int parse_parts(struct draft *d, const cJSON *parts, struct error *err)
{
	const cJSON *part;

	cJSON_ArrayForEach (part, parts) {
		int rc = cJSON_IsObject(json_get(part, "functionCall"))
				 ? parse_call(d, part, err)
				 : parse_text(d, part, err);

		if (rc < 0)
			return -1;
	}
	return 0;
}

static const struct draft_reason reasons[] = {
	{ "MAX_TOKENS", FINISH_LENGTH },
	{ "SAFETY", FINISH_REFUSAL },
	{ "RECITATION", FINISH_REFUSAL },
	{ "BLOCKLIST", FINISH_REFUSAL },
	{ "PROHIBITED_CONTENT", FINISH_REFUSAL },
	{ "SPII", FINISH_REFUSAL },
	{ "IMAGE_SAFETY", FINISH_REFUSAL },
	{ "IMAGE_PROHIBITED_CONTENT", FINISH_REFUSAL },
	{ 0 },
};

/* Finish reasons for mistakes of the model. A retry may succeed. */
static const char *const blunders[] = { "MALFORMED_FUNCTION_CALL",
					"UNEXPECTED_TOOL_CALL",
					"TOO_MANY_TOOL_CALLS" };

/* Reads why the answer ended. */
static int parse_reason(struct draft *d, const cJSON *candidate,
			struct error *err)
{
	const char *reason = json_string(candidate, "finishReason", NULL);

	if (!reason || strcmp(reason, "FINISH_REASON_UNSPECIFIED") == 0)
		return 0;
	for (size_t i = 0; i < sizeof(blunders) / sizeof(blunders[0]); i++)
		if (strcmp(blunders[i], reason) == 0)
			return error_set(err, ERR_REMOTE,
					 "the model wrote a tool call that "
					 "cannot be read (%s)",
					 reason);
	draft_stopped(d, reason, reasons);
	return 0;
}

/* Handles a refused prompt: the answer has the reason but no candidates. */
static int parse_block(struct draft *d, const cJSON *feedback,
		       struct error *err)
{
	const char *why = json_string(feedback, "blockReason", NULL);
	const char *words = json_string(feedback, "blockReasonMessage", why);
	struct draft_part *p;

	if (!why || strcmp(why, "BLOCKED_REASON_UNSPECIFIED") == 0)
		return 0;
	draft_stopped(d, why, reasons);
	d->finish = FINISH_REFUSAL;
	p = draft_part(d, PART_TEXT, KEY_SIGNED, err);
	return p ? draft_add(d, p, str_of(words), err) : -1;
}

/* Each chunk has the token counts of the whole answer so far. */
static void parse_usage(struct draft *d, const cJSON *usage)
{
	struct usage *u = &d->usage;
	int64_t input = wire_tokens(usage, "promptTokenCount", 0) +
			wire_tokens(usage, "toolUsePromptTokenCount", 0);

	if (!cJSON_IsObject(usage))
		return;
	u->cache_read = wire_tokens(usage, "cachedContentTokenCount", 0);
	if (u->cache_read > input)
		u->cache_read = input;
	u->input = input - u->cache_read;
	u->reasoning = wire_tokens(usage, "thoughtsTokenCount", 0);
	u->output =
		wire_tokens(usage, "candidatesTokenCount", 0) + u->reasoning;
}

/* Handles one chunk of the answer. */
static int parse_chunk(struct draft *d, const cJSON *tree, struct error *err)
{
	const cJSON *error = json_get(tree, "error");
	const cJSON *candidate;

	d->progress++;
	if (error && !cJSON_IsNull(error))
		return failure_in_stream(d, tree, err);
	parse_usage(d, json_get(tree, "usageMetadata"));
	if (parse_block(d, json_get(tree, "promptFeedback"), err) < 0)
		return -1;
	cJSON_ArrayForEach (candidate, json_get(tree, "candidates")) {
		const cJSON *content = json_get(candidate, "content");

		if (json_int(candidate, "index", 0) != 0)
			continue;
		if (parse_parts(d, json_get(content, "parts"), err) < 0 ||
		    parse_reason(d, candidate, err) < 0)
			return -1;
	}
	return 0;
}

static int parse_event(struct draft *d, struct str event, struct str data,
		       struct error *err)
{
	(void)event; /* this protocol does not use the event field */
	return draft_feed(d, data, parse_chunk, err);
}

/* True if a finish reason was received: the stream has no other end mark. */
static bool is_complete(const struct draft *d)
{
	return d->finish != 0;
}

static void write_replay(const struct draft_part *p, struct buf *out)
{
	if (!p->extra.len)
		return;
	buf_addc(out, '{');
	buf_addstr(out, buf_str(&p->extra));
	buf_addc(out, '}');
}

const struct wire wire_gemini = {
	.name = "gemini",
	.url = write_url,
	.base_path = "/v1beta",
	/* GIF is not supported: PNG, JPEG, WebP, HEIC, HEIF (ai.google.dev,
	 * "Image understanding", read 2026-11-23) */
	.refuses = "image/gif",
	.idle_ms = 300000, /* long: models may think without sending anything */
	.betas = "anthropic-beta: ",
	.auth = "x-goog-api-key: ",
	.tail = "]}]",
	.options = options,
	.params = fit_params,
	.begin = init_history,
	.head = write_head,
	.push = push_message,
	.event = parse_event,
	.complete = is_complete,
	.replay = write_replay,
};
