/* life.c - checks of a sandbox's life: list, attach, extend, stop, delete. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "contract/check.h"
#include "session/store.h"

enum { LATEST_S = 7 * 86400 }; /* a later end fails the check */

struct look { /* search for one sandbox in a list */
	const char *id, *label;
	int by_id, by_label, both;
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
	if (id) {
		l->state = info->state;
		l->ends = info->ends;
	}
}

enum contract_verdict check_id(struct contract *c)
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

enum contract_verdict check_attach(struct contract *c)
{
	struct sandbox other = { 0 };
	struct error err = { 0 };
	enum contract_verdict verdict;
	char *path;

	if (!contract_can(c, SANDBOX_ATTACH))
		return contract_na(c, "not supported");
	path = contract_path(c, "kept");
	verdict = leave_file(c, path);
	if (verdict != CONTRACT_OK)
		;
	else if (sandbox_attach(&other, c->request->client, c->id, &c->stop,
				&err) < 0)
		verdict = contract_fail(c, "%s", err.message);
	else if (strcmp(other.id, c->id) != 0)
		verdict = contract_fail(c, "became %.100s", other.id);
	else
		verdict = same_files(c, &other, path);
	sandbox_release(&other);
	free(path);
	if (verdict == CONTRACT_OK)
		verdict = attach_to_nothing(c);
	return verdict;
}

enum contract_verdict check_list(struct contract *c)
{
	struct look look = { .id = c->id, .label = c->label };
	const struct info_sink sink = { see, &look };
	const struct contract_request *r = c->request;
	struct error err = { 0 };

	if (!contract_can(c, SANDBOX_LIST) || !sandbox_can_list(r->client))
		return contract_na(c, "not supported");
	if (sandbox_list(r->client, store_owner(r->store), &sink, &c->stop,
			 &err) < 0)
		return contract_fail(c, "%s", err.message);
	if (!look.by_id || look.both != 1 || look.by_label != 1)
		return contract_fail(c, "%d with its id, %d with its label",
				     look.by_id, look.by_label);
	return CONTRACT_OK;
}

enum contract_verdict check_info(struct contract *c)
{
	struct look look = { .id = c->id, .label = c->label };
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
	if (look.state != STATE_RUNNING)
		return contract_fail(c, "it is not reported as running");
	return CONTRACT_OK;
}

/* Checks that the sandbox will end by itself, neither now nor far too late. */
enum contract_verdict check_lifetime(struct contract *c)
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

enum contract_verdict check_extend(struct contract *c)
{
	const struct contract_request *r = c->request;
	struct error err = { 0 };
	int64_t seconds = c->request->client->provider->lifetime_s;

	if (!sandbox_can_extend(r->client))
		return contract_na(c, "not supported");
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
enum contract_verdict check_stop(struct contract *c)
{
	struct sandbox other = { 0 };
	struct error err = { 0 };
	enum contract_verdict verdict;
	char *path;

	if (!sandbox_can_stop(c->request->client))
		return contract_na(c, "not supported");
	path = contract_path(c, "kept");
	verdict = leave_file(c, path);
	for (int i = 0; i < 2 && verdict == CONTRACT_OK; i++)
		verdict = stopped(c); /* the second call finds it stopped */
	if (verdict != CONTRACT_OK)
		;
	else if (sandbox_attach(&other, c->request->client, c->id, &c->stop,
				&err) < 0)
		verdict = contract_fail(c, "starting again: %s", err.message);
	else if (strcmp(other.id, c->id) != 0)
		verdict = contract_fail(c, "became %.100s", other.id);
	else
		verdict = same_files(c, &other, path);
	sandbox_release(&other);
	free(path);
	return verdict;
}

enum contract_verdict check_snapshot(struct contract *c)
{
	const char *name = c->request->snapshot;
	struct error err = { 0 };
	enum contract_verdict verdict;
	char *path;

	if (!sandbox_can_snapshot(c->request->client))
		return contract_na(c,
				   "the provider does not support snapshots");
	if (!name)
		return contract_na(c, "skipped: use --snapshot NAME to test "
				      "(the snapshot is not deleted)");
	path = contract_path(c, "snapped");
	verdict = leave_file(c, path);
	if (verdict == CONTRACT_OK &&
	    sandbox_snapshot(c->sb, name, false, &c->stop, &err) < 0)
		verdict = contract_fail(c, "%s", err.message);
	if (verdict == CONTRACT_OK)
		verdict = contract_with_another(
			c, &(struct contract_another){ .snapshot = name },
			same_file, path);
	free(path);
	return verdict;
}

enum contract_verdict check_remove_again(struct contract *c)
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

enum contract_verdict check_nothing_left(struct contract *c)
{
	struct look look = { .id = c->id, .label = c->label };
	const struct info_sink sink = { see, &look };
	const struct contract_request *r = c->request;
	struct error err = { 0 };

	if (contract_can(c, SANDBOX_LIST) && sandbox_can_list(r->client)) {
		if (sandbox_list(r->client, store_owner(r->store), &sink,
				 &c->stop, &err) < 0)
			return contract_fail(c, "%s", err.message);
		if (look.by_id || look.by_label)
			return contract_fail(c, "it is still listed");
	}
	return still_attaches(c);
}
