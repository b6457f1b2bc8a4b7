/* reach.c - which hosts a running sandbox may reach, and has reached. */
/* SPDX-License-Identifier: MIT */
#include "sandbox/reach.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

enum {
	COMMANDS = 64, /* that run at once in one sandbox */
	COMMAND_BYTES = 4096,
	OPENED = 256,     /* hosts that are open for them */
	CLOSE_MS = 30000, /* to close them, also after a cancel */
};

/* What the commands that run have opened. */
struct opened {
	struct {
		unsigned number;
		/* with the caller; longer than any question shows, so that a
		 * secret in it is whole when it is masked */
		char text[COMMAND_BYTES];
	} commands[COMMANDS]; /* in the order in which they began */
	size_t n_commands;
	unsigned numbers; /* given out */
	struct {
		char host[NETWORK_HOST + 8]; /* with a port */
		unsigned command;            /* number; 0: until dcode ends */
	} hosts[OPENED];
	size_t n;
	bool stuck; /* hosts could not be closed */
};
/* Of sb->opened and sb->network: commands of subagents, the gate and /network
 * use them on threads of their own. Held during a vendor's request, so that two
 * changes do not overtake each other. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

bool reach_take_contacts(struct sandbox *sb, struct network_contacts *c)
{
	const struct reach_ops *proxy = sb->client->provider->ops->proxy;

	if (proxy)
		proxy->take_contacts(sb, c);
	return proxy;
}

void reach_report(struct sandbox *sb, char notice[SANDBOX_NOTICE])
{
	const struct reach_ops *proxy = sb->client->provider->ops->proxy;

	notice[0] = '\0';
	if (proxy)
		proxy->report(sb, notice);
}

bool reach_set_gate(struct sandbox *sb, const struct network_gate *gate)
{
	const struct reach_ops *proxy = sb->client->provider->ops->proxy;

	return proxy && proxy->set_gate(sb, gate);
}

/* Call with the lock held. */
static void copy_network(const struct sandbox *sb, struct network *out)
{
	const struct opened *o = sb->opened;
	struct error ignored = { 0 };

	network_copy(out, &sb->network);
	for (size_t i = 0; o && i < o->n; i++)
		if (!o->hosts[i].command)
			(void)network_add(out, str_of(o->hosts[i].host),
					  &ignored);
}

void reach_copy_network(struct sandbox *sb, struct network *out)
{
	pthread_mutex_lock(&lock);
	copy_network(sb, out);
	pthread_mutex_unlock(&lock);
}

/* Asks the vendor for sb->network, unless it is known. Call with the lock
 * held. */
static int read_network(struct sandbox *sb, const struct stop *stop,
			struct error *err)
{
	const struct sandbox_ops *ops = sb->client->provider->ops;

	if (sb->network.mode != NETWORK_DEFAULT)
		return 0;
	if (!ops->get_network)
		return error_set(err, ERR_USAGE,
				 "%s does not say which hosts a sandbox may "
				 "reach",
				 sandbox_client_name(sb->client));
	if (ops->get_network(sb, &sb->network, stop, err) < 0)
		return sandbox_blame(sb->client, err);
	return 0;
}

int reach_read(struct sandbox *sb, struct network *out, const struct stop *stop,
	       struct error *err)
{
	int rc;

	network_release(out);
	pthread_mutex_lock(&lock);
	rc = read_network(sb, stop, err);
	if (rc == 0)
		copy_network(sb, out);
	pthread_mutex_unlock(&lock);
	return rc;
}

void reach_copy_lasting(struct sandbox *sb, struct network *out)
{
	pthread_mutex_lock(&lock);
	network_copy(out, &sb->network);
	pthread_mutex_unlock(&lock);
}

/* Replaces *wanted by it with the hosts, a line each. ERR_POLICY if that
 * exceeds the machine's policy. */
static int add_hosts(const struct sandbox *sb, struct network *wanted,
		     const char *hosts, struct error *err)
{
	struct network all = { 0 };
	struct str rest = str_of(hosts);
	struct str host;
	int rc = 0;

	if (wanted->mode != NETWORK_LIST || !rest.len)
		return 0;
	network_copy(&all, wanted);
	while (rc == 0 && str_split(&rest, '\n', &host))
		if (host.len)
			rc = network_add(&all, host, err);
	if (rc == 0)
		rc = network_choose(wanted, sb->client, &all, err);
	network_release(&all);
	return rc;
}

/* Sets sb->network to what was recorded, if the vendor does not tell it. */
static int recall_network(struct sandbox *sb, const struct reach_record *record,
			  struct error *err)
{
	struct network *n = &sb->network;
	struct str rest = str_of(record->added);
	struct str host;
	int rc;

	if (sb->client->provider->ops->get_network ||
	    !str_of(record->given).len)
		return 0;
	pthread_mutex_lock(&lock);
	rc = network_parse_lines(n, str_of(record->given), err);
	while (rc == 0 && n->mode == NETWORK_LIST &&
	       str_split(&rest, '\n', &host))
		rc = host.len ? network_add(n, host, err) : 0;
	if (rc < 0)
		network_release(n);
	pthread_mutex_unlock(&lock);
	return rc;
}

/* True if only the record says which hosts are open, and they can change. */
static bool relies_on_record(const struct sandbox *sb)
{
	const struct sandbox_ops *ops = sb->client->provider->ops;

	return !ops->get_network && ops->set_network &&
	       sb->network.mode == NETWORK_LIST;
}

/* A dcode that was killed while a command had more hosts has left them open:
 * sets the recorded list again. */
static int close_leftovers(struct sandbox *sb,
			   const struct reach_record *record,
			   const struct stop *stop, struct error *err)
{
	int rc = 0;

	pthread_mutex_lock(&lock);
	if (relies_on_record(sb) && !record->in_use)
		rc = sb->client->provider->ops->set_network(sb, &sb->network,
							    stop, err);
	if (rc < 0) {
		network_release(&sb->network);
		(void)sandbox_blame(sb->client, err);
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

/* Fails if the sandbox may reach more than *wanted. */
static int check_limit(struct sandbox *sb, const struct reach_record *record,
		       const struct network *wanted, const struct stop *stop,
		       struct error *err)
{
	const struct network_rule *beyond = NULL;
	struct buf text = BUF_INIT(512);
	struct network has = { 0 };
	int rc = reach_read(sb, &has, stop, err);

	if (rc == 0 && !network_within(&has, wanted, &beyond)) {
		if (beyond)
			network_print_rule(beyond, &text);
		rc = error_set(err, ERR_POLICY, "the sandbox may reach %s",
			       beyond ? text.ptr : "every host");
	} else if (rc == 0 && record->in_use && relies_on_record(sb) &&
		   wanted->mode != NETWORK_FULL) {
		rc = error_set(err, ERR_POLICY,
			       "another dcode uses the sandbox and may have "
			       "opened more hosts");
	}
	if (rc < 0) {
		error_add(err, ", but %s limits its network", wanted->source);
		error_hint(err, "%s", record->instead);
	}
	network_release(&has);
	buf_release(&text);
	return rc;
}

int reach_check_attached(struct sandbox *sb, const struct reach_record *record,
			 const struct stop *stop, struct error *err)
{
	struct network wanted = { 0 };
	int rc = recall_network(sb, record, err);

	if (rc == 0)
		rc = network_require(&wanted, sb->client, err);
	if (rc == 0 && wanted.mode != NETWORK_DEFAULT) {
		if (record->resumed)
			rc = add_hosts(sb, &wanted, record->added, err);
		if (rc == 0)
			rc = check_limit(sb, record, &wanted, stop, err);
	}
	/* Not before the check: the vendor never gets a list that exceeds the
	 * limit. */
	if (rc == 0)
		rc = close_leftovers(sb, record, stop, err);
	network_release(&wanted);
	return rc;
}

/* Sets *wider to the sandbox's list with the hosts of its commands. ERR_POLICY
 * if that exceeds the machine's policy. */
static int add_opened(const struct sandbox *sb, struct network *wider,
		      struct error *err)
{
	struct network all = { 0 };
	int rc = 0;

	network_copy(&all, &sb->network);
	free(all.source);
	all.source = xstrdup("hosts of the call");
	for (size_t i = 0; rc == 0 && i < sb->opened->n; i++)
		rc = network_add(&all, str_of(sb->opened->hosts[i].host), err);
	if (rc == 0)
		rc = sandbox_choose_network(sb->client, &all, wider, err);
	network_release(&all);
	return rc;
}

/* Makes the sandbox's network what sb->network and sb->opened say. Call with
 * the lock held. */
static int apply_opened(struct sandbox *sb, const struct stop *stop,
			struct error *err)
{
	const struct sandbox_ops *ops = sb->client->provider->ops;
	struct network wider = { 0 };
	int rc = 0;

	if (sb->opened->n)
		rc = add_opened(sb, &wider, err);
	else
		network_copy(&wider, &sb->network);
	if (rc == 0)
		rc = ops->proxy ? ops->proxy->widen(sb, &wider, stop, err)
				: ops->set_network(sb, &wider, stop, err);
	network_release(&wider);
	return rc < 0 ? sandbox_blame(sb->client, err) : 0;
}

/* Drops the command's hosts. Returns how many. */
static size_t drop_hosts(struct opened *o, unsigned command)
{
	size_t kept = 0;
	size_t n = o->n;

	for (size_t i = 0; i < n; i++)
		if (o->hosts[i].command != command)
			o->hosts[kept++] = o->hosts[i];
	o->n = kept;
	return n - kept;
}

static int add_host(struct opened *o, struct str host, unsigned command,
		    struct error *err)
{
	if (o->n == OPENED || host.len >= sizeof(o->hosts[0].host))
		return error_set(err, ERR_LIMIT, "too many hosts at once");
	snprintf(o->hosts[o->n].host, sizeof(o->hosts[0].host), "%.*s",
		 (int)host.len, host.ptr);
	o->hosts[o->n++].command = command;
	return 0;
}

bool reach_may_allow(struct sandbox *sb, const char *host, struct error *err)
{
	struct network wider = { 0 };
	struct network one = { 0 };
	struct network chosen = { 0 };
	const struct network_rule *rule;
	int rc = network_parse(&one, &host, 1, err);

	reach_copy_network(sb, &wider);
	if (rc == 0 && !network_allows(&wider, &one.rules[0], &rule) && rule)
		rc = error_set(err, ERR_USAGE, "the list denies %s", host);
	if (rc == 0)
		rc = network_add(&wider, str_of(host), err);
	if (rc == 0)
		rc = sandbox_choose_network(sb->client, &wider, &chosen, err);
	network_release(&wider);
	network_release(&one);
	network_release(&chosen);
	return rc == 0;
}

bool reach_can_open(struct sandbox *sb)
{
	bool listed;

	pthread_mutex_lock(&lock);
	listed = sb->network.mode == NETWORK_LIST;
	pthread_mutex_unlock(&lock);
	return listed && sb->client->provider->ops->set_network;
}

/* Call with the lock held. */
static struct opened *opened_of(struct sandbox *sb)
{
	if (!sb->opened)
		sb->opened = xcalloc(1, sizeof(*sb->opened));
	return sb->opened;
}

/* Returns the place of a command that runs, or n_commands. Call with the lock
 * held. */
static size_t find_command(const struct opened *o, unsigned number)
{
	size_t at = 0;

	while (at < o->n_commands && o->commands[at].number != number)
		at++;
	return at;
}

static void note_command(struct opened *o, const struct reach_command *c,
			 unsigned number)
{
	char *text = o->commands[o->n_commands].text;
	int room = COMMAND_BYTES - 1;
	int n = c->caller ? snprintf(text, COMMAND_BYTES, "%.60s: ", c->caller)
			  : 0;
	struct str line = c->text;

	if (line.len > (size_t)(room - n))
		line.len = (size_t)(room - n);
	line.len = str_utf8_prefix(line);
	memcpy(text + n, line.ptr, line.len);
	text[(size_t)n + line.len] = '\0';
	o->commands[o->n_commands++].number = number;
}

int reach_begin(struct sandbox *sb, const struct reach_command *c,
		unsigned *number, const struct stop *stop, struct error *err)
{
	struct str rest = str_of(c->hosts);
	struct str host;
	struct error ignored = { 0 };
	struct opened *o;
	int rc = 0;

	*number = 0;
	if (!reach_can_open(sb))
		return 0;
	pthread_mutex_lock(&lock);
	o = opened_of(sb);
	*number = ++o->numbers;
	while (rc == 0 && str_split(&rest, '\n', &host))
		rc = host.len ? add_host(o, host, *number, err) : 0;
	if (rc == 0 && (str_of(c->hosts).len || o->stuck))
		rc = apply_opened(sb, stop, err);
	if (rc == 0)
		o->stuck = false;
	if (rc < 0 && drop_hosts(o, *number) &&
	    apply_opened(sb, stop, &ignored) < 0)
		o->stuck = true;
	if (rc == 0 && o->n_commands < COMMANDS)
		note_command(o, c, *number);
	pthread_mutex_unlock(&lock);
	return rc;
}

/* Opens a host for a command, or with the number 0 until dcode ends. Call with
 * the lock held. */
static int open_host(struct sandbox *sb, const char *host, unsigned number,
		     const struct stop *stop, struct error *err)
{
	struct opened *o = opened_of(sb);

	if (add_host(o, str_of(host), number, err) < 0)
		return -1;
	if (apply_opened(sb, stop, err) == 0)
		return 0;
	o->n--;
	return -1;
}

int reach_open_host(struct sandbox *sb, const char *host, unsigned number,
		    const struct stop *stop, struct error *err)
{
	const struct opened *o;
	int rc;

	pthread_mutex_lock(&lock);
	o = opened_of(sb);
	if (find_command(o, number) == o->n_commands)
		rc = error_set(err, ERR_USAGE, "the command has ended");
	else
		rc = open_host(sb, host, number, stop, err);
	pthread_mutex_unlock(&lock);
	return rc;
}

int reach_allow_now(struct sandbox *sb, const char *host,
		    const struct stop *stop, struct error *err)
{
	int rc;

	pthread_mutex_lock(&lock);
	rc = open_host(sb, host, 0, stop, err);
	pthread_mutex_unlock(&lock);
	return rc;
}

unsigned reach_describe_command(struct sandbox *sb, struct buf *out)
{
	const struct opened *o;
	unsigned number = 0;

	pthread_mutex_lock(&lock);
	o = sb->opened;
	if (o && o->n_commands) {
		number = o->commands[o->n_commands - 1].number;
		buf_adds(out, o->commands[o->n_commands - 1].text);
	}
	pthread_mutex_unlock(&lock);
	return number;
}

bool reach_is_running(struct sandbox *sb, unsigned number)
{
	bool runs;

	pthread_mutex_lock(&lock);
	runs = sb->opened &&
	       find_command(sb->opened, number) < sb->opened->n_commands;
	pthread_mutex_unlock(&lock);
	return runs;
}

int reach_end(struct sandbox *sb, unsigned number, struct error *err)
{
	struct stop stop = stop_cleanup(CLOSE_MS);
	struct opened *o;
	size_t at;
	int rc = 0;

	if (!number)
		return 0;
	pthread_mutex_lock(&lock);
	o = opened_of(sb);
	at = find_command(o, number);
	if (at < o->n_commands) {
		o->n_commands--;
		memmove(o->commands + at, o->commands + at + 1,
			(o->n_commands - at) * sizeof(*o->commands));
	}
	if (drop_hosts(o, number) && (rc = apply_opened(sb, &stop, err)) < 0)
		o->stuck = true;
	pthread_mutex_unlock(&lock);
	return rc;
}

int reach_allow_host(struct sandbox *sb, struct str host,
		     const struct stop *stop, struct error *err)
{
	const struct sandbox_ops *ops = sb->client->provider->ops;
	struct network wider = { 0 };
	struct network n = { 0 };
	int rc;

	pthread_mutex_lock(&lock);
	rc = read_network(sb, stop, err);
	if (rc == 0 && !ops->set_network)
		rc = error_set(err, ERR_USAGE,
			       "%s cannot change the network of a sandbox that "
			       "runs",
			       sandbox_client_name(sb->client));
	network_copy(&wider, &sb->network);
	free(wider.source);
	wider.source = xstrdup("/network allow");
	if (rc == 0)
		rc = network_add(&wider, host, err);
	if (rc == 0)
		rc = sandbox_choose_network(sb->client, &wider, &n, err);
	if (rc == 0 && ops->set_network &&
	    ops->set_network(sb, &n, stop, err) < 0)
		rc = sandbox_blame(sb->client, err);
	if (rc == 0)
		network_copy(&sb->network, &n);
	if (rc == 0 && sb->opened && sb->opened->n)
		rc = apply_opened(sb, stop, err);
	pthread_mutex_unlock(&lock);
	network_release(&wider);
	network_release(&n);
	return rc;
}
