/* pull_request.h - --pr: opens a pull or merge request after a push. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_PULL_REQUEST_H
#define CMD_PULL_REQUEST_H

#include "cmd/app.h"
#include "forge/forge.h"

struct pull_request { /* initialise with the first three; borrowed */
	struct app *app;
	const char *root; /* the tree: programs in it are not run */
	const char *branch;
	const char *base; /* set before pull_request_find() */
	struct forge forge;
	char *secret;    /* owned, in locked memory */
	struct buf text; /* the title, an empty line, and the text */
	bool existed;    /* url is a request that was open before */
	char *url;       /* owned: its address; NULL: none yet */
};

/* Finds the server and a token for it, without a request. ERR_AUTH if there is
 * no token. Call pull_request_close() in any case. */
int pull_request_open(struct pull_request *p, const char *url,
		      const struct stop *stop, struct error *err);
/* Looks for an open request of the branch. If there is none, writes a title and
 * a text from the thread: its title and the last answer. */
int pull_request_find(struct pull_request *p, const char *thread,
		      const char *title, const struct stop *stop,
		      struct error *err);
/* Prints the request on stderr. */
void pull_request_show(const struct pull_request *p);
/* Opens title and text in the user's editor. */
int pull_request_edit(struct pull_request *p, struct error *err);
/* Opens the request, unless there is one. */
int pull_request_send(struct pull_request *p, const struct stop *stop,
		      struct error *err);
void pull_request_close(struct pull_request *p);

#endif
