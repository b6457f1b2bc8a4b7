/* address.h - which network addresses a page may be fetched from. */
/* SPDX-License-Identifier: MIT */
#ifndef WEB_ADDRESS_H
#define WEB_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

#include "base/buf.h"

enum address_reach {
	ADDRESS_PUBLIC = 1, /* of the Internet */
	ADDRESS_PRIVATE,    /* of this machine or its networks */
	ADDRESS_NEVER,      /* link-local, metadata, multicast, reserved */
};

/*
 * The rule against a model that is talked into reading what only this machine
 * can reach (server-side request forgery): private networks, the machine's own
 * services, and the credentials that clouds serve at 169.254.169.254. By the
 * special-purpose registries of IANA (read 2026-11). IPv6 is public within
 * 2000::/3 only; an IPv4 address within an IPv6 one (mapped, NAT64, 6to4)
 * counts as itself, Teredo never.
 */
enum address_reach address_reach(const struct sockaddr *a);
/* A whole dotted quad, or an IPv6 address without brackets and zone. */
bool address_parse(struct str text, struct sockaddr_storage *a);
/* True for what some programs read as an IPv4 address: a last label that is a
 * number ("2130706433", "0x7f.1", "127.1"; WHATWG URL, "ends in a number"). */
bool address_is_numeric(struct str host);
/* "192.0.2.1", "[2001:db8::1]" */
void address_print(const struct sockaddr *a, char room[64]);

#endif
