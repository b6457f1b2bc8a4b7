/* app.c - state that all commands share; each part is created on first use. */
/* SPDX-License-Identifier: MIT */
/*
 * This file also handles signals. on_signal() triggers app.cancel, which ends
 * the current work. If the terminal is lost (SIGHUP), the chat or the task then
 * closes its run as usual: lifecycle_close() deletes the sandbox, unless the
 * user chose to keep it. Its caller is run_undo() in cmd/session/open.c.
 */
#include "cmd/app.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sodium.h>

#include "base/ids.h"
#include "base/io.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/sanitize.h"
#include "base/shapes/shapes.h"
#include "base/str.h"
#include "config/masking.h"
#include "config/settings_env.h"
#include "hooks/hooks.h"
#include "model/wires/bedrock.h"
#include "providers/registry.h"
#include "sandbox/secrets/secrets.h"
#include "session/thread_file.h"
#include "term/tty.h"
#include "trust/trust.h"

/* The state that the signal handler uses: the cancel pipe to trigger, the
 * descriptor for its last message, the last signal's number, and the number of
 * signals so far. */
static const struct cancel *signal_cancel;
static volatile sig_atomic_t signal_output = STDERR_FILENO;
static atomic_int signal_number; /* read by any thread */
static volatile sig_atomic_t signal_count;

enum {
	IMPATIENT = 3, /* number of signals of any kind after which dcode exits
			  at once */
	SAME_PRESS = 100, /* ms; a SIGINT this soon after another one is the
			     same key press: some programs forward it both to
			     their child and to the child's process group */
	SIMILAR = 2,      /* maximum edit distance of a suggested name */
};

static int64_t signal_ms; /* now_ms() at the last signal */

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t); /* async-signal-safe */
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Cancels the work on the first signal. A second Ctrl-C, or the third signal of
 * any kind, exits at once. */
static void on_signal(int number)
{
	static const char bye[] =
		"\ndcode: stopped without cleaning up. \"dcode sandbox list\" "
		"shows the sandboxes that are left; \"dcode sandbox gc\" "
		"deletes them\n";

	/* Only a second SIGINT exits at once, even during cleanup: a closing
	 * terminal may send several other signals. */
	if (number == SIGINT && signal_number == SIGINT) {
		if (now_ms() - signal_ms < SAME_PRESS)
			return;
		tty_restore();
		(void)!io_write(signal_output, bye, sizeof(bye) - 1);
		_exit(128 + number);
	}
	signal_number = number;
	signal_ms = now_ms();
	if (++signal_count >= IMPATIENT) {
		tty_restore();
		_exit(128 + number);
	}
	if (signal_cancel)
		cancel_trigger(signal_cancel);
}

void app_signal_output(int fd)
{
	signal_output = fd;
}

int app_signal(void)
{
	return signal_number;
}

void app_signal_clear(struct app *app)
{
	signal_number = 0;
	signal_count = 0;
	cancel_reset(&app->cancel);
}

static void catch_signals(void)
{
	static const int caught[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction act = { .sa_handler = on_signal };
	struct sigaction was;

	sigemptyset(&act.sa_mask);
	for (size_t i = 0; i < sizeof(caught) / sizeof(*caught); i++) {
		/* nohup and "&" in a shell let the program ignore signals: keep
		 * ignoring them */
		if (sigaction(caught[i], NULL, &was) == 0 &&
		    was.sa_handler == SIG_IGN)
			continue;
		sigaction(caught[i], &act, NULL);
	}
	act.sa_handler = SIG_IGN;
	sigaction(SIGPIPE, &act, NULL);
	sigaction(SIGXFSZ, &act, NULL); /* a write beyond the file size limit
					   then fails with EFBIG */
}

int app_init(struct app *app, struct error *err)
{
	*app = (struct app){ .cancel = { { -1, -1 } } };
	ids_init();
	errno = pthread_key_create(&app->own_store, NULL);
	if (errno)
		return error_errno(err, "preparing the threads");
	if (cancel_init(&app->cancel, err) < 0)
		return -1;
	signal_cancel = &app->cancel;
	catch_signals();
	output_guard(&app->guard, &app->mask);
	return 0;
}

/* Frees the current settings and those that a reload has replaced. */
static void settings_release(struct app *app)
{
	if (app->settings)
		settings_free(app->settings);
	while (app->retired) {
		struct app_retired *old = app->retired;

		app->retired = old->next;
		registry_free(old->providers);
		settings_free(old->settings);
		free(old);
	}
	free(app->groups);
}

/* Frees the members in reverse order of use: hooks first, settings last. */
void app_release(struct app *app)
{
	hooks_free(app->hooks); /* hooks that are still running use the members
				   freed below */
	thread_transcript_free(app->transcript);
	store_close(app->beside);
	if (app->store)
		store_close(app->store);
	(void)pthread_key_delete(app->own_store);
	if (app->http)
		http_free(app->http);
	output_release(&app->guard);
	if (app->mask)
		mask_free(app->mask);
	sodium_free(app->passphrase);
	meter_free(app->meter);
	trust_free(app->trust);
	registry_free(app->providers);
	settings_release(app);
	signal_cancel = NULL;
	cancel_release(&app->cancel);
}

int app_providers(struct app *app, struct registry **r, struct error *err)
{
	struct settings *set;

	if (app_settings(app, &set, err) < 0)
		return -1;
	if (!app->providers)
		app->providers = registry_new(set, app_warn_line);
	*r = app->providers;
	return 0;
}

static void on_wait(void *arg, const char *line)
{
	struct buf text = BUF_INIT(1 << 12);
	const struct app *app = arg;

	sanitize_text(str_of(line), &text);
	if (!app->quiet)
		fprintf(stderr, "%s\n", text.len ? text.ptr : "");
	buf_release(&text);
}

struct http *app_http(struct app *app)
{
	if (app->http)
		return app->http;
	app->http = http_new(NULL);
	http_on_wait(app->http, on_wait, app);
	return app->http;
}

/* Applies [threads] max_size_mb and when_full to the store. */
static int set_capacity(struct app *app, struct error *err)
{
	const char *full = NULL;
	int64_t mib = 0;
	bool prune;

	if (settings_int(app->settings, NULL, "threads.max_size_mb", &mib,
			 err) < 0 ||
	    settings_string(app->settings, NULL, "threads.when_full", &full,
			    err) < 0)
		return -1;
	prune = full && !strcmp(full, "prune");
	if (full && !prune && strcmp(full, "stop"))
		return error_set(err, ERR_CONFIG,
				 "[threads] when_full = \"%s\": use stop or "
				 "prune",
				 full);
	if (mib < 0 || mib > INT32_MAX)
		return error_set(err, ERR_CONFIG,
				 "[threads] max_size_mb = %lld: use MiB, or 0 "
				 "for no cap",
				 (long long)mib);
	store_set_capacity(app->store, mib, prune);
	return 0;
}

int app_store_later(struct app *app, struct store **store, struct error *err)
{
	struct store *own = pthread_getspecific(app->own_store);
	struct settings *set;
	char *path;

	if (own) {
		*store = own;
		return 0;
	}
	if (!app->store) {
		if (app_settings(app, &set, err) < 0)
			return -1;
		path = path_join(settings_dir(set), ".state/dcode.db");
		app->store = store_new(path, app_warn_line);
		free(path);
		if (set_capacity(app, err) < 0) {
			store_close(app->store);
			app->store = NULL;
			return -1;
		}
	}
	*store = app->store;
	return 0;
}

void app_use_store_beside(struct app *app)
{
	if (!app->beside)
		app->beside = store_again(app->store);
	if (pthread_setspecific(app->own_store, app->beside))
		abort(); /* without it two threads would share a connection */
}

int app_store(struct app *app, struct store **store, struct error *err)
{
	if (app_store_later(app, store, err) < 0)
		return -1;
	return store_ready(*store, err);
}

char *app_state_path(struct app *app, const char *name, struct error *err)
{
	struct settings *set;

	if (app_settings(app, &set, err) < 0)
		return NULL;
	return xasprintf("%s/.state%s%s", settings_dir(set), name[0] ? "/" : "",
			 name);
}

static void update_nearest(const char *name, const char *word, size_t *least,
			   const char **best)
{
	size_t d = word ? nearest_distance(str_of(name), str_of(word)) : *least;

	if (d < *least) {
		*least = d;
		*best = word;
	}
}

/* Searches the names and second names of all providers with isolation. */
const char *app_similar_provider(struct app *app, const char *name)
{
	const struct sandbox_provider *const *all;
	struct error ignored = { 0 };
	struct registry *registry;
	const char *best = NULL;
	size_t least = SIMILAR + 1;

	if (strlen(name) <= SIMILAR ||
	    app_providers(app, &registry, &ignored) < 0)
		return NULL;
	all = registry_list(registry);
	for (size_t i = 0; all[i]; i++) {
		if (all[i]->flags & SANDBOX_UNISOLATED)
			continue;
		update_nearest(name, all[i]->name, &least, &best);
		update_nearest(name, all[i]->also, &least, &best);
	}
	return best;
}

int app_unknown_provider(struct app *app, const char *name, struct error *err)
{
	const char *similar = app_similar_provider(app, name);

	error_set(err, ERR_USAGE, "Unknown sandbox provider '%s'%s%s%s", name,
		  similar ? ". Did you mean " : "", similar ? similar : "",
		  similar ? "?" : "");
	error_topic(err, "sandboxes");
	return error_hint(err, "`dcode provider list` shows all.");
}

/* Returns the manual page about this sandbox provider. */
static const char *provider_topic(const struct sandbox_provider *p)
{
	if (p->topic)
		return p->topic;
	return sandbox_provider_find(p->name) ? "cloud" : "providers";
}

struct missing_key {
	const struct settings *set;
	const char *group;
	char *name; /* owned */
};

/* settings_each_credential() callback: finds the first missing key. */
static bool find_missing_key(void *arg, const struct settings_credential *c)
{
	struct missing_key *m = arg;

	if (c->group && !strcmp(c->group, m->group) &&
	    (c->required || !strcmp(c->name, m->group)) &&
	    !settings_credential(m->set, c->variable, NULL))
		m->name = xstrdup(c->name);
	return !m->name;
}

/* If the provider has no key, puts before the hint how to store one. */
static void hint_auth_set(const struct sandbox_provider *p,
			  const struct settings *set, struct error *err)
{
	struct missing_key m = { set, p->name, NULL };
	char *hint;

	if (err->code != ERR_AUTH)
		return;
	settings_each_credential(set, find_missing_key, &m);
	if (!m.name)
		return;
	hint = xasprintf("To store a key: dcode auth set %s. %s", m.name,
			 err->hint);
	error_hint(err, "%s", hint);
	free(hint);
	free(m.name);
}

int app_client_check(struct app *app, const char *provider,
		     struct sandbox_client *client, struct error *err)
{
	const struct sandbox_provider *p;
	struct registry *registry;
	struct settings *set;

	if (app_settings(app, &set, err) < 0)
		return -1;
	/* "none" always means this machine, even if config.toml has a provider
	 * of that name */
	if (sandbox_is_none(provider))
		p = sandbox_provider_find(provider);
	else if (app_providers(app, &registry, err) < 0)
		return -1;
	else
		p = registry_find(registry, provider);
	if (!p)
		return app_unknown_provider(app, provider, err);
	if (sandbox_client_open_as(client, p, provider, set, app_http(app),
				   err) < 0) {
		hint_auth_set(p, set, err);
		error_topic(err, provider_topic(p));
		return -1;
	}
	return 0;
}

/* Warns that the provider name gets a key from the project's .env. variable is
 * the key's name. */
static void warn_project_key(const struct app *app, const char *variable,
			     const char *name)
{
	char *from = settings_credential_name(app->settings, variable);
	char *line = xasprintf("%s uses the key %s from this project's files: "
			       "whoever owns that key sees what you send",
			       name, from);

	app_warn_line(line);
	free(line);
	free(from);
}

int app_client(struct app *app, const char *provider,
	       struct sandbox_client *client, struct error *err)
{
	if (app_client_check(app, provider, client, err) < 0)
		return -1;
	/* Its passphrase is asked for here, where the terminal is the caller's,
	 * and not when a sandbox is created, perhaps on another thread. */
	if (client->provider->secrets)
		secrets_open_store(app->settings);
	if (client->project_key)
		warn_project_key(app, client->project_key, provider);
	return 0;
}

static bool has_endpoint(const struct sandbox_client *client,
			 const char *endpoint)
{
	return client->endpoint && !strcmp(client->endpoint, endpoint);
}

int app_client_at(struct app *app, const char *provider, const char *endpoint,
		  struct sandbox_client *client, struct error *err)
{
	int rc = app_client(app, provider, client, err);
	const struct sandbox_provider *p = sandbox_provider_find(provider);
	struct sandbox_client other = { 0 };
	struct error ignored = { 0 };

	if (!endpoint || !p || !p->also ||
	    (rc == 0 && has_endpoint(client, endpoint)) ||
	    app_client_check(app, p->also, &other, &ignored) < 0)
		return rc;
	if (other.provider != p || !has_endpoint(&other, endpoint)) {
		sandbox_client_close(&other);
		return rc;
	}
	if (rc == 0)
		sandbox_client_close(client);
	*client = other;
	*err = (struct error){ 0 };
	return 0;
}

void app_mask_model_key(struct app *app, const struct model_choice *c)
{
	const char *secrets[3];

	if (c->project_key)
		warn_project_key(app, c->project_key, c->provider);
	if (c->api_key)
		(void)mask_add(app->mask, c->key_env ? c->key_env : "API_KEY",
			       str_of(c->api_key));
	bedrock_account_secrets(c->aws, secrets);
	for (size_t i = 0; secrets[i]; i++)
		(void)mask_add(app->mask, "AWS_SECRET_ACCESS_KEY",
			       str_of(secrets[i]));
}

void app_borrow_terminal(const struct app *app)
{
	if (app->terminal)
		app->terminal->borrow(app->terminal->arg);
}

void app_return_terminal(const struct app *app)
{
	if (app->terminal)
		app->terminal->give_back(app->terminal->arg);
}

struct stop app_stop(const struct app *app)
{
	return stop_on(&app->cancel);
}

void app_clean(const struct app *app, enum clean_kind kind, struct str text,
	       struct buf *out)
{
	mask_clean(app ? app->mask : NULL, kind, text, out);
}

int app_exit_status(const struct error *err)
{
	if (err->code == ERR_USAGE || err->code == ERR_UNGUARDED)
		return 2;
	if (err->code == ERR_POLICY)
		return STATUS_POLICY;
	if (err->code == ERR_CANCELLED)
		return signal_number ? 128 + signal_number : 130;
	return 1;
}

/* True if the chat has a slash command with the name of this shell command. */
static bool is_in_chat(struct str rest)
{
	static const char *const names[] = { "apply",   "diff",    "sync",
					     "threads", "sandbox", "config",
					     "auth",    "install", "help",
					     "mcp",     "skills",  "undo" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		size_t len = strlen(names[i]);

		if (str_starts(rest, names[i]) &&
		    (rest.len == len || !isalnum((unsigned char)rest.ptr[len])))
			return true;
	}
	return false;
}

/* True if rest begins with the option -M alone, as in "another model (-M)". */
static bool is_model_option(struct str rest)
{
	return str_starts(rest, "-M") &&
	       (rest.len == 2 || strchr(" )", rest.ptr[2]));
}

void app_add_advice(const struct app *app, const char *text, struct buf *out)
{
	static const char shell[] = "dcode ";
	struct str rest = str_of(text);

	while (rest.len) {
		bool ours = app && app->chat && str_starts(rest, shell) &&
			    is_in_chat(str_skip(rest, sizeof(shell) - 1));

		if (app && app->chat && is_model_option(rest)) {
			buf_adds(out, "/model");
			rest = str_skip(rest, 2);
			continue;
		}
		buf_addc(out, ours ? '/' : rest.ptr[0]);
		rest = str_skip(rest, ours ? sizeof(shell) - 1 : 1);
	}
}

void app_print_advice(const struct app *app, const char *text)
{
	struct buf out = BUF_INIT(1 << 16);

	app_add_advice(app, text, &out);
	output_line(buf_str(&out));
	buf_release(&out);
}

/* Returns the manual page that helps with this error, or NULL. */
static const char *topic_of(const struct error *err)
{
	if (err->topic)
		return err->topic;
	if (err->code == ERR_BUDGET)
		return "cost";
	return err->code == ERR_POLICY ? "policy" : NULL;
}

static void print_topic(const struct app *app, const char *topic)
{
	char line[64];

	snprintf(line, sizeof(line), "More: dcode help %s", topic);
	app_print_advice(app, line);
}

int app_fail(struct app *app, const struct error *err)
{
	struct buf message = BUF_INIT(1 << 20);
	struct buf hint = BUF_INIT(1 << 20);
	struct buf advice = BUF_INIT(1 << 16);
	const char *topic = topic_of(err);
	int status = app_exit_status(err);

	buf_adds(&message, "Error: ");
	app_clean(app, CLEAN_MESSAGE, str_of(err->message), &message);
	app_add_advice(app, err->hint, &advice);
	app_clean(app, CLEAN_MESSAGE, buf_str(&advice), &hint);
	buf_release(&advice);
	output_line(buf_str(&message));
	if (hint.len)
		output_line(buf_str(&hint));
	if (topic)
		print_topic(app, topic);
	if (app->json) {
		struct buf out = BUF_INIT(1 << 20);

		buf_adds(&out, "{\"schema_version\":1,\"error\":{");
		json_member(&out, "code", str_of(error_name(err->code)));
		buf_addc(&out, ',');
		json_member(&out, "message",
			    str_skip(buf_str(&message), strlen("Error: ")));
		buf_addc(&out, ',');
		json_member(&out, "hint", buf_str(&hint));
		buf_addc(&out, ',');
		json_member(&out, "topic", str_of(topic));
		buf_addf(&out, "},\"exit_status\":%d}\n", status);
		fwrite(out.ptr, 1, out.len, stdout);
		buf_release(&out);
	}
	buf_release(&message);
	buf_release(&hint);
	return status;
}

void app_warn_line(const char *line)
{
	struct buf text = BUF_INIT(SIZE_MAX / 4);

	buf_adds(&text, "Warning: ");
	sanitize_line(str_of(line), &text);
	output_line(buf_str(&text));
	buf_release(&text);
}

void app_warn(const char *fmt, ...)
{
	char *line;
	va_list ap;

	va_start(ap, fmt);
	line = xvasprintf(fmt, ap);
	va_end(ap);
	app_warn_line(line);
	free(line);
}

void app_envelope(const char *command, const struct buf *data)
{
	struct buf head = BUF_INIT(1 << 10);

	buf_adds(&head, "{\"schema_version\":1,");
	json_member(&head, "command", str_of(command));
	buf_adds(&head, ",\"data\":");
	fwrite(head.ptr, 1, head.len, stdout);
	fwrite(data->len ? data->ptr : "null", 1, data->len ? data->len : 4,
	       stdout);
	fputs("}\n", stdout);
	buf_release(&head);
}

static void add_secret(void *arg, const char *name, const char *value)
{
	(void)mask_add(arg, name, str_of(value));
}

static struct setting_group *list_groups(void)
{
	struct setting_group *groups;
	size_t n = 0;

	while (sandbox_providers[n])
		n++;
	groups = xcalloc(n + 2, sizeof(*groups));
	groups[0].rows = settings_core;
	for (size_t i = 0; i < n; i++) {
		groups[i + 1].name = sandbox_providers[i]->name;
		groups[i + 1].rows = sandbox_providers[i]->settings;
		groups[i + 1].also = sandbox_providers[i]->also;
	}
	return groups;
}

enum { TOLD_MAX = 8192 /* bytes */ };

/* Stores the last warning about ignored settings, so that it is not repeated.
 * If that fails, the next run prints it again. */
static void store_warning(const char *dir, const char *file, const char *line)
{
	struct error ignored = { 0 };

	if (path_mkdirs(dir, 0700, &ignored) == 0)
		(void)path_write(file, str_of(line), 0600, &ignored);
}

/* config.toml is shared with the Python program and may have settings that
 * dcode does not know. Warns about them once, and again when the list of these
 * settings changes. */
static void warn_foreign(struct app *app, const struct settings *set)
{
	const char *line = settings_foreign(set);
	char *dir = path_join(settings_dir(set), ".state");
	char *file = path_join(dir, "ignored-settings");
	struct buf told = BUF_INIT(TOLD_MAX);
	struct error ignored = { 0 };

	if (path_read(file, &told, &ignored) < 0 || !told.len ||
	    strcmp(told.ptr, line) != 0) {
		app_warn("%s", line);
		app->told_foreign = true;
		store_warning(dir, file, line);
	}
	buf_release(&told);
	free(file);
	free(dir);
}

void app_tell_foreign(struct app *app)
{
	const char *line = settings_foreign(app->settings);

	if (line && !app->told_foreign)
		app_warn("%s", line);
	app->told_foreign = true;
}

/* Applies [redact]. After a fault all built-in kinds are masked, and
 * settings_unguarded() tells it. fresh: the mask is new. */
static void set_shapes(struct app *app, const struct settings *set, bool fresh)
{
	struct error ignored = { 0 };
	struct shapes *shapes = NULL;
	struct masking m = { 0 };

	if (settings_list(set, NULL, "redact.kinds_off", &m.off, &m.n_off,
			  &ignored) == 0 &&
	    settings_list(set, NULL, "redact.patterns", &m.patterns,
			  &m.n_patterns, &ignored) == 0)
		(void)masking_shapes(&m, &shapes, &ignored);
	if (shapes || !fresh)
		mask_set_shapes(app->mask, shapes ? shapes : shapes_new());
}

/* Fills in the members of in that are the same for every load, then loads the
 * settings. */
static int load_settings(struct app *app, struct settings_input in,
			 struct settings **set, struct error *err)
{
	extern char **environ;
	bool fresh = !app->mask;
	const char *const *lines;
	size_t n;

	in.groups = app->groups;
	in.store = &app->keys;
	in.quiet = app->quiet;
	if (settings_load(set, &in, err) < 0)
		return -1;
	settings_wipe_environ(*set, environ);
	if (!app->mask)
		app->mask = mask_new();
	settings_each_secret(*set, add_secret, app->mask);
	set_shapes(app, *set, fresh);
	n = settings_warnings(*set, &lines);
	for (size_t i = 0; i < n; i++)
		app_warn("%s", lines[i]);
	if (settings_foreign(*set))
		warn_foreign(app, *set);
	return 0;
}

/* The first call loads the settings. Later calls return those of the last load
 * or reload. */
int app_settings(struct app *app, struct settings **set, struct error *err)
{
	extern char **environ;
	char *cwd;
	int rc;

	*set = app->settings;
	if (app->settings)
		return 0;
	cwd = getcwd(NULL, 0);
	if (!app->groups)
		app->groups = list_groups();
	rc = load_settings(app,
			   (struct settings_input){
				   .environ = environ,
				   .cwd = cwd ? cwd : "/",
				   /* getenv() is safe: no thread runs yet */
				   .home = getenv("HOME"),
			   },
			   &app->settings, err);
	free(cwd);
	if (rc < 0)
		return -1;
	for (size_t i = 0; sandbox_providers[i]; i++)
		if (sandbox_providers[i]->sweep)
			sandbox_providers[i]->sweep(
				settings_dir(app->settings));
	*set = app->settings;
	return 0;
}

/* Fails if restrictions cannot be read from the new files, for example because
 * config.toml was saved half edited. The reload would drop them. */
static int check_reloaded(const struct settings *set, struct error *err)
{
	const char *policy = settings_policy_error(set);
	const char *fault = settings_unguarded(set);

	if (policy)
		return error_set(err, ERR_POLICY,
				 "the policy of this machine: %s", policy);
	return fault ? error_set(err, ERR_UNGUARDED, "%s", fault) : 0;
}

/* Moves the replaced settings and providers to app->retired, because pointers
 * into them may still be in use. */
int app_settings_reload(struct app *app, struct error *err)
{
	struct app_retired *old = xcalloc(1, sizeof(*old));
	char **environ_then = settings_environ_exported(app->settings);
	struct settings_input in = { .environ = environ_then,
				     .cwd = settings_cwd(app->settings),
				     .home = settings_home(app->settings) };
	struct settings *set;
	int rc = load_settings(app, in, &set, err);

	settings_environ_free(environ_then);
	if (rc == 0 && check_reloaded(set, err) < 0) {
		settings_free(set);
		rc = -1;
	}
	if (rc < 0) {
		free(old);
		return -1;
	}
	*old = (struct app_retired){ app->settings, app->providers,
				     app->retired };
	app->retired = old;
	app->settings = set;
	app->providers = NULL;
	return 0;
}
