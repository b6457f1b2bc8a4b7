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

/* Returns "gVisor", ...; "not documented" for ISOLATION_UNSET and
 * ISOLATION_UNKNOWN. */
const char *isolation_name(enum sandbox_isolation isolation);
/* Parses a name, ignoring case; ISOLATION_UNSET for other words. */
enum sandbox_isolation isolation_parse(struct str name);
/* Appends the name as a JSON string, or null. */
void isolation_json(struct buf *out, enum sandbox_isolation isolation);

struct sandbox_price { /* price of a running sandbox */
	int64_t usd_s; /* trillionths of a US dollar a second; -1: unknown */
	/* the vendor bills actual use, so this price is a maximum */
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
	/* of this sandbox; ISOLATION_UNSET: see sandbox_isolation() */
	enum sandbox_isolation isolation;
};

/* Receives the sandboxes of a list: `each` is called for each. NULL:
 * ignored. */
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
	/* api_only is set, but the provider has no upload operation */
	FILE_NO_API,
	FILE_OTHER, /* any other error; detail describes it */
};
/* static: "file_not_found", ... */
const char *file_error_name(enum file_error e);

/* A file to transfer. Uploads use read and rewind, downloads write. */
struct transfer {
	const char *path; /* absolute, in the sandbox */
	int64_t size;     /* upload: bytes that read() returns */
	/* upload: permission bits; 0: 0644 for a new file, else unchanged */
	int mode;
	/* upload: true if the bytes may only go through the provider's file
	 * API, never into a command's text; see FILE_NO_API */
	bool api_only;
	/* Upload: writes at most len bytes into room; 0 at the end, -1
	 * aborts. */
	int64_t (*read)(void *arg, char *room, size_t len, struct error *err);
	/* Upload: restarts read() at the first byte, so that a broken upload
	 * can be repeated; -1 (err filled) gives up. NULL: not possible. */
	int (*rewind)(void *arg, struct error *err);
	/* Download: receives a chunk; -1 aborts. */
	int (*write)(void *arg, struct str chunk, struct error *err);
	void *arg;
	enum file_error error; /* out */
	char detail[160];      /* out: message, if error is FILE_OTHER */
};

struct network_limits; /* network/network.h */
struct secret_limits;  /* secrets/secrets.h */
struct sandbox_ops;    /* sandbox.h */

struct sandbox_region {
	const char *name; /* "eu" */
	const char *url;
};

/* How --workspace bind gives a sandbox the user's own directory. */
struct sandbox_binding {
	/* The setting of the provider that requests the binding, and the value
	 * for it. NULL: the value is the directory itself, which only a new
	 * sandbox can get. */
	const char *key;
	const char *value;
	/* The setting for the directory's path in the sandbox. A linked
	 * worktree must be at its original path there, because git stores
	 * absolute paths. NULL: the provider chooses the path. */
	const char *path_key;
	/* A container engine mounts the directory. The engine may run on
	 * another machine, or map user ids: after mounting, dcode creates a
	 * file in the directory through the sandbox and checks where it appears
	 * and who owns it. The engine cannot mount the repository of a
	 * submodule. */
	bool by_engine;
};

/* Static description of a provider; providers/table.c lists them. */
struct sandbox_provider {
	const char *name; /* "docker" */
	/* A second name that users may type, such as "podman", or NULL. The
	 * ledger, labels and config.toml use the first name.
	 * sandbox_client.also tells open() which one was typed. */
	const char *also;
	const char *also_summary;
	const char *summary; /* one line for provider list */
	/* what its ids identify, for messages ("job 7"): "job"; or NULL */
	const char *noun;
	/* default workdir in the sandbox, absolute; NULL: the user's workdir */
	const char *workdir;
	unsigned flags;     /* flags SANDBOX_... of sandbox.h */
	size_t max_command; /* maximum bytes of exec_request.command */
	int64_t lifetime_s; /* default lifetime */
	/* descriptions of its settings, or NULL */
	const struct setting *settings;
	const struct sandbox_ops *ops;
	/* Environment variables that can set the address of its server, highest
	 * precedence first, NULL-terminated; or NULL. */
	const char *const *url_env;
	/* Key of the setting that can set the address instead ("host"), or
	 * NULL. */
	const char *url_key;
	/* Short names for its addresses (dcode auth set --base-url eu); ends
	 * with { 0 }; or NULL. */
	const struct sandbox_region *regions;
	/* Sets *price to the vendor's published price of a sandbox that
	 * create() would make with these settings. snapshot: replaces the
	 * configured one unless NULL. Leaves *price unchanged if the price is
	 * unknown. The function pointer is NULL if it is always unknown. */
	int (*price)(const struct settings *set, const char *snapshot,
		     struct sandbox_price *price, struct error *err);
	/* Removes what dcode processes that were killed left on this machine.
	 * Called once by each dcode; fast if there is nothing to remove. NULL:
	 * nothing can be left. */
	void (*sweep)(const char *settings_dir);
	/* How its commands are isolated from the host, according to the
	 * vendor. */
	enum sandbox_isolation isolation;
	/* The document that states the isolation, and when it was read; or
	 * NULL. */
	const char *isolation_source;
	const struct sandbox_binding *binding; /* NULL: not supported */
	/* The lists of hosts that it can enforce; NULL: none. */
	const struct network_limits *network;
	/* The secrets that it can put into requests; NULL: none. */
	const struct secret_limits *secrets;
	/* name of its manual page, or NULL: the page for all vendors */
	const char *topic;
};

#endif
