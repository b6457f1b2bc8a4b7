/* first_start.c - at the first start without a model: asks for a key, or offers
 * a model server on this machine.
 * SPDX-License-Identifier: MIT
 *
 * A pasted key is stored encrypted, like dcode auth set does, then tested with
 * one short question to its vendor. If the vendor refuses the key, it is
 * removed and dcode asks again. On this machine only two addresses are probed,
 * without a key: Ollama's (OLLAMA_HOST) and that of llama.cpp's server. Begin
 * reading at run_first_start(). */
#include "cmd/first_start.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/credential.h"
#include "cmd/default_model.h"
#include "cmd/secret.h"
#include "cmd/session/conversation.h"
#include "cmd/session/money.h"

enum {
	CHECK_MS = 10000, /* timeout of the question that tests a key */
	LOCAL_MS = 1000,  /* timeout for a local server to list its models */
	CONNECT_MS = 300,
	MODELS_MOST = 9, /* models offered per server */
	NAMES_SHOWN = 2, /* model names shown per server in the menu */
	NAME_MAX_BYTES = 200,
	LEAST_KEY = 16, /* bytes: the vendors' keys are longer */
	LEAST_WORD = 4, /* bytes: shorter input is a number, or a slip */
	LIST_MAX = 1 << 20,
};

static const struct key_vendor {
	const char *provider, *name, *keys_at;
	const char *prefix; /* what this vendor's keys begin with */
} vendors[] = {
	{ "anthropic", "Anthropic", "console.anthropic.com/settings/keys",
	  "sk-ant-" },
	{ "openai", "OpenAI", "platform.openai.com/api-keys", "sk-proj-" },
	{ "google_genai", "Google", "aistudio.google.com/apikey", "AIza" },
};

enum { N_VENDORS = sizeof(vendors) / sizeof(vendors[0]) };

struct local_server {
	const char *provider, *name;
	const char *owner; /* owned_by of the server's models; another value
			      means that another server uses this port */
	char *models[MODELS_MOST]; /* owned */
	size_t n;
};

struct first {
	struct run *r;
	char *room; /* what the user types: VAULT_KEY_MAX bytes of locked
		     memory */
	struct local_server servers[2];
	size_t n_servers; /* number of servers that answered; they are the first
			     in the array */
};

/* Result of asking the user: ask again, a model is chosen, or the user quit. -1
 * with err is an error. */
enum { AGAIN, DONE, LEFT };

static void print_message(const char *text)
{
	struct buf clean = BUF_INIT(1 << 14);

	sanitize_message(str_of(text), &clean);
	fprintf(stderr, "%s\n", clean.len ? clean.ptr : "");
	buf_release(&clean);
}

static void on_delta(void *arg, struct str delta)
{
	(void)arg;
	(void)delta;
}

static void on_restart(void *arg, const char *why)
{
	(void)arg;
	(void)why;
}

/* Sends one short question to the model. *name is its provider:model; owned. */
static int send_test_request(struct run *r, char **name, struct error *err)
{
	const struct model_sink sink = { .text = on_delta,
					 .thinking = on_delta,
					 .restart = on_restart };
	struct model_brief brief = { .system = "Answer briefly." };
	struct stop stop = app_stop(r->app);
	struct model_reply reply = { 0 };
	struct message m = { .role = ROLE_USER };
	struct model_choice c = { 0 };
	struct model *model = NULL;
	struct meter_model *account = NULL;
	int rc = run_find_model(r, &c, err);

	if (rc == 0 && run_money_begin(r, err) == 0) {
		/* the answer counts in --max-usd like any other */
		r->choice = c;
		rc = run_money_model(r, &account, err);
		r->choice = (struct model_choice){ 0 };
	} else {
		rc = -1;
	}
	brief.meter = account;
	if (rc == 0) {
		*name = xasprintf("%s:%s", c.provider, c.model);
		c.max_retries = 0;
		c.busy_ms = 0;
		rc = model_open(&model, app_http(r->app), &c, &brief, err);
	}
	if (rc == 0) {
		stop = stop_within(&stop, CHECK_MS);
		message_add(&m, PART_TEXT)->text =
			xstrdup("Answer with the word ok.");
		model_push(model, &m);
		message_release(&m);
		rc = model_stream(model, &sink, &reply, &stop, err);
		model_reply_release(&reply);
		model_close(model);
	}
	model_choice_release(&c);
	return rc;
}

static int store_key(struct run *r, const char *provider, struct str key,
		     const char *url, struct error *err)
{
	const struct vault_change change = { .name = provider,
					     .key = key,
					     .url = url };
	int rc = credential_store_key(r->app, &change, NULL, err);

	settings_store_changed(r->app->settings);
	return rc;
}

static void report_error(const char *what, const struct error *err)
{
	char *line = xasprintf("%s: %s", what, err->message);

	print_message(line);
	free(line);
}

/* Tests a key that was just stored. If the vendor refuses the key or the user
 * cancels, removes it again. */
static int test_key(struct run *r, const char *provider, struct error *err)
{
	struct error ignored = { 0 };
	struct error why = { 0 };
	char *name = NULL;
	char *line;
	int rc;

	print_message("Checking the key with one short question ...");
	rc = send_test_request(r, &name, &why);
	if (rc < 0 && (why.code == ERR_AUTH || why.code == ERR_CANCELLED)) {
		(void)store_key(r, provider, STR(""), NULL, &ignored);
		if (why.code == ERR_CANCELLED) {
			*err = why;
			rc = -1;
		} else {
			line = xasprintf("%s refuses this key (HTTP %d).",
					 provider, why.http_status);
			print_message(line);
			free(line);
			rc = AGAIN;
		}
	} else if (rc < 0) {
		report_error("The key could not be checked", &why);
		line = xasprintf("The key is stored anyway. To replace it: "
				 "dcode auth set %s",
				 provider);
		print_message(line);
		free(line);
		rc = DONE;
	} else {
		line = xasprintf("%s accepted the key. It is stored encrypted.",
				 name);
		print_message(line);
		free(line);
		rc = DONE;
	}
	free(name);
	return rc;
}

/* Returns the vendor whose keys begin like this one. NULL if the prefix is
 * unknown: a key must not be sent to a guessed vendor. */
static const struct key_vendor *vendor_of_key(struct str key)
{
	for (size_t i = 0; i < N_VENDORS; i++)
		if (key.len >= LEAST_KEY && str_starts(key, vendors[i].prefix))
			return &vendors[i];
	return NULL;
}

/* Prints that this is too short for a key of one of the vendors in the menu.
 * Other servers may have short keys. */
static bool is_too_short(const char *provider, struct str key)
{
	bool known = !provider;
	char *line;

	for (size_t i = 0; i < N_VENDORS && provider; i++)
		known = known || !strcmp(vendors[i].provider, provider);
	if (!known || key.len >= LEAST_KEY)
		return false;
	line = xasprintf("This is too short for an API key (%zu characters), "
			 "so dcode did not send it. Paste the whole key.",
			 key.len);
	print_message(line);
	free(line);
	return true;
}

static int check_and_store_key(struct run *r, const char *provider,
			       struct str key, struct error *err)
{
	const struct key_vendor *v = vendor_of_key(key);
	const char *url = NULL;

	if (!vault_key_ok(key)) {
		print_message(
			"This is not an API key: it has spaces or characters "
			"that are not ASCII.");
		return AGAIN;
	}
	if (is_too_short(provider, key))
		return AGAIN;
	if (v && strcmp(v->provider, provider) != 0) {
		print_message(
			"This key belongs to another vendor, so dcode did not "
			"send it.");
		return AGAIN;
	}
	(void)mask_add(r->app->mask, "API key", key);
	if (credential_ask_address(r->app, provider, &url, err) < 0 ||
	    store_key(r, provider, key, url, err) < 0)
		return -1;
	return test_key(r, provider, err);
}

/* Asks for a key until the vendor accepts one. AGAIN if the user enters an
 * empty line, to return to the menu. */
static int prompt_key(struct first *f, const char *provider, struct error *err)
{
	char *prompt = xasprintf("Paste the key of %s (not shown): ", provider);
	int rc = AGAIN;

	while (rc == AGAIN) {
		int n = secret_ask_or_leave(f->r->app, prompt, f->room,
					    VAULT_KEY_MAX, err);

		if (n == 0 || n == SECRET_LEFT) {
			rc = n == 0 ? AGAIN : LEFT;
			break;
		}
		rc = n < 0 ? -1
			   : check_and_store_key(
				     f->r, provider,
				     (struct str){ f->room, (size_t)n }, err);
	}
	free(prompt);
	return rc;
}

static void add_models(struct local_server *s, const cJSON *list)
{
	const cJSON *m;

	cJSON_ArrayForEach (m, list) {
		const char *id = json_string(m, "id", "");
		const char *owner = json_string(m, "owned_by", "");

		if (!id[0] || strlen(id) > NAME_MAX_BYTES ||
		    s->n == MODELS_MOST ||
		    (s->owner && strcmp(owner, s->owner) != 0))
			continue;
		s->models[s->n++] = xstrdup(id);
	}
}

/* Lists the server's models if it answers within LOCAL_MS. */
static void query_server(struct run *r, struct local_server *s)
{
	struct stop stop = app_stop(r->app);
	struct http_response res = { .body = BUF_INIT(LIST_MAX) };
	struct error ignored = { 0 };
	struct model_choice c = { 0 };
	char *spec = xasprintf("%s:any", s->provider);
	cJSON *tree = NULL;

	stop = stop_within(&stop, LOCAL_MS);
	if (model_choose(&c, r->app->settings, spec, NULL, &ignored) == 0) {
		char *url = xasprintf("%s/models", c.base_url);
		const struct http_request req = {
			.method = "GET",
			.url = url,
			.connect_ms = CONNECT_MS,
			.flags = HTTP_NO_PROXY | HTTP_ONCE | HTTP_PROBE,
		};

		if (http_do(app_http(r->app), &req, &res, &stop, &ignored) ==
			    0 &&
		    res.status == 200)
			tree = json_parse(buf_str(&res.body));
		free(url);
	}
	add_models(s, json_get(tree, "data"));
	cJSON_Delete(tree);
	http_response_release(&res);
	model_choice_release(&c);
	free(spec);
}

static void find_servers(struct first *f)
{
	static const struct local_server known[] = {
		{ .provider = "ollama", .name = "Ollama" },
		{ .provider = "llamacpp",
		  .name = "llama.cpp",
		  .owner = "llamacpp" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		f->servers[f->n_servers] = known[i];
		query_server(f->r, &f->servers[f->n_servers]);
		f->n_servers += f->servers[f->n_servers].n > 0;
	}
}

/* Appends for example "qwen3:8b, llama3.2 and 3 more". */
static void add_names(const struct local_server *s, struct buf *out)
{
	for (size_t i = 0; i < s->n && i < NAMES_SHOWN; i++) {
		buf_adds(out, i ? ", " : "");
		sanitize_line(str_of(s->models[i]), out);
	}
	if (s->n > NAMES_SHOWN)
		buf_addf(out, " and %zu more", s->n - NAMES_SHOWN);
}

/* Returns the menu as a prompt. Owned. */
static char *format_menu(const struct first *f)
{
	struct buf out = BUF_INIT(1 << 14);
	size_t n = 0;

	buf_adds(&out, "Choose a model provider: paste an API key or type a "
		       "number (input is hidden):\n");
	for (size_t i = 0; i < N_VENDORS; i++)
		buf_addf(&out, "  %zu  %-9s  a key from https://%s\n", ++n,
			 vendors[i].name, vendors[i].keys_at);
	for (size_t i = 0; i < f->n_servers; i++) {
		buf_addf(&out, "  %zu  %-9s  on this machine: ", ++n,
			 f->servers[i].name);
		add_names(&f->servers[i], &out);
		buf_addc(&out, '\n');
	}
	buf_adds(&out, "  q  leave\n> ");
	return buf_detach(&out);
}

/* Selects the model for this run and stores it as the default. */
static int set_default_model(struct first *f, const char *provider,
			     const char *model, struct error *err)
{
	struct app *app = f->r->app;
	struct error why = { 0 };
	char *spec = xasprintf("%s:%s", provider, model);
	char *line = xasprintf(
		"Default model set to %s (models.default in config.toml).",
		spec);
	int rc = settings_set_flag(app->settings, "models.default", spec, err);

	if (rc == 0 && models_default_store(app, spec, &why) < 0)
		report_error("The choice could not be stored", &why);
	else if (rc == 0)
		print_message(line);
	free(line);
	free(spec);
	return rc < 0 ? -1 : DONE;
}

/* Returns the number in the typed text if it is from 1 to most, otherwise 0. */
static size_t number_of(const struct first *f, int n, size_t most)
{
	int64_t number = 0;

	if (n > 0 && str_to_int((struct str){ f->room, (size_t)n }, &number) &&
	    number >= 1 && number <= (int64_t)most)
		return (size_t)number;
	return 0;
}

/* Asks which model of the server to use. If it has only one, uses that without
 * asking. */
static int choose_local(struct first *f, const struct local_server *s,
			struct error *err)
{
	struct buf list = BUF_INIT(1 << 14);
	size_t number = 0;

	if (s->n == 1)
		return set_default_model(f, s->provider, s->models[0], err);
	for (size_t i = 0; i < s->n; i++) {
		buf_addf(&list, "%s  %zu  ", i ? "\n" : "", i + 1);
		sanitize_line(str_of(s->models[i]), &list);
	}
	print_message(list.ptr);
	buf_release(&list);
	while (!number) {
		int n = secret_ask_or_leave(f->r->app,
					    "Number of the model: ", f->room,
					    VAULT_KEY_MAX, err);

		if (n <= 0)
			return n == SECRET_LEFT ? LEFT : n < 0 ? -1 : AGAIN;
		number = number_of(f, n, s->n);
	}
	return set_default_model(f, s->provider, s->models[number - 1], err);
}

/* Handles a menu answer: "q", a number, or a pasted key. */
static int handle_answer(struct first *f, int n, struct error *err)
{
	struct str typed = { f->room, (size_t)n };
	size_t number = number_of(f, n, N_VENDORS + f->n_servers);
	const struct key_vendor *v = vendor_of_key(typed);
	int rc;

	if (str_is_nocase(typed, "q"))
		return LEFT;
	if (v) {
		rc = check_and_store_key(f->r, v->provider, typed, err);
		return rc == AGAIN ? prompt_key(f, v->provider, err) : rc;
	}
	if (number > N_VENDORS)
		return choose_local(f, &f->servers[number - N_VENDORS - 1],
				    err);
	if (number)
		return prompt_key(f, vendors[number - 1].provider, err);
	if (typed.len < LEAST_WORD)
		print_message("This is not in the list.");
	else if (!is_too_short(NULL, typed))
		print_message("Cannot tell which vendor this key belongs to. "
			      "Type the vendor's number first.");
	return AGAIN;
}

static int prompt_menu(struct first *f, struct error *err)
{
	int rc = AGAIN;

	find_servers(f);
	while (rc == AGAIN) {
		char *prompt = format_menu(f);
		int n = secret_ask_or_leave(f->r->app, prompt, f->room,
					    VAULT_KEY_MAX, err);

		free(prompt);
		rc = n == SECRET_LEFT ? LEFT
		     : n < 0          ? -1
				      : handle_answer(f, n, err);
	}
	return rc;
}

/* Returns the provider of the model that -M or models.default names, in the
 * form under which its key is stored. Owned. NULL if there is no such model, or
 * if its provider needs no key. */
static char *named_provider(const struct run *r)
{
	const char *spec = run_given_model(r);
	struct error ignored = { 0 };
	struct credential c = { 0 };
	char *full = NULL;
	char *name;

	if (!spec)
		(void)settings_string(r->app->settings, NULL, "models.default",
				      &spec, &ignored);
	if (!spec || !spec[0] ||
	    model_full_name(r->app->settings, spec, &full, &ignored) < 0)
		return NULL;
	full[strcspn(full, ":")] = '\0';
	(void)credential_find(&c, r->app, full, &ignored);
	name = c.name ? xstrdup(c.name) : NULL;
	credential_release(&c);
	free(full);
	return name;
}

static int prompt_named_key(struct first *f, const char *provider,
			    struct error *err)
{
	char *line = xasprintf("No API key for %s yet. Press Enter to quit.",
			       provider);
	int rc;

	print_message(line);
	free(line);
	rc = prompt_key(f, provider, err);
	return rc == AGAIN ? LEFT : rc;
}

/* Sets why->exact to what keeps a model from being used: no key at all, or no
 * key for the chosen model. */
static void find_missing(const struct run *r, struct error *why)
{
	struct model_choice c = { 0 };

	if (run_find_model(r, &c, why) == 0)
		model_choice_release(&c);
}

/* Returns 1 without asking if no key is missing or there is no terminal. */
int run_first_start(struct run *r, struct error *err)
{
	struct first f = { .r = r };
	struct error why = { 0 };
	bool any;
	char *provider = NULL;
	int rc = DONE;

	if (!secret_terminal(r->app) || !isatty(STDOUT_FILENO))
		return 1;
	find_missing(r, &why);
	any = why.exact == CASE_NO_KEYS;
	if (!any && why.exact != CASE_NO_KEY)
		return 1;
	f.room = secret_room(VAULT_KEY_MAX);
	if (any)
		rc = prompt_menu(&f, err);
	else if ((provider = named_provider(r)) != NULL)
		rc = prompt_named_key(&f, provider, err);
	if (rc == LEFT)
		print_message(
			"To store a key later: dcode auth set anthropic. For "
			"other models: dcode help models.");
	for (size_t i = 0; i < f.n_servers; i++)
		for (size_t k = 0; k < f.servers[i].n; k++)
			free(f.servers[i].models[k]);
	secret_free(f.room);
	free(provider);
	return rc < 0 ? -1 : rc == DONE;
}
