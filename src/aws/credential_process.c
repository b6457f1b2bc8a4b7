/* credential_process.c - credential_process: a program that prints a key. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "aws/credentials.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/str.h"

enum {
	PROCESS_MS = 60000,
	OUTPUT_MAX = 64 << 10,
	WORDS_MAX = 256,
};

struct word_scan {
	struct str rest;
	struct buf word;
	bool open; /* a quote is */
};

/* Takes a quoted part, whose quote has been taken. */
static void take_quoted(struct word_scan *s, char quote)
{
	s->open = true;
	while (s->rest.len && s->open) {
		char c = s->rest.ptr[0];
		char next = s->rest.len > 1 ? s->rest.ptr[1] : '\0';

		s->rest = str_skip(s->rest, 1);
		if (c == quote) {
			s->open = false;
			continue;
		}
		if (c == '\\' && quote == '"' &&
		    (next == '"' || next == '\\')) {
			c = next;
			s->rest = str_skip(s->rest, 1);
		}
		buf_addc(&s->word, c);
	}
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The next word into s->word; false when there is none. */
static bool take_word(struct word_scan *s)
{
	bool any = false;

	buf_clear(&s->word);
	s->rest = str_trim(s->rest);
	while (s->rest.len && !is_space(s->rest.ptr[0])) {
		char c = s->rest.ptr[0];

		any = true;
		s->rest = str_skip(s->rest, 1);
		if (c == '\'' || c == '"') {
			take_quoted(s, c);
			continue;
		}
		if (c == '\\' && s->rest.len) {
			c = s->rest.ptr[0];
			s->rest = str_skip(s->rest, 1);
		}
		buf_addc(&s->word, c);
	}
	return any;
}

char **aws_words(struct str line)
{
	struct word_scan s = { .rest = line, .word = BUF_INIT(line.len + 1) };
	char **words = xcalloc(WORDS_MAX + 1, sizeof(*words));
	size_t n = 0;

	while (n < WORDS_MAX && take_word(&s))
		words[n++] = xstrndup(s.word.ptr ? s.word.ptr : "", s.word.len);
	if (!n || s.open || str_trim(s.rest).len) {
		aws_words_free(words);
		words = NULL;
	}
	buf_wipe(&s.word);
	return words;
}

void aws_words_free(char **words)
{
	for (size_t i = 0; words && words[i]; i++)
		free(words[i]);
	free(words);
}

struct program {
	char *path;       /* owned */
	char *const *env; /* borrowed */
};

static int find(const char *name, struct program *p, struct error *err)
{
	const char *path = NULL;

	for (size_t i = 0; p->env[i]; i++)
		if (strncmp(p->env[i], "PATH=", 5) == 0)
			path = p->env[i] + 5;
	p->path = strchr(name, '/') ? xstrdup(name) : proc_find(name, path);
	if (p->path && *p->path == '/')
		return 0;
	return error_set(
		err, ERR_CONFIG,
		"unknown program (use an absolute path, or a name on PATH)");
}

int aws_process(const char *line, char *const *env, struct aws_credentials *c,
		const struct stop *stop, struct error *err)
{
	struct stop within = stop_within(stop, PROCESS_MS);
	struct buf out = BUF_INIT(OUTPUT_MAX);
	char **words = aws_words(str_of(line));
	struct program program = { NULL, env };
	int rc;

	if (!words)
		return error_set(err, ERR_CONFIG,
				 "credential_process is not a command line");
	rc = find(words[0], &program, err);
	if (rc == 0)
		rc = proc_output(program.path, words, env, &out, &within, err);
	if (rc > 0)
		rc = error_set(err, ERR_AUTH, "it exited with status %d", rc);
	if (rc < 0 && err->code == ERR_TIMEOUT && clock_ms() < stop->deadline)
		error_set(err, ERR_AUTH, "no answer within %d s",
			  PROCESS_MS / 1000);
	if (rc == 0)
		rc = aws_take_json(buf_str(&out), "SessionToken", "its output",
				   c, err);
	if (rc < 0 && err->code != ERR_CANCELLED)
		error_wrap(err, "credential_process %.60s", words[0]);
	aws_words_free(words);
	free(program.path);
	buf_wipe(&out);
	return rc;
}
