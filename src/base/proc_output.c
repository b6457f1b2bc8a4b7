/* proc_output.c - what a program of the user's prints, within a time. */
/* SPDX-License-Identifier: MIT */
#include "base/proc_output.h"

#include "base/proc_run.h"

int proc_output(const char *path, char *const *argv, char *const *env,
		struct buf *out, const struct stop *stop, struct error *err)
{
	struct proc_run run = { .program = path,
				.argv = argv,
				.env = env,
				.ends_over = true,
				.out = *out };
	struct proc_run *list[] = { &run };
	int rc = proc_run_all(list, 1, stop, err);

	*out = run.out;
	buf_release(&run.err);
	if (rc == 0 && run.failed.code) {
		*err = run.failed;
		rc = -1;
	}
	if (rc == 0)
		rc = buf_check(out, "its output", err);
	return rc < 0 ? -1 : run.status;
}
