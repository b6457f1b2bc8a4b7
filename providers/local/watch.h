/* watch.h - knows the names in a bound directory that run things. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_LOCAL_WATCH_H
#define PROVIDERS_LOCAL_WATCH_H

#include <stdint.h>

#include "base/stop.h"
#include "config/protect.h"

/* What a directory of the tree means to git, and so which names count. */
enum node_kind {
	NODE_TREE,      /* an ordinary directory */
	NODE_GIT,       /* .git, or one of .git/modules */
	NODE_MODULES,   /* .git/modules and directories between */
	NODE_WORKTREES, /* .git/worktrees */
	NODE_WORKTREE,  /* .git/worktrees/NAME */
	NODE_LOGS,      /* .git/logs and directories in it */
	NODE_LEAF,      /* a name that counts; it is never listed */
	NODE_NAMED,     /* reported when it is new, never made read-only */
};

struct node {
	char *path; /* owned, relative to the root; "" is the root */
	enum node_kind kind;
	uint64_t dev, ino;
	int64_t born; /* ns, where the file system tells: inodes come again */
	int64_t changed; /* ctime in ns when it was listed; 0: list it again */
	bool bare;       /* a git repository without a .git */
};

/*
 * The tree is walked once, without following links; afterwards only
 * directories whose ctime changed are listed again. Directories come in the
 * order of their depth.
 */
struct watch { /* from { 0 } */
	int root;
	char *root_path; /* owned, absolute, no link in it */
	struct protect names;
	struct node *nodes;
	size_t n;
	size_t *slots; /* hash of paths: index + 1 */
	size_t n_slots;
	bool learning;
	bool over; /* too large: not all of it is known */
	/* A name that counts and was not there, or was another file. */
	void (*found)(void *arg, const char *path);
	void *arg;
};

int watch_open(struct watch *w, const char *root, const struct protect *names,
	       const struct stop *stop, struct error *err);
/* Calls found for what is new; each once. */
void watch_scan(struct watch *w, void (*found)(void *arg, const char *path),
		void *arg);
/* The file that is at this path now is not reported. */
void watch_set_known(struct watch *w, const char *path);
/* Where a link leads, relative to the root, if it stays inside. Owned. */
char *watch_resolve(const struct watch *w, const char *path);
void watch_release(struct watch *w);

#endif
