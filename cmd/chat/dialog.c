/* dialog.c - the question whether a call may run, in the live part. */
/* SPDX-License-Identifier: MIT */
#include "cmd/chat/dialog.h"

#include <stdio.h>

#include "base/json.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "editor/draft_text.h"
#include "term/rows.h"

enum {
	MAX_REASON = 2000, /* bytes */
	OWN_ROWS = 3,      /* title, what is hidden, answers */
};

static const struct style strong = { ATTR_BOLD, STYLE_WARN };
static const struct style plain = { 0, STYLE_PLAIN };
static const struct style muted = { 0, STYLE_MUTED };

/* The answers of the row, each with the letter that it stands for. */
static const struct {
	const char *label;
	char letter;
	bool several; /* only about several calls, or only about one */
	bool single;
} answers[] = {
	{ "no", 'n', false, false },
	{ "yes", 'y', false, true },
	{ "yes to all of these", 'y', true, false },
	{ "no, because...", 'w', false, false },
	{ "view", 'v', false, false },
	{ "always", 'a', false, true },
	{ "always, in config", 'A', false, true },
	{ "edit", 'e', false, true },
	{ "together", 't', false, true },
	{ "one by one", 'o', true, false },
};

enum { N_ANSWERS = sizeof(answers) / sizeof(*answers) };

static bool has_answer(const struct question *q, size_t i)
{
	struct str ignored;

	if ((q->n > 1 && answers[i].single) ||
	    (q->n == 1 && answers[i].several))
		return false;
	if (answers[i].letter == 'e')
		return dialog_editable(q, &ignored) != NULL;
	return answers[i].letter != 't' || dialog_has_more(q);
}

/* No stands first: it is what the row begins at. */
static void fill_row(const struct question *q, struct answer_row *row)
{
	for (size_t i = 0; i < N_ANSWERS; i++)
		if (has_answer(q, i))
			row->labels[row->n++] = answers[i].label;
}

static char selected_letter(const struct dialog *d)
{
	const char *label = d->row.labels[d->row.selected];

	for (size_t i = 0; i < N_ANSWERS; i++)
		if (answers[i].label == label)
			return answers[i].letter;
	return 'n';
}

void dialog_open(struct dialog *d, const struct question *asked)
{
	*d = (struct dialog){ .asked = asked, .reason = BUF_INIT(MAX_REASON) };
	call_view_open(&d->view, asked->list[0]);
	fill_row(asked, &d->row);
}

void dialog_close(struct dialog *d)
{
	if (!d->asked)
		return;
	call_view_close(&d->view);
	buf_release(&d->reason);
	editor_release(&d->editor);
	*d = (struct dialog){ 0 };
}

bool dialog_has_more(const struct question *q)
{
	return q->n == 1 && q->list[0]->n_later;
}

const char *dialog_editable(const struct question *q, struct str *text)
{
	const struct approval *a = q->list[0];
	const char *name = q->n == 1 ? approval_editable(a) : NULL;

	if (name)
		*text = str_of(json_string(a->args, name, ""));
	return name;
}

static enum dialog_answer type_reason(struct dialog *d,
				      const struct key_event *ev)
{
	const struct key *key = &ev->key;

	if (ev->kind == KEY_EVENT_TEXT || ev->kind == KEY_EVENT_PASTE) {
		struct buf clean = BUF_INIT(MAX_REASON);

		sanitize_line(ev->text, &clean);
		buf_addstr(&d->reason, buf_str(&clean));
		buf_release(&clean);
	} else if (ev->kind == KEY_EVENT_KEY) {
		if (key->name == KEY_ENTER)
			return d->reason.len ? DIALOG_REASON : DIALOG_NO;
		if (key->name == KEY_ESCAPE)
			d->explains = false;
		else if (key->name == KEY_BACKSPACE)
			width_drop_last(&d->reason);
		else if (key->name == KEY_CHAR && key->c == 'u' &&
			 key->mods == KEY_CTRL)
			buf_clear(&d->reason);
	}
	return DIALOG_OPEN;
}

/* Opens the text of the call in an editor; one with controls goes to the user's
 * own, so that each byte of it stays. */
static enum dialog_answer begin_edit(struct dialog *d)
{
	struct str text;
	const char *name = dialog_editable(d->asked, &text);

	if (!name)
		return DIALOG_OPEN;
	if (!pastes_is_clean(text))
		return DIALOG_ELSEWHERE;
	snprintf(d->label, sizeof(d->label), "%s: ", name);
	d->editor.prompt = str_of(d->label);
	d->editor.prompt_style = strong;
	editor_set(&d->editor, text);
	d->edits = true;
	return DIALOG_OPEN;
}

static enum dialog_answer edit(struct dialog *d, const struct key_event *ev)
{
	switch (editor_event(&d->editor, ev)) {
	case EDITOR_SUBMIT:
		return DIALOG_EDITED;
	case EDITOR_EXTERNAL:
		return DIALOG_ELSEWHERE;
	case EDITOR_ESCAPE:
		d->edits = false;
		return DIALOG_OPEN;
	default:
		return DIALOG_OPEN;
	}
}

static enum dialog_answer on_letter(struct dialog *d, char letter)
{
	bool alone = d->asked->n == 1;

	switch (letter) {
	case 'y':
	case 'Y':
		return d->seen ? DIALOG_YES : DIALOG_OPEN;
	case 'a':
		return d->seen && alone ? DIALOG_ALWAYS : DIALOG_OPEN;
	case 'A':
		return d->seen && alone ? DIALOG_CONFIG : DIALOG_OPEN;
	case 'n':
	case 'N':
		return DIALOG_NO;
	case 'w':
	case 'W':
		d->explains = true;
		return DIALOG_OPEN;
	case 'v':
	case 'V':
		return DIALOG_SHOW;
	case 'e':
	case 'E':
		return begin_edit(d);
	case 't':
	case 'T':
		return dialog_has_more(d->asked) ? DIALOG_TOGETHER
						 : DIALOG_OPEN;
	case 'o':
	case 'O':
		return alone ? DIALOG_OPEN : DIALOG_ONE;
	default:
		return DIALOG_OPEN;
	}
}

static enum dialog_answer on_named_key(struct dialog *d, const struct key *key)
{
	bool ctrl = key->name == KEY_CHAR && key->mods == KEY_CTRL;

	if (key->name == KEY_ESCAPE || (ctrl && key->c == 'd'))
		return DIALOG_NO;
	if ((key->name == KEY_TAB && key->mods == KEY_SHIFT) ||
	    (ctrl && key->c == 't'))
		return d->seen ? DIALOG_EDITS : DIALOG_OPEN;
	if (key->name == KEY_TAB && !key->mods)
		d->explains = true;
	else if (d->keys != QUESTION_SELECTED)
		return DIALOG_OPEN;
	else if (key->name == KEY_ENTER)
		return on_letter(d, selected_letter(d));
	else
		(void)answer_row_move(&d->row, key);
	return DIALOG_OPEN;
}

enum dialog_answer dialog_event(struct dialog *d, const struct key_event *ev)
{
	if (d->explains)
		return type_reason(d, ev);
	if (d->edits)
		return edit(d, ev);
	d->note = NULL;
	if (ev->kind == KEY_EVENT_KEY)
		return on_named_key(d, &ev->key);
	if (ev->kind != KEY_EVENT_TEXT || ev->text.len != 1)
		return DIALOG_OPEN;
	return on_letter(d, ev->text.ptr[0]);
}

/* Of a line of question_render(), by the sign behind its "  | ". */
static struct style change_style(struct str line, struct style before)
{
	char sign = line.len > 4 ? line.ptr[4] : ' ';

	if (!str_starts(line, "  | "))
		return str_starts(line, "    ") ? before : muted;
	if (sign == '+')
		return (struct style){ 0, STYLE_ADDED };
	if (sign == '-')
		return (struct style){ 0, STYLE_REMOVED };
	return sign == ' ' ? plain : muted;
}

/* Rows of the items; what changes in a file has its colours. */
static void add_coloured(struct str text, struct rows *out)
{
	struct style style = plain;
	bool changes = false;
	struct str line;

	while (str_split(&text, '\n', &line)) {
		bool goes_on = str_starts(line, "  | ") ||
			       str_starts(line, "    ") ||
			       str_starts(line, "  ...");

		if (!goes_on)
			changes = str_starts(line, "  " CALL_VIEW_CHANGE ": ");
		style = changes ? change_style(line, style) : plain;
		rows_add(out, style, line);
		rows_end(out);
	}
}

/* -1 when it is too much to show. */
static int add_items(const struct call_view *v, struct question_screen room,
		     struct rows *out, size_t *hidden)
{
	struct buf text = BUF_INIT(CALL_VIEW_BYTES);
	int rc;

	*hidden = question_render(v->items, v->n, room, &text);
	rc = text.over ? -1 : 0;
	if (rc == 0)
		add_coloured(buf_str(&text), out);
	rows_close(out);
	buf_release(&text);
	return rc;
}

/* A line of ours, cut where the screen ends. */
static void add_line(struct rows *out, struct style style, struct str text,
		     size_t columns)
{
	text.len = width_prefix(text, columns);
	rows_add(out, style, text);
	rows_end(out);
}

/* The longer text where there is room for it. */
static struct str fitting(const char *text, const char *brief, size_t columns)
{
	return str_of(width_cells(str_of(text)) <= columns ? text : brief);
}

/* The longest of these that fits. */
static void add_choice(struct rows *out, size_t columns, bool more, bool edits)
{
	char text[128];

	snprintf(text, sizeof(text),
		 "y yes  n no  w no, because...  a always  A in config%s"
		 "  v view%s",
		 edits ? "  e edit" : "", more ? "  t together" : "");
	if (width_cells(str_of(text)) > columns)
		snprintf(text, sizeof(text), "y/n/w/a/A%s%s, v: all",
			 edits ? "/e" : "", more ? "/t" : "");
	add_line(out, strong, str_of(text), columns);
}

static void add_answers(const struct dialog *d, size_t columns,
			struct rows *out)
{
	struct str reason = buf_str(&d->reason);
	struct str ignored;

	if (d->keys == QUESTION_TOO_NEW) {
		rows_end(out);
		return;
	}
	if (d->edits) {
		add_line(out, strong,
			 fitting("Enter takes the changed call, Esc leaves it, "
				 "Ctrl+X opens $EDITOR",
				 "Enter/Esc/Ctrl+X", columns),
			 columns);
		return;
	}
	if (!d->explains && d->note) {
		add_line(out, strong, str_of(d->note), columns);
		return;
	}
	if (!d->explains && d->keys == QUESTION_DRAFT) {
		answer_row_hint(columns, out);
		return;
	}
	if (!d->explains && d->keys == QUESTION_SELECTED) {
		answer_row_render(&d->row, columns, out);
		return;
	}
	if (!d->explains && d->asked->n > 1) {
		add_line(out, strong,
			 fitting("y yes to all of these  n no  w no, "
				 "because...  o one by one  v view",
				 "y/n/w/o, v: all", columns),
			 columns);
		return;
	}
	if (!d->explains) {
		add_choice(out, columns, dialog_has_more(d->asked),
			   dialog_editable(d->asked, &ignored) != NULL);
		return;
	}
	rows_add(out, strong, STR("No, because: "));
	while (width_cells(reason) + 14 > columns && reason.len) {
		size_t cells;

		reason = str_skip(reason, width_next(reason, &cells));
	}
	rows_add(out, plain, reason);
	rows_end(out);
}

/* Calls that were shown above: what is asked about them. */
static int add_together(struct dialog *d, size_t columns, struct rows *out)
{
	char text[96];

	snprintf(text, sizeof(text), "%zu calls, shown above: may they run?",
		 d->asked->n);
	add_line(out, strong, str_of(text), columns);
	add_answers(d, columns, out);
	return 0;
}

/* -1 when it is too much to show. */
static int add_call(struct dialog *d, size_t columns, size_t rows,
		    struct rows *out)
{
	struct question_screen room = {
		.rows = rows > OWN_ROWS ? rows - OWN_ROWS : 1,
		.columns = columns,
	};

	if (d->asked->n > 1)
		return add_together(d, columns, out);
	add_line(out, strong, str_trim(str_of(d->view.title)), columns);
	if (add_items(&d->view, room, out, &d->hidden) < 0)
		return -1;
	if (d->hidden)
		add_line(out, muted,
			 fitting("This is only a part: v shows the rest.",
				 "v shows the rest", columns),
			 columns);
	add_answers(d, columns, out);
	return 0;
}

/* There is no room for the call: a row for how to see it, or to refuse. */
static void add_small(const struct dialog *d, size_t columns, struct rows *out)
{
	if (d->keys == QUESTION_DRAFT)
		answer_row_hint(columns, out);
	else if (d->keys == QUESTION_SELECTED)
		answer_row_render(&d->row, columns, out);
	else
		add_line(out, strong, STR("v view, n no"), columns);
}

void dialog_render(struct dialog *d, size_t columns, size_t rows,
		   struct rows *out)
{
	struct rows call = { 0 };
	int rc = add_call(d, columns, rows, &call);

	if (rc == 0 && call.n > rows && d->view.n > d->view.n_call) {
		d->view.n = d->view.n_call;
		rows_clear(&call);
		rc = add_call(d, columns, rows, &call);
	}
	if ((rc < 0 || call.n > rows) && d->keys == QUESTION_TOO_NEW) {
		rows_end(out);
	} else if (d->edits && (rc < 0 || call.n > rows)) {
		add_answers(d, columns, out);
	} else if (rc < 0) {
		add_line(out, strong, STR("Too long to show: n declines"),
			 columns);
	} else if (call.n > rows) {
		add_small(d, columns, out);
	} else {
		d->seen = d->seen || d->asked->n == 1;
		rows_append(out, &call, 0, call.n);
	}
	rows_release(&call);
}

bool dialog_render_whole(struct dialog *d, size_t columns, struct rows *out)
{
	struct question_screen room = { .columns = columns };
	bool whole = true;
	size_t hidden;

	for (size_t i = 0; whole && i < d->asked->n; i++) {
		struct call_view view;

		call_view_open(&view, d->asked->list[i]);
		add_line(out, strong, str_trim(str_of(view.title)), columns);
		whole = add_items(&view, room, out, &hidden) == 0;
		call_view_close(&view);
	}
	d->seen = d->seen || whole;
	return whole;
}
