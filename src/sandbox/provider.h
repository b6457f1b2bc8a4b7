/* provider.h - what a provider is, and what it reports. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_PROVIDER_H
#define SANDBOX_PROVIDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "config/settings.h"

enum sandbox_isolation {
	ISOLATION_UNSET = 0, /* not set anywhere */
	ISOLATION_UNKNOWN,   /* the provider cannot tell */
	ISOLATION_NONE,
	ISOLATION_NAMESPACES, /* namespaces on the host's kernel */
	ISOLATION_CONTAINER,  /* namespaces and an image */
	ISOLATION_GVISOR,     /* a kernel in user space */
	ISOLATION_VM,
	ISOLATION_MICROVM,
};

#define ISOLATION_WORDS "none, namespaces, container, gVisor, VM or microVM"

/* "gVisor"; "not documented" for the first two. */
const char *isolation_name(enum sandbox_isolation isolation);
/* Parses a name, ignoring case; ISOLATION_UNSET for other words. */
enum sandbox_isolation isolation_parse(struct str name);
/* Appends the name as a JSON string, or null. */
void isolation_json(struct buf *out, enum sandbox_isolation isolation);

struct sandbox_price { /* price of a running sandbox */
	int64_t usd_s; /* trillionths of a US dollar a second; -1: unknown */
	/* The vendor bills actual use: this price is the maximum. */
	bool at_most;
};

enum sandbox_state {
	STATE_UNKNOWN,
	STATE_STARTING,
	STATE_RUNNING,
	STATE_STOPPED,
	STATE_GONE
};
struct sandbox_info { /* borrowed for the call */
	const char *id;
	const char *label; /* dcode's label, or "" */
	const char *owner; /* dcode's owner id, or "" */
	enum sandbox_state state;
	const char *image; /* or "" */
	int64_t created;   /* Unix seconds, 0 unknown */
	/* Unix seconds when the sandbox ends by itself, 0 unknown */
	int64_t ends;
	/* Of this sandbox; ISOLATION_UNSET: the client's applies. */
	enum sandbox_isolation isolation;
};

/* Receives the sandboxes of a list, one call each. Where a sink
 * is borrowed it may be NULL: then nobody wants to know. */
struct info_sink {
	void (*each)(void *arg, const struct sandbox_info *info);
	void *arg;
};
static inline void info_emit(const struct info_sink *sink,
			     const struct sandbox_info *info)
{
	if (sink)
		sink->each(sink->arg, info);
}

enum file_error {
	FILE_OK = 0,
	FILE_NOT_FOUND,
	FILE_PERMISSION_DENIED,
	FILE_IS_DIRECTORY,
	FILE_INVALID_PATH,
	FILE_NO_API, /* api_only, and the provider takes no files */
	FILE_OTHER,  /* see detail */
};
const char *file_error_name(enum file_error e); /* "file_not_found" */

/* One file to move. Directions differ in which callback is used. */
struct transfer {
	const char *path; /* absolute, in the sandbox */
	int64_t size;     /* upload: bytes that read() will give */
	int mode;      /* upload: permission bits, 0: 0644, kept if it exists */
	bool api_only; /* upload: never in a command's text (FILE_NO_API) */
	/* Upload: at most len bytes into room; 0 at the end, -1 aborts. */
	int64_t (*read)(void *arg, char *room, size_t len, struct error *err);
	/* Upload: read() begins again at the first byte, so that a cut can be
	 * made good; -1 (err filled) gives up. NULL: it cannot. */
	int (*rewind)(void *arg, struct error *err);
	/* Download: takes a chunk; -1 aborts. */
	int (*write)(void *arg, struct str chunk, struct error *err);
	void *arg;
	enum file_error error; /* out */
	char detail[160];      /* out: the provider's words for FILE_OTHER */
};

struct sandbox_ops; /* sandbox.h */

struct sandbox_region {
	const char *name; /* "eu" */
	const char *url;
};

/* How --workspace bind gives a sandbox the user's own directory. */
struct sandbox_binding {
	/* The provider's setting that asks for it, and its value; NULL: the
	 * directory itself, which only a new sandbox can get. */
	const char *key;
	const char *value;
	/* The setting of where the directory is in the sandbox. A linked
	 * worktree has to be at its own path, for git. NULL: the provider sees
	 * to that. */
	const char *path_key;
	/* Something else mounts it, which may be on another machine or map
	 * users: a file that is made there shows both. It cannot mount a
	 * submodule's repository. */
	bool by_engine;
};

/* Static description; a row of providers/table.c. */
struct sandbox_provider {
	const char *name; /* "docker" */
	/* A second name that users may say, or NULL: "podman". It is this
	 * provider in the ledger, in labels and in config.toml; open() is told
	 * by sandbox_client.also. */
	const char *also;
	const char *also_summary;
	const char *summary; /* one line for provider list */
	const char *noun;    /* of what an id is the number: "job"; or NULL */
	const char *workdir; /* default inside, absolute; NULL: the user's */
	unsigned flags;      /* SANDBOX_... */
	size_t max_command;  /* bytes of exec_request.command it can carry */
	int64_t lifetime_s;  /* default backstop */
	const struct setting *settings; /* rows, or NULL */
	const struct sandbox_ops *ops;
	/* Variables that may name its server, the strongest first, NULL ends;
	 * or NULL. */
	const char *const *url_env;
	/* The setting that may name it instead ("host"), or NULL. */
	const char *url_key;
	/* Names that its address may be given by (dcode auth set --base-url);
	 * ends in { 0 }, or NULL. */
	const struct sandbox_region *regions;
	/* What its vendor has published for what create() asks for with these
	 * settings; snapshot: another one than theirs, or NULL. Leaves *price
	 * alone where nobody knows. NULL: nobody does. */
	int (*price)(const struct settings *set, const char *snapshot,
		     struct sandbox_price *price, struct error *err);
	/* What keeps its commands from its host, as the vendor documents it. */
	enum sandbox_isolation isolation;
	/* Where its vendor says so, and when that was read; or NULL. */
	const char *isolation_source;
	const struct sandbox_binding *binding; /* NULL: not supported */
	/* Its own page of the manual, or NULL: that of all vendors. */
	const char *topic;
};

#endif
