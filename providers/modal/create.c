/* create.c - a sandbox made from the settings, its snapshots, its end. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/str.h"
#include "net/retry.h"
#include "providers/kit/body.h"
#include "providers/kit/env_list.h"
#include "providers/modal/modal.h"

enum {
	OPEN = 1, /* NetworkAccessType */
	BLOCKED = 2,
	ALLOWLIST = 3,
	CREATE_MS = 120000,
	READY_MS = 180000,
	PAUSE_MS = 2000,
	GPUS_MAX = 64,
	FOREVER = -1, /* a snapshot's life */
	SNAPSHOT_MS = 300000,
	END_WAIT_S = 10, /* for which the server holds a question */
	END_PAUSE_MS = 100,
};

static void add_tag(cJSON *tags, const char *name, const char *value)
{
	cJSON_AddItemToArray(tags, protobuf_texts("tag_name", name, "tag_value",
						  value, NULL));
}

static int add_tags(const struct modal *m, const struct sandbox_spec *spec,
		    cJSON *request, struct error *err)
{
	cJSON *tags = cJSON_AddArrayToObject(request, "tags");
	cJSON *labels = cJSON_CreateObject();
	int rc = env_list_add(m->settings, "modal", "labels", labels, err);
	const cJSON *label;

	add_tag(tags, "dcode.label", spec->label);
	add_tag(tags, "dcode.owner", spec->owner ? spec->owner : "");
	cJSON_ArrayForEach (label, labels) {
		if (str_starts(str_of(label->string), "dcode."))
			rc = error_set(
				err, ERR_CONFIG,
				"labels: names with dcode. are reserved");
		add_tag(tags, label->string, label->valuestring);
	}
	cJSON_Delete(labels);
	return rc;
}

/* "T4" or "H100:2". */
static int add_gpu(const char *text, cJSON *resources, struct error *err)
{
	const char *colon = strchr(text, ':');
	char *type =
		xstrndup(text, colon ? (size_t)(colon - text) : strlen(text));
	cJSON *gpu = body_object(resources, "gpu_config");
	int64_t count = 1;
	int rc = 0;

	if (colon && (!str_to_int(str_of(colon + 1), &count) || count < 1 ||
		      count > GPUS_MAX))
		rc = error_set(err, ERR_CONFIG, "not a gpu: '%.60s'", text);
	cJSON_AddNumberToObject(gpu, "count", (double)count);
	cJSON_AddStringToObject(gpu, "gpu_type", type);
	free(type);
	return rc;
}

static int add_resources(const struct modal *m, cJSON *resources,
			 struct error *err)
{
	const char *cpu = NULL;
	const char *gpu = NULL;
	char *end = NULL;
	double cpus;

	if (settings_string(m->settings, "modal", "cpu", &cpu, err) < 0 ||
	    settings_string(m->settings, "modal", "gpu", &gpu, err) < 0)
		return -1;
	if (cpu) {
		cpus = strtod(cpu, &end);
		if (*end || !(cpus > 0) || cpus > 1024)
			return error_set(err, ERR_CONFIG,
					 "not a number of CPUs: '%.60s'", cpu);
		cJSON_AddNumberToObject(resources, "milli_cpu", cpus * 1000);
	}
	return gpu ? add_gpu(gpu, resources, err) : 0;
}

/* A network, or an address as one, owned; NULL for a domain. */
static char *parse_network(const char *text)
{
	if (strchr(text, '/'))
		return xstrdup(text);
	if (!text[strspn(text, "0123456789.")])
		return xasprintf("%s/32", text);
	if (strchr(text, ':') && !text[strspn(text, "0123456789abcdefABCDEF:")])
		return xasprintf("%s/128", text);
	return NULL;
}

static int add_network(const struct modal *m, const struct sandbox_spec *spec,
		       cJSON *access, struct error *err)
{
	int type = spec->network == NETWORK_NONE ? BLOCKED : OPEN;
	cJSON *networks = cJSON_AddArrayToObject(access, "allowed_cidrs");
	cJSON *domains = cJSON_AddArrayToObject(access, "allowed_domains");
	const char *const *list;
	size_t n = 0;

	if (spec->network == NETWORK_DEFAULT &&
	    settings_list(m->settings, "modal", "network_allow", &list, &n,
			  err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		char *network = parse_network(list[i]);

		cJSON_AddItemToArray(
			network ? networks : domains,
			cJSON_CreateString(network ? network : list[i]));
		free(network);
	}
	cJSON_AddNumberToObject(access, "network_access_type",
				n ? ALLOWLIST : type);
	return 0;
}

static int add_times(const struct modal *m, const struct sandbox_spec *spec,
		     cJSON *box, struct error *err)
{
	int64_t life = spec->lifetime_s < MODAL_LIFETIME_S ? spec->lifetime_s
							   : MODAL_LIFETIME_S;
	int64_t idle = 0;

	if (life <= 0)
		return error_set(err, ERR_CONFIG,
				 "the lifetime must be above zero");
	if (settings_int(m->settings, "modal", "idle_timeout", &idle, err) < 0)
		return -1;
	cJSON_AddNumberToObject(box, "timeout_secs", (double)life);
	if (idle > 0 && idle < life)
		cJSON_AddNumberToObject(box, "idle_timeout_secs", (double)idle);
	return 0;
}

/* A name is unique among the sandboxes of an app, so that a repeated request
 * never makes a second one. */
static int fill_request(struct sandbox *sb, const struct sandbox_spec *spec,
			cJSON *request, const struct stop *stop,
			struct error *err)
{
	static const char *const sleep_on[] = { "sleep", "172800" };
	struct modal *m = modal_of(sb->host);
	cJSON *box = body_object(request, "definition");
	bool bare = false;
	char *image = NULL;
	int rc;

	body_object(box, "resources.gpu_config");
	body_object(box, "open_ports");
	if (add_times(m, spec, box, err) < 0 ||
	    add_tags(m, spec, request, err) < 0 ||
	    add_resources(m, body_object(box, "resources"), err) < 0 ||
	    add_network(m, spec, body_object(box, "network_access"), err) < 0 ||
	    body_add_settings(sb->host, "memory cloud region", box, err) < 0 ||
	    modal_find_app(m, true, stop, err) < 0)
		return -1;
	rc = modal_find_image(m, spec, &image, &bare, stop, err);
	cJSON_AddStringToObject(request, "app_id", m->app);
	cJSON_AddStringToObject(box, "image_id", image);
	cJSON_AddStringToObject(box, "name", spec->label);
	cJSON_AddStringToObject(box, "workdir", sb->workdir);
	if (bare)
		cJSON_AddItemToObject(box, "entrypoint_args",
				      cJSON_CreateStringArray(sleep_on, 2));
	free(image);
	return rc;
}

/* Sets the id of the sandbox that has our label for its name. */
static int find_named(struct sandbox *sb, const char *label,
		      const struct stop *stop, struct error *err)
{
	struct modal *m = modal_of(sb->host);
	struct protobuf_ask ask = { .method = "SandboxGetFromName",
				    .what = "finding the sandbox" };
	const char *app = NULL;

	if (settings_string(m->settings, "modal", "app", &app, err) < 0)
		return -1;
	ask.request = protobuf_texts("sandbox_name", label, "environment_name",
				     m->environment, "app_name", app, NULL);
	return modal_ask_id(m, &ask, "sandbox_id", &sb->id, stop, err);
}

static int send_request(struct sandbox *sb, cJSON *request,
			const struct sandbox_spec *spec,
			const struct stop *stop, struct error *err)
{
	const struct protobuf_ask ask = {
		"SandboxCreate", "creating the sandbox", .request = request,
		.timeout_ms = sandbox_start_ms(sb->host, CREATE_MS)
	};

	if (modal_ask_id(modal_of(sb->host), &ask, "sandbox_id", &sb->id, stop,
			 err) == 0)
		return 0;
	if (err->grpc_status != GRPC_ALREADY_EXISTS)
		return -1;
	*err = (struct error){ 0 };
	return find_named(sb, spec->label, stop, err);
}

int modal_is_running(struct modal *m, const char *id, float wait_s,
		     const struct stop *stop, struct error *err)
{
	const struct protobuf_ask ask = {
		"SandboxWait", "asking for the sandbox",
		.request = protobuf_texts("sandbox_id", id, NULL),
		.flags = modal_flags(id)
	};
	ProtobufCMessage *answer = NULL;
	const Modal__GenericResult *result;
	int state;

	cJSON_AddNumberToObject(ask.request, "timeout", wait_s);
	if (modal_ask(m, &ask, &answer, stop, err) < 0)
		return -1;
	result = ((Modal__SandboxWaitResponse *)answer)->result;
	state = !result || !result->status;
	protobuf_free(answer);
	return state;
}

int modal_wait_ready(struct sandbox *sb, const struct sandbox_spec *spec,
		     const struct stop *stop, struct error *err)
{
	const char *const argv[] = {
		"/bin/sh", "-c", "mkdir -p -- \"$1\"", "sh", sb->workdir, NULL
	};
	struct stop within =
		stop_within(stop, sandbox_start_ms(sb->host, READY_MS));

	for (;;) {
		struct error why = { 0 };
		struct modal_exec x;
		int status = 0;

		if (modal_start(&x, sb, argv, false, &within, &why) == 0 &&
		    modal_wait(&x, &status, &within, &why) == 0) {
			if (status == 0)
				return 0;
			return error_set(err, ERR_CONFIG,
					 "cannot make the directory %s",
					 sb->workdir);
		}
		/* Refusals come again (INVALID_ARGUMENT, UNIMPLEMENTED ...). */
		if (why.code != ERR_UNREACHABLE &&
		    (why.code == ERR_PROTOCOL || !retry_is_transient(&why))) {
			*err = why;
			return -1;
		}
		if (spec && spec->progress)
			spec->progress(spec->arg, why.message);
		if (retry_sleep(&why, PAUSE_MS, &within, err) < 0)
			return -1;
	}
}

int modal_create(struct sandbox *sb, const struct sandbox_spec *spec,
		 const struct stop *stop, struct error *err)
{
	cJSON *request = cJSON_CreateObject();

	if (modal_read_settings(sb, err) < 0 ||
	    fill_request(sb, spec, request, stop, err) < 0) {
		cJSON_Delete(request);
		err->nothing_made = true;
		return -1;
	}
	if (send_request(sb, request, spec, stop, err) < 0)
		return -1;
	return modal_wait_ready(sb, spec, stop, err);
}

int modal_remove(struct sandbox_client *host, const char *id,
		 const struct stop *stop, struct error *err)
{
	struct modal *m = modal_of(host);
	struct protobuf_ask ask = { "SandboxTerminate", "ending the sandbox",
				    .flags = modal_flags(id) };
	ProtobufCMessage *answer = NULL;
	struct error why = { 0 };
	int state = 1;

	if (modal_check_id(id, err) < 0)
		return -1;
	ask.request = protobuf_texts("sandbox_id", id, NULL);
	if (modal_ask(m, &ask, &answer, stop, &why) == 0) {
		const Modal__GenericResult *before =
			((Modal__SandboxTerminateResponse *)answer)
				->existing_result;

		state = !before || !before->status;
		protobuf_free(answer);
	}
	while (!why.code && state > 0) {
		state = modal_is_running(m, id, END_WAIT_S, stop, &why);
		if (state > 0)
			(void)stop_sleep(stop, END_PAUSE_MS, &why);
	}
	if (!why.code || why.code == ERR_NOT_FOUND)
		return why.code != ERR_NONE;
	*err = why;
	return -1;
}

/* The file system as an image, published under the name, whoever has it. */
int modal_snapshot(struct sandbox *sb, const char *name, bool replace,
		   const struct stop *stop, struct error *err)
{
	struct protobuf_ask ask = { "TaskSnapshotFilesystem",
				    "making the snapshot",
				    .timeout_ms = SNAPSHOT_MS };
	struct modal *m = modal_of(sb->host);
	ProtobufCMessage *answer;
	char uuid[MODAL_UUID];
	char *id = NULL;
	int rc;

	(void)replace;
	if (modal_ensure_router(sb, false, stop, err) < 0)
		return -1;
	ids_uuid4(uuid);
	ask.request = protobuf_texts("task_id", modal_box(sb)->task,
				     "snapshot_id", uuid, NULL);
	cJSON_AddNumberToObject(ask.request, "ttl_seconds", FOREVER);
	if (modal_route(sb, &ask, &answer, stop, err) < 0)
		return -1;
	rc = modal_answer_id(answer, "image_id", &id, err);
	if (rc == 0) {
		ask = (struct protobuf_ask){ "ImagePublish",
					     "naming the snapshot",
					     .request = modal_tag(m, name) };
		cJSON_AddStringToObject(ask.request, "image_id", id);
		rc = modal_ask(m, &ask, NULL, stop, err);
	}
	free(id);
	return rc;
}

int modal_find_snapshot(struct sandbox_client *host, const char *name,
			const struct stop *stop, struct error *err)
{
	char *id = NULL;
	int rc = modal_find_published(modal_of(host), name, &id, stop, err);

	free(id);
	if (rc == 0)
		return 1;
	if (err->code != ERR_NOT_FOUND)
		return -1;
	*err = (struct error){ 0 };
	return 0;
}
