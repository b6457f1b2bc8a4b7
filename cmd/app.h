/* app.h - state that all commands share; each part is created on first use. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_APP_H
#define CMD_APP_H

#include <pthread.h>
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
       STATUS_POLICY = 78,   /* forbidden by the machine's policy (EX_CONFIG of
				sysexits.h) */
       STATUS_NO_ANSWER = 3, /* with -n: the model gave no answer */
       STATUS_FOUND = 3,     /* threads scan: something was found */
       STATUS_REFUSED = 4,   /* with -n: every call that writes a file or runs a
				command was refused */
       STATUS_REPEATS = 5,   /* with -n: a call failed again and again */
       STATUS_PIPE = 141,    /* the reader of stdout has closed the pipe */
};

struct app_chat { /* describes the chat in which a command is typed; borrowed */
	const char *thread; /* id of the thread */
	const char *label;  /* label of the chat's sandbox in the ledger */
	struct sandbox *sandbox;
	const char *const *include; /* patterns of --include */
	size_t n_include;
};

struct theme;

/* The screen that a chat draws on the terminal. Code that asks the user without
 * the screen calls app_borrow_terminal() before and app_return_terminal() after
 * that. */
struct app_terminal {
	void (*borrow)(void *arg);
	void (*give_back)(void *arg);
	void *arg;
	const struct theme *theme; /* the screen's colours */
};

/* A question that dcode asks the user, with a few possible answers. All members
 * are borrowed. */
struct app_question {
	const char *text;           /* "Allow it?" */
	const char *choices;        /* shown after the text: "y/N" */
	const char *const *answers; /* words that the user may type, each also
				       by its first letter */
	size_t n;
	/* Shown in place of choices on a screen, where a single letter answers:
	 * describes the letters, with two blanks between them. NULL: shows
	 * choices. */
	const char *keys;
	const char *help; /* one line: what each answer does; NULL: clear
			     from the text */
	size_t usual;     /* index of the answer that Enter alone gives */
	size_t safe; /* index of the least dangerous answer; preselected for the
			arrow keys */
	size_t lasts; /* 1 + index of an answer that is stored for later runs:
			 on a screen it must be given twice; or 0 */
	bool escapes; /* Esc gives the answer `safe` */
	bool drafts;  /* other text than an answer goes into the user's message
			 draft */
	bool gives_way; /* a message that the user sends gives the answer
			   `safe` */
	/* Withdraws the question when it is triggered. With it, choose() may be
	 * called on any thread. NULL: only the end of the chat's work withdraws
	 * the question. */
	const struct stop *stop;
};

/* Asks a struct app_question in a chat, where the user may be in the middle of
 * typing a message. */
struct app_asker {
	/* Returns the index of the answer, or -1 with err (ERR_CANCELLED also
	 * at end of input). Call on the thread that does the chat's work. */
	int (*choose)(void *arg, const struct app_question *q,
		      struct error *err);
	void *arg;
};

/* Settings and providers that a reload has replaced. They are freed when dcode
 * exits, because others may still borrow from them. */
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
	/* Number of the user's programs, such as an editor, that read the
	 * terminal now. */
	_Atomic unsigned lent;
	bool json;         /* --json or --output-format was given */
	bool json_once;    /* with -n: print only the result event */
	bool quiet;        /* -q was given */
	bool unattended;   /* there is no user who could be asked */
	bool goes_without; /* the user agreed to continue although restrictions
			      in config.toml cannot be applied; an invalid
			      [limits] then does not end the run */
	bool yolo_confirmed; /* the user has chosen yolo since dcode began */
	unsigned trusted;    /* bits of the kinds in trust.h that flags allow
				without asking */
	/* The chat's slash commands. main() sets them, because the chat's
	 * files must not include their table. */
	const struct slash_command *slash;
	const struct app_chat *chat; /* the chat in which the command was typed;
					NULL: a shell */
	const struct app_terminal *terminal; /* NULL: no screen is active */
	const struct app_asker *asker;       /* asks in the chat; or NULL */
	/* The following members are created when they are first needed; use the
	 * functions below. */
	struct settings *settings;
	struct setting_group *groups; /* tables of settings that the settings
					 were loaded with */
	bool told_foreign; /* this run has printed settings_foreign() */
	struct registry *providers;
	struct http *http;
	struct store *store;
	struct store *beside; /* created by app_use_store_beside(), or NULL */
	pthread_key_t own_store; /* beside, on the thread that uses it */
	struct mask *mask;
	struct output_guard guard;    /* masks secrets in everything that is
					 written to stderr */
	struct meter *meter;          /* created by run_money_begin(), or
					 NULL */
	struct pictures *pictures;    /* pictures for the chat; or NULL */
	struct login *_Atomic logins; /* list of logins to MCP servers
					 (cmd/session/mcp_servers.h); or NULL */
	char *passphrase;             /* passphrase of the stored keys as
					 typed, in locked memory; or NULL */
	struct trust *trust;          /* created by project_trust_open(), or
					 NULL */
	struct hooks *hooks; /* created by run_hooks_open(); NULL: no hooks are
				configured */
	bool hooks_read;
	/* The transcript file for hooks, created by run_hooks_follow(); or
	 * NULL. */
	struct thread_transcript *transcript;
	struct app_retired *retired;
	struct settings_store keys; /* how stored keys are decrypted; set by
				       main() */
};

/* From here on, stderr is masked with app->mask: app must not move. */
int app_init(struct app *app, struct error *err);
void app_release(struct app *app);

/* Returns the settings of this user and directory. Warnings go to stderr
 * once. */
int app_settings(struct app *app, struct settings **set, struct error *err);
/* Prints settings_foreign(), unless this run has done so already. Call after
 * app_settings(). */
void app_tell_foreign(struct app *app);
/* Reads the settings files again. The environment is that with which dcode was
 * started. On -1 the current settings stay. Pointers into the old settings stay
 * valid. */
int app_settings_reload(struct app *app, struct error *err);
/* Returns all sandbox providers that this user can use. The first call prints
 * warnings on stderr. */
int app_providers(struct app *app, struct registry **r, struct error *err);
/* Returns app->http. The first call starts to load libcurl on a thread. Never
 * fails. */
struct http *app_http(struct app *app);
int app_store(struct app *app, struct store **store, struct error *err);
/* Like app_store(), but the database is opened only when it is first used. */
int app_store_later(struct app *app, struct store **store, struct error *err);
/* Gives the calling thread a database connection of its own, which app_store()
 * and app_store_later() then return on this thread: a connection serves one
 * thread at a time. Only one thread at a time may call this, and only after
 * another has called app_store_later(). The connection is closed with app,
 * because what the thread has made, like a sandbox's request, still uses it
 * when the thread has ended. Ends dcode if there is no memory. */
void app_use_store_beside(struct app *app);
/* Returns the path of name in dcode's state directory, or the directory itself
 * for "". Owned; NULL with err. */
char *app_state_path(struct app *app, const char *name, struct error *err);
/* Opens a provider by name, with app's settings and HTTP client. Warns if the
 * provider's key comes from a project's .env. */
int app_client(struct app *app, const char *provider,
	       struct sandbox_client *client, struct error *err);
/* Like app_client(), but without the warning: to check whether the provider
 * could be opened. */
int app_client_check(struct app *app, const char *provider,
		     struct sandbox_client *client, struct error *err);
/* Like app_client(), for a sandbox that was created at this endpoint. If the
 * provider is configured for another endpoint, tries the provider under its
 * second name. */
int app_client_at(struct app *app, const char *provider, const char *endpoint,
		  struct sandbox_client *client, struct error *err);
/* Appends text with secrets masked and cleaned as kind says. All text of others
 * must pass through this before it is printed on stdout, shown on the screen or
 * written to a file. */
void app_clean(const struct app *app, enum clean_kind kind, struct str text,
	       struct buf *out);
/* Adds the model's keys to the mask, and warns if a key comes from the
 * project. */
void app_mask_model_key(struct app *app, const struct model_choice *c);
/* Sets ERR_USAGE for an unknown provider, with a similar name and the command
 * that lists all. Returns -1. */
int app_unknown_provider(struct app *app, const char *name, struct error *err);
/* Returns a provider name that differs from name by at most two letters, or
 * NULL. Never suggests a provider without isolation. */
const char *app_similar_provider(struct app *app, const char *name);
/* app_borrow_terminal() suspends the chat's screen, app_return_terminal()
 * resumes it. Both do nothing without a screen, and may be nested. Call on the
 * thread that does the chat's work. */
void app_borrow_terminal(const struct app *app);
void app_return_terminal(const struct app *app);
/* Returns a stop that signals trigger through app->cancel. */
struct stop app_stop(const struct app *app);
/* Sets the descriptor for the message that a second Ctrl-C prints before dcode
 * exits. The default is stderr. */
void app_signal_output(int fd);
/* Returns the number of the last signal, or 0. */
int app_signal(void);
/* Forgets past signals, so that a chat can continue after a cancelled turn. */
void app_signal_clear(struct app *app);

/* Returns 2 for ERR_USAGE and ERR_UNGUARDED, STATUS_POLICY for ERR_POLICY, 130
 * or 128 + signal for ERR_CANCELLED, otherwise 1. */
int app_exit_status(const struct error *err);
/* Appends text, which names shell commands. In a chat these are replaced by
 * slash commands where there are any: "dcode apply" becomes "/apply". */
void app_add_advice(const struct app *app, const char *text, struct buf *out);
/* Prints what app_add_advice() appends, and a newline, on stderr. */
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
