/* tls.h - the proxy's two ends of TLS: the client's and the server's. */
/* SPDX-License-Identifier: MIT */
#ifndef EGRESS_TLS_TLS_H
#define EGRESS_TLS_TLS_H

/*
 * To put a secret into a request, the proxy must read it: it takes the place of
 * the server towards the client, and of the client towards the server. For the
 * first it needs a certificate that the sandbox trusts. So each run has a
 * certificate authority of its own, whose key only the proxy's process has.
 * OpenSSL is loaded only for this.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum { TLS_CERTIFICATE = 4096 }; /* bytes, of one in PEM with NUL */

struct tls; /* the authority, and what both ends share; thread-safe */
struct tls_stream;

/* Loads OpenSSL and the authority. memory is a file in memory with it: if it is
 * empty, a new one is made and written to it. */
int tls_open(struct tls **t, int memory, struct error *err);
/* Reads the certificate, without the key, from such a file. False: there is
 * none yet. */
bool tls_read_certificate(int memory, char pem[TLS_CERTIFICATE]);

/* Begin TLS on a connected, non-blocking socket, as the server `host` or as its
 * client. The socket must stay open. NULL on failure. */
struct tls_stream *tls_accept(struct tls *t, int fd, const char *host);
struct tls_stream *tls_connect(struct tls *t, int fd, const char *host);
void tls_free(struct tls_stream *s); /* NULL is allowed */

/* What the calls below return beside a number of bytes. */
enum {
	TLS_FAILED = -1,
	TLS_WANTS_READ = -2, /* call again when the socket is readable */
	TLS_WANTS_WRITE = -3,
};
/* Returns 1 when the handshake is over. The server's certificate is then known
 * to be the host's. */
int tls_handshake(struct tls_stream *s);
/* Returns 0 at the end of the stream. */
long tls_read(struct tls_stream *s, char *room, size_t len);
long tls_write(struct tls_stream *s, const char *bytes, size_t len);
/* Tells the other side that nothing follows. */
void tls_end(struct tls_stream *s);

/* Why a handshake has failed. */
enum tls_fault {
	TLS_OTHER,
	TLS_OTHER_NAME, /* the client named another host, or none */
	TLS_HTTP2_ONLY, /* the client does not speak HTTP/1.1 */
	TLS_UNTRUSTED,  /* the other side's certificate, or ours there */
};
enum tls_fault tls_fault(const struct tls_stream *s);

#endif
