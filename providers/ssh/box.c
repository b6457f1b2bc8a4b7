/* box.c - sandboxes on a host: made, found, stopped and removed. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "providers/ssh/ssh.h"
#include "sandbox/quote.h"

enum {
	ANSWER_MAX = 1 << 20,
	SCRIPT_MAX = 256 << 10,
	REQUEST_MS = 60000,
	LEAVE_MS = 3000,
	JOBS_MAX = 64 << 10, /* bytes of their names */
};

static const unsigned char remove_sh[] = {
#include "scripts/sandbox/private_remove.sh.inc"
};
static const unsigned char box_sh[] = {
#include "scripts/sandbox/ssh_box.sh.inc"
};

#define SCRIPT(array) ((struct str){ (const char *)(array), sizeof(array) })

struct request {
	const char *op;
	struct ssh_name name;
	const char *owner; /* of a list: of which only; or NULL */
	const char *label; /* the same */
	const char *dir;
	const char *need;
	const char *jobs;
	bool offline; /* its commands get no network; enter() reads it, too */
	struct buf answer;
};

static int fail(const struct request *r, struct str rest, struct error *err)
{
	struct str word = { 0 };
	struct buf why = BUF_INIT(400);
	int rc;

	(void)str_split(&rest, ' ', &word);
	sanitize_line(rest, &why);
	if (str_is(word, "none")) {
		rc = error_set(err, ERR_NOT_FOUND, "unknown sandbox %s on %s",
			       r->name.label, r->name.host);
	} else if (str_is(word, "directory")) {
		rc = error_set(err, ERR_CONFIG,
			       "cannot enter the directory %s on %s",
			       why.ptr ? why.ptr : "", r->name.host);
	} else if (str_is(word, "program")) {
		error_set(err, ERR_CONFIG, "%s is not installed on %s",
			  why.ptr ? why.ptr : "", r->name.host);
		rc = error_hint(err, "Install it there, or leave out isolate.");
	} else if (str_is(word, "home")) {
		rc = error_set(err, ERR_CONFIG,
			       "HOME on %s is not an absolute path without "
			       "line breaks",
			       r->name.host);
	} else if (str_is(word, "alive")) {
		rc = error_set(err, ERR_REMOTE,
			       "a process of %s on %s does not end",
			       r->name.label, r->name.host);
	} else {
		rc = error_set(err, ERR_REMOTE, "%s: %s", r->name.host,
			       why.ptr ? why.ptr : "");
	}
	buf_release(&why);
	return rc;
}

/* The rest of the next line "@ssh:WORD rest". */
static bool next_line(struct str *all, struct str *word, struct str *rest)
{
	struct str line;

	while (str_split(all, '\n', &line)) {
		if (!str_starts(line, "@ssh:"))
			continue;
		*rest = str_skip(line, strlen("@ssh:"));
		if (!str_split(rest, ' ', word))
			*word = (struct str){ 0 };
		return true;
	}
	return false;
}

/* Runs the script of the sandboxes on the host. The answer is released by the
 * caller. -1 for one that says that it failed. */
static int ask(struct ssh_client *c, struct request *r, const struct stop *stop,
	       struct error *err)
{
	struct held *held = ssh_held(c, r->name.host, err);
	struct stop limit = stop_within(stop, REQUEST_MS);
	struct buf text = BUF_INIT(SCRIPT_MAX);
	struct str word;
	struct str rest;
	struct str all;
	int rc;

	r->answer = BUF_INIT(ANSWER_MAX);
	if (!held)
		return -1;
	quote_assign(&text, "b_op", str_of(r->op));
	quote_assign(&text, "b_label", str_of(r->name.label));
	quote_assign(&text, "b_owner", str_of(r->owner));
	quote_assign(&text, "b_dir", str_of(r->dir));
	quote_assign(&text, "b_need", str_of(r->need));
	quote_assign(&text, "b_jobs", str_of(r->jobs));
	quote_assign(&text, "b_offline", str_of(r->offline ? "1" : ""));
	quote_script(&text, SCRIPT(remove_sh));
	quote_script(&text, SCRIPT(box_sh));
	rc = held_call(held, buf_str(&text), 0, &r->answer, &limit, err);
	buf_release(&text);
	all = buf_str(&r->answer);
	if (rc == 0 && next_line(&all, &word, &rest) && str_is(word, "fail"))
		rc = fail(r, rest, err);
	return rc;
}

/* The working directory that the answer names becomes that of sb. */
static int enter(struct sandbox *sb, struct request *r, struct error *err)
{
	struct str all = buf_str(&r->answer);
	struct str word = { 0 };
	struct str rest = { 0 };
	bool more = next_line(&all, &word, &rest);

	if (more && str_is(word, "offline")) {
		r->offline = true;
		more = next_line(&all, &word, &rest);
	}
	if (!more || !str_is(word, "at") || !str_starts(rest, "/"))
		return error_set(err, ERR_PROTOCOL, "%s sent an invalid answer",
				 r->name.host);
	free(sb->workdir);
	sb->workdir = xstrndup(rest.ptr, rest.len);
	return 0;
}

static void fill(struct sandbox *sb, const struct ssh_name *name, bool offline,
		 struct held *held)
{
	struct ssh_box *box = sb->priv;

	if (!box) {
		box = xcalloc(1, sizeof(*box));
		box->jobs = BUF_INIT(JOBS_MAX);
		pthread_mutex_init(&box->lock, NULL);
		sb->priv = box;
	}
	box->name = *name;
	box->held = held;
	box->offline = offline;
}

void ssh_discard(struct sandbox *sb)
{
	struct ssh_box *box = sb->priv;
	const struct stop stop = stop_cleanup(LEAVE_MS);
	struct error ignored = { 0 };

	if (!box)
		return;
	if (box->jobs.len) {
		struct request r = { .op = "leave",
				     .name = box->name,
				     .jobs = box->jobs.ptr };

		(void)ask(sb->client->priv, &r, &stop, &ignored);
		buf_release(&r.answer);
	}
	buf_release(&box->jobs);
	pthread_mutex_destroy(&box->lock);
	free(box);
	sb->priv = NULL;
}

static void set_id(struct sandbox *sb, const struct ssh_name *name)
{
	free(sb->id);
	sb->id = name->label[0] ? xasprintf("%s/%s", name->host, name->label)
				: xstrdup(name->host);
}

/* Before anybody is there, nothing is made. */
static bool was_before(const struct error *err)
{
	return err->code == ERR_AUTH || err->code == ERR_CONFIG ||
	       err->code == ERR_USAGE || err->code == ERR_UNREACHABLE;
}

int ssh_create(struct sandbox *sb, const struct sandbox_spec *spec,
	       const struct stop *stop, struct error *err)
{
	struct ssh_client *c = sb->client->priv;
	struct request r = { .op = "create",
			     .owner = spec->owner,
			     .dir = c->workdir,
			     .need = c->isolate,
			     .offline = spec->network == NETWORK_NONE };
	int rc;

	if (!c->host) {
		error_set(err, ERR_CONFIG, "no host is set");
		err->nothing_made = true;
		return error_hint(err, "Set host = \"user@host\" in "
				       "[sandboxes.providers.ssh.params] of "
				       "~/.deepagents/config.toml.");
	}
	rc = ssh_parse_id(c, spec->label, &r.name, err);
	if (rc < 0) {
		err->nothing_made = true;
		return -1;
	}
	rc = ask(c, &r, stop, err);
	if (rc < 0)
		err->nothing_made = err->nothing_made || was_before(err);
	if (rc == 0 || err->code == ERR_REMOTE)
		set_id(sb, &r.name);
	if (rc == 0)
		rc = enter(sb, &r, err);
	if (rc == 0) {
		fill(sb, &r.name, r.offline, ssh_held(c, r.name.host, err));
		rc = ssh_check_isolation(sb, stop, err);
	}
	buf_release(&r.answer);
	return rc;
}

/* A host as it is: in the directory that is set, or the user's home. */
static int attach_host(struct sandbox *sb, struct request *r,
		       const struct stop *stop, struct error *err)
{
	struct ssh_client *c = sb->client->priv;
	struct held *held = ssh_held(c, r->name.host, err);
	struct stop limit = stop_within(stop, REQUEST_MS);
	struct buf text = BUF_INIT(SCRIPT_MAX);
	struct str all;
	struct str word;
	struct str rest;
	int rc = held ? 0 : -1;

	r->answer = BUF_INIT(ANSWER_MAX);
	quote_assign(&text, "b_dir", str_of(c->workdir));
	buf_adds(&text, "b_dir=${b_dir:-${HOME:-/}}\n"
			"cd \"$b_dir\" 2>/dev/null && printf '@ssh:at %s\\n' "
			"\"$(pwd -P)\" || printf '@ssh:fail directory %s\\n' "
			"\"$b_dir\"\n");
	if (rc == 0)
		rc = held_call(held, buf_str(&text), 0, &r->answer, &limit,
			       err);
	buf_release(&text);
	all = buf_str(&r->answer);
	if (rc == 0 && next_line(&all, &word, &rest) && str_is(word, "fail"))
		rc = fail(r, rest, err);
	return rc;
}

int ssh_attach(struct sandbox *sb, const char *id, const struct stop *stop,
	       struct error *err)
{
	struct ssh_client *c = sb->client->priv;
	struct request r = { .op = "attach", .need = c->isolate };
	int rc = ssh_parse_id(c, id, &r.name, err);

	if (rc == 0 && r.name.label[0])
		rc = ask(c, &r, stop, err);
	else if (rc == 0)
		rc = attach_host(sb, &r, stop, err);
	if (rc == 0)
		rc = enter(sb, &r, err);
	if (rc == 0) {
		set_id(sb, &r.name);
		fill(sb, &r.name, r.offline, ssh_held(c, r.name.host, err));
		rc = ssh_check_isolation(sb, stop, err);
	}
	buf_release(&r.answer);
	return rc;
}

/* "LABEL OWNER SINCE STATE" */
static void report(const struct request *r, struct str rest,
		   const struct info_sink *sink)
{
	struct str part[4] = { 0 };
	struct ssh_name name = r->name;
	char who[64];
	char *id;
	struct sandbox_info info = { .image = "" };

	for (size_t i = 0; i < 4; i++)
		(void)str_split(&rest, ' ', &part[i]);
	if (part[0].len >= sizeof(name.label) || part[1].len >= sizeof(who) ||
	    !str_starts(part[0], "dcode-") || !str_is_visible(part[0]))
		return;
	snprintf(name.label, sizeof(name.label), "%.*s", (int)part[0].len,
		 part[0].ptr);
	snprintf(who, sizeof(who), "%.*s", (int)part[1].len,
		 str_is(part[1], "-") ? "" : part[1].ptr);
	if ((r->label && strcmp(r->label, name.label) != 0) ||
	    (r->owner && strcmp(r->owner, who) != 0))
		return;
	id = xasprintf("%s/%s", name.host, name.label);
	info.id = id;
	info.label = name.label;
	info.owner = who;
	info.state = str_is(part[3], "stopped") ? STATE_STOPPED : STATE_RUNNING;
	(void)str_to_int(part[2], &info.created);
	info_emit(sink, &info);
	free(id);
}

static int each_box(struct ssh_client *c, struct request *r,
		    const struct info_sink *sink, const struct stop *stop,
		    struct error *err)
{
	int rc = ask(c, r, stop, err);
	struct str all = buf_str(&r->answer);
	struct str word;
	struct str rest;

	while (rc == 0 && next_line(&all, &word, &rest))
		if (str_is(word, "box"))
			report(r, rest, sink);
	buf_release(&r->answer);
	return rc;
}

int ssh_list(struct sandbox_client *client, const char *owner,
	     const struct info_sink *sink, const struct stop *stop,
	     struct error *err)
{
	struct ssh_client *c = client->priv;
	struct request r = { .op = "list", .owner = owner };

	if (!c->host)
		return 0;
	snprintf(r.name.host, sizeof(r.name.host), "%s", c->host);
	return each_box(c, &r, sink, stop, err);
}

struct counted {
	const struct info_sink *sink;
	bool found;
};

static void count(void *arg, const struct sandbox_info *info)
{
	struct counted *n = arg;

	n->found = true;
	info_emit(n->sink, info);
}

int ssh_info(struct sandbox_client *client, const char *id,
	     const struct info_sink *sink, const struct stop *stop,
	     struct error *err)
{
	struct ssh_client *c = client->priv;
	struct request r = { .op = "list" };
	struct counted n = { .sink = sink };
	const struct info_sink counting = { count, &n };
	int rc = ssh_parse_id(c, id, &r.name, err);

	if (rc < 0)
		return -1;
	r.label = r.name.label;
	if (r.label[0])
		rc = each_box(c, &r, &counting, stop, err);
	if (rc == 0 && !n.found)
		rc = error_set(err, ERR_NOT_FOUND, "unknown sandbox %s", id);
	return rc;
}

/* 1 when there is none. */
static int end(struct sandbox_client *client, const char *op, const char *id,
	       const struct stop *stop, struct error *err)
{
	struct ssh_client *c = client->priv;
	struct request r = { .op = op };
	struct error why = { 0 };
	int rc = ssh_parse_id(c, id, &r.name, err);

	if (rc < 0)
		return -1;
	if (!r.name.label[0])
		return error_set(err, ERR_USAGE,
				 "%s is a host, not a sandbox that dcode made",
				 id);
	rc = ask(c, &r, stop, &why);
	buf_release(&r.answer);
	if (rc == 0 || why.code == ERR_NOT_FOUND)
		return rc < 0;
	*err = why;
	return -1;
}

int ssh_stop(struct sandbox_client *client, const char *id, int64_t *keep_s,
	     const struct stop *stop, struct error *err)
{
	*keep_s = 0;
	return end(client, "stop", id, stop, err);
}

int ssh_remove(struct sandbox_client *client, const char *id,
	       const struct stop *stop, struct error *err)
{
	return end(client, "remove", id, stop, err);
}
