/* life.c - checks a sandbox's life from create to delete, and runs all
 * checks. */
/* SPDX-License-Identifier: MIT */

/*
 * First the checks of a sandbox's life: that it is listed, attached to, stopped
 * and deleted, and that its network is what was requested. They need other
 * sandboxes of the provider or its list. The checks of commands and files,
 * inside one sandbox, are in commands.c and files.c. Begin reading at
 * contract_run() at the end.
 */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <net/if.h>

#include "base/ids.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "contract/check.h"
#include "contract/contract.h"
#include "sandbox/quote.h"
#include "sandbox/snapshot.h"
#include "session/store.h"

enum {
	/* time limit of a check: one that takes longer has failed */
	CHECK_MS = 180000,
	LONG_MS = 900000, /* time limit of create and of the largest sizes */
	/* a sandbox that ends later than this fails the check */
	LATEST_S = 7 * 86400,
	TARGETS = 8,
	REACH_MS = 25000,
	NO_CLIENT = 127,
	LISTENER_TOKEN = 24,
	BACKLOG = 16,
	CLIENT_MS = 2000,
	REQUEST_BYTES = 4096,
};

/* An owner id under which no sandbox exists. */
static const char nobody[] = "00000000-0000-4000-8000-000000000000";

/* Makes the test directory in the sandbox. On failure the sandbox is
 * unusable. */
static enum contract_verdict make_dir(struct contract *c)
{
	bool host = contract_can(c, SANDBOX_UNISOLATED);
	char random[9];
	char *command;
	enum contract_verdict verdict;

	ids_random(random, 8);
	c->dir = xasprintf("%s/dcode-contract-%s",
			   host ? "/tmp" : c->sb->workdir, random);
	command = xasprintf("mkdir -m 700 '%s'", c->dir);
	verdict = contract_expect(c, command, 0, "", "");
	c->n_commands = 0; /* not counted: the first command may be slower */
	free(command);
	return verdict;
}

/* Uses the given sandbox, or creates one. */
static enum contract_verdict check_create(struct contract *c)
{
	const struct contract_request *r = c->request;
	struct lifecycle_request request = { .client = r->client,
					     .store = r->store,
					     .mask = r->mask,
					     .ui = r->ui };
	struct error err = { 0 };
	int64_t began = clock_ms();

	if (r->sandbox) {
		c->sb = r->sandbox;
	} else if (lifecycle_open(&c->box, &request, &c->stop, &err) < 0) {
		return contract_fail(c, "%s", err.message);
	} else {
		c->summary->create_ms = clock_ms() - began;
		c->sb = &c->box.sandbox;
	}
	c->id = xstrdup(c->sb->id ? c->sb->id : "");
	c->owner = r->store ? store_owner(r->store) : r->owner;
	snprintf(c->label, sizeof(c->label), "%s",
		 r->sandbox && r->label ? r->label : c->box.label);
	return make_dir(c);
}

/* Removes the test directory from a sandbox that is not deleted. */
static void tidy(struct contract *c)
{
	struct stop limit = stop_cleanup(LIFECYCLE_CLEANUP_MS);
	char *command = xasprintf("rm -rf '%s'", c->dir);
	struct exec_request req = { .command = str_of(command) };
	struct ran r = { 0 };

	(void)contract_exec(c, &req, &r, &limit);
	ran_release(&r);
	free(command);
}

static enum contract_verdict check_remove(struct contract *c)
{
	struct error err = { 0 };
	int64_t began = clock_ms();
	bool host = contract_can(c, SANDBOX_UNISOLATED);
	int rc;

	if (c->dir && host)
		tidy(c);
	c->sb = NULL;
	rc = lifecycle_close(&c->box, &err);
	if (host)
		return contract_na(c, "this machine stays");
	if (rc < 0)
		return contract_fail(c, "%s", err.message);
	c->summary->remove_ms = clock_ms() - began;
	return CONTRACT_OK;
}

struct look { /* search for one sandbox in a list */
	const char *id, *label, *owner;
	int by_id, by_label, both, by_owner;
	enum sandbox_state state;
	int64_t ends;
};

static void see(void *arg, const struct sandbox_info *info)
{
	struct look *l = arg;
	bool id = !strcmp(info->id, l->id);
	bool label = !strcmp(info->label, l->label);

	if (info->state == STATE_GONE)
		return;
	l->by_id += id;
	l->by_label += label;
	l->both += id && label;
	l->by_owner += id && l->owner && !strcmp(info->owner, l->owner);
	if (id) {
		l->state = info->state;
		l->ends = info->ends;
	}
}

static enum contract_verdict check_id(struct contract *c)
{
	struct look look = { .id = c->id, .label = c->label };
	const struct info_sink sink = { see, &look };
	const struct contract_request *r = c->request;
	struct error err = { 0 };

	if (!c->id[0])
		return contract_fail(c, "it has no id");
	if (contract_can(c, SANDBOX_UNISOLATED))
		return contract_na(c, "this machine has no id");
	snprintf(c->reason, sizeof(c->reason), "%s", c->id);
	if (!sandbox_can_get(r->client))
		return CONTRACT_OK;
	if (sandbox_get(r->client, c->id, &sink, &c->stop, &err) < 0)
		return contract_fail(c, "%s", err.message);
	return look.by_id == 1
		       ? CONTRACT_OK
		       : contract_fail(c, "its id belongs to another sandbox");
}

/* Checks that the file of an earlier command still exists. */
static enum contract_verdict same_file(struct contract *c, void *path)
{
	char *command = xasprintf("cat '%s'", (const char *)path);
	enum contract_verdict verdict =
		contract_expect(c, command, 0, "kept\n", "");

	free(command);
	return verdict;
}

static enum contract_verdict same_files(struct contract *c,
					struct sandbox *other, char *path)
{
	struct sandbox *mine = c->sb;
	enum contract_verdict verdict;

	c->sb = other;
	verdict = same_file(c, path);
	c->sb = mine;
	return verdict;
}

static enum contract_verdict leave_file(struct contract *c, const char *path)
{
	char *command = xasprintf("echo kept >'%s'", path);
	enum contract_verdict verdict = contract_expect(c, command, 0, "", "");

	free(command);
	return verdict;
}

/* Attaching to an id of the same form that does not exist must fail. */
static enum contract_verdict attach_to_nothing(struct contract *c)
{
	struct sandbox other = { 0 };
	struct error err = { 0 };
	char *id = xstrdup(c->id);
	size_t last = strlen(id) - 1;
	int rc;

	id[last] = id[last] == 'a' ? 'b' : 'a';
	rc = sandbox_attach(&other, c->request->client, id, &c->stop, &err);
	sandbox_release(&other);
	free(id);
	return rc < 0 ? CONTRACT_OK
		      : contract_fail(
				c, "attaches to a sandbox that does not exist");
}

/* Attaches to the sandbox again: it must have the same id and still hold the
 * file. before: what an error's message begins with. */
static enum contract_verdict attach_again(struct contract *c, char *path,
					  const char *before)
{
	struct sandbox other = { 0 };
	struct error err = { 0 };
	enum contract_verdict verdict;

	if (sandbox_attach(&other, c->request->client, c->id, &c->stop, &err) <
	    0)
		verdict = contract_fail(c, "%s%s", before, err.message);
	else if (strcmp(other.id, c->id) != 0)
		verdict = contract_fail(c, "became %.100s", other.id);
	else
		verdict = same_files(c, &other, path);
	sandbox_release(&other);
	return verdict;
}

static enum contract_verdict check_attach(struct contract *c)
{
	enum contract_verdict verdict;
	char *path;

	if (!contract_can(c, SANDBOX_ATTACH))
		return contract_na(c, "not supported");
	path = xasprintf("%s/kept", c->dir);
	verdict = leave_file(c, path);
	if (verdict == CONTRACT_OK)
		verdict = attach_again(c, path, "");
	free(path);
	if (verdict == CONTRACT_OK)
		verdict = attach_to_nothing(c);
	return verdict;
}

static enum contract_verdict check_list(struct contract *c)
{
	struct look look = { .id = c->id, .label = c->label };
	struct look other = look;
	const struct info_sink sink = { see, &look };
	const struct info_sink none = { see, &other };
	struct sandbox_client *client = c->request->client;
	struct error err = { 0 };

	if (!contract_can(c, SANDBOX_LIST) || !sandbox_can_list(client))
		return contract_na(c, "not supported");
	if (sandbox_list(client, c->owner, &sink, &c->stop, &err) < 0 ||
	    sandbox_list(client, nobody, &none, &c->stop, &err) < 0)
		return contract_fail(c, "%s", err.message);
	if (!look.by_id || look.both != 1 || look.by_label != 1)
		return contract_fail(c, "%d with its id, %d with its label",
				     look.by_id, look.by_label);
	if (other.by_id)
		return contract_fail(c, "it is listed for another owner");
	return CONTRACT_OK;
}

static enum contract_verdict check_info(struct contract *c)
{
	struct look look = { .id = c->id,
			     .label = c->label,
			     .owner = c->owner };
	const struct info_sink sink = { see, &look };
	const struct contract_request *r = c->request;
	struct error err = { 0 };

	if (!sandbox_can_get(r->client) || contract_can(c, SANDBOX_UNISOLATED))
		return contract_na(c, "not supported");
	if (sandbox_get(r->client, c->id, &sink, &c->stop, &err) < 0)
		return contract_fail(c, "%s", err.message);
	if (look.by_id != 1)
		return contract_fail(c, "it is another sandbox");
	if (contract_can(c, SANDBOX_LIST) && look.both != 1)
		return contract_fail(c, "the label differs");
	if (contract_can(c, SANDBOX_LIST) && look.by_owner != 1)
		return contract_fail(c, "the owner differs");
	if (look.state != STATE_RUNNING)
		return contract_fail(c, "it is not reported as running");
	return CONTRACT_OK;
}

/* Checks that the sandbox will end by itself, neither now nor far too late. */
static enum contract_verdict check_lifetime(struct contract *c)
{
	struct look look = { .id = c->id, .label = c->label };
	const struct info_sink sink = { see, &look };
	const struct contract_request *r = c->request;
	struct error err = { 0 };
	int64_t left;

	if (!sandbox_can_get(r->client) || contract_can(c, SANDBOX_UNISOLATED))
		return contract_na(c, "nothing reports it");
	if (sandbox_get(r->client, c->id, &sink, &c->stop, &err) < 0)
		return contract_fail(c, "%s", err.message);
	if (!look.ends)
		return contract_na(c, "its expiry is not reported");
	left = look.ends - (int64_t)time(NULL);
	if (left < 0)
		return contract_fail(c, "it should have ended %lld s ago",
				     (long long)-left);
	if (left > LATEST_S)
		return contract_fail(c, "it still runs for %lld s",
				     (long long)left);
	snprintf(c->reason, sizeof(c->reason), "%lld s left", (long long)left);
	return CONTRACT_OK;
}

static enum contract_verdict check_extend(struct contract *c)
{
	const struct contract_request *r = c->request;
	struct error err = { 0 };
	int64_t seconds = c->request->client->provider->lifetime_s;

	if (!sandbox_can_extend(r->client))
		return contract_na(c, "not supported");
	for (int i = 0; i < 2; i++)
		if (sandbox_extend(c->sb, seconds, &c->stop, &err) < 0)
			return contract_fail(c, "%s", err.message);
	return contract_expect(c, "true", 0, "", "");
}

static enum contract_verdict stopped(struct contract *c)
{
	struct look look = { .id = c->id, .label = c->label };
	const struct info_sink sink = { see, &look };
	struct sandbox_client *client = c->request->client;
	int64_t keep_s = LIFECYCLE_KEEP_S;
	struct error err = { 0 };
	int rc = sandbox_stop(client, c->id, &keep_s, &c->stop, &err);

	if (rc != 0)
		return contract_fail(c, "%s",
				     rc < 0 ? err.message
					    : "the snapshot does not exist");
	if (!sandbox_can_get(client))
		return CONTRACT_OK;
	if (sandbox_get(client, c->id, &sink, &c->stop, &err) < 0)
		return contract_fail(c, "%s", err.message);
	return look.state == STATE_STOPPED
		       ? CONTRACT_OK
		       : contract_fail(c, "it is not reported as stopped");
}

/* The last check that uses the sandbox: afterwards its processes have ended, or
 * it runs on another server. */
static enum contract_verdict check_stop(struct contract *c)
{
	enum contract_verdict verdict;
	char *path;

	if (!sandbox_can_stop(c->request->client))
		return contract_na(c, "not supported");
	path = xasprintf("%s/kept", c->dir);
	verdict = leave_file(c, path);
	for (int i = 0; i < 2 && verdict == CONTRACT_OK; i++)
		verdict = stopped(c); /* the second call finds it stopped */
	if (verdict == CONTRACT_OK)
		verdict = attach_again(c, path, "starting again: ");
	free(path);
	return verdict;
}

static enum contract_verdict check_remove_again(struct contract *c)
{
	struct error err = { 0 };

	if (sandbox_remove(c->request->client, c->id, &c->stop, &err) < 0)
		return contract_fail(c, "%s", err.message);
	return CONTRACT_OK;
}

static enum contract_verdict still_attaches(struct contract *c)
{
	struct sandbox other = { 0 };
	struct error err = { 0 };
	int rc;

	if (!contract_can(c, SANDBOX_ATTACH))
		return CONTRACT_OK;
	rc = sandbox_attach(&other, c->request->client, c->id, &c->stop, &err);
	sandbox_release(&other);
	return rc < 0 ? CONTRACT_OK
		      : contract_fail(c, "it can still be attached to");
}

static enum contract_verdict check_nothing_left(struct contract *c)
{
	struct look look = { .id = c->id, .label = c->label };
	const struct info_sink sink = { see, &look };
	const struct contract_request *r = c->request;
	struct error err = { 0 };

	if (contract_can(c, SANDBOX_LIST) && sandbox_can_list(r->client)) {
		if (sandbox_list(r->client, c->owner, &sink, &c->stop, &err) <
		    0)
			return contract_fail(c, "%s", err.message);
		if (look.by_id || look.by_label)
			return contract_fail(c, "it is still listed");
	}
	return still_attaches(c);
}
static const struct network no_network = { .mode = NETWORK_NONE };
static const struct network full_network = { .mode = NETWORK_FULL };

/* How a second sandbox differs from the first. */
struct another {
	const char *snapshot;          /* or NULL */
	const struct network *network; /* or NULL */
};

/* Creates the other sandbox, calls run with it as c->sb, and deletes it. */
static enum contract_verdict
with_another(struct contract *c, const struct another *other,
	     enum contract_verdict (*run)(struct contract *c, void *arg),
	     void *arg)
{
	const struct contract_request *r = c->request;
	struct lifecycle_request request = { .client = r->client,
					     .store = r->store,
					     .mask = r->mask,
					     .snapshot = other->snapshot,
					     .network = other->network,
					     .ui = r->ui };
	struct error err = { 0 };
	struct managed_sandbox box = { 0 };
	struct sandbox *mine = c->sb;
	enum contract_verdict verdict;

	if (!r->store && !contract_can(c, SANDBOX_UNISOLATED))
		return contract_na(c, "no ledger for a second sandbox");
	if (lifecycle_open(&box, &request, &c->stop, &err) < 0)
		return contract_fail(c, "a second one: %s", err.message);
	c->sb = &box.sandbox;
	verdict = run(c, arg);
	c->sb = mine;
	if (lifecycle_close(&box, &err) < 0 && verdict == CONTRACT_OK)
		verdict = contract_fail(c, "%s", err.message);
	return verdict;
}

static enum contract_verdict check_snapshot(struct contract *c)
{
	const char *name = c->request->snapshot;
	bool network = contract_can(c, SANDBOX_NETWORK);
	const struct another other = {
		.snapshot = name,
		.network = network ? &no_network : NULL,
	};
	struct error err = { 0 };
	enum contract_verdict verdict;
	char *path;

	if (!snapshot_can_make(c->request->client))
		return contract_na(c,
				   "the provider does not support snapshots");
	if (!name)
		return contract_na(c, "skipped: use --snapshot NAME to test "
				      "(the snapshot is not deleted)");
	path = xasprintf("%s/snapped", c->dir);
	verdict = leave_file(c, path);
	if (verdict == CONTRACT_OK &&
	    snapshot_make(c->sb, name, false, &c->stop, &err) < 0)
		verdict = contract_fail(c, "%s", err.message);
	if (verdict == CONTRACT_OK &&
	    (snapshot_make(c->sb, name, false, &c->stop, &err) == 0 ||
	     err.code != ERR_USAGE))
		verdict =
			contract_fail(c, "a name that is taken is not refused");
	if (verdict == CONTRACT_OK)
		verdict = with_another(c, &other, same_file, path);
	free(path);
	return verdict;
}

/* A test server of dcode that a sandbox tries to reach. */
struct listener {                       /* initialise with { 0 } */
	char token[LISTENER_TOKEN + 1]; /* its answer to every request */
	uint16_t port;
	int fd;
	bool runs;
	struct cancel end;
	pthread_t thread;
};

/* Answers a client. One that sends nothing is answered after CLIENT_MS. */
static void answer(const struct listener *l, int client)
{
	struct pollfd both[] = { { .fd = client, .events = POLLIN },
				 { .fd = l->end.fd[0], .events = POLLIN } };
	char request[REQUEST_BYTES];
	char reply[128];
	int n;

	if (poll(both, 2, CLIENT_MS) > 0 && both[0].revents)
		(void)recv(client, request, sizeof(request), MSG_DONTWAIT);
	n = snprintf(reply, sizeof(reply),
		     "HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n%s",
		     LISTENER_TOKEN, l->token);
	(void)send(client, reply, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT);
	(void)shutdown(client, SHUT_WR);
}

static void *serve(void *arg)
{
	struct listener *l = arg;
	struct pollfd both[] = { { .fd = l->fd, .events = POLLIN },
				 { .fd = l->end.fd[0], .events = POLLIN } };

	while (!cancel_triggered(&l->end)) {
		int client;

		if (poll(both, 2, -1) <= 0 || !both[0].revents)
			continue;
		client = accept4(l->fd, NULL, NULL,
				 SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (client < 0)
			continue;
		answer(l, client);
		close(client);
	}
	return NULL;
}

static int open_socket(struct listener *l, struct error *err)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_ANY) };
	socklen_t len = sizeof(at);

	l->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->fd < 0 ||
	    bind(l->fd, (const struct sockaddr *)&at, sizeof(at)) < 0 ||
	    listen(l->fd, BACKLOG) < 0 ||
	    getsockname(l->fd, (struct sockaddr *)&at, &len) < 0) {
		error_errno(err, "listening for the sandbox");
		if (l->fd >= 0)
			close(l->fd);
		return -1;
	}
	l->port = ntohs(at.sin_port);
	return 0;
}

/* Answers HTTP on all IPv4 addresses of this machine, on a thread, until
 * listener_stop(). Every client gets the token, even if it sends nothing. */
static int listener_start(struct listener *l, struct error *err)
{
	if (cancel_init(&l->end, err) < 0)
		return -1;
	ids_random(l->token, LISTENER_TOKEN);
	if (open_socket(l, err) < 0) {
		cancel_release(&l->end);
		return -1;
	}
	if (pthread_create(&l->thread, NULL, serve, l) != 0) {
		close(l->fd);
		cancel_release(&l->end);
		return error_set(err, ERR_SYSTEM, "no thread to listen on");
	}
	l->runs = true;
	return 0;
}

static void listener_stop(struct listener *l)
{
	if (!l->runs)
		return;
	cancel_trigger(&l->end);
	pthread_join(l->thread, NULL);
	close(l->fd);
	cancel_release(&l->end);
	l->runs = false;
}

struct reach_target { /* a listening server */
	char host[254];
	unsigned port;
	char *url; /* owned */
	bool ours; /* dcode's test server, which answers with the token */
};

struct reach {
	struct listener listener;
	struct reach_target targets[TARGETS];
	size_t n;
	/* target that the sandbox with network full reached */
	const struct reach_target *reached;
};

/* Prints "tried", the server's answer, and "reached". Uses the first program
 * that exists, so that the sandboxes with network none and full use the same
 * one. */
static const char script[] =
	"echo tried\n"
	"if command -v curl >/dev/null; then"
	" curl -sk -m 8 --noproxy '*' \"$u\" && echo && echo reached\n"
	"elif command -v python3 >/dev/null; then python3 -c '"
	"import socket, sys\n"
	"s = socket.create_connection((sys.argv[1], int(sys.argv[2])), 8)\n"
	"s.sendall(b\"GET / HTTP/1.0\\r\\n\\r\\n\")\n"
	"print(s.makefile(\"rb\").read(4096).decode(\"latin-1\"))'"
	" \"$h\" \"$p\" && echo reached\n"
	"elif command -v bash >/dev/null; then bash -c '"
	"exec 3<>/dev/tcp/$1/$2 && printf \"GET / HTTP/1.0\\r\\n\\r\\n\" >&3 &&"
	" head -c 4096 <&3' x \"$h\" \"$p\" && echo && echo reached\n"
	"elif command -v nc >/dev/null; then"
	" printf 'GET / HTTP/1.0\\r\\n\\r\\n' | nc -w 8 \"$h\" \"$p\" &&"
	" echo && echo reached\n"
	"elif command -v wget >/dev/null; then"
	" wget -q -T 8 -O - \"$u\" && echo && echo reached\n"
	"else exit 127; fi 2>/dev/null\n"
	"exit 0";

static void add_target(struct reach *r, const char *host, unsigned port,
		       const char *url)
{
	struct reach_target *t = &r->targets[r->n];

	if (r->n == TARGETS)
		return;
	snprintf(t->host, sizeof(t->host), "%s", host);
	t->port = port;
	t->ours = !url;
	t->url = url ? xstrdup(url) : xasprintf("http://%s:%u/", host, port);
	r->n++;
}

/* Adds this machine's own addresses, for sandboxes on this machine. The
 * loopback address is first, for a sandbox that shares its network. */
static void add_own(struct reach *r)
{
	struct ifaddrs *all = NULL;
	char text[INET_ADDRSTRLEN];

	add_target(r, "127.0.0.1", r->listener.port, NULL);
	if (getifaddrs(&all) < 0)
		return;
	for (const struct ifaddrs *i = all; i && r->n + 1 < TARGETS;
	     i = i->ifa_next) {
		const struct sockaddr_in *at = (const void *)i->ifa_addr;

		if (at && at->sin_family == AF_INET && i->ifa_flags & IFF_UP &&
		    !(i->ifa_flags & IFF_LOOPBACK) &&
		    inet_ntop(AF_INET, &at->sin_addr, text, sizeof(text)))
			add_target(r, text, r->listener.port, NULL);
	}
	freeifaddrs(all);
}

/* Adds the vendor's API, for sandboxes on other machines. */
static bool add_endpoint(struct reach *r, const struct sandbox_client *client)
{
	struct str s = str_of(client->endpoint ? client->endpoint : "");
	bool tls = str_starts(s, "https://");
	int64_t port = tls ? 443 : 80;
	char name[254];
	size_t len;

	if (!tls && !str_starts(s, "http://"))
		return false;
	s = str_skip(s, tls ? 8 : 7);
	s.len = strcspn(s.ptr, "/");
	len = str_find(s, ':');
	if (len < s.len &&
	    (!str_to_int(str_skip(s, len + 1), &port) || port > 65535))
		return false;
	snprintf(name, sizeof(name), "%.*s", (int)len, s.ptr);
	add_target(r, name, (unsigned)port, client->endpoint);
	return true;
}

/* Returns 1 if reached, 0 if not, -1 with the verdict. */
static int try_target(struct contract *c, const struct reach *r,
		      const struct reach_target *t,
		      enum contract_verdict *verdict)
{
	struct buf command = BUF_INIT(1 << 14);
	struct exec_request req = { .timeout_ms = REACH_MS };
	struct ran ran = { 0 };
	int rc = -1;

	buf_adds(&command, "u=");
	quote_word(&command, str_of(t->url));
	buf_adds(&command, " h=");
	quote_word(&command, str_of(t->host));
	buf_addf(&command, " p=%u\n%s", t->port, script);
	req.command = buf_str(&command);
	if (contract_exec(c, &req, &ran, NULL) < 0)
		*verdict = contract_fail(c, "%s", ran.error.message);
	else if (!str_starts(buf_str(&ran.out), "tried"))
		*verdict = contract_fail(c, "the command did not run: '%.100s'",
					 ran.out.ptr);
	else if (ran.res.exit_code == NO_CLIENT)
		*verdict =
			contract_na(c, "it has no curl, python3, bash, nc or "
				       "wget to connect with");
	else
		rc = strstr(ran.out.ptr,
			    t->ours ? r->listener.token : "\nreached") != NULL;
	ran_release(&ran);
	buf_release(&command);
	return rc;
}

static enum contract_verdict with_full(struct contract *c, void *arg)
{
	enum contract_verdict verdict = CONTRACT_OK;
	struct reach *r = arg;
	int rc = 0;

	for (size_t i = 0; i < r->n && rc == 0; i++) {
		rc = try_target(c, r, &r->targets[i], &verdict);
		if (rc == 1)
			r->reached = &r->targets[i];
	}
	return verdict;
}

/* For with_another(): with network none, no target that listens may be
 * reached. */
static enum contract_verdict with_none(struct contract *c, void *arg)
{
	enum contract_verdict verdict = CONTRACT_OK;
	struct reach *r = arg;
	int rc = try_target(c, r, r->reached, &verdict);

	if (rc < 0)
		return verdict;
	if (rc == 1)
		return contract_fail(
			c, "with network none it reaches %.200s, as with full",
			r->reached->url);
	snprintf(c->reason, sizeof(c->reason), "with full it reaches %.200s",
		 r->reached->url);
	return CONTRACT_OK;
}

#define LISTED "dcode-test.example"
/* Looks up a listed name, which is the control, and another one. */
static const char lookups[] =
	"r() { if command -v getent; then getent hosts $1; elif command -v "
	"python3; then python3 -c 'import socket, sys; "
	"socket.gethostbyname(sys.argv[1])' $1; else nslookup $1; fi; } "
	">/dev/null 2>&1\n"
	"r " LISTED " && echo the listed name resolves\n"
	"r dcode-other.example && echo another name resolves\n"
	"exit 0";

/* For with_another(): the list does not contain the target. Where dcode's own
 * proxy answers the sandbox's questions, no other name resolves either; some
 * vendors resolve every name, which the list's note says. */
static enum contract_verdict without_host(struct contract *c, void *arg)
{
	enum contract_verdict verdict = CONTRACT_OK;
	struct reach *r = arg;
	int rc = try_target(c, r, r->reached, &verdict);

	if (rc == 0 && c->request->client->provider->ops->proxy)
		return contract_expect(c, lookups, 0,
				       "the listed name resolves\n", NULL);
	if (rc == 1)
		return contract_fail(c,
				     "it reaches %.200s, which its list of "
				     "hosts does not contain",
				     r->reached->url);
	return verdict;
}

/* For with_another(): the list contains the target. */
static enum contract_verdict with_host(struct contract *c, void *arg)
{
	enum contract_verdict verdict = CONTRACT_OK;
	struct reach *r = arg;
	int rc = try_target(c, r, r->reached, &verdict);

	if (rc == 0)
		return contract_fail(c,
				     "it does not reach %.200s, which its "
				     "list of hosts contains",
				     r->reached->url);
	return verdict;
}

/* Creates a sandbox whose list has this one entry, and calls run with it. OK
 * if the provider cannot have such an entry. */
static enum contract_verdict
with_entry(struct contract *c, struct reach *r, const char *entry,
	   enum contract_verdict (*run)(struct contract *c, void *arg))
{
	const struct sandbox_client *client = c->request->client;
	enum contract_verdict verdict = CONTRACT_OK;
	struct network n = { 0 };
	struct error err = { 0 };

	if (network_parse(&n, &entry, 1, &err) == 0 &&
	    network_check(&n, sandbox_network_limits(client),
			  client->provider->name, &err) == 0)
		verdict = with_another(c, &(struct another){ .network = &n },
				       run, r);
	network_release(&n);
	return verdict;
}

/* The same target as before, in a sandbox with a list of other hosts, and in
 * one whose list contains it. */
static enum contract_verdict compare_lists(struct contract *c, struct reach *r)
{
	const struct network_limits *limits =
		sandbox_network_limits(c->request->client);
	enum contract_verdict verdict;
	char entry[300];

	if (!limits)
		return CONTRACT_OK;
	verdict = with_entry(c, r, LISTED, without_host);
	if (verdict != CONTRACT_OK)
		return verdict;
	snprintf(entry, sizeof(entry), "%s", r->reached->host);
	if (limits->can & NETWORK_CAN_PORTS)
		snprintf(entry, sizeof(entry), "%s:%u", r->reached->host,
			 r->reached->port);
	return with_entry(c, r, entry, with_host);
}

/* In a sandbox with network full, tries the targets until one is reached. Then
 * tries that target in a sandbox with network none, and in sandboxes with lists
 * of hosts. */
static enum contract_verdict compare(struct contract *c, struct reach *r)
{
	bool elsewhere;
	enum contract_verdict verdict;

	add_own(r);
	elsewhere = add_endpoint(r, c->request->client);
	verdict = with_another(c, &(struct another){ .network = &full_network },
			       with_full, r);
	if (verdict != CONTRACT_OK)
		return verdict;
	/* A firewall may separate an engine's network from its own machine. */
	if (!r->reached && !elsewhere)
		return contract_na(c, "with full it does not reach this "
				      "machine: is a firewall in the way?");
	if (!r->reached)
		return contract_fail(
			c,
			"with full it reaches neither this machine nor %.200s",
			c->request->client->endpoint);
	verdict = with_another(c, &(struct another){ .network = &no_network },
			       with_none, r);
	return verdict == CONTRACT_OK ? compare_lists(c, r) : verdict;
}

static enum contract_verdict check_network(struct contract *c)
{
	struct reach r = { 0 };
	struct error err = { 0 };
	enum contract_verdict verdict;

	if (contract_can(c, SANDBOX_UNISOLATED))
		return contract_na(c, "its network is this machine's");
	if (!contract_can(c, SANDBOX_NETWORK))
		return contract_na(c, "--sandbox-network is not supported");
	if (listener_start(&r.listener, &err) < 0)
		return contract_fail(c, "%s", err.message);
	verdict = compare(c, &r);
	listener_stop(&r.listener);
	for (size_t i = 0; i < r.n; i++)
		free(r.targets[i].url);
	return verdict;
}

/* True if the text has the value, as it is or in base64. */
static bool shows_value(struct str text, const char *value)
{
	struct buf coded = BUF_INIT(1 << 16);
	bool shows;

	json_base64(&coded, str_of(value));
	shows = memmem(text.ptr, text.len, value, strlen(value)) ||
		memmem(text.ptr, text.len, coded.ptr, coded.len);
	buf_wipe(&coded);
	return shows;
}

/* Checks one secret in what the sandbox has shown. The control: the same text
 * has the secret's variable. */
static enum contract_verdict
check_secret(struct contract *c, const struct secret *s, struct str text)
{
	char *line = xasprintf("\n%s=", s->env ? s->env : "PATH");
	bool found = memmem(text.ptr, text.len, line, strlen(line)) != NULL;

	free(line);
	if (!found)
		return contract_fail(c, "secrets.%s: %s is not set inside",
				     s->name, s->env);
	if (shows_value(text, s->value) ||
	    (s->key && shows_value(text, s->key)))
		return contract_fail(c,
				     "secrets.%s: a program in the sandbox can "
				     "read the value",
				     s->name);
	return CONTRACT_OK;
}

/* Looks for the values of [secrets] in the sandbox. They are compared here: the
 * sandbox must not get them to look for. */
static enum contract_verdict check_secrets(struct contract *c)
{
	struct exec_request req = {
		.command = STR("echo; env; cat /proc/[0-9]*/environ "
			       "/proc/[0-9]*/cmdline ~/.netrc ~/.npmrc "
			       "~/.gitconfig ~/.git-credentials 2>/dev/null; "
			       "exit 0")
	};
	const struct secrets *all = &c->sb->secrets;
	enum contract_verdict verdict = CONTRACT_OK;
	struct ran ran = { 0 };

	if (!all->n)
		return contract_na(c, "the sandbox has no [secrets]");
	if (contract_exec(c, &req, &ran, NULL) < 0)
		verdict = contract_fail(c, "%s", ran.error.message);
	for (size_t i = 0; verdict == CONTRACT_OK && i < all->n; i++)
		verdict = check_secret(c, &all->list[i], buf_str(&ran.out));
	ran_release(&ran);
	return verdict;
}

static const struct contract_check opening[] = {
	{ "create", CHECK_SURE | CHECK_LONG, check_create, NULL },
	{ "id", CHECK_BOX, check_id, NULL },
	{ 0 },
};
static const struct contract_check life[] = {
	{ "attach by id", CHECK_BOX, check_attach, NULL },
	{ "list by label", CHECK_BOX, check_list, NULL },
	{ "info", CHECK_BOX, check_info, NULL },
	{ "lifetime", CHECK_BOX, check_lifetime, NULL },
	{ "extend", CHECK_BOX, check_extend, NULL },
	{ "network none and full", CHECK_BOX | CHECK_SLOW | CHECK_LONG,
	  check_network, NULL },
	{ "secrets stay outside", CHECK_BOX, check_secrets, NULL },
	{ "snapshot", CHECK_BOX | CHECK_SLOW, check_snapshot, NULL },
	{ "stop and start", CHECK_BOX | CHECK_SLOW | CHECK_ENDS, check_stop,
	  NULL },
	{ "remove", CHECK_BOX | CHECK_SURE | CHECK_ENDS, check_remove, NULL },
	{ "remove again", CHECK_AFTER | CHECK_SURE | CHECK_ENDS,
	  check_remove_again, NULL },
	{ "nothing left", CHECK_AFTER | CHECK_SURE | CHECK_ENDS,
	  check_nothing_left, NULL },
	{ 0 },
};
static const struct contract_check *const rooms[] = {
	opening,
	contract_commands,
	contract_files,
	life,
};
enum { ROOMS = sizeof(rooms) / sizeof(const struct contract_check *) };

static enum contract_verdict run_check(struct contract *c,
				       const struct stop *stop)
{
	unsigned flags = c->check->flags;

	c->reason[0] = '\0';
	if (flags & CHECK_SLOW && c->request->quick)
		return contract_na(c, "skipped by --quick");
	if ((flags & CHECK_BOX && !c->sb) || (flags & CHECK_AFTER && !c->id))
		return contract_na(c, "no sandbox");
	if (flags & CHECK_AFTER && contract_can(c, SANDBOX_UNISOLATED))
		return contract_na(c, "this machine stays");
	if (flags & CHECK_BOX && !c->dir)
		return contract_na(c, "no directory to work in");
	c->stop = stop_within(stop, flags & CHECK_LONG ? LONG_MS : CHECK_MS);
	return c->check->run(c);
}

/* True if the request selects this check. */
static bool wanted(const struct contract_request *r,
		   const struct contract_check *check)
{
	if ((check->flags & CHECK_LARGE && !r->large) ||
	    (check->flags & CHECK_ENDS && r->sandbox))
		return false;
	return !r->only || check->flags & CHECK_SURE ||
	       strstr(check->name, r->only);
}

bool contract_knows(const char *only)
{
	for (size_t i = 0; i < ROOMS; i++)
		for (const struct contract_check *k = rooms[i]; k->name; k++)
			if (!(k->flags & CHECK_SURE) && strstr(k->name, only))
				return true;
	return false;
}

static void tell(struct contract *c, enum contract_verdict verdict, int64_t ms)
{
	struct contract_summary *s = c->summary;

	s->passed += verdict == CONTRACT_OK;
	s->failed += verdict == CONTRACT_FAIL;
	s->absent += verdict == CONTRACT_NA;
	c->request->each(c->request->arg,
			 &(struct contract_result){ .name = c->check->name,
						    .verdict = verdict,
						    .ms = ms,
						    .reason = c->reason });
}

static int by_size(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a;
	int64_t y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void end(struct contract *c)
{
	bool stays = c->request->sandbox || contract_can(c, SANDBOX_UNISOLATED);
	struct error ignored = { 0 };

	if (c->sb && stays && c->dir)
		tidy(c);
	(void)lifecycle_close(&c->box, &ignored); /* it has printed a warning */
	if (c->n_commands) {
		qsort(c->commands, c->n_commands, sizeof(*c->commands),
		      by_size);
		c->summary->command_ms = c->commands[c->n_commands / 2];
	}
	free(c->id);
	free(c->dir);
}

/* Runs the checks of one group. -1 only if stop ended it. */
static int run_room(struct contract *c, const struct contract_check *check,
		    const struct stop *stop, struct error *err)
{
	for (; check->name; check++) {
		int64_t began = clock_ms();
		enum contract_verdict verdict;

		if (!wanted(c->request, check))
			continue;
		if (stop_check(stop, err) < 0)
			return -1;
		c->check = check;
		verdict = run_check(c, stop);
		if (stop_check(stop, err) < 0)
			return -1;
		tell(c, verdict, clock_ms() - began);
	}
	return 0;
}

int contract_run(const struct contract_request *request,
		 struct contract_summary *summary, const struct stop *stop,
		 struct error *err)
{
	struct contract c = { .request = request, .summary = summary };
	int rc = 0;

	*summary = (struct contract_summary){ .create_ms = -1,
					      .command_ms = -1,
					      .remove_ms = -1,
					      .upload_kib_s = -1,
					      .download_kib_s = -1 };
	for (size_t i = 0; i < ROOMS && rc == 0; i++)
		rc = run_room(&c, rooms[i], stop, err);
	end(&c);
	return rc;
}
