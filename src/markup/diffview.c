/* diffview.c - draws differences in colour, with the changed words lit. */
/* SPDX-License-Identifier: MIT */
/*
 * The lines of a change are stored until it ends, because each removed line is
 * compared with the added line that replaces it. From top to bottom: one line
 * in its colours; a whole change; the lines of a unified diff; two texts. Begin
 * reading at diffview_line().
 */
#include "markup/diffview.h"

#include <stdio.h>
#include <string.h>

#include "base/diff.h"

enum {
	LINE_MAX_BYTES = 4 << 20,
	NEAR = 6, /* lines of the other side that a line is compared with */
	/* Lines that are not shown decide whether a comment or a string is
	   open. In larger texts they are not examined. */
	CODE_MAX = 256 << 10,
	NO_PARTNER = DIFFVIEW_LINES,
};

static const struct style muted = { .role = STYLE_MUTED };

static const struct style heading = { ATTR_BOLD, STYLE_HEADING };

static const struct style accent = { .role = STYLE_ACCENT };

/* The look of one kind of line. */
struct line_look {
	char sign;
	struct style style; /* of the number and the sign */
};

static const struct line_look unchanged = { ' ', { 0, STYLE_MUTED } };

static const struct line_look removal = { '-',
					  { ATTR_REMOVED, STYLE_REMOVED } };

static const struct line_look addition = { '+', { ATTR_ADDED, STYLE_ADDED } };

static const struct word_ranges no_words;

/* Sets the language of the file with this name: by its suffix, or by the name
 * itself ("Makefile"). */
static void set_language(struct diffview_stream *s, struct str path)
{
	size_t from = 0;

	for (size_t i = 0; i < path.len; i++)
		if (path.ptr[i] == '/' || path.ptr[i] == '.')
			from = i + 1;
	highlight_begin(&s->added.code, str_skip(path, from));
	s->added.code.diff = false;
	s->removed.code = s->added.code;
}

static void set_name(struct diffview_stream *s, struct str name)
{
	s->name.max = LINE_MAX_BYTES;
	buf_clear(&s->name);
	buf_addstr(&s->name, name);
	set_language(s, name);
}

/* Returns the line without control characters and tabs. Valid until the next
 * call. */
static struct str clean_line(struct diffview_stream *s, struct str line)
{
	s->clean.max = 4 * LINE_MAX_BYTES;
	buf_clear(&s->clean);
	visible_line(line, &s->clean);
	rows_clear(&s->line);
	rows_add(&s->line, (struct style){ 0 }, buf_str(&s->clean));
	rows_end(&s->line);
	return rows_view(&s->line, 0).bytes;
}

/* Returns the length of the next piece, up to `most` bytes, that is either
 * within a range of words or outside. *word: the first range that may be at
 * this place. */
static size_t piece_length(const struct word_ranges *words, size_t at,
			   size_t most, size_t *word, bool *lit)
{
	size_t until = at + most;
	size_t border;

	while (*word < words->n && words->items[*word].end <= at)
		++*word;
	*lit = *word < words->n && words->items[*word].begin <= at;
	if (*word == words->n)
		return most;
	border = *lit ? words->items[*word].end : words->items[*word].begin;
	return (border < until ? border : until) - at;
}

/* Copies the highlighted line onto this background, with these words lit. */
static void add_lit(const struct rows *code, const struct word_ranges *words,
		    uint16_t ground, struct rows *out)
{
	struct row_view v = rows_view(code, 0);
	size_t at = 0;
	size_t word = 0;

	for (size_t k = 0; k < v.n_spans; k++) {
		size_t end = at + v.spans[k].len;
		struct span span = { .style = v.spans[k].style };

		/* Ordinary code looks like ordinary text here. */
		if (span.style.role == STYLE_CODE)
			span.style.role = STYLE_PLAIN;
		while (at < end) {
			bool lit;
			size_t n =
				piece_length(words, at, end - at, &word, &lit);

			span.style.attrs = ground | (lit ? ATTR_CHANGED : 0);
			rows_add_span(out, code, &span,
				      (struct str){ v.bytes.ptr + at, n });
			at += n;
		}
	}
	rows_end(out);
}

/* Draws a clean line of one side, with its number and sign. */
static void draw_line(struct diffview_stream *s, struct diffview_side *side,
		      struct str line, const struct word_ranges *words,
		      const struct line_look *look, struct rows *out)
{
	char first[48];
	char rest[48];
	struct wrap w = { .columns = s->look.columns };
	struct rows text = { 0 };

	if (s->digits && side->line)
		snprintf(first, sizeof(first), "%*zu %c ", s->digits,
			 side->line, look->sign);
	else
		snprintf(first, sizeof(first), "%*s%c ",
			 s->digits ? s->digits + 1 : 0, "", look->sign);
	snprintf(rest, sizeof(rest), "%*s", (int)strlen(first), "");
	w.first.text = str_of(first);
	w.rest.text = str_of(rest);
	w.first.style = w.rest.style = look->style;
	rows_clear(&s->code);
	highlight_line(&side->code, line, &s->code);
	rows_end(&s->code);
	add_lit(&s->code, words, look->style.attrs, &text);
	wrap_row(&text, 0, &w, out);
	rows_release(&text);
	side->line += side->line > 0;
}

/* Draws a line of dcode's own, or of the diff's head. */
static void draw_note(struct diffview_stream *s, struct style style,
		      struct str line, struct rows *out)
{
	struct wrap w = { .columns = s->look.columns };
	struct rows text = { 0 };

	rows_add(&text, style, clean_line(s, line));
	rows_end(&text);
	wrap_row(&text, 0, &w, out);
	rows_release(&text);
}

static struct str get_pending(const struct diffview_lines *l, size_t i)
{
	size_t from = i ? l->end[i - 1] : 0;

	return (struct str){ l->text.ptr + from, l->end[i] - from };
}

/* Finds for each line the line of the other side that is another version of it.
 * All are set to NO_PARTNER first. */
static void find_partners(const struct diffview_stream *s,
			  uint16_t of_removed[DIFFVIEW_LINES],
			  uint16_t of_added[DIFFVIEW_LINES])
{
	const struct diffview_lines *a = &s->removed.pending;
	const struct diffview_lines *b = &s->added.pending;
	size_t near = a->n == b->n ? 1 : NEAR;
	struct word_ranges ignored[2];
	size_t next = 0;

	for (size_t i = 0; i < DIFFVIEW_LINES; i++)
		of_removed[i] = of_added[i] = NO_PARTNER;
	for (size_t i = 0; i < a->n; i++) {
		size_t from = a->n == b->n ? i : next;

		for (size_t j = from; j < b->n && j < from + near; j++) {
			if (!word_diff_lines(get_pending(a, i),
					     get_pending(b, j), &ignored[0],
					     &ignored[1]))
				continue;
			of_removed[i] = (uint16_t)j;
			of_added[j] = (uint16_t)i;
			next = j + 1;
			break;
		}
	}
}

static void clear_pending(struct diffview_lines *l)
{
	buf_clear(&l->text);
	buf_clear(&l->note);
	l->n = 0;
}

/* Draws one side of the change. */
static void draw_side(struct diffview_stream *s, bool added,
		      const uint16_t *partners, struct rows *out)
{
	struct diffview_side *side = added ? &s->added : &s->removed;
	const struct diffview_lines *other =
		added ? &s->removed.pending : &s->added.pending;
	const struct line_look *look = added ? &addition : &removal;

	for (size_t i = 0; i < side->pending.n; i++) {
		struct str line = get_pending(&side->pending, i);
		struct word_ranges words[2] = { no_words, no_words };
		size_t p = partners[i];

		if (p != NO_PARTNER && added)
			word_diff_lines(get_pending(other, p), line, &words[0],
					&words[1]);
		else if (p != NO_PARTNER)
			word_diff_lines(line, get_pending(other, p), &words[1],
					&words[0]);
		draw_line(s, side, line, &words[1], look, out);
	}
	if (side->pending.note.len)
		draw_note(s, muted, buf_str(&side->pending.note), out);
}

/* Draws the stored lines of a change. */
static void flush_change(struct diffview_stream *s, struct rows *out)
{
	uint16_t of_removed[DIFFVIEW_LINES];
	uint16_t of_added[DIFFVIEW_LINES];

	if (!s->removed.pending.n && !s->added.pending.n)
		return;
	find_partners(s, of_removed, of_added);
	draw_side(s, false, of_removed, out);
	draw_side(s, true, of_added, out);
	clear_pending(&s->removed.pending);
	clear_pending(&s->added.pending);
}

/* Stores a removed or an added line. A change with too many lines is drawn in
 * parts. */
static void add_changed(struct diffview_stream *s, bool added, struct str line,
			struct rows *out)
{
	struct diffview_lines *l =
		added ? &s->added.pending : &s->removed.pending;
	struct str clean = clean_line(s, line);

	if (l->n == DIFFVIEW_LINES ||
	    (l->n && l->text.len + clean.len > DIFFVIEW_PENDING) ||
	    (!added && s->added.pending.n))
		flush_change(s, out);
	l->text.max = 8 * LINE_MAX_BYTES;
	buf_addstr(&l->text, clean);
	l->end[l->n++] = l->text.len;
	s->shift += added ? 1 : (size_t)-1;
}

static bool is_same_state(const struct highlight *a, const struct highlight *b)
{
	return a->language == b->language && a->until == b->until &&
	       a->comment == b->comment;
}

/* Takes a common line. show: draws it. */
static void add_common(struct diffview_stream *s, struct str line, bool show,
		       struct rows *out)
{
	struct highlight before = s->added.code;
	struct rows ignored = { 0 };
	struct str clean;

	flush_change(s, out);
	if (str_ends(line, "\r"))
		line.len--;
	clean = clean_line(s, line);
	if (show) {
		draw_line(s, &s->added, clean, &no_words, &unchanged, out);
	} else {
		highlight_line(&s->added.code, clean, &ignored);
		rows_clear(&ignored);
		s->added.line += s->added.line > 0;
	}
	if (is_same_state(&before, &s->removed.code))
		s->removed.code = s->added.code;
	else
		highlight_line(&s->removed.code, clean, &ignored);
	s->removed.line += s->removed.line > 0;
	rows_release(&ignored);
}

/* Draws the name of a file above its changes. names: the rest of a line
 * "diff --git a/x b/x". */
static void begin_file(struct diffview_stream *s, struct str names,
		       struct rows *out)
{
	size_t half = names.len / 2;
	struct str a = { names.ptr, half };
	struct str b = str_skip(names, half + 1);

	if (names.len % 2 && names.ptr[half] == ' ' && half > 2 &&
	    a.ptr[1] == '/' && b.ptr[1] == '/' &&
	    str_eq(str_skip(a, 2), str_skip(b, 2)))
		names = str_skip(a, 2);
	if (s->begun) {
		rows_close(out);
		rows_end(out);
	}
	set_name(s, names);
	draw_note(s, heading, names, out);
	s->in_git_head = true;
	s->in_hunk = false;
}

/* Takes the file's name from "+++ b/x", or "--- a/x" if the file is deleted. */
static void read_name(struct diffview_stream *s, struct str name)
{
	name.len = str_find(name, '\t');
	if (str_starts(name, "/dev/null") || s->in_git_head)
		return;
	set_name(s, name);
}

/* Takes a line before the first hunk of a file. What the name of the file
 * already says is left out. */
static void add_head(struct diffview_stream *s, struct str line,
		     struct rows *out)
{
	bool names = str_starts(line, "--- ") || str_starts(line, "+++ ");

	flush_change(s, out);
	if (str_starts(line, "diff --git ")) {
		begin_file(s, str_skip(line, sizeof("diff --git ") - 1), out);
		return;
	}
	if (names)
		read_name(s, str_skip(line, 4));
	if (s->in_git_head && (names || str_starts(line, "index ")))
		return;
	draw_note(s,
		  names            ? heading
		  : s->in_git_head ? muted
				   : (struct style){ 0 },
		  line, out);
}

/* Takes a number of at most nine digits from the front of *rest. */
static size_t take_number(struct str *rest)
{
	size_t n = 0;
	size_t i;

	for (i = 0; i < rest->len && i < 9 && rest->ptr[i] >= '0' &&
		    rest->ptr[i] <= '9';
	     i++)
		n = 10 * n + (size_t)(rest->ptr[i] - '0');
	*rest = str_skip(*rest, i);
	return n;
}

/* Reads "-12,3" or "+12" in the head of a hunk. */
static void read_range(struct str text, char sign, struct diffview_side *side)
{
	text = str_skip(text, str_find(text, sign) + 1);
	side->line = take_number(&text);
	side->left = 1;
	if (str_starts(text, ",")) {
		text = str_skip(text, 1);
		side->left = take_number(&text);
	}
}

static int count_digits(size_t n)
{
	return snprintf(NULL, 0, "%zu", n);
}

/* Draws how many lines are left out. */
static void draw_fold(struct diffview_stream *s, size_t lines, struct rows *out)
{
	char note[64];

	flush_change(s, out);
	snprintf(note, sizeof(note), "%s %zu line%s",
		 theme_glyph(s->look.theme, GLYPH_ELLIPSIS), lines,
		 lines == 1 ? "" : "s");
	draw_note(s, muted, str_of(note), out);
}

/* Begins a hunk: "@@ -1,3 +1,4 @@", or "@@ line 12 @@" of diff_text(). */
static void begin_hunk(struct diffview_stream *s, struct str line,
		       struct rows *out)
{
	static const char own[] = "@@ line ";
	size_t last;

	flush_change(s, out);
	s->in_git_head = false;
	s->added.left = s->removed.left = SIZE_MAX;
	if (str_starts(line, own)) {
		struct str rest = str_skip(line, sizeof(own) - 1);
		size_t at = s->added.line;

		s->added.line = take_number(&rest);
		s->removed.line = s->added.line - s->shift;
		if (s->folds) {
			if (s->added.line > at)
				draw_fold(s, s->added.line - at, out);
			return;
		}
		last = s->added.line + 20; /* the hunk's length is not known */
	} else {
		read_range(line, '-', &s->removed);
		read_range(line, '+', &s->added);
		last = s->added.line + s->added.left;
		if (last < s->removed.line + s->removed.left)
			last = s->removed.line + s->removed.left;
	}
	s->digits = s->look.numbers ? count_digits(last) : 0;
	set_language(s, buf_str(&s->name));
	draw_note(s, accent, line, out);
}

/* Counts a line of the hunk on this side. */
static void use_line(struct diffview_side *side)
{
	if (side->left && side->left != SIZE_MAX)
		side->left--;
}

static void add_note(struct diffview_stream *s, struct str note,
		     struct rows *out)
{
	struct diffview_side *side =
		s->added.pending.n ? &s->added : &s->removed;

	if (!side->pending.n) {
		draw_note(s, muted, note, out);
		return;
	}
	side->pending.note.max = LINE_MAX_BYTES;
	buf_clear(&side->pending.note);
	buf_addstr(&side->pending.note, note);
}

static void add_hunk_line(struct diffview_stream *s, enum diff_kind kind,
			  struct str line, struct rows *out)
{
	if (str_starts(line, "\\")) {
		add_note(s, line, out);
		return;
	}
	if (kind != DIFF_ADDED)
		use_line(&s->removed);
	if (kind != DIFF_REMOVED)
		use_line(&s->added);
	if (kind != DIFF_CONTEXT || str_starts(line, " "))
		line = str_skip(line, 1);
	if (kind == DIFF_CONTEXT)
		add_common(s, line, true, out);
	else
		add_changed(s, kind == DIFF_ADDED, line, out);
}

void diffview_begin(struct diffview_stream *s, const struct diffview *look)
{
	*s = (struct diffview_stream){ .look = *look };
	set_name(s, look->path);
}

void diffview_line(struct diffview_stream *s, struct str line, struct rows *out)
{
	enum diff_kind kind;

	if (line.len > LINE_MAX_BYTES)
		line.len = LINE_MAX_BYTES;
	if (s->in_hunk && !s->removed.left && !s->added.left &&
	    !str_starts(line, "\\"))
		s->in_hunk = false;
	kind = diff_line_kind(line, &s->in_hunk);
	if (kind == DIFF_HUNK)
		begin_hunk(s, line, out);
	else if (!s->in_hunk)
		add_head(s, line, out);
	else
		add_hunk_line(s, kind, line, out);
	s->begun = true;
}

void diffview_end(struct diffview_stream *s, struct rows *out)
{
	struct diffview_side *sides[] = { &s->removed, &s->added };

	flush_change(s, out);
	rows_close(out);
	for (size_t i = 0; i < 2; i++) {
		buf_release(&sides[i]->pending.text);
		buf_release(&sides[i]->pending.note);
	}
	buf_release(&s->name);
	buf_release(&s->clean);
	rows_release(&s->line);
	rows_release(&s->code);
}

void diffview_unified(const struct diffview *look, struct str text,
		      struct rows *out)
{
	struct diffview_stream s;
	struct str line;

	diffview_begin(&s, look);
	while (str_split(&text, '\n', &line))
		diffview_line(&s, line, out);
	diffview_end(&s, out);
}

/* Returns the number of lines of the longer text that diff_store() has
 * compared. */
static size_t count_stored(struct str text)
{
	static const char own[] = "@@ line ";
	size_t removed = 0;
	size_t added = 0;
	size_t lines = 0;
	struct str line;

	while (str_split(&text, '\n', &line)) {
		removed += str_starts(line, "-");
		added += str_starts(line, "+");
		if (!str_starts(line, own))
			continue;
		line = str_skip(line, sizeof(own) - 1);
		lines = take_number(&line);
	}
	lines -= lines > 0;
	return removed > added ? lines + removed - added : lines;
}

void diffview_stored(const struct diffview *look, struct str text,
		     struct rows *out)
{
	struct diffview_stream s;
	struct str line;

	diffview_begin(&s, look);
	s.folds = true;
	s.added.line = s.removed.line = 1;
	s.digits = count_digits(count_stored(text));
	while (str_split(&text, '\n', &line))
		diffview_line(&s, line, out);
	diffview_end(&s, out);
}

/* Two texts that are compared. */
struct comparison {
	struct diffview_stream stream;
	struct str old_rest; /* unread part of the old text */
	struct str new_rest;
	bool reads_hidden; /* also highlights the lines that are not shown */
	struct rows *out;
};

static struct str take_line(struct str *rest)
{
	struct str line = { 0 };

	(void)str_split(rest, '\n', &line);
	return line;
}

static void skip_line(struct comparison *c, struct str line)
{
	struct diffview_stream *s = &c->stream;

	if (c->reads_hidden) {
		add_common(s, line, false, c->out);
		return;
	}
	s->added.line++;
	s->removed.line++;
}

/* Takes n common lines and draws those next to a change, with a note in place
 * of the others. begin: no change precedes the lines; end: none follows. */
static void add_same(struct comparison *c, size_t n, bool begin, bool end)
{
	size_t head = begin ? 0 : DIFF_CONTEXT_LINES;
	size_t tail = end ? 0 : DIFF_CONTEXT_LINES;
	bool fold = n > head + tail + 1;

	for (size_t i = 0; i < n; i++) {
		struct str line = take_line(&c->new_rest);

		take_line(&c->old_rest);
		if (fold && i == head)
			draw_fold(&c->stream, n - head - tail, c->out);
		if (!fold || i < head || i >= n - tail)
			add_common(&c->stream, line, true, c->out);
		else
			skip_line(c, line);
	}
}

static void add_step(struct comparison *c, const struct diff_step *step)
{
	for (size_t i = 0; i < step->n_old; i++)
		add_changed(&c->stream, false, take_line(&c->old_rest), c->out);
	for (size_t i = 0; i < step->n_new; i++)
		add_changed(&c->stream, true, take_line(&c->new_rest), c->out);
}

void diffview_render(const struct diffview *look, struct str old_text,
		     struct str new_text, struct rows *out)
{
	struct comparison c = { .old_rest = old_text,
				.new_rest = new_text,
				.reads_hidden = new_text.len < CODE_MAX,
				.out = out };
	struct diff_steps steps = { 0 };
	bool begin = true;

	diffview_begin(&c.stream, look);
	c.stream.added.line = c.stream.removed.line = 1;
	if (look->numbers)
		c.stream.digits = count_digits(str_count_lines(
			old_text.len > new_text.len ? old_text : new_text));
	diff_lines(old_text, new_text, &steps);
	for (size_t i = 0; i < steps.n; i++) {
		const struct diff_step *step = &steps.items[i];

		add_same(&c, step->same, begin, i + 1 == steps.n);
		add_step(&c, step);
		begin = false;
	}
	diff_steps_release(&steps);
	diffview_end(&c.stream, out);
}
