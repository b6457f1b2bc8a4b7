/* setup.c - runs a box's setup script and hides what it received. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/mask/redact_screen.h"
#include "base/str.h"
#include "lifecycle/lifecycle_impl.h"

enum {
	TAIL_MAX = 64 << 10, /* bytes held of the output, unless it is shown */
	TAIL_KEPT = 8 << 10,
};

struct reading {
	struct managed_sandbox *box;
	struct buf names; /* whose values are the user's: "A, B" */
};

static struct setup_value value(void *arg, const char *name)
{
	const struct reading *r = arg;
	const struct settings *set = r->box->request.client->settings;
	enum setting_source source;
	struct setup_value v = { 0 };

	if (!set)
		return v;
	v.text = settings_setup_value(set, name, &source);
	v.foreign = source == SOURCE_DOTENV_PROJECT;
	return v;
}

static void receive(void *arg, const char *name,
		    const struct setup_value *value)
{
	struct reading *r = arg;
	struct mask *mask = r->box->request.mask;

	if (!value->foreign)
		buf_addf(&r->names, "%s%s", r->names.len ? ", " : "", name);
	if (mask && mask_add(mask, name, str_of(value->text)))
		return;
	lifecycle_warn(r->box,
		       "setup script: the value of %s is too short to be"
		       " masked where output shows it",
		       name);
}

static void note(void *arg, const char *line)
{
	const struct reading *r = arg;

	lifecycle_warn(r->box, "%s", line);
}

/* A repository that brings a vendor's key along owns the account in which the
 * script runs, and can read there what the script was given. */
static int check_account(const struct reading *r, struct error *err)
{
	const struct lifecycle_request *request = &r->box->request;
	const struct sandbox_client *client = request->client;
	struct buf question = BUF_INIT(4096);
	char *key;
	int rc = 0;

	if (!client->project_key || !r->names.len || request->trust_project)
		return 0;
	key = settings_credential_name(client->settings, client->project_key);
	buf_addf(&question,
		 "The setup script would give %s to a sandbox of %s in the "
		 "account of %s, which comes with this project.",
		 r->names.ptr, client->provider->name, key);
	if (request->ui.confirm)
		rc = request->ui.confirm(request->ui.arg, question.ptr, err);
	if (rc == 0) {
		error_set(err, ERR_USAGE,
			  "not allowed: the setup script receives your %s, and "
			  "its sandbox belongs to whoever owns %s",
			  r->names.ptr, key);
		rc = error_hint(err,
				"Set %s yourself (export it, or dcode auth set "
				"%s), or use --trust-project.",
				client->project_key, client->provider->name);
	}
	buf_release(&question);
	free(key);
	return rc < 0 ? -1 : 0;
}

int lifecycle_setup_read(struct managed_sandbox *box,
			 struct setup_script *script, struct error *err)
{
	struct reading r = { box, BUF_INIT(1024) };
	struct setup_values values = { value, receive, note, &r };
	struct buf text = BUF_INIT(SETUP_MAX);
	int rc = setup_read(box->request.setup, &text, err);

	if (rc == 0)
		rc = setup_expand(buf_str(&text), &values, script, err);
	if (rc == 0)
		rc = check_account(&r, err);
	buf_release(&r.names);
	buf_release(&text);
	return rc;
}

struct script_sink {
	const struct managed_sandbox *box;
	struct redact_screen shown;
	struct buf text; /* of one chunk */
	struct buf tail;
};

static void pass_on(struct script_sink *s, enum exec_stream stream)
{
	const struct lifecycle_ui *ui = &s->box->request.ui;

	if (ui->output && s->text.len) {
		ui->output(ui->arg, stream, buf_str(&s->text));
	} else {
		buf_addstr(&s->tail, buf_str(&s->text));
		if (s->tail.len > TAIL_MAX / 2)
			buf_consume(&s->tail, s->tail.len - TAIL_KEPT);
	}
	buf_clear(&s->text);
}

static void take(void *arg, enum exec_stream stream, struct str chunk)
{
	struct script_sink *s = arg;

	while (chunk.len) {
		struct str piece = chunk;

		if (piece.len > TAIL_MAX / 4)
			piece.len = TAIL_MAX / 4;
		redact_screen_feed(&s->shown, s->box->request.mask, piece,
				   &s->text);
		pass_on(s, stream);
		chunk = str_skip(chunk, piece.len);
	}
}

static void finish(struct script_sink *s)
{
	redact_screen_end(&s->shown, s->box->request.mask, &s->text);
	pass_on(s, EXEC_STDOUT);
	buf_release(&s->text);
}

static int failed(const struct script_sink *s, int exit_code, struct error *err)
{
	struct str tail = str_trim(buf_str(&s->tail));

	if (tail.len)
		lifecycle_say(s->box, "Setup script failed (exit %d):\n%.*s",
			      exit_code, (int)tail.len, tail.ptr);
	else
		lifecycle_say(s->box, "Setup script failed (exit %d)",
			      exit_code);
	return error_set(err, ERR_REMOTE, "Setup failed - aborting");
}

/* Told, and stored for those who come to the sandbox later. */
static void moved(struct managed_sandbox *box)
{
	struct error err = { 0 };
	struct buf line = BUF_INIT(8192);

	sanitize_line(str_of(box->sandbox.workdir), &line);
	lifecycle_say(box,
		      "Tools and commands start in %s, where the setup "
		      "script ended",
		      line.ptr);
	if (box->request.store &&
	    ledger_set_start_dir(
		    box->request.store, box->request.client->provider->name,
		    box->sandbox.id, box->sandbox.workdir, &err) < 0)
		lifecycle_warn(box, "%s", err.message);
	buf_release(&line);
}

int lifecycle_setup_run(struct managed_sandbox *box,
			const struct setup_script *script,
			const struct stop *stop, struct error *err)
{
	struct script_sink s = {
		.box = box,
		.shown.screen.eager = true,
		.text = BUF_INIT(8 << 20),
		.tail = BUF_INIT(TAIL_MAX),
	};
	struct stop limit = stop_within(stop, LIFECYCLE_SETUP_MS);
	struct setup_sink sink = { take, &s };
	struct exec_result res = { 0 };
	int rc;

	lifecycle_say(box, "Running setup script: %s...", box->request.setup);
	rc = setup_run(&box->sandbox, script, &sink, &res, &limit, err);
	finish(&s);
	if (*res.notice)
		lifecycle_warn(box, "%s", res.notice);
	if (rc < 0)
		error_wrap(err, "setup script");
	else if (res.exit_code != 0)
		rc = failed(&s, res.exit_code, err);
	else
		lifecycle_say(box, "✓ Setup complete");
	if (rc == 0 && box->sandbox.made_dir)
		moved(box);
	buf_release(&s.tail);
	return rc;
}
