/* address.c - which network addresses a page may be fetched from. */
/* SPDX-License-Identifier: MIT */
#include "web/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

static enum address_reach reach4(uint32_t a)
{
	static const struct {
		uint32_t net;
		unsigned bits;
		enum address_reach reach;
	} rows[] = {
		{ 0x00000000, 8, ADDRESS_NEVER },             /* this network */
		{ 0x0A000000, 8, ADDRESS_PRIVATE },           /* 10/8 */
		{ 0x6464 << 16 | 0x64C8, 32, ADDRESS_NEVER }, /* Alibaba */
		{ 0x64400000, 10, ADDRESS_PRIVATE },          /* 100.64/10 */
		{ 0x7F000000, 8, ADDRESS_PRIVATE },           /* loopback */
		{ 0xA83F8110, 32, ADDRESS_NEVER },   /* Azure's agent */
		{ 0xA9FE0000, 16, ADDRESS_NEVER },   /* link-local, metadata */
		{ 0xAC100000, 12, ADDRESS_PRIVATE }, /* 172.16/12 */
		{ 0xC0000000, 24, ADDRESS_NEVER },   /* protocols, Oracle */
		{ 0xC0000200, 24, ADDRESS_NEVER },   /* documentation */
		{ 0xC0586300, 24, ADDRESS_NEVER },   /* 6to4 relays */
		{ 0xC0A80000, 16, ADDRESS_PRIVATE }, /* 192.168/16 */
		{ 0xC6120000, 15, ADDRESS_PRIVATE }, /* benchmarks */
		{ 0xC6336400, 24, ADDRESS_NEVER },   /* documentation */
		{ 0xCB007100, 24, ADDRESS_NEVER },   /* documentation */
		{ 0xE0000000, 3, ADDRESS_NEVER },    /* multicast, reserved */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if ((a ^ rows[i].net) >> (32 - rows[i].bits) == 0)
			return rows[i].reach;
	return ADDRESS_PUBLIC;
}

static uint32_t word(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	       (uint32_t)p[2] << 8 | p[3];
}

static enum address_reach reach6(const unsigned char *a)
{
	static const unsigned char mapped[12] = { [10] = 0xFF, [11] = 0xFF };
	static const unsigned char nat64[12] = { 0, 0x64, 0xFF, 0x9B };
	static const unsigned char loopback[16] = { [15] = 1 };
	static const unsigned char aws[16] = { 0xFD, 0,           0x0E,
					       0xC2, [14] = 0x02, [15] = 0x54 };

	if (!memcmp(a, mapped, 12) || !memcmp(a, nat64, 12))
		return reach4(word(a + 12));
	if (a[0] == 0x20 && a[1] == 0x02)
		return reach4(word(a + 2));
	if (!memcmp(a, loopback, 16))
		return ADDRESS_PRIVATE;
	if ((a[0] & 0xFE) == 0xFC) /* unique local */
		return memcmp(a, aws, 16) ? ADDRESS_PRIVATE : ADDRESS_NEVER;
	if ((a[0] & 0xE0) != 0x20)
		return ADDRESS_NEVER;
	/* 2001::/23 (Teredo among them), 2001:db8::/32, 3fff::/20 */
	if (a[0] == 0x20 && a[1] == 0x01 && (a[2] & 0xFE) == 0)
		return ADDRESS_NEVER;
	if (word(a) == 0x20010DB8)
		return ADDRESS_NEVER;
	if (a[0] == 0x3F && a[1] == 0xFF && (a[2] & 0xF0) == 0)
		return ADDRESS_NEVER;
	return ADDRESS_PUBLIC;
}

enum address_reach address_reach(const struct sockaddr *a)
{
	struct sockaddr_in in4;
	struct sockaddr_in6 in6;

	if (a->sa_family == AF_INET) {
		memcpy(&in4, a, sizeof(in4));
		return reach4(ntohl(in4.sin_addr.s_addr));
	}
	if (a->sa_family != AF_INET6)
		return ADDRESS_NEVER;
	memcpy(&in6, a, sizeof(in6));
	return reach6(in6.sin6_addr.s6_addr);
}

bool address_parse(struct str text, struct sockaddr_storage *a)
{
	struct sockaddr_in in4 = { .sin_family = AF_INET };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
	char room[64];

	memset(a, 0, sizeof(*a));
	if (!text.len || text.len >= sizeof(room))
		return false;
	memcpy(room, text.ptr, text.len);
	room[text.len] = '\0';
	if (inet_pton(AF_INET, room, &in4.sin_addr) == 1) {
		memcpy(a, &in4, sizeof(in4));
		return true;
	}
	if (inet_pton(AF_INET6, room, &in6.sin6_addr) != 1)
		return false;
	memcpy(a, &in6, sizeof(in6));
	return true;
}

bool address_is_numeric(struct str host)
{
	struct str label;
	struct str last = { NULL, 0 };
	size_t i = 0;

	while (str_split(&host, '.', &label))
		if (label.len)
			last = label;
	if (last.len >= 2 && last.ptr[0] == '0' && (last.ptr[1] | 32) == 'x')
		i = 2;
	for (; i < last.len; i++)
		if (!(last.ptr[i] >= '0' && last.ptr[i] <= '9') &&
		    !(last.ptr[0] == '0' && last.len > 1 &&
		      (last.ptr[1] | 32) == 'x' && (last.ptr[i] | 32) >= 'a' &&
		      (last.ptr[i] | 32) <= 'f'))
			return false;
	return last.len > 0;
}

void address_print(const struct sockaddr *a, char room[64])
{
	char text[INET6_ADDRSTRLEN] = "?";
	struct sockaddr_in in4;
	struct sockaddr_in6 in6;

	if (a->sa_family == AF_INET) {
		memcpy(&in4, a, sizeof(in4));
		inet_ntop(AF_INET, &in4.sin_addr, text, sizeof(text));
		snprintf(room, 64, "%s", text);
		return;
	}
	memcpy(&in6, a, sizeof(in6));
	inet_ntop(AF_INET6, &in6.sin6_addr, text, sizeof(text));
	snprintf(room, 64, "[%s]", text);
}
