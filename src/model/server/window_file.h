/* window_file.h - what servers have said of their models, between runs. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_SERVER_WINDOW_FILE_H
#define MODEL_SERVER_WINDOW_FILE_H

#include "model/server/query.h"

/*
 * A file of JSON in the directory of dcode's state. name is that of
 * server_query_name(). One that is missing, damaged or too large holds nothing
 * and is written anew; failures are no reason to say anything.
 */
/* True where there is an answer, also one that was empty; *fresh: it is so new
 * that the server need not be asked again. */
bool window_file_read(const char *path, const char *name,
		      struct server_limits *limits, bool *fresh);
/* Adds an answer; the oldest go where there are many. */
void window_file_add(const char *path, const char *name,
		     const struct server_limits *limits);

#endif
