/* sandbox.c - what every provider shares: checks, names, and what it lacks. */
/* SPDX-License-Identifier: MIT */
#include "sandbox/sandbox.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sandbox/transfer.h"

const char *file_error_name(enum file_error e)
{
	static const char *const names[] = {
		[FILE_OK] = "ok",
		[FILE_NOT_FOUND] = "file_not_found",
		[FILE_PERMISSION_DENIED] = "permission_denied",
		[FILE_IS_DIRECTORY] = "is_directory",
		[FILE_INVALID_PATH] = "invalid_path",
		[FILE_NO_API] = "no_file_api",
		[FILE_OTHER] = "other",
	};

	if ((size_t)e >= sizeof(names) / sizeof(names[0]))
		return "other";
	return names[e];
}

const struct sandbox_provider *sandbox_provider_find(const char *name)
{
	if (!name)
		return NULL;
	for (size_t i = 0; sandbox_providers[i]; i++)
		if (strcmp(sandbox_providers[i]->name, name) == 0)
			return sandbox_providers[i];
	return NULL;
}

/* A cancel is nobody's fault, and needs no name. */
static int blame(const struct sandbox_host *host, struct error *err)
{
	if (err->code != ERR_CANCELLED)
		error_wrap(err, "%s", host->provider->name);
	return -1;
}

int sandbox_host_open(struct sandbox_host *host,
		      const struct sandbox_provider *provider,
		      const struct settings *set, struct http *http,
		      struct error *err)
{
	*host = (struct sandbox_host){ .provider = provider,
				       .settings = set,
				       .http = http };
	if (!provider->ops->open || !provider->ops->open(host, set, err))
		return 0;
	blame(host, err);
	sandbox_host_close(host);
	return -1;
}

void sandbox_host_close(struct sandbox_host *host)
{
	if (host->provider && host->provider->ops->close)
		host->provider->ops->close(host);
	*host = (struct sandbox_host){ 0 };
}

static int made(struct sandbox *sb, const char *what, struct error *err)
{
	const struct sandbox_provider *p = sb->host->provider;

	if (!sb->id || !*sb->id) {
		error_set(err, ERR_PROTOCOL, "%s gave no sandbox id", what);
		return blame(sb->host, err);
	}
	if (!sb->workdir)
		sb->workdir = xstrdup(p->workdir ? p->workdir : "/");
	return 0;
}

int sandbox_create(struct sandbox *sb, struct sandbox_host *host,
		   const struct sandbox_spec *spec, const struct stop *stop,
		   struct error *err)
{
	const struct sandbox_provider *p = host->provider;

	*sb = (struct sandbox){ .host = host };
	if (spec->snapshot && !(p->flags & SANDBOX_SNAPSHOT))
		return error_set(err, ERR_USAGE, "%s has no snapshots",
				 p->name);
	if (spec->network != NETWORK_DEFAULT && !(p->flags & SANDBOX_NETWORK))
		return error_set(err, ERR_USAGE,
				 "%s cannot control its sandboxes' network",
				 p->name);
	if (stop_check(stop, err))
		return -1;
	if (spec->unclear)
		*spec->unclear = true;
	if (p->ops->create(sb, spec, stop, err)) {
		if (spec->unclear && err->code == ERR_UNREACHABLE && !sb->id)
			*spec->unclear = false;
		return blame(host, err);
	}
	return made(sb, "create", err);
}

int sandbox_attach(struct sandbox *sb, struct sandbox_host *host,
		   const char *id, const struct stop *stop, struct error *err)
{
	const struct sandbox_provider *p = host->provider;

	*sb = (struct sandbox){ .host = host };
	if (!(p->flags & SANDBOX_ATTACH) || !p->ops->attach)
		return error_set(err, ERR_USAGE,
				 "%s cannot attach to a sandbox by id",
				 p->name);
	if (stop_check(stop, err))
		return -1;
	if (p->ops->attach(sb, id, stop, err))
		return blame(host, err);
	return made(sb, "attach", err);
}

int sandbox_execute(struct sandbox *sb, const struct exec_request *req,
		    struct exec_result *res, const struct stop *stop,
		    struct error *err)
{
	const struct sandbox_provider *p = sb->host->provider;

	*res = (struct exec_result){ .exit_code = -1 };
	if (stop_check(stop, err))
		return -1;
	if (req->command.len && memchr(req->command.ptr, 0, req->command.len))
		return error_set(err, ERR_USAGE,
				 "the command contains a NUL byte");
	if (p->max_command && req->command.len > p->max_command)
		return error_set(err, ERR_LIMIT,
				 "the command is longer than %zu bytes, the "
				 "most that %s takes",
				 p->max_command, p->name);
	if ((req->input.len || req->dialog || req->source) &&
	    !(p->flags & SANDBOX_STDIN))
		return error_set(err, ERR_USAGE,
				 "%s cannot give a command input", p->name);
	if (p->ops->execute(sb, req, res, stop, err))
		return blame(sb->host, err);
	return 0;
}

void sandbox_settle(struct sandbox *sb, char notice[SANDBOX_NOTICE])
{
	notice[0] = '\0';
	if (sb->host && sb->host->provider->ops->settle && sb->id)
		sb->host->provider->ops->settle(sb, notice);
}

int sandbox_upload(struct sandbox *sb, struct transfer *files, size_t n,
		   const struct stop *stop, struct error *err)
{
	const struct sandbox_ops *ops = sb->host->provider->ops;

	if (stop_check(stop, err))
		return -1;
	if (!ops->upload)
		return transfer_upload(sb, files, n, stop, err);
	return ops->upload(sb, files, n, stop, err) ? blame(sb->host, err) : 0;
}

int sandbox_download(struct sandbox *sb, struct transfer *files, size_t n,
		     const struct stop *stop, struct error *err)
{
	const struct sandbox_ops *ops = sb->host->provider->ops;

	if (stop_check(stop, err))
		return -1;
	if (!ops->download)
		return transfer_download(sb, files, n, stop, err);
	return ops->download(sb, files, n, stop, err) ? blame(sb->host, err)
						      : 0;
}

int sandbox_remove(struct sandbox_host *host, const char *id,
		   const struct stop *stop, struct error *err)
{
	return host->provider->ops->remove(host, id, stop, err)
		       ? blame(host, err)
		       : 0;
}

int sandbox_find(struct sandbox_host *host, const char *owner,
		 void (*each)(void *arg, const struct sandbox_info *info),
		 void *arg, const struct stop *stop, struct error *err)
{
	const struct sandbox_ops *ops = host->provider->ops;

	return ops->list(host, owner, each, arg, stop, err) ? blame(host, err)
							    : 0;
}

int sandbox_look(struct sandbox_host *host, const char *id,
		 void (*each)(void *arg, const struct sandbox_info *info),
		 void *arg, const struct stop *stop, struct error *err)
{
	const struct sandbox_ops *ops = host->provider->ops;

	return ops->info(host, id, each, arg, stop, err) ? blame(host, err) : 0;
}

int sandbox_extend(struct sandbox *sb, int64_t lifetime_s,
		   const struct stop *stop, struct error *err)
{
	const struct sandbox_ops *ops = sb->host->provider->ops;

	return ops->extend(sb, lifetime_s, stop, err) ? blame(sb->host, err)
						      : 0;
}

/* Engines and vendors give a name to the new one without a word. */
static int check_name_free(struct sandbox_host *host, const char *name,
			   const struct stop *stop, struct error *err)
{
	const struct sandbox_ops *ops = host->provider->ops;
	int rc = ops->find_snapshot ? ops->find_snapshot(host, name, stop, err)
				    : 0;

	if (rc <= 0)
		return rc;
	error_set(err, ERR_USAGE, "there is a snapshot '%s' already", name);
	return error_hint(err, "Choose another name, or replace it: --force");
}

int sandbox_snapshot(struct sandbox *sb, const char *name, bool replace,
		     const struct stop *stop, struct error *err)
{
	const struct sandbox_ops *ops = sb->host->provider->ops;
	int rc = replace ? 0 : check_name_free(sb->host, name, stop, err);

	if (rc == 0)
		rc = ops->snapshot(sb, name, replace, stop, err);
	return rc ? blame(sb->host, err) : 0;
}

bool sandbox_acts_on_host(const struct sandbox *sb)
{
	return sb->mounts.n > 0 ||
	       (sb->host && sb->host->provider->flags & SANDBOX_HOST);
}

void sandbox_check(struct sandbox *sb, bool last,
		   void (*each)(void *arg, const char *line), void *arg)
{
	if (sb->host && sb->host->provider->ops->check)
		sb->host->provider->ops->check(sb, last, each, arg);
}

void sandbox_release(struct sandbox *sb)
{
	if (sb->host && sb->host->provider && sb->host->provider->ops->discard)
		sb->host->provider->ops->discard(sb);
	free(sb->id);
	free(sb->workdir);
	mounts_release(&sb->mounts);
	*sb = (struct sandbox){ 0 };
}
