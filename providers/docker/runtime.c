/* runtime.c - what the engine runs containers with. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/json.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "providers/docker/engine.h"

enum { INFO_MS = 10000, LISTED = 160 }; /* bytes of names in a message */

/* Names are the engine's; these are what the projects install themselves under
 * (gvisor.dev/docs/user_guide/quick_start/docker, docs.docker.com/engine/
 * daemon/alternative-runtimes, github.com/containers/crun/krun.1.md,
 * 2026-11-23). "oci" is how Podman calls the one that it has. */
static const struct {
	const char *begins;
	enum sandbox_isolation isolation;
} known[] = {
	{ "io.containerd.runsc.", ISOLATION_GVISOR },
	{ "runsc", ISOLATION_GVISOR },
	{ "io.containerd.kata", ISOLATION_MICROVM },
	{ "kata", ISOLATION_MICROVM },
	{ "krun", ISOLATION_MICROVM },
	{ "io.containerd.runc.", ISOLATION_CONTAINER },
	{ "runc", ISOLATION_CONTAINER },
	{ "crun", ISOLATION_CONTAINER },
	{ "youki", ISOLATION_CONTAINER },
	{ "nvidia", ISOLATION_CONTAINER },
	{ "sysbox-runc", ISOLATION_CONTAINER },
	{ "oci", ISOLATION_CONTAINER },
};

enum sandbox_isolation docker_runtime_isolation(const char *runtime)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (str_starts(str_of(runtime), known[i].begins))
			return known[i].isolation;
	return *runtime ? ISOLATION_UNKNOWN : ISOLATION_UNSET;
}

static const char *runtime_of(const struct settings *set)
{
	const char *runtime = NULL;
	struct error ignored = { 0 };

	(void)settings_string(set, "docker", "runtime", &runtime, &ignored);
	return runtime && *runtime ? runtime : NULL;
}

enum sandbox_isolation docker_isolation(const struct settings *set)
{
	const char *runtime = runtime_of(set);

	return runtime ? docker_runtime_isolation(runtime)
		       : ISOLATION_CONTAINER;
}

/* "runc, runsc"; clean, since it is the engine's text. */
static void list_names(const cJSON *runtimes, struct buf *out)
{
	const cJSON *item;

	cJSON_ArrayForEach (item, runtimes) {
		if (item->string) {
			buf_adds(out, out->len ? ", " : "");
			sanitize_line(str_of(item->string), out);
		}
	}
	if (!out->len)
		buf_adds(out, "none");
}

static void hint(const char *runtime, struct error *err)
{
	if (docker_runtime_isolation(runtime) == ISOLATION_GVISOR)
		error_hint(err, "Install gVisor where the engine runs, then "
				"run there: sudo runsc install; sudo systemctl "
				"restart docker. Or leave out params.runtime.");
	else
		error_hint(
			err,
			"Add it to \"runtimes\" in the engine's daemon.json "
			"and restart the engine, or leave out params.runtime.");
}

bool docker_lacks_runtime(struct docker *d, const struct stop *stop,
			  struct error *err)
{
	struct stop limit = stop_within(stop, INFO_MS);
	struct engine_ask ask = { .method = "GET",
				  .path = "/info",
				  .what = "asking for the engine's runtimes" };
	const char *runtime = runtime_of(d->settings);
	struct error ignored = { 0 };
	struct buf names = BUF_INIT(LISTED);
	cJSON *info = NULL;
	const cJSON *all;
	bool lacks = false;

	if (!runtime ||
	    engine_json(&d->engine, &ask, &info, &limit, &ignored) < 0)
		return false;
	all = json_get(info, "Runtimes");
	/* Newer engines take the name of a shim that is in none of its lists:
	 * then it is the engine that knows what is wrong. */
	if (cJSON_IsObject(all) && !json_get(all, runtime)) {
		list_names(all, &names);
		lacks = true;
		error_set(err, ERR_CONFIG,
			  "the engine has no runtime \"%.60s\" (it has %s)",
			  runtime, names.ptr);
		hint(runtime, err);
	}
	buf_release(&names);
	cJSON_Delete(info);
	return lacks;
}

int docker_check_runtime(const struct docker *d, const cJSON *inspected,
			 struct error *err)
{
	const char *used =
		json_string(json_get(inspected, "HostConfig"), "Runtime", "");
	const char *runtime = NULL;

	if (settings_string(d->settings, "docker", "runtime", &runtime, err) <
	    0)
		return -1;
	if (!runtime || !*runtime || strcmp(runtime, used) == 0)
		return 0;
	error_set(err, ERR_CONFIG,
		  "the engine ignored runtime = \"%s\" (it reports \"%s\")",
		  runtime, used);
	return error_hint(err, "Podman reads it only from containers.conf: "
			       "leave out the param.");
}
