/* loopback.h - tells addresses of this machine from others. */
/* SPDX-License-Identifier: MIT */
#ifndef NET_LOOPBACK_H
#define NET_LOOPBACK_H

#include <stdbool.h>

#include "base/buf.h"

/* The host of a URL is localhost, ::1 or a whole address 127.x.y.z. Anything
 * that could be read in two ways (a user, odd characters) is not. */
bool loopback_url(struct str url);
/* May a key be sent there? https, or http to an address of this machine, with
 * nothing after the path. */
bool loopback_or_https(struct str url);

#endif
