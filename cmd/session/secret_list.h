/* secret_list.h - dcode sandbox secrets: what is bound to which hosts. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_SECRET_LIST_H
#define CMD_SESSION_SECRET_LIST_H

#include "cmd/app.h"

/* Prints [secrets] without values. type: fails if this provider cannot hold
 * them; NULL: does not check. Returns the exit status. */
int secret_list_print(struct app *app, const char *type);

#endif
