/* piece.c - how large an answer may be where connections are cut. */
/* SPDX-License-Identifier: MIT */
#include "sandbox/supervise/piece.h"

enum {
	DAMAGED_MIN = 2048,
	CUT_MAX = 64 << 10, /* after a cut, halved for each that follows */
	CUT_MIN = 4096,     /* the request is about as large */
	PAUSE_MS = 100,     /* after a failure, doubled for the next */
	PAUSE_MAX_MS = 5000,
	/* A connection that was there says nothing about the next one. */
	PAUSE_CUT_MS = 1000,
};

bool piece_shrink(struct answer_piece *p, bool cut)
{
	size_t max = p->max / 2;

	if (cut && max > CUT_MAX)
		max = CUT_MAX;
	if (max < (cut ? CUT_MIN : DAMAGED_MIN))
		return false;
	p->max = max;
	if (!cut)
		p->limit = max;
	return true;
}

void piece_grow(struct answer_piece *p)
{
	p->max = p->max < p->limit / 2 ? p->max * 2 : p->limit;
}

int64_t piece_pause_ms(unsigned failures, const struct error *why, bool smaller)
{
	bool cut = why->code == ERR_NETWORK && !why->http_status;
	int64_t most = cut ? PAUSE_CUT_MS : PAUSE_MAX_MS;
	int64_t pause = most;

	if (failures <= 6)
		pause = (int64_t)PAUSE_MS << (failures - 1);
	if (smaller)
		return PAUSE_MS;
	return pause < most ? pause : most;
}
