/* harden.c - what a container may not do, unless the user allows it. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "providers/docker/engine.h"

enum { PIDS_MAX = 4096, INFO_MS = 10000 };

/* What package managers, servers on low ports and su need. Not in it, of what
 * engines give by default: NET_RAW (forged packets), MKNOD, AUDIT_WRITE,
 * SETFCAP and SETPCAP (programs and processes with more capabilities). */
static const char *const capabilities[] = {
	"CHOWN",  "DAC_OVERRIDE", "FOWNER",           "FSETID",     "KILL",
	"SETGID", "SETUID",       "NET_BIND_SERVICE", "SYS_CHROOT",
};

static bool is_capability(const char *name)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_";

	return *name && name[strspn(name, letters)] == '\0';
}

static int add_capabilities(const struct docker *d, cJSON *config,
			    struct error *err)
{
	static const char *const all[] = { "ALL" };
	const char *const *more;
	cJSON *added;
	size_t n = 0;

	if (settings_list(d->settings, "docker", "cap_add", &more, &n, err) < 0)
		return -1;
	cJSON_AddItemToObject(config, "CapDrop",
			      cJSON_CreateStringArray(all, 1));
	added = cJSON_CreateStringArray(
		capabilities, sizeof(capabilities) / sizeof(*capabilities));
	cJSON_AddItemToObject(config, "CapAdd", added);
	for (size_t i = 0; i < n; i++) {
		if (!is_capability(more[i]))
			return error_set(err, ERR_CONFIG,
					 "cap_add: not a capability like "
					 "NET_RAW: \"%s\"",
					 more[i]);
		cJSON_AddItemToArray(added, cJSON_CreateString(more[i]));
	}
	return 0;
}

int docker_harden(const struct docker *d, const struct docker_limits *limits,
		  cJSON *config, struct error *err)
{
	static const char *const no_new_privileges[] = { "no-new-privileges" };
	const char *runtime = NULL;
	bool no_new = true;

	if (settings_bool(d->settings, "docker", "no_new_privileges", &no_new,
			  err) < 0 ||
	    settings_string(d->settings, "docker", "runtime", &runtime, err) <
		    0)
		return -1;
	cJSON_AddItemToObject(
		config, "SecurityOpt",
		cJSON_CreateStringArray(no_new_privileges, no_new ? 1 : 0));
	if (add_capabilities(d, config, err) < 0)
		return -1;
	if (limits->wanted)
		cJSON_AddNumberToObject(config, "PidsLimit", PIDS_MAX);
	if (limits->wanted && limits->memory > 0)
		cJSON_AddNumberToObject(config, "Memory",
					(double)limits->memory);
	if (runtime && *runtime)
		cJSON_AddStringToObject(config, "Runtime", runtime);
	return 0;
}

int docker_limits_init(struct docker *d, struct docker_limits *limits,
		       const struct stop *stop, struct error *err)
{
	struct stop limit = stop_within(stop, INFO_MS);
	struct engine_ask ask = { .method = "GET",
				  .path = "/info",
				  .what = "asking for the engine's memory" };
	const char *memory = NULL;
	const char *bind = NULL;
	struct error ignored = { 0 };
	cJSON *info = NULL;

	*limits = (struct docker_limits){ .wanted = true };
	if (settings_string(d->settings, "docker", "memory", &memory, err) <
		    0 ||
	    settings_string(d->settings, "docker", "bind", &bind, err) < 0)
		return -1;
	if (memory && !bind)
		return 0;
	/* An engine that does not say has no default for it. */
	if (engine_json(&d->engine, &ask, &info, &limit, &ignored) == 0 &&
	    !memory && json_bool(info, "MemoryLimit", true))
		limits->memory = json_int(info, "MemTotal", 0) / 4 * 3;
	if (bind)
		docker_bind_user(info, limits->user, sizeof(limits->user));
	cJSON_Delete(info);
	return stop_check(stop, err);
}
