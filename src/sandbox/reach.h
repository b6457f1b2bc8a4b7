/* reach.h - which hosts a running sandbox may reach, and has reached. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_REACH_H
#define SANDBOX_REACH_H

/*
 * sandbox_create() decides about the hosts of a new sandbox
 * (network/network.h). These functions read and change what one may reach that
 * exists. sb->network is the list that holds between commands; a command may
 * have more hosts while it runs, which every program in the sandbox may reach
 * then.
 */
#include "sandbox/sandbox.h"

/* Operations of providers whose network dcode's own proxy filters. */
struct reach_ops {
	/* Like set_network, but stores nothing for the sandbox's next start. */
	int (*widen)(struct sandbox *sb, const struct network *n,
		     const struct stop *stop, struct error *err);
	/* Adds to *c what commands have connected to since the last call. Any
	 * thread. */
	void (*take_contacts)(struct sandbox *sb, struct network_contacts *c);
	/* From now on connections to hosts that are not listed wait for the
	 * gate. Borrowed. False: no proxy of this process guards the
	 * sandbox, nor will. */
	bool (*set_gate)(struct sandbox *sb, const struct network_gate *gate);
	/* Says which hosts were refused since the last exec_result.notice, like
	 * that; "": none. Any thread. */
	void (*report)(struct sandbox *sb, char notice[SANDBOX_NOTICE]);
};

/* Copies the list that holds between commands, with the hosts of
 * reach_allow_now(), as far as it is known. Any thread: another one may be
 * changing it, so sb->network must not be read directly. Release *out. */
void reach_copy_network(struct sandbox *sb, struct network *out);
/* The same, but asks the vendor if the list is not known. After a failure *out
 * is empty. */
int reach_read(struct sandbox *sb, struct network *out, const struct stop *stop,
	       struct error *err);
/* The same as reach_copy_network() without the hosts of reach_allow_now(). */
void reach_copy_lasting(struct sandbox *sb, struct network *out);
/* What dcode has recorded of a sandbox to which it attaches; see struct
 * ledger_row. */
struct reach_record {
	const char *given; /* ledger_row.network; "" or NULL: unknown */
	/* what the user has added to its list, a line each; or NULL */
	const char *added;
	bool resumed; /* they may also exceed what network_require() says */
	bool in_use;  /* another dcode may have opened hosts for a command */
	/* what to type to get a sandbox that keeps within the limits */
	const char *instead;
};
/* After an attach: fails if it may reach more than network_require() says and,
 * if it is resumed, the user has added. Where the vendor does not say what it
 * may reach, the record counts; while another dcode uses it there, that is not
 * enough for a limit. Else what a killed dcode may have left open is closed. */
int reach_check_attached(struct sandbox *sb, const struct reach_record *record,
			 const struct stop *stop, struct error *err);
/* Lets a running sandbox reach one more host, also after its next start. */
int reach_allow_host(struct sandbox *sb, struct str host,
		     const struct stop *stop, struct error *err);
/* The same, but only until dcode ends: the sandbox's record does not get the
 * host. For sandboxes that dcode's own proxy guards. */
int reach_allow_now(struct sandbox *sb, const char *host,
		    const struct stop *stop, struct error *err);
/* True if reach_allow_host() could add the host: the list does not deny it, and
 * the machine's policy allows it. */
bool reach_may_allow(struct sandbox *sb, const char *host, struct error *err);
/* True if the sandbox has a list of hosts that can be changed. */
bool reach_can_open(struct sandbox *sb);
struct reach_command {
	struct str text;    /* the command line */
	const char *caller; /* the subagent that runs it: "general 1"; NULL */
	const char *hosts;  /* open until reach_end(), one per line; or NULL */
};
/* Call before a command. *number is what the other functions know it by. Fails
 * also if hosts of an earlier command could not be closed. */
int reach_begin(struct sandbox *sb, const struct reach_command *c,
		unsigned *number, const struct stop *stop, struct error *err);
/* Opens one more host for a command. ERR_USAGE if it does not run any more. */
int reach_open_host(struct sandbox *sb, const char *host, unsigned number,
		    const struct stop *stop, struct error *err);
/* Appends the caller and the text of the command that began last. Returns its
 * number; 0: none runs. */
unsigned reach_describe_command(struct sandbox *sb, struct buf *out);
bool reach_is_running(struct sandbox *sb, unsigned number);
/* Call after a command: closes its hosts again, also if it was cancelled. */
int reach_end(struct sandbox *sb, unsigned number, struct error *err);
/* Calls reach_ops.set_gate. False if the vendor filters, or another dcode:
 * nothing can wait. */
bool reach_set_gate(struct sandbox *sb, const struct network_gate *gate);
/* Calls reach_ops.report: for what runs in the background, which has no result.
 * "" if the vendor reports nothing. */
void reach_report(struct sandbox *sb, char notice[SANDBOX_NOTICE]);
/* Calls reach_ops.take_contacts. False if the vendor reports nothing. */
bool reach_take_contacts(struct sandbox *sb, struct network_contacts *c);

#endif
