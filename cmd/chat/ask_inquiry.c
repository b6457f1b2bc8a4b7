/* ask_inquiry.c - the model's questions in the live part of the screen. */
/* SPDX-License-Identifier: MIT */
/*
 * One question is shown at a time, with its choices or the answer being typed.
 * Begin reading at inquiry_dialog_event() and inquiry_dialog_render().
 */
#include "cmd/chat/ask_inquiry.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "term/rows.h"

static const struct style strong = { ATTR_BOLD, STYLE_WARN };

static const struct style plain = { 0, STYLE_PLAIN };

static const struct style muted = { 0, STYLE_MUTED };

static const struct style chosen = { ATTR_BOLD, STYLE_ACCENT };

enum {
	EDITOR_ROWS = 6,
	QUESTION_ROWS = 8, /* rows of a question; a longer one is printed in
			      full above */
	CHOICE_ROWS = 4,   /* rows of the selected choice */
	INQUIRY_ROWS = 3,  /* the title, the note and the keys */
};

static struct inquiry_item *current_item(const struct inquiry_dialog *d)
{
	return &d->asked->items[d->at];
}

/* Shows question i with the answer it already has. */
static void show_item(struct inquiry_dialog *d, size_t i)
{
	struct inquiry_item *item;

	d->at = i;
	item = current_item(d);
	d->types = item->kind == INQUIRY_TEXT;
	d->selected = 0;
	while (d->selected < item->n_choices && !item->chosen[d->selected])
		d->selected++;
	if (d->selected == item->n_choices && !item->answer.len)
		d->selected = 0;
	editor_set(&d->editor, buf_str(&item->answer));
}

void inquiry_dialog_open(struct inquiry_dialog *d, struct inquiry *asked)
{
	*d = (struct inquiry_dialog){ .asked = asked };
	d->editor.prompt = STR("> ");
	d->editor.prompt_style = strong;
	show_item(d, 0);
}

void inquiry_dialog_close(struct inquiry_dialog *d)
{
	if (!d->asked)
		return;
	editor_release(&d->editor);
	*d = (struct inquiry_dialog){ 0 };
}

static bool is_answered(const struct inquiry_item *item)
{
	bool any = item->answer.len || !item->required;

	for (size_t i = 0; i < item->n_choices; i++)
		any = any || item->chosen[i];
	return any;
}

/* After an answer, shows the next question, or the first one still without an
 * answer. Returns true when all are answered. */
static bool show_next_item(struct inquiry_dialog *d)
{
	size_t n = d->asked->n;

	if (d->at + 1 < n) {
		show_item(d, d->at + 1);
		return false;
	}
	for (size_t i = 0; i < n; i++) {
		if (is_answered(&d->asked->items[i]))
			continue;
		show_item(d, i);
		return false;
	}
	return true;
}

/* Stores the typed text as the answer. Returns false if it is too long. */
static bool store_typed_answer(struct inquiry_dialog *d)
{
	struct inquiry_item *item = current_item(d);
	struct buf text = BUF_INIT(64 << 20);
	struct buf clean = BUF_INIT(INQUIRY_ANSWER_BYTES);

	editor_text(&d->editor, &text);
	sanitize_text(str_trim(buf_str(&text)), &clean);
	if (!clean.over) {
		buf_clear(&item->answer);
		buf_addstr(&item->answer, buf_str(&clean));
	} else {
		d->note = "The answer is too long.";
	}
	buf_release(&text);
	if (item->kind == INQUIRY_CHOICE && clean.len)
		memset(item->chosen, 0, sizeof(item->chosen));
	buf_release(&clean);
	return !d->note;
}

/* Stores the typed answer and goes on. Returns true when all questions are
 * answered. */
static bool submit_typed_answer(struct inquiry_dialog *d)
{
	struct inquiry_item *item = current_item(d);

	if (!store_typed_answer(d))
		return false;
	if (!item->answer.len && item->kind != INQUIRY_TEXT) {
		d->types = false;
		return false;
	}
	if (!is_answered(item)) {
		d->note = "Type an answer; Esc declines.";
		return false;
	}
	return show_next_item(d);
}

/* Chooses item i and goes on; the last item begins a free answer. */
static bool select_choice(struct inquiry_dialog *d, size_t i)
{
	struct inquiry_item *item = current_item(d);

	d->selected = i;
	if (i >= item->n_choices) {
		d->types = true;
		return false;
	}
	memset(item->chosen, 0, sizeof(item->chosen));
	buf_clear(&item->answer);
	item->chosen[i] = true;
	return show_next_item(d);
}

static void toggle_choice(struct inquiry_dialog *d, size_t i)
{
	struct inquiry_item *item = current_item(d);

	d->selected = i;
	if (i >= item->n_choices)
		d->types = true;
	else
		item->chosen[i] = !item->chosen[i];
}

/* Handles Enter in a list. Returns true when all questions are answered. */
static bool submit_choice(struct inquiry_dialog *d)
{
	struct inquiry_item *item = current_item(d);

	if (item->kind == INQUIRY_CHOICE)
		return select_choice(d, d->selected);
	if (d->selected == item->n_choices && !item->answer.len) {
		d->types = true;
		return false;
	}
	if (is_answered(item))
		return show_next_item(d);
	d->note = "Space marks a choice; Esc declines.";
	return false;
}

/* Toggles the choices that the typed characters name: a digit, or a space for
 * the selected one. */
static void toggle_typed(struct inquiry_dialog *d, struct str text)
{
	for (size_t i = 0; i < text.len && !d->types; i++) {
		char c = text.ptr[i];

		if (c == ' ')
			toggle_choice(d, d->selected);
		else if (c >= '1' && c <= '9' &&
			 (size_t)(c - '1') < current_item(d)->n_choices)
			toggle_choice(d, (size_t)(c - '1'));
	}
}

/* Handles text typed in a list: a digit, a space that marks, or the beginning
 * of a free answer. */
static bool handle_list_text(struct inquiry_dialog *d,
			     const struct key_event *ev)
{
	struct inquiry_item *item = current_item(d);
	char c = ev->text.len == 1 ? ev->text.ptr[0] : '\0';
	bool number = c >= '1' && c <= '9';

	if (d->selected == item->n_choices && !number && c != ' ') {
		d->types = true;
		(void)editor_event(&d->editor, ev);
	} else if (item->kind == INQUIRY_SEVERAL) {
		toggle_typed(d, ev->text);
	} else if (number && (size_t)(c - '1') < item->n_choices) {
		return select_choice(d, (size_t)(c - '1'));
	}
	return false;
}

/* The selection stops at the ends: a key held too long must not reach the other
 * one. */
static void move_selection(struct inquiry_dialog *d, const struct key *key)
{
	size_t n = current_item(d)->n_choices + 1;
	bool ctrl = key->name == KEY_CHAR && key->mods == KEY_CTRL;

	if (key->name == KEY_DOWN || (ctrl && key->c == 'n'))
		d->selected += d->selected + 1 < n;
	else if (key->name == KEY_UP || (ctrl && key->c == 'p'))
		d->selected -= d->selected > 0;
}

/* Tab and Shift+Tab show the next or previous question. Returns false for other
 * keys. */
static bool turn_page(struct inquiry_dialog *d, const struct key *key)
{
	size_t n = d->asked->n;

	if (key->name != KEY_TAB)
		return false;
	if (d->types)
		(void)store_typed_answer(d);
	show_item(d, (d->at + (key->mods & KEY_SHIFT ? n - 1 : 1)) % n);
	return true;
}

static bool is_decline_key(const struct inquiry_dialog *d,
			   const struct key *key)
{
	bool eof =
		key->name == KEY_CHAR && key->c == 'd' && key->mods == KEY_CTRL;

	if (d->types && current_item(d)->kind != INQUIRY_TEXT)
		return false;
	return key->name == KEY_ESCAPE ||
	       (eof && (!d->types || editor_is_empty(&d->editor)));
}

/* Handles a key while a free answer is typed. */
static bool on_editor(struct inquiry_dialog *d, const struct key_event *ev)
{
	switch (editor_event(&d->editor, ev)) {
	case EDITOR_SUBMIT:
		return submit_typed_answer(d);
	case EDITOR_ESCAPE:
		d->types = false;
		return false;
	default:
		return false;
	}
}

/* True if declining loses an answer: one that was given, or is being typed. */
static bool has_answers(const struct inquiry_dialog *d)
{
	bool any = d->types && !editor_is_empty(&d->editor);

	for (size_t i = 0; i < d->asked->n && !any; i++) {
		const struct inquiry_item *item = &d->asked->items[i];

		any = item->answer.len > 0;
		for (size_t k = 0; k < item->n_choices; k++)
			any = any || item->chosen[k];
	}
	return any;
}

/* Handles Esc. Returns true if the questions are declined. */
static bool decline(struct inquiry_dialog *d, bool again, enum inquiry_end *end)
{
	if (has_answers(d) && !again) {
		d->declines = true;
		d->note = "Esc again declines, without your answers.";
		return false;
	}
	*end = INQUIRY_DECLINED;
	return true;
}

bool inquiry_dialog_event(struct inquiry_dialog *d, const struct key_event *ev,
			  enum inquiry_end *end)
{
	bool key = ev->kind == KEY_EVENT_KEY;
	bool again = d->declines;

	d->note = NULL;
	d->declines = false;
	*end = INQUIRY_ANSWERED;
	if (key && is_decline_key(d, &ev->key))
		return decline(d, again, end);
	if (key && turn_page(d, &ev->key))
		return false;
	if (ev->kind == KEY_EVENT_PASTE_BEGIN)
		d->types = true; /* typing a free answer */
	if (d->types)
		return on_editor(d, ev);
	if (ev->kind == KEY_EVENT_TEXT)
		return handle_list_text(d, ev);
	if (key && ev->key.name == KEY_ENTER)
		return submit_choice(d);
	if (key)
		move_selection(d, &ev->key);
	return false;
}

/* Adds wrapped text, at most `most` rows. */
static void add_text(struct str sign, struct style style, struct str text,
		     size_t columns, size_t most, struct rows *out)
{
	struct wrap w = { .columns = columns,
			  .first = { sign, style },
			  .words = true };
	struct rows line = { 0 };
	struct rows wrapped = { 0 };
	char blanks[32];

	snprintf(blanks, sizeof(blanks), "%*s", (int)width_cells(sign), "");
	w.rest.text = str_of(blanks);
	w.rest.style = style;

	rows_add(&line, style, text);
	rows_close(&line);
	for (size_t i = 0; i < line.n; i++) {
		wrap_row(&line, i, &w, &wrapped);
		w.first = w.rest;
	}
	rows_append(out, &wrapped, 0, wrapped.n < most ? wrapped.n : most);
	if (wrapped.n > most) {
		cut_text_add(out, muted, w.rest.text, columns);
		rows_adds(out, muted, "...");
		rows_end(out);
	}
	rows_release(&line);
	rows_release(&wrapped);
}

/* Draws one choice of the model's question. Index n_choices is the user's own
 * words. */
static void add_inquiry_choice(const struct inquiry_dialog *d, size_t i,
			       const struct theme *theme, size_t columns,
			       struct rows *out)
{
	const struct inquiry_item *item = current_item(d);
	bool own = i == item->n_choices;
	bool here = i == d->selected && d->keys != QUESTION_DRAFT &&
		    d->keys != QUESTION_PAUSE;
	struct buf sign = BUF_INIT(64);
	struct buf text = BUF_INIT(4 * INQUIRY_TEXT_CHARS + 1);

	buf_adds(&sign, here ? "> " : "  ");
	if (item->kind == INQUIRY_SEVERAL)
		buf_addf(&sign, "%s ",
			 theme_glyph(theme, (own ? item->answer.len > 0
						 : item->chosen[i])
						    ? GLYPH_TASK_DONE
						    : GLYPH_TASK_OPEN));
	if (!own)
		buf_addf(&sign, "%zu ", i + 1);
	if (!own)
		sanitize_line(str_of(item->choices[i]), &text);
	else if (item->answer.len)
		sanitize_line(buf_str(&item->answer), &text);
	else
		buf_adds(&text, "in your own words ...");
	add_text(buf_str(&sign), here ? chosen : plain, buf_str(&text), columns,
		 here ? CHOICE_ROWS : 1, out);
	buf_release(&sign);
	buf_release(&text);
}

/* Adds the choices around the selected one, in at most rows rows. If not all
 * fit, the last row says which are shown. */
static void add_choices(const struct inquiry_dialog *d,
			const struct theme *theme, size_t columns, size_t rows,
			struct rows *out)
{
	size_t n = current_item(d)->n_choices + 1;
	size_t ends[INQUIRY_CHOICES + 2] = { 0 }; /* [i]: row of choice i */
	size_t first = d->selected;
	size_t last = d->selected + 1; /* behind the last one shown */
	struct rows all = { 0 };
	char place[80];
	size_t shown;
	bool cut;

	for (size_t i = 0; i < n; i++) {
		add_inquiry_choice(d, i, theme, columns, &all);
		ends[i + 1] = all.n;
	}
	cut = all.n > rows && rows > 1;
	rows -= cut;
	while (first && ends[last] - ends[first - 1] <= rows)
		first--;
	while (last < n && ends[last + 1] - ends[first] <= rows)
		last++;
	shown = ends[last] - ends[first];
	rows_append(out, &all, ends[first], shown < rows ? shown : rows);
	if (cut) {
		snprintf(place, sizeof(place), "  %zu-%zu of %zu", first + 1,
			 last, n);
		cut_text_add(out, muted, str_of(place), columns);
		rows_end(out);
	}
	rows_release(&all);
}

/* Returns the description of the keys for the last row. */
static const char *describe_keys(const struct inquiry_dialog *d)
{
	if (d->drafts && (!d->types || current_item(d)->kind == INQUIRY_TEXT))
		return d->types ? "Enter answers  Esc back to your message"
				: "Enter selects  Esc back to your message";
	if (current_item(d)->kind == INQUIRY_TEXT)
		return d->asked->n > 1 ? "Enter answers  Tab next  Esc declines"
				       : "Enter answers  Esc declines";
	if (d->types)
		return "Enter answers  Esc back to the choices";
	if (current_item(d)->kind == INQUIRY_SEVERAL)
		return "Space marks  Enter answers  Esc declines";
	return "Enter or a number selects  Esc declines";
}

/* Adds the title, the question, its choices or the typed answer, and the keys.
 * caret is the cursor's row and column. */
static void add_all(struct inquiry_dialog *d, const struct theme *theme,
		    struct rows *out, size_t columns, size_t rows,
		    size_t caret[2])
{
	size_t room = rows > INQUIRY_ROWS ? rows - INQUIRY_ROWS : 1;
	size_t most = room / 2 < QUESTION_ROWS ? room / 2 : QUESTION_ROWS;
	struct buf title = BUF_INIT(64);

	buf_addf(&title, "The model asks (%zu of %zu)%s", d->at + 1,
		 d->asked->n,
		 current_item(d)->required ? "" : ", not required");
	cut_text_add(out, strong, buf_str(&title), columns);
	rows_end(out);
	buf_release(&title);
	add_text(STR("  "), plain, str_trim(str_of(current_item(d)->question)),
		 columns, most ? most : 1, out);
	room = rows > out->n + 2 ? rows - out->n - 2 : 1;
	caret[0] = out->n;
	caret[1] = 0;
	if (d->types) {
		size_t row;

		editor_render(&d->editor, columns,
			      room < EDITOR_ROWS ? room : EDITOR_ROWS, out,
			      &row, &caret[1]);
		caret[0] += row;
	} else {
		add_choices(d, theme, columns, room, out);
	}
	if (d->note) {
		cut_text_add(out, strong, str_of(d->note), columns);
		rows_end(out);
	}
	if (answer_row_hint(d->keys, d->wait_s, columns, out))
		return;
	cut_text_add(
		out, strong,
		str_of(d->keys == QUESTION_TOO_NEW ? "" : describe_keys(d)),
		columns);
	rows_end(out);
}

void inquiry_dialog_render(struct inquiry_dialog *d, const struct theme *theme,
			   struct rows *out, size_t columns, size_t rows,
			   size_t caret[2])
{
	struct rows all = { 0 };
	size_t cut;

	add_all(d, theme, &all, columns, rows, caret);
	cut = all.n > rows ? all.n - rows : 0; /* rows cut below the title */
	if (cut) {
		rows_append(out, &all, 0, 1);
		caret[0] = caret[0] > cut ? caret[0] - cut : 0;
	}
	rows_append(out, &all, cut ? cut + 1 : 0,
		    cut ? all.n - cut - 1 : all.n);
	rows_release(&all);
}
