/* pull_request.c - --pr: opens a pull or merge request after a push. */
/* SPDX-License-Identifier: MIT */
/*
 * The token is the user's: a stored key, a variable, or that of the vendor's
 * own program (gh, glab). It goes only to the server of the remote, and only if
 * forge.h knows that server. Title and text come from the model, so the user
 * sees them before they are sent, with secrets masked.
 */
#include "cmd/pull_request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "base/mem.h"
#include "base/proc.h"
#include "base/str.h"
#include "cmd/external.h"
#include "cmd/print.h"
#include "cmd/secret.h"
#include "session/thread.h"

enum {
	PROGRAM_MS = 10000,
	TOKEN_MAX = 1024,
	TEXT_MAX = 64 << 10,
	ANSWER_MAX = 8 << 10, /* bytes of the model's answer */
	LINES_SHOWN = 20,
};

/* True for a token that can stand in a header. */
static bool is_token(struct str s)
{
	for (size_t i = 0; i < s.len; i++)
		if (s.ptr[i] <= ' ' || s.ptr[i] > '~')
			return false;
	return s.len >= 8 && s.len < TOKEN_MAX;
}

static void set_token(struct pull_request *p, struct str value)
{
	value = str_trim(value);
	if (p->secret || !is_token(value))
		return;
	p->secret = secret_room(TOKEN_MAX);
	memcpy(p->secret, value.ptr, value.len);
	p->secret[value.len] = '\0';
	(void)mask_add(p->app->mask, "GIT_SERVER_TOKEN", value);
}

/* Runs gh or glab, if the user has it, for the token of the server. */
static void ask_program(struct pull_request *p, const char *name, char **argv,
			const struct stop *stop)
{
	struct stop within = stop_within(stop, PROGRAM_MS);
	char *path = proc_absolute_path(getenv("PATH"));
	char *program = proc_find(name, path);
	char *real = program ? realpath(program, NULL) : NULL;
	size_t len = strlen(p->root);
	bool is_own = real && !strncmp(real, p->root, len) && real[len] == '/';
	struct buf out = BUF_INIT(TOKEN_MAX);
	struct error ignored = { 0 };

	if (real && !is_own &&
	    proc_output(program, argv, environ, &out, &within, &ignored) == 0)
		set_token(p, buf_str(&out));
	buf_wipe(&out);
	free(real);
	free(program);
	free(path);
}

/* Finds the token: a key that the user has stored or exported, or that of the
 * vendor's program. A project's .env does not count. */
static void find_token(struct pull_request *p, const struct stop *stop)
{
	const struct settings *set = p->app->settings;
	char *host = p->forge.host;
	char *gh[] = { (char *)"gh",         (char *)"auth", (char *)"token",
		       (char *)"--hostname", host,           NULL };
	char *glab[] = { (char *)"glab",
			 (char *)"config",
			 (char *)"get",
			 (char *)"token",
			 (char *)"--host",
			 host,
			 NULL };

	if (p->forge.kind == FORGE_GITLAB) {
		set_token(p, str_of(settings_env(set, "GITLAB_TOKEN")));
	} else if (!strcmp(host, "github.com")) {
		set_token(p, str_of(settings_env(set, "GITHUB_TOKEN")));
		set_token(p, str_of(settings_env(set, "GH_TOKEN")));
	} else {
		set_token(p, str_of(settings_env(set, "GH_ENTERPRISE_TOKEN")));
	}
	if (!p->secret && p->forge.kind == FORGE_GITLAB)
		ask_program(p, "glab", glab, stop);
	else if (!p->secret)
		ask_program(p, "gh", gh, stop);
}

int pull_request_open(struct pull_request *p, const char *url,
		      const struct stop *stop, struct error *err)
{
	const struct settings *set = p->app->settings;
	struct forge_hosts h = { 0 };
	bool is_gitlab;

	p->text = BUF_INIT(TEXT_MAX);
	if (settings_list(set, NULL, "push.github", &h.github, &h.n_github,
			  err) < 0 ||
	    settings_list(set, NULL, "push.gitlab", &h.gitlab, &h.n_gitlab,
			  err) < 0)
		return -1;
	if (forge_open(&p->forge, url, &h, err) < 0)
		return error_wrap(err, "--pr");
	find_token(p, stop);
	p->forge.secret = p->secret;
	if (p->secret)
		return 0;
	is_gitlab = p->forge.kind == FORGE_GITLAB;
	error_set(err, ERR_AUTH, "--pr: no token for %s", p->forge.host);
	return error_hint(err,
			  "Log in with %s, or store a token: dcode auth "
			  "set %s.",
			  is_gitlab ? "glab auth login" : "gh auth login",
			  is_gitlab ? "gitlab" : "github");
}

/* thread_export() callback: keeps the last text of the model. */
static bool keep_answer(void *arg, struct thread_message *m)
{
	struct buf *answer = arg;
	char *text = m->message.role == ROLE_ASSISTANT
			     ? message_text(&m->message)
			     : NULL;

	if (text && str_trim(str_of(text)).len) {
		buf_clear(answer);
		buf_adds(answer, text);
	}
	free(text);
	return true;
}

/* Writes title and text. A thread that cannot be read has no text. */
static void compose(struct pull_request *p, const char *thread,
		    const char *title)
{
	struct error ignored = { 0 };
	struct buf answer = BUF_INIT(16 << 20);
	struct buf clean = BUF_INIT(TEXT_MAX);
	struct thread t = { 0 };
	struct store *store;
	struct str text;

	print_add_line(p->app, &p->text, title && title[0] ? title : p->branch);
	buf_adds(&p->text, "\n");
	if (thread && app_store(p->app, &store, &ignored) == 0 &&
	    thread_find(store, thread, NULL, &t, &ignored) == 0) {
		const struct thread_export x = { .no = t.no,
						 .mask = p->app->mask,
						 .each = keep_answer,
						 .arg = &answer };

		(void)thread_export(store, &x, &ignored);
	}
	text = str_trim(buf_str(&answer));
	text.len = text.len ? str_char_offset(text, ANSWER_MAX / 4) : 0;
	app_clean(p->app, CLEAN_TEXT, text, &clean);
	if (clean.len)
		buf_addf(&p->text, "\n%s\n", clean.ptr);
	thread_release(&t);
	buf_release(&answer);
	buf_release(&clean);
}

int pull_request_find(struct pull_request *p, const char *thread,
		      const char *title, const struct stop *stop,
		      struct error *err)
{
	const struct forge_request r = { .branch = p->branch };

	if (forge_find_request(&p->forge, app_http(p->app), &r, &p->url, stop,
			       err) < 0)
		return error_wrap(err, "--pr");
	p->existed = p->url != NULL;
	if (!p->url)
		compose(p, thread, title);
	return 0;
}

/* Splits the text into its first line and the rest. */
static struct str split_text(const struct pull_request *p, struct str *title)
{
	struct str whole = str_trim(buf_str(&p->text));
	size_t end = str_find(whole, '\n');

	*title = str_trim((struct str){ whole.ptr, end });
	return str_trim(str_skip(whole, end));
}

void pull_request_show(const struct pull_request *p)
{
	struct str title;
	struct str rest = split_text(p, &title);
	struct str line;
	char *text = xstrndup(title.ptr ? title.ptr : "", title.len);
	size_t n = 0;

	fprintf(stderr, "Then open a %s into ", forge_noun(&p->forge));
	print_name(p->app, "", p->base, ":");
	print_text(p->app, "  ", text, "");
	free(text);
	while (n < LINES_SHOWN && str_split(&rest, '\n', &line)) {
		text = xstrndup(line.ptr ? line.ptr : "", line.len);
		print_text(p->app, "    ", text, "");
		free(text);
		n++;
	}
	if (rest.len)
		fputs("    ...\n", stderr);
}

int pull_request_edit(struct pull_request *p, struct error *err)
{
	const struct external x = { p->app, STDOUT_FILENO, STDERR_FILENO };
	struct buf edited = BUF_INIT(TEXT_MAX);
	int rc;

	app_borrow_terminal(p->app);
	rc = external_edit(&x, ".md", buf_str(&p->text), &edited, err);
	app_return_terminal(p->app);
	if (rc == 0 && !str_trim(buf_str(&edited)).len) {
		rc = error_set(err, ERR_CANCELLED,
			       "not pushed: the text of "
			       "the request is empty");
	} else if (rc == 0) {
		buf_clear(&p->text);
		buf_addstr(&p->text, buf_str(&edited));
	}
	buf_release(&edited);
	return rc;
}

int pull_request_send(struct pull_request *p, const struct stop *stop,
		      struct error *err)
{
	struct forge_request r = { .branch = p->branch, .base = p->base };
	struct str title;
	struct str rest = split_text(p, &title);
	char *first = xstrndup(title.ptr ? title.ptr : "", title.len);
	char *text = xstrndup(rest.ptr ? rest.ptr : "", rest.len);
	int rc = 0;

	r.title = first;
	r.text = text;
	if (!p->url)
		rc = forge_make_request(&p->forge, app_http(p->app), &r,
					&p->url, stop, err);
	free(first);
	free(text);
	if (rc == 0)
		return 0;
	error_wrap(err, "the branch is pushed, but not the %s",
		   forge_noun(&p->forge));
	return -1;
}

void pull_request_close(struct pull_request *p)
{
	forge_release(&p->forge);
	buf_release(&p->text);
	secret_free(p->secret);
	free(p->url);
	p->secret = p->url = NULL;
}
