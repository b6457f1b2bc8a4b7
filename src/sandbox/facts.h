/* facts.h - which shell, system and user a sandbox's commands have. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_FACTS_H
#define SANDBOX_FACTS_H

#include <stdbool.h>

#include "base/buf.h"

struct sandbox_facts {
	char shell[16];  /* "bash" or "sh"; "": unknown */
	char system[96]; /* "Debian GNU/Linux 12 (bookworm)" */
	char user[64];
};

/* What commands of this process on this machine have. user: NULL for its own.
 */
void facts_here(struct sandbox_facts *f, const char *user);
/* Appends a line of sh that prints the facts as an aside with this nonce, and
 * leaves nothing behind in the shell that runs it. */
void facts_add_script(struct buf *out, const char *nonce);
/* Reads such an aside: untrusted bytes, which become plain text. */
void facts_read(struct sandbox_facts *f, struct str aside);
/* "Commands run in bash on Debian GNU/Linux 12 (bookworm), as root." */
void facts_describe(const struct sandbox_facts *f, struct buf *out);

#endif
