/* auth_challenge.h - the parameters of WWW-Authenticate. */
/* SPDX-License-Identifier: MIT */
#ifndef NET_AUTH_CHALLENGE_H
#define NET_AUTH_CHALLENGE_H

#include "base/str.h"

/* The value of NAME=VALUE or NAME="VALUE" in a challenge (RFC 9110 §11.2),
 * owned; NULL: there is none, or it has more than 4096 bytes. */
char *auth_challenge_value(struct str challenge, const char *name);

#endif
