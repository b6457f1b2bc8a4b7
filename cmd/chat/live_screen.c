/* live_screen.c - draws the chat with a screen. */
/* SPDX-License-Identifier: MIT */
/*
 * live_draw() composes the live part at the bottom; live_print() moves finished
 * rows into the scrollback above it. Output of other code arrives through a
 * pipe (printed_). The user's editor and pager are also started here.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/project.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/chat/live_state.h"
#include "cmd/chat/slash.h"
#include "cmd/external.h"
#include "cmd/pager.h"
#include "cmd/session/policy.h"
#include "cmd/session/run.h"
#include "model/catalog.h"
#include "model/money.h"
#include "providers/registry.h"
#include "sandbox/sandbox.h"
#include "session/session.h"
#include "term/rows.h"
#include "term/theme.h"

/* True if the command that the user sent last, with no key in the draft since
 * then, has opened a question of dcode itself: the user waits for it. */
static bool asked_for_choice(const struct live *l)
{
	return l->asked_choice && l->now.kind == JOB_SLASH && !l->n_queue &&
	       l->drafted <= l->sent;
}

/* True if no message is being written or was a moment ago: a single key may be
 * an answer. */
bool live_is_left_alone(const struct live *l)
{
	return !live_is_drafting(l) &&
	       (asked_for_choice(l) || clock_ms() >= live_pause_ends(l));
}

enum question_keys live_question_keys(const struct live *l)
{
	/* In a list, a letter only filters and decides nothing. So it need not
	 * wait. */
	if (l->picking && !live_is_drafting(l))
		return QUESTION_LETTERS;
	if (clock_ms() - l->opened < LIVE_NOTICED_MS)
		return QUESTION_TOO_NEW;
	if (l->focused)
		return QUESTION_SELECTED;
	if (live_is_drafting(l))
		return QUESTION_DRAFT;
	return live_is_left_alone(l) ? QUESTION_LETTERS : QUESTION_PAUSE;
}

static void close_all(struct printed *p)
{
	const int fds[] = { p->real[0], p->real[1], p->fd, p->in };

	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
		if (fds[i] > STDERR_FILENO)
			close(fds[i]);
	*p = (struct printed){ { -1, -1 }, -1, -1 };
}

static void redirect_output(struct printed *p)
{
	fflush(stdout);
	(void)dup2(p->in, STDOUT_FILENO);
	(void)dup2(p->in, STDERR_FILENO);
}

int printed_open(struct printed *p, struct error *err)
{
	int ends[2];

	*p = (struct printed){ { -1, -1 }, -1, -1 };
	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_errno(err, "creating a pipe");
	p->fd = ends[0];
	p->in = ends[1];
	for (int i = 0; i < 2; i++)
		p->real[i] = fcntl(i + STDOUT_FILENO, F_DUPFD_CLOEXEC,
				   STDERR_FILENO + 1);
	if (p->real[0] < 0 || p->real[1] < 0 ||
	    fcntl(p->fd, F_SETFL, O_NONBLOCK) < 0) {
		error_errno(err, "duplicating the terminal's file descriptors");
		close_all(p);
		return -1;
	}
	redirect_output(p);
	return 0;
}

void printed_read(struct printed *p, struct buf *out)
{
	char chunk[4096];
	ssize_t n;

	while ((n = read(p->fd, chunk, sizeof(chunk))) > 0 ||
	       (n < 0 && errno == EINTR))
		if (n > 0)
			buf_add(out, chunk, (size_t)n);
}

/* Restores the real output streams while other code uses the terminal. */
static void restore_output(struct printed *p)
{
	fflush(stdout);
	(void)dup2(p->real[0], STDOUT_FILENO);
	(void)dup2(p->real[1], STDERR_FILENO);
}

void printed_close(struct printed *p)
{
	if (p->fd <= STDERR_FILENO)
		return;
	restore_output(p);
	close_all(p);
}

enum {
	MOVES_MS = 120, /* between two frames of the spinner */
	MOST_LINE = 512,
	LEAST_WHAT = 24, /* with fewer cells for the progress text, the hint on
			    how to stop is left out */
};

enum {
	MOST_QUEUED = 4,  /* rows for queued messages */
	LEAST_EDITOR = 3, /* rows of the editor */
	LOW_SCREEN = 16,  /* below so many rows a list with columns takes all */
	/* On a screen with fewer rows, a question is shown alone. */
	LEAST_AROUND = 16,
	LEAST_FOR_HINT = 70, /* columns; with fewer, a short hint is shown */
};

static const struct style muted = { 0, STYLE_MUTED };

static const struct style faint = { ATTR_DIM, STYLE_USER };

void live_set_wait(struct live *l, const char *what)
{
	snprintf(l->wait, sizeof(l->wait), "%s", what);
	l->since = clock_ms();
	l->retries_at = 0;
}

/* Sets the progress text to a step of creating the sandbox. While a message
 * that was sent ahead runs, the text is about the model, and the step is shown
 * after it. */
static void set_step(struct live *l, const char *what)
{
	if (l->ahead.sent)
		snprintf(l->ahead.step, sizeof(l->ahead.step), "%s", what);
	else
		live_set_wait(l, what);
}

/* Shows a printed line as the current step if it ends in "..."; a check mark
 * ends the step. */
static void follow_line(struct live *l, struct str line)
{
	struct buf step = BUF_INIT(MOST_LINE);

	sanitize_line(line, &step);
	if (str_ends(buf_str(&step), "...")) {
		step.ptr[step.len - 3] = '\0';
		set_step(l, step.ptr);
	} else if (l->state != LIVE_CLOSING &&
		   (str_starts(buf_str(&step), "\u2713 ") ||
		    (l->theme.ascii && str_starts(buf_str(&step), "+ ")))) {
		set_step(l, "getting ready");
	}
	buf_release(&step);
}

/* Sets the progress from complete lines that the program printed. */
static void follow_lines(struct live *l, struct str lines)
{
	struct str line;
	bool steps = l->state == LIVE_OPENING || l->state == LIVE_CLOSING ||
		     (l->state == LIVE_WORKING && l->now.kind == JOB_SLASH);

	if (!steps)
		return;
	while (str_split(&lines, '\n', &line))
		follow_line(l, line);
}

/* Returns what Esc does now, as live_on_key() does it. */
static const char *describe_stop_key(const struct live *l, bool brief)
{
	if (l->state == LIVE_CLOSING)
		return ", Ctrl-C twice leaves at once";
	if (l->n_queue > 1)
		return brief ? ", Esc takes back"
			     : ", Esc takes back the newest queued message";
	if (l->n_queue)
		return brief ? ", Esc takes back"
			     : ", Esc takes back the queued message";
	return l->stopping ? "" : ", Esc stops it";
}

/* Adds the progress text in at most room cells. */
static void add_progress_text(const struct live *l, size_t room,
			      struct rows *out)
{
	const char *more = theme_glyph(&l->theme, GLYPH_ELLIPSIS);
	struct buf what = BUF_INIT(MOST_LINE);
	struct str shown;

	sanitize_line(buf_str(&l->text), &what);
	if (!what.len)
		buf_adds(&what, l->wait);
	if (l->ahead.sent)
		buf_addf(&what, "; %s", l->ahead.step);
	shown = buf_str(&what);
	if (width_cells(shown) > room) {
		shown.len = width_prefix(
			shown, room - width_cells(str_of(more)) % room);
		rows_add(out, muted, shown);
		rows_adds(out, muted, more);
	} else {
		rows_add(out, muted, shown);
	}
	buf_release(&what);
}

/* Returns the seconds since the step began, or until the next retry of the
 * model. */
static int64_t shown_seconds(const struct live *l)
{
	int64_t now = clock_ms();

	return l->retries_at > now ? (l->retries_at - now + 999) / 1000
				   : (now - l->since) / 1000;
}

static bool has_turn(const struct live *l)
{
	return job_is_prompt(l->now.kind) &&
	       (l->state == LIVE_WORKING || l->ahead.sent);
}

/* Adds how long it takes: "  12 s"; for a turn, also its tokens. */
static void add_numbers(const struct live *l, struct buf *out)
{
	bool waits = l->retries_at > clock_ms();

	buf_adds(out, "  ");
	if (has_turn(l) && !waits)
		turn_add_progress(&l->turn, live_meter(l), clock_ms(), out);
	else
		buf_addf(out, "%" PRId64 " s%s", shown_seconds(l),
			 waits ? " left" : "");
}

/* Adds the progress row: "x waiting for the model  12 s, 3.2K tokens, Esc stops
 * it". An unfinished line of output is shown in place of "waiting for the
 * model". */
static void add_wait(const struct live *l, struct rows *out)
{
	size_t room = screen_columns(&l->screen);
	int64_t ms = clock_ms() - l->since;
	struct buf numbers = BUF_INIT(MOST_LINE);
	struct str rest;
	size_t n;

	if (l->state == LIVE_IDLE || live_is_asked(l))
		return;
	rows_adds(out, (struct style){ 0, STYLE_ACCENT },
		  theme_spinner(&l->theme, (size_t)(ms / MOVES_MS)));
	rows_add(out, muted, STR(" "));
	add_numbers(l, &numbers);
	n = numbers.len;
	for (int brief = 0; brief < 2; brief++) {
		numbers.len = n;
		buf_adds(&numbers, describe_stop_key(l, brief));
		rest = buf_str(&numbers);
		if (room >= LEAST_WHAT + width_cells(rest))
			break;
		rest.len = n;
	}
	room -= room > 2 ? 2 : 0;
	if (width_cells(rest) + 4 < room) {
		add_progress_text(l, room - width_cells(rest), out);
		rows_add(out, muted, rest);
	} else {
		add_progress_text(l, room, out);
	}
	rows_end(out);
	buf_release(&numbers);
}

static int64_t next_animation_time(const struct live *l)
{
	int64_t now = clock_ms();

	return now + MOVES_MS - (now - l->since) % MOVES_MS;
}

/* Returns the working directory with the home shortened: "~/src/dcode". The
 * caller owns the result. */
static char *shorten_home(const struct settings *set)
{
	const char *cwd = settings_cwd(set);
	const char *home = settings_home(set);
	size_t n = home ? strlen(home) : 0;

	if (n > 1 && !strncmp(cwd, home, n) && (!cwd[n] || cwd[n] == '/'))
		return xasprintf("~%s", cwd + n);
	return xstrdup(cwd);
}

void live_status_begin(struct live *l)
{
	const char *name = l->run->options.sandbox;

	l->place = xstrdup(name && !sandbox_is_none(name) ? name : "");
	l->directory = shorten_home(l->run->app->settings);
	live_status_refresh(l);
}

/* Returns the model's context window in tokens; 0: unknown. */
static int64_t find_window(const struct run *r)
{
	struct model_facts facts;

	if (!r->choice.provider || !r->choice.model ||
	    !model_facts(r->app->settings, r->choice.provider, r->choice.model,
			 &facts))
		return r->agent.window.learned ? r->agent.window.size : 0;
	return facts.context;
}

/* Returns when the vendor will end the sandbox although the chat goes on, or 0
 * if that is unknown or dcode can extend its lifetime. The sandbox was created
 * at `since` or a little later. */
static int64_t find_end(const struct run *r, int64_t since)
{
	const struct managed_sandbox *box = &r->box;

	if (!box->ours || box->resumed || box->lifetime_s <= 0 ||
	    sandbox_acts_on_host(&box->sandbox) ||
	    sandbox_can_extend(&r->client))
		return 0;
	return since + box->lifetime_s * 1000;
}

/* Replaces an owned text. Returns true if it changed. */
static bool set_text(char **text, char *fresh)
{
	bool differs = !*text || strcmp(*text, fresh) != 0;

	free(*text);
	*text = fresh;
	return differs;
}

/* Notes which thread the list of calls is of. The list has a connection to the
 * database of its own, because the worker uses the run's. */
static void follow_thread(struct live *l)
{
	const struct session *session = l->run->agent.session;
	struct call_menu *m = &l->calls_menu;
	struct store *store;

	m->mask = l->run->app->mask;
	free(m->workdir);
	m->workdir = xstrdup(l->run->box.sandbox.workdir);
	l->transcript.look.workdir = m->workdir;
	m->thread = 0;
	if (!session)
		return;
	store = session_store(session, &m->thread);
	if (store && !m->store)
		m->store = store_again(store);
}

/* Copies facts of the run for the status line. No job may be running. */
static void read_run(struct live *l)
{
	const struct run *r = l->run;
	char id[IDS_SHOWN];

	l->asks = run_asks(r);
	(void)set_text(&l->model, run_model_name(r));
	l->window = find_window(r);
	/* No answer has said how full the window is. While the run is being
	 * opened, a message that was sent ahead uses the model. */
	if (!l->context && r->model && l->state != LIVE_OPENING)
		l->context =
			window_about(&r->agent.window, model_size(r->model));
	if (set_text(&l->place,
		     l->late ? xasprintf("%s, when needed",
					 sandbox_client_name(&r->client))
		     : run_has_sandbox(r)
			     ? xasprintf("%s %.12s",
					 sandbox_client_name(&r->client),
					 ids_shown(r->box.sandbox.id, id))
			     : xstrdup("this machine")))
		l->ends = find_end(r, l->began);
	follow_thread(l);
}

/* Returns the repository's directory, or the working directory outside a
 * repository. The caller owns the result. */
static char *find_project(const struct settings *set)
{
	char *dir = xstrdup(settings_cwd(set));

	dir[project_root(dir, project_owner(dir), NULL)] = '\0';
	return dir;
}

/* Opens the history file and appends the prompts that were sent before it was
 * open. */
static void open_history(struct live *l)
{
	struct app *app = l->run->app;
	struct prompt_history *early = xcalloc(1, sizeof(*early));
	struct error err = { 0 };
	struct error ignored = { 0 };
	char *path = app_state_path(app, "history.jsonl", &err);
	char *project = find_project(app->settings);

	*early = l->history;
	if (!path || prompt_history_open(&l->history, path, project, app->mask,
					 &err) < 0)
		(void)app_fail(app, &err);
	if (!path)
		l->history = (struct prompt_history){ 0 };
	for (size_t i = 0; i < early->n; i++)
		(void)prompt_history_add(
			&l->history, prompt_history_text(early, i), &ignored);
	prompt_history_release(early);
	free(early);
	free(project);
	free(path);
}

void live_status_opened(struct live *l)
{
	const char *workdir = l->run->box.sandbox.workdir;
	char *line;

	open_history(l);
	read_run(l);
	line = xasprintf("%s, tools in %s (%s%s)", l->model,
			 workdir ? workdir : "?", l->place,
			 sandbox_is_shared(&l->run->box.sandbox)
				 ? ", not isolated: asks about each call"
				 : "");
	live_say(l, (struct style){ 0, STYLE_MUTED }, line);
	free(line);
}

void live_status_refresh(struct live *l)
{
	char branch[BRANCH_SIZE];

	branch_read(settings_cwd(l->run->app->settings), branch);
	(void)set_text(&l->branch, xstrdup(branch));
	if (l->model)
		read_run(l);
}

void live_status_release(struct live *l)
{
	call_menu_close(&l->calls_menu);
	store_close(l->calls_menu.store);
	free(l->calls_menu.workdir);
	free(l->model);
	free(l->place);
	free(l->directory);
	free(l->branch);
}

/* Returns the approval mode for the status line; NULL: not known yet. In an
 * isolated sandbox no call is asked about, in whatever mode. */
static const char *mode_of(const struct live *l)
{
	enum run_mode mode = run_mode_shown(l->run);

	if (!l->model && mode != RUN_PLAN)
		return NULL;
	if (l->asks || mode == RUN_PLAN || mode == RUN_YOLO)
		return mode_name(mode);
	return mode == RUN_MANUAL ? "manual (no questions)"
				  : "auto-edit (no questions)";
}

static int64_t remaining_seconds(const struct live *l)
{
	int64_t ms = l->ends - clock_ms();

	if (!l->ends || l->state == LIVE_CLOSING)
		return -1;
	return ms > 0 ? ms / 1000 : 0;
}

/* Returns the sandbox's state for the status line, or NULL if it runs. */
static const char *state_of(const struct live *l)
{
	const char *place = l->place ? l->place : "";

	if (l->state == LIVE_OPENING)
		return "starting";
	if (l->state == LIVE_IDLE && l->unopened && place[0])
		return "not started";
	if (l->state == LIVE_CLOSING && strcmp(place, "this machine") != 0)
		return "ending";
	if (l->run->seen == STATE_STOPPED)
		return "stopped";
	if (l->run->seen == STATE_GONE)
		return "gone";
	if (l->ends && clock_ms() >= l->ends)
		return "expired";
	return NULL;
}

/* Returns a hint that has priority in the status line, or NULL. */
static const char *hint_of(const struct live *l)
{
	if (l->note)
		return l->note;
	if (l->confirms && clock_ms() < l->confirmed_at + LIVE_NOTICED_MS)
		return "yolo: every call runs on this machine without asking.";
	if (l->confirms)
		return "yolo: every call runs on this machine without asking. "
		       "y allows it";
	if (l->armed && (l->over || editor_is_empty(&l->editor)))
		return "Ctrl-C again leaves";
	if (l->leaves && l->n_queue)
		return screen_columns(&l->screen) < LEAST_FOR_HINT
			       ? "Not sent yet: again leaves, Esc edits"
			       : "Queued messages are not sent yet: once more "
				 "leaves, Esc edits them";
	if (l->rewinds)
		return "Esc again goes back to an earlier prompt";
	if (l->held)
		return "stopped: Enter sends the queued messages, Esc edits "
		       "them";
	return NULL;
}

/* Returns the cost for the status line. NULL if nothing was spent or the cost
 * is unknown. */
static const char *cost_of(const struct live *l, char room[MONEY_SIZE])
{
	struct meter_total t = { 0 };

	if (live_meter(l))
		meter_total(live_meter(l), &t);
	return t.model + t.sandbox > 0 ? money_short(t.model + t.sandbox, room)
				       : NULL;
}

/* Draws the status line. */
static void add_status(const struct live *l, struct rows *out)
{
	char cost[MONEY_SIZE];
	struct status s = {
		.model = l->model,
		.sandbox = l->place && l->place[0] ? l->place : NULL,
		.state = state_of(l),
		.keys = !l->vi.on      ? NULL
			: l->vi.visual ? "vi visual"
			: l->vi.normal ? "vi normal"
				       : "vi insert",
		.mode = mode_of(l),
		.unasked = run_mode_shown(l->run) == RUN_YOLO,
		.directory = l->directory,
		.branch = l->branch,
		.cost = cost_of(l, cost),
		.hint = hint_of(l),
		.left_s = remaining_seconds(l),
		.context = l->context,
		.window = l->window,
		.input = l->usage.input + l->usage.cache_read +
			 l->usage.cache_write,
		.output = l->usage.output,
		.queued = l->n_queue,
		.order = &l->status_order,
	};

	status_render(&s, &l->theme, screen_columns(&l->screen), out);
}

/* Returns when the status line changes by itself, as clock_ms(); INT64_MAX:
 * never. */
static int64_t next_status_change(const struct live *l)
{
	int64_t left = remaining_seconds(l);
	int64_t now = clock_ms();

	/* from that time on, the question about yolo mode accepts an answer */
	if (l->confirms && now < l->confirmed_at + LIVE_NOTICED_MS)
		return l->confirmed_at + LIVE_NOTICED_MS;
	return left > 0 ? now + status_left_changes(left) * 1000 : INT64_MAX;
}

/* Prints rows above the live part, each wrapped below its own indent. */
static void live_print_rows(struct live *l, const struct rows *rows)
{
	struct wrap wrap = { .columns = screen_columns(&l->screen),
			     .words = true,
			     .soft = true };
	struct rows out = { 0 };

	for (size_t i = 0; i < rows->n; i++) {
		wrap.rest.text = rows_indent(rows_view(rows, i).bytes);
		wrap_row(rows, i, &wrap, &out);
	}
	screen_print(&l->screen, &out, 0, out.n);
	rows_release(&out);
}

void live_say(struct live *l, struct style style, const char *text)
{
	struct rows rows = { 0 };

	rows_adds(&rows, style, text);
	rows_close(&rows);
	live_print_rows(l, &rows);
	rows_release(&rows);
}

/* Returns the text after the last carriage return of a line; those at its end
 * do not count. */
static struct str last_part(struct str line)
{
	size_t end = line.len;
	size_t at;

	while (end && line.ptr[end - 1] == '\r')
		end--;
	for (at = end; at && line.ptr[at - 1] != '\r';)
		at--;
	return (struct str){ line.ptr + at, end - at };
}

/* Appends text as a terminal would finally show it: of a line that is
 * overwritten after carriage returns, like a progress bar, only the last part.
 */
static void add_last_parts(struct str text, struct buf *out)
{
	while (text.len) {
		size_t n = str_find(text, '\n');

		if (n)
			buf_addstr(out, last_part((struct str){ text.ptr, n }));
		if (n < text.len) {
			buf_addc(out, '\n');
			n++;
		}
		text = str_skip(text, n);
	}
}

/* Adds lines that dcode printed. An error must be easier to see than what is
 * printed around it. */
static void add_printed(struct str lines, struct rows *out)
{
	struct str line;

	while (str_split(&lines, '\n', &line)) {
		struct style style = muted;

		if (str_starts(line, "Error: "))
			style = (struct style){ ATTR_BOLD, STYLE_ERROR };
		else if (str_starts(line, "Warning: "))
			style = (struct style){ 0, STYLE_WARN };
		rows_add(out, style, line);
		rows_end(out);
	}
}

/* Prints the complete lines of the captured output; all: also the last,
 * unfinished one, as a terminal would show it. */
static void print_lines(struct live *l, bool all)
{
	struct buf shown = BUF_INIT(LIVE_MAX_PRINTED);
	struct rows rows = { 0 };
	struct str text = buf_str(&l->text);
	const char *last = text.len ? memrchr(text.ptr, '\n', text.len) : NULL;
	size_t end = all ? text.len : last ? (size_t)(last - text.ptr) + 1 : 0;

	add_last_parts((struct str){ text.ptr, end }, &shown);
	if (shown.len) {
		follow_lines(l, buf_str(&shown));
		add_printed(buf_str(&shown), &rows);
		live_print_rows(l, &rows);
		rows_release(&rows);
	}
	buf_clear(&shown);
	add_last_parts(str_skip(text, end), &shown);
	if (text.len) {
		buf_clear(&l->text);
		buf_addstr(&l->text, buf_str(&shown));
	}
	buf_release(&shown);
}

void live_print(struct live *l)
{
	printed_read(&l->printed, &l->text);
	print_lines(l, false);
	if (l->transcript.done.n) {
		screen_print(&l->screen, &l->transcript.done, 0,
			     l->transcript.done.n);
		rows_clear(&l->transcript.done);
	}
}

/* Suspends the screen: prints the pending output, erases the live rows and
 * restores the terminal's normal state. screen_resume() draws the screen again;
 * output printed in between appears then. */
static void restore_streams(struct live *l)
{
	printed_read(&l->printed, &l->text);
	print_lines(l, true);
	live_print(l);
	rows_clear(&l->live);
	screen_live(&l->screen, &l->live, SIZE_MAX, 0);
	(void)screen_flush(&l->screen, NULL);
	screen_suspend(&l->screen);
}

void live_suspend(struct live *l)
{
	restore_streams(l);
	restore_output(&l->printed);
}

void live_resume(struct live *l)
{
	redirect_output(&l->printed);
	screen_resume(&l->screen);
}

static size_t subtract_or_zero(size_t a, size_t b)
{
	return a > b ? a - b : 0;
}

/* Returns when queued message i is sent: shown behind it while a turn runs. */
static const char *describe_queued(const struct live *l, size_t i)
{
	if (!live_queue_can_steer(l))
		return "";
	return live_queue_steers(l, i) ? "  (at the next step)"
				       : "  (after this turn)";
}

/* Draws a queued message in one row: its first line that is not blank, how many
 * lines it has, and when it is sent. */
static void add_queued(const struct live *l, size_t i, struct rows *out)
{
	const struct waiting *m = &l->queue[i];
	const char *more = theme_glyph(&l->theme, GLYPH_ELLIPSIS);
	struct str text = str_trim(str_of(m->text));
	size_t lines = str_count_lines(text);
	size_t columns = screen_columns(&l->screen);
	struct buf first = BUF_INIT(SIZE_MAX / 4);
	struct buf note = BUF_INIT(MOST_LINE);
	size_t room;
	bool cut;

	text.len = str_find(text, '\n');
	buf_adds(&first, message_prefix((enum message_kind)m->kind));
	buf_addstr(&first, text);
	text = buf_str(&first);
	if (lines > 1)
		buf_addf(&note, "  (%zu lines)", lines);
	if (columns < 2 * note.len)
		buf_clear(&note);
	/* The text comes first: the time is shown only beside all of it. */
	if (2 + width_cells(text) + 2 * (lines > 1) + note.len +
		    strlen(describe_queued(l, i)) <=
	    columns)
		buf_adds(&note, describe_queued(l, i));
	room = subtract_or_zero(columns, 2 + note.len);
	cut = lines > 1 || width_cells(text) > room;
	if (cut && width_cells(text) + 2 > room)
		text.len = width_prefix(text, subtract_or_zero(room, 2));
	rows_adds(out, faint, "+ ");
	rows_add(out, faint, text);
	if (cut && room > 2) {
		rows_adds(out, faint, " ");
		rows_adds(out, faint, more);
	}
	rows_add(out, muted, buf_str(&note));
	rows_end(out);
	buf_release(&first);
	buf_release(&note);
}

/* Draws the queued messages in at most `most` rows. */
static void add_queue(const struct live *l, size_t most, struct rows *out)
{
	size_t n = l->n_queue;

	if (n > MOST_QUEUED)
		n = MOST_QUEUED + 1; /* one row shows that there are more */
	if (n > most)
		n = most;
	for (size_t i = 0; i < n; i++) {
		if (i && i + 1 == n && n < l->n_queue) {
			rows_adds(out, faint, "...");
			rows_end(out);
			break;
		}
		add_queued(l, i, out);
	}
}

/* Draws the part that has the cursor: a list, the history search or the draft.
 */
static void add_editor(struct live *l, size_t rows, struct rows *out,
		       size_t caret[2])
{
	size_t columns = screen_columns(&l->screen);

	l->calls_menu.asked = l->asked;
	if (l->picking && live_question_keys(l) != QUESTION_DRAFT)
		selection_list_render(&l->picker, columns, rows, out, &caret[0],
				      &caret[1]);
	else if (l->calls_menu.on)
		call_menu_render(&l->calls_menu, columns, rows,
				 live_is_asked(l) ? TOOLVIEW_ASKED : clock_ms(),
				 out, caret);
	else if (l->search.on)
		history_search_render(&l->search, columns, rows, out, &caret[0],
				      &caret[1]);
	else
		editor_render(l->dialog.edits ? &l->dialog.editor : &l->editor,
			      columns, rows, out, &caret[0], &caret[1]);
}

/* Draws the title of a list that waits until the message is finished. */
static void add_waiting_list(const struct live *l, size_t columns,
			     struct rows *out)
{
	cut_text_add(out, (struct style){ ATTR_BOLD, STYLE_WARN },
		     str_of(l->asked_pick->title), columns);
	rows_end(out);
	(void)answer_row_hint(QUESTION_DRAFT, 0, columns, out);
}

static void add_completions(struct live *l, size_t rows, struct rows *out)
{
	complete_render(&l->completer, screen_columns(&l->screen), rows, out);
}

/* Composes the editor and everything around it. If not all of it fits, space is
 * assigned in this order: the caret's row, the progress row, the status line,
 * the rest of the editor, its completions, the question about a call, the
 * queue, a blank row. */
static void compose_editor(struct live *l, size_t most, struct rows *out,
			   size_t caret[2])
{
	struct rows wait = { 0 };
	struct rows editor = { 0 };
	struct rows asked = { 0 };
	size_t columns = screen_columns(&l->screen);
	size_t rows = most / 3 > LEAST_EDITOR ? most / 3 : LEAST_EDITOR;
	size_t room;
	bool waits;
	bool status;

	add_wait(l, &wait);
	room = subtract_or_zero(most, wait.n + 1);
	rows += l->picking || l->search.on ? LEAST_EDITOR : 0;
	if ((l->picking && l->picker.view) || l->calls_menu.on)
		rows = most < LOW_SCREEN ? most : most * 3 / 4;
	add_editor(l, rows < room ? rows : room, &editor, caret);
	room = subtract_or_zero(most, editor.n);
	waits = wait.n && room;
	room -= waits;
	status = room;
	room -= status;
	rows = editor.n;
	add_completions(l, room, &editor);
	if (l->helps)
		key_help_render(columns, room, &editor);
	room -= editor.n - rows;
	if (l->dialog.asked && room)
		dialog_render(&l->dialog, columns, room > 1 ? room - 1 : 1,
			      &asked);
	if (l->choice.asked && room)
		choice_render(&l->choice, columns, &asked);
	if (l->picking && room && l->choice.keys == QUESTION_DRAFT)
		add_waiting_list(l, columns, &asked);
	room = subtract_or_zero(room, asked.n);
	if (room > (l->n_queue > 0)) {
		rows_end(out); /* blank row between the output and the progress
				*/
		room--;
	}
	if (waits)
		rows_append(out, &wait, 0, wait.n);
	add_queue(l, room, out);
	caret[0] += out->n + asked.n;
	rows_append(out, &asked, 0, asked.n);
	rows_append(out, &editor, 0, editor.n);
	rows_close(out);
	if (status)
		add_status(l, out);
	rows_release(&wait);
	rows_release(&editor);
	rows_release(&asked);
}

/* Draws the model's question, with a half-written message below it. */
static void compose_inquiry(struct live *l, size_t most, struct rows *out,
			    size_t caret[2])
{
	size_t columns = screen_columns(&l->screen);
	bool writes = live_is_drafting(l);
	struct rows editor = { 0 };
	size_t at[2] = { 0, 0 };
	size_t first;

	if (most >= LEAST_AROUND) {
		rows_end(out);
		add_queue(l, 2, out);
	}
	if (writes)
		add_editor(l, most >= LEAST_AROUND ? LEAST_EDITOR : 1, &editor,
			   at);
	rows_close(&editor);
	if (most >= LEAST_AROUND)
		add_status(l, &editor);
	first = out->n;
	inquiry_dialog_render(&l->inquiry, &l->theme, out, columns,
			      subtract_or_zero(most, first + editor.n), caret);
	caret[0] += first;
	if (writes && !l->focused) {
		caret[0] = out->n + at[0];
		caret[1] = at[1];
	}
	rows_append(out, &editor, 0, editor.n);
	rows_release(&editor);
}

/* Draws a question about a call on a small screen: only the question, and one
 * row of the message that is being written, with its completions. */
static void compose_compact(struct live *l, size_t most, struct rows *out,
			    size_t caret[2])
{
	size_t columns = screen_columns(&l->screen);
	struct rows editor = { 0 };

	caret[0] = SIZE_MAX;
	if (live_is_drafting(l) && most > 1) {
		add_editor(l, 1, &editor, caret);
		add_completions(l, most / 2, &editor);
	}
	/* The note is drawn here because there is no status line. */
	if (l->note && most > editor.n + 1) {
		rows_close(&editor);
		cut_text_add(&editor, (struct style){ 0, STYLE_WARN },
			     str_of(l->note), columns);
		rows_end(&editor);
	}
	dialog_render(&l->dialog, columns, most - editor.n, out);
	if (caret[0] != SIZE_MAX)
		caret[0] += out->n;
	rows_append(out, &editor, 0, editor.n);
	rows_release(&editor);
}

/* Draws everything below the answer: question or progress, queue, editor and
 * status line. */
static void compose_bottom(struct live *l, size_t most, struct rows *out,
			   size_t caret[2])
{
	int64_t wait = live_pause_ends(l) - clock_ms();

	l->dialog.keys = l->inquiry.keys = l->choice.keys =
		live_question_keys(l);
	l->dialog.wait_s = l->inquiry.wait_s = l->choice.wait_s =
		wait > 1000 ? (int)((wait + 999) / 1000) : 1;
	l->inquiry.drafts = live_is_drafting(l);
	if (l->dialog.asked && !l->dialog.edits && most < LEAST_AROUND)
		compose_compact(l, most, out, caret);
	else if (l->inquiry.asked)
		compose_inquiry(l, most, out, caret);
	else
		compose_editor(l, most, out, caret);
}

/* Returns the id of the call that the open question shows, of several the
 * first, or NULL. */
static const char *shown_call(const struct live *l)
{
	const struct question *q = l->dialog.asked;

	return q && !q->list[0]->subagent ? q->list[0]->call->id : NULL;
}

void live_draw(struct live *l)
{
	struct rows bottom = { 0 };
	size_t most = screen_live_rows(&l->screen);
	size_t caret[2] = { 0, 0 };

	if (l->lent)
		return;
	rows_clear(&l->live);
	compose_bottom(l, most, &bottom, caret);
	if (bottom.n < most)
		transcript_live(&l->transcript, most - bottom.n,
				live_is_asked(l) ? TOOLVIEW_ASKED : clock_ms(),
				shown_call(l), &l->live);
	rows_close(&l->live);
	if (caret[0] != SIZE_MAX)
		caret[0] += l->live.n;
	rows_append(&l->live, &bottom, 0, bottom.n);
	screen_live(&l->screen, &l->live, caret[0], caret[1]);
	rows_release(&bottom);
}

int64_t live_redraw_at(const struct live *l)
{
	if (l->lent)
		return INT64_MAX;
	return l->state == LIVE_IDLE ? next_status_change(l)
				     : next_animation_time(l);
}

enum { USAGE_MOST = 1 << 14 };

static struct external lend_screen(struct live *l)
{
	restore_streams(l);
	return (struct external){ l->run->app, l->printed.real[0],
				  l->printed.real[1] };
}

void elsewhere_edit(struct live *l)
{
	struct buf draft = BUF_INIT(EXTERNAL_MOST);
	struct buf edited = BUF_INIT(EXTERNAL_MOST);
	struct error err = { 0 };
	struct external x;
	struct str text;

	editor_text(&l->editor, &draft);
	x = lend_screen(l);
	if (external_edit(&x, ".md", buf_str(&draft), &edited, &err) == 0) {
		text = buf_str(&edited);
		/* Remove the line end that the editor program added. */
		text.len -= str_ends(text, "\n");
		editor_set(&l->editor, text);
	}
	screen_resume(&l->screen);
	if (err.code)
		(void)app_fail(l->run->app, &err);
	buf_release(&draft);
	buf_release(&edited);
}

bool elsewhere_edit_text(struct live *l, struct buf *text)
{
	struct external x = lend_screen(l);
	bool changed = external_edit_text(&x, text);

	screen_resume(&l->screen);
	return changed;
}

enum { NOT_FOUND = 127 }; /* exit status of sh */

/* Shows rows in the user's pager, which gets the terminal until it exits.
 * Returns false if there is none. */
static bool page_rows(struct live *l, const struct rows *rows)
{
	struct buf text = BUF_INIT(ROWS_MAX_BYTES);
	struct theme theme = l->theme;
	struct error err = { 0 };
	struct external x;
	bool colours;
	int status = 0;
	char *line = pager_line("less -R", &colours);
	char *name;

	if (!line)
		return false;
	theme.links = false; /* few pagers support links */
	for (size_t i = 0; i < rows->n; i++) {
		if (colours)
			theme_row(&theme, rows, i, SIZE_MAX, &text);
		else
			buf_addstr(&text, rows_view(rows, i).bytes);
		buf_addc(&text, '\n');
	}
	name = external_file(l->run->app, ".txt", buf_str(&text), &err);
	x = lend_screen(l);
	if (name)
		status = external_run(&x, line, name, &err);
	screen_resume(&l->screen);
	/* without $PAGER, a missing `less` is not a failure */
	if (status > 0 && (status != NOT_FOUND || getenv("PAGER")))
		error_set(&err, ERR_REMOTE, "the pager exited with status %d",
			  status);
	if (err.code)
		(void)app_fail(l->run->app, &err);
	if (name)
		(void)unlink(name);
	free(name);
	free(line);
	buf_release(&text);
	return status != NOT_FOUND;
}

void elsewhere_show_rows(struct live *l, struct rows *rows)
{
	rows_close(rows);
	if (!page_rows(l, rows))
		live_print_rows(l, rows);
}

void elsewhere_show_page(struct live *l, const struct manual_page *page)
{
	const struct manual_look look = { &l->theme, screen_columns(&l->screen),
					  "/help" };
	struct buf usage = BUF_INIT(USAGE_MOST);
	struct rows rows = { 0 };

	slash_add_usage(l->run->app, page->name, look.columns, &usage);
	rows_add(&rows, (struct style){ 0 }, buf_str(&usage));
	if (usage.len)
		rows_end(&rows);
	manual_render(page, &look, &rows);
	rows_close(&rows);
	if (screen_height(&l->screen, &rows, 0, rows.n) >
	    screen_live_rows(&l->screen))
		elsewhere_show_rows(l, &rows);
	else
		live_print_rows(l, &rows);
	rows_release(&rows);
	buf_release(&usage);
}
