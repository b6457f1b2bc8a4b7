/* refused_file.h - what happens where a vendor refuses a file. */
/* SPDX-License-Identifier: MIT */
#ifndef AGENT_REFUSED_FILE_H
#define AGENT_REFUSED_FILE_H

#include "agent/agent.h"

/*
 * After a request failed with err: where that may be for a file, which would be
 * in every request from now on, gives the model its history anew, each file of
 * it as a line of text. The thread keeps the files. 1 to ask again, 0 where
 * there is nothing to do, or the thread is not stored.
 */
int refused_file_leave_out(struct agent *a, const struct error *err);

#endif
