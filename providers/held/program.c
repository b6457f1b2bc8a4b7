/* program.c - the loop at the far end of a held stream. */
/* SPDX-License-Identifier: MIT */
#include "providers/held/program.h"

#include "sandbox/quote.h"

static const unsigned char loop_sh[] = {
#include "scripts/sandbox/held.sh.inc"
};

void program_add_loop(struct buf *out)
{
	quote_script(out,
		     (struct str){ (const char *)loop_sh, sizeof(loop_sh) });
}
