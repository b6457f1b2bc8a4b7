/* docker.c - sandboxes as containers of Docker or Podman. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/str.h"
#include "net/retry.h"
#include "providers/docker/engine.h"
#include "providers/docker/kill.h"
#include "providers/kit/rates.h"

enum {
	BODY_MAX = 1 << 20,    /* bytes of a description */
	COMMAND_MAX = 1 << 20, /* bytes; Linux takes 2 MiB of arguments */
	LIFETIME_S = 4 * 3600,
	POLL_MS = 50,
	APPEAR_MS = 5000, /* from a name in use to its container */
};

static struct docker *docker_of(const struct sandbox_client *host)
{
	return host->priv;
}

static int docker_open(struct sandbox_client *host, const struct settings *set,
		       struct error *err)
{
	struct docker *d = xcalloc(1, sizeof(*d));

	d->settings = set;
	if (engine_init(&d->engine, host->http, set, host->also, err) < 0) {
		engine_release(&d->engine);
		free(d);
		return -1;
	}
	host->priv = d;
	host->endpoint = d->engine.shown;
	host->isolation = docker_isolation(set);
	host->lacks |= docker_has_mounts(set) ? SANDBOX_PLACED : 0;
	return 0;
}

static void docker_close(struct sandbox_client *host)
{
	struct docker *d = docker_of(host);

	if (!d)
		return;
	engine_release(&d->engine);
	free(d);
	host->endpoint = host->priv = NULL;
}

static const char *label_of(const cJSON *inspected, const char *name)
{
	return json_string(json_get(json_get(inspected, "Config"), "Labels"),
			   name, "");
}

/* Directories of the host that the container may write; volumes, which the
 * engine keeps, are of another type. A socket can be used through a read-only
 * mount, too: the engine's own gives all of the host. */
static void add_mounts(struct sandbox *sb, const cJSON *inspected)
{
	const cJSON *mount;

	cJSON_ArrayForEach (mount, json_get(inspected, "Mounts")) {
		const char *source = json_string(mount, "Source", "");
		struct stat st;

		if (!strcmp(json_string(mount, "Type", ""), "bind") &&
		    (json_bool(mount, "RW", true) ||
		     (stat(source, &st) == 0 && S_ISSOCK(st.st_mode))))
			mounts_add(&sb->mounts,
				   json_string(mount, "Destination", "?"),
				   source);
	}
}

/* Fills sb from what GET /containers/ID/json says. */
static void fill_sandbox(struct sandbox *sb, bool created,
			 const cJSON *inspected)
{
	const char *dir = label_of(inspected, "dcode.workdir");

	add_mounts(sb, inspected);

	if (dir[0] != '/')
		dir = json_string(json_get(inspected, "Config"), "WorkingDir",
				  "/");
	if (dir[0] != '/')
		dir = "/";
	free(sb->workdir);
	sb->workdir = xstrdup(dir);
	sb->priv = docker_box_new(sb->host->priv, created);
	docker_box_set_init(sb->priv, inspected);
}

static int set_id(struct sandbox *sb, const cJSON *answer, struct error *err)
{
	const char *id = json_string(answer, "Id", "");

	if (!engine_name_ok(id))
		return error_set(err, ERR_PROTOCOL,
				 "the engine returned no container id");
	free(sb->id);
	sb->id = xstrdup(id);
	return 0;
}

/* The container of our label that an earlier try left: ERR_NOT_FOUND when
 * there is none. */
static int find_labelled(struct engine *e, const char *label, cJSON **found,
			 const struct stop *stop, struct error *err)
{
	cJSON *answer = NULL;

	if (engine_inspect(e, label, &answer, stop, err) < 0)
		return -1;
	if (strcmp(label_of(answer, "dcode.label"), label) != 0) {
		cJSON_Delete(answer);
		return error_set(err, ERR_REMOTE,
				 "a container named %s exists, and dcode did "
				 "not make it",
				 label);
	}
	*found = answer;
	return 0;
}

static int no_snapshot(const char *name, struct error *err)
{
	error_set(err, ERR_NOT_FOUND, "unknown snapshot '%s'", name);
	return error_hint(err, "Make one: dcode sandbox snapshot ID %s", name);
}

/* An engine takes the name before there is anything to inspect: Podman 4.3 is
 * seen to refuse it meanwhile with status 500, Docker with 409 (taken). *err
 * changes only when stop ended the wait. */
static int find_created(struct engine *e, const char *label, bool taken,
			cJSON **answer, const struct stop *stop,
			struct error *err)
{
	struct stop limit = stop_within(stop, APPEAR_MS);
	struct error why = { 0 };

	do {
		why = (struct error){ 0 };
		if (find_labelled(e, label, answer, &limit, &why) == 0)
			return 0;
	} while (taken && why.code == ERR_NOT_FOUND &&
		 stop_sleep(&limit, POLL_MS, &why) == 0);
	if (stop_check(stop, &why) < 0)
		*err = why;
	return -1;
}

/* POST /containers/create. 0 with *answer, 1 when the image is missing. A
 * name in use is no failure when the container is ours: an earlier try, whose
 * answer was lost, made it. */
static int post_create(struct engine *e, const char *label, struct str body,
		       cJSON **answer, const struct stop *stop,
		       struct error *err)
{
	struct http_response res = { 0 };
	struct engine_ask ask = { .method = "POST",
				  .path = "/containers/create?name=",
				  .id = label,
				  .body = body,
				  .what = "creating a container" };
	int rc = engine_call(e, &ask, &res, stop, err);

	if (rc == 0 && res.status == 404) {
		rc = 1;
	} else if (rc == 0 && res.status >= 400) {
		http_status_error(&res, ask.what, err);
		/* What an engine on this machine refuses, it refuses again. */
		err->exhausted = true;
		rc = find_created(e, label,
				  res.status == 409 || res.status == 500,
				  answer, stop, err);
	} else if (rc == 0) {
		*answer = json_parse(buf_str(&res.body));
	}
	http_response_release(&res);
	return rc;
}

/* Pulls as the policy says; 0 when the image should be there. */
static int fetch_image(struct docker *d, const struct sandbox_spec *spec,
		       const char *image, bool missing, const struct stop *stop,
		       struct error *err)
{
	const char *policy = NULL;

	if (settings_string(d->settings, "docker", "pull", &policy, err) < 0)
		return -1;
	if (strcmp(policy, "missing") != 0 && strcmp(policy, "always") != 0 &&
	    strcmp(policy, "never") != 0)
		return error_set(err, ERR_CONFIG,
				 "pull = \"%s\": use missing, always or never",
				 policy);
	if (missing && spec->snapshot)
		return no_snapshot(spec->snapshot, err);
	if (missing && strcmp(policy, "never") == 0)
		return error_set(
			err, ERR_NOT_FOUND,
			"the image %s is missing here, and pull = \"never\"",
			image);
	if (spec->snapshot || (!missing && strcmp(policy, "always") != 0))
		return 0;
	return engine_pull(&d->engine, image, spec, stop, err);
}

static int start_container(struct engine *e, const char *id,
			   const struct stop *stop, struct error *err)
{
	struct error why = { 0 };
	int rc = engine_post(e, id, "/start", "starting the container", stop,
			     &why);

	/* 304: it runs already. */
	if (rc == 0 || why.http_status == 304)
		return 0;
	*err = why;
	return -1;
}

static int create_container(struct sandbox *sb, const struct sandbox_spec *spec,
			    const char *image,
			    const struct docker_limits *limits,
			    const struct stop *stop, struct error *err)
{
	struct docker *d = docker_of(sb->host);
	struct buf body = BUF_INIT(BODY_MAX);
	cJSON *answer = NULL;
	int rc = docker_create_body(d, spec, image, limits, &body, err);

	err->nothing_made = rc < 0;
	for (int missing = 0; missing < 2 && rc >= 0; missing++) {
		rc = fetch_image(d, spec, image, missing, stop, err);
		if (rc < 0)
			err->nothing_made = true;
		else
			rc = post_create(&d->engine, spec->label,
					 buf_str(&body), &answer, stop, err);
		if (rc <= 0)
			break;
	}
	if (rc == 1)
		rc = error_set(err, ERR_NOT_FOUND,
			       "the engine cannot find the image %s", image);
	if (rc == 0)
		rc = set_id(sb, answer, err);
	cJSON_Delete(answer);
	buf_release(&body);
	return rc;
}

/* 0 when the engine says that it is created and started. */
static int create_started(struct sandbox *sb, const struct sandbox_spec *spec,
			  const char *image, const struct docker_limits *limits,
			  const struct stop *stop, struct error *err)
{
	struct docker *d = docker_of(sb->host);

	if (create_container(sb, spec, image, limits, stop, err) < 0)
		return -1;
	return start_container(&d->engine, sb->id, stop, err);
}

/* Engines say in words of their own that they cannot limit memory or
 * processes, some when the container is started: so any refusal that these may
 * be the cause of is followed by one attempt without them. */
static int create_limited(struct sandbox *sb, const struct sandbox_spec *spec,
			  const char *image, const struct stop *stop,
			  struct error *err)
{
	struct docker_limits limits;
	struct error why = { 0 };
	struct error again = { 0 };
	char *line;

	/* The engine is asked for its limits first: 0.1 s with Podman. */
	if (docker_limits_init(docker_of(sb->host), &limits, stop, err) < 0) {
		err->nothing_made = true;
		return -1;
	}
	if (create_started(sb, spec, image, &limits, stop, &why) == 0)
		return 0;
	*err = why;
	if (why.http_status != 400 && why.http_status < 500)
		return -1;
	if (docker_lacks_runtime(docker_of(sb->host), stop, err)) {
		err->nothing_made = !sb->id;
		return -1;
	}
	if (sb->id && docker_remove(sb->host, sb->id, stop, &again) < 0)
		return -1;
	limits.wanted = false;
	limits.memory = 0;
	if (create_started(sb, spec, image, &limits, stop, &again) < 0) {
		if (!retry_was_refused(&again)) /* it may exist */
			*err = again;
		err->nothing_made = why.nothing_made && again.nothing_made;
		return -1;
	}
	*err = (struct error){ 0 };
	line = xasprintf("the container has no memory or process limits: %s",
			 why.message);
	if (spec->progress)
		spec->progress(spec->arg, line);
	free(line);
	return 0;
}

static int docker_create(struct sandbox *sb, const struct sandbox_spec *spec,
			 const struct stop *stop, struct error *err)
{
	struct docker *d = docker_of(sb->host);
	cJSON *inspected = NULL;
	char *image = NULL;
	int rc;

	if (!engine_name_ok(spec->label))
		rc = error_set(err, ERR_USAGE, "not a label: '%s'",
			       spec->label);
	else if (spec->snapshot && !engine_name_ok(spec->snapshot))
		rc = no_snapshot(spec->snapshot, err);
	else
		rc = docker_image(d, spec, &image, err);
	if (rc < 0) {
		err->nothing_made = true;
		return -1;
	}
	rc = -1;
	if (create_limited(sb, spec, image, stop, err) == 0 &&
	    engine_inspect(&d->engine, sb->id, &inspected, stop, err) == 0 &&
	    docker_check_runtime(d, inspected, err) == 0) {
		fill_sandbox(sb, true, inspected);
		rc = docker_is_bound(sb)
			     ? 0
			     : docker_give_workdir(d, sb, inspected, stop, err);
	}
	cJSON_Delete(inspected);
	free(image);
	return rc;
}

/* Starts it if it was stopped and inspects it again, since some containers end
 * as soon as they start. */
static int ensure_running(struct sandbox *sb, cJSON **inspected,
			  const struct stop *stop, struct error *err)
{
	struct engine *e = &docker_of(sb->host)->engine;
	const cJSON *state = json_get(*inspected, "State");

	if (json_bool(state, "Paused", false))
		return engine_post(e, sb->id, "/unpause",
				   "resuming the container", stop, err);
	if (json_bool(state, "Running", false))
		return 0;
	if (start_container(e, sb->id, stop, err) < 0 ||
	    stop_sleep(stop, 100, err) < 0)
		return -1;
	cJSON_Delete(*inspected);
	*inspected = NULL;
	if (engine_inspect(e, sb->id, inspected, stop, err) < 0)
		return -1;
	if (json_bool(json_get(*inspected, "State"), "Running", false))
		return 0;
	return error_set(err, ERR_GONE,
			 "the container ends as soon as it is started");
}

static int docker_attach(struct sandbox *sb, const char *id,
			 const struct stop *stop, struct error *err)
{
	struct engine *e = &docker_of(sb->host)->engine;
	cJSON *inspected = NULL;
	int rc = -1;

	if (engine_inspect(e, id, &inspected, stop, err) == 0 &&
	    set_id(sb, inspected, err) == 0 &&
	    ensure_running(sb, &inspected, stop, err) == 0) {
		fill_sandbox(sb, false, inspected);
		rc = 0;
	}
	cJSON_Delete(inspected);
	return rc;
}

static void docker_discard(struct sandbox *sb)
{
	docker_box_free(sb->priv);
	sb->priv = NULL;
}

static void docker_settle(struct sandbox *sb, char notice[SANDBOX_NOTICE])
{
	struct stop never = stop_on(NULL);
	struct error ignored = { 0 };

	if (!sb->priv)
		return;
	(void)docker_kills_done(sb->priv, &never, &ignored);
	docker_box_take_notice(sb->priv, notice);
}

static const struct sandbox_ops ops = {
	.open = docker_open,
	.close = docker_close,
	.create = docker_create,
	.attach = docker_attach,
	.list = docker_list,
	.info = docker_info,
	.snapshot = docker_snapshot,
	.find_snapshot = docker_find_snapshot,
	.execute = docker_execute,
	.settle = docker_settle,
	.stop = docker_stop,
	.remove = docker_remove,
	.discard = docker_discard,
};

const struct sandbox_provider docker_provider = {
	.name = "docker",
	.summary = "containers of Docker or Podman",
	.also = "podman",
	.also_summary = "containers of Podman: docker, through Podman's socket",
	.workdir = "/workspace",
	.flags = SANDBOX_ATTACH | SANDBOX_SNAPSHOT | SANDBOX_LIVE |
		 SANDBOX_STDIN | SANDBOX_NETWORK | SANDBOX_LIST |
		 SANDBOX_STAYS | SANDBOX_PLACED,
	.max_command = COMMAND_MAX,
	.lifetime_s = LIFETIME_S,
	.settings = docker_settings,
	.url_env = (const char *const[]){ "DOCKER_HOST", NULL },
	.ops = &ops,
	.price = rates_nothing,
	.isolation = ISOLATION_CONTAINER,
};
