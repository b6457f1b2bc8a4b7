/* hello.c - the server's name in the first message of a TLS client. */
/* SPDX-License-Identifier: MIT */
/*
 * Records: RFC 8446 section 5.1. ClientHello: section 4.1.2, and RFC 6066 for
 * the name. A greeting may be split over several records. Attack: a client asks
 * for a listed host and then greets another one at the same address. So the
 * name must be there, once, in clear text. A greeting with an encrypted
 * ClientHello (extension 0xfe0d) hides the real name and is refused.
 */
#include <string.h>

#include "egress/internal.h"

enum {
	RECORD_HANDSHAKE = 22,
	RECORD_HEAD = 5,
	RECORD_MAX = 16384,
	CLIENT_HELLO = 1,
	HELLO_MAX = 32768, /* bytes of a greeting */
	SERVER_NAME = 0,   /* extensions */
	ENCRYPTED_HELLO = 0xFE0D,
};

struct hello_part {
	const unsigned char *p;
	size_t left;
	bool bad; /* read past the end */
};

/* Reads a number of n bytes. */
static size_t get_number(struct hello_part *r, size_t n)
{
	size_t value = 0;

	if (r->left < n) {
		r->bad = true;
		r->left = 0;
		return 0;
	}
	for (size_t i = 0; i < n; i++)
		value = value << 8 | *r->p++;
	r->left -= n;
	return value;
}

/* Takes a part whose length is in the n bytes before it. */
static struct hello_part get_part(struct hello_part *r, size_t n)
{
	size_t len = get_number(r, n);
	struct hello_part part = { r->p, len, false };

	if (r->bad || len > r->left) {
		r->bad = true;
		part = (struct hello_part){ .bad = true };
	} else {
		r->p += len;
		r->left -= len;
	}
	return part;
}

/* Reads the extension with the name. Exactly one, as clients send it. */
static bool read_server_name(struct hello_part *r, char name[EGRESS_NAME])
{
	struct hello_part list = get_part(r, 2);
	size_t kind = get_number(&list, 1);
	struct hello_part host = get_part(&list, 2);

	if (r->bad || r->left || list.bad || list.left || kind != 0 ||
	    !host.left || host.left >= EGRESS_NAME)
		return false;
	for (size_t i = 0; i < host.left; i++) {
		char c = (char)host.p[i];

		if (c >= 'A' && c <= 'Z')
			c = (char)(c - 'A' + 'a');
		if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
		      c == '-' || c == '_' || c == '.'))
			return false;
		name[i] = c;
	}
	name[host.left] = '\0';
	return true;
}

/* Reads the message without its head. */
static bool read_hello(struct hello_part r, char name[EGRESS_NAME])
{
	struct hello_part extensions;

	name[0] = '\0';
	(void)get_number(&r, 2); /* version */
	for (int i = 0; i < 4; i++)
		(void)get_number(&r, 8); /* random */
	(void)get_part(&r, 1);           /* session */
	(void)get_part(&r, 2);           /* cipher suites */
	(void)get_part(&r, 1);           /* compression */
	if (r.bad)
		return false;
	extensions = r.left ? get_part(&r, 2) : r;
	if (r.bad || r.left)
		return false;
	while (extensions.left) {
		size_t type = get_number(&extensions, 2);
		struct hello_part body = get_part(&extensions, 2);

		if (extensions.bad || type == ENCRYPTED_HELLO)
			return false;
		if (type == SERVER_NAME &&
		    (name[0] || !read_server_name(&body, name)))
			return false;
	}
	return true;
}

/* Appends the handshake bytes of the record at *p. Returns the length of the
 * record, 0 if it is incomplete, or -1. */
static long add_record(const unsigned char *p, size_t len, unsigned char *hello,
		       size_t *n)
{
	size_t size;

	if (len && p[0] != RECORD_HANDSHAKE)
		return -1;
	if (len > 1 && p[1] != 3)
		return -1;
	if (len < RECORD_HEAD)
		return 0;
	size = (size_t)p[3] << 8 | p[4];
	if (!size || size > RECORD_MAX || *n + size > HELLO_MAX)
		return -1;
	if (len - RECORD_HEAD < size)
		return 0;
	memcpy(hello + *n, p + RECORD_HEAD, size);
	*n += size;
	return (long)(RECORD_HEAD + size);
}

enum hello_result hello_read(const unsigned char *p, size_t len,
			     char name[EGRESS_NAME])
{
	unsigned char hello[HELLO_MAX];
	size_t n = 0;

	for (;;) {
		long record = add_record(p, len, hello, &n);
		size_t size;

		if (record <= 0)
			return record < 0 ? HELLO_BAD : HELLO_MORE;
		p += record;
		len -= (size_t)record;
		if (hello[0] != CLIENT_HELLO)
			return HELLO_BAD;
		if (n < 4)
			continue;
		size = (size_t)hello[1] << 16 | (size_t)hello[2] << 8 |
		       hello[3];
		if (size > HELLO_MAX - 4)
			return HELLO_BAD;
		if (n < 4 + size)
			continue;
		return n == 4 + size &&
				       read_hello(
					       (struct hello_part){
						       hello + 4, size, false },
					       name)
			       ? HELLO_NAME
			       : HELLO_BAD;
	}
}
