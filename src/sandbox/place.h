/* place.h - where the tools will act, before there is a sandbox. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_PLACE_H
#define SANDBOX_PLACE_H

#include <stdbool.h>

struct sandbox;
struct sandbox_client;

/* The working directory of the sandbox that create() will make, or attach()
 * attaches to, none of whose directories is the user's; "." where no prompt
 * names it; NULL: only the sandbox can tell. Borrowed from the settings. */
const char *place_expect(const struct sandbox_client *client, bool attaches);
/* Whether the sandbox is as place_expect() said before. */
bool place_is(const struct sandbox *sb, const char *expected);

#endif
