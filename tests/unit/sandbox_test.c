/* sandbox_test.c - what the wrappers check, name and supply. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/registry.h"
#include "sandbox/sandbox.h"
#include "unit.h"

struct calls {
	int executes;
	int discards;
	enum err fails; /* what execute and create report */
	const char *id;
};

static int fake_create(struct sandbox *sb, const struct sandbox_spec *spec,
		       const struct stop *stop, struct error *err)
{
	struct calls *c = sb->client->priv;

	(void)stop;
	sb->id = xstrdup(c->id);
	sb->priv = c;
	if (c->fails)
		return error_set(err, c->fails, "no %s", spec->label);
	return 0;
}

static int fake_execute(struct sandbox *sb, const struct exec_request *req,
			struct exec_result *res, const struct stop *stop,
			struct error *err)
{
	struct calls *c = sb->client->priv;

	(void)req;
	(void)stop;
	c->executes++;
	res->exit_code = 7;
	return c->fails ? error_set(err, c->fails, "broken") : 0;
}

static void fake_discard(struct sandbox *sb)
{
	((struct calls *)sb->priv)->discards++;
}

static const struct sandbox_ops fake_ops = { .create = fake_create,
					     .execute = fake_execute,
					     .discard = fake_discard };
static const struct sandbox_provider fake = {
	.name = "fake", .workdir = "/work", .max_command = 10, .ops = &fake_ops
};
static const struct sandbox_provider second = { .name = "second",
						.ops = &fake_ops };
const struct sandbox_provider *const sandbox_providers[] = { &fake, &second,
							     NULL };

static void finds(void **arg)
{
	(void)arg;
	assert_ptr_equal(sandbox_provider_find("second"), &second);
	assert_null(sandbox_provider_find("third"));
	assert_null(sandbox_provider_find(NULL));
}

static int execute(struct sandbox *sb, struct exec_request req,
		   struct error *err)
{
	struct stop stop = stop_on(NULL);
	struct exec_result res;

	*err = (struct error){ 0 };
	return sandbox_execute(sb, &req, &res, &stop, err);
}

static void executes(void **arg)
{
	struct calls c = { 0 };
	struct sandbox_client client = { .provider = &fake, .priv = &c };
	struct sandbox sb = { .client = &client };
	struct error err;

	(void)arg;
	assert_int_equal(
		execute(&sb,
			(struct exec_request){ .command = STR("0123456789") },
			&err),
		0);
	assert_int_equal(
		execute(&sb,
			(struct exec_request){ .command = STR("0123456789a") },
			&err),
		-1);
	assert_int_equal(err.code, ERR_LIMIT);
	assert_int_equal(
		execute(&sb, (struct exec_request){ .command = STR("a\0b") },
			&err),
		-1);
	assert_int_equal(err.code, ERR_USAGE);
	assert_int_equal(execute(&sb,
				 (struct exec_request){ .command = STR("cat"),
							.input = STR("x") },
				 &err),
			 -1);
	assert_string_equal(err.message, "fake cannot pass input to a "
					 "command");
	assert_int_equal(c.executes, 1);
	c.fails = ERR_NETWORK;
	assert_int_equal(execute(&sb, (struct exec_request){ 0 }, &err), -1);
	assert_string_equal(err.message, "fake: broken");
	c.fails = ERR_CANCELLED;
	assert_int_equal(execute(&sb, (struct exec_request){ 0 }, &err), -1);
	assert_string_equal(err.message, "broken");
}

static void creates(void **arg)
{
	struct calls c = { .id = "one" };
	struct sandbox_client client = { .provider = &fake, .priv = &c };
	struct sandbox_spec spec = { .label = "dcode-x" };
	const struct network none = { .mode = NETWORK_NONE };
	struct stop stop = stop_on(NULL);
	struct error err = { 0 };
	struct sandbox sb;

	(void)arg;
	assert_int_equal(sandbox_create(&sb, &client, &spec, &stop, &err), 0);
	assert_string_equal(sb.workdir, "/work");
	sandbox_release(&sb);
	assert_int_equal(c.discards, 1);
	spec.snapshot = "base";
	assert_int_equal(sandbox_create(&sb, &client, &spec, &stop, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	spec.snapshot = NULL;
	spec.network = &none;
	assert_int_equal(sandbox_create(&sb, &client, &spec, &stop, &err), -1);
	spec.network = NULL;
	/* What failed half way is still named, so that it can be removed. */
	c.fails = ERR_REMOTE;
	assert_int_equal(sandbox_create(&sb, &client, &spec, &stop, &err), -1);
	assert_string_equal(err.message, "fake: no dcode-x");
	assert_string_equal(sb.id, "one");
	sandbox_release(&sb);
	c.fails = ERR_NONE;
	c.id = "";
	assert_int_equal(sandbox_create(&sb, &client, &spec, &stop, &err), -1);
	assert_int_equal(err.code, ERR_PROTOCOL);
	sandbox_release(&sb);
	assert_int_equal(sandbox_attach(&sb, &client, "x", &stop, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds),
		cmocka_unit_test(executes),
		cmocka_unit_test(creates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
