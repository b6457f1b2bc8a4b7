/* query.h - what a model's server says of its models. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_SERVER_QUERY_H
#define MODEL_SERVER_QUERY_H

#include "model/model.h"

/* What such a question needs, in copies: it may outlive the model. */
struct server_query;
struct server_query *server_query_new(const struct model *m);
void server_query_free(struct server_query *q);
/* The server and the model, for files: "openai-chat http://h/v1 m". Borrowed.
 */
const char *server_query_name(const struct server_query *q);

struct server_limits { /* in tokens, as the server says; 0: it does not */
	int64_t context, max_output;
};
/*
 * What the server says of this model: 0, or -1 with err where it has no such
 * answer. Asks up to four times; blocks until stop. Nothing is said on the
 * terminal. One thread at a time.
 */
int server_query_limits(const struct server_query *q, struct server_limits *out,
			const struct stop *stop, struct error *err);
/* Each name in the server's list, unclean; the same otherwise. */
int server_query_names(const struct server_query *q,
		       void (*each)(void *arg, const char *name), void *arg,
		       const struct stop *stop, struct error *err);

#endif
