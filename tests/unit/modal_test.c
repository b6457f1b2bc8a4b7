/* modal_test.c - Modal's ids, tokens, profiles and messages, as bytes. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/str.h"
#include "providers/kit/rest.h"
#include "providers/modal/modal.h"
#include "unit.h"

static void test_generations(void **state)
{
	(void)state;
	assert_int_equal(modal_flags("sb-0A1b2C3d4E5f6G7h8I9jKl"), 0);
	assert_int_equal(modal_flags("sb-01K5FAKESANDBOX0000000001"),
			 MODAL_V2 | MODAL_TOKEN);
	assert_int_equal(modal_flags("sb-0A1b2C3d4E5f6G7h8I9jK"),
			 MODAL_V2 | MODAL_TOKEN);
	assert_int_equal(modal_flags("sb-0A1b2C3d4E5f6G7h8I9jK_"),
			 MODAL_V2 | MODAL_TOKEN);
	assert_true(modal_id_ok("sb-0A1b2C3d4E5f6G7h8I9jKl"));
	assert_false(modal_id_ok("sb-../x"));
	assert_false(modal_id_ok("sb-"));
}

/* {"alg":"HS256"}.{"exp":1795164404}.sig and what is not like it. */
static void test_tokens(void **state)
{
	(void)state;
	assert_int_equal(jwt_expires("eyJhbGciOiJIUzI1NiJ9."
				     "eyJleHAiOjE3OTUxNjQ0MDR9.c2ln"),
			 1795164404);
	assert_int_equal(jwt_expires("eyJhbGciOiJIUzI1NiJ9."
				     "eyJleHAiOi01fQ.c2ln"),
			 0);
	assert_int_equal(jwt_expires("a.b.c"), 0);
	assert_int_equal(jwt_expires("a..c"), 0);
	assert_int_equal(jwt_expires("nothing"), 0);
}

static void test_uuids(void **state)
{
	char a[MODAL_UUID];
	char b[MODAL_UUID];

	(void)state;
	ids_uuid4(a);
	ids_uuid4(b);
	assert_int_equal(strlen(a), 36);
	assert_int_equal(a[14], '4');
	assert_non_null(strchr("89ab", a[19]));
	assert_string_not_equal(a, b);
}

static int64_t wish_for(float seconds, const char *type)
{
	Modal__RPCRetryPolicy policy = MODAL__RPCRETRY_POLICY__INIT;
	Modal__RPCStatus status = MODAL__RPCSTATUS__INIT;
	Modal__Any any = MODAL__ANY__INIT;
	Modal__Any *details[] = { &any };
	struct buf inner = BUF_INIT(100);
	struct buf outer = BUF_INIT(200);
	int64_t wish;

	policy.retry_after_secs = seconds;
	protobuf_pack(&policy.base, &inner);
	any.type_url = (char *)type;
	any.value.data = (uint8_t *)inner.ptr;
	any.value.len = inner.len;
	status.details = details;
	status.n_details = 1;
	protobuf_pack(&status.base, &outer);
	wish = modal_retry_wish(buf_str(&outer));
	buf_release(&inner);
	buf_release(&outer);
	return wish;
}

static void test_the_pace(void **state)
{
	static const char ours[] = "type.modal.com/modal.client.RPCRetryPolicy";

	(void)state;
	assert_int_equal(wish_for(0.25F, ours), 250);
	assert_int_equal(wish_for(0, ours), 100);
	assert_int_equal(wish_for(-5, ours), 100);
	assert_int_equal(wish_for(1e30F, ours), 3600000);
	assert_int_equal(wish_for(__builtin_nanf(""), ours), 100);
	assert_int_equal(wish_for(1, "type.modal.com/another"), -1);
	assert_int_equal(modal_retry_wish(STR("\xff\xff")), -1);
	assert_int_equal(modal_retry_wish(STR("")), -1);
}

/* As in the recording of the Python SDK. */
static void test_bytes(void **state)
{
	Modal__TaskExecStdioReadRequest read =
		MODAL__TASK_EXEC_STDIO_READ_REQUEST__INIT;
	Modal__SandboxWaitRequest wait = MODAL__SANDBOX_WAIT_REQUEST__INIT;
	struct buf out = BUF_INIT(100);

	(void)state;
	read.task_id = (char *)"ta";
	read.exec_id = (char *)"x";
	read.file_descriptor = 1;
	protobuf_pack(&read.base, &out);
	assert_int_equal(out.len, 9);
	assert_memory_equal(out.ptr, "\x0a\x02ta\x12\x01x\x20\x01", 9);
	buf_clear(&out);
	wait.sandbox_id = (char *)"sb";
	protobuf_pack(&wait.base, &out); /* no timeout: nothing on the wire */
	assert_int_equal(out.len, 4);
	buf_release(&out);
}

/* The same as of the struct, its members in whatever order. */
static void test_an_object_becomes_the_bytes_of_its_message(void **state)
{
	cJSON *object = json_parse(
		STR("{\"tags\":[{\"tag_value\":\"v\",\"tag_name\":\"n\"}],"
		    "\"definition\":{\"workdir\":\"\",\"timeout_secs\":300,"
		    "\"entrypoint_args\":[\"a\",\"b\"],\"image_id\":\"\","
		    "\"open_ports\":{}},\"app_id\":\"ap\"}"));
	ProtobufCMessage *message = protobuf_build(
		&modal__sandbox_create_request__descriptor, object);
	struct buf out = BUF_INIT(100);
	static const char bytes[] = "\x0a\x02"
				    "ap\x12\x0e"
				    "\x0a\x01"
				    "a\x0a\x01"
				    "b\x38\xac\x02\x42\x00\xa2\x01\x00"
				    "\x22\x06\x0a\x01n\x12\x01v";

	(void)state;
	protobuf_pack(message, &out);
	assert_int_equal(out.len, sizeof(bytes) - 1);
	assert_memory_equal(out.ptr, bytes, out.len);
	buf_release(&out);
	protobuf_free(message);
	cJSON_Delete(object);
}

/* Two bytes each on the wire, far more in memory. */
static void test_too_many_messages(void **state)
{
	const ProtobufCMessageDescriptor *type =
		&modal__sandbox_list_response__descriptor;
	size_t len = 2 << 20;
	char *bytes = xcalloc(1, len);
	ProtobufCMessage *message;

	(void)state;
	for (size_t i = 0; i < len; i += 2)
		bytes[i] = 0x0A;
	assert_null(protobuf_unpack(type, (struct str){ bytes, len }));
	message = protobuf_unpack(type, (struct str){ bytes, 2000 });
	assert_non_null(message);
	assert_int_equal(((Modal__SandboxListResponse *)message)->n_sandboxes,
			 1000);
	protobuf_free(message);
	free(bytes);
}

/* The name of the profile's token, or the error. */
static const char *choose(const char *text, const char *name, char room[600])
{
	const struct toml_value *profile = NULL;
	struct toml_value root = { 0 };
	struct error err = { 0 };

	assert_int_equal(toml_parse(&root, str_of(text), "x", &err), 0);
	if (modal_profile(&root, name, &profile, &err) < 0)
		snprintf(room, 600, "%s", err.message);
	else
		snprintf(room, 600, "%s",
			 profile ? toml_get(profile, "t")->text : "none");
	toml_release(&root);
	return room;
}

static void test_profiles(void **state)
{
	static const char two[] = "[a]\nt = \"A\"\n[b]\nt = \"B\"\n";
	static const char active[] =
		"[a]\nt = \"A\"\n[b]\nt = \"B\"\nactive = true\n";
	char room[600];

	(void)state;
	assert_string_equal(choose("", NULL, room), "none");
	assert_string_equal(choose(two, "b", room), "B");
	assert_string_equal(choose(two, "c", room), "unknown profile 'c'");
	assert_string_equal(choose(two, NULL, room), "no profile is active");
	assert_string_equal(choose(active, NULL, room), "B");
	assert_string_equal(choose(active, "a", room), "A");
	assert_string_equal(
		choose("[default]\nt = \"D\"\n[b]\nt = \"B\"\n", NULL, room),
		"D");
	assert_string_equal(
		choose("[a]\nactive = true\n[b]\nactive = true\n", NULL, room),
		"more than one profile is active");
	assert_string_equal(choose("t = \"x\"\n", NULL, room),
			    "line 1: not a profile: 't'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_generations),
		cmocka_unit_test(test_tokens),
		cmocka_unit_test(test_uuids),
		cmocka_unit_test(test_the_pace),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(
			test_an_object_becomes_the_bytes_of_its_message),
		cmocka_unit_test(test_too_many_messages),
		cmocka_unit_test(test_profiles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
