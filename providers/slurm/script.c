/* script.c - what runs in the job: its batch script, and its steps. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/str.h"
#include "providers/held/held.h"
#include "providers/slurm/slurm.h"
#include "sandbox/quote.h"

enum { SCRIPT_MAX = 256 << 10 };

static const unsigned char batch_sh[] = {
#include "scripts/sandbox/slurm_batch.sh.inc"
};
static const unsigned char remove_sh[] = {
#include "scripts/sandbox/private_remove.sh.inc"
};
static const unsigned char step_sh[] = {
#include "scripts/sandbox/slurm_step.sh.inc"
};
static const unsigned char lib_sh[] = {
#include "scripts/sandbox/supervise_lib.sh.inc"
};
static const unsigned char kill_sh[] = {
#include "scripts/sandbox/supervise_kill.sh.inc"
};

#define SCRIPT(array) ((struct str){ (const char *)(array), sizeof(array) })

/* Nothing in it is secret: its owner and the administrators can read it, and
 * sites store it. */
void slurm_batch_script(const struct slurm *s, const char *label,
			struct buf *out)
{
	struct buf text = BUF_INIT(SCRIPT_MAX);

	buf_adds(out, "#!/bin/sh\n");
	quote_assign(out, "b_label", str_of(label));
	quote_assign(out, "b_root", str_of(s->root));
	quote_assign(out, "b_image", str_of(s->image));
	buf_adds(&text, "held_nonce=$1\n");
	held_add_loop(&text);
	buf_adds(&text, "held_loop\n");
	quote_assign(out, "b_loop", buf_str(&text));
	buf_clear(&text);
	quote_script(&text, SCRIPT(lib_sh));
	quote_script(&text, SCRIPT(kill_sh));
	quote_assign(out, "s_lib", buf_str(&text));
	buf_release(&text);
	quote_script(out, SCRIPT(remove_sh));
	quote_script(out, SCRIPT(batch_sh));
}

void slurm_step_script(const char *label, struct buf *out)
{
	buf_addf(out, "b_control=/tmp/.%s\n", label);
	quote_script(out, SCRIPT(step_sh));
}
