/* args.c - the arguments of a tool call, as models and servers spell them. */
/* SPDX-License-Identifier: MIT */
#include "model/args.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"

enum { MAX_DEPTH = 200 };

struct args_scan {
	const unsigned char *at, *end;
};

static bool value(struct args_scan *s, int depth);

static void space(struct args_scan *s)
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

static bool literal(struct args_scan *s, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(s->end - s->at) < n || memcmp(s->at, word, n) != 0)
		return false;
	s->at += n;
	return true;
}

static bool digits(struct args_scan *s)
{
	const unsigned char *from = s->at;

	while (s->at < s->end && *s->at >= '0' && *s->at <= '9')
		s->at++;
	return s->at > from;
}

static bool number(struct args_scan *s)
{
	(void)accept_char(s, '-'); /* optional */
	if (!accept_char(s, '0') && !digits(s))
		return false;
	if (accept_char(s, '.') && !digits(s))
		return false;
	if (!accept_char(s, 'e') && !accept_char(s, 'E'))
		return true;
	if (!accept_char(s, '+'))
		(void)accept_char(s, '-');
	return digits(s);
}

/* The four digits after \u; -1 when they are not there. */
static int hex4(struct args_scan *s)
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

static bool escape(struct args_scan *s)
{
	int code;

	if (s->at == s->end)
		return false;
	if (*s->at != 'u')
		return memchr("\"\\/bfnrt", *s->at, 8) && *s->at++;
	s->at++;
	code = hex4(s);
	if (code < 0 || (code >= 0xDC00 && code <= 0xDFFF))
		return false;
	if (code < 0xD800 || code > 0xDBFF)
		return true;
	if (!literal(s, "\\u"))
		return false;
	code = hex4(s);
	return code >= 0xDC00 && code <= 0xDFFF;
}

static bool string(struct args_scan *s)
{
	if (!accept_char(s, '"'))
		return false;
	while (s->at < s->end) {
		unsigned char c = *s->at++;

		if (c == '"')
			return true;
		if (c < 0x20 || (c == '\\' && !escape(s)))
			return false;
	}
	return false;
}

static bool items(struct args_scan *s, char close, int depth)
{
	s->at++;
	space(s);
	if (accept_char(s, close))
		return true;
	do {
		space(s);
		if (close == '}') {
			if (!string(s))
				return false;
			space(s);
			if (!accept_char(s, ':'))
				return false;
		}
		if (!value(s, depth + 1))
			return false;
	} while (accept_char(s, ','));
	return accept_char(s, close);
}

static bool value(struct args_scan *s, int depth)
{
	bool ok;

	space(s);
	if (s->at == s->end || depth > MAX_DEPTH)
		return false;
	switch (*s->at) {
	case '{':
		ok = items(s, '}', depth);
		break;
	case '[':
		ok = items(s, ']', depth);
		break;
	case '"':
		ok = string(s);
		break;
	case 't':
		ok = literal(s, "true");
		break;
	case 'f':
		ok = literal(s, "false");
		break;
	case 'n':
		ok = literal(s, "null");
		break;
	default:
		ok = number(s);
	}
	space(s);
	return ok;
}

bool args_strict(struct str text)
{
	struct args_scan s = { 0 };

	if (!text.len || !str_is_utf8(text))
		return false;
	s.at = (const unsigned char *)text.ptr;
	s.end = s.at + text.len;
	return value(&s, 0) && s.at == s.end;
}

static void replace(struct buf *args, const cJSON *tree)
{
	struct buf out = BUF_INIT(args->max);

	json_print(&out, tree);
	if (args_strict(buf_str(&out))) {
		buf_clear(args);
		buf_addstr(args, buf_str(&out));
	}
	buf_release(&out);
}

/* What cJSON makes of it; true when that is an object, now in *args. */
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
		replace(args, tree);
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
	/* some servers end a streamed call by sending all of it again */
	if (text.len % 2 == 0 && text.ptr[0] == '{' &&
	    memcmp(text.ptr, text.ptr + half, half) == 0 &&
	    args_strict((struct str){ text.ptr, half })) {
		args->len = half + (size_t)(text.ptr - args->ptr);
		args->ptr[args->len] = '\0';
		return true;
	}
	return false;
}
