/* task_line.c - the line at a terminal that says what dcode -n is doing. */
/* SPDX-License-Identifier: MIT */
#include "ui/progress/task_line.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/sanitize.h"
#include "base/str.h"
#include "base/thread.h"
#include "term/rows.h"
#include "ui/summary.h"

enum {
	REDRAW_MS = 120,
	MOST_LINE = 4096, /* bytes of the line, escape sequences not counted */
	FEW_COLUMNS = 20, /* a narrower terminal gets no line */
};

/* Returns how many cells the line may have. 0: draw nothing, because the
 * terminal is too narrow or belongs to another program. */
static size_t line_cells(void)
{
	struct winsize size = { 0 };

	if (tcgetpgrp(STDERR_FILENO) != getpgrp())
		return 0;
	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 ||
	    size.ws_col < FEW_COLUMNS)
		return 0;
	return size.ws_col - 1U; /* the cursor stays in the line */
}

/* Composes the line. Call with the lock held. */
static void compose_line(const struct task_line *s, int64_t now,
			 struct buf *out)
{
	const struct theme theme = { .ascii = s->ascii };
	struct buf text = BUF_INIT(MOST_LINE);

	buf_addf(&text, "%s %s  ",
		 theme_spinner(&theme, (size_t)(now / REDRAW_MS)),
		 s->turn.doing);
	turn_add_progress(&s->turn, s->meter, now, &text);
	buf_adds(&text, "  ");
	todo_view_step(&s->todos, &text);
	sanitize_line(str_trim(buf_str(&text)), out);
	buf_release(&text);
}

static void draw_line(struct task_line *s)
{
	struct buf line = BUF_INIT(MOST_LINE);
	size_t cells = line_cells();
	struct str shown;

	compose_line(s, clock_ms(), &line);
	shown = buf_str(&line);
	shown.len = width_prefix(shown, cells);
	output_status(s->guard, shown);
	buf_release(&line);
}

static void *run_line(void *arg)
{
	struct task_line *s = arg;

	pthread_mutex_lock(&s->lock);
	while (!s->over) {
		draw_line(s);
		thread_wait(&s->changed, &s->lock, REDRAW_MS);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

void task_line_begin(struct task_line *s, struct output_guard *guard,
		     struct meter *const *made, bool ascii)
{
	*s = (struct task_line){ .guard = guard, .made = made, .ascii = ascii };
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	turn_begin(&s->turn, NULL, clock_ms());
	snprintf(s->turn.doing, sizeof(s->turn.doing), "getting ready");
}

void task_line_draw(struct task_line *s)
{
	const char *term = getenv("TERM");
	struct error ignored = { 0 };

	s->drawn = isatty(STDERR_FILENO) && term && term[0] &&
		   strcmp(term, "dumb") != 0 &&
		   thread_start(&s->thread, run_line, s, &ignored) == 0;
}

void task_line_event(struct task_line *s, const struct agent_event *ev)
{
	pthread_mutex_lock(&s->lock);
	s->meter = *s->made;
	(void)turn_event(&s->turn, ev);
	todo_view_follow(&s->todos, ev);
	pthread_mutex_unlock(&s->lock);
}

void task_line_step(struct task_line *s, const char *doing)
{
	pthread_mutex_lock(&s->lock);
	snprintf(s->turn.doing, sizeof(s->turn.doing), "%s", doing);
	pthread_mutex_unlock(&s->lock);
}

void task_line_end(struct task_line *s)
{
	if (!s->drawn)
		return;
	pthread_mutex_lock(&s->lock);
	s->over = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	output_status(s->guard, STR(""));
}

void task_line_add_end(struct task_line *s, const char *what, struct buf *out)
{
	if (!s->drawn)
		return;
	turn_add_end(&s->turn, s->meter, clock_ms(), what, false, out);
}

void task_line_release(struct task_line *s)
{
	todos_release(&s->todos);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
}
