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
	  .help = "image that new containers are made from" },
	{ .key = "pull",
	  .type = SETTING_STRING,
	  .fallback = "\"missing\"",
	  .help = "when to fetch the image: missing, always or never" },
	{ .key = "workdir",
	  .type = SETTING_STRING,
	  .fallback = "\"/workspace\"",
	  .help = "working directory inside, made when it is missing" },
	{ .key = "user",
	  .type = SETTING_STRING,
	  .help = "user inside, by name or number (the image's)" },
	{ .key = "network",
	  .type = SETTING_STRING,
	  .help = "none, host or a network's name (the engine's default)" },
	{ .key = "memory",
	  .type = SETTING_STRING,
	  .help = "most memory, as 512m or 2g; 0 is no limit (three quarters "
		  "of the engine's)" },
	{ .key = "cpus",
	  .type = SETTING_STRING,
	  .help = "most processors, as 1.5 (no limit)" },
	{ .key = "cap_add",
	  .type = SETTING_LIST,
	  .help = "capabilities besides the usual ones, as NET_RAW" },
	{ .key = "no_new_privileges",
	  .type = SETTING_BOOL,
	  .fallback = "true",
	  .help = "set-user-ID programs give no rights; false for sudo" },
	{ .key = "runtime",
	  .type = SETTING_STRING,
	  .help = "runtime of the engine, as runsc or kata (its default)" },
	{ .key = "mounts",
	  .type = SETTING_LIST,
	  .help = "directories or volumes inside: src:dst or src:dst:ro" },
	{ .key = "env",
	  .type = SETTING_LIST,
	  .help = "variables inside: NAME=value" },
	{ .key = "lifetime",
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

static void comma(struct buf *b)
{
	if (b->len && b->ptr[b->len - 1] != '{' && b->ptr[b->len - 1] != '[')
		buf_addc(b, ',');
}

static void member(struct buf *b, const char *key, const char *value)
{
	comma(b);
	json_member(b, key, str_of(value));
}

static int string_of(const struct docker *d, const char *key,
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
	if (string_of(d, "image", &name, err) < 0)
		return -1;
	if (!name || !*name)
		return error_set(err, ERR_CONFIG, "the image is empty");
	*image = xstrdup(name);
	return 0;
}

/* "512m", "2g", "1073741824" */
static int64_t parse_memory(struct str text)
{
	static const char units[] = "bkmgt";
	int64_t factor = 1;
	int64_t n;

	if (text.len && (text.ptr[text.len - 1] | 32) == 'b' && text.len > 1 &&
	    !(text.ptr[text.len - 2] >= '0' && text.ptr[text.len - 2] <= '9'))
		text.len--;
	for (size_t i = 0; text.len && i < sizeof(units) - 1; i++) {
		if ((text.ptr[text.len - 1] | 32) != units[i])
			continue;
		factor = (int64_t)1 << (10 * i);
		text.len--;
		break;
	}
	if (!str_to_int(text, &n) || n <= 0 || n > INT64_MAX / factor)
		return -1;
	return n * factor;
}

static int add_limits(const struct docker *d, struct buf *b, struct error *err)
{
	const char *memory;
	const char *cpus;
	char *end;
	double n;
	int64_t bytes;

	if (string_of(d, "memory", &memory, err) < 0 ||
	    string_of(d, "cpus", &cpus, err) < 0)
		return -1;
	if (memory) {
		bytes = !strcmp(memory, "0") ? 0 : parse_memory(str_of(memory));
		if (bytes < 0)
			return error_set(err, ERR_CONFIG,
					 "memory = \"%s\" is no amount like "
					 "512m or 2g",
					 memory);
		comma(b);
		buf_addf(b, "\"Memory\":%lld", (long long)bytes);
	}
	if (cpus) {
		n = strtod(cpus, &end);
		if (end == cpus || *end || !(n > 0 && n <= 4096))
			return error_set(err, ERR_CONFIG,
					 "cpus = \"%s\" is no number like 1.5",
					 cpus);
		comma(b);
		buf_addf(b, "\"NanoCpus\":%lld", (long long)(n * 1e9));
	}
	return 0;
}

/* "src:dst[:ro]"; a src with a slash, dot or tilde in front is a path here,
 * anything else the name of a volume. */
static int add_mount(const struct docker *d, struct buf *b, const char *mount,
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
	comma(b);
	json_quote(b, str_of(expanded));
	free(expanded);
	free(src);
	return 0;
}

static int add_mounts(const struct docker *d, struct buf *b, struct error *err)
{
	const char *const *list;
	size_t n = 0;

	if (settings_list(d->settings, "docker", "mounts", &list, &n, err) < 0)
		return -1;
	if (!n)
		return 0;
	comma(b);
	buf_adds(b, "\"Binds\":[");
	for (size_t i = 0; i < n; i++)
		if (add_mount(d, b, list[i], err) < 0)
			return -1;
	buf_addc(b, ']');
	return 0;
}

static int add_host_config(const struct docker *d,
			   const struct sandbox_spec *spec,
			   const struct docker_limits *limits, struct buf *b,
			   struct error *err)
{
	const char *network;

	if (string_of(d, "network", &network, err) < 0)
		return -1;
	if (spec->network == NETWORK_NONE)
		network = "none";
	else if (spec->network == NETWORK_FULL && network &&
		 strcmp(network, "none") == 0)
		network = NULL;
	comma(b);
	buf_adds(b, "\"HostConfig\":{");
	if (docker_harden(d, limits, b, err) < 0)
		return -1;
	if (network && *network)
		member(b, "NetworkMode", network);
	if (add_limits(d, b, err) < 0 || add_mounts(d, b, err) < 0)
		return -1;
	buf_addc(b, '}');
	return 0;
}

static int add_env(const struct docker *d, struct buf *b, struct error *err)
{
	const char *const *list;
	size_t n = 0;

	if (settings_list(d->settings, "docker", "env", &list, &n, err) < 0)
		return -1;
	comma(b);
	buf_adds(b, "\"Env\":[");
	for (size_t i = 0; i < n; i++) {
		if (!strchr(list[i], '=') || list[i][0] == '=')
			return error_set(err, ERR_CONFIG,
					 "env: each entry is NAME=value");
		comma(b);
		json_quote(b, str_of(list[i]));
	}
	buf_addc(b, ']');
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
				 "the lifetime is not above "
				 "zero");
	return 0;
}

int docker_create_body(const struct docker *d, const struct sandbox_spec *spec,
		       const char *image, const struct docker_limits *limits,
		       struct buf *b, struct error *err)
{
	const char *workdir;
	const char *user;
	int64_t seconds;
	char life[32];

	if (string_of(d, "workdir", &workdir, err) < 0 ||
	    string_of(d, "user", &user, err) < 0 ||
	    lifetime_of(d, spec, &seconds, err) < 0)
		return -1;
	if (!workdir || workdir[0] != '/')
		return error_set(err, ERR_CONFIG,
				 "workdir must be an absolute path");
	snprintf(life, sizeof(life), "%lld", (long long)seconds);
	buf_addc(b, '{');
	member(b, "Image", image);
	member(b, "WorkingDir", workdir);
	if (user)
		member(b, "User", user);
	buf_adds(b, ",\"Entrypoint\":[\"/bin/sh\",\"-c\"],\"Cmd\":[");
	json_quote(b, str_of(first_process));
	comma(b);
	json_quote(b, str_of(life));
	buf_adds(b, "],\"Labels\":{");
	member(b, "dcode.label", spec->label);
	member(b, "dcode.owner", spec->owner ? spec->owner : "");
	member(b, "dcode.workdir", workdir);
	member(b, "dcode.lifetime", life);
	buf_addc(b, '}');
	if (add_env(d, b, err) < 0 ||
	    add_host_config(d, spec, limits, b, err) < 0)
		return -1;
	buf_addc(b, '}');
	return buf_check(b, "the container's description", err);
}
