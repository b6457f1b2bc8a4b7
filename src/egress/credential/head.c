/* head.c - rewrites the head of a request that may have a secret. */
/* SPDX-License-Identifier: MIT */
/*
 * Attack: the sandbox sends the placeholder where the server returns or shows
 * it, in User-Agent, a query or a cookie, and reads the value in the answer. So
 * only headers whose name says that they carry a credential get the value.
 * Attack: it asks for the answer in a form in which the value is not found:
 * compressed, or in ranges that cut it in two. So these wishes are not sent on.
 */
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "egress/credential/credential.h"

enum { HEAD_MAX = 256 << 10, VALUE_MAX = 64 << 10 };

static const char basic[] = "basic ";

struct rewriting { /* of one head */
	const struct secrets *all;
	const char *host;
	struct str method, target;
	struct buf *out;
	struct buf ranges; /* headers that are sent if no value is */
	bool carries;
	bool overrides;         /* it may be read as another method or path */
	enum head_result fault; /* HEAD_PLAIN: none */
	const struct secret *secret;
};

/* Replaces each `old` in text. True if there was one. */
static bool replace_all(struct str text, struct str old, struct str new,
			struct buf *out)
{
	bool found = false;
	size_t at;

	while (old.len && (at = str_search(text, old)) < text.len) {
		buf_add(out, text.ptr, at);
		buf_addstr(out, new);
		text = str_skip(text, at + old.len);
		found = true;
	}
	buf_addstr(out, text);
	return found;
}

/* Ends with NULL. */
static bool is_one_of(struct str name, const char *const *names)
{
	while (*names)
		if (str_is_nocase(name, *names++))
			return true;
	return false;
}

static const char *const wishes[] = { "accept-encoding", "te", "a-im",
				      "sec-websocket-extensions", NULL };
/* The last one is what Apache also reads. */
static const char *const ranges[] = { "range", "if-range", "request-range",
				      NULL };
/* Attack: a secret is limited to GET, or to some paths, and one of these makes
 * the server read another method or path than those of the first line. */
static const char *const overrides[] = {
	"x-http-method-override", "x-http-method",
	"x-method-override",      "x-original-method",
	"x-original-url",         "x-original-uri",
	"x-rewrite-url",          "x-forwarded-uri",
	"x-forwarded-prefix",     NULL
};

/* True if one of the words between "-" is this one. */
static bool has_word(struct str name, const char *word)
{
	struct str one;

	while (str_split(&name, '-', &one))
		if (str_is_nocase(one, word))
			return true;
	return false;
}

/* True if the header carries a credential: its last word says so. Servers
 * return those of the exceptions, or something made from them. Attack: a store
 * of objects keeps X-Goog-Meta-Token or X-Bz-Info-Key with an object, whose
 * owner may be another. */
static bool is_for_credentials(struct str name)
{
	static const char *const words[] = { "authorization", "key",
					     "token",         "secret",
					     "auth",          "password",
					     "apikey" };
	size_t at = name.len;

	if (str_is_nocase(name, "idempotency-key") ||
	    (name.len > 4 && !strncasecmp(name.ptr, "sec-", 4)) ||
	    has_word(name, "meta") || has_word(name, "info"))
		return false;
	while (at && name.ptr[at - 1] != '-')
		at--;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (str_is_nocase(str_skip(name, at), words[i]))
			return true;
	return false;
}

static struct str trim_blanks(struct str s)
{
	while (s.len && (s.ptr[0] == ' ' || s.ptr[0] == '\t'))
		s = str_skip(s, 1);
	while (s.len && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t'))
		s.len--;
	return s;
}

static bool is_basic(struct str value)
{
	return value.len > sizeof(basic) - 1 &&
	       !strncasecmp(value.ptr, basic, sizeof(basic) - 1);
}

/* Appends what is inside of Basic. False if it is not base64. */
static bool open_basic(struct str value, struct buf *out)
{
	return is_basic(value) &&
	       json_decode_base64(
		       out, trim_blanks(str_skip(value, sizeof(basic) - 1)));
}

static const struct secret *find_raw(const struct secrets *all, struct str text)
{
	for (size_t i = 0; i < all->n; i++)
		if (str_search(text, str_of(all->list[i].placeholder)) <
		    text.len)
			return &all->list[i];
	return NULL;
}

/* Finds the placeholder in a header's value, also inside of Basic. */
static const struct secret *find_in_value(const struct secrets *all,
					  struct str value)
{
	struct buf inner = BUF_INIT(VALUE_MAX);
	const struct secret *found = find_raw(all, value);

	if (!found && open_basic(value, &inner))
		found = find_raw(all, buf_str(&inner));
	buf_wipe(&inner);
	return found;
}

const struct secret *head_find_placeholder(const struct secrets *all,
					   struct str text)
{
	const struct secret *found = find_raw(all, text);
	struct str line;

	while (!found && str_split(&text, '\n', &line)) {
		struct str value = str_skip(line, str_find(line, ':') + 1);

		found = find_in_value(all, str_trim(value));
	}
	return found;
}

static void add_line(struct buf *out, struct str name, struct str value)
{
	buf_addstr(out, name);
	buf_adds(out, ": ");
	buf_addstr(out, value);
	buf_adds(out, "\r\n");
}

/* Replaces the placeholder of one secret in a header's value, in place. */
static bool put_in(const struct secret *s, struct buf *value)
{
	struct str placeholder = str_of(s->placeholder);
	struct buf inner = BUF_INIT(VALUE_MAX);
	struct buf new = BUF_INIT(VALUE_MAX);
	struct buf out = BUF_INIT(VALUE_MAX);
	bool found = replace_all(buf_str(value), placeholder, str_of(s->value),
				 &out);

	if (!found && open_basic(buf_str(value), &inner) &&
	    replace_all(buf_str(&inner), placeholder, str_of(s->value), &new)) {
		buf_clear(&out);
		buf_adds(&out, "Basic ");
		json_base64(&out, buf_str(&new));
		found = true;
	}
	buf_wipe(&inner);
	buf_wipe(&new);
	buf_wipe(value);
	*value = out;
	return found;
}

static void fail(struct rewriting *h, enum head_result fault,
		 const struct secret *s)
{
	h->fault = fault;
	h->secret = s;
}

/* True if the secret may be put into this request. */
static bool may_have(const struct rewriting *h, const struct secret *s)
{
	return secret_has_request(s, h->method, h->target) &&
	       !(h->overrides && (s->methods || s->paths));
}

/* Puts in the values that this header of the client may have. */
static void fill_value(struct rewriting *h, struct buf *value)
{
	for (size_t i = 0; i < h->all->n; i++) {
		const struct secret *s = &h->all->list[i];

		if (s->header || !secret_has_host(s, h->host) ||
		    find_in_value(&(struct secrets){ (struct secret *)s, 1 },
				  buf_str(value)) == NULL)
			continue;
		if (!may_have(h, s)) {
			fail(h, HEAD_NOT_LIMITS, s);
			return;
		}
		if (!s->signs && put_in(s, value)) {
			h->carries = true;
			h->secret = s;
		}
	}
}

/* True if a secret sets the header in this request, whatever the client
 * sends. */
static bool is_set(const struct rewriting *h, struct str name)
{
	for (size_t i = 0; i < h->all->n; i++) {
		const struct secret *s = &h->all->list[i];

		if (s->header && str_is_nocase(name, s->header) &&
		    secret_has_host(s, h->host) && may_have(h, s))
			return true;
	}
	return false;
}

/* A link that is signed with a key needs the path and the method, too. */
static void check_link(struct rewriting *h)
{
	for (size_t i = 0; i < h->all->n; i++) {
		const struct secret *s = &h->all->list[i];

		if (s->signs && secret_has_host(s, h->host) &&
		    str_search(h->target, str_of(s->placeholder)) <
			    h->target.len &&
		    !may_have(h, s))
			fail(h, HEAD_NOT_LIMITS, s);
	}
}

/* Returns a secret whose placeholder the text has although it is for other
 * hosts; or NULL. The text may also have one of this host. */
static const struct secret *find_foreign(const struct rewriting *h,
					 struct str text)
{
	for (size_t i = 0; i < h->all->n; i++) {
		struct secret *s = &h->all->list[i];

		if (!secret_has_host(s, h->host) &&
		    find_in_value(&(struct secrets){ s, 1 }, text))
			return s;
	}
	return NULL;
}

static void rewrite_line(struct rewriting *h, struct str name, struct str value)
{
	const struct secret *foreign = find_foreign(h, value);
	struct buf text = BUF_INIT(VALUE_MAX);

	if (foreign) {
		fail(h, HEAD_FOREIGN, foreign);
	} else if (is_one_of(name, wishes) || is_set(h, name)) {
		return;
	} else if (is_one_of(name, ranges)) {
		add_line(&h->ranges, name, value);
	} else if (is_for_credentials(name)) {
		buf_addstr(&text, value);
		fill_value(h, &text);
		add_line(h->out, name, buf_str(&text));
	} else {
		add_line(h->out, name, value);
	}
	buf_wipe(&text);
}

static void set_headers(struct rewriting *h)
{
	for (size_t i = 0; i < h->all->n; i++) {
		const struct secret *s = &h->all->list[i];
		struct buf value = BUF_INIT(VALUE_MAX);

		if (!s->header || !secret_has_host(s, h->host) ||
		    !may_have(h, s))
			continue;
		secret_print_value(s, str_of(s->value), &value);
		add_line(h->out, str_of(s->header), buf_str(&value));
		buf_wipe(&value);
		h->carries = true;
		h->secret = s;
	}
}

/* Takes the next line of a head, without its end. False at the empty one. */
static bool next_line(struct str *head, struct str *name, struct str *value)
{
	size_t end = str_search(*head, STR("\r\n"));
	struct str line = { head->ptr, end };
	size_t colon = str_find(line, ':');

	if (!end || end >= head->len)
		return false;
	*name = (struct str){ line.ptr, colon };
	*value = trim_blanks(str_skip(line, colon + 1));
	*head = str_skip(*head, end + 2);
	return true;
}

/* Reads the first line, and which headers change its meaning. Returns what
 * follows it. */
static struct str begin_head(struct rewriting *h, struct str head)
{
	size_t end = str_search(head, STR("\r\n"));
	struct str first = { head.ptr, end };
	const struct secret *foreign = find_foreign(h, first);
	struct str fields = str_skip(head, end + 2);
	struct str rest = fields;
	struct str name;
	struct str value;

	h->method = (struct str){ first.ptr, str_find(first, ' ') };
	h->target = str_skip(first, h->method.len + 1);
	h->target.len = str_find(h->target, ' ');
	while (next_line(&rest, &name, &value))
		h->overrides |= is_one_of(name, overrides);
	check_link(h);
	if (foreign)
		fail(h, HEAD_FOREIGN, foreign);
	buf_addstr(h->out, first);
	buf_adds(h->out, "\r\n");
	return fields;
}

enum head_result head_rewrite(const struct secrets *all, const char *host,
			      struct str head, struct buf *out,
			      const struct secret **secret)
{
	struct rewriting h = { .all = all,
			       .host = host,
			       .out = out,
			       .ranges = BUF_INIT(HEAD_MAX) };
	size_t before = out->len;
	struct str rest = begin_head(&h, head);
	struct str name;
	struct str value;

	while (!h.fault && next_line(&rest, &name, &value))
		rewrite_line(&h, name, value);
	if (!h.fault)
		set_headers(&h);
	if (!h.carries)
		buf_addstr(out, buf_str(&h.ranges));
	buf_adds(out, "Accept-Encoding: identity\r\n\r\n");
	buf_release(&h.ranges);
	*secret = h.secret;
	if (!h.fault && (out->len - before > HEAD_MAX || out->over))
		h.fault = HEAD_TOO_LARGE;
	/* Attack: a request that is refused for one secret is sent all the
	 * same, with the value of another. */
	if (h.fault) {
		explicit_bzero(out->ptr + before, out->len - before);
		out->len = before;
	}
	return h.fault ? h.fault : h.carries ? HEAD_CARRIES : HEAD_PLAIN;
}
