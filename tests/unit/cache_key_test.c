/* cache_key_test.c - the key by which OpenAI finds a conversation's cache. */
/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/ids.h"
#include "base/json.h"
#include "base/str.h"
#include "model/wire.h"

/* The head of a request, as text. */
static void write_head(struct buf *out, const char *name, const char *key)
{
	struct model_choice choice = {
		.provider = "openai",
		.model = "m",
		.base_url = "https://api.openai.com/v1",
	};
	struct model_brief brief = { .system = "s", .cache_key = key };
	cJSON *params = json_parse(STR("{}"));
	struct wire_head head = { &choice, params, &brief };

	wire_find(name)->head(&head, out);
	cJSON_Delete(params);
}

static void test_the_key_is_the_conversations(void **state)
{
	static const char *const names[] = { "openai-chat",
					     "openai-responses" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct buf own = BUF_INIT(1 << 12);
		struct buf random = BUF_INIT(1 << 12);

		write_head(&own, names[i], "thread-1");
		write_head(&random, names[i], NULL);
		assert_non_null(
			strstr(own.ptr, "\"prompt_cache_key\":\"thread-1\""));
		assert_non_null(strstr(random.ptr, "\"prompt_cache_key\":"));
		assert_null(strstr(random.ptr, "thread-1"));
		buf_release(&own);
		buf_release(&random);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_key_is_the_conversations),
	};

	ids_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
