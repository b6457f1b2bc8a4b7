/* create.c - the parameters, and the container made from them. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "providers/docker/engine.h"

const struct setting docker_settings[] = {
	{ .key = "image",
	  .type = SETTING_STRING,
	  .fallback = "\"python:3\"",
	  .help = "image for new containers" },
	{ .key = "pull",
	  .type = SETTING_STRING,
	  .fallback = "\"missing\"",
	  .help = "when to fetch the image: missing, always or never" },
	{ .key = "workdir",
	  .type = SETTING_STRING,
	  .fallback = "\"/workspace\"",
	  .help = "working directory inside, created if it is missing" },
	{ .key = "user",
	  .example = "\"1000:1000\"",
	  .type = SETTING_STRING,
	  .help = "user inside, by name or number (the image's)" },
	{ .key = "network",
	  .example = "\"none\"",
	  .type = SETTING_STRING,
	  .help = "none, host or the name of a network (the engine's "
		  "default)" },
	{ .key = "memory",
	  .unit = "size",
	  .example = "\"2g\"",
	  .type = SETTING_STRING,
	  .help = "memory limit, like 512m or 2g; 0 is no limit (three "
		  "quarters of the engine's)" },
	{ .key = "cpus",
	  .unit = "CPUs",
	  .example = "\"1.5\"",
	  .type = SETTING_STRING,
	  .help = "CPU limit, like 1.5 (no limit)" },
	{ .key = "cap_add",
	  .example = "[\"NET_RAW\"]",
	  .type = SETTING_LIST,
	  .help = "capabilities besides the usual ones, like NET_RAW" },
	{ .key = "no_new_privileges",
	  .type = SETTING_BOOL,
	  .fallback = "true",
	  .help = "set-user-ID programs give no rights; false for sudo" },
	{ .key = "runtime",
	  .example = "\"runsc\"",
	  .type = SETTING_STRING,
	  .help = "runtime of the engine, like runsc or kata (its default)" },
	{ .key = "mounts",
	  .example = "[\"/srv/data:/data:ro\"]",
	  .type = SETTING_LIST,
	  .help = "directories or volumes to mount: src:dst or src:dst:ro" },
	{ .key = "bind",
	  .example = "\"/srv/project\"",
	  .type = SETTING_STRING,
	  .help = "directory here to mount as the working directory, writable "
		  "(set by --workspace bind)" },
	{ .key = "env",
	  .example = "[\"LANG=C.UTF-8\"]",
	  .type = SETTING_LIST,
	  .help = "variables inside: NAME=value" },
	{ .key = "lifetime",
	  .unit = "seconds",
	  .example = "7200",
	  .type = SETTING_INT,
	  .help = "seconds after which a container ends by itself" },
	{ 0 },
};

/*
 * The first process: ends by itself after the lifetime, at once when asked
 * to, and reaps orphans while it waits (a shell's wait collects every child).
 */
static const char first_process[] =
	"trap 'exit 0' TERM INT; sleep \"$0\" & wait \"$!\"";

static int read_string(const struct docker *d, const char *key,
		       const char **value, struct error *err)
{
	*value = NULL;
	return settings_string(d->settings, "docker", key, value, err);
}

int docker_image(const struct docker *d, const struct sandbox_spec *spec,
		 char **image, struct error *err)
{
	const char *name;

	if (spec->snapshot) {
		*image = xasprintf("dcode-snapshot:%s", spec->snapshot);
		return 0;
	}
	if (read_string(d, "image", &name, err) < 0)
		return -1;
	if (!name || !*name)
		return error_set(err, ERR_CONFIG, "the image is empty");
	*image = xstrdup(name);
	return 0;
}

static int add_limits(const struct docker *d, cJSON *config, struct error *err)
{
	const char *memory;
	const char *cpus;
	char *end;
	double n;
	int64_t bytes;

	if (read_string(d, "memory", &memory, err) < 0 ||
	    read_string(d, "cpus", &cpus, err) < 0)
		return -1;
	if (memory) {
		if (!str_to_size(str_of(memory), &bytes))
			return error_set(err, ERR_CONFIG,
					 "memory = \"%s\" is not an amount "
					 "like 512m or 2g",
					 memory);
		cJSON_AddNumberToObject(config, "Memory", (double)bytes);
	}
	if (cpus) {
		n = strtod(cpus, &end);
		if (end == cpus || *end || !(n > 0 && n <= 4096))
			return error_set(
				err, ERR_CONFIG,
				"cpus = \"%s\" is not a number like 1.5", cpus);
		cJSON_AddNumberToObject(config, "NanoCpus",
					(double)(int64_t)(n * 1e9));
	}
	return 0;
}

/* "src:dst[:ro]"; a src with a slash, dot or tilde in front is a path here,
 * anything else the name of a volume. */
static int add_mount(const struct docker *d, cJSON *binds, const char *mount,
		     struct error *err)
{
	const char *colon = strchr(mount, ':');
	char *src = colon ? xstrndup(mount, (size_t)(colon - mount)) : NULL;
	char *expanded;

	if (!src || !*src || colon[1] != '/') {
		free(src);
		return error_set(err, ERR_CONFIG,
				 "mounts: \"%s\" is not src:dst or src:dst:ro",
				 mount);
	}
	if (strchr("/.~", src[0])) {
		expanded = path_expand(src, settings_home(d->settings));
		free(src);
		src = path_join(settings_cwd(d->settings), expanded);
		free(expanded);
	}
	expanded = xasprintf("%s%s", src, colon);
	cJSON_AddItemToArray(binds, cJSON_CreateString(expanded));
	free(expanded);
	free(src);
	return 0;
}

static int add_mounts(const struct docker *d, cJSON *config, struct error *err)
{
	const char *const *list;
	cJSON *binds;
	size_t n = 0;

	if (settings_list(d->settings, "docker", "mounts", &list, &n, err) < 0)
		return -1;
	binds = n ? cJSON_AddArrayToObject(config, "Binds") : NULL;
	for (size_t i = 0; i < n; i++)
		if (add_mount(d, binds, list[i], err) < 0)
			return -1;
	return 0;
}

static int add_host_config(const struct docker *d,
			   const struct sandbox_spec *spec,
			   const struct docker_limits *limits, cJSON *body,
			   struct error *err)
{
	cJSON *config = cJSON_AddObjectToObject(body, "HostConfig");
	const char *network;

	if (read_string(d, "network", &network, err) < 0 ||
	    docker_harden(d, limits, config, err) < 0)
		return -1;
	if (spec->network == NETWORK_NONE)
		network = "none";
	else if (spec->network == NETWORK_FULL && network &&
		 strcmp(network, "none") == 0)
		network = NULL;
	if (network && *network)
		cJSON_AddStringToObject(config, "NetworkMode", network);
	if (add_limits(d, config, err) < 0 || add_mounts(d, config, err) < 0)
		return -1;
	return docker_bind_mount(d, config, err);
}

/* A user whom the image does not know has "/" as home, and cannot write it. */
static int add_env(const struct docker *d, const struct docker_limits *limits,
		   cJSON *body, struct error *err)
{
	bool needs_home = limits->user[0] && limits->user[0] != '0';
	cJSON *env = cJSON_AddArrayToObject(body, "Env");
	const char *const *list;
	size_t n = 0;

	if (settings_list(d->settings, "docker", "env", &list, &n, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		if (!strchr(list[i], '=') || list[i][0] == '=')
			return error_set(err, ERR_CONFIG,
					 "env: each entry must be NAME=value");
		cJSON_AddItemToArray(env, cJSON_CreateString(list[i]));
		needs_home &= strncmp(list[i], "HOME=", 5) != 0;
	}
	if (needs_home)
		cJSON_AddItemToArray(env, cJSON_CreateString("HOME=/tmp"));
	return 0;
}

static int lifetime_of(const struct docker *d, const struct sandbox_spec *spec,
		       int64_t *seconds, struct error *err)
{
	*seconds = 0;
	if (settings_int(d->settings, "docker", "lifetime", seconds, err) < 0)
		return -1;
	if (*seconds <= 0)
		*seconds = spec->lifetime_s;
	if (*seconds <= 0)
		return error_set(err, ERR_CONFIG,
				 "the lifetime must be above zero");
	return 0;
}

static int fill_body(const struct docker *d, const struct sandbox_spec *spec,
		     const char *image, const struct docker_limits *limits,
		     cJSON *body, struct error *err)
{
	static const char *const shell[] = { "/bin/sh", "-c" };
	const char *workdir = NULL;
	const char *user;
	int64_t seconds;
	char life[32];
	cJSON *labels;

	if (settings_directory(d->settings, "docker", "workdir", &workdir,
			       err) < 0 ||
	    read_string(d, "user", &user, err) < 0 ||
	    lifetime_of(d, spec, &seconds, err) < 0)
		return -1;
	snprintf(life, sizeof(life), "%lld", (long long)seconds);
	cJSON_AddStringToObject(body, "Image", image);
	cJSON_AddStringToObject(body, "WorkingDir", workdir);
	if (user || limits->user[0])
		cJSON_AddStringToObject(body, "User",
					user ? user : limits->user);
	cJSON_AddItemToObject(body, "Entrypoint",
			      cJSON_CreateStringArray(shell, 2));
	cJSON_AddItemToObject(
		body, "Cmd",
		cJSON_CreateStringArray((const char *[]){ first_process, life },
					2));
	labels = cJSON_AddObjectToObject(body, "Labels");
	cJSON_AddStringToObject(labels, "dcode.label", spec->label);
	cJSON_AddStringToObject(labels, "dcode.owner",
				spec->owner ? spec->owner : "");
	cJSON_AddStringToObject(labels, "dcode.workdir", workdir);
	cJSON_AddStringToObject(labels, "dcode.lifetime", life);
	if (add_env(d, limits, body, err) < 0)
		return -1;
	return add_host_config(d, spec, limits, body, err);
}

int docker_create_body(const struct docker *d, const struct sandbox_spec *spec,
		       const char *image, const struct docker_limits *limits,
		       struct buf *out, struct error *err)
{
	cJSON *body = cJSON_CreateObject();
	int rc = fill_body(d, spec, image, limits, body, err);

	if (rc == 0)
		json_print(out, body);
	cJSON_Delete(body);
	return rc < 0 ? rc : buf_check(out, "the container's description", err);
}
