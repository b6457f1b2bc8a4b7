/* forge.h - opens pull requests at GitHub and merge requests at GitLab. */
/* SPDX-License-Identifier: MIT */
#ifndef FORGE_FORGE_H
#define FORGE_FORGE_H

#include <stdbool.h>

#include "net/http.h"

enum forge_kind { FORGE_GITHUB, FORGE_GITLAB };

/* Hosts of the user's own servers, "git.example.org" or with a port. Only they,
 * github.com and gitlab.com get a token. */
struct forge_hosts { /* borrowed */
	const char *const *github, *const *gitlab;
	size_t n_github, n_gitlab;
};

struct forge {
	enum forge_kind kind;
	char *host; /* owned: "github.com", or with the port of its https URL */
	char *api;  /* owned: "https://api.github.com" */
	char *path; /* owned: "owner/repository" */
	char *secret; /* set by the caller: the token; borrowed */
};

struct forge_request { /* borrowed */
	const char *branch, *base, *title, *text;
};

/* Reads the repository's address from the URL of a remote. ERR_USAGE if the
 * host is not known. Call forge_release() in any case. */
int forge_open(struct forge *f, const char *url, const struct forge_hosts *h,
	       struct error *err);
void forge_release(struct forge *f);
/* "pull request" or "merge request" */
const char *forge_noun(const struct forge *f);
/* Finds the open request of the branch. *url is owned; NULL: there is none. */
int forge_find_request(const struct forge *f, struct http *http,
		       const struct forge_request *r, char **url,
		       const struct stop *stop, struct error *err);
/* Opens a request. *url is its address; owned. */
int forge_make_request(const struct forge *f, struct http *http,
		       const struct forge_request *r, char **url,
		       const struct stop *stop, struct error *err);

#endif
