/* create.c - a sandbox made from the settings, its snapshots, its end. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/str.h"
#include "net/retry.h"
#include "providers/modal/modal.h"

enum {
	OPEN = 1, /* NetworkAccessType */
	BLOCKED = 2,
	ALLOWLIST = 3,
	CREATE_MS = 120000,
	READY_MS = 180000,
	PAUSE_MS = 2000,
	TAGS = 32,
	GPUS_MAX = 64,
	FOREVER = -1, /* a snapshot's life */
	SNAPSHOT_MS = 300000,
	END_WAIT_S = 10, /* for which the server holds a question */
	END_PAUSE_MS = 100,
};

struct create_request { /* and what it points to */
	Modal__SandboxCreateRequest request;
	Modal__Sandbox box;
	Modal__Resources resources;
	Modal__GPUConfig gpu;
	Modal__PortSpecs ports;
	Modal__NetworkAccess network;
	Modal__SchedulerPlacement placement;
	Modal__SandboxTag tags[TAGS];
	Modal__SandboxTag *tag_list[TAGS];
	char **cidrs;
	char **domains;
	char *image;  /* owned */
	char **owned; /* freed at the end */
	size_t n_owned;
};

/* Frees text together with the request. */
static char *keep_text(struct create_request *d, char *text)
{
	d->owned = xrealloc(d->owned, d->n_owned + 1, sizeof(char *));
	d->owned[d->n_owned++] = text;
	return text;
}

static void add_tag(struct create_request *d, char *name, const char *value)
{
	size_t n = d->request.n_tags++;

	d->tags[n] = (Modal__SandboxTag)MODAL__SANDBOX_TAG__INIT;
	d->tags[n].tag_name = name;
	d->tags[n].tag_value = (char *)value;
	d->tag_list[n] = &d->tags[n];
	d->request.tags = d->tag_list;
}

static int add_tags(const struct modal *m, const struct sandbox_spec *spec,
		    struct create_request *d, struct error *err)
{
	const char *const *list;
	size_t n = 0;

	add_tag(d, (char *)"dcode.label", spec->label);
	add_tag(d, (char *)"dcode.owner", spec->owner ? spec->owner : "");
	if (settings_list(m->settings, "modal", "labels", &list, &n, err) < 0)
		return -1;
	if (n > TAGS - 2)
		return error_set(err, ERR_CONFIG, "labels: more than %d",
				 TAGS - 2);
	for (size_t i = 0; i < n; i++) {
		const char *eq = strchr(list[i], '=');

		if (!eq || eq == list[i] ||
		    str_starts(str_of(list[i]), "dcode."))
			return error_set(err, ERR_CONFIG,
					 "labels: each entry is NAME=value");
		add_tag(d,
			keep_text(d, xstrndup(list[i], (size_t)(eq - list[i]))),
			eq + 1);
	}
	return 0;
}

/* "T4" or "H100:2". */
static int add_gpu(const char *text, struct create_request *d,
		   struct error *err)
{
	const char *colon = strchr(text, ':');
	int64_t count = 1;

	if (colon && (!str_to_int(str_of(colon + 1), &count) || count < 1 ||
		      count > GPUS_MAX))
		return error_set(err, ERR_CONFIG, "gpu: '%.60s' is none", text);
	d->gpu.count = (uint32_t)count;
	d->gpu.gpu_type =
		keep_text(d, xstrndup(text, colon ? (size_t)(colon - text)
						  : strlen(text)));
	return 0;
}

static int add_resources(const struct modal *m, struct create_request *d,
			 struct error *err)
{
	const char *cpu = NULL;
	const char *gpu = NULL;
	int64_t memory = 0;
	char *end = NULL;
	double cpus;

	if (settings_string(m->settings, "modal", "cpu", &cpu, err) < 0 ||
	    settings_string(m->settings, "modal", "gpu", &gpu, err) < 0 ||
	    settings_int(m->settings, "modal", "memory", &memory, err) < 0)
		return -1;
	if (memory < 0 || memory > UINT32_MAX)
		return error_set(err, ERR_CONFIG, "memory: out of range");
	d->resources.memory_mb = (uint32_t)memory;
	d->resources.gpu_config = &d->gpu;
	if (cpu) {
		cpus = strtod(cpu, &end);
		if (*end || !(cpus > 0) || cpus > 1024)
			return error_set(err, ERR_CONFIG,
					 "cpu: '%.60s' is no number of CPUs",
					 cpu);
		d->resources.milli_cpu = (uint32_t)(cpus * 1000);
	}
	return gpu ? add_gpu(gpu, d, err) : 0;
}

/* A network, or an address as one, owned; NULL for a domain. */
static char *parse_network(const char *text)
{
	size_t len = strlen(text);

	if (strchr(text, '/'))
		return xstrdup(text);
	if (strspn(text, "0123456789.") == len)
		return xasprintf("%s/32", text);
	if (strchr(text, ':') && strspn(text, "0123456789abcdefABCDEF:") == len)
		return xasprintf("%s/128", text);
	return NULL;
}

static int add_network(const struct modal *m, const struct sandbox_spec *spec,
		       struct create_request *d, struct error *err)
{
	Modal__NetworkAccess *a = &d->network;
	const char *const *list;
	size_t n = 0;

	a->network_access_type = spec->network == NETWORK_NONE ? BLOCKED : OPEN;
	if (spec->network == NETWORK_DEFAULT &&
	    settings_list(m->settings, "modal", "network_allow", &list, &n,
			  err) < 0)
		return -1;
	if (!n)
		return 0;
	a->network_access_type = ALLOWLIST;
	a->allowed_cidrs = d->cidrs = xcalloc(n, sizeof(char *));
	a->allowed_domains = d->domains = xcalloc(n, sizeof(char *));
	for (size_t i = 0; i < n; i++) {
		char *network = parse_network(list[i]);

		if (network)
			d->cidrs[a->n_allowed_cidrs++] = keep_text(d, network);
		else
			d->domains[a->n_allowed_domains++] = (char *)list[i];
	}
	return 0;
}

static int add_placement(const struct modal *m, struct create_request *d,
			 struct error *err)
{
	const char *const *list;
	const char *cloud = NULL;
	size_t n = 0;

	if (settings_string(m->settings, "modal", "cloud", &cloud, err) < 0 ||
	    settings_list(m->settings, "modal", "region", &list, &n, err) < 0)
		return -1;
	if (cloud)
		d->box.cloud_provider_str = (char *)cloud;
	if (!n)
		return 0;
	d->placement.n_regions = n;
	d->placement.regions = (char **)list;
	d->box.has_scheduler_placement_case =
		MODAL__SANDBOX__HAS_SCHEDULER_PLACEMENT_SCHEDULER_PLACEMENT;
	d->box.scheduler_placement = &d->placement;
	return 0;
}

static int add_times(const struct modal *m, const struct sandbox_spec *spec,
		     struct create_request *d, struct error *err)
{
	int64_t idle = 0;

	if (settings_int(m->settings, "modal", "idle_timeout", &idle, err) < 0)
		return -1;
	d->box.timeout_secs = spec->lifetime_s < MODAL_LIFETIME_S
				      ? (uint32_t)spec->lifetime_s
				      : MODAL_LIFETIME_S;
	if (idle <= 0 || idle >= d->box.timeout_secs)
		return 0;
	d->box.has_idle_timeout_secs_case =
		MODAL__SANDBOX__HAS_IDLE_TIMEOUT_SECS_IDLE_TIMEOUT_SECS;
	d->box.idle_timeout_secs = (uint32_t)idle;
	return 0;
}

static void request_init(struct create_request *d)
{
	*d = (struct create_request){
		.request = MODAL__SANDBOX_CREATE_REQUEST__INIT,
		.box = MODAL__SANDBOX__INIT,
		.resources = MODAL__RESOURCES__INIT,
		.gpu = MODAL__GPUCONFIG__INIT,
		.ports = MODAL__PORT_SPECS__INIT,
		.network = MODAL__NETWORK_ACCESS__INIT,
		.placement = MODAL__SCHEDULER_PLACEMENT__INIT,
	};
	d->request.definition = &d->box;
	d->box.resources = &d->resources;
	d->box.network_access = &d->network;
	d->box.open_ports_oneof_case =
		MODAL__SANDBOX__OPEN_PORTS_ONEOF_OPEN_PORTS;
	d->box.open_ports = &d->ports;
}

static void request_release(struct create_request *d)
{
	for (size_t i = 0; i < d->n_owned; i++)
		free(d->owned[i]);
	free(d->owned);
	free(d->cidrs);
	free(d->domains);
	free(d->image);
}

/* A name is unique among the sandboxes of an app, so that a repeated request
 * never makes a second one. */
static int fill_request(struct sandbox *sb, const struct sandbox_spec *spec,
			struct create_request *d, const struct stop *stop,
			struct error *err)
{
	static const char *const sleep_on[] = { "sleep", "172800" };
	struct modal *m = modal_of(sb->host);
	bool bare = false;

	if (spec->lifetime_s <= 0)
		return error_set(err, ERR_CONFIG,
				 "the lifetime is not above zero");
	if (add_tags(m, spec, d, err) < 0 || add_resources(m, d, err) < 0 ||
	    add_network(m, spec, d, err) < 0 || add_placement(m, d, err) < 0 ||
	    add_times(m, spec, d, err) < 0 ||
	    modal_find_app(m, true, stop, err) < 0 ||
	    modal_find_image(m, spec, &d->image, &bare, stop, err) < 0)
		return -1;
	if (bare) {
		d->box.entrypoint_args = (char **)sleep_on;
		d->box.n_entrypoint_args = 2;
	}
	d->request.app_id = m->app;
	d->box.image_id = d->image;
	d->box.has_name_case = MODAL__SANDBOX__HAS_NAME_NAME;
	d->box.name = (char *)spec->label;
	d->box.has_workdir_case = MODAL__SANDBOX__HAS_WORKDIR_WORKDIR;
	d->box.workdir = sb->workdir;
	return 0;
}

/* Sets the id of the sandbox that has our label for its name. */
static int find_named(struct sandbox *sb, const char *label,
		      const struct stop *stop, struct error *err)
{
	struct modal *m = modal_of(sb->host);
	Modal__SandboxGetFromNameRequest request =
		MODAL__SANDBOX_GET_FROM_NAME_REQUEST__INIT;
	const struct modal_ask ask = { "SandboxGetFromName",
				       "finding the sandbox",
				       .request = &request.base };
	const char *app = NULL;

	if (settings_string(m->settings, "modal", "app", &app, err) < 0)
		return -1;
	request.sandbox_name = (char *)label;
	request.environment_name = m->environment;
	request.app_name = (char *)app;
	return modal_ask_id(m, &ask, "sandbox_id", &sb->id, stop, err);
}

static int send_request(struct sandbox *sb, const struct create_request *d,
			const struct sandbox_spec *spec,
			const struct stop *stop, struct error *err)
{
	enum grpc_code code = GRPC_NONE;
	const struct modal_ask ask = {
		.method = "SandboxCreate",
		.what = "creating the sandbox",
		.request = &d->request.base,
		.timeout_ms = CREATE_MS,
		.code = &code,
	};
	int rc = modal_ask_id(modal_of(sb->host), &ask, "sandbox_id", &sb->id,
			      stop, err);

	if (rc == 0 || code != GRPC_ALREADY_EXISTS)
		return rc;
	*err = (struct error){ 0 };
	return find_named(sb, spec->label, stop, err);
}

int modal_is_running(struct modal *m, const char *id, float wait_s,
		     const struct stop *stop, struct error *err)
{
	Modal__SandboxWaitRequest request = MODAL__SANDBOX_WAIT_REQUEST__INIT;
	struct modal_ask ask = { "SandboxWait", "asking for the sandbox",
				 .request = &request.base,
				 .flags = modal_flags(id) };
	ProtobufCMessage *answer = NULL;
	const Modal__GenericResult *result;
	int state;

	request.sandbox_id = (char *)id;
	request.timeout = wait_s;
	if (modal_ask(m, &ask, &answer, stop, err) < 0)
		return -1;
	result = ((Modal__SandboxWaitResponse *)answer)->result;
	state = !result || !result->status;
	modal_free(answer);
	return state;
}

int modal_wait_ready(struct sandbox *sb, const struct sandbox_spec *spec,
		     const struct stop *stop, struct error *err)
{
	const char *const argv[] = {
		"/bin/sh", "-c", "mkdir -p -- \"$1\"", "sh", sb->workdir, NULL
	};
	struct stop within = stop_within(stop, READY_MS);

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
	struct create_request d;
	int rc;

	request_init(&d);
	rc = modal_read_settings(sb, err);
	if (rc == 0)
		rc = fill_request(sb, spec, &d, stop, err);
	/* Until here nothing was made. */
	if (rc < 0)
		err->nothing_made = true;
	if (rc == 0)
		rc = send_request(sb, &d, spec, stop, err);
	if (rc == 0)
		rc = modal_wait_ready(sb, spec, stop, err);
	request_release(&d);
	return rc;
}

int modal_remove(struct sandbox_client *host, const char *id,
		 const struct stop *stop, struct error *err)
{
	struct modal *m = modal_of(host);
	Modal__SandboxTerminateRequest request =
		MODAL__SANDBOX_TERMINATE_REQUEST__INIT;
	struct modal_ask ask = { "SandboxTerminate", "ending the sandbox",
				 .request = &request.base,
				 .flags = modal_flags(id) };
	ProtobufCMessage *answer = NULL;
	struct error why = { 0 };
	int state = 1;

	if (!modal_id_ok(id))
		return error_set(err, ERR_USAGE, "'%.100s' is no sandbox id",
				 id);
	request.sandbox_id = (char *)id;
	if (modal_ask(m, &ask, &answer, stop, &why) == 0) {
		const Modal__GenericResult *before =
			((Modal__SandboxTerminateResponse *)answer)
				->existing_result;

		state = !before || !before->status;
		modal_free(answer);
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

static int publish_image(struct modal *m, char *id, const char *name,
			 const struct stop *stop, struct error *err)
{
	Modal__ImagePublishRequest request = MODAL__IMAGE_PUBLISH_REQUEST__INIT;
	const struct modal_ask ask = { "ImagePublish", "naming the snapshot",
				       .request = &request.base };
	int rc;

	request.tag = modal_tag(m, name, &request.environment_name);
	request.image_id = id;
	rc = modal_ask(m, &ask, NULL, stop, err);
	free(request.tag);
	return rc;
}

/* The file system as an image, published under the name, whoever has it. */
int modal_snapshot(struct sandbox *sb, const char *name, bool replace,
		   const struct stop *stop, struct error *err)
{
	Modal__TaskSnapshotFilesystemRequest request =
		MODAL__TASK_SNAPSHOT_FILESYSTEM_REQUEST__INIT;
	const struct modal_ask ask = {
		.method = "TaskSnapshotFilesystem",
		.what = "making the snapshot",
		.request = &request.base,
		.timeout_ms = SNAPSHOT_MS,
	};
	ProtobufCMessage *answer;
	char uuid[MODAL_UUID];
	char *id = NULL;
	int rc;

	(void)replace;
	if (modal_ensure_router(sb, false, stop, err) < 0)
		return -1;
	ids_uuid4(uuid);
	request.task_id = modal_box(sb)->task;
	request.snapshot_id = uuid;
	request.has_ttl_case =
		MODAL__TASK_SNAPSHOT_FILESYSTEM_REQUEST__HAS_TTL_TTL_SECONDS;
	request.ttl_seconds = FOREVER;
	if (modal_route(sb, &ask, &answer, stop, err) < 0)
		return -1;
	rc = modal_answer_id(answer, "image_id", &id, err);
	if (rc == 0)
		rc = publish_image(modal_of(sb->host), id, name, stop, err);
	free(id);
	return rc;
}

int modal_find_snapshot(struct sandbox_client *host, const char *name,
			const struct stop *stop, struct error *err)
{
	struct error why = { 0 };
	char *id = NULL;
	int rc = modal_find_published(modal_of(host), name, &id, stop, &why);

	free(id);
	if (rc == 0)
		return 1;
	if (why.code == ERR_NOT_FOUND)
		return 0;
	*err = why;
	return -1;
}
