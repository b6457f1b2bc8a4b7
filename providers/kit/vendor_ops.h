/* vendor_ops.h - what serves as rows of a vendor's struct sandbox_ops. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_KIT_VENDOR_OPS_H
#define PROVIDERS_KIT_VENDOR_OPS_H

#include "sandbox/sandbox.h"

void vendor_close(struct sandbox_client *client);
int vendor_create(struct sandbox *sb, const struct sandbox_spec *spec,
		  const struct stop *stop, struct error *err);
int vendor_attach(struct sandbox *sb, const char *id, const struct stop *stop,
		  struct error *err);
int vendor_list(struct sandbox_client *client, const char *owner,
		const struct info_sink *sink, const struct stop *stop,
		struct error *err);
int vendor_info(struct sandbox_client *client, const char *id,
		const struct info_sink *sink, const struct stop *stop,
		struct error *err);
int vendor_extend(struct sandbox *sb, int64_t lifetime_s,
		  const struct stop *stop, struct error *err);
int vendor_execute(struct sandbox *sb, const struct exec_request *req,
		   struct exec_result *res, const struct stop *stop,
		   struct error *err);
int vendor_upload(struct sandbox *sb, struct transfer *files, size_t n,
		  const struct stop *stop, struct error *err);
int vendor_download(struct sandbox *sb, struct transfer *files, size_t n,
		    const struct stop *stop, struct error *err);
int vendor_stop(struct sandbox_client *client, const char *id, int64_t *keep_s,
		const struct stop *stop, struct error *err);
int vendor_remove(struct sandbox_client *client, const char *id,
		  const struct stop *stop, struct error *err);
void vendor_discard(struct sandbox *sb);

#endif
