/* container.c - builds a container's description from the settings. */
/* SPDX-License-Identifier: MIT */
/*
 * docker_create_body() writes the body of POST /containers/create from the rows
 * of docker_settings: image, user, network, limits, mounts. Begin with
 * fill_body(). This file sends only one request: GET /info, which says how much
 * memory the engine has, whether it is rootless and which runtimes it has.
 *
 * A container gets fewer rights than engines give by default: the capabilities
 * below, no-new-privileges, limits on memory and processes (THREAT_MODEL.md).
 * The user's settings can restore some of them; nothing in a container can.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "providers/docker/docker.h"
#include "sandbox/bind.h"

enum {
	PIDS_MAX = 4096,
	INFO_MS = 10000, /* for GET /info */
	LISTED = 160,    /* bytes of the names of runtimes in a message */
};

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
	  .help = "user inside, by name or number (default: the image's)" },
	{ .key = "network",
	  .example = "\"none\"",
	  .type = SETTING_STRING,
	  .help = "none, host or the name of a network (default: the "
		  "engine's)" },
	{ .key = "memory",
	  .unit = "size",
	  .example = "\"2g\"",
	  .type = SETTING_STRING,
	  .help = "memory limit, like 512m or 2g; 0: no limit (default: "
		  "three quarters of the engine's memory)" },
	{ .key = "cpus",
	  .unit = "CPUs",
	  .example = "\"1.5\"",
	  .type = SETTING_STRING,
	  .help = "CPU limit, like 1.5 (default: no limit)" },
	{ .key = "cap_add",
	  .example = "[\"NET_RAW\"]",
	  .type = SETTING_LIST,
	  .help = "capabilities to add, like NET_RAW" },
	{ .key = "no_new_privileges",
	  .type = SETTING_BOOL,
	  .fallback = "true",
	  .help = "set-user-ID programs give no rights; set to false for "
		  "sudo" },
	{ .key = "runtime",
	  .example = "\"runsc\"",
	  .type = SETTING_STRING,
	  .help = "runtime of the engine, like runsc or kata (default: the "
		  "engine's)" },
	{ .key = "mounts",
	  .example = "[\"/srv/data:/data:ro\"]",
	  .type = SETTING_LIST,
	  .help = "directories or volumes to mount: src:dst or src:dst:ro" },
	{ .key = "bind",
	  .example = "\"/srv/project\"",
	  .type = SETTING_STRING,
	  .help = "directory on this machine to mount writable as the "
		  "working directory (set by --workspace bind)" },
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

/* The container's first process. It ends after the lifetime, or at once on a
 * signal. While it waits it reaps orphans, because a shell's wait collects
 * every child. */
static const char first_process[] =
	"trap 'exit 0' TERM INT; sleep \"$0\" & wait \"$!\"";

/* Reads a string setting of the provider docker; *value is NULL if it is not
 * set. */
static int read_string(const struct docker *d, const char *key,
		       const char **value, struct error *err)
{
	*value = NULL;
	return settings_string(d->settings, "docker", key, value, err);
}

struct git_mounts {
	const struct bind_git *git;
	cJSON *mounts;
};

/* Adds an entry to "Mounts". Unlike in "Binds", the source may contain a colon,
 * and a missing source is an error instead of being created. */
static void add_bind_mount(cJSON *mounts, const char *source,
			   const char *target, bool writable)
{
	cJSON *mount = cJSON_CreateObject();

	cJSON_AddStringToObject(mount, "Type", "bind");
	cJSON_AddStringToObject(mount, "Source", source);
	cJSON_AddStringToObject(mount, "Target", target);
	if (!writable)
		cJSON_AddBoolToObject(mount, "ReadOnly", true);
	cJSON_AddItemToArray(mounts, mount);
}

/* Mounts one file or directory of the repository separately: read-only, unless
 * git must write it. The engine cannot mount a path that does not exist. Most
 * missing paths need no mount, but git would obey objects/info and
 * config.worktree if a command created them, so those two are created empty.
 * The engine sorts mounts by target. */
static void add_git_mount(void *arg, const char *name, enum bind_git_use use)
{
	struct git_mounts *m = arg;
	char *path = path_join(m->git->common, name);
	struct stat st;
	int fd;

	if (!strcmp(name, "objects/info")) {
		(void)mkdir(path, 0755);
	} else if (str_ends(str_of(name), "/config.worktree")) {
		fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
			  0644);
		if (fd >= 0)
			close(fd);
	}
	/* Skip links: the engine would mount the file that the link names. */
	if (lstat(path, &st) == 0 && !S_ISLNK(st.st_mode))
		add_bind_mount(m->mounts, path, path, use == BIND_GIT_WRITES);
	free(path);
}

/* Mounts the repository of a linked worktree, read-only except for what git
 * must write. A submodule's repository is not mounted: a command could create a
 * file "commondir" in it, which makes git use another repository's config and
 * hooks. Only the local provider can prevent that. */
static void add_git(cJSON *mounts, const struct settings *set, const char *dir)
{
	struct bind_git git;
	struct git_mounts m = { &git, mounts };

	if (bind_git_find(&git, set, dir) &&
	    strcmp(git.git_dir, git.common) != 0) {
		add_bind_mount(mounts, git.common, git.common, false);
		bind_git_each(&git, add_git_mount, &m);
	}
	bind_git_release(&git);
}

bool docker_has_mounts(const struct settings *set)
{
	const char *const *list = NULL;
	struct error ignored = { 0 };
	const char *dir = NULL;
	size_t n = 0;

	(void)settings_string(set, "docker", "bind", &dir, &ignored);
	(void)settings_list(set, "docker", "mounts", &list, &n, &ignored);
	return dir || n > 0;
}

/* Adds the mount of the setting "bind". Fails for an engine on another
 * machine. */
static int add_bind(const struct docker *d, cJSON *config, struct error *err)
{
	const char *workdir = NULL;
	const char *dir = NULL;
	char *real = NULL;
	cJSON *mounts;
	int rc;

	if (settings_string(d->settings, "docker", "bind", &dir, err) < 0 ||
	    settings_directory(d->settings, "docker", "workdir", &workdir,
			       err) < 0)
		return -1;
	if (!dir)
		return 0;
	if (!d->engine.socket) {
		error_set(err, ERR_CONFIG,
			  "the engine at %s is on another machine and cannot "
			  "mount %s",
			  d->engine.shown, dir);
		return error_hint(err,
				  "Use --workspace repo, which sends a copy.");
	}
	rc = bind_check(d->settings, dir, &real, err);
	if (rc == 0) {
		mounts = cJSON_AddArrayToObject(config, "Mounts");
		add_bind_mount(mounts, real, workdir, true);
		if (!strcmp(workdir, real))
			add_git(mounts, d->settings, real);
	}
	free(real);
	return rc;
}

/* True if the engine is rootless. Root in the container has then only the
 * rights of the user who runs the engine. */
static bool is_rootless(const cJSON *info)
{
	const cJSON *option;

	cJSON_ArrayForEach (option, json_get(info, "SecurityOptions"))
		if (cJSON_IsString(option) &&
		    str_starts(str_of(option->valuestring), "name=rootless"))
			return true;
	return json_bool(info, "Rootless", false); /* Podman's name for it */
}

void docker_bind_user(const cJSON *info, char *user, size_t size)
{
	if (is_rootless(info))
		snprintf(user, size, "0:0");
	else
		snprintf(user, size, "%lu:%lu", (unsigned long)geteuid(),
			 (unsigned long)getegid());
}

bool docker_is_bound(const struct sandbox *sb)
{
	const struct sandbox_mounts *m = &sb->mounts;

	for (size_t i = 0; i < m->n; i++) {
		size_t len = strlen(m->list[i].inside);

		if (!strncmp(sb->workdir, m->list[i].inside, len) &&
		    (!sb->workdir[len] || sb->workdir[len] == '/'))
			return true;
	}
	return false;
}

/* Capabilities that package managers, servers on low ports and su need. dcode
 * drops the others, among them some that engines give by default: NET_RAW
 * (forged packets), MKNOD, AUDIT_WRITE, SETFCAP and SETPCAP (programs and
 * processes with more capabilities). */
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

/* Adds the members of HostConfig that reduce a container's rights. */
static int add_hardening(const struct docker *d,
			 const struct docker_limits *limits, cJSON *config,
			 struct error *err)
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
	struct engine_ask ask = { .http.method = "GET",
				  .http.path = "/info",
				  .http.what =
					  "asking for the engine's memory" };
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
	/* Without an answer from the engine there is no default limit. */
	if (engine_json(&d->engine, &ask, &info, &limit, &ignored) == 0 &&
	    !memory && json_bool(info, "MemoryLimit", true))
		limits->memory = json_int(info, "MemTotal", 0) / 4 * 3;
	if (bind)
		docker_bind_user(info, limits->user, sizeof(limits->user));
	cJSON_Delete(info);
	return stop_check(stop, err);
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

/* Adds the limits that the user has set. Unlike default limits, they are never
 * dropped: if the engine refuses them, the create fails. */
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

/* Adds a mount "src:dst[:ro]". A src that begins with a slash, a dot or a tilde
 * is a path on this machine; anything else is the name of a volume. */
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

/* Adds HostConfig. spec->network comes from the command line and overrides the
 * setting. */
static int add_host_config(const struct docker *d,
			   const struct sandbox_spec *spec,
			   const struct docker_limits *limits, cJSON *body,
			   struct error *err)
{
	cJSON *config = cJSON_AddObjectToObject(body, "HostConfig");
	const char *network;

	if (read_string(d, "network", &network, err) < 0 ||
	    add_hardening(d, limits, config, err) < 0)
		return -1;
	if (spec->network->mode == NETWORK_NONE ||
	    spec->network->mode == NETWORK_LIST)
		network = "none";
	else if (spec->network->mode == NETWORK_FULL && network &&
		 strcmp(network, "none") == 0)
		network = NULL;
	if (network && *network)
		cJSON_AddStringToObject(config, "NetworkMode", network);
	if (add_limits(d, config, err) < 0 || add_mounts(d, config, err) < 0)
		return -1;
	return add_bind(d, config, err);
}

/* Adds the environment. A user whom the image does not know gets HOME=/tmp: the
 * engine would set it to "/", where that user cannot write. */
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

/* Sets *seconds to the time after which the container ends by itself. */
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
	if (add_env(d, limits, body, err) < 0 ||
	    add_host_config(d, spec, limits, body, err) < 0)
		return -1;
	return spec->network->mode == NETWORK_LIST
		       ? docker_network_add(d, spec->network, body, err)
		       : 0;
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

/* Prefixes of the names under which the instructions of each project register
 * its runtime with the engine (gvisor.dev/docs/user_guide/quick_start/docker,
 * docs.docker.com/engine/daemon/alternative-runtimes,
 * github.com/containers/crun/krun.1.md, 2026-11-23). "oci" is the name that
 * Podman gives its runtime. */
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

/* Appends a list like "runc, runsc". Sanitized, since the text comes from the
 * engine. */
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

/* Adds a hint how to install a runtime, or how to work without it. */
static void hint_runtime(const char *runtime, struct error *err)
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
	struct engine_ask ask = { .http.method = "GET",
				  .http.path = "/info",
				  .http.what =
					  "asking for the engine's runtimes" };
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
	/* Newer engines also accept the name of a shim, which is in no list. If
	 * that name is wrong, the engine's own message says so. */
	if (cJSON_IsObject(all) && !json_get(all, runtime)) {
		list_names(all, &names);
		lacks = true;
		error_set(err, ERR_CONFIG,
			  "the engine has no runtime \"%.60s\" (it has %s)",
			  runtime, names.ptr);
		hint_runtime(runtime, err);
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
