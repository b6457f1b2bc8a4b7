/* ask_screen.c - questions in the live part of the screen. */
/* SPDX-License-Identifier: MIT */
/*
 * Three parts, each drawn as rows and fed with key events: the row of answers
 * that arrow keys move in, the approval of calls (dialog_) and a choice that
 * dcode itself asks for (choice_). The model's questions are in ask_inquiry.c.
 * The caller, live_keys.c, decides which part gets a key. Begin reading at
 * dialog_event() and dialog_render().
 */
#include "cmd/chat/ask_screen.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "editor/draft_text.h"
#include "term/rows.h"
#include "ui/question_change.h"

static const struct style strong = { ATTR_BOLD, STYLE_WARN };

static const struct style plain = { 0, STYLE_PLAIN };

static const struct style muted = { 0, STYLE_MUTED };

static const struct style chosen = { ATTR_BOLD, STYLE_ACCENT };

/* Left and Right move the selection, and stop at the ends. Up and Down, which
 * have moved the focus here, do nothing: a key that is held too long must not
 * reach "yes". */
static void answer_row_move(struct answer_row *a, const struct key *key)
{
	if (key->name == KEY_LEFT)
		a->selected -= a->selected > 0;
	else if (key->name == KEY_RIGHT)
		a->selected += a->selected + 1 < a->n;
}

/* Returns the width in cells of the labels from first on, with their gaps. */
static size_t width_from(const struct answer_row *a, size_t first)
{
	size_t cells = 0;

	for (size_t i = first; i < a->n; i++)
		cells += width_cells(str_of(a->labels[i])) + 4;
	return cells;
}

/* Draws the answers in one row; the selected one is marked even without
 * colours. If not all fit, the row begins as far left of it as it can. */
static void answer_row_render(const struct answer_row *a, size_t columns,
			      struct rows *out)
{
	size_t after = width_from(a, a->selected + 1);
	size_t first = 0;

	while (first < a->selected && width_from(a, first) - after >= columns)
		first++;

	for (size_t i = first; i < a->n; i++) {
		bool here = i == a->selected;
		struct str label = str_of(a->labels[i]);
		size_t gap = i > first ? 2 : 0;
		size_t more = i + 1 < a->n ? 3 : 0; /* for "  ..." behind it */
		size_t cells = gap + 2 + width_cells(label);

		if (i > first && cells + more > columns) {
			cut_text_add(out, muted, STR("  " ROWS_CUT), columns);
			break;
		}
		rows_add(out, muted, (struct str){ "  ", gap });
		rows_add(out, here ? chosen : plain,
			 here ? STR("> ") : STR("  "));
		(void)cut_text_add(out, here ? chosen : plain, label,
				   columns > 2 ? columns - 2 : 0);
		columns -= cells < columns ? cells : columns;
	}
	rows_end(out);
}

bool answer_row_hint(enum question_keys keys, int wait_s, size_t columns,
		     struct rows *out)
{
	struct buf text = BUF_INIT(1 << 8);
	struct str shown;

	if (keys == QUESTION_DRAFT)
		buf_adds(&text, "You are writing a message. "
				"Up/Down: to the question");
	else if (keys == QUESTION_PAUSE)
		buf_addf(&text, "Keys answer in %d s. Up/Down selects now",
			 wait_s);
	else
		return false;
	shown = buf_str(&text);
	if (shown.len > columns && keys == QUESTION_DRAFT)
		shown = str_skip(shown, str_find(shown, '.') + 2);
	else if (shown.len > columns)
		shown.len = str_find(shown, '.');
	cut_text_add(out, strong, shown, columns);
	rows_end(out);
	buf_release(&text);
	return true;
}

enum {
	MAX_REASON = 2000, /* bytes */
	OWN_ROWS = 1,      /* for the note on hidden rows */
	TITLE_ROWS = 3,    /* at most */
	ROWS_TO_SPARE = 9, /* with these, the title and the keys may take more
			      than one row each */
	KEY_ROWS = 3,      /* at most */
};

/* The answers in the row, each with its letter, in the order of key_texts. */
static const struct {
	const char *label;
	char letter;
	bool several; /* only for several calls; single: only for one call */
	bool single;
} answers[] = {
	{ "yes", 'y', false, true },
	{ "yes to all of these", 'y', true, false },
	{ "no", 'n', false, false },
	{ "no, because...", 'w', false, false },
	{ "always", 'a', false, true },
	{ "always, in config", 'A', false, true },
	{ "edit", 'e', false, true },
	{ "one by one", 'o', true, false },
	{ "together", 't', false, true },
	{ "view", 'v', false, false }, /* last: not always offered */
};

enum { N_ANSWERS = sizeof(answers) / sizeof(*answers) };

/* True if the answer fits the number of calls and what can be edited or asked
 * together. */
static bool has_answer(const struct question *q, size_t i)
{
	struct str ignored;

	if ((q->n > 1 && answers[i].single) ||
	    (q->n == 1 && answers[i].several))
		return false;
	if ((answers[i].letter | 0x20) == 'a' && !ask_may_last(q))
		return false;
	if (answers[i].letter == 'e')
		return ask_editable(q, &ignored) != NULL;
	return answers[i].letter != 't' || ask_has_more(q);
}

/* Fills d->letters. Every answer but "always" also has its capital letter. */
static void fill_letters(struct dialog *d)
{
	size_t n = 0;

	for (size_t i = 0; i < N_ANSWERS; i++) {
		char letter = answers[i].letter;

		if (!has_answer(d->asked, i) ||
		    (letter == 'v' && !d->hidden && d->seen))
			continue;
		d->letters[n++] = letter;
		if ((letter | 0x20) != 'a')
			d->letters[n++] = (char)(letter & ~0x20);
	}
	d->letters[n] = '\0';
}

/* "View" is there only if rows are hidden. */
static void fill_row(struct dialog *d)
{
	struct answer_row *row = &d->row;

	row->n = 0;
	for (size_t i = 0; i < N_ANSWERS; i++)
		if (has_answer(d->asked, i) &&
		    (answers[i].letter != 'v' || d->hidden)) {
			if (answers[i].letter == 'n')
				row->safe = row->n;
			row->labels[row->n++] = answers[i].label;
		}
	if (row->selected >= row->n)
		row->selected = row->n - 1;
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
	fill_row(d);
	fill_letters(d);
	d->row.selected = d->row.safe;
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

/* Handles a key while the reason for a no is typed. */
static enum dialog_answer handle_reason_key(struct dialog *d,
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

/* Opens the call's text in the built-in editor. A text with control characters
 * goes to the user's own editor, which preserves every byte. */
static enum dialog_answer open_editor(struct dialog *d)
{
	struct str text;
	const char *name = ask_editable(d->asked, &text);

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

/* Handles a key while the call's text is edited. */
static enum dialog_answer handle_edit_key(struct dialog *d,
					  const struct key_event *ev)
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

/* Handles an answer of the row. A yes is ignored until the call was shown. */
static enum dialog_answer give_answer(struct dialog *d, char letter)
{
	bool alone = d->asked->n == 1;
	bool lasts = ask_may_last(d->asked);

	switch (letter) {
	case 'y':
	case 'Y':
		return d->seen ? DIALOG_YES : DIALOG_OPEN;
	case 'a':
		return d->seen && lasts ? DIALOG_ALWAYS : DIALOG_OPEN;
	case 'A':
		return d->seen && lasts ? DIALOG_CONFIG : DIALOG_OPEN;
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
		return open_editor(d);
	case 't':
	case 'T':
		return ask_has_more(d->asked) ? DIALOG_TOGETHER : DIALOG_OPEN;
	case 'o':
	case 'O':
		return alone ? DIALOG_OPEN : DIALOG_ONE;
	default:
		return DIALOG_OPEN;
	}
}

/* "Always" must be given twice, with its letter or with Enter on the row: one
 * key pressed by mistake must not allow more than one call. */
static enum dialog_answer on_answer(struct dialog *d, char letter, bool enter)
{
	bool again = d->row.pressed == letter;

	d->row.pressed = '\0';
	if ((letter | 0x20) != 'a' || again || !d->seen ||
	    !ask_may_last(d->asked))
		return give_answer(d, letter);
	d->row.pressed = letter;
	d->row.by_enter = enter;
	if (enter)
		d->note = letter == 'a'
				  ? "Enter again: always, until dcode ends"
				  : "Enter again: always, in config.toml";
	else
		d->note = letter == 'a'
				  ? "a again always allows this call until "
				    "dcode ends"
				  : "A again saves \"always\" in config.toml";
	return DIALOG_OPEN;
}

/* Handles a key that is not a letter. Enter and the arrows count only while the
 * row of answers has the focus. */
static enum dialog_answer on_named_key(struct dialog *d, const struct key *key)
{
	bool ctrl = key->name == KEY_CHAR && key->mods == KEY_CTRL;

	if (key->name == KEY_ENTER && d->keys == QUESTION_SELECTED)
		return on_answer(d, selected_letter(d), true);
	d->row.pressed = '\0';
	if (key->name == KEY_ESCAPE || (ctrl && key->c == 'd'))
		return DIALOG_NO;
	if ((key->name == KEY_TAB && key->mods == KEY_SHIFT) ||
	    (ctrl && key->c == 't'))
		return d->seen ? DIALOG_EDITS : DIALOG_OPEN;
	if (key->name == KEY_TAB && !key->mods)
		d->explains = true;
	else if (d->keys == QUESTION_SELECTED)
		answer_row_move(&d->row, key);
	return DIALOG_OPEN;
}

enum dialog_answer dialog_event(struct dialog *d, const struct key_event *ev)
{
	if (d->explains)
		return handle_reason_key(d, ev);
	if (d->edits)
		return handle_edit_key(d, ev);
	d->note = NULL;
	if (ev->kind == KEY_EVENT_KEY)
		return on_named_key(d, &ev->key);
	if (ev->kind != KEY_EVENT_TEXT || ev->text.len != 1) {
		d->row.pressed = '\0';
		return DIALOG_OPEN;
	}
	return on_answer(d, ev->text.ptr[0], false);
}

/* Returns the length of the rows of an item at the front of text. */
static size_t item_length(struct str text)
{
	size_t n = 0;

	do {
		n += str_find(str_skip(text, n), '\n');
		n += n < text.len;
	} while (n < text.len &&
		 (question_prefix(str_skip(text, n)) ||
		  str_starts(str_skip(text, n), QUESTION_WRAPPED) ||
		  str_starts(str_skip(text, n), "  ...")));
	return n;
}

/* Adds the items' rows; a file's diff is coloured. */
static void add_coloured(const struct call_view *v, struct str text,
			 struct rows *out)
{
	char head[sizeof(v->change_label) + 8];

	snprintf(head, sizeof(head), "  %s: ", v->change_label);
	while (text.len) {
		struct str item = { text.ptr, item_length(text) };

		if (v->change_label[0] && str_starts(item, head))
			question_change_render(item, v->change_label, v->path,
					       out);
		else
			rows_add(out, plain, item);
		text = str_skip(text, item.len);
	}
}

/* Adds the items' rows. Returns -1 if they are too large to show. */
static int add_items(const struct call_view *v, struct question_screen room,
		     struct rows *out, size_t *hidden)
{
	struct buf text = BUF_INIT(CALL_VIEW_BYTES);
	int rc;

	*hidden = question_render(v->items, v->n, room, &text);
	rc = text.over ? -1 : 0;
	if (rc == 0)
		add_coloured(v, buf_str(&text), out);
	rows_close(out);
	buf_release(&text);
	return rc;
}

/* Adds a line of dcode's own text, cut at the screen's width. */
static void add_line(struct rows *out, struct style style, struct str text,
		     size_t columns)
{
	cut_text_add(out, style, text, columns);
	rows_end(out);
}

/* Returns text if it fits, else brief. */
static struct str select_fitting(const char *text, const char *brief,
				 size_t columns)
{
	return str_of(width_cells(str_of(text)) <= columns ? text : brief);
}

/* Returns how many bytes at the front of text, which is too wide, fit into a
 * row and end between two keys; 0: not even one key fits. */
static size_t fitting_keys(struct str text, size_t columns)
{
	size_t end = text.len;

	while (end && width_cells((struct str){ text.ptr, end }) > columns)
		do
			end--;
		while (end &&
		       (text.ptr[end] != ' ' || text.ptr[end + 1] != ' '));
	return end;
}

/* Adds descriptions of keys, separated by two blanks, in at most `most` rows.
 * None is cut in two; if not all fit, the last row ends in ROWS_CUT. */
static void add_keys(struct str text, size_t columns, size_t most,
		     struct rows *out)
{
	while (width_cells(text) > columns) {
		bool last = most-- <= 1;
		size_t end = fitting_keys(text, columns - (last ? 3 : 0));

		if (!end || columns <= 3)
			break;
		rows_add(out, strong, (struct str){ text.ptr, end });
		if (last)
			rows_adds(out, strong, "  " ROWS_CUT);
		rows_end(out);
		if (last)
			return;
		text = str_trim(str_skip(text, end));
	}
	add_line(out, strong, text, columns);
}

/* Adds the keys of a question about calls. If rows are hidden, a row of its own
 * names the key that shows them. */
static void add_choice(const struct dialog *d, size_t columns, size_t most,
		       struct rows *out)
{
	struct buf text = BUF_INIT(1 << 10);
	bool alone = d->asked->n == 1;
	struct str ignored;

	buf_adds(&text, alone ? "y yes" : "y yes to all");
	buf_adds(&text, "  n no  w because");
	if (ask_may_last(d->asked))
		buf_adds(&text, "  a always  A config");
	if (ask_editable(d->asked, &ignored))
		buf_adds(&text, "  e edit");
	if (!alone)
		buf_adds(&text, "  o one by one");
	if (ask_has_more(d->asked))
		buf_adds(&text, "  t together");
	if (d->edits_allowed)
		buf_adds(&text, "  Shift+Tab all edits");
	add_keys(buf_str(&text), columns, most, out);
	buf_release(&text);
}

static size_t count_key_rows(const struct dialog *d, size_t columns)
{
	struct rows keys = { 0 };
	size_t n;

	add_choice(d, columns, KEY_ROWS, &keys);
	n = keys.n;
	rows_release(&keys);
	return n;
}

/* Draws the last rows, at most `most`: the answers, the reason being typed, or
 * a note. */
static void add_answers(const struct dialog *d, size_t columns, size_t most,
			struct rows *out)
{
	struct str reason = buf_str(&d->reason);

	if (d->keys == QUESTION_TOO_NEW) {
		rows_end(out);
		return;
	}
	if (d->edits) {
		add_line(out, strong,
			 select_fitting(
				 "Enter keeps the change, Esc discards it, "
				 "Ctrl+X opens $EDITOR",
				 "Enter/Esc/Ctrl+X", columns),
			 columns);
		return;
	}
	if (!d->explains && d->note) {
		add_line(out, strong, str_of(d->note), columns);
		return;
	}
	if (!d->explains && answer_row_hint(d->keys, d->wait_s, columns, out))
		return;
	if (!d->explains && d->keys == QUESTION_SELECTED) {
		answer_row_render(&d->row, columns, out);
		return;
	}
	if (!d->explains) {
		add_choice(d, columns, most, out);
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

/* Adds the question about several calls, which were printed above the live
 * part. */
static int add_batch_question(struct dialog *d, size_t columns, size_t rows,
			      struct rows *out)
{
	char text[96];

	snprintf(text, sizeof(text), "Run these %zu calls (shown above)?",
		 d->asked->n);
	add_line(out, strong, str_of(text), columns);
	add_answers(d, columns, rows > 2 ? KEY_ROWS : 1, out);
	return 0;
}

/* Adds the call's title in at most `most` rows. */
static void add_title(const struct call_view *v, size_t columns, size_t most,
		      struct rows *out)
{
	struct wrap w = { .columns = columns, .words = true };
	struct str title = str_trim(str_of(v->title));
	struct rows line = { 0 };
	struct rows wrapped = { 0 };

	rows_add(&line, strong, title);
	rows_close(&line);
	wrap_rows(&line, &w, &wrapped);
	if (wrapped.n <= most)
		rows_append(out, &wrapped, 0, wrapped.n);
	else
		add_line(out, strong, title, columns);
	rows_release(&line);
	rows_release(&wrapped);
}

/* Adds the rows that describe a single call. Returns -1 if it is too large to
 * show. */
static int add_call(struct dialog *d, size_t columns, size_t rows,
		    struct rows *out)
{
	struct question_screen room = { .columns = columns };
	bool spare = rows >= ROWS_TO_SPARE;
	size_t keys = spare ? count_key_rows(d, columns) : 1;
	size_t own;

	if (d->asked->n > 1)
		return add_batch_question(d, columns, rows, out);
	add_title(&d->view, columns, spare ? TITLE_ROWS : 1, out);
	own = out->n + OWN_ROWS + keys;
	room.rows = rows > own ? rows - own : 1;
	if (add_items(&d->view, room, out, &d->hidden) < 0)
		return -1;
	fill_row(d);
	if (d->hidden)
		add_line(out, muted,
			 select_fitting(
				 "This is only part of the call: v shows the "
				 "rest.",
				 "v shows the rest", columns),
			 columns);
	add_answers(d, columns, keys, out);
	return 0;
}

/* Adds what fits of a call that is too long for the screen: its title, its
 * first rows, and how to view or decline it. */
static void add_part(const struct dialog *d, const struct rows *call,
		     size_t columns, size_t rows, struct rows *out)
{
	size_t shown = rows > 2 ? rows - 2 : 0;

	if (rows > 1)
		rows_append(out, call, 0, 1 + shown - (shown > 0));
	if (shown)
		add_line(out, muted, STR("  ... more rows ..."), columns);
	if (answer_row_hint(d->keys, d->wait_s, columns, out))
		return;
	if (d->keys == QUESTION_SELECTED)
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
		add_answers(d, columns, 1, out);
	} else if (rc < 0) {
		add_line(out, strong, STR("Too long to show: n declines"),
			 columns);
	} else if (call.n > rows) {
		add_part(d, &call, columns, rows, out);
	} else {
		d->seen = d->seen || d->asked->n == 1;
		rows_append(out, &call, 0, call.n);
	}
	fill_letters(d);
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
		add_title(&view, columns, TITLE_ROWS, out);
		whole = add_items(&view, room, out, &hidden) == 0;
		call_view_close(&view);
	}
	d->seen = d->seen || whole;
	return whole;
}

void choice_open(struct choice_dialog *d, const struct app_question *q)
{
	*d = (struct choice_dialog){ .asked = q };
	for (size_t i = 0; i < q->n && i < ANSWER_ROW_MOST; i++) {
		d->row.labels[d->row.n++] = q->answers[i];
		d->letters[2 * i] = q->answers[i][0];
		d->letters[2 * i + 1] = (char)(q->answers[i][0] & ~0x20);
	}
	d->row.selected = d->row.safe = q->safe;
}

/* Returns the answer, or CHOICE_OPEN if it is one that lasts and was given only
 * once. pressed: the letter that was given before. */
static int choose(struct choice_dialog *d, int answer, char pressed, bool enter)
{
	char letter = answer >= 0 ? d->asked->answers[answer][0] : '\0';

	if (answer < 0 || (size_t)answer + 1 != d->asked->lasts ||
	    pressed == letter)
		return answer;
	d->row.pressed = letter;
	d->row.by_enter = enter;
	return CHOICE_OPEN;
}

/* Handles a key at a question of dcode itself. Returns an answer's index or a
 * CHOICE_ value. */
static int on_key(struct choice_dialog *d, const struct key *key, char pressed)
{
	if (key->name == KEY_CHAR && key->mods == KEY_CTRL && key->c == 'd')
		return CHOICE_ENDED;
	if (key->name == KEY_ESCAPE)
		return d->asked->escapes ? (int)d->asked->safe : CHOICE_OPEN;
	if (key->name == KEY_ENTER && d->keys == QUESTION_SELECTED)
		return choose(d, (int)d->row.selected, pressed, true);
	if (key->name == KEY_ENTER && !d->asked->gives_way)
		return (int)d->asked->usual;
	if (d->keys == QUESTION_SELECTED)
		answer_row_move(&d->row, key);
	return CHOICE_OPEN;
}

int choice_event(struct choice_dialog *d, const struct key_event *ev)
{
	char pressed = d->row.pressed;

	d->row.pressed = '\0';
	if (ev->kind == KEY_EVENT_KEY)
		return on_key(d, &ev->key, pressed);
	if (ev->kind != KEY_EVENT_TEXT || ev->text.len != 1)
		return CHOICE_OPEN;
	return choose(d, ask_parse_choice(d->asked, ev->text), pressed, false);
}

void choice_render(const struct choice_dialog *d, size_t columns,
		   struct rows *out)
{
	struct wrap w = { .columns = columns > 1 ? columns - 1 : 1,
			  .words = true };
	const struct app_question *q = d->asked;
	bool letters = d->keys == QUESTION_LETTERS;
	struct buf text = BUF_INIT(1 << 12);
	struct rows line = { 0 };
	struct rows wrapped = { 0 };

	buf_adds(&text, q->text);
	if (letters && !q->keys)
		buf_addf(&text, " [%s]", q->choices);
	rows_add(&line, strong, buf_str(&text));
	rows_close(&line);
	wrap_rows(&line, &w, &wrapped);
	rows_append(out, &wrapped, 0, wrapped.n);
	if (d->row.pressed)
		add_line(out, strong,
			 str_of(d->row.by_enter ? "Enter again: always"
						: "a again: always"),
			 columns);
	else if (!answer_row_hint(d->keys, d->wait_s, columns, out) &&
		 d->keys == QUESTION_SELECTED)
		answer_row_render(&d->row, columns, out);
	else if (letters && q->keys)
		add_keys(str_of(q->keys), columns, KEY_ROWS, out);
	rows_release(&line);
	rows_release(&wrapped);
	buf_release(&text);
}
