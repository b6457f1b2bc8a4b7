/* sha1.c - SHA-1 (RFC 3174), for the opening handshake of WebSocket only. */
/* SPDX-License-Identifier: MIT */
#include "net/sha1.h"

#include <string.h>

enum { BLOCK = 64, ROUNDS = 80 };

static uint32_t rotate(uint32_t x, int n)
{
	return x << n | x >> (32 - n);
}

/* RFC 3174 §5: the function and the constant of a round. */
static uint32_t mix(int round, const uint32_t v[5])
{
	if (round < 20)
		return ((v[1] & v[2]) | (~v[1] & v[3])) + 0x5a827999u;
	if (round < 40)
		return (v[1] ^ v[2] ^ v[3]) + 0x6ed9eba1u;
	if (round < 60)
		return ((v[1] & v[2]) | (v[1] & v[3]) | (v[2] & v[3])) +
		       0x8f1bbcdcu;
	return (v[1] ^ v[2] ^ v[3]) + 0xca62c1d6u;
}

static void block(uint32_t h[5], const unsigned char *p)
{
	uint32_t w[ROUNDS];
	uint32_t v[5];

	for (int i = 0; i < 16; i++)
		w[i] = (uint32_t)p[i * 4] << 24 | (uint32_t)p[i * 4 + 1] << 16 |
		       (uint32_t)p[i * 4 + 2] << 8 | p[i * 4 + 3];
	for (int i = 16; i < ROUNDS; i++)
		w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
	memcpy(v, h, sizeof(v));
	for (int i = 0; i < ROUNDS; i++) {
		uint32_t next = rotate(v[0], 5) + mix(i, v) + v[4] + w[i];

		v[4] = v[3];
		v[3] = v[2];
		v[2] = rotate(v[1], 30);
		v[1] = v[0];
		v[0] = next;
	}
	for (int i = 0; i < 5; i++)
		h[i] += v[i];
}

void sha1(struct str data, unsigned char out[SHA1_LEN])
{
	uint32_t h[5] = { 0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u,
			  0xc3d2e1f0u };
	unsigned char tail[2 * BLOCK] = { 0 };
	uint64_t bits = (uint64_t)data.len * 8;
	size_t end;

	while (data.len >= BLOCK) {
		block(h, (const unsigned char *)data.ptr);
		data = str_skip(data, BLOCK);
	}
	if (data.len)
		memcpy(tail, data.ptr, data.len);
	tail[data.len] = 0x80;
	end = data.len < BLOCK - 8 ? BLOCK : 2 * BLOCK;
	for (size_t i = 0; i < 8; i++)
		tail[end - 1 - i] = (unsigned char)(bits >> (8 * i));
	for (size_t at = 0; at < end; at += BLOCK)
		block(h, tail + at);
	for (size_t i = 0; i < SHA1_LEN; i++)
		out[i] = (unsigned char)(h[i / 4] >> (24 - 8 * (i % 4)));
}
