/* snapshot.h - makes, finds and deletes snapshots of sandboxes. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_SNAPSHOT_H
#define SANDBOX_SNAPSHOT_H

#include "sandbox/sandbox.h"

/* Wrappers around the operations of a provider: always call these. Errors begin
 * with the provider's name. */

/* True if snapshot_make() may be called. */
bool snapshot_can_make(const struct sandbox_client *client);
/* replace: an existing snapshot of this name is replaced; otherwise it is an
 * error (ERR_USAGE). */
int snapshot_make(struct sandbox *sb, const char *name, bool replace,
		  const struct stop *stop, struct error *err);
/* True if all functions here may be called. */
bool snapshot_can_remove(const struct sandbox_client *client);
/* 1: a snapshot of this name exists; 0: none. *id: owned, NULL if none: see
 * sandbox_ops.find_snapshot. */
int snapshot_find(struct sandbox_client *client, const char *name, char **id,
		  const struct stop *stop, struct error *err);
/* Deletes the snapshot of this name, if it has this id (NULL: any). 0: it is
 * deleted; 1: there is none, or another one has the name. ERR_BUSY: a sandbox
 * needs it. */
int snapshot_remove(struct sandbox_client *client, const char *name,
		    const char *id, const struct stop *stop, struct error *err);

#endif
