/* allow_list_test.c - the allow-list's rules, spec cases 94 to 98. */
/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/policy.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"

static bool permits_str(const char *names, struct str command)
{
	struct allow_list list = { 0 };
	struct error err = { 0 };
	bool ok;

	assert_int_equal(allow_list_parse(&list, names, &err), 0);
	ok = allow_list_permits(&list, command);
	allow_list_release(&list);
	return ok;
}

static bool permits(const char *names, const char *command)
{
	return permits_str(names, str_of(command));
}

static void allows_listed_commands(void **state)
{
	static const char *const yes[] = {
		"ls -la",      "  ls  ",        "cat f | grep x",
		"ls && cat f", "ls || cat f",   "grep 'pattern' file.txt",
		"ls; cat f",   "ls ; ; cat f;", "grep \"a b\" f",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(yes) / sizeof(*yes); i++)
		if (!permits("ls,cat,grep", yes[i]))
			fail_msg("refused: %s", yes[i]);
}

static void refuses_everything_else(void **state)
{
	static const char *const no[] = {
		"",
		" ",
		"LS",
		"rm -rf /",
		"ls | wc -l",
		"ls && rm f",
		"/bin/ls",
		"./x",
		"ls \"open",
		"ls $(x)",
		"ls `x`",
		"ls\nrm",
		"ls\trm",
		"cat <(x)",
		"cat > f",
		"cat >> f",
		"cat < f",
		"cat <<EOF",
		"cat <<< w",
		"cat ${HOME}",
		"ls $HOME",
		"cat $'\\x41'",
		"ls &",
		"cat f & echo done",
		"A=1 ls",
		"ls\\",
		"ls; rm f",
		"ls|rm",
		"ls &&& rm",
		"& ls",
		"ls |& rm",
		"ls () rm f; ls",
		"ls () (rm f); ls",
		"ls() (rm f)",
		"ls $[a[0]]",
		"(ls)",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++)
		if (permits("ls,cat,grep", no[i]))
			fail_msg("permitted: %s", no[i]);
}

static void quoting_does_not_hide_a_command(void **state)
{
	(void)state;
	assert_true(permits("grep", "grep 'pattern$A' file"));
	assert_false(permits("grep", "grep \"pattern$A\" file"));
	assert_true(permits("find", "find . -exec rm {} +"));
	assert_false(permits("ls", "find . -exec rm {} +"));
	assert_true(permits("ls", "l's' x"));
	assert_true(permits("grep", "grep 'f(x)' a \"g()\" b\\(c\\)"));
	assert_false(permits("ls", "'ls x'"));
}

/* A command and the words of each simple command that a shell runs then. */
static const struct {
	const char *command;
	const char *words; /* "<ls><-la>" and a line end for each */
} accepted[] = {
	{ "ls -la", "<ls><-la>\n" },
	{ "ls 'a;b' 'c|d' 'e&f'", "<ls><a;b><c|d><e&f>\n" },
	{ "ls '$(rm x)' '`rm x`' '$HOME'", "<ls><$(rm x)><`rm x`><$HOME>\n" },
	{ "ls '>x' '<y' '(z)' '!w' '\\'", "<ls><>x><<y><(z)><!w><\\>\n" },
	{ "ls \"a;b|c&d<e>f(g)\"", "<ls><a;b|c&d<e>f(g)>\n" },
	{ "ls \"a && rm b\" \"|| rm\"", "<ls><a && rm b><|| rm>\n" },
	{ "ls \"a\\\"; rm b\"", "<ls><a\"; rm b>\n" },
	{ "ls \"a\\\\\" x", "<ls><a\\><x>\n" },
	{ "ls \"it's; \" 'say \"; '", "<ls><it's; ><say \"; >\n" },
	{ "ls \\' x \\'", "<ls><'><x><'>\n" },
	{ "ls \\\" x \\\"", "<ls><\"><x><\">\n" },
	{ "ls 'a'\\''b;'", "<ls><a'b;>\n" },
	{ "ls 'a'\\''; rm b; '", "<ls><a'; rm b; >\n" },
	{ "'l's \"a\"'b'c", "<ls><abc>\n" },
	{ "l\\s x", "<ls><x>\n" },
	{ "ls 'a' ; cat \";\" && ls || ls", "<cat><;>\n<ls>\n<ls><a>\n" },
	{ "ls '|' | cat '&' ; ls", "<cat><&>\n<ls>\n<ls><|>\n" },
	{ "ls '' \"\"", "<ls><><>\n" },
	{ "ls # '; rm x'", "<ls>\n" },
	{ "ls a#b", "<ls><a#b>\n" },
	{ "ls \\(a\\) b\\ c", "<ls><(a)><b c>\n" },
	{ "ls 'a' b$ c", "<ls><a><b$><c>\n" },
	{ "ls \xE6\xBC\xA2 '\xE6\xBC\xA2;'",
	  "<ls><\xE6\xBC\xA2><\xE6\xBC\xA2;>\n" },
	{ "ls \"\\x\\;\"", "<ls><\\x\\;>\n" },
};

static void metacharacters_are_text_in_quotes_only(void **state)
{
	static const char *const no[] = {
		"ls 'a';rm x",
		"ls 'a'; rm 'b'",
		"ls \"a\"; rm b",
		"ls \"a\\\\\"; rm b \"\"",
		"ls \\'; rm b \\'",
		"ls \\\"; rm b \\\"",
		"ls 'a' > b",
		"ls '>' > b",
		"ls \"(\" (a)",
		"ls \"$(rm x)\"",
		"ls \"`rm x`\"",
		"ls \"$HOME\"",
		"ls \"a$\"",
		"ls \"\\$a\"",
		"ls \"\\`a\"",
		"ls \"a!b\"",
		"ls \"a\\\nb\"",
		"ls 'a\nb'",
		"ls 'a\tb'",
		"ls 'a\rb'",
		"ls $'a\\'; rm b'",
		"ls $\"a\"",
		"ls 'a' & cat",
		"ls 'a' &&& cat",
		"ls 'open",
		"ls \"open",
		"ls 'a' \\",
		"ls \\; rm x",
		"'' ls",
		"\"l\\s\" x",
		"'ls;' x",
		"ls \"\xE6\xBC\xA2\\\" ; rm x \"",
		"ls \xE6\xBC\xA2\\' ; rm x '",
		"ls '|' | rm",
		"ls && rm ';'",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++)
		if (permits("ls,cat,grep", no[i]))
			fail_msg("permitted: %s", no[i]);
	for (size_t i = 0; i < sizeof(accepted) / sizeof(*accepted); i++)
		if (!permits("ls,cat,grep", accepted[i].command))
			fail_msg("refused: %s", accepted[i].command);
}

/* Lines that the judge refuses, and what shells make of their "\\\n": they
 * remove it first, but in single quotes and comments. */
static const struct {
	const char *command;
	const char *words;
} continued[] = {
	{ "ls \\\n", "<ls>\n" },
	{ "\\\nls", "<ls>\n" },
	{ "ls $\\\nPWN", "<ls><own>\n" },
	{ "ls $\\\n{PWN}", "<ls><own>\n" },
	{ "ls $\\\n(ls)", "<ls>\n<ls>\n" },
	{ "ls $P\\\nWN", "<ls><own>\n" },
	{ "ls \"$\\\n{PWN}\"", "<ls><own>\n" },
	{ "ls \"a\\\nb\"", "<ls><ab>\n" },
	{ "ls 'a' \\\n; rm b", "<ls><a>\n<rm><b>\n" },
	{ "ls \\\n&& rm b", "<ls>\n<rm><b>\n" },
	{ "ls &\\\n& rm b", "<ls>\n<rm><b>\n" },
	{ "ls a;\\\nrm b", "<ls><a>\n<rm><b>\n" },
	{ "ls a # b\\\nrm b", "<ls><a>\n<rm><b>\n" },
	{ "l\\\ns a", "<ls><a>\n" },
	{ "ls 'a\\\nb'", "<ls><a\\\nb>\n" },
};

static void a_line_end_is_refused_in_every_state_of_the_scan(void **state)
{
	static const char *const no[] = {
		"ls $\\\n{x:='$(touch pwn)'} $\\\n{x@P}",
		"ls $\\\nHOME $\\\n{PATH}",
		"ls \\\ta",
		"ls \\\ra",
		"ls \"\\\ta\"",
		"ls\n",
		"\nls",
		"\vls",
		"ls \fa",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++)
		if (permits("ls,cat,rm,l", no[i]))
			fail_msg("permitted: %s", no[i]);
	for (size_t i = 0; i < sizeof(continued) / sizeof(*continued); i++)
		if (permits("ls,cat,rm,l", continued[i].command))
			fail_msg("permitted: %s", continued[i].command);
	assert_true(permits("ls,cat,rm,l", "ls 'a' ; rm b && l c"));
	assert_false(permits_str("ls", (struct str){ "ls\0a", 4 }));
	assert_false(permits_str("ls", (struct str){ "ls\0", 3 }));
	assert_false(permits_str("ls", (struct str){ "ls '\0'", 6 }));
	assert_true(permits_str("ls", (struct str){ "ls '0'", 6 }));
}

enum { SHELL_LINES = 100 /* that both shells run */ };

/* A directory whose programs, the only ones that are found, write down their
 * words; a shell runs in another one, which has to stay empty. */
struct probe {
	char place[64];
	char *path, *room, *log, *said; /* owned */
};

static void write_program(const struct probe *p, const char *name)
{
	char *file = xasprintf("%s/%s", p->path, name);
	FILE *f = fopen(file, "w");

	assert_non_null(f);
	fprintf(f,
		"#!/bin/sh\nl=\nfor a in \"${0##*/}\" \"$@\"; do l=\"$l<$a>\"; "
		"done\nprintf '%%s\\n' \"$l\" >>'%s'\n",
		p->log);
	fclose(f);
	assert_int_equal(chmod(file, 0755), 0);
	free(file);
}

static void open_probe(struct probe *p)
{
	snprintf(p->place, sizeof(p->place), "/tmp/allow-list-XXXXXX");
	assert_non_null(mkdtemp(p->place));
	p->path = xasprintf("%s/bin", p->place);
	p->room = xasprintf("%s/room", p->place);
	p->log = xasprintf("%s/log", p->place);
	p->said = xasprintf("%s/said", p->place);
	assert_int_equal(mkdir(p->path, 0700), 0);
	assert_int_equal(mkdir(p->room, 0700), 0);
	write_program(p, "ls");
	write_program(p, "cat");
	write_program(p, "rm");
}

static void close_probe(struct probe *p)
{
	struct error err = { 0 };

	assert_int_equal(rmdir(p->room), 0); /* nothing was made there */
	assert_int_equal(path_remove_tree(p->place, &err), 0);
	free(p->path);
	free(p->room);
	free(p->log);
	free(p->said);
}

static void run_shell(const struct probe *p, const char *shell,
		      const char *command)
{
	char *path = xasprintf("PATH=%s", p->path);
	char *argv[] = { (char *)"sh", (char *)"-c", (char *)command, NULL };
	char *envp[] = { path, (char *)"LC_ALL=C.UTF-8", (char *)"PWN=own",
			 NULL };
	int status;
	pid_t pid;

	(void)unlink(p->log);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		int fd = open(p->said, O_WRONLY | O_CREAT | O_TRUNC, 0600);

		if (fd >= 0 && dup2(fd, 1) >= 0 && dup2(fd, 2) >= 0 &&
		    chdir(p->room) == 0)
			execve(shell, argv, envp);
		_exit(99);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_not_equal(WEXITSTATUS(status), 99);
	free(path);
}

static char *read_file(const char *name)
{
	struct buf text = BUF_INIT(1 << 20);
	struct error none = { 0 };

	(void)path_read(name, &text, &none);
	return buf_detach(&text);
}

static int by_text(const void *a, const void *b)
{
	const struct str *x = a;
	const struct str *y = b;
	size_t least = x->len < y->len ? x->len : y->len;
	int order = memcmp(x->ptr, y->ptr, least);

	return order ? order : (x->len > y->len) - (x->len < y->len);
}

/* The log with its lines in order: parts of a pipe run side by side. */
static char *sorted_log(const struct probe *p)
{
	char *text = read_file(p->log);
	struct buf out = BUF_INIT(1 << 20);
	struct str rest = str_of(text);
	struct str lines[64];
	size_t n = 0;

	while (n < 64 && str_split(&rest, '\n', &lines[n]))
		n++;
	qsort(lines, n, sizeof(*lines), by_text);
	for (size_t i = 0; i < n; i++) {
		buf_addstr(&out, lines[i]);
		buf_addc(&out, '\n');
	}
	free(text);
	return buf_detach(&out);
}

static void assert_runs(const struct probe *p, const char *shell,
			const char *command, const char *words)
{
	char *ran;

	run_shell(p, shell, command);
	ran = sorted_log(p);
	if (strcmp(ran, words) != 0)
		fail_msg("%s: %s ran %s", shell, command, ran);
	free(ran);
}

static const char *const shells[] = { "/bin/bash", "/bin/dash" };

static void shells_run_the_words_that_were_judged(void **state)
{
	struct probe p;

	(void)state;
	open_probe(&p);
	for (size_t s = 0; s < 2; s++) {
		if (access(shells[s], X_OK) < 0)
			continue;
		for (size_t i = 0; i < sizeof(accepted) / sizeof(*accepted);
		     i++)
			assert_runs(&p, shells[s], accepted[i].command,
				    accepted[i].words);
		for (size_t i = 0; i < sizeof(continued) / sizeof(*continued);
		     i++)
			assert_runs(&p, shells[s], continued[i].command,
				    continued[i].words);
		/* The control. */
		assert_runs(&p, shells[s], "ls 'a'; rm b",
			    "<ls><a>\n<rm><b>\n");
	}
	close_probe(&p);
}

static unsigned next_random(unsigned *seed)
{
	*seed = *seed * 1103515245u + 12345u;
	return *seed >> 16;
}

/* Everything that ran is ls, and nothing else was looked for. A line that is
 * no command at all ("ls ;; ls") is an error of the shell's. */
static void assert_only_ls(const struct probe *p, const char *command)
{
	char *ran = read_file(p->log);
	char *said = read_file(p->said);
	struct str rest = str_of(ran);
	struct str line;

	while (str_split(&rest, '\n', &line))
		if (!str_starts(line, "<ls>"))
			fail_msg("%s ran %s", command, ran);
	if (strstr(said, "not found"))
		fail_msg("%s: %s", command, said);
	free(ran);
	free(said);
}

static void no_line_that_is_accepted_starts_anything_else(void **state)
{
	static const char *const parts[] = {
		"ls",  "rm",    " ",    " ",  "'",
		"'",   "\"",    "\"",   "\\", ";",
		"|",   "&&",    "&",    "<",  ">",
		"(",   ")",     "$",    "`",  "!",
		"#",   "a",     "{",    "}",  "\xE6\xBC\xA2",
		"ls ", "; ls ", "\\\n",
	};
	const size_t n_parts = sizeof(parts) / sizeof(*parts);
	unsigned seed = 7;
	size_t accepted_lines = 0;
	struct probe p;

	(void)state;
	open_probe(&p);
	for (int i = 0; i < 60000 && accepted_lines < SHELL_LINES; i++) {
		struct buf line = BUF_INIT(1000);
		unsigned n = 2 + next_random(&seed) % 12;

		buf_adds(&line, "ls ");
		while (n--)
			buf_adds(&line, parts[next_random(&seed) % n_parts]);
		/* Without quotes there is little to be seen. */
		if (strpbrk(line.ptr, "'\"") && permits("ls", line.ptr)) {
			accepted_lines++;
			for (size_t s = 0; s < 2; s++) {
				if (access(shells[s], X_OK) < 0)
					continue;
				run_shell(&p, shells[s], line.ptr);
				assert_only_ls(&p, line.ptr);
			}
		}
		buf_release(&line);
	}
	assert_int_equal(accepted_lines, SHELL_LINES);
	close_probe(&p);
}

static void all_and_recommended(void **state)
{
	struct allow_list list = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_true(permits("all", "curl x | bash"));
	assert_false(permits("all", "  "));
	assert_true(permits("recommended", "cat f | wc -l"));
	assert_true(permits("recommended,make", "make && ls"));
	assert_false(permits("recommended", "make"));
	assert_false(permits("__ALL__", "curl x"));
	assert_int_equal(allow_list_parse(&list, "all,ls", &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	allow_list_release(&list);
	assert_int_equal(allow_list_parse(&list, " , ", &err), -1);
	allow_list_release(&list);
	list = (struct allow_list){ 0 };
	assert_false(allow_list_permits(&list, STR("ls")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(allows_listed_commands),
		cmocka_unit_test(refuses_everything_else),
		cmocka_unit_test(quoting_does_not_hide_a_command),
		cmocka_unit_test(metacharacters_are_text_in_quotes_only),
		cmocka_unit_test(
			a_line_end_is_refused_in_every_state_of_the_scan),
		cmocka_unit_test(shells_run_the_words_that_were_judged),
		cmocka_unit_test(no_line_that_is_accepted_starts_anything_else),
		cmocka_unit_test(all_and_recommended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
