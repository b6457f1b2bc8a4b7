/* think_tags.c - thinking that a model writes into its answer. */
/* SPDX-License-Identifier: MIT */
/* <think>: DeepSeek-R1, Qwen3, QwQ, GLM, MiniMax (their chat templates on
 * Hugging Face; Aider-AI/aider issue 5397); <thinking>: Claude 3 Opus before it
 * calls tools; [THINK]: Mistral's Magistral (its model card). Read 2026-11-26.
 */
#include "model/think_tags.h"

#include <stdint.h>
#include <string.h>

#include "base/str.h"

static const struct {
	const char *open, *close;
} tags[] = {
	{ "<think>", "</think>" },
	{ "<thinking>", "</thinking>" },
	{ "[THINK]", "[/THINK]" },
};

enum { N_TAGS = sizeof(tags) / sizeof(tags[0]) };

static struct str skip_space(struct str s)
{
	while (s.len && strchr(" \t\r\n", s.ptr[0]))
		s = str_skip(s, 1);
	return s;
}

/* Whether s is a part of a tag that is still to come. */
static bool may_open(struct str s)
{
	for (size_t i = 0; i < N_TAGS; i++)
		if (s.len < strlen(tags[i].open) &&
		    (!s.len || memcmp(tags[i].open, s.ptr, s.len) == 0))
			return true;
	return false;
}

/* Takes an opening tag off the front. */
static bool take_open(struct think_tags *t, struct str *s)
{
	for (size_t i = 0; i < N_TAGS; i++) {
		if (!str_starts(*s, tags[i].open))
			continue;
		t->tag = i;
		*s = str_skip(*s, strlen(tags[i].open));
		return true;
	}
	return false;
}

/* Bytes at the end of s that may begin the closing tag. */
static size_t half_close(struct str s, const char *close)
{
	size_t n = strlen(close) - 1;

	if (n > s.len)
		n = s.len;
	while (n && memcmp(s.ptr + s.len - n, close, n) != 0)
		n--;
	return n;
}

/* At the beginning, or behind a closing tag. */
static int feed_outside(struct think_tags *t, struct str *rest,
			think_tags_emit *emit, void *arg, struct error *err)
{
	struct str words = skip_space(*rest);
	struct str text = *rest;

	if (take_open(t, &words)) {
		t->at = THINK_INSIDE;
		*rest = words;
		return 0;
	}
	if (t->at == THINK_BEHIND)
		text = words; /* the line ends are the tag's */
	*rest = (struct str){ 0 };
	if (may_open(words)) {
		buf_addstr(&t->held, text);
		return 0;
	}
	t->at = THINK_OVER;
	return emit(arg, false, text, err);
}

static int feed_inside(struct think_tags *t, struct str *rest,
		       think_tags_emit *emit, void *arg, struct error *err)
{
	const char *close = tags[t->tag].close;
	size_t at = str_search(*rest, str_of(close));
	struct str words = { rest->ptr, at };

	if (at < rest->len) {
		t->at = THINK_BEHIND;
		*rest = str_skip(*rest, at + strlen(close));
	} else {
		words.len -= half_close(words, close);
		buf_addstr(&t->held, str_skip(*rest, words.len));
		*rest = (struct str){ 0 };
	}
	return words.len ? emit(arg, true, words, err) : 0;
}

int think_tags_feed(struct think_tags *t, struct str delta,
		    think_tags_emit *emit, void *arg, struct error *err)
{
	struct buf all = t->held;
	struct str rest;
	int rc = 0;

	if (t->at == THINK_OVER)
		return emit(arg, false, delta, err);
	all.max = SIZE_MAX / 2;
	buf_addstr(&all, delta);
	t->held = BUF_INIT(SIZE_MAX / 2);
	rest = buf_str(&all);
	while (rc == 0 && rest.len) {
		if (t->at == THINK_OVER) {
			rc = emit(arg, false, rest, err);
			break;
		}
		rc = t->at == THINK_INSIDE
			     ? feed_inside(t, &rest, emit, arg, err)
			     : feed_outside(t, &rest, emit, arg, err);
	}
	buf_release(&all);
	return rc;
}

int think_tags_end(struct think_tags *t, think_tags_emit *emit, void *arg,
		   struct error *err)
{
	bool inside = t->at == THINK_INSIDE;
	int rc = 0;

	t->at = THINK_OVER;
	if (t->held.len)
		rc = emit(arg, inside, buf_str(&t->held), err);
	buf_clear(&t->held);
	return rc;
}

void think_tags_release(struct think_tags *t)
{
	buf_release(&t->held);
	*t = (struct think_tags){ 0 };
}
