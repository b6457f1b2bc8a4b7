/* local.h - the parts of the bubblewrap provider. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_LOCAL_LOCAL_H
#define PROVIDERS_LOCAL_LOCAL_H

#include <sys/types.h>

#include "providers/local/guard.h"
#include "providers/local/jail.h"
#include "providers/local/limits.h"
#include "providers/local/pipes.h"

/*
 * ~/.deepagents/sandboxes/LABEL/ (0700) holds one sandbox:
 *   home/ workspace/  what it may write; the only parts it ever sees
 *   sandbox.json      struct local_meta
 *   run.PID.START     one empty file per running bubblewrap: its process id
 *                     and start time (proc_started), so that any dcode can
 *                     end it and none ends somebody else's process
 */
struct local_meta {
	char owner[64];
	int64_t created; /* Unix seconds */
	int64_t ends;
	bool network;
	char *bind; /* owned; the user's directory on /workspace, or NULL */
};

struct local { /* sandbox_client.priv */
	struct pipe_reaper reaper;
	int64_t start_ms; /* for a jail to start */
	char *bwrap;      /* owned; absolute */
	struct jail_limits limits;
	uint64_t disk;          /* bytes of home and workspace, 0: no limit */
	const char *const *env; /* borrowed from settings */
	size_t nenv;
	int64_t lifetime_s; /* 0: the provider's */
	bool network;
	bool bind;
};

/* settings.c */
extern const struct setting local_settings[];
int local_settings_read(struct local *l, const struct settings *set,
			struct error *err);

/* limits.c: one line for doctor, which limits bind on this machine. */
void local_describe_limits(const struct sandbox_client *client,
			   struct buf *out);

/* box.c: one running bubblewrap. */
struct box {      /* from { .sock = -1 } */
	int sock; /* to the supervisor; -1 when not running */
	pid_t pid;
	char *mark;          /* owned; path of run.PID.START */
	struct guard *guard; /* owned; NULL without a bound directory */
	struct guard *git;   /* owned: of a repository outside; or NULL */
	char *tree;          /* owned: its working tree, read-only; or NULL */
	struct cgroup group;
	char *home, *workspace; /* owned; on this machine */
	char *inside;           /* owned: the latter in the sandbox */
	/* When last measured (UINT64_MAX: never); what was there before us.
	 * Several commands may run at once. */
	_Atomic uint64_t disk_used, disk_base;
};
/* Set guard, git, tree and inside before. Free the box in any case. */
int box_start(struct box *b, const struct local *l, const char *dir,
	      const struct local_meta *m, const struct stop *stop,
	      struct error *err);
/* The supervisor exits this many ms from now. */
int box_lifetime(const struct box *b, int64_t ms, struct error *err);
/* Hands an order and n descriptors to the supervisor. */
int box_order(const struct box *b, const struct jail_order *order,
	      const int *fds, size_t n, struct error *err);
/* One message of this length from the supervisor or a runner; 1, 0 when that
 * has ended, -1. */
int box_receive(int fd, void *message, size_t len, const struct stop *stop,
		struct error *err);
/* Waits this long for the sign that the supervisor has ended. */
bool box_ended(const struct box *b, int ms);
/* Ends it and waits until nothing in it runs any more. */
void box_stop(struct box *b);
void box_free(struct box *b, struct pipe_reaper *reaper);
/* Copies trees with cp inside a sandbox of its own, which sees nothing but
 * the two directories: from/home and from/workspace (workspace: another place
 * for the latter, or NULL) into to. */
int box_copy(struct local *l, const char *from, const char *workspace,
	     const char *to, const struct stop *stop, struct error *err);

/* args.c: the command line of bubblewrap. */
struct words { /* an array of owned strings, NULL-terminated */
	char **v;
	size_t n;
};
void words_add(struct words *w, ...) __attribute__((sentinel));
void words_release(struct words *w);
/* Namespaces, privileges, system directories, /proc, /dev, /tmp; each of the
 * latter's two file systems in memory holds half of memory (0: no limit). */
void args_system(struct words *w, bool network, uint64_t memory);
/* For mounts below /var/tmp, which is a link else. */
void args_var_tmp(struct words *w, uint64_t memory);
/* A descriptor to read this text from, or -1. */
int args_fd(const char *text, size_t len, struct error *err);
/* The files of a made-up /etc: each needs a descriptor that holds its text.
 * Appends up to LOCAL_ETC to the n in fds. */
enum { LOCAL_ETC = 8 };
int args_etc(struct words *w, bool network, int *fds, size_t *n,
	     struct error *err);

/* store.c: what is on disk. An id or a snapshot's name must be ok before it
 * becomes part of a path. */
bool local_id_ok(const char *id);
char *local_dir(const struct sandbox_client *client,
		const char *id); /* owned */
char *local_snapshot_dir(const struct sandbox_client *client, const char *name);
int local_meta_write(const char *dir, const struct local_meta *m,
		     struct error *err);
int local_meta_read(const char *dir, struct local_meta *m, struct error *err);
void local_meta_release(struct local_meta *m);
/* How many bubblewraps run from dir. */
int local_running(const char *dir);
/* Ends them. */
int local_end(const char *dir, const struct stop *stop, struct error *err);

/* list.c */
int local_not_found(const char *id, struct error *err);
int local_list(struct sandbox_client *client, const char *owner,
	       const struct info_sink *sink, const struct stop *stop,
	       struct error *err);
int local_info(struct sandbox_client *client, const char *id,
	       const struct info_sink *sink, const struct stop *stop,
	       struct error *err);

/* exec.c */
int local_execute(struct sandbox *sb, const struct exec_request *req,
		  struct exec_result *res, const struct stop *stop,
		  struct error *err);

extern const struct sandbox_provider local_provider;

extern const struct sandbox_provider none_provider;

#endif
