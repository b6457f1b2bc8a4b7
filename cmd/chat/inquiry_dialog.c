/* inquiry_dialog.c - what the model asks the user, in the live part. */
/* SPDX-License-Identifier: MIT */
#include "cmd/chat/inquiry_dialog.h"

#include <string.h>

#include "base/sanitize.h"
#include "base/str.h"
#include "term/rows.h"

enum {
	EDITOR_ROWS = 6,
	QUESTION_ROWS = 8, /* of a long question; all of it stands above */
	CHOICE_ROWS = 4,   /* of the selected one */
	OWN_ROWS = 3,      /* title, note, keys */
};

static const struct style strong = { ATTR_BOLD, STYLE_WARN };
static const struct style plain = { 0, STYLE_PLAIN };
static const struct style muted = { 0, STYLE_MUTED };
static const struct style chosen = { ATTR_BOLD, STYLE_ACCENT };

static struct inquiry_item *current(const struct inquiry_dialog *d)
{
	return &d->asked->items[d->at];
}

/* The question at i, with what was answered to it before. */
static void show(struct inquiry_dialog *d, size_t i)
{
	struct inquiry_item *item;

	d->at = i;
	item = current(d);
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
	show(d, 0);
}

void inquiry_dialog_select_own_words(struct inquiry_dialog *d)
{
	d->selected = current(d)->n_choices;
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

/* After an answer: the next question, or the first that still needs one. True
 * when none does. */
static bool go_on(struct inquiry_dialog *d)
{
	size_t n = d->asked->n;

	if (d->at + 1 < n) {
		show(d, d->at + 1);
		return false;
	}
	for (size_t i = 0; i < n; i++) {
		if (is_answered(&d->asked->items[i]))
			continue;
		show(d, i);
		return false;
	}
	return true;
}

/* Keeps what was typed; false: it is too long. */
static bool take_words(struct inquiry_dialog *d)
{
	struct inquiry_item *item = current(d);
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

static bool submit_words(struct inquiry_dialog *d)
{
	struct inquiry_item *item = current(d);

	if (!take_words(d))
		return false;
	if (!item->answer.len && item->kind != INQUIRY_TEXT) {
		d->types = false;
		return false;
	}
	if (!is_answered(item)) {
		d->note = "Type an answer; Esc declines.";
		return false;
	}
	return go_on(d);
}

static bool choose(struct inquiry_dialog *d, size_t i)
{
	struct inquiry_item *item = current(d);

	d->selected = i;
	if (i >= item->n_choices) {
		d->types = true;
		return false;
	}
	memset(item->chosen, 0, sizeof(item->chosen));
	buf_clear(&item->answer);
	item->chosen[i] = true;
	return go_on(d);
}

static void toggle(struct inquiry_dialog *d, size_t i)
{
	struct inquiry_item *item = current(d);

	d->selected = i;
	if (i >= item->n_choices)
		d->types = true;
	else
		item->chosen[i] = !item->chosen[i];
}

static bool submit_choice(struct inquiry_dialog *d)
{
	struct inquiry_item *item = current(d);

	if (item->kind == INQUIRY_CHOICE)
		return choose(d, d->selected);
	if (d->selected == item->n_choices && !item->answer.len) {
		d->types = true;
		return false;
	}
	if (is_answered(item))
		return go_on(d);
	d->note = "Space marks a choice; Esc declines.";
	return false;
}

/* Marks what these characters stand for: numbers, and a blank. */
static void toggle_each(struct inquiry_dialog *d, struct str text)
{
	for (size_t i = 0; i < text.len && !d->types; i++) {
		char c = text.ptr[i];

		if (c == ' ')
			toggle(d, d->selected);
		else if (c >= '1' && c <= '9' &&
			 (size_t)(c - '1') < current(d)->n_choices)
			toggle(d, (size_t)(c - '1'));
	}
}

/* Text typed at a list: a number, a blank that marks, or one's own words. */
static bool type_at_list(struct inquiry_dialog *d, const struct key_event *ev)
{
	struct inquiry_item *item = current(d);
	char c = ev->text.len == 1 ? ev->text.ptr[0] : '\0';
	bool number = c >= '1' && c <= '9';

	if (d->selected == item->n_choices && !number && c != ' ') {
		d->types = true;
		(void)editor_event(&d->editor, ev);
	} else if (item->kind == INQUIRY_SEVERAL) {
		toggle_each(d, ev->text);
	} else if (number && (size_t)(c - '1') < item->n_choices) {
		return choose(d, (size_t)(c - '1'));
	}
	return false;
}

static void move(struct inquiry_dialog *d, const struct key *key)
{
	size_t n = current(d)->n_choices + 1;
	bool ctrl = key->name == KEY_CHAR && key->mods == KEY_CTRL;

	if (key->name == KEY_DOWN || (ctrl && key->c == 'n'))
		d->selected = (d->selected + 1) % n;
	else if (key->name == KEY_UP || (ctrl && key->c == 'p'))
		d->selected = (d->selected + n - 1) % n;
}

static bool turn_page(struct inquiry_dialog *d, const struct key *key)
{
	size_t n = d->asked->n;

	if (key->name != KEY_TAB)
		return false;
	if (d->types)
		(void)take_words(d);
	show(d, (d->at + (key->mods & KEY_SHIFT ? n - 1 : 1)) % n);
	return true;
}

static bool is_way_out(const struct inquiry_dialog *d, const struct key *key)
{
	bool eof =
		key->name == KEY_CHAR && key->c == 'd' && key->mods == KEY_CTRL;

	if (d->types && current(d)->kind != INQUIRY_TEXT)
		return false;
	return key->name == KEY_ESCAPE ||
	       (eof && (!d->types || editor_is_empty(&d->editor)));
}

static bool on_editor(struct inquiry_dialog *d, const struct key_event *ev)
{
	switch (editor_event(&d->editor, ev)) {
	case EDITOR_SUBMIT:
		return submit_words(d);
	case EDITOR_ESCAPE:
		d->types = false;
		return false;
	default:
		return false;
	}
}

bool inquiry_dialog_event(struct inquiry_dialog *d, const struct key_event *ev,
			  enum inquiry_end *end)
{
	bool key = ev->kind == KEY_EVENT_KEY;

	d->note = NULL;
	*end = INQUIRY_ANSWERED;
	if (key && is_way_out(d, &ev->key)) {
		*end = INQUIRY_DECLINED;
		return true;
	}
	if (key && turn_page(d, &ev->key))
		return false;
	if (ev->kind == KEY_EVENT_PASTE_BEGIN)
		d->types = true; /* own words */
	if (d->types)
		return on_editor(d, ev);
	if (ev->kind == KEY_EVENT_TEXT)
		return type_at_list(d, ev);
	if (key && ev->key.name == KEY_ENTER)
		return submit_choice(d);
	if (key)
		move(d, &ev->key);
	return false;
}

/* Wrapped text, at most so many rows of it. */
static void add_text(struct str sign, struct style style, struct str text,
		     size_t columns, size_t most, struct rows *out)
{
	struct wrap w = { .columns = columns,
			  .first = { sign, style },
			  .rest = { STR("      "), style },
			  .words = true };
	struct rows line = { 0 };
	struct rows wrapped = { 0 };

	rows_add(&line, style, text);
	rows_close(&line);
	for (size_t i = 0; i < line.n; i++) {
		wrap_row(&line, i, &w, &wrapped);
		w.first = w.rest;
	}
	rows_append(out, &wrapped, 0, wrapped.n < most ? wrapped.n : most);
	if (wrapped.n > most) {
		cut_text_add(out, muted, STR("      ..."), columns);
		rows_end(out);
	}
	rows_release(&line);
	rows_release(&wrapped);
}

static void add_choice(const struct inquiry_dialog *d, size_t i,
		       const struct theme *theme, size_t columns,
		       struct rows *out)
{
	const struct inquiry_item *item = current(d);
	bool own = i == item->n_choices;
	bool here = i == d->selected;
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

/* The choices around the selected one, in so many rows. */
static void add_choices(const struct inquiry_dialog *d,
			const struct theme *theme, size_t columns, size_t rows,
			struct rows *out)
{
	size_t n = current(d)->n_choices + 1;
	size_t first = 0;
	size_t room = rows > CHOICE_ROWS + 2 ? rows - CHOICE_ROWS : 2;

	if (d->selected >= room)
		first = d->selected - room + 1;
	for (size_t i = first; i < n && i < first + room; i++)
		add_choice(d, i, theme, columns, out);
}

static const char *keys_of(const struct inquiry_dialog *d)
{
	if (current(d)->kind == INQUIRY_TEXT)
		return d->asked->n > 1 ? "Enter answers  Tab next question  "
					 "Esc declines"
				       : "Enter answers  Esc declines";
	if (d->types)
		return "Enter answers  Esc back to the choices";
	if (current(d)->kind == INQUIRY_SEVERAL)
		return "Space marks  Enter answers  Esc declines";
	return "Enter or a number chooses  Esc declines";
}

/* The title, the question, what answers it, and the keys; caret is its row. */
static void add_all(struct inquiry_dialog *d, const struct theme *theme,
		    struct rows *out, size_t columns, size_t rows,
		    size_t caret[2])
{
	size_t room = rows > OWN_ROWS ? rows - OWN_ROWS : 1;
	size_t most = room / 2 < QUESTION_ROWS ? room / 2 : QUESTION_ROWS;
	struct buf title = BUF_INIT(64);

	buf_addf(&title, "The model asks (%zu of %zu)%s", d->at + 1,
		 d->asked->n, current(d)->required ? "" : ", not required");
	cut_text_add(out, strong, buf_str(&title), columns);
	rows_end(out);
	buf_release(&title);
	add_text(STR("  "), plain, str_trim(str_of(current(d)->question)),
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
	if (d->keys == QUESTION_DRAFT) {
		answer_row_hint(columns, out);
		return;
	}
	cut_text_add(out, strong,
		     str_of(d->keys == QUESTION_TOO_NEW ? "" : keys_of(d)),
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
	cut = all.n > rows ? all.n - rows : 0; /* below the title */
	if (cut) {
		rows_append(out, &all, 0, 1);
		caret[0] = caret[0] > cut ? caret[0] - cut : 0;
	}
	rows_append(out, &all, cut ? cut + 1 : 0,
		    cut ? all.n - cut - 1 : all.n);
	rows_release(&all);
}
