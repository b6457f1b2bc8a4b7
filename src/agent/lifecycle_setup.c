/* lifecycle_setup.c - runs a box's setup script and hides what it received. */
/* SPDX-License-Identifier: MIT */
#include "agent/lifecycle_setup.h"

#include "base/shown.h"
#include "base/str.h"

enum {
	TAIL_MAX = 64 << 10, /* bytes held of the output, unless it is shown */
	TAIL_KEPT = 8 << 10,
};

static const char *value(void *arg, const char *name)
{
	const struct box *box = arg;
	const struct settings *set = box->request.host->settings;

	return set ? settings_env_plain(set, name) : NULL;
}

static void hide(void *arg, const char *name, const char *text)
{
	struct box *box = arg;

	if (box->request.mask &&
	    mask_add(box->request.mask, name, str_of(text)))
		return;
	lifecycle_warn(box,
		       "setup script: the value of %s is too short to be"
		       " masked where output shows it",
		       name);
}

static void note(void *arg, const char *line)
{
	lifecycle_warn(arg, "%s", line);
}

int lifecycle_setup_read(struct box *box, struct buf *script, struct error *err)
{
	struct setup_values values = { value, hide, note, box };
	struct buf text = BUF_INIT(SETUP_MAX);
	int rc = setup_read(box->request.setup, &text, err);

	if (rc == 0)
		rc = setup_expand(buf_str(&text), &values, script, err);
	buf_release(&text);
	return rc;
}

struct sink {
	const struct box *box;
	struct shown shown;
	struct buf text; /* of one chunk */
	struct buf tail;
};

static void pass_on(struct sink *s, enum exec_stream stream)
{
	const struct box_ui *ui = &s->box->request.ui;

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
	struct sink *s = arg;

	while (chunk.len) {
		struct str piece = chunk;

		if (piece.len > TAIL_MAX / 4)
			piece.len = TAIL_MAX / 4;
		shown_feed(&s->shown, s->box->request.mask,
			   stream == EXEC_STDERR, piece, &s->text);
		pass_on(s, stream);
		chunk = str_skip(chunk, piece.len);
	}
}

static void finish(struct sink *s)
{
	shown_end(&s->shown, s->box->request.mask, &s->text);
	pass_on(s, EXEC_STDOUT);
	buf_release(&s->text);
}

static int failed(const struct sink *s, int exit_code, struct error *err)
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

int lifecycle_setup_run(struct box *box, struct str script,
			const struct stop *stop, struct error *err)
{
	struct sink s = {
		.box = box,
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
	buf_release(&s.tail);
	return rc;
}
