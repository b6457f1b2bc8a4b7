/* command.h - a command as the arguments of an exec. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_DOCKER_COMMAND_H
#define PROVIDERS_DOCKER_COMMAND_H

#include "sandbox/sandbox.h"

/* The body of POST /containers/ID/exec for req. token: the value of
 * DCODE_EXEC by which the command's processes are found again. */
int docker_command(const struct exec_request *req, const char *workdir,
		   const char *token, struct buf *body, struct error *err);

#endif
