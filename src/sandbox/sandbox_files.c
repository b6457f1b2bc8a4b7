/* sandbox_files.c - moves files, also where a provider only runs commands. */
/* SPDX-License-Identifier: MIT */
#include "sandbox/background.h"
#include "sandbox/sandbox.h"
#include "sandbox/transfer.h"

int sandbox_upload(struct sandbox *sb, struct transfer *files, size_t n,
		   const struct stop *stop, struct error *err)
{
	const struct sandbox_ops *ops = sb->client->provider->ops;

	if (stop_check(stop, err) ||
	    background_wait(sb->background, stop, err) ||
	    sandbox_await_kills(sb, stop, err))
		return -1;
	if (!ops->upload)
		return transfer_upload(sb, files, n, stop, err);
	return ops->upload(sb, files, n, stop, err)
		       ? sandbox_blame(sb->client, err)
		       : 0;
}

int sandbox_download(struct sandbox *sb, struct transfer *files, size_t n,
		     const struct stop *stop, struct error *err)
{
	const struct sandbox_ops *ops = sb->client->provider->ops;

	if (stop_check(stop, err) || sandbox_await_kills(sb, stop, err))
		return -1;
	if (!ops->download)
		return transfer_download(sb, files, n, stop, err);
	return ops->download(sb, files, n, stop, err)
		       ? sandbox_blame(sb->client, err)
		       : 0;
}
