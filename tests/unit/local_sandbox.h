/* local_sandbox.h - one local sandbox in a home of its own, for tests. */
/* SPDX-License-Identifier: MIT */
#ifndef UNIT_LOCAL_SANDBOX_H
#define UNIT_LOCAL_SANDBOX_H

#include "base/path.h"
#include "providers/local/local.h"
#include "settings_fake.h"

static struct settings box_settings;

static const char *box_home(void)
{
	return box_settings.home;
}

static void free_box(struct sandbox *sb)
{
	local_provider.ops->discard(sb);
	free(sb->id);
	free(sb->workdir);
	mounts_release(&sb->mounts);
	*sb = (struct sandbox){ .client = sb->client };
}

static int box_setup(void **state)
{
	static struct sandbox_client client;
	static struct sandbox sb;
	static char home[200];
	struct settings *set = &box_settings;
	struct stop stop = { .deadline = INT64_MAX };
	struct error err = { 0 };
	struct sandbox_spec spec = { .network = &(struct network){ 0 },
				     .label = "dcode-test2345",
				     .owner = "tester" };

	snprintf(home, sizeof(home), "%s/dcode-local.XXXXXX",
		 getenv("DCODE_TEST_TMP") ? getenv("DCODE_TEST_TMP") : "/tmp");
	if (!mkdtemp(home))
		return -1;
	snprintf(set->home, sizeof(set->home), "%s", home);
	snprintf(set->cwd, sizeof(set->cwd), "%s/project", home);
	snprintf(set->dir, sizeof(set->dir), "%s/.deepagents", home);
	if (path_mkdirs(set->dir, 0700, &err) < 0 ||
	    path_mkdirs(set->cwd, 0755, &err) < 0)
		return -1;
	client = (struct sandbox_client){ .provider = &local_provider,
					  .settings = set };
	sb = (struct sandbox){ .client = &client };
	if (local_provider.ops->open(&client, set, &err) < 0 ||
	    local_provider.ops->create(&sb, &spec, &stop, &err) < 0) {
		fprintf(stderr, "%s (%s)\n", err.message, err.hint);
		return -1;
	}
	*state = &sb;
	return 0;
}

static int box_teardown(void **state)
{
	struct sandbox *sb = *state;
	struct stop stop = { .deadline = INT64_MAX };
	struct error err = { 0 };
	int rc = local_provider.ops->remove(sb->client, sb->id, &stop, &err);

	free_box(sb);
	local_provider.ops->close(sb->client);
	return rc < 0 ? rc : path_remove_tree(box_settings.home, &err);
}

#endif
