/* sign.c - signs a request to AWS again, with the real key. */
/* SPDX-License-Identifier: MIT */
/*
 * A client in the sandbox signs with a placeholder of a key (Signature Version
 * 4, in Authorization or in the query). head_sign() computes that signature
 * with the placeholder. If it is the client's, dcode reads the request as the
 * client and the server do, so its own signature will be right: a request is
 * never sent with a wrong one. The key itself goes nowhere.
 *
 * Attack: the sandbox has a request signed that is valid in a year, or a link
 * that is valid for a week, and a host returns the signature. So the time must
 * be now, and a link is valid for minutes.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "aws/sigv4.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/stop.h"
#include "base/str.h"
#include "egress/credential/credential.h"

enum {
	LINES = 200, /* more than a request and head_rewrite() have */
	HEAD_MAX = 256 << 10,
	SKEW_S = 15 * 60, /* the most that AWS accepts */
	LINK_S = 5 * 60,  /* how long a link is valid from now on */
	WEEK_S = 7 * 24 * 3600,
	DATE = 8, /* "20261127" */
};

static const char algorithm[] = "AWS4-HMAC-SHA256";

struct field_line {
	struct str name, value;
};
struct field_lines {
	struct field_line list[LINES];
	size_t n;
};

struct signing { /* of one request */
	const struct secret *s;
	struct str method, target, version;
	struct field_lines lines; /* as the client sent them */
	bool is_link;             /* signed in the query */
	/* What the client says; owned, NULL if it does not. */
	char *credential, *names, *signature, *date, *expires, *token;
	char *region, *service;
	char *payload; /* in place of the body's hash; NULL: hash it */
	int64_t time;
	enum sigv4_path path;
	const char *why; /* why it cannot be signed; NULL: it can */
};

static bool next_line(struct str *head, struct str *line)
{
	size_t end = str_search(*head, STR("\r\n"));

	*line = (struct str){ head->ptr, end };
	*head = str_skip(*head, end + 2);
	return end > 0;
}

/* Reads a valid head. */
static void read_lines(struct str head, struct str *first,
		       struct field_lines *lines)
{
	struct str line;

	(void)next_line(&head, first);
	while (lines->n < LINES && next_line(&head, &line)) {
		size_t colon = str_find(line, ':');

		lines->list[lines->n++] = (struct field_line){
			{ line.ptr, colon }, str_trim(str_skip(line, colon + 1))
		};
	}
}

static struct str find_header(const struct field_lines *lines, const char *name)
{
	for (size_t i = 0; i < lines->n; i++)
		if (str_is_nocase(lines->list[i].name, name))
			return lines->list[i].value;
	return (struct str){ 0 };
}

static char *copy_text(struct str s)
{
	return s.ptr ? xstrndup(s.ptr, s.len) : NULL;
}

static bool has_text(struct str text, const char *part)
{
	return str_search(text, str_of(part)) < text.len;
}

/* Takes "Credential=..." and the others of an Authorization header. */
static void read_authorization(struct signing *q, struct str value)
{
	struct str rest = str_skip(value, sizeof(algorithm));
	struct str part;

	while (str_split(&rest, ',', &part)) {
		size_t eq;

		part = str_trim(part);
		eq = str_find(part, '=');
		value = str_skip(part, eq + 1);
		part.len = eq;
		if (str_is(part, "Credential") && !q->credential)
			q->credential = copy_text(value);
		else if (str_is(part, "SignedHeaders") && !q->names)
			q->names = copy_text(value);
		else if (str_is(part, "Signature") && !q->signature)
			q->signature = copy_text(value);
		else
			q->why = "its Authorization header is malformed";
	}
	q->date = copy_text(find_header(&q->lines, "x-amz-date"));
	q->token = copy_text(find_header(&q->lines, "x-amz-security-token"));
}

static char **field_of(struct signing *q, struct str name)
{
	return str_is(name, "X-Amz-Credential")       ? &q->credential
	       : str_is(name, "X-Amz-SignedHeaders")  ? &q->names
	       : str_is(name, "X-Amz-Signature")      ? &q->signature
	       : str_is(name, "X-Amz-Date")           ? &q->date
	       : str_is(name, "X-Amz-Expires")        ? &q->expires
	       : str_is(name, "X-Amz-Security-Token") ? &q->token
						      : NULL;
}

static void read_query(struct signing *q)
{
	struct str rest = str_skip(q->target, str_find(q->target, '?') + 1);
	struct str item;

	while (str_split(&rest, '&', &item)) {
		size_t eq = str_find(item, '=');
		char **field = field_of(q, (struct str){ item.ptr, eq });
		struct buf text = BUF_INIT(HEAD_MAX);

		percent_decode(&text, str_skip(item, eq + 1));
		if (field && *field)
			q->why = "its query is malformed";
		else if (field)
			*field = copy_text(buf_str(&text));
		if (str_is((struct str){ item.ptr, eq }, "X-Amz-Algorithm") &&
		    !str_is(buf_str(&text), algorithm))
			q->why = "it is not signed with AWS4-HMAC-SHA256";
		buf_release(&text);
	}
	q->is_link = true;
}

/* Reads "20261127T101112Z" as Unix seconds; -1 if it is not such a time. */
static int64_t read_time(const char *text)
{
	static const char form[] = "ddddddddTddddddZ";
	struct tm tm = { 0 };

	if (!text || strlen(text) != sizeof(form) - 1)
		return -1;
	for (size_t i = 0; form[i]; i++)
		if (form[i] == 'd' ? text[i] < '0' || text[i] > '9'
				   : text[i] != form[i])
			return -1;
	return strptime(text, "%Y%m%dT%H%M%SZ", &tm) ? (int64_t)timegm(&tm)
						     : -1;
}

static bool is_word(struct str s)
{
	for (size_t i = 0; i < s.len; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789-_", s.ptr[i]))
			return false;
	return s.len > 0 && s.len <= 64;
}

/* Reads "ID/20261127/us-east-1/s3/aws4_request". */
static bool read_credential(struct signing *q)
{
	struct str rest = str_of(q->credential);
	struct str part[5];
	size_t n = 0;

	while (n < 5 && str_split(&rest, '/', &part[n]))
		n++;
	if (n < 5 || rest.len || !str_is(part[0], q->s->placeholder) ||
	    part[1].len != DATE || strncmp(part[1].ptr, q->date, DATE) != 0 ||
	    !is_word(part[2]) || !is_word(part[3]) ||
	    !str_is(part[4], "aws4_request"))
		return false;
	q->region = copy_text(part[2]);
	q->service = copy_text(part[3]);
	return true;
}

/* Attack: the sandbox asks a service for a new key, a password or a session,
 * and the answer brings it in. The service in the signature must be that of the
 * host, else AWS refuses the request. */
static void check_service(struct signing *q)
{
	static const char *const services[] = {
		"sts",
		"iam",
		"sso",
		"rolesanywhere",
		"signin",
		"ecr",
		"ecr-public",
		"codeartifact",
		"cognito-identity",
		"redshift",
		"redshift-serverless",
		"lightsail",
		"cognito-idp",
	};

	for (size_t i = 0; i < sizeof(services) / sizeof(*services); i++)
		if (!strcmp(q->service, services[i]))
			q->why = "this service of AWS returns new keys";
}

/* Checks the time of the request. */
static void check_time(struct signing *q)
{
	int64_t now = clock_unix_ms() / 1000;
	int64_t seconds = SKEW_S;

	/* a link from a later time would be valid for longer */
	if (q->time >= now + (q->is_link ? LINK_S : SKEW_S))
		q->why = "its time is not now";
	else if (q->is_link && (!str_to_int(str_of(q->expires), &seconds) ||
				seconds < 1 || seconds > WEEK_S))
		q->why = "its X-Amz-Expires is not a number of seconds";
	else if (q->time + seconds < now)
		q->why = q->is_link ? "the link has expired"
				    : "its time is not now";
}

static bool is_hash(struct str s)
{
	return s.len == 64 && strspn(s.ptr, "0123456789abcdef") >= 64;
}

/* Finds out what the signature covers of the body. */
static void read_payload(struct signing *q)
{
	struct str given = find_header(&q->lines, "x-amz-content-sha256");

	if (!given.ptr)
		return;
	if (is_hash(given) || str_is(given, "UNSIGNED-PAYLOAD") ||
	    str_is(given, "STREAMING-UNSIGNED-PAYLOAD-TRAILER"))
		q->payload = copy_text(given);
	else
		q->why = "the parts of its body are signed one by one ("
			 "X-Amz-Content-Sha256), which dcode cannot do again: "
			 "have the client send it unsigned";
}

/* Reads how the client has signed the request. */
static void read_signature(struct signing *q, struct str authorization)
{
	if (!has_text(authorization, q->s->placeholder))
		read_query(q);
	else if (has_text(q->target, "X-Amz-Signature="))
		q->why = "it is signed twice";
	else if (!str_starts(authorization, algorithm) ||
		 authorization.len <= sizeof(algorithm))
		q->why = "it is not signed with AWS4-HMAC-SHA256";
	else
		read_authorization(q, authorization);
	q->time = read_time(q->date);
	if (q->why)
		return;
	if (!q->credential || !q->names || !q->signature || q->time < 0 ||
	    !read_credential(q))
		q->why = "its signature is not complete";
	else if (q->s->token &&
		 (!q->token || strcmp(q->token, q->s->token_placeholder) != 0))
		q->why = "it lacks the session token (AWS_SESSION_TOKEN)";
	else
		check_time(q);
	if (!q->why)
		check_service(q);
	if (!q->why)
		read_payload(q);
}

/* Returns the signed ones of the lines as "name: value", NULL-terminated and
 * owned; NULL if one of them is missing. */
static const char **signed_headers(const struct signing *q,
				   const struct field_lines *lines)
{
	const char **list = xcalloc(lines->n + 1, sizeof(*list));
	struct str rest = str_of(q->names);
	struct str name;
	bool has_host = false;
	bool all = true;
	size_t k = 0;

	while (str_split(&rest, ';', &name)) {
		size_t before = k;

		for (size_t i = 0; i < lines->n && k < lines->n; i++) {
			const struct field_line *l = &lines->list[i];

			if (l->name.len == name.len &&
			    !strncasecmp(l->name.ptr, name.ptr, name.len))
				list[k++] = xasprintf(
					"%.*s: %.*s", (int)name.len, name.ptr,
					(int)l->value.len,
					l->value.len ? l->value.ptr : "");
		}
		all &= k > before;
		has_host |= str_is(name, "host");
	}
	if (all && has_host)
		return list;
	mem_free_list(list);
	return NULL;
}

/* Appends the signature of a request with these lines. */
static bool compute(const struct signing *q, struct str target,
		    const struct field_lines *lines, struct str body,
		    const char *key, struct buf *out)
{
	const char **headers = signed_headers(q, lines);
	char *method = copy_text(q->method);
	const struct sigv4_request r = { .method = method,
					 .target = target,
					 .headers = headers,
					 .body = body,
					 .payload = q->payload,
					 .region = q->region,
					 .service = q->service,
					 .time = q->time,
					 .path = q->path };
	struct buf names = BUF_INIT(HEAD_MAX);

	if (headers)
		sigv4_sign(&r, key, out, &names);
	buf_release(&names);
	free(method);
	mem_free_list(headers);
	return headers != NULL;
}

/* True if the client's signature is that of the placeholder. Services read the
 * path in different ways: q->path becomes the client's. */
static bool verify(struct signing *q, struct str body)
{
	static const enum sigv4_path ways[] = { SIGV4_ONCE, SIGV4_TWICE,
						SIGV4_NORMAL, SIGV4_AS_SENT };
	bool same = false;

	for (size_t i = 0; !same && i < sizeof(ways) / sizeof(*ways); i++) {
		struct buf own = BUF_INIT(128);

		q->path = ways[i];
		same = compute(q, q->target, &q->lines, body,
			       q->s->key_placeholder, &own) &&
		       str_is(buf_str(&own), q->signature);
		buf_release(&own);
	}
	return same;
}

/* The same, with what the signature covers of the body. whole: this is all of
 * it. */
static bool verify_body(struct signing *q, struct str body, bool whole)
{
	if (q->is_link && !q->payload) {
		/* as a link to S3 is signed */
		q->payload = xstrdup("UNSIGNED-PAYLOAD");
		if (verify(q, body))
			return true;
		free(q->payload);
		q->payload = NULL;
	}
	return (q->payload || whole) && verify(q, body);
}

/* Appends the target of a link with the real key's id and token, valid for
 * minutes. Without the signature. */
static void add_target(const struct signing *q, struct buf *out)
{
	int64_t left = clock_unix_ms() / 1000 - q->time + LINK_S;
	size_t mark = str_find(q->target, '?');
	struct str rest = str_skip(q->target, mark + 1);
	struct str item;
	int64_t seconds = 0;

	(void)str_to_int(str_of(q->expires), &seconds);
	buf_add(out, q->target.ptr, mark);
	for (char sep = '?'; str_split(&rest, '&', &item);) {
		struct str name = { item.ptr, str_find(item, '=') };

		if (str_is(name, "X-Amz-Signature"))
			continue;
		buf_addc(out, sep);
		sep = '&';
		if (str_is(name, "X-Amz-Credential")) {
			buf_addf(out, "X-Amz-Credential=%s", q->s->value);
			percent_encode(
				out,
				str_skip(str_of(q->credential),
					 str_find(str_of(q->credential), '/')),
				"");
		} else if (str_is(name, "X-Amz-Security-Token") &&
			   q->s->token) {
			buf_adds(out, "X-Amz-Security-Token=");
			percent_encode(out, str_of(q->s->token), "");
		} else if (str_is(name, "X-Amz-Expires")) {
			buf_addf(out, "X-Amz-Expires=%lld",
				 (long long)(left < 1         ? 1
					     : left < seconds ? left
							      : seconds));
		} else {
			buf_addstr(out, item);
		}
	}
}

static bool is_authorization(const struct signing *q,
			     const struct field_line *l)
{
	return !q->is_link && str_is_nocase(l->name, "authorization");
}

/* Replaces *head, which head_rewrite() has made, by one with dcode's
 * signature. False if a signed header is missing in it. */
static bool sign(const struct signing *q, struct str body, struct buf *head)
{
	struct field_lines *all = xcalloc(1, sizeof(*all));
	struct field_line *lines = all->list;
	struct buf target = BUF_INIT(HEAD_MAX);
	struct buf signature = BUF_INIT(128);
	struct buf out = BUF_INIT(HEAD_MAX);
	struct str first;
	size_t n;
	bool ok;

	read_lines(buf_str(head), &first, all);
	n = all->n;
	for (size_t i = 0; q->s->token && !q->is_link && i < n; i++)
		if (str_is_nocase(lines[i].name, "x-amz-security-token"))
			lines[i].value = str_of(q->s->token);
	if (q->is_link)
		add_target(q, &target);
	else
		buf_addstr(&target, q->target);
	ok = compute(q, buf_str(&target), all, body, q->s->key, &signature);
	if (q->is_link)
		buf_addf(&target, "&X-Amz-Signature=%s", signature.ptr);
	buf_addstr(&out, q->method);
	buf_addc(&out, ' ');
	buf_addstr(&out, buf_str(&target));
	buf_addc(&out, ' ');
	buf_addstr(&out, q->version);
	for (size_t i = 0; i < n; i++) {
		buf_adds(&out, "\r\n");
		buf_addstr(&out, lines[i].name);
		buf_adds(&out, ": ");
		if (is_authorization(q, &lines[i]))
			buf_addf(&out,
				 "%s Credential=%s%s, SignedHeaders=%s, "
				 "Signature=%s",
				 algorithm, q->s->value,
				 strchr(q->credential, '/'), q->names,
				 signature.ptr);
		else
			buf_addstr(&out, lines[i].value);
	}
	buf_adds(&out, "\r\n\r\n");
	ok = ok && !out.over && !target.over;
	if (ok) {
		buf_clear(head);
		buf_addstr(head, buf_str(&out));
		ok = !head->over;
	}
	buf_wipe(&target);
	buf_wipe(&out);
	buf_release(&signature);
	free(all);
	return ok;
}

static void release(struct signing *q)
{
	free(q->credential);
	free(q->names);
	free(q->signature);
	free(q->date);
	free(q->expires);
	free(q->token);
	free(q->region);
	free(q->service);
	free(q->payload);
	free(q);
}

/* Returns the secret whose key has signed the request; or NULL. */
static const struct secret *find_signer(const struct secrets *all,
					const char *host,
					const struct signing *q,
					struct str authorization)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct secret *s = &all->list[i];

		if (s->signs && secret_has_host(s, host) &&
		    (has_text(authorization, s->placeholder) ||
		     (has_text(q->target, "X-Amz-Credential=") &&
		      has_text(q->target, s->placeholder))))
			return s;
	}
	return NULL;
}

static enum head_result decide(struct signing *q, struct str authorization,
			       struct str body, struct buf *head)
{
	bool whole = body.ptr;

	read_signature(q, authorization);
	if (!q->why && !q->payload &&
	    find_header(&q->lines, "transfer-encoding").ptr)
		q->why = "its body is signed, and has no Content-Length";
	if (q->why)
		return HEAD_NOT_SIGNED;
	if (!verify_body(q, body, whole)) {
		if (!q->payload && !whole)
			return HEAD_NEEDS_BODY;
		q->why = "its signature is not that of the placeholder";
	} else if (!sign(q, body, head)) {
		q->why = "it signs a header that dcode does not send on";
	}
	return q->why ? HEAD_NOT_SIGNED : HEAD_SIGNED;
}

enum head_result head_sign(const struct secrets *all, const char *host,
			   const struct head_client *client, struct buf *head,
			   struct head_fault *fault)
{
	struct signing *q = xcalloc(1, sizeof(*q));
	enum head_result r = HEAD_PLAIN;
	struct str first;
	struct str authorization;

	read_lines(client->head, &first, &q->lines);
	q->method = (struct str){ first.ptr, str_find(first, ' ') };
	q->target = str_skip(first, q->method.len + 1);
	q->target.len = str_find(q->target, ' ');
	q->version = str_skip(first, q->method.len + 1 + q->target.len + 1);
	authorization = find_header(&q->lines, "authorization");
	q->s = find_signer(all, host, q, authorization);
	if (q->s)
		r = decide(q, authorization, client->body, head);
	*fault = (struct head_fault){ q->s, q->why };
	release(q);
	return r;
}
