/* keepalive_test.c - what a sandbox's state is between two commands. */
/* SPDX-License-Identifier: MIT */
#include <stdatomic.h>

#include "base/ids.h"
#include "fake_store.h"
#include "lifecycle/lifecycle.h"
#include "unit.h"

enum { LIFE_S = 3, ENOUGH_MS = 20000 }; /* it is extended each second */

static _Atomic int vendor_state; /* enum sandbox_state */
static _Atomic int told;         /* the same, as the user was told */

static int extend(struct sandbox *sb, int64_t seconds, const struct stop *stop,
		  struct error *err)
{
	(void)sb;
	(void)seconds;
	(void)stop;
	return vendor_state == STATE_RUNNING
		       ? 0
		       : error_set(err, ERR_REMOTE, "it is not running");
}

static int info(struct sandbox_client *client, const char *id,
		const struct info_sink *sink, const struct stop *stop,
		struct error *err)
{
	(void)client;
	(void)stop;
	if (vendor_state == STATE_GONE)
		return error_set(err, ERR_NOT_FOUND, "no sandbox %s", id);
	info_emit(sink, &(struct sandbox_info){
				.id = id,
				.label = "",
				.owner = "",
				.image = "",
				.state = (enum sandbox_state)vendor_state });
	return 0;
}

static void changed(void *arg, enum sandbox_state state)
{
	(void)arg;
	told = (int)state;
}

static void await_told(enum sandbox_state state)
{
	struct stop limit = stop_cleanup(ENOUGH_MS);
	struct error err = { 0 };

	while (told != (int)state)
		assert_int_equal(stop_sleep(&limit, 10, &err), 0);
}

static void a_stopped_one_is_noticed_and_a_gone_one(void **state)
{
	struct sandbox_ops ops = fake_ops;
	struct sandbox_provider provider = fake_provider;
	struct fake_store f;
	struct lifecycle_request request = { .client = &f.client,
					     .lifetime_s = LIFE_S,
					     .ui = { .changed = changed } };
	struct managed_sandbox box;
	struct stop ever = stop_on(NULL);
	struct error err = { 0 };

	(void)state;
	fake_store_open(&f);
	ops.extend = extend;
	ops.info = info;
	provider.ops = &ops;
	f.client.provider = &provider;
	request.store = f.store;
	vendor_state = STATE_RUNNING;
	assert_int_equal(lifecycle_open(&box, &request, &ever, &err), 0);
	vendor_state = STATE_STOPPED;
	await_told(STATE_STOPPED);
	vendor_state = STATE_RUNNING;
	await_told(STATE_RUNNING);
	vendor_state = STATE_GONE;
	await_told(STATE_GONE);
	assert_int_equal(lifecycle_close(&box, &err), 0);
	fake_store_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stopped_one_is_noticed_and_a_gone_one),
	};

	ids_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
