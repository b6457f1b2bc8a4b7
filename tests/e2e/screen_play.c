/* screen_play.c - drives struct screen by the commands of a test. */
/* SPDX-License-Identifier: MIT */
/*
 * screen_play COMMANDS REPLIES   two FIFOs; each command is a line:
 *   print TEXT       rows of the transcript, wrapped at the columns
 *   soft TEXT        a row that the terminal wraps
 *   hex HEX          the same of any bytes; hexlive HEX in the live part
 *   live N ROW COLUMN  the live part is the next N lines, each cut where it is
 *                    wider than the screen; ROW -1 hides the caret
 *   flush            until all is out; says the columns and lines
 *   size C L         waits until the terminal says this size, then flush
 *   once             one screen_flush(); says what it returned
 *   suspend, resume, stop, close, abort, segv, exit, wait
 * screen_play                    says the cells of each line of its input
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/stop.h"
#include "base/str.h"
#include "term/rows.h"
#include "term/screen.h"

static const struct style plain;
static struct screen screen;
static struct rows wanted; /* live rows before they are cut */
static size_t caret_row, caret_column;
static FILE *commands;

static void set_live(void)
{
	struct rows cut = { 0 };

	for (size_t i = 0; i < wanted.n; i++) {
		struct str text = rows_view(&wanted, i).bytes;

		text.len = width_prefix(text, screen_columns(&screen));
		rows_add(&cut, (struct style){ 0, i % N_STYLES }, text);
		rows_end(&cut);
	}
	screen_live(&screen, &cut, caret_row, caret_column);
	rows_release(&cut);
}

static int flush(void)
{
	int64_t end = clock_ms() + 20000;
	struct pollfd fds[2];
	bool resized;
	int rc;

	while ((rc = screen_flush(&screen, &resized)) == 1 || resized) {
		int64_t now = clock_ms();
		int64_t until = screen_wait(&screen, fds);

		if (resized)
			set_live();
		if (now > end)
			break;
		until = until < end ? until : end;
		(void)poll(fds, 2, until > now ? (int)(until - now) : 0);
	}
	return rc;
}

static void print(struct str text, bool soft)
{
	struct wrap w = { .columns = screen_columns(&screen), .soft = soft };
	struct rows in = { 0 };
	struct rows out = { 0 };

	rows_add(&in, (struct style){ 0, STYLE_ADDED }, text);
	rows_end(&in);
	wrap_rows(&in, &w, &out);
	screen_print(&screen, &out, 0, out.n);
	rows_release(&in);
	rows_release(&out);
}

static struct str unhex(char *hex)
{
	size_t n = 0;
	unsigned byte;

	for (char *p = hex; sscanf(p, "%2x", &byte) == 1; p += 2)
		hex[n++] = (char)byte;
	return (struct str){ hex, n };
}

static void read_live(const char *arguments)
{
	static char line[100000];
	long row = -1;
	long column = 0;
	size_t n = 0;

	(void)sscanf(arguments, "%zu %ld %ld", &n, &row, &column);
	rows_clear(&wanted);
	while (n-- && fgets(line, sizeof(line), commands))
		rows_add(&wanted, plain, str_of(line));
	caret_row = row < 0 ? SIZE_MAX : (size_t)row;
	caret_column = (size_t)column;
	set_live();
}

static void await_size(const char *arguments)
{
	size_t columns = 0;
	size_t lines = 0;
	size_t now[2];

	(void)sscanf(arguments, "%zu %zu", &columns, &lines);
	for (int i = 0; i < 1000; i++) {
		(void)tty_size(&screen.tty, &now[0], &now[1]);
		if (now[0] == columns && now[1] == lines)
			return;
		usleep(10000);
	}
}

static int run(const char *name, char *rest)
{
	if (!strcmp(name, "print"))
		print(str_of(rest), false);
	else if (!strcmp(name, "soft"))
		print(str_of(rest), true);
	else if (!strcmp(name, "hex"))
		print(unhex(rest), false);
	else if (!strcmp(name, "hexlive")) {
		rows_clear(&wanted);
		rows_add(&wanted, plain, unhex(rest));
		rows_close(&wanted);
		set_live();
	} else if (!strcmp(name, "live"))
		read_live(rest);
	else if (!strcmp(name, "size"))
		await_size(rest);
	else if (!strcmp(name, "once"))
		return screen_flush(&screen, NULL);
	else if (!strcmp(name, "suspend"))
		screen_suspend(&screen);
	else if (!strcmp(name, "resume"))
		screen_resume(&screen);
	else if (!strcmp(name, "stop"))
		screen_stop(&screen);
	else if (!strcmp(name, "close"))
		screen_close(&screen);
	else if (!strcmp(name, "abort"))
		abort();
	else if (!strcmp(name, "segv"))
		*(volatile int *)16 = 1;
	else if (!strcmp(name, "exit"))
		exit(0);
	if (!strcmp(name, "flush") || !strcmp(name, "size"))
		return flush();
	return 0;
}

static int say_widths(void)
{
	char line[100];

	while (fgets(line, sizeof(line), stdin)) {
		struct str text = { line, strcspn(line, "\n") };

		printf("%zu\n", width_cells(text));
	}
	return 0;
}

int main(int argc, char **argv)
{
	static char line[2000000];
	struct theme theme;
	struct error err = { 0 };
	FILE *replies;

	if (argc != 3)
		return say_widths();
	commands = fopen(argv[1], "r");
	replies = fopen(argv[2], "w");
	theme_init(&theme);
	if (!commands || !replies ||
	    screen_open(&screen, 0, 1, &theme, &err) < 0)
		return 1;
	while (fgets(line, sizeof(line), commands)) {
		char *rest = line + strcspn(line, " \n");
		int rc;

		line[strcspn(line, "\n")] = '\0';
		if (*rest)
			*rest++ = '\0';
		rc = run(line, rest);
		fprintf(replies, "%d %zu %zu %zu\n", rc, screen.columns,
			screen.lines, screen_backlog(&screen));
		fflush(replies);
	}
	return 0;
}
