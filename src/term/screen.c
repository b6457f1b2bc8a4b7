/* screen.c - a transcript that scrolls, with a live part below it. */
/* SPDX-License-Identifier: MIT */
#include "term/screen.h"

#include <signal.h>
#include <stdlib.h>

#include "base/stop.h"
#include "base/str.h"

enum {
	MAX_FRAME = 256 << 10, /* bytes; the rest is in the next frame */
	CLOSE_MS = 2000,
	/* Delay of frames after a resize, until the size stops changing: while
	   a terminal rewraps its rows, the cursor's position is unknown. tmux
	   rewraps at once, but reports the new size 250 ms later if it has just
	   reported another one (server_client_resize_timer). */
	SETTLE_MS = 40,
	SETTLE_TMUX_MS = 300,
};

#define FRAME_BEGIN "\x1b[?2026h"
#define FRAME_END "\x1b[?2026l"
#define CARET_HIDE "\x1b[?25l"
#define CARET_SHOW "\x1b[?25h"
#define AUTOWRAP_OFF "\x1b[?7l"
#define AUTOWRAP_ON "\x1b[?7h"
/* Erases everything below, from the first column on. tmux moves the whole
 * screen into its history if it is erased from its very first cell on, so the
 * first cell is erased separately. */
#define ERASE_BELOW "\x1b[K\x1b[C\x1b[J\r"

static bool env_starts(const char *name, const char *prefix)
{
	return str_starts(str_of(getenv(name)), prefix);
}

/* Guesses from the environment what the terminal does with rows that become too
 * wide. */
static enum screen_reflow guess_reflow(bool in_tmux)
{
	static const char *const cuts[] = { "linux", "vt", "putty", "screen" };
	static const char *const xtermjs[] = { "vscode", "Hyper", "Tabby" };

	if (in_tmux)
		return REFLOW_ALL;
	for (size_t i = 0; i < sizeof(cuts) / sizeof(*cuts); i++)
		if (env_starts("TERM", cuts[i]))
			return REFLOW_NONE;
	if (getenv("XTERM_VERSION"))
		return REFLOW_NONE;
	for (size_t i = 0; i < sizeof(xtermjs) / sizeof(*xtermjs); i++)
		if (env_starts("TERM_PROGRAM", xtermjs[i]))
			return REFLOW_XTERMJS;
	return REFLOW_ALL;
}

int screen_open(struct screen *s, int in, int out, const struct theme *theme,
		struct error *err)
{
	*s = (struct screen){ .theme = theme,
			      .caret_row = SIZE_MAX,
			      .frame = BUF_INIT(TTY_MAX_UNSENT) };
	if (tty_open(&s->tty, in, out, err) < 0)
		return -1;
	s->in_tmux = getenv("TMUX") || env_starts("TERM", "tmux");
	s->reflow = guess_reflow(s->in_tmux);
	(void)tty_size(&s->tty, &s->columns, &s->lines);
	s->drawn_columns = s->columns;
	s->drawn_lines = s->lines;
	s->room = s->lines;
	return 0;
}

void screen_print(struct screen *s, const struct rows *rows, size_t first,
		  size_t n)
{
	rows_append(&s->printed, rows, first, n);
}

size_t screen_backlog(const struct screen *s)
{
	return s->printed.bytes.len + s->tty.unsent.len;
}

void screen_live(struct screen *s, const struct rows *rows, size_t caret_row,
		 size_t caret_column)
{
	rows_clear(&s->live);
	rows_append(&s->live, rows, 0, rows->n);
	s->caret_row = caret_row < rows->n ? caret_row : SIZE_MAX;
	s->caret_column = caret_column;
	if (s->choices != s->theme->choices)
		s->fresh = true;
	s->choices = s->theme->choices;
}

void screen_redraw(struct screen *s)
{
	s->fresh = true;
}

size_t screen_columns(const struct screen *s)
{
	return s->columns;
}

size_t screen_live_rows(const struct screen *s)
{
	return s->lines > 1 ? s->lines - 1 : 1;
}

/* Draws row i over the current screen row, cut to `cells` cells (SIZE_MAX:
 * whole). The cursor must be in the first column and ends after the text. */
static void draw_row(struct screen *s, const struct rows *rows, size_t i,
		     size_t cells)
{
	/* Erase first: after a row of full width, the cursor is on the last
	 * cell, and erasing would remove that cell. */
	buf_adds(&s->frame, "\x1b[K");
	theme_row(s->theme, rows, i, cells, &s->frame);
}

/* Returns the row, counted from 0, that the cursor is in after a terminal has
 * wrapped the text; the cursor was before cell number `cell`. */
static size_t wrapped_row_of(struct str text, size_t cell, size_t columns)
{
	size_t column = 0;
	size_t row = 0;
	size_t cells;
	size_t n;

	while (cell && (n = width_next(text, &cells))) {
		if (column + cells > columns) {
			row++;
			column = 0;
		}
		column += cells;
		cell -= cells < cell ? cells : cell;
		text = str_skip(text, n);
	}
	/* After the last cell of a full row, the position belongs to the next
	 * row if there is more text. */
	if (text.len && column >= columns)
		row++;
	return row;
}

size_t screen_height(const struct screen *s, const struct rows *rows,
		     size_t first, size_t n)
{
	size_t height = n;

	for (size_t i = first; i < first + n; i++)
		height += wrapped_row_of(rows_view(rows, i).bytes, SIZE_MAX,
					 s->columns);
	return height;
}

/* Returns the first row of live that is shown, and the number of rows shown. */
static size_t find_shown(const struct screen *s, size_t *n)
{
	size_t most = screen_live_rows(s);
	size_t first = s->live.n > most ? s->live.n - most : 0;

	if (s->caret_row < first)
		first = s->caret_row;
	*n = s->live.n - first < most ? s->live.n - first : most;
	return first;
}

/* Returns how many more rows drawn row i occupies when the terminal wraps it.
 */
static size_t count_wraps(const struct screen *s, size_t i)
{
	return wrapped_row_of(rows_view(&s->drawn, i).bytes, SIZE_MAX,
			      s->columns);
}

/* Updates s->room after the number of lines changed, as xterm.js does
 * (Buffer.ts, resize() and _reflowSmaller(), 6.0.0): it adds rows below the
 * cursor only if there are rows below it already, and removes rows there first.
 */
static void resize_room(struct screen *s)
{
	size_t below = s->room - s->at_row - 1;

	if (s->lines > s->drawn_lines && below)
		s->room += s->lines - s->drawn_lines;
	else if (s->lines + below < s->drawn_lines)
		s->room -= below;
	else if (s->lines < s->drawn_lines)
		s->room -= s->drawn_lines - s->lines;
}

/* Returns the row of the live part that the cursor is in after xterm.js has
 * wrapped the rows. It wraps them from the last one upwards, moves the cursor
 * down by the number of added rows, and skips the row that the cursor is in at
 * that point. */
static size_t count_above_xtermjs(struct screen *s)
{
	size_t above = s->at_row;
	size_t n;

	resize_room(s);
	n = s->drawn.n < s->room ? s->drawn.n : s->room;
	for (size_t i = n; s->columns < s->drawn_columns && i-- > 0;)
		if (i != above)
			above += count_wraps(s, i);
	s->room += above - s->at_row;
	return above;
}

/* Returns the number of rows from the cursor up to the first of the live part,
 * after the terminal may have rewrapped them. */
static size_t count_above(struct screen *s)
{
	size_t above = s->at_row;

	if (s->reflow == REFLOW_XTERMJS)
		return count_above_xtermjs(s);
	if (s->reflow == REFLOW_NONE || s->columns >= s->drawn_columns ||
	    !s->drawn.n)
		return above;
	for (size_t i = 0; i < s->at_row; i++)
		above += count_wraps(s, i);
	return above + wrapped_row_of(rows_view(&s->drawn, s->at_row).bytes,
				      s->at_column, s->columns);
}

/* Moves the cursor to the first column of this row of the live part. */
static void move_to_row(struct screen *s, size_t row)
{
	long down = (long)row - (long)s->at_row;

	buf_addc(&s->frame, '\r');
	if (down)
		buf_addf(&s->frame, "\x1b[%ld%c", labs(down),
			 down > 0 ? 'B' : 'A');
	s->at_row = row;
}

/* Draws as many printed rows as fit into a frame, beginning at the live part's
 * first row. Rows longer than the screen are wrapped by the terminal: what was
 * there is erased first, because a wide character that does not fit leaves a
 * cell at the end of a row. Returns the number of screen rows. *old: screen
 * rows below the cursor that still have to be erased. */
static size_t draw_printed(struct screen *s, size_t *old)
{
	size_t lines = 0;
	size_t i;

	for (i = 0; i < s->printed.n && s->frame.len < MAX_FRAME; i++) {
		size_t height = screen_height(s, &s->printed, i, 1);

		if (height > 1 && *old) {
			buf_adds(&s->frame, ERASE_BELOW);
			*old = 0;
		}
		draw_row(s, &s->printed, i, SIZE_MAX);
		buf_adds(&s->frame, "\r\n");
		*old -= *old > 0;
		lines += height;
	}
	rows_consume(&s->printed, i);
	return lines;
}

/* Draws the whole live part from its first row. old: screen rows that the
 * previous one occupied. */
static void draw_whole(struct screen *s, size_t first, size_t n, size_t old)
{
	for (size_t i = 0; i < n; i++) {
		if (i)
			buf_adds(&s->frame, "\r\n");
		draw_row(s, &s->live, first + i, s->columns);
	}
	s->at_row = n ? n - 1 : 0;
	if (old <= n)
		return;
	if (n)
		move_to_row(s, n);
	buf_adds(&s->frame, ERASE_BELOW);
}

/* Draws only the rows of the live part that have changed. */
static void draw_differences(struct screen *s, size_t first, size_t n)
{
	size_t old = s->drawn.n;

	for (size_t i = 0; i < n && i < old; i++) {
		if (rows_equal(&s->live, first + i, &s->drawn, i))
			continue;
		move_to_row(s, i);
		draw_row(s, &s->live, first + i, s->columns);
	}
	if (n > old && old)
		move_to_row(s, old - 1);
	for (size_t i = old; i < n; i++) {
		buf_adds(&s->frame, i ? "\r\n" : "\r");
		draw_row(s, &s->live, first + i, s->columns);
		s->at_row = i;
	}
	if (n < old) {
		move_to_row(s, n);
		buf_adds(&s->frame, ERASE_BELOW);
	}
}

static size_t clamp_column(const struct screen *s)
{
	return s->caret_column < s->columns ? s->caret_column : s->columns - 1;
}

/* Moves the cursor to the caret, or to the last row if the caret is hidden. */
static void draw_caret(struct screen *s, size_t first, size_t n)
{
	bool shown = s->caret_row != SIZE_MAX;
	size_t column = shown ? clamp_column(s) : 0;

	move_to_row(s, shown ? s->caret_row - first : n ? n - 1 : 0);
	if (column)
		buf_addf(&s->frame, "\x1b[%zuC", column);
	s->at_column = column;
	s->caret_shown = shown;
	if (shown)
		buf_adds(&s->frame, CARET_SHOW);
}

/* True if the screen already shows exactly these rows and this caret. */
static bool is_drawn(const struct screen *s, size_t first, size_t n)
{
	bool shown = s->caret_row != SIZE_MAX;

	if (s->fresh || s->printed.n || n != s->drawn.n ||
	    shown != s->caret_shown)
		return false;
	if (shown && (s->caret_row - first != s->at_row ||
		      clamp_column(s) != s->at_column))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!rows_equal(&s->live, first + i, &s->drawn, i))
			return false;
	return true;
}

/* Composes a frame: printed rows, the live part and the caret. */
static void build_frame(struct screen *s, size_t first, size_t n)
{
	size_t old = s->drawn.n;
	bool whole = s->fresh || s->printed.n;
	size_t printed;

	buf_adds(&s->frame, FRAME_BEGIN CARET_HIDE);
	if (whole) {
		s->at_row = count_above(s);
		move_to_row(s, 0);
		/* The terminal marked the rows that it wrapped. Erase them all
		 * before they are used again. */
		if (s->fresh) {
			buf_adds(&s->frame, ERASE_BELOW);
			old = 0;
		}
		printed = draw_printed(s, &old);
		s->room -= printed < s->room ? printed : s->room;
	}
	buf_adds(&s->frame, AUTOWRAP_OFF);
	if (whole)
		draw_whole(s, first, n, old);
	else
		draw_differences(s, first, n);
	buf_adds(&s->frame, AUTOWRAP_ON);
	draw_caret(s, first, n);
	if (s->room < n || !s->room)
		s->room = n ? n : 1;
	buf_adds(&s->frame, FRAME_END);
}

/* Checks the size. After a change, everything is redrawn once the size has
 * settled. */
static void note_resize(struct screen *s, bool *resized)
{
	size_t columns;
	size_t lines;

	(void)tty_size(&s->tty, &columns, &lines);
	if (columns == s->columns && lines == s->lines)
		return;
	s->columns = columns;
	s->lines = lines;
	s->fresh = true;
	s->hold_until = clock_ms() + (s->in_tmux ? SETTLE_TMUX_MS : SETTLE_MS);
	if (resized)
		*resized = true;
}

/* Call when the screen no longer shows anything that was drawn. */
static void clear_drawn(struct screen *s)
{
	rows_clear(&s->drawn);
	s->at_row = 0;
	s->at_column = 0;
	s->caret_shown = false;
	s->room = s->lines;
	s->drawn_lines = s->lines;
	s->fresh = true;
}

/* Sends a frame if something has changed. Returns the same values as
 * tty_write(). */
static int send_frame(struct screen *s)
{
	size_t n;
	size_t first = find_shown(s, &n);
	int rc;

	if (is_drawn(s, first, n))
		return 0;
	buf_clear(&s->frame);
	build_frame(s, first, n);
	rows_clear(&s->drawn);
	rows_append(&s->drawn, &s->live, first, n);
	s->drawn_columns = s->columns;
	s->drawn_lines = s->lines;
	s->fresh = false;
	tty_set_above(-1);
	rc = tty_write(&s->tty, buf_str(&s->frame));
	if (rc == 0)
		tty_set_above((int)s->at_row);
	return rc;
}

int screen_flush(struct screen *s, bool *resized)
{
	int rc;

	if (resized)
		*resized = false;
	if (s->away)
		return 0;
	tty_woken(&s->tty);
	if (tty_was_stopped())
		clear_drawn(s);
	note_resize(s, resized);
	if (clock_ms() < s->hold_until)
		return 1;
	rc = tty_drain(&s->tty, 0);
	if (rc == 0)
		rc = send_frame(s);
	return rc == 0 && s->printed.n ? 1 : rc;
}

int64_t screen_wait(const struct screen *s, struct pollfd fds[2])
{
	fds[0] = (struct pollfd){ .fd = s->tty.wake, .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = s->tty.unsent.len ? s->tty.out : -1,
				  .events = POLLOUT };
	if (s->hold_until > clock_ms())
		return s->hold_until;
	return s->printed.n && !s->tty.unsent.len ? 0 : INT64_MAX;
}

/* Prints the remaining rows and erases the live part, which is drawn again
 * after a resume. */
static void finish_frames(struct screen *s)
{
	int64_t end = clock_ms() + CLOSE_MS;
	struct rows live = s->live;
	size_t caret_row = s->caret_row;

	s->live = (struct rows){ 0 };
	s->caret_row = SIZE_MAX;
	if (tty_was_stopped())
		clear_drawn(s);
	note_resize(s, NULL);
	for (int64_t now = clock_ms(); now < end; now = clock_ms()) {
		if (tty_drain(&s->tty, (int)(end - now)) != 0 ||
		    is_drawn(s, 0, 0))
			break;
		(void)send_frame(s);
	}
	rows_release(&s->live);
	s->live = live;
	s->caret_row = caret_row;
}

void screen_suspend(struct screen *s)
{
	if (s->away)
		return;
	finish_frames(s);
	tty_leave(&s->tty);
	s->away = true;
}

void screen_resume(struct screen *s)
{
	if (!s->away)
		return;
	s->away = false;
	tty_enter(&s->tty);
	clear_drawn(s);
}

void screen_stop(struct screen *s)
{
	screen_suspend(s);
	(void)raise(SIGTSTP);
	screen_resume(s);
}

void screen_close(struct screen *s)
{
	screen_suspend(s);
	tty_close(&s->tty);
	rows_release(&s->printed);
	rows_release(&s->live);
	rows_release(&s->drawn);
	buf_release(&s->frame);
}
