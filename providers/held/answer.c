/* answer.c - answers, picked out of what a held stream's program writes. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "base/stop.h"
#include "base/str.h"
#include "providers/held/link.h"

enum { MARK_MAX = 64 /* bytes of a line that begins or ends an answer */ };

static struct link_call *find_call(struct link *l, const char *id)
{
	struct link_call *c = l->calls;

	while (c && strcmp(c->id, id) != 0)
		c = c->next;
	return c;
}

static void add_body(struct link *l, struct str bytes)
{
	struct link_call *c = find_call(l, l->body_id);

	if (!c)
		return;
	buf_addstr(c->out, bytes);
	c->over = c->over || c->out->over;
}

/* Takes the line that is at the front of held: "@held:ID:WORD". False when it
 * is none. */
static bool parse_mark(struct link *l, struct str line, struct str *id,
		       struct str *word)
{
	(void)l;
	if (!str_starts(line, "@held:") || line.len > MARK_MAX)
		return false;
	line = str_skip(line, strlen("@held:"));
	return str_split(&line, ':', id) && id->len == LINK_ID &&
	       str_split(&line, ':', word) && !line.len;
}

/* False. */
static bool refuse(struct link *l, enum err code, const char *reason)
{
	l->refused = true;
	error_set(&l->why, code, "the connection to %s: %s", l->program->name,
		  reason);
	link_break(l, reason);
	return false;
}

/* A login that never ends to print will do so the next time, too. */
static bool refuse_noise(struct link *l)
{
	return refuse(l, l->state == LINK_STARTING ? ERR_CONFIG : ERR_NETWORK,
		      "it writes something that is not an answer");
}

/* What the loop says instead of "ready". */
static bool refuse_loop(struct link *l, struct str word)
{
	char reason[MARK_MAX + 32];

	if (!str_starts(word, "lacks-"))
		return refuse(l, ERR_CONFIG, "no writable directory there");
	word = str_skip(word, strlen("lacks-"));
	(void)snprintf(reason, sizeof(reason),
		       "there is no program %.*s in the PATH there",
		       (int)word.len, word.ptr);
	return refuse(l, ERR_CONFIG, reason);
}

/* A line outside of answers. */
static bool feed_line(struct link *l, struct str line)
{
	struct str id = { 0 };
	struct str word = { 0 };
	bool mark = parse_mark(l, line, &id, &word);

	if (mark && str_is(id, l->nonce) && l->state == LINK_STARTING) {
		if (!str_is(word, "ready"))
			return refuse_loop(l, word);
		l->state = LINK_READY;
		l->was_ready = true;
		l->noise = 0;
		buf_clear(&l->tail); /* what is said of the login */
		buf_addstr(&l->queue, buf_str(&l->waiting));
		buf_clear(&l->waiting);
		return true;
	}
	if (mark && str_is(word, "begin")) {
		memcpy(l->body_id, id.ptr, LINK_ID);
		l->body = true;
		l->body_began = clock_ms();
		l->noise = 0;
		return true;
	}
	if (l->state == LINK_STARTING) {
		if (str_starts(line, "held_nonce="))
			return refuse(l, ERR_CONFIG,
				      "not a shell: what was started there "
				      "echoes its input");
		link_keep_tail(&l->prelude, line);
		link_keep_tail(&l->prelude, STR("\n"));
	}
	l->noise += line.len + 1;
	if (l->noise <= LINK_NOISE)
		return true;
	return refuse_noise(l);
}

/* Between begin and end: passes on what is certainly no end. True when the end
 * has come. */
static bool feed_body(struct link *l)
{
	char end[MARK_MAX];
	struct str all = buf_str(&l->held);
	struct link_call *c;
	size_t at;

	(void)snprintf(end, sizeof(end), "\n@held:%s:end\n", l->body_id);
	at = str_search(all, str_of(end));
	if (at == all.len) {
		size_t keep = strlen(end) - 1;

		if (all.len > keep) {
			add_body(l, (struct str){ all.ptr, all.len - keep });
			buf_consume(&l->held, all.len - keep);
		}
		return false;
	}
	add_body(l, (struct str){ all.ptr, at });
	buf_consume(&l->held, at + strlen(end));
	c = find_call(l, l->body_id);
	if (c) {
		c->done = true;
		link_poke(c->event);
	}
	l->body = false;
	return true;
}

bool link_feed(struct link *l, struct str bytes)
{
	buf_addstr(&l->held, bytes);
	for (;;) {
		struct str all = buf_str(&l->held);
		size_t n;

		if (l->body) {
			if (!feed_body(l))
				return true;
			continue;
		}
		n = str_find(all, '\n');
		if (n == all.len)
			break;
		if (!feed_line(l, (struct str){ all.ptr, n }))
			return false;
		buf_consume(&l->held, n + 1);
	}
	/* A line of noise without an end. */
	if (l->held.len > LINK_NOISE)
		return refuse_noise(l);
	return true;
}
