/* create.c - a devbox made once, whatever gets lost, and booted. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/runloop/runloop.h"

enum {
	BODY_MAX = 1 << 20,
};

struct found {
	const char *label;
	char id[RUNLOOP_ID_MAX + 1];
	char spare[8][RUNLOOP_ID_MAX + 1];
	size_t n_spare;
};

static void on_found(void *arg, const struct sandbox_info *info)
{
	struct found *f = arg;

	if (strcmp(info->label, f->label) != 0)
		return;
	if (!f->id[0])
		snprintf(f->id, sizeof(f->id), "%s", info->id);
	else if (f->n_spare < sizeof(f->spare) / sizeof(*f->spare))
		snprintf(f->spare[f->n_spare++], sizeof(f->id), "%s", info->id);
}

/* What earlier requests for this label have made: 1 with one adopted, the
 * others shut down; 0 when there is none. */
static int find_made(struct sandbox *sb, const char *label,
		     char status[RUNLOOP_STATUS], const struct stop *stop,
		     struct error *err)
{
	struct found f = { .label = label };

	if (runloop_list(sb->host, NULL, &(struct info_sink){ on_found, &f },
			 stop, err) < 0)
		return -1;
	for (size_t i = 0; i < f.n_spare; i++)
		if (runloop_remove(sb->host, f.spare[i], stop, err) < 0)
			return -1;
	if (!f.id[0])
		return 0;
	sb->id = xstrdup(f.id);
	if (runloop_status(runloop_of(sb->host), sb->id, status, stop, err) < 0)
		return -1;
	return 1;
}

/* What is asked for, again and again, and what became of it. */
struct attempt {
	const char *label;
	struct str body;
	char status[RUNLOOP_STATUS];
};

static int post(struct sandbox *sb, struct attempt *a, const struct stop *stop,
		struct error *err)
{
	char header[96];
	const char *const headers[] = { header, NULL };
	struct rest_ask ask = { .method = "POST",
				.path = "/v1/devboxes",
				.body = a->body,
				.what = "creating the devbox",
				.headers = headers };
	cJSON *tree = NULL;
	const char *id;
	const char *word;
	int rc;

	/* The same in every try for this label. */
	snprintf(header, sizeof(header), "x-request-id: %s", a->label);
	rc = runloop_api(runloop_of(sb->host), &ask, &tree, NULL, stop, err);
	id = json_string(tree, "id", "");
	word = json_string(tree, "status", "");
	if (rc == 0 &&
	    (!runloop_id_ok(id) || !*word || strlen(word) >= RUNLOOP_STATUS))
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: no devbox id");
	if (rc == 0) {
		sb->id = xstrdup(id);
		snprintf(a->status, sizeof(a->status), "%s", word);
	}
	cJSON_Delete(tree);
	return rc;
}

static int make(struct sandbox *sb, const struct sandbox_spec *spec,
		struct attempt *a, const struct stop *stop, struct error *err)
{
	bool again = create_log_add(&runloop_of(sb->host)->tried, spec->label);
	int rc = 0;

	if (again)
		rc = find_made(sb, a->label, a->status, stop, err);
	if (rc == 0)
		rc = post(sb, a, stop, err);
	/* The SDKs repeat it after this one, too. */
	if (rc < 0 && !sb->id && err->http_status == 409)
		err->code = ERR_NETWORK;
	return rc < 0 ? -1 : 0;
}

/* Why it did not boot. Its id stays, so that the caller shuts it down. */
static int explain(const struct error *why, struct error *err)
{
	*err = *why;
	if (err->code != ERR_GONE)
		return -1;
	err->code = ERR_REMOTE;
	return error_wrap(err, "it did not boot");
}

/* The blueprint's id first, which needs no look; then the flag's name, then the
 * parameters. */
static int add_source(struct runloop *r, const struct sandbox_spec *spec,
		      cJSON *body, const struct stop *stop, struct error *err)
{
	struct runloop_progress progress = { spec->progress, spec->arg };
	const char *id = NULL;
	const char *name = NULL;
	const char *snapshot = NULL;

	if (settings_string(r->settings, "runloop", "blueprint_id", &id, err) <
		    0 ||
	    settings_string(r->settings, "runloop", "blueprint", &name, err) <
		    0 ||
	    settings_string(r->settings, "runloop", "snapshot_id", &snapshot,
			    err) < 0)
		return -1;
	if (spec->snapshot)
		name = spec->snapshot;
	if (id) {
		cJSON_AddStringToObject(body, "blueprint_id", id);
		return 0;
	}
	if (snapshot && !spec->snapshot) {
		cJSON_AddStringToObject(body, "snapshot_id", snapshot);
		return 0;
	}
	if (!name)
		return 0;
	cJSON_AddStringToObject(body, "blueprint_name", name);
	return runloop_blueprint(r, name, &progress, stop, err);
}

/* Before anything is made that costs money. */
static int prepare(struct sandbox *sb, const struct sandbox_spec *spec,
		   struct buf *text, const struct stop *stop, struct error *err)
{
	struct runloop *r = runloop_of(sb->host);
	cJSON *body = cJSON_CreateObject();
	const char *dir = NULL;
	int rc = settings_string(r->settings, "runloop", "workdir", &dir, err);

	if (rc == 0 && dir && dir[0] != '/')
		rc = error_set(err, ERR_CONFIG,
			       "workdir must be an absolute path");
	if (rc == 0)
		rc = runloop_describe(r, spec, body, stop, err);
	if (rc == 0)
		rc = add_source(r, spec, body, stop, err);
	if (rc == 0) {
		json_print(text, body);
		rc = buf_check(text, "the devbox's description", err);
	}
	if (rc == 0 && dir)
		sb->workdir = xstrdup(dir);
	if (rc < 0)
		err->nothing_made = true;
	cJSON_Delete(body);
	return rc;
}

int runloop_create(struct sandbox *sb, const struct sandbox_spec *spec,
		   const struct stop *stop, struct error *err)
{
	struct runloop_progress progress = { spec->progress, spec->arg };
	struct buf text = BUF_INIT(BODY_MAX);
	struct attempt a = { .label = spec->label };
	struct error why = { 0 };
	int rc = prepare(sb, spec, &text, stop, err);

	a.body = buf_str(&text);
	if (rc == 0)
		rc = make(sb, spec, &a, stop, err);
	buf_release(&text);
	if (rc < 0)
		return -1;
	if (runloop_run(runloop_of(sb->host), sb->id, a.status, &progress, stop,
			&why) == 0)
		return 0;
	return explain(&why, err);
}
