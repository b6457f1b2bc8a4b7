/* network.h - which hosts a sandbox may reach. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_NETWORK_NETWORK_H
#define SANDBOX_NETWORK_NETWORK_H

/*
 * The user writes "none", "full" or a list of hosts: in config.toml, with
 * --sandbox-network, in the machine's policy. parse.c reads such a list,
 * choose.c decides which of them a new sandbox gets, match.c compares lists and
 * hosts, limits.c refuses a list that a provider cannot enforce, contacts.c
 * adds up what commands have connected to. Begin reading at struct network.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/stop.h"
#include "config/settings.h"

enum sandbox_network {
	NETWORK_DEFAULT = 0, /* nothing was chosen */
	NETWORK_FULL,
	NETWORK_NONE,
	NETWORK_LIST,
};

enum { NETWORK_RULES_MAX = 1000 }; /* entries in one list */

struct network_rule {
	bool denies; /* written with "!" */
	/* "*.x": all hosts below x, at any depth, but not x itself */
	bool wild;
	int family; /* 4 or 6: an address or a network; 0: a name */
	char *host; /* owned: "crates.io", also for "*.crates.io"; "10.0.0.0" */
	unsigned bits; /* length of the network's prefix: 32 for one address */
	unsigned char address[16];
	/* 0: for a name ports 80 and 443, for an address every port */
	unsigned port;
	/* owned: what was written, if a preset contains the rule; or NULL */
	char *preset;
};

struct network { /* initialise with { 0 }; release with network_release() */
	enum sandbox_network mode;
	/* with NETWORK_LIST: all hosts but the denied ones may be reached */
	bool open;
	struct network_rule *rules; /* with NETWORK_LIST */
	size_t n;
	/* owned: where it was written ("--sandbox-network",
	 * "/etc/x.toml:3:1: network.allow"), or NULL */
	char *source;
};

/*
 * Replaces *n by the list: "none", "full", or hosts. A host is "crates.io",
 * "*.npmjs.org" (not npmjs.org itself), "github.com:22", "10.0.0.0/8",
 * "[2001:db8::1]:80", "preset:python"; "!host" denies one, and "full" with
 * such entries allows all others. An empty list means "none". ERR_USAGE names
 * the entry and says what to write instead; *n is then released.
 */
int network_parse(struct network *n, const char *const *list, size_t count,
		  struct error *err);
/* Adds one entry, such as "crates.io", to a list. ERR_USAGE if it is not a
 * host, or if n is not a list. */
int network_add(struct network *n, struct str entry, struct error *err);
void network_copy(struct network *to, const struct network *from);
void network_release(struct network *n);
/* Appends "none", "full" or "crates.io, *.npmjs.org:443, !ads.example". */
void network_print(const struct network *n, struct buf *out);
/* Append and read a list as lines, one for each entry: "crates.io\n". Reading
 * replaces *n, and fails like network_parse(). */
void network_print_lines(const struct network *n, struct buf *out);
int network_parse_lines(struct network *n, struct str text, struct error *err);
/* Appends one entry in the form in which it is written: "*.npmjs.org:443". */
void network_print_rule(const struct network_rule *r, struct buf *out);

/* What projects of one kind need. Arrays end with { 0 }. */
struct network_preset {
	const char *name; /* "python" */
	const char *help; /* what it is for, one line */
	const char *hosts[16];
};
extern const struct network_preset network_presets[]; /* presets.c */

/* True if a sandbox with this network may connect to the host and port. host is
 * one entry as for network_parse(), without "!": *rule is the entry that
 * decides, or NULL if none does. */
bool network_allows(const struct network *n, const struct network_rule *host,
		    const struct network_rule **rule);
/* True if n allows nothing that the ceiling does not. Otherwise *beyond is the
 * first entry that exceeds it; NULL: n is open. */
bool network_within(const struct network *n, const struct network *ceiling,
		    const struct network_rule **beyond);

/* What a provider can enforce. A provider without this struct can enforce no
 * list. */
enum {
	NETWORK_CAN_PORTS = 1 << 0,
	NETWORK_CAN_ADDRESSES = 1 << 1, /* single IPv4 addresses */
	NETWORK_CAN_NETWORKS = 1 << 2,  /* IPv4 networks */
	NETWORK_CAN_IPV6 = 1 << 3,      /* the same, of IPv6 */
	NETWORK_CAN_DENY_NAMES = 1 << 4,
	NETWORK_CAN_DENY_ADDRESSES = 1 << 5,
	/* one list may allow some hosts and deny others */
	NETWORK_CAN_MIX = 1 << 6,
	/* "*.x" also opens x */
	NETWORK_WILD_HAS_APEX = 1 << 7,
	/* a list has either names or addresses */
	NETWORK_NAMES_OR_ADDRESSES = 1 << 8,
	/* names are reached on port 443 only */
	NETWORK_TLS_ONLY = 1 << 9,
};
struct network_limits {
	unsigned can;     /* NETWORK_... */
	size_t names;     /* the most names in a list; 0: no limit */
	size_t addresses; /* the same for addresses and networks */
	/* What the list does not cover at this vendor: a sentence for the user;
	 * or NULL. */
	const char *note;
};
/* Returns 0 if the provider can enforce the network. Otherwise ERR_USAGE names
 * the entry and what the provider lacks. limits may be NULL. */
int network_check(const struct network *n, const struct network_limits *limits,
		  const char *provider, struct error *err);

enum {
	NETWORK_HOST = 254,         /* bytes of a host in a contact, with NUL */
	NETWORK_CONTACTS_MAX = 256, /* different ones between two readings */
};
#define NETWORK_REACHED "allowed" /* verdicts of a contact */
#define NETWORK_FAILED "failed"   /* allowed, but could not be reached */
/* What commands have connected to, or tried to, as the proxy reports it. */
struct network_contact {
	char host[NETWORK_HOST]; /* printable ASCII; the sandbox chose it */
	unsigned port;           /* 0: a DNS question only */
	/* NETWORK_REACHED, NETWORK_FAILED, or in one word why it was refused;
	 * static */
	const char *verdict;
	uint64_t up, down; /* bytes */
	uint64_t count;
	int64_t first, last; /* Unix ms */
};
/* Initialise with { 0 }. */
struct network_contacts {
	struct network_contact *list; /* owned */
	size_t n;
};
/* Host of the contacts with more different hosts than fit, without a port. */
#define NETWORK_OTHERS "(other hosts)"
/* Adds one contact to those with the same host, port and verdict. */
void network_contacts_add(struct network_contacts *c,
			  const struct network_contact *one);
bool network_contact_refused(const struct network_contact *c);
void network_contacts_release(struct network_contacts *c);

/* Decides about a host that the list neither allows nor denies, while the
 * connection to it waits. */
struct network_gate {
	/* Returns true once the host has been opened. Called on a thread of its
	 * own, for one host at a time, and ends soon after stop. */
	bool (*ask)(void *arg, const char *host, unsigned port,
		    const struct stop *stop);
	void *arg;
};

struct sandbox_client;
/*
 * Replaces *out by the network of a new sandbox: flag (NULL or NETWORK_DEFAULT:
 * none was given), else the provider's setting `network`, else [network] allow,
 * else NETWORK_DEFAULT. ERR_POLICY if it allows more than the machine's policy;
 * ERR_CONFIG if it is malformed. Does not check what the provider can enforce:
 * see sandbox_choose_network().
 */
int network_choose(struct network *out, const struct sandbox_client *client,
		   const struct network *flag, struct error *err);
/* Replaces *out by what an existing sandbox must not exceed: a list of the
 * settings, or what the machine's policy leaves of them; else
 * NETWORK_DEFAULT. */
int network_require(struct network *out, const struct sandbox_client *client,
		    struct error *err);

#endif
