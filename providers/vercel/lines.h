/* lines.h - a command's NDJSON: its output, its end, its troubles. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_VERCEL_LINES_H
#define PROVIDERS_VERCEL_LINES_H

#include "base/buf.h"

/*
 * The lines are {"command":{"id":...,"exitCode":null or a number}},
 * {"stream":"stdout" or "stderr","data":"..."} and {"stream":"error",
 * "data":{"code","message"}}. Zero it, set out, feed it, end it, release it.
 */
struct vercel_lines {
	struct buf *out; /* takes the standard output; borrowed */
	struct buf line; /* so far */
	bool ended;      /* the command has */
	char code[64];   /* of an error line, or "" */
	char message[160];
};

/* Pure. ERR_PROTOCOL for a line that is no JSON or too long; else 0. */
int vercel_lines_feed(struct vercel_lines *l, struct str chunk,
		      struct error *err);
/* The stream is over. ERR_NETWORK when it was cut: before the command's end
 * (of which logs know nothing), within a line, or by the server's words. */
int vercel_lines_end(struct vercel_lines *l, bool logs, struct error *err);
void vercel_lines_release(struct vercel_lines *l);

#endif
