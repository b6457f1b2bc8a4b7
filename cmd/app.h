/* app.h - state that all commands share; each part is created on first use. */
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
#include "ui/streams.h"

enum {                       /* exit statuses other than 0, 1, 2 and 128 +
				signal */
       STATUS_POLICY = 78,   /* EX_CONFIG: forbidden by the machine's policy */
       STATUS_NO_ANSWER = 3, /* with -n: the model gave no answer */
       STATUS_REFUSED = 4,   /* with -n: every call that writes a file or runs a
				command was refused */
       STATUS_REPEATS = 5,   /* with -n: one call failed again and again */
       STATUS_PIPE = 141,    /* the reader of stdout is gone */
};

struct app_chat {           /* the chat in which a command is typed; borrowed */
	const char *thread; /* id of the thread */
	const char *label;  /* label of the chat's sandbox in the ledger */
	struct sandbox *sandbox;
	const char *const *include; /* patterns of --include */
	size_t n_include;
};

/* The screen that draws on the terminal. Code that asks the user directly calls
 * app_borrow_terminal() first and app_return_terminal() afterwards. */
struct app_terminal {
	void (*borrow)(void *arg);
	void (*give_back)(void *arg);
	void *arg;
};

/* A question of dcode itself with a few possible answers. All borrowed. */
struct app_question {
	const char *text;           /* "Allow it?" */
	const char *choices;        /* as shown: "y/N" */
	const char *const *answers; /* each is accepted as a word or by its
				       first letter */
	size_t n;
	size_t usual; /* index: the answer of a bare Enter */
	size_t safe;  /* index: the answer that does least; preselected for
			 the arrow keys */
	bool escapes; /* pressing Esc gives the answer `safe` */
	bool drafts;  /* text that is not an answer goes into the user's
			 message draft */
};

/* Asks such a question in a chat, where a message may be half written. */
struct app_asker {
	/* Returns the index of the answer, or -1 with err (ERR_CANCELLED also
	 * at end of input). Call on the thread that does the chat's work. */
	int (*choose)(void *arg, const struct app_question *q,
		      struct error *err);
	void *arg;
};

/* Objects replaced by a reload. Kept until the end, because others still borrow
 * from them. */
struct app_retired {
	struct settings *settings;
	struct registry *providers; /* or NULL */
	struct app_retired *next;
};

struct command;
struct slash_command;

struct app {
	/* All commands, NULL-terminated; set by main(). */
	const struct command *const *commands;
	/* Triggered by SIGINT, SIGTERM, SIGQUIT and SIGHUP (terminal closed).
	 * The current work ends, and lifecycle_close() deletes the sandbox or
	 * keeps it if the user chose so. A second Ctrl-C, or a third signal of
	 * any kind, exits at once. */
	struct cancel cancel;
	bool json;         /* --json was given */
	bool quiet;        /* -q was given */
	bool unattended;   /* there is no user to ask */
	bool goes_without; /* the user agreed to continue although restrictions
			      of config.toml are not in effect: an invalid
			      [limits] does not end the run */
	unsigned trusted;  /* kinds of trust granted by
			      flags: trust.h */
	const struct slash_command *slash;   /* the chat's slash commands; set
						by main(), because their table
						is in a layer above the chat */
	const struct app_chat *chat;         /* NULL: the command runs from the
						shell */
	const struct app_terminal *terminal; /* NULL: no screen is active */
	const struct app_asker *asker;       /* the chat's, or NULL */
	/* Created on demand; use the functions below. */
	struct settings *settings;
	struct setting_group *groups; /* the rows that settings was loaded
					 with */
	bool told_foreign;            /* settings_foreign() was printed in
					 this run */
	struct registry *providers;
	struct http *http;
	struct store *store;
	struct store *beside; /* created by app_store_beside(), or NULL */
	struct mask *mask;
	struct output_guard guard;    /* masks everything on stderr */
	struct meter *meter;          /* created by run_money_begin(), or
					 NULL */
	struct pictures *pictures;    /* the chat's, or NULL */
	struct login *_Atomic logins; /* logins to MCP servers: logins.h, or
					 NULL */
	char *passphrase;             /* passphrase of the stored keys as
					 typed, in locked memory; or NULL */
	struct trust *trust;          /* created by project_trust_open(), or
					 NULL */
	struct hooks *hooks; /* created by run_hooks_open(); NULL: none are
				configured */
	bool hooks_read;
	/* The transcript file for hooks, created by run_hooks_follow(); or
	 * NULL. */
	struct thread_transcript *transcript;
	struct app_retired *retired;
	struct settings_store keys; /* how stored keys are decrypted; set by
				       main() */
};

/* app must not move: stderr is masked with its mask from here on. */
int app_init(struct app *app, struct error *err);
void app_release(struct app *app);

/* Returns the settings of this user and directory. Warnings go to stderr
 * once. */
int app_settings(struct app *app, struct settings **set, struct error *err);
/* Call after app_settings(). Prints settings_foreign() even if an earlier run
 * has printed it. */
void app_tell_foreign(struct app *app);
/* Reads the settings again with the environment that dcode was started with. On
 * -1 the current settings stay. Pointers into the old settings stay valid. */
int app_settings_reload(struct app *app, struct error *err);
/* Returns every provider of this user. Warnings go to stderr once. */
int app_providers(struct app *app, struct registry **r, struct error *err);
/* Starts to load libcurl on a thread. Never fails. */
struct http *app_http(struct app *app);
int app_store(struct app *app, struct store **store, struct error *err);
/* Like app_store(), but opens the database on first use. */
int app_store_later(struct app *app, struct store **store, struct error *err);
/* Like app_store_later(), but with a separate connection, for a thread that
 * runs in parallel with the user of app_store(). */
int app_store_beside(struct app *app, struct store **store, struct error *err);
/* Returns the path of name in dcode's state directory, or the directory itself
 * for "". Owned; NULL with err. */
char *app_state_path(struct app *app, const char *name, struct error *err);
/* Opens a provider by name with the settings and HTTP client above. Prints a
 * warning if the credential comes from a project's .env. */
int app_client(struct app *app, const char *provider,
	       struct sandbox_client *client, struct error *err);
/* Like app_client() without the warning, to check whether the provider can be
 * opened. */
int app_client_check(struct app *app, const char *provider,
		     struct sandbox_client *client, struct error *err);
/* Like app_client() for a sandbox at endpoint. If the provider is configured
 * for another endpoint, tries the provider's second name. */
int app_client_at(struct app *app, const char *provider, const char *endpoint,
		  struct sandbox_client *client, struct error *err);
/* The door of text that is printed on stdout or on the screen, or written to a
 * file: appends it masked and cleaned. */
void app_clean(const struct app *app, enum clean_kind kind, struct str text,
	       struct buf *out);
/* Adds the model's keys to the mask, and warns if a key comes from the
 * project. */
void app_mask_model_key(struct app *app, const struct model_choice *c);
/* Sets ERR_USAGE, suggests a similar provider name and says how to list all. */
int app_unknown_provider(struct app *app, const char *name, struct error *err);
/* Returns a provider name that differs from name by at most two letters, or
 * NULL. Never suggests a provider without isolation. */
const char *app_similar_provider(struct app *app, const char *name);
/* Suspend and resume the screen; no-ops without a screen. May be nested. Call
 * on the thread that does the chat's work. */
void app_borrow_terminal(const struct app *app);
void app_return_terminal(const struct app *app);
/* Returns the stop that a signal triggers. */
struct stop app_stop(const struct app *app);
/* Sets the descriptor for the message printed when a second Ctrl-C exits at
 * once. Default: stderr. */
void app_signal_output(int fd);
/* Returns the signal that triggered cancel, or 0. */
int app_signal(void);
/* Resets the signal state, so that a chat can continue after a cancelled
 * turn. */
void app_signal_clear(struct app *app);

/* Returns 2 for ERR_USAGE and ERR_UNGUARDED, STATUS_POLICY for ERR_POLICY, 130
 * or 128 + signal for ERR_CANCELLED, otherwise 1. */
int app_exit_status(const struct error *err);
/* Appends text. In a chat, shell commands become slash commands where one
 * exists: "dcode apply" becomes "/apply". */
void app_add_advice(const struct app *app, const char *text, struct buf *out);
/* Prints the same text and a newline on stderr. */
void app_print_advice(const struct app *app, const char *text);
/* Prints "Error: message" and the hint on stderr, masked and cleaned. With
 * app->json also prints a JSON object on stdout. Returns app_exit_status(). */
int app_fail(struct app *app, const struct error *err);
/* Prints "Warning: ..." on stderr without control characters. */
void app_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void app_warn_line(const char *line);
/* Prints {"schema_version":1,"command":NAME,"data":DATA} and a newline on
 * stdout. */
void app_envelope(const char *command, const struct buf *data);

#endif
