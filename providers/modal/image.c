/* image.c - Modal's app, and the image that a sandbox starts from. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "providers/modal/modal.h"

enum {
	CREATE_IF_MISSING = 1, /* ObjectCreationType */
	GLOBAL = 3,            /* DeploymentNamespace: Modal's own images */
	STATIC_CREDS = 4,      /* RegistryAuthType */
	SUCCESS = 1,           /* GenericStatus */
	JOIN_S = 55,           /* for which the server holds a stream */
	JOIN_FAILURES = 3,
	FOREVER = -1, /* a snapshot's life */
	SNAPSHOT_MS = 300000,
	LOG_MAX = 200,
};

int modal_app(struct modal *m, bool create, const struct stop *stop,
	      struct error *err)
{
	Modal__AppGetOrCreateRequest request =
		MODAL__APP_GET_OR_CREATE_REQUEST__INIT;
	struct modal_ask ask = {
		.method = "AppGetOrCreate",
		.what = "finding the app",
		.request = &request.base,
		.answer = &modal__app_get_or_create_response__descriptor,
	};
	ProtobufCMessage *answer = NULL;
	const char *name = NULL;
	const char *id;
	int rc = 0;
	bool known;

	pthread_mutex_lock(&m->lock);
	known = m->app != NULL;
	pthread_mutex_unlock(&m->lock);
	if (known)
		return 0;
	if (settings_string(m->settings, "modal", "app", &name, err) < 0)
		return -1;
	request.app_name = (char *)name;
	request.environment_name = m->environment;
	request.object_creation_type = create ? CREATE_IF_MISSING : 0;
	if (modal_ask(m, &ask, &answer, stop, err) < 0)
		return -1;
	id = ((Modal__AppGetOrCreateResponse *)answer)->app_id;
	pthread_mutex_lock(&m->lock);
	if (!modal_id_ok(id))
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: no app");
	else if (!m->app)
		m->app = xstrdup(id);
	pthread_mutex_unlock(&m->lock);
	modal_free(answer);
	return rc;
}

/* The version of Modal's image builder, which the recipe depends on. */
static int find_builder(struct modal *m, const struct stop *stop,
			struct error *err)
{
	Modal__EnvironmentGetOrCreateRequest request =
		MODAL__ENVIRONMENT_GET_OR_CREATE_REQUEST__INIT;
	struct modal_ask ask = {
		.method = "EnvironmentGetOrCreate",
		.what = "asking for the environment",
		.request = &request.base,
		.answer =
			&modal__environment_get_or_create_response__descriptor,
	};
	ProtobufCMessage *answer = NULL;
	const Modal__EnvironmentGetOrCreateResponse *r;
	const char *version = "";

	if (m->builder)
		return 0;
	request.deployment_name = m->environment;
	if (modal_ask(m, &ask, &answer, stop, err) < 0)
		return -1;
	r = (Modal__EnvironmentGetOrCreateResponse *)answer;
	if (r->metadata && r->metadata->settings)
		version = r->metadata->settings->image_builder_version;
	pthread_mutex_lock(&m->lock);
	if (!m->builder)
		m->builder = xstrdup(version);
	pthread_mutex_unlock(&m->lock);
	modal_free(answer);
	return 0;
}

struct building {
	const struct sandbox_spec *spec; /* or NULL */
	char *entry;                     /* owned: the last one seen */
	bool ended;
	int status; /* GenericStatus */
	char *why;  /* owned */
};

static void on_result(struct building *b, const Modal__GenericResult *result)
{
	if (!result || !result->status)
		return;
	b->ended = true;
	b->status = result->status;
	free(b->why);
	b->why = xstrdup(result->exception);
}

static int on_log(void *arg, const ProtobufCMessage *message, struct error *err)
{
	const Modal__ImageJoinStreamingResponse *r =
		(const Modal__ImageJoinStreamingResponse *)message;
	struct building *b = arg;

	(void)err;
	if (r->entry_id[0]) {
		free(b->entry);
		b->entry = xstrdup(r->entry_id);
	}
	for (size_t i = 0; i < r->n_task_logs && b->spec->progress; i++) {
		struct buf line = BUF_INIT(LOG_MAX);

		sanitize_line(str_trim(str_of(r->task_logs[i]->data)), &line);
		if (line.len)
			b->spec->progress(b->spec->arg, line.ptr);
		buf_release(&line);
	}
	on_result(b, r->result);
	return 0;
}

/* Follows the build to its end. */
static int join(struct modal *m, const char *id, struct building *b,
		const struct stop *stop, struct error *err)
{
	Modal__ImageJoinStreamingRequest request =
		MODAL__IMAGE_JOIN_STREAMING_REQUEST__INIT;
	enum grpc_code code = GRPC_NONE;
	struct modal_ask ask = {
		.method = "ImageJoinStreaming",
		.what = "waiting for the image",
		.request = &request.base,
		.answer = &modal__image_join_streaming_response__descriptor,
		.each = on_log,
		.arg = b,
		.timeout_ms = (JOIN_S + 10) * 1000,
		.code = &code,
	};
	int failures = 0;

	request.image_id = (char *)id;
	request.timeout = JOIN_S;
	while (!b->ended) {
		struct error why = { 0 };

		if (b->entry)
			request.last_entry_id = b->entry;
		if (modal_ask(m, &ask, NULL, stop, &why) == 0) {
			failures = 0;
			if (stop_sleep(stop, b->ended ? 0 : 50, err) < 0)
				return -1;
			continue;
		}
		if (!b->ended && (!modal_passing(code, &why) ||
				  ++failures == JOIN_FAILURES)) {
			*err = why;
			return -1;
		}
	}
	if (b->status == SUCCESS)
		return 0;
	return error_set(err, ERR_REMOTE,
			 "building the image failed: "
			 "%.300s",
			 b->why && b->why[0] ? b->why : "no reason");
}

static int get_image(struct modal *m, Modal__ImageGetOrCreateRequest *request,
		     const struct sandbox_spec *spec, char **id,
		     const struct stop *stop, struct error *err)
{
	struct modal_ask ask = {
		.method = "ImageGetOrCreate",
		.what = "finding the image",
		.request = &request->base,
		.answer = &modal__image_get_or_create_response__descriptor,
	};
	struct building b = { .spec = spec };
	ProtobufCMessage *answer = NULL;
	const Modal__ImageGetOrCreateResponse *r;
	int rc;

	request->app_id = m->app;
	request->builder_version = m->builder;
	if (modal_ask(m, &ask, &answer, stop, err) < 0)
		return -1;
	r = (Modal__ImageGetOrCreateResponse *)answer;
	if (modal_id_ok(r->image_id))
		*id = xstrdup(r->image_id);
	on_result(&b, r->result);
	modal_free(answer);
	if (!*id)
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: no image");
	else
		rc = join(m, *id, &b, stop, err);
	free(b.entry);
	free(b.why);
	return rc;
}

/*
 * Modal's own images are found by their recipe, which must be the same to the
 * byte as the Python SDK's debian_slim() with that builder. Of older ones it
 * is longer and comes with a file: an image of the registry does for them.
 */
static int debian_slim(struct modal *m, const struct sandbox_spec *spec,
		       char **id, const struct stop *stop, struct error *err)
{
	static const char *const recipe[] = {
		"FROM python:3.13.3-slim-bookworm",
		"RUN apt-get update",
		"RUN apt-get install -y gcc gfortran build-essential",
		"RUN pip install --upgrade pip wheel uv",
		("RUN echo 'debconf debconf/frontend select Noninteractive' | "
		 "debconf-set-selections"),
		"CMD [\"sleep\", \"172800\"]",
	};
	Modal__ImageGetOrCreateRequest request =
		MODAL__IMAGE_GET_OR_CREATE_REQUEST__INIT;
	Modal__Image image = MODAL__IMAGE__INIT;
	Modal__GPUConfig gpu = MODAL__GPUCONFIG__INIT;
	Modal__ImageRegistryConfig registry =
		MODAL__IMAGE_REGISTRY_CONFIG__INIT;

	image.n_dockerfile_commands = sizeof(recipe) / sizeof(*recipe);
	image.dockerfile_commands = (char **)recipe;
	image.gpu_config = &gpu;
	image.image_registry_config = &registry;
	request.image = &image;
	request.namespace_ = GLOBAL;
	return get_image(m, &request, spec, id, stop, err);
}

static int from_registry(struct modal *m, const char *name,
			 const struct sandbox_spec *spec, char **id,
			 const struct stop *stop, struct error *err)
{
	Modal__ImageGetOrCreateRequest request =
		MODAL__IMAGE_GET_OR_CREATE_REQUEST__INIT;
	Modal__Image image = MODAL__IMAGE__INIT;
	Modal__ImageRegistryConfig registry =
		MODAL__IMAGE_REGISTRY_CONFIG__INIT;
	const char *secret = NULL;
	char *from;
	int rc;

	if (settings_string(m->settings, "modal", "registry_secret", &secret,
			    err) < 0)
		return -1;
	if (strpbrk(name, " \t\r\n\\"))
		return error_set(err, ERR_CONFIG, "'%.200s' is no image", name);
	from = xasprintf("FROM %s", name);
	image.n_dockerfile_commands = 1;
	image.dockerfile_commands = &from;
	if (secret) {
		registry.registry_auth_type = STATIC_CREDS;
		registry.secret_id = (char *)secret;
		image.image_registry_config = &registry;
	}
	request.image = &image;
	rc = get_image(m, &request, spec, id, stop, err);
	free(from);
	return rc;
}

/* "name" is "name:latest"; what has a '/' names its environment itself. */
static char *full_name(const struct modal *m, const char *name,
		       const char **environment)
{
	*environment = strchr(name, '/') ? "" : m->environment;
	return strchr(name, ':') ? xstrdup(name) : xasprintf("%s:latest", name);
}

static int published(struct modal *m, const char *name, char **id,
		     const struct stop *stop, struct error *err)
{
	Modal__ImageGetByTagRequest request =
		MODAL__IMAGE_GET_BY_TAG_REQUEST__INIT;
	struct modal_ask ask = {
		.method = "ImageGetByTag",
		.what = "finding the named image",
		.request = &request.base,
		.answer = &modal__image_get_by_tag_response__descriptor,
	};
	ProtobufCMessage *answer = NULL;
	const char *environment;
	const char *found;
	int rc;

	request.tag = full_name(m, name, &environment);
	request.environment_name = (char *)environment;
	rc = modal_ask(m, &ask, &answer, stop, err);
	free(request.tag);
	if (rc < 0)
		return -1;
	found = ((Modal__ImageGetByTagResponse *)answer)->image_id;
	if (modal_id_ok(found))
		*id = xstrdup(found);
	else
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: no image");
	modal_free(answer);
	return rc;
}

int modal_image(struct modal *m, const struct sandbox_spec *spec, char **id,
		bool *bare, const struct stop *stop, struct error *err)
{
	const char *image = NULL;
	const char *named = NULL;

	*id = NULL;
	*bare = true;
	if (settings_string(m->settings, "modal", "image", &image, err) < 0 ||
	    settings_string(m->settings, "modal", "named_image", &named, err) <
		    0)
		return -1;
	if (spec->snapshot)
		named = spec->snapshot;
	if (named && str_starts(str_of(named), "im-"))
		image = named;
	else if (named)
		return published(m, named, id, stop, err);
	if (str_starts(str_of(image), "im-") && modal_id_ok(image)) {
		*id = xstrdup(image);
		return 0;
	}
	if (find_builder(m, stop, err) < 0)
		return -1;
	if (strcmp(image, "debian_slim") != 0)
		return from_registry(m, image, spec, id, stop, err);
	if (strcmp(m->builder, "PREVIEW") != 0 &&
	    strcmp(m->builder, "2025.06") < 0)
		return from_registry(m, "python:3.13-slim-bookworm", spec, id,
				     stop, err);
	*bare = false;
	return debian_slim(m, spec, id, stop, err);
}

static int publish(struct modal *m, const char *id, const char *name,
		   const struct stop *stop, struct error *err)
{
	Modal__ImagePublishRequest request = MODAL__IMAGE_PUBLISH_REQUEST__INIT;
	struct modal_ask ask = {
		.method = "ImagePublish",
		.what = "naming the snapshot",
		.request = &request.base,
		.answer = &modal__empty__descriptor,
	};
	ProtobufCMessage *answer = NULL;
	const char *environment;
	int rc;

	request.tag = full_name(m, name, &environment);
	request.environment_name = (char *)environment;
	request.image_id = (char *)id;
	rc = modal_ask(m, &ask, &answer, stop, err);
	modal_free(answer);
	free(request.tag);
	return rc;
}

int modal_find_snapshot(struct sandbox_client *host, const char *name,
			const struct stop *stop, struct error *err)
{
	struct error why = { 0 };
	char *id = NULL;
	int rc = published(modal_of(host), name, &id, stop, &why);

	free(id);
	if (rc == 0)
		return 1;
	if (why.code == ERR_NOT_FOUND)
		return 0;
	*err = why;
	return -1;
}

/* The file system as an image, published under the name, whoever has it. */
int modal_snapshot(struct sandbox *sb, const char *name, bool replace,
		   const struct stop *stop, struct error *err)
{
	struct modal *m = modal_of(sb->host);
	Modal__TaskSnapshotFilesystemRequest request =
		MODAL__TASK_SNAPSHOT_FILESYSTEM_REQUEST__INIT;
	struct modal_ask ask = {
		.method = "TaskSnapshotFilesystem",
		.what = "making the snapshot",
		.request = &request.base,
		.answer = &modal__task_snapshot_filesystem_response__descriptor,
		.timeout_ms = SNAPSHOT_MS,
	};
	ProtobufCMessage *answer = NULL;
	char id[MODAL_UUID];
	const char *image;
	int rc = modal_access(sb, false, stop, err);

	(void)replace;
	if (rc < 0)
		return -1;
	modal_uuid4(id);
	request.task_id = modal_box(sb)->task;
	request.snapshot_id = id;
	request.has_ttl_case =
		MODAL__TASK_SNAPSHOT_FILESYSTEM_REQUEST__HAS_TTL_TTL_SECONDS;
	request.ttl_seconds = FOREVER;
	if (modal_route(sb, &ask, &answer, stop, err) < 0)
		return -1;
	image = ((Modal__TaskSnapshotFilesystemResponse *)answer)->image_id;
	if (modal_id_ok(image))
		rc = publish(m, image, name, stop, err);
	else
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: no snapshot");
	modal_free(answer);
	return rc;
}
