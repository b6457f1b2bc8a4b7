/* ids.c - random identifiers. */
/* SPDX-License-Identifier: MIT */
#include "base/ids.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/stop.h"

void ids_init(void)
{
	if (sodium_init() < 0)
		abort();
}

void ids_uuid7(char out[37])
{
	uint64_t ms = (uint64_t)clock_unix_ms();
	unsigned char r[10];

	randombytes_buf(r, sizeof(r));
	snprintf(out, 37,
		 "%08x-%04x-7%01x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
		 (unsigned)(ms >> 16 & 0xFFFFFFFF), (unsigned)(ms & 0xFFFF),
		 r[0] & 0xF, r[1], (r[2] & 0x3F) | 0x80, r[3], r[4], r[5], r[6],
		 r[7], r[8], r[9]);
}

void ids_uuid4(char out[37])
{
	unsigned char r[16];

	randombytes_buf(r, sizeof(r));
	snprintf(out, 37,
		 "%02x%02x%02x%02x-%02x%02x-4%01x%02x-%02x%02x-"
		 "%02x%02x%02x%02x%02x%02x",
		 r[0], r[1], r[2], r[3], r[4], r[5], r[6] & 0xF, r[7],
		 (r[8] & 0x3F) | 0x80, r[9], r[10], r[11], r[12], r[13], r[14],
		 r[15]);
}

void ids_random(char *out, size_t n)
{
	static const char digits[] = "abcdefghijklmnopqrstuvwxyz234567";

	randombytes_buf(out, n);
	for (size_t i = 0; i < n; i++)
		out[i] = digits[(unsigned char)out[i] % 32];
	out[n] = '\0';
}

uint32_t ids_below(uint32_t bound)
{
	return randombytes_uniform(bound);
}

const char *ids_shown(const char *id, char room[IDS_SHOWN])
{
	bool container =
		strlen(id) == 64 && id[strspn(id, "0123456789abcdef")] == '\0';

	snprintf(room, IDS_SHOWN, "%.*s", container ? 12 : IDS_SHOWN - 1, id);
	return room;
}
