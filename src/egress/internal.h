/* internal.h - what the files of the proxy's process share. */
/* SPDX-License-Identifier: MIT */
#ifndef EGRESS_INTERNAL_H
#define EGRESS_INTERNAL_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "sandbox/network/network.h"

enum {
	EGRESS_NAME = 254, /* bytes of a name, with NUL */
	EGRESS_PORTS = 64, /* different ports of a list */
	EGRESS_WAIT_MS = 60000,
	EGRESS_READY = 0x65677231,
	EGRESS_BUSY,             /* the sandbox has such sockets already */
	EGRESS_CONTROL_FD = 3,   /* socket to dcode */
	EGRESS_NAMESPACE_FD = 4, /* of the sandbox */
	EGRESS_LIST_FD = 5,      /* a file: the list's entries, a line each */
	/* Only with EGRESS_SECRETS as an argument, files in memory: */
	EGRESS_SECRETS_FD = 6,   /* secrets_pack() */
	EGRESS_AUTHORITY_FD = 7, /* for tls_open() */
};
#define EGRESS_SECRETS "secrets"

/* One connection or question that is over; a packet from the child to dcode. */
struct egress_record {
	char host[EGRESS_NAME]; /* clean; from the sandbox */
	uint16_t port;          /* 0: a question to the DNS server */
	uint16_t verdict;       /* enum egress_verdict */
	uint64_t up, down;      /* bytes */
};
enum egress_verdict {
	EGRESS_ALLOWED,
	EGRESS_UNLISTED,
	EGRESS_PRIVATE,  /* the name leads to a private address */
	EGRESS_MISMATCH, /* TLS or HTTP names another host */
	EGRESS_PLAIN,    /* neither TLS nor HTTP, on a port of the two */
	EGRESS_FAILED,   /* could not connect */
	/* on connections that carry a secret: */
	EGRESS_SECRET,    /* a placeholder was sent where it does not belong */
	EGRESS_PINNED,    /* the client does not accept dcode's certificate */
	EGRESS_HTTP2,     /* the client speaks only HTTP/2 */
	EGRESS_SERVER,    /* the server's certificate is not trusted here */
	EGRESS_ANSWER,    /* the answer could not be searched for the secret */
	EGRESS_SIGNATURE, /* the request could not be signed */
	EGRESS_WAITING, /* not over: waits for dcode, EGRESS_WAIT_MS at most */
};

/* What dcode tells the child; a packet. */
struct egress_order {
	uint32_t kind;          /* enum egress_order_kind */
	uint32_t port;          /* of host */
	char host[EGRESS_NAME]; /* of EGRESS_REFUSE */
};
enum egress_order_kind {
	/* With the descriptor of a new list, whose ports and addresses the
	 * sockets serve already. Connections that it does not allow end. */
	EGRESS_REPLACE = 1,
	EGRESS_ASK,    /* connections to unlisted hosts wait from now on */
	EGRESS_REFUSE, /* those to host and port stop waiting */
};

/* Returns the ports that the list opens, ascending: 80, 443 and those in it.
 * SIZE_MAX if there are more than EGRESS_PORTS. */
size_t egress_ports(const struct network *n, unsigned ports[EGRESS_PORTS]);

/* attach.c: sockets in the sandbox's namespace. */
struct egress_sockets {
	int dns_udp, dns_tcp;
	int listeners[EGRESS_PORTS]; /* one for each port of the list */
	size_t n;
};
/* Makes the sockets. Call while the process has one thread. */
int egress_attach(int namespace_fd, const struct network *n,
		  struct egress_sockets *s, struct error *err);

/* names.c: the pool of addresses that stand for names. Thread-safe. */
/* Answers a DNS question of len bytes. Returns the length of the answer; 0: do
 * not answer. refused gets the name if it is not listed, else "". asks: a name
 * that the list does not deny counts as listed, because its connection will
 * wait. room: bytes of `out`, at least 512. */
size_t names_answer(const struct network *n, bool asks,
		    const unsigned char *question, size_t len,
		    unsigned char *out, char refused[EGRESS_NAME]);
/* Finds the name that stands for an address of the pool. */
bool names_find(struct in_addr address, char name[EGRESS_NAME]);
/* True if the address is one of the pool. */
bool names_has(struct in_addr address);

/* hello.c: the greeting of TLS. */
enum hello_result { HELLO_MORE, HELLO_NAME, HELLO_BAD };
/* Reads the server's name from the first bytes that a TLS client sends. name is
 * lower case, "" if the client names none. HELLO_BAD: not a greeting, or one
 * that hides the name (encrypted ClientHello). */
enum hello_result hello_read(const unsigned char *p, size_t len,
			     char name[EGRESS_NAME]);

/* request.c: the requests of HTTP/1. */
enum { REQUEST_LINES = 100 }; /* header lines at most */
struct request_reader {       /* initialise host and port, zero the rest */
	const char *host;     /* borrowed; what each request must name */
	unsigned port;
	/* internal */
	int state;
	uint64_t left;   /* bytes of the body or of the chunk */
	unsigned served; /* requests read */
};
enum { REQUEST_BAD = -1, REQUEST_OTHER_HOST = -2, REQUEST_UPGRADE = -3 };
/* Reads what a client sends. Returns how many of the len bytes at p may be sent
 * on, 0 if more are needed to decide, or REQUEST_BAD or REQUEST_OTHER_HOST.
 * REQUEST_UPGRADE: a WebSocket begins with this request, whose length *n gets;
 * what follows may be sent on once the server has agreed. */
long request_read(struct request_reader *r, const char *p, size_t len,
		  size_t *n);

/* True if a request begins at the next byte. */
bool request_is_at_head(const struct request_reader *r);

/* answer.c: the answers of HTTP/1, in parts. */
struct answer_reader { /* begin with answer_begin() */
	bool chunked;  /* the body is in chunks */
	bool encoded;  /* the body is compressed */
	bool began;    /* the final head was read */
	bool switched; /* the server has switched protocols */
	bool done;     /* the answer is complete */
	/* internal */
	bool head_only, upgrades;
	int state;
	uint64_t left;
};
enum answer_part {
	ANSWER_MORE, /* more bytes are needed */
	ANSWER_BAD,
	ANSWER_HEAD, /* a whole head, with the empty line */
	ANSWER_BODY, /* bytes without the frames of chunks; may be empty */
};
/* head_only: the request's method was HEAD. upgrades: it wants to switch
 * protocols. */
void answer_begin(struct answer_reader *r, bool head_only, bool upgrades);
/* Reads the next part of the bytes. *part lies in them; *used is how many were
 * read. ended: nothing follows them. */
enum answer_part answer_read(struct answer_reader *r, struct str bytes,
			     bool ended, struct str *part, size_t *used);

/* connection.c */
struct intercept; /* intercept/intercept.h */
struct egress_server {
	/* like network_allows(), of the list that holds now */
	bool (*allows)(const struct network_rule *host,
		       const struct network_rule **rule);
	const struct intercept *intercept; /* NULL: there are no secrets */
	/* Waits until dcode has decided about an unlisted name. False if nobody
	 * is asked, or after a no. */
	bool (*await)(const struct network_rule *host);
	void (*report)(const struct egress_record *r); /* thread-safe */
};
/* Serves an accepted connection to its end; the caller closes it. settled is
 * called when its destination is known and allowed. The caller may shut the
 * connection down. */
void connection_serve(const struct egress_server *s, int fd,
		      void (*settled)(void *arg,
				      const struct network_rule *destination),
		      void *arg);

#endif
