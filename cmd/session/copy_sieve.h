/* copy_sieve.h - a tar stream out of a sandbox, without the names that nobody
 * asked for. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_COPY_SIEVE_H
#define CMD_SESSION_COPY_SIEVE_H

#include "cmd/session/copy_copy.h"

/*
 * What passes is written anew: names, links, permission bits, times and bytes;
 * owners and setuid bits are left out. Who unpacks the stream must not be led
 * round the judgement of incoming.h: paths that leave the stream's directory or
 * go through one of its links, hard links whose original did not pass, devices
 * and pipes are left out, too. Where it is unpacked is not known: what is there
 * already is looked at in the working directory. Memory does not grow with the
 * tree, but for 32 bytes at most a symbolic link, of which there is a limit.
 */
struct sieve;
/* source: the directory in the sandbox, whose last name --bring may have. The
 * copy is borrowed. NULL with err. */
struct sieve *sieve_open(struct copy *c, const char *source, copy_write *write,
			 void *arg, struct error *err);
/* Reads the stream to its end; on any thread, and write() is called there. -1:
 * the stream is broken, or an error of pull or write. */
int sieve_run(struct sieve *s, archive_pull *pull, void *arg,
	      struct error *err);
/* Writes the archive's end, without which no tar takes it for whole. */
int sieve_end(struct sieve *s, struct error *err);
void sieve_close(struct sieve *s); /* counts in the copy; NULL is fine */

#endif
