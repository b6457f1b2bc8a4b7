/* loopback.h - recognizes addresses of this machine. */
/* SPDX-License-Identifier: MIT */
#ifndef NET_LOOPBACK_H
#define NET_LOOPBACK_H

#include <stdbool.h>

#include "base/buf.h"

/* True if the URL's host is localhost, ::1 or a complete address 127.x.y.z.
 * False if it is ambiguous (a user, unusual characters). */
bool loopback_url(struct str url);
/* True if a key may be sent to this address: https, or http on this machine,
 * without a query or fragment. */
bool loopback_or_https(struct str url);

#endif
