/* sha1.h - SHA-1 (RFC 3174), for the opening handshake of WebSocket only. */
/* SPDX-License-Identifier: MIT */
#ifndef NET_SHA1_H
#define NET_SHA1_H

#include "base/str.h"

enum { SHA1_LEN = 20 };

/* No secret depends on it: RFC 6455 §4.2.2 uses it to show that the server
 * has read the request. Nothing else may call it. */
void sha1(struct str data, unsigned char out[SHA1_LEN]);

#endif
