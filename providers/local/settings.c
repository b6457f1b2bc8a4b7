/* settings.c - the parameters of the bubblewrap provider. */
/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "providers/local/local.h"

static const char group[] = "local";

const struct setting local_settings[] = {
	{ .key = "workspace",
	  .type = SETTING_STRING,
	  .fallback = "\"private\"",
	  .help = "\"private\": an empty directory of its own; \"bind\": the "
		  "current directory, read-write" },
	{ .key = "protect",
	  .example = "[\".envrc\", \".husky\"]",
	  .type = SETTING_LIST,
	  .help = "replaces the setting protect: names that are read-only in a "
		  "bound workspace" },
	{ .key = "network",
	  .type = SETTING_STRING,
	  .fallback = "\"none\"",
	  .help = "\"none\" or \"full\": the host's own network" },
	{ .key = "env",
	  .example = "[\"LANG=C.UTF-8\"]",
	  .type = SETTING_LIST,
	  .help = "NAME=value for every command; nothing else is passed on" },
	{ .key = "lifetime",
	  .unit = "seconds",
	  .example = "7200",
	  .type = SETTING_INT,
	  .help = "seconds until its processes end by themselves" },
	{ .key = "memory",
	  .unit = "size",
	  .example = "\"2g\"",
	  .type = SETTING_STRING,
	  .help = "memory limit, of each process and, where a control group "
		  "can be made, of all; /tmp and /dev/shm get half: \"2g\"" },
	{ .key = "disk",
	  .unit = "size",
	  .type = SETTING_STRING,
	  .fallback = "\"32g\"",
	  .help = "limit for workspace and home (bound: for their growth); the "
		  "command that passes it is killed" },
	{ .key = "max_file_size",
	  .unit = "size",
	  .type = SETTING_STRING,
	  .fallback = "\"16g\"",
	  .help = "limit for the size of a file" },
	{ .key = "max_processes",
	  .unit = "processes",
	  .type = SETTING_INT,
	  .fallback = "4096",
	  .help = "limit for processes; the kernel exempts a dcode run by "
		  "root" },
	{ 0 },
};

/* In bytes; *size stays when it is not set. */
static int read_size(const struct settings *set, const char *key,
		     uint64_t *size, struct error *err)
{
	const char *text = NULL;
	struct str trimmed;
	int64_t bytes = 0;

	if (settings_string(set, group, key, &text, err) < 0)
		return -1;
	trimmed = str_trim(str_of(text));
	if (!trimmed.len)
		return 0;
	if (!str_to_size(trimmed, &bytes))
		return error_set(
			err, ERR_CONFIG,
			"%s = \"%s\" is not a size like \"512m\" or \"2g\"",
			key, text);
	*size = (uint64_t)bytes;
	return 0;
}

/* One of two words; *second says which. */
static int read_choice(const struct settings *set, const char *key,
		       const char *first, const char *other, bool *second,
		       struct error *err)
{
	const char *text = NULL;

	if (settings_string(set, group, key, &text, err) < 0)
		return -1;
	*second = text && !strcmp(text, other);
	if (text && !*second && strcmp(text, first) != 0)
		return error_set(err, ERR_CONFIG,
				 "%s = \"%s\" is neither \"%s\" nor \"%s\"",
				 key, text, first, other);
	return 0;
}

static int read_env(struct local *l, const struct settings *set,
		    struct error *err)
{
	if (settings_list(set, group, "env", &l->env, &l->nenv, err) < 0)
		return -1;
	for (size_t i = 0; i < l->nenv; i++)
		if (!strchr(l->env[i], '=') || l->env[i][0] == '=')
			return error_set(err, ERR_CONFIG,
					 "env = \"%s\" is not NAME=value",
					 l->env[i]);
	return 0;
}

int local_settings_read(struct local *l, const struct settings *set,
			struct error *err)
{
	int64_t processes = 0;

	if (read_choice(set, "workspace", "private", "bind", &l->bind, err) <
		    0 ||
	    read_choice(set, "network", "none", "full", &l->network, err) < 0 ||
	    read_env(l, set, err) < 0 ||
	    settings_int(set, group, "lifetime", &l->lifetime_s, err) < 0 ||
	    settings_int(set, group, "max_processes", &processes, err) < 0 ||
	    read_size(set, "memory", &l->limits.memory, err) < 0 ||
	    read_size(set, "disk", &l->disk, err) < 0 ||
	    read_size(set, "max_file_size", &l->limits.file_size, err) < 0)
		return -1;
	l->limits.processes = processes > 0 ? (uint64_t)processes : 0;
	return 0;
}

void local_describe_limits(const struct sandbox_client *client, struct buf *out)
{
	const struct local *l = client->priv;
	const struct jail_limits *limits = &l->limits;
	const struct jail_limits probe = {
		.memory = limits->memory ? limits->memory : 1 << 30,
		.processes = limits->processes,
	};
	struct cgroup c = { 0 };

	cgroup_open(&c, &probe);
	if (!limits->memory)
		buf_adds(out, "memory: no limit set");
	else if (c.memory)
		buf_adds(out, "memory: binds each process and, by a control "
			      "group, all of the sandbox with its shared "
			      "mappings; /tmp and /dev/shm half of it each");
	else
		buf_adds(out,
			 "memory: binds each process; /tmp and /dev/shm half "
			 "of it each; no control group can be made here, so "
			 "not shared mappings and not all processes together");
	if (!limits->processes)
		buf_adds(out, "; max_processes: no limit set");
	else if (geteuid() != 0 || c.pids)
		buf_adds(out, "; max_processes: binds");
	else
		buf_adds(out, "; max_processes: does not bind for root, no "
			      "control group can be made here");
	buf_adds(out, limits->file_size ? "; max_file_size: binds"
					: "; max_file_size: no limit set");
	buf_adds(out, l->disk ? "; disk: watched" : "; disk: no limit set");
	cgroup_release(&c);
}
