/* ssh.c - directories on a host that ssh reaches. */
/* SPDX-License-Identifier: MIT */
#include "providers/ssh/ssh.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/proc.h"
#include "config/settings_env.h"
#include "providers/kit/lease.h"

enum {
	LIFETIME_S = 24 * 3600,
	LOGIN_MS = 60000,
	COMMAND_MAX = 1 << 20,
};

const struct setting ssh_settings[] = {
	{ .key = "host",
	  .example = "\"me@box.example.org\"",
	  .type = SETTING_STRING,
	  .help = "the host, as for ssh: user@host, or a Host of "
		  "~/.ssh/config" },
	{ .key = "workdir",
	  .example = "\"/srv/work\"",
	  .type = SETTING_STRING,
	  .help = "existing directory there to work in, never removed "
		  "(a new one for each sandbox, ~/dcode/LABEL)" },
	{ .key = "isolate",
	  .example = "\"podman\"",
	  .type = SETTING_STRING,
	  .help = "bwrap or podman: run each command in one; the host must "
		  "have it (commands are not isolated)" },
	{ .key = "image",
	  .type = SETTING_STRING,
	  .fallback = "\"docker.io/library/debian:stable-slim\"",
	  .help = "image for isolate = \"podman\"" },
	{ .key = "config",
	  .example = "\"/home/me/.ssh/dcode\"",
	  .type = SETTING_STRING,
	  .help = "ssh configuration to use instead of ~/.ssh/config" },
	{ 0 },
};

static int check_isolate(const struct ssh_client *c, struct error *err)
{
	if (!c->isolate || !strcmp(c->isolate, "bwrap") ||
	    !strcmp(c->isolate, "podman"))
		return 0;
	return error_set(err, ERR_CONFIG,
			 "isolate = \"%.40s\" must be bwrap or podman",
			 c->isolate);
}

static int read_settings(struct ssh_client *c, const struct settings *set,
			 struct error *err)
{
	if (settings_string(set, "ssh", "host", &c->host, err) < 0 ||
	    settings_directory(set, "ssh", "workdir", &c->workdir, err) < 0 ||
	    settings_string(set, "ssh", "isolate", &c->isolate, err) < 0 ||
	    settings_string(set, "ssh", "image", &c->image, err) < 0 ||
	    settings_string(set, "ssh", "config", &c->config, err) < 0 ||
	    check_isolate(c, err) < 0)
		return -1;
	return c->host ? ssh_check_host(c->host, err) : 0;
}

static enum sandbox_isolation isolation_of(const struct ssh_client *c)
{
	if (!c->isolate)
		return ISOLATION_NONE;
	return strcmp(c->isolate, "bwrap") ? ISOLATION_CONTAINER
					   : ISOLATION_NAMESPACES;
}

static void ssh_close(struct sandbox_client *client)
{
	struct ssh_client *c = client->priv;

	if (!c)
		return;
	while (c->hosts) {
		struct ssh_host *h = c->hosts;

		c->hosts = h->next;
		held_free(h->held);
		free(h->name);
		free(h);
	}
	pthread_mutex_destroy(&c->lock);
	free(c->program);
	free(c);
	client->priv = NULL;
}

static int ssh_open(struct sandbox_client *client, const struct settings *set,
		    struct error *err)
{
	struct ssh_client *c = xcalloc(1, sizeof(*c));

	c->settings = set;
	c->start_ms = sandbox_start_ms(client, LOGIN_MS);
	pthread_mutex_init(&c->lock, NULL);
	client->priv = c;
	if (read_settings(c, set, err) < 0)
		return -1;
	c->program = proc_find("ssh", settings_exported(set, "PATH"));
	if (!c->program) {
		error_set(err, ERR_CONFIG, "ssh is not installed");
		return error_hint(err, "Run apt-get install openssh-client.");
	}
	client->endpoint = c->host;
	client->isolation = isolation_of(c);
	/* Who isolates commands needs no approval for each. */
	client->lacks |=
		c->isolate ? SANDBOX_SHARED | SANDBOX_LEAVES : SANDBOX_NETWORK;
	return 0;
}

static const struct sandbox_ops ops = {
	.open = ssh_open,
	.close = ssh_close,
	.create = ssh_create,
	.attach = ssh_attach,
	.list = ssh_list,
	.info = ssh_info,
	.execute = ssh_execute,
	.stop = ssh_stop,
	.remove = ssh_remove,
	.discard = ssh_discard,
};

const struct sandbox_provider ssh_provider = {
	.name = "ssh",
	.summary = "directories on your own host, over ssh",
	.flags = SANDBOX_ATTACH | SANDBOX_LIVE | SANDBOX_NETWORK |
		 SANDBOX_LIST | SANDBOX_STAYS | SANDBOX_SHARED |
		 SANDBOX_UNNAMED,
	.url_key = "host",
	.max_command = COMMAND_MAX,
	.isolation = ISOLATION_NONE,
	.lifetime_s = LIFETIME_S,
	.settings = ssh_settings,
	.ops = &ops,
	.price = rates_nothing,
	.topic = "ssh",
};
