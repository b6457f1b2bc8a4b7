/* app.h - what the commands share, each part made when first asked for. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_APP_H
#define CMD_APP_H

#include <stdbool.h>

#include "base/mask/mask.h"
#include "base/stop.h"
#include "config/settings.h"
#include "model/model.h"
#include "model/money.h"
#include "net/http.h"
#include "providers/registry.h"
#include "sandbox/sandbox.h"
#include "session/session.h"

enum {                       /* exit statuses beside 0, 1, 2 and 128 + signal */
       STATUS_POLICY = 78,   /* EX_CONFIG: the machine's policy */
       STATUS_NO_ANSWER = 3, /* of -n: the model gave none */
       STATUS_REFUSED = 4,   /* of -n: no call that acts was allowed */
       STATUS_REPEATS = 5,   /* of -n: one call failed again and again */
       STATUS_PIPE = 141,    /* nobody reads stdout any more */
};

struct app_chat {           /* the chat that a command is typed in; borrowed */
	const char *thread; /* its id */
	const char *label;  /* of its sandbox, in the ledger */
	struct sandbox *sandbox;
	const char *const *include; /* its patterns of --include */
	size_t n_include;
};

/* Who draws on the terminal. What asks there itself has it as it is without a
 * screen between app_borrow_terminal() and app_return_terminal(). */
struct app_terminal {
	void (*borrow)(void *arg);
	void (*give_back)(void *arg);
	void *arg;
};

/* A question of the program's own that has a few answers. All borrowed. */
struct app_question {
	const char *text;           /* "Allow it?" */
	const char *choices;        /* as they are shown: "y/N" */
	const char *const *answers; /* each by its word or its first letter */
	size_t n;
	size_t usual; /* the answer of Enter alone */
	size_t safe;  /* does the least: where the arrow keys begin */
	bool escapes; /* Esc answers with safe */
	bool drafts;  /* what is no answer becomes the message being written */
};

/* Who puts such a question in a chat, where a message may be half written. */
struct app_asker {
	/* The index of the answer, or -1 with err: ERR_CANCELLED at the end of
	 * input too. On the thread that the chat's work is done on. */
	int (*choose)(void *arg, const struct app_question *q,
		      struct error *err);
	void *arg;
};

/* What a reload has replaced: others borrow from it still. */
struct app_retired {
	struct settings *settings;
	struct registry *providers; /* or NULL */
	struct app_retired *next;
};

struct command;
struct slash_command;

struct app {
	/* All that the program has, NULL ends them; set by main(). */
	const struct command *const *commands;
	/* Triggered by SIGINT, SIGTERM, SIGQUIT, and SIGHUP (the terminal is
	 * lost): what runs ends, and lifecycle_close() deletes its sandbox, or
	 * keeps it where the user said so. A second Ctrl-C, or a third signal
	 * of any kind, leaves at once. */
	struct cancel cancel;
	bool json;                         /* --json */
	bool quiet;                        /* -q */
	bool unattended;                   /* nobody may be asked anything */
	bool goes_without;                 /* the user was asked: a fault in
					      config.toml that restricts nothing
					      ends nothing */
	unsigned trusted;                  /* kinds that flags allow: trust.h */
	const struct slash_command *slash; /* the chat's commands; main sets it:
					      their rows name what is above
					      the chat */
	const struct app_chat *chat;       /* NULL: a command of the shell */
	const struct app_terminal *terminal; /* NULL: nobody draws there */
	const struct app_asker *asker;       /* of a chat, or NULL */
	/* Made on demand; use the functions below. */
	struct settings *settings;
	struct setting_group *groups; /* what settings was loaded with */
	bool told_foreign;            /* settings_foreign(), in this run */
	struct registry *providers;
	struct http *http;
	struct store *store;
	struct store *beside; /* by app_store_beside(), or NULL */
	struct mask *mask;
	struct meter *meter;          /* by run_money_begin(), or NULL */
	struct pictures *pictures;    /* of a chat, or NULL */
	struct login *_Atomic logins; /* to MCP servers: logins.h, or NULL */
	char *passphrase;             /* of the stored keys, as it was typed: in
					 locked memory, or NULL */
	struct trust *trust;          /* by project_trust_open(), or NULL */
	struct hooks *hooks; /* by run_hooks_open(), or NULL: there are none */
	bool hooks_read;
	/* For hooks; by run_hooks_follow(), or NULL. */
	struct thread_transcript *transcript;
	struct app_retired *retired;
	struct settings_store keys; /* main() says how stored keys are opened */
};

int app_init(struct app *app, struct error *err);
void app_release(struct app *app);

/* Settings of this user and directory; warnings go to stderr once. */
int app_settings(struct app *app, struct settings **set, struct error *err);
/* After app_settings(): says what settings_foreign() is also where an earlier
 * run has said it. */
void app_tell_foreign(struct app *app);
/* Reads the settings again, with the environment that dcode was started with;
 * on -1 they stay as they are. Those of before stay good to borrow from. */
int app_settings_reload(struct app *app, struct error *err);
/* For app_release(). */
void app_settings_release(struct app *app);
/* Every provider of this user; warnings go to stderr once. */
int app_providers(struct app *app, struct registry **r, struct error *err);
/* Starts loading libcurl on a thread; never fails. */
struct http *app_http(struct app *app);
int app_store(struct app *app, struct store **store, struct error *err);
/* The same, opened by its first use. */
int app_store_later(struct app *app, struct store **store, struct error *err);
/* The same, over a connection of its own: for a thread beside the one that uses
 * app_store(). */
int app_store_beside(struct app *app, struct store **store, struct error *err);
/* A path in the directory of dcode's state, "" itself. Owned; NULL with err. */
char *app_state_path(struct app *app, const char *name, struct error *err);
/* Opens a provider by name with all of the above; says on stderr when the
 * credential comes from a project's .env. */
int app_client(struct app *app, const char *provider,
	       struct sandbox_client *client, struct error *err);
/* The same for those who only look whether it can be opened: says nothing. */
int app_client_check(struct app *app, const char *provider,
		     struct sandbox_client *client, struct error *err);
/* app_client() for a sandbox that is at endpoint: where the provider is not
 * configured for it, but has it under its second name, by that one. */
int app_client_at(struct app *app, const char *provider, const char *endpoint,
		  struct sandbox_client *client, struct error *err);
/* Says that this variable of a project's .env is what name is asked with. */
void app_warn_project_key(const struct app *app, const char *variable,
			  const char *name);
/* Masks the keys of a model, and warns when one comes with the project. */
void app_mask_model_key(struct app *app, const struct model_choice *c);
/* Names a provider that may have been meant, and how to see all. */
int app_unknown_provider(struct app *app, const char *name, struct error *err);
/* One whose name differs from it by two letters at most, or NULL; never one
 * without isolation. */
const char *app_similar_provider(struct app *app, const char *name);
/* Nothing where nobody draws; may be one within the other. On the thread that
 * the chat's work is done on. */
void app_borrow_terminal(const struct app *app);
void app_return_terminal(const struct app *app);
/* What ends the work of this run: the signals. */
struct stop app_stop(const struct app *app);
/* Where the last words of a user who will not wait go; standard error, unless
 * said otherwise. */
void app_signal_output(int fd);
/* The signal that triggered cancel, or 0. */
int app_signal(void);
/* Forgets it: an interactive program goes on after a cancelled turn. */
void app_signal_clear(struct app *app);

/* 2 for ERR_USAGE and ERR_UNGUARDED, STATUS_POLICY for ERR_POLICY, 130 or 128 +
 * signal for ERR_CANCELLED, else 1. */
int app_exit_status(const struct error *err);
/* Appends text; where a chat is on, its own commands take the place of those
 * of the shell: "/apply" of "dcode apply". */
void app_add_advice(const struct app *app, const char *text, struct buf *out);
/* The same on standard error, with a line's end. */
void app_print_advice(const struct app *app, const char *text);
/* Prints "Error: message" and the hint on stderr, masked and cleaned (as a
 * JSON object on stdout too when app->json). Returns app_exit_status(). */
int app_fail(struct app *app, const struct error *err);
/* "Warning: ..." on stderr, cleaned. */
void app_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void app_warn_line(const char *line);
/* {"schema_version":1,"command":NAME,"data":DATA} and a line end on stdout. */
void app_envelope(const char *command, const struct buf *data);

#endif
