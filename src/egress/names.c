/* names.c - a DNS server's answers, and the addresses that stand for names. */
/* SPDX-License-Identifier: MIT */
/*
 * A listed name gets an address of 198.18.0.0/15, a range for measurements that
 * is never routed (RFC 2544, RFC 6890). Nothing is asked upstream. Attack: data
 * leaves the machine as the labels of names that a command looks up. So the
 * real lookup is made later, by the connection, and only for a listed name.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "egress/internal.h"

#define POOL 0xC6120000U /* 198.18.0.0 */

enum {
	POOL_BITS = 15,
	SLOTS = 4096, /* names at once; the one that was asked for longest ago
		       * is replaced */
	RANGES = 31,  /* of SLOTS addresses, in the pool */
	HEADER = 12,  /* bytes of a DNS message before its question */
	TTL_S = 1,
	TYPE_A = 1,
	TYPE_ANY = 255,
	CLASS_IN = 1,
	NO_ERROR = 0,
	NAME_ERROR = 3, /* NXDOMAIN */
	NOT_IMPLEMENTED = 4,
};

static struct slot {
	char name[EGRESS_NAME];
	uint64_t asked; /* counts up; 0: free */
} slots[SLOTS];
static uint64_t questions;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

bool names_has(struct in_addr address)
{
	return ntohl(address.s_addr) >> (32 - POOL_BITS) ==
	       POOL >> (32 - POOL_BITS);
}

/* Returns the first address that this process gives out. After a change of the
 * list another process serves, and a program that has kept an address must not
 * reach another name by it. */
static uint32_t first_address(void)
{
	return POOL + 1 + (uint32_t)getpid() % RANGES * SLOTS;
}

/* Returns the address of the name. */
static uint32_t take_address(const char *name)
{
	size_t oldest = 0;
	size_t i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < SLOTS && slots[i].asked; i++) {
		if (!strcmp(slots[i].name, name))
			break;
		if (slots[i].asked < slots[oldest].asked)
			oldest = i;
	}
	if (i == SLOTS)
		i = oldest;
	if (strcmp(slots[i].name, name) != 0)
		snprintf(slots[i].name, sizeof(slots[i].name), "%s", name);
	slots[i].asked = ++questions;
	pthread_mutex_unlock(&lock);
	return first_address() + (uint32_t)i;
}

bool names_find(struct in_addr address, char name[EGRESS_NAME])
{
	uint32_t i = ntohl(address.s_addr) - first_address();
	bool found = false;

	pthread_mutex_lock(&lock);
	if (names_has(address) && i < SLOTS && slots[i].asked) {
		memcpy(name, slots[i].name, EGRESS_NAME);
		found = true;
	}
	pthread_mutex_unlock(&lock);
	return found;
}

/* True if the list allows some port of the host. A name without a dot is in no
 * list, but one that is open to all others allows it. Attack: this machine's
 * resolver completes it to a name that the list denies. */
static bool is_listed(const struct network *n, bool asks, const char *name)
{
	struct network_rule host = { .host = (char *)name };
	const struct network_rule *rule;

	if (!strchr(name, '.'))
		return false;
	if (network_allows(n, &host, &rule) || (asks && !rule))
		return true;
	for (size_t i = 0; i < n->n; i++) {
		host.port = n->rules[i].port;
		if (host.port && network_allows(n, &host, &rule))
			return true;
	}
	return false;
}

/* Reads the name of the question as lower case. Returns the offset of what
 * follows it, or 0 if it is not a plain host name. */
static size_t read_name(const unsigned char *q, size_t len,
			char name[EGRESS_NAME])
{
	size_t at = HEADER;
	size_t n = 0;

	for (;;) {
		size_t label = at < len ? q[at++] : 64;

		if (!label)
			break;
		if (label > 63 || label > len - at ||
		    n + label + 1 > EGRESS_NAME - 1)
			return 0;
		if (n)
			name[n++] = '.';
		for (size_t i = 0; i < label; i++) {
			char c = (char)q[at++];

			if (c >= 'A' && c <= 'Z')
				c = (char)(c - 'A' + 'a');
			if (!((c >= 'a' && c <= 'z') ||
			      (c >= '0' && c <= '9') || c == '-' || c == '_'))
				return 0;
			name[n++] = c;
		}
	}
	name[n] = '\0';
	return n ? at : 0;
}

static void put_16(unsigned char *p, unsigned value)
{
	p[0] = (unsigned char)(value >> 8);
	p[1] = (unsigned char)value;
}

static void put_32(unsigned char *p, uint32_t value)
{
	put_16(p, value >> 16);
	put_16(p + 2, value & 0xFFFF);
}

/* Writes the head of an answer and copies the question. */
static void begin_answer(const unsigned char *question, size_t len,
			 unsigned code, unsigned char *out)
{
	memcpy(out, question, len);
	out[2] = (unsigned char)(0x80 | (question[2] & 0x79)); /* opcode, RD */
	out[3] = (unsigned char)(0x80 | code); /* recursion is available */
	put_16(out + 4, len > HEADER);
	memset(out + 6, 0, 6);
}

size_t names_answer(const struct network *n, bool asks,
		    const unsigned char *question, size_t len,
		    unsigned char *out, char refused[EGRESS_NAME])
{
	char name[EGRESS_NAME];
	unsigned type;
	size_t end;

	refused[0] = '\0';
	if (len < HEADER || question[2] & 0x80)
		return 0;
	end = question[2] & 0x78 || question[4] || question[5] != 1
		      ? 0
		      : read_name(question, len, name);
	if (!end || len - end < 4) {
		begin_answer(question, HEADER, NOT_IMPLEMENTED, out);
		return HEADER;
	}
	type = (unsigned)question[end] << 8 | question[end + 1];
	end += 4;
	if (question[end - 2] || question[end - 1] != CLASS_IN ||
	    !is_listed(n, asks, name)) {
		begin_answer(question, end, NAME_ERROR, out);
		/* a client asks for several types; one line tells enough */
		if (type == TYPE_A || type == TYPE_ANY)
			memcpy(refused, name, sizeof(name));
		return end;
	}
	begin_answer(question, end, NO_ERROR, out);
	if (type != TYPE_A && type != TYPE_ANY)
		return end; /* no such record: IPv4 only, and no HTTPS record */
	put_16(out + 6, 1);
	put_16(out + end, 0xC000 | HEADER); /* the question's name */
	put_16(out + end + 2, TYPE_A);
	put_16(out + end + 4, CLASS_IN);
	put_32(out + end + 6, TTL_S);
	put_16(out + end + 10, 4);
	put_32(out + end + 12, take_address(name));
	return end + 16;
}
