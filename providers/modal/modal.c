/* modal.c - sandboxes of Modal: the account, and one sandbox's life. */
/* SPDX-License-Identifier: MIT */
#include "providers/modal/modal.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/table.h"

enum {
	COMMAND_MAX = 512 << 10,
	END_WAIT_S = 10, /* for which the server holds a question */
	END_PAUSE_MS = 100,
};

struct modal *modal_of(const struct sandbox_client *host)
{
	return host->priv;
}

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

bool modal_id_ok(const char *id)
{
	size_t len = strlen(id);

	return len > 3 && len <= MODAL_ID_MAX &&
	       strspn(id, LETTERS DIGITS "-_") == len;
}

/* V1 is "sb-" and exactly 22 letters and digits, everything else V2. */
unsigned modal_flags(const char *id)
{
	if (strncmp(id, "sb-", 3) == 0 && strlen(id) == 25 &&
	    strspn(id + 3, LETTERS DIGITS) == 22)
		return 0;
	return MODAL_V2 | MODAL_TOKEN;
}

static void wipe(char *secret)
{
	if (secret)
		explicit_bzero(secret, strlen(secret));
	free(secret);
}

static void modal_close(struct sandbox_client *host)
{
	struct modal *m = modal_of(host);

	if (!m)
		return;
	wipe(m->id_header);
	wipe(m->secret_header);
	wipe(m->auth);
	for (size_t i = 0; i < m->n_servers; i++)
		free(m->servers[i]);
	free(m->environment);
	free(m->builder);
	free(m->app);
	pthread_mutex_destroy(&m->lock);
	free(m);
	host->priv = NULL;
	host->endpoint = NULL;
}

static int modal_open(struct sandbox_client *host, const struct settings *set,
		      struct error *err)
{
	struct modal *m = xcalloc(1, sizeof(*m));

	host->priv = m;
	m->http = host->http;
	m->settings = set;
	pthread_mutex_init(&m->lock, NULL);
	if (modal_configure(m, err) < 0)
		return -1;
	host->project_key = m->project_key;
	host->endpoint = m->servers[0];
	return 0;
}

int modal_running(struct modal *m, const char *id, float wait_s,
		  const struct stop *stop, struct error *err)
{
	Modal__SandboxWaitRequest request = MODAL__SANDBOX_WAIT_REQUEST__INIT;
	struct modal_ask ask = {
		.method = "SandboxWait",
		.what = "asking for the sandbox",
		.request = &request.base,
		.answer = &modal__sandbox_wait_response__descriptor,
		.flags = modal_flags(id),
	};
	ProtobufCMessage *answer = NULL;
	const Modal__GenericResult *result;
	int state;

	request.sandbox_id = (char *)id;
	request.timeout = wait_s;
	if (modal_ask(m, &ask, &answer, stop, err) < 0)
		return -1;
	result = ((Modal__SandboxWaitResponse *)answer)->result;
	state = !result || !result->status;
	modal_free(answer);
	return state;
}

int modal_set_up(struct sandbox *sb, struct error *err)
{
	struct modal *m = modal_of(sb->host);
	struct modal_box *b = modal_box(sb);
	const char *dir = NULL;

	if (settings_string(m->settings, "modal", "workdir", &dir, err) < 0 ||
	    settings_list(m->settings, "modal", "env", &b->env, &b->n_env,
			  err) < 0)
		return -1;
	for (size_t i = 0; i < b->n_env; i++)
		if (!strchr(b->env[i], '=') || b->env[i][0] == '=')
			return error_set(err, ERR_CONFIG,
					 "env: each entry is NAME=value");
	if (!dir || dir[0] != '/')
		return error_set(err, ERR_CONFIG,
				 "workdir must be an absolute path");
	free(sb->workdir);
	sb->workdir = xstrdup(dir);
	return 0;
}

static int modal_attach(struct sandbox *sb, const char *id,
			const struct stop *stop, struct error *err)
{
	int state;

	if (!modal_id_ok(id))
		return error_set(err, ERR_USAGE, "'%.100s' is no sandbox id",
				 id);
	if (modal_set_up(sb, err) < 0)
		return -1;
	state = modal_running(modal_of(sb->host), id, 0, stop, err);
	if (state < 0)
		return -1;
	if (!state)
		return error_set(err, ERR_GONE, "the sandbox %s has ended", id);
	free(sb->id);
	sb->id = xstrdup(id);
	return modal_ready(sb, NULL, stop, err);
}

/* Ending is asked for, and then waited for. */
static int modal_remove(struct sandbox_client *host, const char *id,
			const struct stop *stop, struct error *err)
{
	struct modal *m = modal_of(host);
	Modal__SandboxTerminateRequest request =
		MODAL__SANDBOX_TERMINATE_REQUEST__INIT;
	struct modal_ask ask = {
		.method = "SandboxTerminate",
		.what = "ending the sandbox",
		.request = &request.base,
		.answer = &modal__sandbox_terminate_response__descriptor,
		.flags = modal_flags(id),
	};
	ProtobufCMessage *answer = NULL;
	struct error why = { 0 };
	int state = 1;

	if (!modal_id_ok(id))
		return error_set(err, ERR_USAGE, "'%.100s' is no sandbox id",
				 id);
	request.sandbox_id = (char *)id;
	if (modal_ask(m, &ask, &answer, stop, &why) == 0) {
		const Modal__GenericResult *before =
			((Modal__SandboxTerminateResponse *)answer)
				->existing_result;

		state = !before || !before->status;
		modal_free(answer);
	}
	while (!why.code && state > 0) {
		state = modal_running(m, id, END_WAIT_S, stop, &why);
		if (state > 0)
			(void)stop_sleep(stop, END_PAUSE_MS, &why);
	}
	if (!why.code || why.code == ERR_NOT_FOUND)
		return why.code != ERR_NONE;
	*err = why;
	return -1;
}

static void modal_discard(struct sandbox *sb)
{
	struct modal_box *b = sb->priv;

	if (!b)
		return;
	free(b->task);
	free(b->router);
	wipe(b->bearer);
	pthread_mutex_destroy(&b->lock);
	free(b);
	sb->priv = NULL;
}

static const struct sandbox_ops ops = {
	.open = modal_open,
	.close = modal_close,
	.create = modal_create,
	.attach = modal_attach,
	.list = modal_list,
	.info = modal_info,
	.snapshot = modal_snapshot,
	.find_snapshot = modal_find_snapshot,
	.execute = modal_execute,
	.upload = modal_upload,
	.download = modal_download,
	.remove = modal_remove,
	.discard = modal_discard,
};

const struct sandbox_provider modal_provider = {
	.name = "modal",
	.summary = "sandboxes of Modal",
	.workdir = "/workspace",
	.flags = SANDBOX_ATTACH | SANDBOX_SNAPSHOT | SANDBOX_LIVE |
		 SANDBOX_NETWORK | SANDBOX_LIST,
	.max_command = COMMAND_MAX,
	.lifetime_s = MODAL_LIFETIME_S,
	.settings = modal_settings,
	.url_env = (const char *const[]){ "MODAL_SERVER_URL", NULL },
	.ops = &ops,
};
