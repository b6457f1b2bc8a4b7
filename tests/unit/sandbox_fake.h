/* sandbox_fake.h - a provider whose commands are a test's function. */
/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_SANDBOX_FAKE_H
#define TESTS_UNIT_SANDBOX_FAKE_H

#include "base/mem.h"
#include "sandbox/sandbox.h"
#include "unit.h"

/* The test's. */
static int fake_execute(struct sandbox *sb, const struct exec_request *req,
			struct exec_result *res, const struct stop *stop,
			struct error *err);

static int fake_attach(struct sandbox *sb, const char *id,
		       const struct stop *stop, struct error *err)
{
	(void)stop;
	(void)err;
	sb->id = xstrdup(id);
	return 0;
}

static const struct sandbox_ops fake_ops = { .attach = fake_attach,
					     .execute = fake_execute };
static const struct sandbox_provider fake = { .name = "fake",
					      .workdir = "/work",
					      .flags = SANDBOX_ATTACH,
					      .ops = &fake_ops };
static void fake_open(struct sandbox *sb, struct sandbox_client *client)
{
	struct stop ever = stop_on(NULL);
	struct error err = { 0 };

	*client = (struct sandbox_client){ .provider = &fake };
	assert_int_equal(sandbox_attach(sb, client, "x", &ever, &err), 0);
}

#endif
