/* draft.c - an answer while it arrives. */
/* SPDX-License-Identifier: MIT */
/*
 * A wire (wire.h) adds each piece of an answer to a draft: draft_part() starts
 * a part (text, thinking or a call), draft_add() appends to it, draft_finish()
 * makes a message of all parts. So faults in the content of an answer are
 * handled here for all vendors: too much data, thinking inside the text (struct
 * think_tags), arguments that are not JSON (args_repair()), ids that were used
 * before.
 *
 * struct call_ids holds the ids that were used before. Each call of an answer
 * is looked up in it, so the time for that must not grow with the conversation:
 * a hash table with linear probing.
 */
#include "model/draft.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/ids.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "model/wire.h"

enum { MAX_DEPTH = 200 }; /* nesting of arrays and objects in arguments */

struct args_scan {
	const unsigned char *at, *end;
};

/* Each scan_...() parses what its name says and moves s->at past it. False if
 * it is not there. */
static bool scan_value(struct args_scan *s, int depth);

/* The set of ids that the calls of a conversation have. */

enum { ROOM_FIRST = 16 };

static uint64_t hash_of(const char *id)
{
	uint64_t hash = wire_hash_id(id);

	return hash ? hash : 1;
}

/* Returns the slot that has the hash, or the free one where it belongs. Call
 * only if there are slots. */
static uint64_t *find_slot(const struct call_ids *ids, uint64_t hash)
{
	size_t i = hash & (ids->room - 1);

	while (ids->slots[i] && ids->slots[i] != hash)
		i = (i + 1) & (ids->room - 1);
	return &ids->slots[i];
}

static void grow_table(struct call_ids *ids)
{
	struct call_ids larger = {
		.n = ids->n,
		.room = ids->room ? ids->room * 2 : ROOM_FIRST,
	};

	larger.slots = xcalloc(larger.room, sizeof(*larger.slots));
	for (size_t i = 0; i < ids->room; i++)
		if (ids->slots[i])
			*find_slot(&larger, ids->slots[i]) = ids->slots[i];
	free(ids->slots);
	*ids = larger;
}

bool call_ids_add(struct call_ids *ids, const char *id)
{
	uint64_t hash = hash_of(id);
	uint64_t *slot;

	if ((ids->n + 1) * 2 >= ids->room)
		grow_table(ids);
	slot = find_slot(ids, hash);
	if (*slot)
		return false;
	*slot = hash;
	ids->n++;
	return true;
}

bool call_ids_has(const struct call_ids *ids, const char *id)
{
	return ids->n && *find_slot(ids, hash_of(id));
}

void call_ids_release(struct call_ids *ids)
{
	free(ids->slots);
	*ids = (struct call_ids){ 0 };
}

static void skip_blanks(struct args_scan *s)
{
	while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' ||
				  *s->at == '\n' || *s->at == '\r'))
		s->at++;
}

static bool accept_char(struct args_scan *s, char c)
{
	if (s->at == s->end || *s->at != (unsigned char)c)
		return false;
	s->at++;
	return true;
}

static bool scan_word(struct args_scan *s, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(s->end - s->at) < n || memcmp(s->at, word, n) != 0)
		return false;
	s->at += n;
	return true;
}

static bool scan_digits(struct args_scan *s)
{
	const unsigned char *from = s->at;

	while (s->at < s->end && *s->at >= '0' && *s->at <= '9')
		s->at++;
	return s->at > from;
}

static bool scan_number(struct args_scan *s)
{
	(void)accept_char(s, '-'); /* optional */
	if (!accept_char(s, '0') && !scan_digits(s))
		return false;
	if (accept_char(s, '.') && !scan_digits(s))
		return false;
	if (!accept_char(s, 'e') && !accept_char(s, 'E'))
		return true;
	if (!accept_char(s, '+'))
		(void)accept_char(s, '-');
	return scan_digits(s);
}

/* Parses the four hex digits after \u; -1 if they are missing. */
static int parse_hex4(struct args_scan *s)
{
	int code = 0;

	for (int i = 0; i < 4; i++, s->at++) {
		int c = s->at < s->end ? *s->at : 0;

		if (c >= '0' && c <= '9')
			code = code * 16 + c - '0';
		else if ((c | 32) >= 'a' && (c | 32) <= 'f')
			code = code * 16 + (c | 32) - 'a' + 10;
		else
			return -1;
	}
	return code;
}

static bool scan_escape(struct args_scan *s)
{
	int code;

	if (s->at == s->end)
		return false;
	if (*s->at != 'u')
		return memchr("\"\\/bfnrt", *s->at, 8) && *s->at++;
	s->at++;
	code = parse_hex4(s);
	if (code < 0 || (code >= 0xDC00 && code <= 0xDFFF))
		return false;
	if (code < 0xD800 || code > 0xDBFF)
		return true;
	if (!scan_word(s, "\\u"))
		return false;
	code = parse_hex4(s);
	return code >= 0xDC00 && code <= 0xDFFF;
}

static bool scan_string(struct args_scan *s)
{
	if (!accept_char(s, '"'))
		return false;
	while (s->at < s->end) {
		unsigned char c = *s->at++;

		if (c == '"')
			return true;
		if (c < 0x20 || (c == '\\' && !scan_escape(s)))
			return false;
	}
	return false;
}

static bool scan_items(struct args_scan *s, char close, int depth)
{
	s->at++;
	skip_blanks(s);
	if (accept_char(s, close))
		return true;
	do {
		skip_blanks(s);
		if (close == '}') {
			if (!scan_string(s))
				return false;
			skip_blanks(s);
			if (!accept_char(s, ':'))
				return false;
		}
		if (!scan_value(s, depth + 1))
			return false;
	} while (accept_char(s, ','));
	return accept_char(s, close);
}

/* Checks one JSON value as RFC 8259 defines it. */
static bool scan_value(struct args_scan *s, int depth)
{
	bool ok;

	skip_blanks(s);
	if (s->at == s->end || depth > MAX_DEPTH)
		return false;
	switch (*s->at) {
	case '{':
		ok = scan_items(s, '}', depth);
		break;
	case '[':
		ok = scan_items(s, ']', depth);
		break;
	case '"':
		ok = scan_string(s);
		break;
	case 't':
		ok = scan_word(s, "true");
		break;
	case 'f':
		ok = scan_word(s, "false");
		break;
	case 'n':
		ok = scan_word(s, "null");
		break;
	default:
		ok = scan_number(s);
	}
	skip_blanks(s);
	return ok;
}

bool args_strict(struct str text)
{
	struct args_scan s = { 0 };

	if (!text.len || !str_is_utf8(text))
		return false;
	s.at = (const unsigned char *)text.ptr;
	s.end = s.at + text.len;
	return scan_value(&s, 0) && s.at == s.end;
}

static void normalize_args(struct buf *args, const cJSON *tree)
{
	struct buf out = BUF_INIT(args->max);

	json_print(&out, tree);
	if (args_strict(buf_str(&out))) {
		buf_clear(args);
		buf_addstr(args, buf_str(&out));
	}
	buf_release(&out);
}

/* Parses arguments with cJSON, which accepts more than JSON, and prints them
 * again. Also accepts an object as text inside a JSON string. True if the
 * result is an object. */
static bool parse_lenient(struct buf *args)
{
	cJSON *tree = json_parse(buf_str(args));
	bool ok;

	if (cJSON_IsString(tree)) {
		cJSON *inner = json_parse(str_of(tree->valuestring));

		cJSON_Delete(tree);
		tree = inner;
	}
	ok = cJSON_IsObject(tree);
	if (ok)
		normalize_args(args, tree);
	cJSON_Delete(tree);
	return ok && args_strict(buf_str(args));
}

bool args_repair(struct buf *args)
{
	struct str text = str_trim(buf_str(args));
	size_t half = text.len / 2;

	if (!text.len || str_is(text, "null")) {
		buf_clear(args);
		buf_adds(args, "{}");
		return true;
	}
	if (text.ptr[0] == '{' && args_strict(text))
		return true;
	if (parse_lenient(args))
		return true;
	/* Some servers end a streamed call by sending all arguments once
	 * more. */
	if (text.len % 2 == 0 && text.ptr[0] == '{' &&
	    memcmp(text.ptr, text.ptr + half, half) == 0 &&
	    args_strict((struct str){ text.ptr, half })) {
		args->len = half + (size_t)(text.ptr - args->ptr);
		args->ptr[args->len] = '\0';
		return true;
	}
	return false;
}

/* Tags around thinking, as models write them. Sources, read 2026-11-26.
 * <think>: DeepSeek-R1, Qwen3, QwQ, GLM, MiniMax (their chat templates on
 * Hugging Face; Aider-AI/aider issue 5397). <thinking>: Claude 3 Opus before
 * tool calls. [THINK]: Mistral's Magistral (model card). <seed:think>: Seed-OSS
 * (model card). */

static const struct {
	const char *open, *close;
} tags[] = {
	{ "<think>", "</think>" },
	{ "<thinking>", "</thinking>" },
	{ "[THINK]", "[/THINK]" },
	{ "<seed:think>", "</seed:think>" },
};

enum { N_TAGS = sizeof(tags) / sizeof(tags[0]) };

static struct str skip_space(struct str s)
{
	while (s.len && strchr(" \t\r\n", s.ptr[0]))
		s = str_skip(s, 1);
	return s;
}

/* True if s starts with the first n bytes of tag, in any case: some models
 * write <THINK>. */
static bool starts_tag(struct str s, const char *tag, size_t n)
{
	return s.len >= n && strncasecmp(s.ptr, tag, n) == 0;
}

/* Returns where the closing tag starts in s; s.len: nowhere. */
static size_t find_close(struct str s, const char *close)
{
	size_t n = strlen(close);

	for (size_t at = 0; at + n <= s.len; at++)
		if (s.ptr[at] == close[0] &&
		    starts_tag(str_skip(s, at), close, n))
			return at;
	return s.len;
}

/* True if s may be the start of an opening tag. */
static bool may_open(struct str s)
{
	for (size_t i = 0; i < N_TAGS; i++)
		if (s.len < strlen(tags[i].open) &&
		    (!s.len || starts_tag(s, tags[i].open, s.len)))
			return true;
	return false;
}

/* Removes an opening tag from the start of s. */
static bool remove_open_tag(struct think_tags *t, struct str *s)
{
	for (size_t i = 0; i < N_TAGS; i++) {
		if (!starts_tag(*s, tags[i].open, strlen(tags[i].open)))
			continue;
		t->tag = i;
		*s = str_skip(*s, strlen(tags[i].open));
		return true;
	}
	return false;
}

/* Returns how many bytes at the end of s may be the start of the closing
 * tag. */
static size_t partial_close_length(struct str s, const char *close)
{
	size_t n = strlen(close) - 1;

	if (n > s.len)
		n = s.len;
	while (n && !starts_tag(str_skip(s, s.len - n), close, n))
		n--;
	return n;
}

/* True if a line is a closing tag. Sets t->may_close to false after an opening
 * tag. */
static bool reads_close(struct think_tags *t, struct str line)
{
	struct str words = str_trim(line);

	if (str_starts(words, "```") || str_starts(words, "~~~"))
		t->fenced = !t->fenced;
	for (size_t i = 0; i < N_TAGS; i++) {
		if (find_close(line, tags[i].open) < line.len)
			t->may_close = false;
		if (!t->fenced && words.len == strlen(tags[i].close) &&
		    starts_tag(words, tags[i].close, words.len))
			return t->may_close;
	}
	return false;
}

static void show_delta(const struct draft *d, enum part_kind kind,
		       struct str delta)
{
	const struct model_sink *sink = d->sink;

	if (sink && kind == PART_TEXT && sink->text)
		sink->text(sink->arg, delta);
	if (sink && kind == PART_THINKING && sink->thinking)
		sink->thinking(sink->arg, delta);
}

/* Adds thinking (text from inside the tags) or text (from outside). */
static void add_tagged(struct draft *d, struct draft_part *p, bool thinking,
		       struct str text)
{
	d->thought.max = DRAFT_MAX_TEXT;
	buf_addstr(thinking ? &d->thought : &p->text, text);
	show_delta(d, thinking ? PART_THINKING : PART_TEXT, text);
}

/* Looks for a closing tag without an opening one in the text so far. Then what
 * is above it becomes thinking. at_end: the last line is complete, too. */
static void find_lone_close(struct draft *d, struct draft_part *p, bool at_end)
{
	struct think_tags *t = &d->tags;
	struct str text = buf_str(&p->text);

	while (t->may_close && t->line < text.len) {
		struct str rest = str_skip(text, t->line);
		struct str line = { rest.ptr, str_find(rest, '\n') };
		struct buf answer = BUF_INIT(DRAFT_MAX_TEXT);

		if (line.len == rest.len && !at_end)
			return;
		if (!reads_close(t, line)) {
			t->line += line.len + (line.len < rest.len);
			continue;
		}
		t->may_close = false;
		buf_addstr(&answer, skip_space(str_skip(rest, line.len)));
		p->text.len = t->line;
		if (d->sink && d->sink->thought)
			d->sink->thought(d->sink->arg);
		add_tagged(d, p, true, buf_str(&p->text));
		buf_clear(&p->text);
		add_tagged(d, p, false, buf_str(&answer));
		t->at = answer.len ? THINK_OVER : THINK_BEHIND;
		buf_release(&answer);
	}
}

/* Handles text before an opening tag: at the beginning of the answer, or after
 * a closing tag. */
static void feed_outside(struct draft *d, struct draft_part *p,
			 struct str *rest)
{
	struct think_tags *t = &d->tags;
	struct str words = skip_space(*rest);
	struct str text = *rest;

	if (remove_open_tag(t, &words)) {
		t->at = THINK_INSIDE;
		*rest = words;
		return;
	}
	if (t->at == THINK_BEHIND)
		/* the line ends after a closing tag belong to the tag */
		text = words;
	*rest = (struct str){ 0 };
	if (may_open(words)) {
		buf_addstr(&t->held, text);
		return;
	}
	t->may_close = t->at == THINK_BEGIN;
	t->at = THINK_OVER;
	add_tagged(d, p, false, text);
	find_lone_close(d, p, false);
}

/* Handles text inside a thinking tag, up to the closing tag. */
static void feed_inside(struct draft *d, struct draft_part *p, struct str *rest)
{
	struct think_tags *t = &d->tags;
	const char *close = tags[t->tag].close;
	size_t at = find_close(*rest, close);
	struct str words = { rest->ptr, at };

	if (at < rest->len) {
		t->at = THINK_BEHIND;
		*rest = str_skip(*rest, at + strlen(close));
	} else {
		words.len -= partial_close_length(words, close);
		buf_addstr(&t->held, str_skip(*rest, words.len));
		*rest = (struct str){ 0 };
	}
	if (words.len)
		add_tagged(d, p, true, words);
}

/* Separates the delta into thinking and text and adds them in order. Keeps back
 * the end of the delta if it may be the beginning of a tag. */
static void feed_tags(struct draft *d, struct draft_part *p, struct str delta)
{
	struct buf all = d->tags.held;
	struct str rest;

	all.max = SIZE_MAX / 2;
	buf_addstr(&all, delta);
	d->tags.held = BUF_INIT(SIZE_MAX / 2);
	rest = buf_str(&all);
	while (rest.len) {
		if (d->tags.at == THINK_OVER) {
			add_tagged(d, p, false, rest);
			break;
		}
		if (d->tags.at == THINK_INSIDE)
			feed_inside(d, p, &rest);
		else
			feed_outside(d, p, &rest);
	}
	buf_release(&all);
}

void draft_init(struct draft *d, const struct model_sink *sink)
{
	*d = (struct draft){ .sink = sink };
}

static void part_free(struct draft_part *p)
{
	buf_release(&p->text);
	buf_release(&p->extra);
	free(p->id);
	free(p->name);
}

void draft_release(struct draft *d)
{
	for (size_t i = 0; i < d->n; i++)
		part_free(&d->parts[i]);
	free(d->parts);
	buf_release(&d->tags.held);
	buf_release(&d->thought);
	json_parse_release(&d->json);
	draft_init(d, d->sink);
}

const cJSON *draft_parse(struct draft *d, struct str data, struct error *err)
{
	const cJSON *tree = json_parse_pooled(&d->json, data);

	if (cJSON_IsObject(tree))
		return tree;
	(void)error_set(err, ERR_PROTOCOL,
			"the model's stream contains an event that is not a "
			"JSON object");
	return NULL;
}

int draft_feed(struct draft *d, struct str data,
	       int (*parse)(struct draft *d, const cJSON *tree,
			    struct error *err),
	       struct error *err)
{
	const cJSON *tree = draft_parse(d, data, err);

	return tree ? parse(d, tree, err) : -1;
}

static int refuse_size(struct draft *d, struct error *err, const char *what,
		       size_t limit)
{
	d->fatal = true;
	return error_set(err, ERR_LIMIT,
			 "the model's answer has more than %zu %s", limit,
			 what);
}

/* Ends the search of find_lone_close(): the text is complete. */
static void end_close(struct draft *d)
{
	for (size_t i = d->n; i > 0 && d->tags.may_close; i--)
		if (d->parts[i - 1].kind == PART_TEXT) {
			find_lone_close(d, &d->parts[i - 1], true);
			break;
		}
	d->tags.may_close = false;
}

struct draft_part *draft_part(struct draft *d, enum part_kind kind, int64_t key,
			      struct error *err)
{
	struct draft_part *p;

	end_close(d);
	if (kind == PART_TOOL_CALL && d->calls == DRAFT_MAX_CALLS) {
		(void)refuse_size(d, err, "tool calls", DRAFT_MAX_CALLS);
		return NULL;
	}
	if (d->n == DRAFT_MAX_PARTS) {
		(void)refuse_size(d, err, "parts", DRAFT_MAX_PARTS);
		return NULL;
	}
	if (d->n == d->room) {
		d->room = d->room ? d->room * 2 : 4;
		d->parts = xrealloc(d->parts, d->room, sizeof(*p));
	}
	p = &d->parts[d->n++];
	*p = (struct draft_part){
		.kind = kind,
		.key = key,
		.text = BUF_INIT(kind == PART_TOOL_CALL ? DRAFT_MAX_ARGS
							: DRAFT_MAX_TEXT),
		.extra = BUF_INIT(DRAFT_MAX_ARGS),
	};
	d->calls += kind == PART_TOOL_CALL;
	if (kind == PART_TOOL_CALL && d->sink && d->sink->call)
		d->sink->call(d->sink->arg);
	return p;
}

struct draft_part *draft_find(struct draft *d, enum part_kind kind, int64_t key)
{
	for (size_t i = d->n; i > 0; i--)
		if (d->parts[i - 1].kind == kind && d->parts[i - 1].key == key)
			return &d->parts[i - 1];
	return NULL;
}

struct draft_part *draft_open(struct draft *d, enum part_kind kind, int64_t key,
			      struct error *err)
{
	struct draft_part *p = draft_find(d, kind, key);

	return p ? p : draft_part(d, kind, key, err);
}

/* True if the server sends thinking in parts of its own. Then tags in the text
 * are not interpreted. */
static bool has_thinking(const struct draft *d)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->parts[i].kind == PART_THINKING && d->parts[i].text.len)
			return true;
	return false;
}

int draft_add(struct draft *d, struct draft_part *p, struct str delta,
	      struct error *err)
{
	if (!delta.len)
		return 0;
	if (p->kind == PART_TOOL_CALL) {
		buf_addstr(&p->text, delta);
		if (p->text.over)
			return refuse_size(d, err,
					   "bytes of arguments in a call",
					   DRAFT_MAX_ARGS);
		return 0;
	}
	if (delta.len > DRAFT_MAX_TEXT - d->bytes)
		return refuse_size(d, err, "bytes of text", DRAFT_MAX_TEXT);
	d->bytes += delta.len;
	if (p->kind == PART_TEXT && d->tags.at != THINK_OVER) {
		if (d->tags.at == THINK_BEGIN && has_thinking(d))
			d->tags.at = THINK_OVER;
		feed_tags(d, p, delta);
		return 0;
	}
	buf_addstr(&p->text, delta);
	show_delta(d, p->kind, delta);
	if (d->tags.may_close && memchr(delta.ptr, '\n', delta.len))
		find_lone_close(d, p, false);
	return 0;
}

/* Ends tag detection when the answer is complete: bytes kept back as a possible
 * tag are text. */
static void end_tags(struct draft *d)
{
	bool inside = d->tags.at == THINK_INSIDE;
	struct draft_part *p = NULL;

	for (size_t i = d->n; i > 0 && !p; i--)
		if (d->parts[i - 1].kind == PART_TEXT)
			p = &d->parts[i - 1];
	if (!p)
		return;
	d->tags.at = THINK_OVER;
	if (d->tags.held.len)
		add_tagged(d, p, inside, buf_str(&d->tags.held));
	buf_clear(&d->tags.held);
	end_close(d);
}

void draft_name(char **field, const char *value)
{
	size_t len = value ? strlen(value) : 0;

	if (!*field && len && len <= DRAFT_MAX_NAME)
		*field = xstrndup(value, len);
}

/* True if a call of the message or an earlier one has this id. Vendors refuse
 * such a call, because results refer to calls by id. Some servers restart their
 * numbering with each message. */
static bool is_used_id(const struct message *m, const struct call_ids *earlier,
		       const char *id)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->parts[i].id &&
		    wire_hash_id(m->parts[i].id) == wire_hash_id(id))
			return true;
	return earlier && call_ids_has(earlier, id);
}

/* Returns the call's id, or a new one if it has none or another call has the
 * same. New ids have nine letters and digits: Mistral's servers and templates
 * accept nothing else, and all others accept that (langchain pull request
 * 24668, mlx-lm issue 1375; read 2026-11-20). */
static char *call_id(const struct message *m, const struct call_ids *earlier,
		     struct draft_part *p)
{
	char *id = p->id;
	char random[10];

	if (id && !is_used_id(m, earlier, id)) {
		p->id = NULL;
		return id;
	}
	ids_random(random, sizeof(random) - 1);
	return xstrdup(random);
}

void draft_stopped(struct draft *d, const char *reason,
		   const struct draft_reason *rows)
{
	if (!reason)
		return;
	d->finish = FINISH_STOP;
	d->reason[0] = '\0';
	for (; rows->reason; rows++) {
		if (strcmp(rows->reason, reason) != 0)
			continue;
		d->finish = rows->finish;
		snprintf(d->reason, sizeof(d->reason), "%s", rows->reason);
	}
}

/* True if this part is the last call and the output limit cut the answer. Its
 * arguments must not be repaired: half of a call could do something else. */
static bool is_cut(const struct draft *d, const struct draft_part *p)
{
	return p == &d->parts[d->n - 1] && p->kind == PART_TOOL_CALL &&
	       (d->finish == FINISH_LENGTH || d->finish == FINISH_WINDOW) &&
	       !args_strict(str_trim(buf_str(&p->text)));
}

/* Adds the part to the message, unless it is empty. */
static void convert_part(struct message *m, struct draft_part *p,
			 const struct call_ids *earlier, bool cut,
			 void (*replay)(const struct draft_part *p,
					struct buf *out))
{
	struct buf again = BUF_INIT(SIZE_MAX / 2);
	struct part *part;
	char *id = NULL;
	bool bad = false;

	replay(p, &again);
	if (p->kind == PART_TOOL_CALL) {
		id = call_id(m, earlier, p);
		bad = cut || !args_repair(&p->text);
	} else if (!p->text.len && !again.len) {
		buf_release(&again);
		return;
	}
	part = message_add(m, p->kind);
	part->id = id;
	part->bad_args = bad;
	if (p->kind == PART_TOOL_CALL) {
		part->name = p->name ? p->name : xstrdup("");
		p->name = NULL;
		part->args = buf_detach(&p->text);
	} else {
		part->text = buf_detach(&p->text);
	}
	part->replay = again.len ? buf_detach(&again) : NULL;
	buf_release(&again);
}

void draft_finish(struct draft *d, struct model_reply *reply,
		  const struct call_ids *earlier,
		  void (*replay)(const struct draft_part *p, struct buf *out))
{
	struct message *m = &reply->message;
	bool calls = false;

	m->role = ROLE_ASSISTANT;
	end_tags(d);
	if (str_trim(buf_str(&d->thought)).len)
		message_add(m, PART_THINKING)->text = buf_detach(&d->thought);
	if (d->refuses)
		d->finish = FINISH_REFUSAL;
	for (size_t i = 0; i < d->n; i++) {
		struct draft_part *p = &d->parts[i];

		if (p->kind == PART_TOOL_CALL && d->finish == FINISH_REFUSAL)
			continue;
		reply->cut_call |= is_cut(d, p);
		convert_part(m, p, earlier, reply->cut_call, replay);
		calls |= p->kind == PART_TOOL_CALL;
	}
	reply->usage = d->usage;
	_Static_assert(sizeof(reply->reason) == sizeof(d->reason), "copied");
	memcpy(reply->reason, d->reason, sizeof(reply->reason));
	reply->finish = calls                       ? FINISH_TOOLS
			: d->finish == FINISH_TOOLS ? FINISH_STOP
						    : d->finish;
	draft_release(d);
}
