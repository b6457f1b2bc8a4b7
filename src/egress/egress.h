/* egress.h - a proxy that lets a sandbox reach only the listed hosts. */
/* SPDX-License-Identifier: MIT */
#ifndef EGRESS_EGRESS_H
#define EGRESS_EGRESS_H

/*
 * For sandboxes that run on this machine in a network namespace of their own,
 * which has no interface but the loopback.
 *
 * dcode starts itself as a child, `dcode --egress-proxy`. The child enters the
 * namespace for a moment (attach.c) and makes sockets there: a DNS server at
 * 127.0.0.1:53, and listeners for the ports of the list. A socket stays in the
 * namespace in which it was made, so the child serves them from outside, and
 * nothing of dcode runs inside. The DNS server answers a listed name with an
 * address of a pool that only the sandbox can reach (names.c). A connection to
 * that address is a connection to that name: the child resolves the name on
 * this machine, checks the address, connects, and passes the bytes on
 * (connection.c). It looks at the first ones: the name in a TLS greeting
 * (hello.c) or in an HTTP request (request.c) must be the same.
 *
 * There is no other way out. If the child or dcode ends, the sockets close and
 * the sandbox has no network. Begin reading at egress_start(), then serve.c.
 */
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/stop.h"
#include "sandbox/network/network.h"
#include "sandbox/secrets/secrets.h"

#define EGRESS_ARGUMENT "--egress-proxy"
/* The sandbox's /etc/resolv.conf. */
#define EGRESS_RESOLV_CONF "nameserver 127.0.0.1\n"

/* What the proxy can enforce. */
extern const struct network_limits egress_limits;

/* The secrets that it can put into requests. */
extern const struct secret_limits egress_secret_limits;

struct egress; /* a running proxy */

/* What a proxy enforces. */
struct egress_policy {
	/* Copied. A list; or full, if the proxy is there only to put in
	 * secrets. Of any other, it lets nothing through. */
	const struct network *network;
	/* with values, or NULL; its list must live as long as the proxy */
	const struct secrets *secrets;
};

/* ERR_USAGE if a list that egress_limits allows cannot be enforced: an address
 * without a port, too many ports. */
int egress_check(const struct network *n, struct error *err);
/* Starts the proxy for the network namespace of the process `inside`, which is
 * not this process's. Fails if that namespace cannot be entered; the caller
 * must then end the sandbox. ERR_BUSY: another dcode serves it. */
int egress_start(struct egress **e, const struct egress_policy *p, pid_t inside,
		 const struct stop *stop, struct error *err);
/* Writes a bundle of certificates: those that this machine trusts, and that of
 * the proxy's authority, which stays the same until egress_end(). The file may
 * be mounted in the sandbox. */
int egress_write_trust(struct egress *e, const char *path, struct error *err);
/* The same for the container whose first process is pid: writes TRUST_INSIDE
 * there. Does nothing without secrets. */
int egress_write_trust_inside(struct egress *e, pid_t pid, struct error *err);
/* Makes the proxy enforce the list n. Connections that n does not allow end. A
 * list with a port or an address that the old one did not have needs another
 * proxy: then all connections end. If that fails, the old list holds again; if
 * that fails too, the sandbox has no network. */
int egress_change(struct egress *e, const struct network *n,
		  const struct stop *stop, struct error *err);
/* Copies the list that the proxy enforces. Any thread. */
void egress_copy_list(struct egress *e, struct network *out);
/* True if the process is in the network that the proxy serves. False after an
 * egress_change() that left no proxy. Any thread. */
bool egress_serves(struct egress *e, pid_t inside);
/* From now on connections to names that the list neither allows nor denies wait
 * for the gate, a minute at most. Its ask may call egress_change(). Borrowed
 * until egress_end(). Not NULL. */
void egress_set_gate(struct egress *e, const struct network_gate *gate);
/* Writes one line for each host that was refused since the last call to room,
 * of size bytes: "network: ads.example:443 refused (not in the network list)".
 * The names come from the sandbox; they are clean. Also tells once that the
 * proxy has ended. "" if there is nothing to tell. Any thread. */
void egress_report(struct egress *e, char *room, size_t size);
/* Adds to *c what was connected to, or refused, since the last call. Any
 * thread. */
void egress_take(struct egress *e, struct network_contacts *c);
/* Ends the proxy and waits for it. NULL is allowed. */
void egress_end(struct egress *e);

/* Main function of the child. The result is its exit status. */
int egress_main(int argc, char **argv);

#endif
