/* sigv4_test.c - AWS's published vectors, and a request of botocore's. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "aws/sigv4.h"
#include "base/ids.h"
#include "base/mem.h"
#include "base/str.h"
#include "unit.h"

/* The vectors of awslabs/aws-c-auth, tests/aws-signing-test-suite/v4, read
 * 2026-11: request, and the signature of its header form. */
#define TOKEN                                                                  \
	"AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWL" \
	"WsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/"                \
	"qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0"  \
	"wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPP"  \
	"kUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQw"  \
	"j2ICCR/oLxBA=="
#define OTHER "6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267"

static const struct vector {
	const char *name;
	const char *method; /* NULL: GET */
	const char *target;
	const char *headers[6]; /* besides Host */
	const char *body;
	const char *token;
	bool raw;    /* the path is not normalized */
	bool hashed; /* X-Amz-Content-Sha256 is signed as well */
	const char *signature;
} vectors[] = {
	{ .name = "get-header-key-duplicate",
	  .target = "/",
	  .headers = { "My-Header1:value2", "My-Header1:value2",
		       "My-Header1:value1" },
	  .signature = "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f8582595"
		       "31a5138ea" },
	{ .name = "get-header-value-multiline",
	  .target = "/",
	  .headers = { "My-Header1:value1\n  value2\n     value3" },
	  .signature = "cfd34249e4b1c8d6b91ef74165d41a32e5fab3306300901bb65a51a"
		       "73575eefd" },
	{ .name = "get-header-value-order",
	  .target = "/",
	  .headers = { "My-Header1:value4", "My-Header1:value1",
		       "My-Header1:value3", "My-Header1:value2" },
	  .signature = "08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f8"
		       "30c755c01" },
	{ .name = "get-header-value-trim",
	  .target = "/",
	  .headers = { "My-Header1: value1", "My-Header2: \"a   b   c\"" },
	  .signature = "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359"
		       "757a9c736" },
	{ .name = "get-relative-normalized",
	  .target = "/example/..",
	  .signature = "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1"
		       "d763fbf31" },
	{ .name = "get-relative-relative-normalized",
	  .target = "/example1/example2/../..",
	  .signature = "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1"
		       "d763fbf31" },
	{ .name = "get-relative-relative-unnormalized",
	  .target = "/example1/example2/../..",
	  .raw = true,
	  .signature = "dc33e0856fd4baca4d7aa2146c38958283844764f38c74252a333df"
		       "5e613003b" },
	{ .name = "get-relative-unnormalized",
	  .target = "/example/..",
	  .raw = true,
	  .signature = "eca7ead57bb5aa5c8e28007acd4ff04e1ff9a0ff3b237ec1554a184"
		       "887ff9282" },
	{ .name = "get-slash-dot-slash-normalized",
	  .target = "/./",
	  .signature = "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1"
		       "d763fbf31" },
	{ .name = "get-slash-dot-slash-unnormalized",
	  .target = "/./",
	  .raw = true,
	  .signature = "68714168e6557f8f2de0ef956fc24dc2593a4bd2961f8df51898d8a"
		       "134695145" },
	{ .name = "get-slash-normalized",
	  .target = "//",
	  .signature = "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1"
		       "d763fbf31" },
	{ .name = "get-slash-pointless-dot-normalized",
	  .target = "/./example",
	  .signature = "ef75d96142cf21edca26f06005da7988e4f8dc83a165a80865db708"
		       "9db637ec5" },
	{ .name = "get-slash-pointless-dot-unnormalized",
	  .target = "/./example",
	  .raw = true,
	  .signature = "beb03f223f7deae4146464f06e29eebbee9c8afbe15c290cf07aa8b"
		       "119e14cff" },
	{ .name = "get-slash-unnormalized",
	  .target = "//",
	  .raw = true,
	  .signature = "c88bcd3d312d75078c0cd961d6deae3f4c754924b01669efcfcb439"
		       "fd5e5b76e" },
	{ .name = "get-slashes-normalized",
	  .target = "//example//",
	  .signature = "9a624bd73a37c9a373b5312afbebe7a714a789de108f0bdfe846570"
		       "885f57e84" },
	{ .name = "get-slashes-unnormalized",
	  .target = "//example//",
	  .raw = true,
	  .signature = "87cca117541a147f6df867677d98a7d80dff226d2bfca9e4ffa8996"
		       "65623c7e5" },
	{ .name = "get-space-normalized",
	  .target = "/example space/",
	  .signature = "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39dd"
		       "ec1366741" },
	{ .name = "get-space-unnormalized",
	  .target = "/example space/",
	  .raw = true,
	  .signature = "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39dd"
		       "ec1366741" },
	{ .name = "get-unreserved",
	  .target = "/-._~"
		    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuv"
		    "wxyz",
	  .signature = "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a6"
		       "5bbf5f24f" },
	{ .name = "get-utf8",
	  .target = "/\341\210\264",
	  .signature = "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03"
		       "141be5d85" },
	{ .name = "get-vanilla",
	  .target = "/",
	  .signature = "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1"
		       "d763fbf31" },
	{ .name = "get-vanilla-empty-query-key",
	  .target = "/?Param1=value1",
	  .signature = "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec7"
		       "2011b9aeb" },
	{ .name = "get-vanilla-query",
	  .target = "/",
	  .signature = "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1"
		       "d763fbf31" },
	{ .name = "get-vanilla-query-order-encoded",
	  .target = "/?Param-3=Value3&Param=Value2&%E1%88%B4=Value1",
	  .signature = "371d3713e185cc334048618a97f809c9ffe339c62934c032af5a0e5"
		       "95648fcac" },
	{ .name = "get-vanilla-query-order-key-case",
	  .target = "/?Param2=value2&Param1=value1",
	  .signature = "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec"
		       "94cdf2500" },
	{ .name = "get-vanilla-query-unreserved",
	  .target = "/?-._~"
		    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuv"
		    "wxyz=-._~"
		    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuv"
		    "wxyz",
	  .signature = "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb"
		       "143a40197" },
	{ .name = "get-vanilla-utf8-query",
	  .target = "/?\341\210\264=bar",
	  .signature = "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c90"
		       "27818dd04" },
	{ .name = "get-vanilla-with-session-token",
	  .target = "/",
	  .token = OTHER,
	  .signature = "07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66d"
		       "d9f74e7f8" },
	{ .name = "post-header-key-case",
	  .target = "/",
	  .method = "POST",
	  .signature = "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e9"
		       "2efbe5d6b" },
	{ .name = "post-header-key-sort",
	  .target = "/",
	  .method = "POST",
	  .headers = { "My-Header1:value1" },
	  .signature = "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916"
		       "fdf18852c" },
	{ .name = "post-header-value-case",
	  .target = "/",
	  .method = "POST",
	  .headers = { "My-Header1:VALUE1" },
	  .signature = "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa"
		       "58b974b7d" },
	{ .name = "post-sts-header-after",
	  .target = "/",
	  .method = "POST",
	  .signature = "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e9"
		       "2efbe5d6b" },
	{ .name = "post-sts-header-before",
	  .target = "/",
	  .method = "POST",
	  .token = TOKEN,
	  .signature = "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a"
		       "82be05ead" },
	{ .name = "post-vanilla",
	  .target = "/",
	  .method = "POST",
	  .signature = "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e9"
		       "2efbe5d6b" },
	{ .name = "post-vanilla-empty-query-value",
	  .target = "/?Param1=value1",
	  .method = "POST",
	  .signature = "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d"
		       "138af7f11" },
	{ .name = "post-vanilla-query",
	  .target = "/?Param1=value1",
	  .method = "POST",
	  .signature = "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d"
		       "138af7f11" },
	{ .name = "post-x-www-form-urlencoded",
	  .target = "/",
	  .method = "POST",
	  .headers = { "Content-Type:application/x-www-form-urlencoded",
		       "Content-Length:13" },
	  .body = "Param1=value1",
	  .hashed = true,
	  .signature = "d3875051da38690788ef43de4db0d8f280229d82040bfac253562e5"
		       "6c3f20e0b" },
	{ .name = "post-x-www-form-urlencoded-parameters",
	  .target = "/",
	  .method = "POST",
	  .headers = { "Content-Type:application/x-www-form-urlencoded; "
		       "charset=utf-8",
		       "Content-Length:13" },
	  .body = "Param1=value1",
	  .hashed = true,
	  .signature = "328d1b9eaadca9f5818ef05e8392801e091653bafec24fcab71e734"
		       "4e7f51422" },
};

static const struct sigv4_key key = {
	"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
};

static void check(const struct vector *v)
{
	char *token =
		xasprintf("X-Amz-Security-Token:%s", v->token ? v->token : "");
	const char *headers[12] = { "Host:example.amazonaws.com",
				    "X-Amz-Date:20150830T123600Z" };
	struct sigv4_request r = { .method = v->method ? v->method : "GET",
				   .target = str_of(v->target),
				   .headers = headers,
				   .body = str_of(v->body),
				   .region = "us-east-1",
				   .service = "service",
				   .time = 1440938160,
				   .path = v->raw ? SIGV4_TWICE
						  : SIGV4_NORMAL };
	struct buf out = BUF_INIT(1 << 16);
	size_t n = 2;

	for (size_t i = 0; i < 6 && v->headers[i]; i++)
		headers[n++] = v->headers[i];
	if (v->token)
		headers[n++] = token;
	if (v->hashed)
		headers[n++] = "x-amz-content-sha256:9095672bbd1f56dfc5b65f3e15"
			       "3adc8731a4a654192329106275f4c7b24d0b6e";
	sigv4_authorize(&r, &key, &out);
	if (!str_ends(buf_str(&out), v->signature)) {
		struct buf text = BUF_INIT(1 << 16);
		struct buf names = BUF_INIT(1 << 16);

		sigv4_canonical(&r, &text, &names);
		fail_msg("%s\n%s\n%s", v->name, text.ptr, out.ptr);
	}
	free(token);
	buf_release(&out);
}

static void test_published(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(vectors) / sizeof(*vectors); i++)
		check(&vectors[i]);
}

/* What botocore 1.43.67 was recorded to send (2026-11). */
static void test_botocore(void **state)
{
	static const char *const headers[] = {
		"Content-Type: application/json",
		"Host: 127.0.0.1:50212",
		"X-Amz-Date: 20261120T090856Z",
		"X-Amz-Security-Token: FQoG+fake/token==",
		"x-amzn-code-interpreter-session-id: "
		"01K5FAKESESSION00000000001",
		NULL
	};
	struct sigv4_request r = {
		.method = "POST",
		.target = STR("/code-interpreters/aws.codeinterpreter.v1/tools/"
			      "invoke"),
		.headers = headers,
		.body = STR("{\"name\": \"executeCommand\", \"arguments\": "
			    "{\"command\": \"echo hi\"}}"),
		.region = "us-west-2",
		.service = "bedrock-agentcore",
		.time = 1795165736,
	};
	struct buf out = BUF_INIT(1 << 16);
	char when[SIGV4_TIME];

	(void)state;
	sigv4_time(r.time, when);
	assert_string_equal(when, "20261120T090856Z");
	sigv4_authorize(&r, &key, &out);
	assert_string_equal(
		out.ptr,
		"AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261120/us-west-2/"
		"bedrock-agentcore/aws4_request, SignedHeaders=content-type;"
		"host;x-amz-date;x-amz-security-token;"
		"x-amzn-code-interpreter-session-id, Signature=fcdbd3d94a75292d"
		"a0b75b27d9d0e5d7357066aea84d40877266d67592dcd97f");
	buf_release(&out);
}

/* Paths that are encoded already, odd queries, the signature in a query however
 * it is written, names that begin alike. */
static void test_canonical(void **state)
{
	static const char *const headers[] = { "a-b: 2", "A:  1  x ", "a: 3",
					       NULL };
	struct sigv4_request r = {
		.method = "GET",
		.target = STR("/x/arn%3Aaws?b=%7e+&a-b=1&a=2&a=%2f1&&k&=v&p%"
			      "&X-Amz-Signature=1&X-Amz-Signature"
			      "&X-Amz-Signatur%65=2"),
		.headers = headers,
	};
	struct buf out = BUF_INIT(1 << 16);
	struct buf names = BUF_INIT(1 << 16);

	(void)state;
	sigv4_canonical(&r, &out, &names);
	assert_string_equal(out.ptr, "GET\n/x/arn%253Aaws\n"
				     "=v&a=%2F1&a=2&a-b=1&b=~%2B&k=&p%25=\n"
				     "a:1 x,3\na-b:2\n\na;a-b\n"
				     "e3b0c44298fc1c149afbf4c8996fb924"
				     "27ae41e4649b934ca495991b7852b855");
	buf_release(&out);
	buf_release(&names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_published),
		cmocka_unit_test(test_botocore),
		cmocka_unit_test(test_canonical),
	};

	ids_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
