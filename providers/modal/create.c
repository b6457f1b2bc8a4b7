/* create.c - sandboxes at Modal: image, create, list, snapshot, removal. */
/* SPDX-License-Identifier: MIT */
/* modal_create() finds the app and the image, builds the image if necessary,
 * sends one request and waits until a command runs. The label is the sandbox's
 * name, which is unique in an app, so a repeated create finds the first
 * sandbox. Tags mark the sandboxes that dcode created and store their owner.
 * modal_remove() waits until the server confirms the end. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "net/retry.h"
#include "providers/kit/rest.h"
#include "providers/kit/vault.h"
#include "providers/modal/modal.h"

enum {
	CREATE_MS = 120000,
	READY_MS = 180000,
	SNAPSHOT_MS = 300000,
	PAUSE_MS = 2000, /* pause between tries to run the first command */
	/* longest time that the server may delay its answer, if nothing
	 * changes */
	END_WAIT_S = 10,
	END_PAUSE_MS = 100,
	/* how long the server keeps the stream of a build's log open */
	JOIN_S = 55,
	JOIN_FAILURES = 3,
	LOG_MAX = 200,
	PORTS_MAX = 64,
	PAGES_MAX = 1000, /* pages of a list, at most */
	GPUS_MAX = 64,
	/* Constants of the protocol. */
	OPEN = 1, /* a value of NetworkAccessType */
	BLOCKED = 2,
	ALLOWLIST = 3,
	/* ttl_seconds of a snapshot that does not expire */
	FOREVER = -1,
	CREATE_IF_MISSING = 1, /* values of ObjectCreationType */
	CREATE_OVERWRITE = 3,
	CREATE_EPHEMERAL = 5,
	/* headers of an outbound policy, over all domains (SDK 0.11.1) */
	HEADERS_MAX = 25,
	/* value of DeploymentNamespace for Modal's own images */
	GLOBAL = 3,
	STATIC_CREDS = 4, /* a value of RegistryAuthType */
	SUCCESS = 1,      /* a value of GenericStatus */
};

/* Reports ERR_USAGE unless id may be a sandbox's id. */
static int modal_check_id(const char *id, struct error *err)
{
	if (modal_id_ok(id))
		return 0;
	return error_set(err, ERR_USAGE, "not a sandbox id: '%.100s'", id);
}

/* Reads the settings that every command needs: directory and variables. */
static int modal_read_settings(struct sandbox *sb, struct error *err)
{
	struct modal *m = sb->client->priv;
	struct modal_box *b = modal_box(sb);
	const char *dir = NULL;

	if (settings_directory(m->settings, "modal", "workdir", &dir, err) <
		    0 ||
	    env_list_get(m->settings, "modal", "env", &b->env, &b->n_env, err) <
		    0)
		return -1;
	free(sb->workdir);
	sb->workdir = xstrdup(dir);
	return 0;
}

/* Sets m->app. If the app does not exist and create is set, it is created. */
static int modal_find_app(struct modal *m, bool create, const struct stop *stop,
			  struct error *err)
{
	struct protobuf_ask ask = { .method = "AppGetOrCreate",
				    .what = "finding the app" };
	const char *name = NULL;
	char *id = NULL;

	if (modal_keep_first(&m->lock, &m->app, NULL))
		return 0;
	if (settings_string(m->settings, "modal", "app", &name, err) < 0)
		return -1;
	ask.request = protobuf_texts("app_name", name, "environment_name",
				     m->environment, NULL);
	cJSON_AddNumberToObject(ask.request, "object_creation_type",
				create ? CREATE_IF_MISSING : 0);
	if (modal_ask_id(m, &ask, "app_id", &id, stop, err) < 0)
		return -1;
	(void)modal_keep_first(&m->lock, &m->app, id);
	return 0;
}

/* Sets m->builder, the version of Modal's image builder, on which an image's
 * recipe depends. */
static int find_builder(struct modal *m, const struct stop *stop,
			struct error *err)
{
	struct protobuf_ask ask = { .method = "EnvironmentGetOrCreate",
				    .what = "asking for the environment" };
	ProtobufCMessage *answer;
	const Modal__EnvironmentMetadata *metadata;

	if (modal_keep_first(&m->lock, &m->builder, NULL))
		return 0;
	ask.request = protobuf_texts("deployment_name", m->environment, NULL);
	if (modal_ask(m, &ask, &answer, stop, err) < 0)
		return -1;
	metadata = ((Modal__EnvironmentGetOrCreateResponse *)answer)->metadata;
	(void)modal_keep_first(
		&m->lock, &m->builder,
		xstrdup(metadata && metadata->settings
				? metadata->settings->image_builder_version
				: ""));
	protobuf_free(answer);
	return 0;
}

struct image_build {
	const struct sandbox_spec *spec; /* receives progress */
	char *entry; /* owned: id of the last log entry seen */
	int status;  /* GenericStatus; 0: still building */
	char *why;   /* owned: why the build failed */
};

static void set_result(struct image_build *b,
		       const Modal__GenericResult *result)
{
	if (!result || !result->status)
		return;
	b->status = result->status;
	free(b->why);
	b->why = xstrdup(result->exception);
}

/* Shows the build's output and stores the id of the last log entry. */
static int on_log(void *arg, const ProtobufCMessage *message, struct error *err)
{
	const Modal__ImageJoinStreamingResponse *r =
		(const Modal__ImageJoinStreamingResponse *)message;
	struct image_build *b = arg;

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
	set_result(b, r->result);
	return 0;
}

/* Follows the build until it ends. */
static int wait_build(struct modal *m, char *id, struct image_build *b,
		      const struct stop *stop, struct error *err)
{
	int failures = 0;

	while (!b->status) {
		const struct protobuf_ask ask = {
			"ImageJoinStreaming",
			"waiting for the image",
			.request =
				protobuf_texts("image_id", id, "last_entry_id",
					       b->entry, NULL),
			.each = on_log,
			.arg = b,
			.timeout_ms = (JOIN_S + 10) * 1000,
		};
		struct error why = { 0 };

		cJSON_AddNumberToObject(ask.request, "timeout", JOIN_S);
		if (modal_ask(m, &ask, NULL, stop, &why) == 0) {
			failures = 0;
			if (stop_sleep(stop, b->status ? 0 : 50, err) < 0)
				return -1;
		} else if (!b->status && (!modal_is_passing(&why) ||
					  ++failures == JOIN_FAILURES)) {
			*err = why;
			return -1;
		}
	}
	if (b->status == SUCCESS)
		return 0;
	return error_set(err, ERR_REMOTE, "building the image failed: %.300s",
			 b->why && b->why[0] ? b->why : "no reason");
}

/* Sets *id to the image with this recipe, which the server builds if it does
 * not exist. Frees image. */
static int get_image(struct modal *m, const struct sandbox_spec *spec,
		     cJSON *image, char **id, const struct stop *stop,
		     struct error *err)
{
	const struct protobuf_ask ask = {
		"ImageGetOrCreate", "finding the image",
		.request = protobuf_texts("app_id", m->app, "builder_version",
					  m->builder, NULL)
	};
	struct image_build b = { .spec = spec };
	ProtobufCMessage *answer;
	int rc;

	cJSON_AddNumberToObject(ask.request, "namespace",
				json_get(image, "gpu_config") ? GLOBAL : 0);
	cJSON_AddItemToObject(ask.request, "image", image);
	if (modal_ask(m, &ask, &answer, stop, err) < 0)
		return -1;
	set_result(&b, ((Modal__ImageGetOrCreateResponse *)answer)->result);
	rc = modal_answer_id(answer, "image_id", id, err);
	if (rc == 0)
		rc = wait_build(m, *id, &b, stop, err);
	free(b.entry);
	free(b.why);
	return rc;
}

/* Recipe of Modal's own image, which is not built again only if the recipe is
 * identical to that of the Python SDK's debian_slim() with the same builder.
 * With older builders that recipe is longer and contains a file, so dcode then
 * uses an image of the registry instead. */
static const char debian_slim[] =
	"{\"dockerfile_commands\":["
	"\"FROM python:3.13.3-slim-bookworm\","
	"\"RUN apt-get update\","
	"\"RUN apt-get install -y gcc gfortran build-essential\","
	"\"RUN pip install --upgrade pip wheel uv\","
	"\"RUN echo 'debconf debconf/frontend select Noninteractive' | "
	"debconf-set-selections\","
	"\"CMD [\\\"sleep\\\", \\\"172800\\\"]\"],"
	"\"gpu_config\":{},\"image_registry_config\":{}}";

static int get_from_registry(struct modal *m, const char *name,
			     const struct sandbox_spec *spec, char **id,
			     const struct stop *stop, struct error *err)
{
	cJSON *image = cJSON_CreateObject();
	const char *secret = NULL;
	char *from = xasprintf("FROM %s", name);
	int rc = settings_string(m->settings, "modal", "registry_secret",
				 &secret, err);

	cJSON_AddItemToObject(
		image, "dockerfile_commands",
		cJSON_CreateStringArray((const char *const *)&from, 1));
	if (secret) {
		cJSON *registry = protobuf_texts("secret_id", secret, NULL);

		cJSON_AddNumberToObject(registry, "registry_auth_type",
					STATIC_CREDS);
		cJSON_AddItemToObject(image, "image_registry_config", registry);
	}
	free(from);
	if (rc == 0 && strpbrk(name, " \t\r\n\\"))
		rc = error_set(err, ERR_CONFIG, "not an image: '%.200s'", name);
	if (rc == 0)
		return get_image(m, spec, image, id, stop, err);
	cJSON_Delete(image);
	return -1;
}

/* Builds a request that names a published image: "name:latest" for "name". In a
 * name with a '/', the part before it is the environment. */
static cJSON *modal_tag(const struct modal *m, const char *name)
{
	char *tag = xasprintf("%s%s", name, strchr(name, ':') ? "" : ":latest");
	cJSON *request =
		protobuf_texts("tag", tag, "environment_name",
			       strchr(name, '/') ? NULL : m->environment, NULL);

	free(tag);
	return request;
}

/* Sets *id (owned by the caller) to the id of a published image. */
static int modal_find_published(struct modal *m, const char *name, char **id,
				const struct stop *stop, struct error *err)
{
	const struct protobuf_ask ask = { "ImageGetByTag",
					  "finding the named image",
					  .request = modal_tag(m, name) };

	return modal_ask_id(m, &ask, "image_id", id, stop, err);
}

/* Sets *id (owned by the caller) to the image from which the sandbox starts.
 * *bare is set if that image may have no command that keeps the sandbox
 * running. */
static int modal_find_image(struct modal *m, const struct sandbox_spec *spec,
			    char **id, bool *bare, const struct stop *stop,
			    struct error *err)
{
	const char *image = NULL;
	const char *named = NULL;
	bool slim;

	*id = NULL;
	*bare = true;
	if (settings_string(m->settings, "modal", "image", &image, err) < 0 ||
	    settings_string(m->settings, "modal", "named_image", &named, err) <
		    0)
		return -1;
	if (spec->snapshot)
		named = spec->snapshot;
	/* An id ("im-...") names an image that exists; every other name must be
	 * looked up or built. */
	if (named && str_starts(str_of(named), "im-"))
		image = named;
	else if (named)
		return modal_find_published(m, named, id, stop, err);
	if (str_starts(str_of(image), "im-") && modal_id_ok(image)) {
		*id = xstrdup(image);
		return 0;
	}
	if (find_builder(m, stop, err) < 0)
		return -1;
	slim = strcmp(image, "debian_slim") == 0;
	*bare = !slim || (strcmp(m->builder, "PREVIEW") != 0 &&
			  strcmp(m->builder, "2025.06") < 0);
	if (!*bare)
		return get_image(m, spec, json_parse(str_of(debian_slim)), id,
				 stop, err);
	return get_from_registry(m, slim ? "python:3.13-slim-bookworm" : image,
				 spec, id, stop, err);
}

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
				"labels: names that begin with \"dcode.\" "
				"are reserved");
		add_tag(tags, label->string, label->valuestring);
	}
	cJSON_Delete(labels);
	return rc;
}

/* Adds a GPU like "T4" or "H100:2". */
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

static void add_hosts(cJSON *array, cJSON *hosts)
{
	while (hosts && hosts->child)
		cJSON_AddItemToArray(array,
				     cJSON_DetachItemFromArray(hosts, 0));
	cJSON_Delete(hosts);
}

/* Adds the names of a list without the port 443, which is the only one. */
static void add_domains(cJSON *array, const struct network *n)
{
	for (size_t i = 0; i < n->n; i++) {
		struct network name = { .rules = &n->rules[i], .n = 1 };
		struct network_rule r = n->rules[i];

		r.port = 0;
		name.rules = &r;
		add_hosts(array, body_hosts(&name, HOSTS_NAMES));
	}
}

static void add_network(const struct network *n, cJSON *access)
{
	cJSON *networks = cJSON_AddArrayToObject(access, "allowed_cidrs");
	cJSON *domains = cJSON_AddArrayToObject(access, "allowed_domains");

	add_hosts(networks, body_hosts(n, HOSTS_ADDRESSES | HOSTS_PREFIX));
	add_domains(domains, n);
	cJSON_AddNumberToObject(access, "network_access_type",
				n->mode == NETWORK_LIST   ? ALLOWLIST
				: n->mode == NETWORK_NONE ? BLOCKED
							  : OPEN);
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

/* Adds the ports that get a public address. */
static int add_ports(const struct sandbox_client *client, cJSON *open_ports,
		     struct error *err)
{
	cJSON *numbers = NULL;
	const cJSON *port;
	cJSON *specs;

	if (body_read_ports(client, PORTS_MAX, &numbers, err) < 0)
		return -1;
	specs = cJSON_AddArrayToObject(open_ports, "ports");
	cJSON_ArrayForEach (port, numbers) {
		cJSON *spec = cJSON_CreateObject();

		cJSON_AddNumberToObject(spec, "port", port->valuedouble);
		cJSON_AddItemToArray(specs, spec);
	}
	cJSON_Delete(numbers);
	return 0;
}

/* Fills the request of a create, which send_request() sends. */
static int fill_request(struct sandbox *sb, const struct sandbox_spec *spec,
			cJSON *request, const struct stop *stop,
			struct error *err)
{
	static const char *const sleep_on[] = { "sleep", "172800" };
	struct modal *m = sb->client->priv;
	cJSON *box = body_object(request, "definition");
	bool bare = false;
	char *image = NULL;
	int rc;

	body_object(box, "resources.gpu_config");
	add_network(spec->network, body_object(box, "network_access"));
	if (add_ports(sb->client, body_object(box, "open_ports"), err) < 0 ||
	    add_times(m, spec, box, err) < 0 ||
	    add_tags(m, spec, request, err) < 0 ||
	    add_resources(m, body_object(box, "resources"), err) < 0 ||
	    body_add_settings(sb->client, "memory cloud region", box, err) <
		    0 ||
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

/*
 * Secrets. Modal's proxy sets headers of HTTPS requests, outside of the
 * sandbox. A header is a template with a key of an object in the account's
 * store of secrets. That object has the sandbox's label as its name and whole
 * headers as its values ("Bearer VALUE"), and the sandbox itself does not get
 * it. Source: ExperimentalOutboundPolicy of the JavaScript SDK 0.11.1, read
 * 2026-11-27.
 */
static void add_pair(cJSON *map, const char *key, const char *value)
{
	cJSON_AddItemToArray(map,
			     protobuf_texts("key", key, "value", value, NULL));
}

static char *stored_key(const struct secret *s)
{
	return xasprintf("DCODE_%s", s->name);
}

/* Stores the headers of all secrets. A repeated create replaces them. */
static int store_headers(struct modal *m, const struct sandbox_spec *spec,
			 char **id, const struct stop *stop, struct error *err)
{
	struct protobuf_ask ask = { .method = "SecretGetOrCreate",
				    .what = "storing the secrets" };
	cJSON *map;

	ask.request = protobuf_texts("deployment_name", spec->label,
				     "environment_name", m->environment, NULL);
	cJSON_AddNumberToObject(ask.request, "object_creation_type",
				CREATE_OVERWRITE);
	map = cJSON_AddArrayToObject(ask.request, "env_dict");
	for (size_t i = 0; i < spec->secrets->n; i++) {
		const struct secret *s = &spec->secrets->list[i];
		char *key = stored_key(s);
		cJSON *pair = protobuf_texts("key", key, NULL);

		vault_add_header(pair, "value", s, false);
		cJSON_AddItemToArray(map, pair);
		free(key);
	}
	return modal_ask_id(m, &ask, "secret_id", id, stop, err);
}

/* Stores the variables that hold placeholders, as the SDK does with those of a
 * sandbox. Modal deletes such an object by itself. */
static int store_variables(struct modal *m, const struct secrets *all,
			   cJSON *box, const struct stop *stop,
			   struct error *err)
{
	struct protobuf_ask ask = { .method = "SecretGetOrCreate",
				    .what = "storing the variables" };
	cJSON *map = cJSON_CreateArray();
	char *id = NULL;
	int rc;

	for (size_t i = 0; i < all->n; i++)
		if (all->list[i].env)
			add_pair(map, all->list[i].env,
				 all->list[i].placeholder);
	if (!map->child) {
		cJSON_Delete(map);
		return 0;
	}
	ask.request = protobuf_texts("environment_name", m->environment, NULL);
	cJSON_AddNumberToObject(ask.request, "object_creation_type",
				CREATE_EPHEMERAL);
	cJSON_AddItemToObject(ask.request, "env_dict", map);
	rc = modal_ask_id(m, &ask, "secret_id", &id, stop, err);
	if (rc == 0)
		cJSON_AddItemToArray(cJSON_AddArrayToObject(box, "secret_ids"),
				     cJSON_CreateString(id));
	free(id);
	return rc;
}

/* Adds the headers of one host. */
static void add_replacement(cJSON *list, const struct secrets *all,
			    const struct network_rule *host, const char *id)
{
	cJSON *item =
		protobuf_texts("domain", host->host, "secret_id", id, NULL);
	cJSON *headers = cJSON_AddArrayToObject(item, "headers");

	for (size_t i = 0; i < all->n; i++) {
		const struct secret *s = &all->list[i];
		char *key = stored_key(s);
		char *text = xasprintf("$%s", key);

		if (vault_covers(s, host))
			add_pair(headers, s->header, text);
		free(text);
		free(key);
	}
	cJSON_AddItemToArray(list, item);
}

static int check_header_count(const struct secrets *all, struct error *err)
{
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++)
		n += all->list[i].hosts.n;
	if (n <= HEADERS_MAX)
		return 0;
	error_set(err, ERR_CONFIG,
		  "Modal sets at most %d headers, and [secrets] has %zu hosts",
		  HEADERS_MAX, n);
	return error_hint(err, "Bind the secrets to fewer hosts.");
}

/* Adds spec->secrets to the request of a create, and to the account's store. */
static int add_secrets(struct modal *m, const struct sandbox_spec *spec,
		       cJSON *request, const struct stop *stop,
		       struct error *err)
{
	cJSON *box = body_object(request, "definition");
	struct network hosts = { 0 };
	cJSON *list = NULL;
	char *id = NULL;
	int rc = check_header_count(spec->secrets, err);

	if (rc < 0) {
		err->nothing_made = true;
		return -1;
	}
	rc = store_headers(m, spec, &id, stop, err);
	if (rc == 0)
		rc = store_variables(m, spec->secrets, box, stop, err);
	if (rc == 0) {
		hosts = vault_hosts(spec->secrets, NULL);
		list = cJSON_AddArrayToObject(
			body_object(box, "experimental_outbound_policy"),
			"header_replacements");
	}
	for (size_t i = 0; i < hosts.n; i++)
		add_replacement(list, spec->secrets, &hosts.rules[i], id);
	network_release(&hosts);
	free(id);
	return rc;
}

int modal_clean(struct sandbox_client *client, const char *label,
		const struct stop *stop, struct error *err)
{
	struct modal *m = client->priv;
	struct protobuf_ask ask = { .method = "SecretGetOrCreate",
				    .what = "finding the secrets",
				    .request = protobuf_texts(
					    "deployment_name", label,
					    "environment_name", m->environment,
					    NULL) };
	char *id = NULL;
	int rc = modal_ask_id(m, &ask, "secret_id", &id, stop, err);

	if (rc == 0) {
		ask = (struct protobuf_ask){
			"SecretDelete", "deleting the secrets",
			.request = protobuf_texts("secret_id", id, NULL)
		};
		rc = modal_ask(m, &ask, NULL, stop, err);
	}
	free(id);
	if (rc == 0 || err->code != ERR_NOT_FOUND)
		return rc;
	*err = (struct error){ 0 };
	return 0;
}

/* Sets sb->id to the sandbox whose name is this label. */
static int find_named(struct sandbox *sb, const char *label,
		      const struct stop *stop, struct error *err)
{
	struct modal *m = sb->client->priv;
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
		.timeout_ms = sandbox_start_ms(sb->client, CREATE_MS)
	};

	if (modal_ask_id(sb->client->priv, &ask, "sandbox_id", &sb->id, stop,
			 err) == 0)
		return 0;
	if (err->grpc_status != GRPC_ALREADY_EXISTS)
		return -1;
	*err = (struct error){ 0 };
	return find_named(sb, spec->label, stop, err);
}

/* Waits until commands can run, and creates the working directory. spec
 * receives progress, or is NULL. */
static int modal_wait_ready(struct sandbox *sb, const struct sandbox_spec *spec,
			    const struct stop *stop, struct error *err)
{
	const char *const argv[] = {
		"/bin/sh", "-c", "mkdir -p -- \"$1\"", "sh", sb->workdir, NULL
	};
	struct stop within =
		stop_within(stop, sandbox_start_ms(sb->client, READY_MS));

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
		/* Do not retry a refusal (INVALID_ARGUMENT, UNIMPLEMENTED
		 * ...). */
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
	if (spec->secrets &&
	    add_secrets(sb->client->priv, spec, request, stop, err) < 0) {
		cJSON_Delete(request);
		return -1;
	}
	if (send_request(sb, request, spec, stop, err) < 0)
		return -1;
	return modal_wait_ready(sb, spec, stop, err);
}

int modal_attach(struct sandbox *sb, const char *id, const struct stop *stop,
		 struct error *err)
{
	int state;

	if (modal_check_id(id, err) < 0 || modal_read_settings(sb, err) < 0)
		return -1;
	state = modal_is_running(sb->client->priv, id, 0, stop, err);
	if (state < 0)
		return -1;
	if (!state)
		return error_set(err, ERR_GONE, "the sandbox %s has ended", id);
	free(sb->id);
	sb->id = xstrdup(id);
	return modal_wait_ready(sb, NULL, stop, err);
}

int modal_remove(struct sandbox_client *client, const char *id,
		 const struct stop *stop, struct error *err)
{
	struct modal *m = client->priv;
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

/* The router changes one list to another, and nothing else. */
int modal_set_network(struct sandbox *sb, const struct network *n,
		      const struct stop *stop, struct error *err)
{
	struct protobuf_ask ask = { .method = "TaskSetNetworkAccess",
				    .what = "changing the network" };

	if (modal_ensure_router(sb, false, stop, err) < 0)
		return -1;
	ask.request = protobuf_texts("task_id", modal_box(sb)->task, NULL);
	add_network(n, body_object(ask.request, "network_access"));
	return modal_route(sb, &ask, NULL, stop, err);
}

/* Publishes the file system as an image. If an image has this name already, the
 * name is moved to the new one. */
int modal_snapshot(struct sandbox *sb, const char *name, bool replace,
		   const struct stop *stop, struct error *err)
{
	struct protobuf_ask ask = { "TaskSnapshotFilesystem",
				    "making the snapshot",
				    .timeout_ms = SNAPSHOT_MS };
	struct modal *m = sb->client->priv;
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

int modal_find_snapshot(struct sandbox_client *client, const char *name,
			char **id, const struct stop *stop, struct error *err)
{
	if (modal_find_published(client->priv, name, id, stop, err) == 0)
		return 1;
	if (err->code != ERR_NOT_FOUND)
		return -1;
	*err = (struct error){ 0 };
	return 0;
}

/* Deletes the image, and with it its names (modal SDK 0.11.1, images.delete(),
 * read 2026-11). */
int modal_remove_snapshot(struct sandbox_client *client, const char *name,
			  const char *id, const struct stop *stop,
			  struct error *err)
{
	struct error why = { 0 };
	const struct protobuf_ask ask = {
		"ImageDelete", "deleting the snapshot",
		.request = protobuf_texts("image_id", id, NULL)
	};

	(void)name;
	if (modal_ask(client->priv, &ask, NULL, stop, &why) == 0)
		return 0;
	if (why.code == ERR_NOT_FOUND)
		return 1;
	*err = why;
	return -1;
}

static const char *get_tag(Modal__SandboxTag *const *tags, size_t n,
			   const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(tags[i]->tag_name, name) == 0)
			return tags[i]->tag_value;
	return "";
}

static enum sandbox_state state_of(const Modal__SandboxInfo *info)
{
	const Modal__TaskInfo *task = info->task_info;

	if (task &&
	    (task->finished_at > 0 || (task->result && task->result->status)))
		return STATE_GONE;
	return task && task->started_at > 0 ? STATE_RUNNING : STATE_STARTING;
}

/* Gets the tags of one sandbox. The caller frees them with protobuf_free(). */
static int get_tags(struct modal *m, const char *id, ProtobufCMessage **tags,
		    const struct stop *stop, struct error *err)
{
	const struct protobuf_ask ask = {
		"SandboxTagsGet", "asking for the sandbox",
		.request = protobuf_texts("sandbox_id", id, NULL),
		.flags = modal_flags(id)
	};

	return modal_ask(m, &ask, tags, stop, err);
}

struct sandbox_choice { /* which sandboxes of the app are passed to sink */
	struct modal *m;
	const struct stop *stop;
	const char *owner; /* only of this owner, or NULL */
	const char *id;    /* only this sandbox, or NULL */
	const struct info_sink *sink;
	bool found;
};

static void emit_info(struct sandbox_choice *s, const Modal__SandboxInfo *item,
		      Modal__SandboxTag *const *tags, size_t n_tags)
{
	const char *label = get_tag(tags, n_tags, "dcode.label");
	const char *owner = get_tag(tags, n_tags, "dcode.owner");
	/* Unix time in seconds; the server can send any value */
	double created = item->created_at;
	struct sandbox_info info = {
		.id = item->id,
		.label = label[0] ? label : item->name,
		.owner = owner[0] || !s->owner ? owner : s->owner,
		.state = state_of(item),
		.image = item->image_id,
		.created = created > 0 && created < 1e11 ? (int64_t)created : 0,
	};

	if (!str_starts(str_of(info.label), "dcode-") ||
	    (s->owner && strcmp(info.owner, s->owner) != 0) ||
	    (s->id && (s->found || strcmp(info.id, s->id) != 0)))
		return;
	if (info.created && item->timeout_secs)
		info.ends = info.created + item->timeout_secs;
	s->found = true;
	info_emit(s->sink, &info);
}

/* Reports one sandbox of the list. If its entry has no tags, the name is the
 * label, and the owner is known if the list was requested for one owner.
 * Otherwise the tags are requested, which not every server supports. */
static void emit_item(struct sandbox_choice *s, const Modal__SandboxInfo *item)
{
	bool named = str_starts(str_of(item->name), "dcode-");
	ProtobufCMessage *answer = NULL;
	struct error ignored = { 0 };
	const Modal__SandboxTagsGetResponse *r;

	if (!modal_id_ok(item->id))
		return;
	if (item->n_tags || (named ? s->owner != NULL : !s->owner)) {
		emit_info(s, item, item->tags, item->n_tags);
		return;
	}
	(void)get_tags(s->m, item->id, &answer, s->stop, &ignored);
	r = (const Modal__SandboxTagsGetResponse *)answer;
	emit_info(s, item, r ? r->tags : NULL, r ? r->n_tags : 0);
	protobuf_free(answer);
}

/* Builds the request for a page: sandboxes that were created before that time.
 * before 0: the newest ones. */
static cJSON *list_request(const struct sandbox_choice *s, double before)
{
	cJSON *request = protobuf_texts("app_id", s->m->app, "environment_name",
					s->m->environment, NULL);

	cJSON_AddNumberToObject(request, "before_timestamp", before);
	if (s->owner)
		cJSON_AddItemToArray(cJSON_AddArrayToObject(request, "tags"),
				     protobuf_texts("tag_name", "dcode.owner",
						    "tag_value", s->owner,
						    NULL));
	return request;
}

static int list_pages(struct sandbox_choice *s, struct error *err)
{
	double before = 0;

	/* Without the app there are no sandboxes, so a list does not create
	 * it. */
	if (modal_find_app(s->m, false, s->stop, err) < 0) {
		if (err->code != ERR_NOT_FOUND)
			return -1;
		*err = (struct error){ 0 };
		return 0;
	}
	for (int page = 0; page < PAGES_MAX; page++) {
		const struct protobuf_ask ask = {
			"SandboxList", "listing sandboxes",
			.request = list_request(s, before)
		};
		double last = before;
		ProtobufCMessage *answer;
		const Modal__SandboxListResponse *r;
		size_t n;

		if (modal_ask(s->m, &ask, &answer, s->stop, err) < 0)
			return -1;
		r = (Modal__SandboxListResponse *)answer;
		n = r->n_sandboxes;
		for (size_t i = 0; i < n; i++)
			emit_item(s, r->sandboxes[i]);
		if (n)
			before = r->sandboxes[n - 1]->created_at;
		protobuf_free(answer);
		if (!n)
			return 0;
		/* The list is sorted newest first: each page must be older than
		 * the previous one. */
		if (last > 0 && !(before < last))
			break;
	}
	return error_set(err, ERR_PROTOCOL,
			 "the list of sandboxes has too many pages");
}

int modal_list(struct sandbox_client *client, const char *owner,
	       const struct info_sink *sink, const struct stop *stop,
	       struct error *err)
{
	struct sandbox_choice s = {
		client->priv, stop, owner, NULL, sink, false
	};

	return list_pages(&s, err);
}

/* Finds a sandbox by its id and reads its tags. If the server cannot return
 * tags, the list is searched: the sandbox's name there is the label. */
int modal_info(struct sandbox_client *client, const char *id,
	       const struct info_sink *sink, const struct stop *stop,
	       struct error *err)
{
	struct modal *m = client->priv;
	struct sandbox_choice s = {
		.m = m, .stop = stop, .id = id, .sink = sink
	};
	struct sandbox_info info = {
		.id = id, .label = "", .owner = "", .image = ""
	};
	ProtobufCMessage *answer = NULL;
	const Modal__SandboxTagsGetResponse *r;
	struct error why = { 0 };
	int state;

	if (modal_check_id(id, err) < 0)
		return -1;
	state = modal_is_running(m, id, 0, stop, err);
	if (state < 0)
		return -1;
	info.state = state ? STATE_RUNNING : STATE_GONE;
	if (get_tags(m, id, &answer, stop, &why) == 0) {
		r = (Modal__SandboxTagsGetResponse *)answer;
		info.label = get_tag(r->tags, r->n_tags, "dcode.label");
		info.owner = get_tag(r->tags, r->n_tags, "dcode.owner");
	} else if (why.code != ERR_REMOTE) {
		*err = why;
		return -1;
	} else if (list_pages(&s, err) < 0) {
		return -1;
	}
	if (!s.found)
		info_emit(sink, &info);
	protobuf_free(answer);
	return 0;
}
