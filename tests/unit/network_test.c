/* network_test.c - lists of hosts: one spelling each, compared as sets. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "sandbox/network/network.h"
#include "unit.h"

enum { MOST = 8 };

/* Parses "a b c". Returns what network_parse() does. */
static int parse(struct network *n, const char *text, struct error *err)
{
	char *words[MOST] = { 0 };
	const char *list[MOST];
	struct str rest = str_of(text);
	struct str word;
	size_t count = 0;
	int rc;

	while (str_split(&rest, ' ', &word)) {
		words[count] = strndup(word.ptr, word.len);
		list[count] = words[count];
		count++;
	}
	rc = network_parse(n, list, count, err);
	while (count)
		free(words[--count]);
	return rc;
}

static struct network list_of(const char *text)
{
	struct network n = { 0 };
	struct error err = { 0 };

	if (parse(&n, text, &err) < 0)
		fail_msg("%s: %s", text, err.message);
	return n;
}

static void test_a_list_prints_as_it_is_written(void **state)
{
	static const char *const same[] = {
		"none",
		"full",
		"crates.io",
		"*.npmjs.org",
		"github.com:22",
		"10.0.0.0/8",
		"1.2.3.4",
		"1.2.3.4:5432",
		"2001:db8::/32",
		"[2001:db8::1]:80",
		"xn--bcher-kva.example",
		"full, !ads.example",
		"a.example, *.b.example:443, !c.b.example",
		"_acme.a-b.example",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
		struct buf out = BUF_INIT(4096);
		struct buf words = BUF_INIT(4096);
		struct network n;

		for (const char *c = same[i]; *c; c++)
			if (*c != ',')
				buf_addc(&words, *c);
		n = list_of(words.ptr);
		network_print(&n, &out);
		assert_string_equal(out.ptr, same[i]);
		network_release(&n);
		buf_release(&out);
		buf_release(&words);
	}
}

static void test_any_other_spelling_is_refused(void **state)
{
	static const struct {
		const char *text;
		const char *why;
	} bad[] = {
		{ "https://crates.io/simple", "only its host" },
		{ "crates.io/simple", "not an IPv4" },
		{ "b\xc3\xbc"
		  "cher.example",
		  "xn--" },
		{ "Crates.io", "lower case" },
		{ "crates.io.", "dot at its end" },
		{ "crates..io", "empty" },
		{ ".crates.io", "empty" },
		{ "-a.example", "begins or ends" },
		{ "*", "\"full\"" },
		{ "*.", "at least one dot" },
		{ "a.*.example", "'*' may only begin it" },
		{ "*a.example", "'*' may only begin it" },
		{ "*.*.example", "'*' may only begin it" },
		{ "crates", "at least one dot" },
		{ "fulll", "at least one dot" },
		{ "*.com", "at least one dot" },
		{ "a.example:0", "port from 1" },
		{ "a.example:70000", "port from 1" },
		{ "a.example:", "port from 1" },
		{ "a.example:080", "port from 1" },
		{ "a.example:8x", "port from 1" },
		{ "a.example:-1", "port from 1" },
		{ "user@a.example", "no host name has" },
		{ "a.example%00", "no host name has" },
		{ "a.example#b", "no host name has" },
		{ "a.example\t", "control character" },
		{ "127.1", "last part is a number" },
		{ "2130706433.", "dot at its end" },
		{ "0x7f.0x1", "last part is a number" },
		{ "1.2.3.04", "last part is a number" },
		{ "1.2.3.256", "last part is a number" },
		{ "10.0.0.1/8", "bits after the prefix" },
		{ "10.0.0.0/33", "length of the prefix" },
		{ "10.0.0.0/08", "length of the prefix" },
		{ "10.0.0.0/", "length of the prefix" },
		{ "10.0.0.0/8:80", "cannot have a port" },
		{ "2001:db8::g", "not an IPv4 or IPv6" },
		{ "[1.2.3.4]:80", "stands in brackets" },
		{ "[2001:db8::1]80", "port from 1" },
		{ "preset:cobol", "unknown preset" },
		{ "!preset:python", "cannot be denied" },
		{ "!!a.example", "no host name has" },
		{ "none a.example", "cannot be combined" },
		{ "full a.example", "denied ones" },
		{ "!a.example", "allows nothing" },
	};
	char name[300];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct network n = { 0 };
		struct error err = { 0 };

		if (parse(&n, bad[i].text, &err) == 0)
			fail_msg("%s is accepted", bad[i].text);
		if (!strstr(err.message, bad[i].why))
			fail_msg("%s: %s", bad[i].text, err.message);
		assert_int_equal(n.mode, NETWORK_DEFAULT);
	}
	memset(name, 'a', sizeof(name));
	memcpy(name + 64, ".example", 9);
	assert_int_equal(
		parse(&(struct network){ 0 }, name, &(struct error){ 0 }), -1);
}

static void test_an_empty_list_is_none_and_not_full(void **state)
{
	struct network n = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(network_parse(&n, NULL, 0, &err), 0);
	assert_int_equal(n.mode, NETWORK_NONE);
}

static void test_every_preset_is_a_list(void **state)
{
	(void)state;
	for (const struct network_preset *p = network_presets; p->name; p++) {
		char text[80];
		struct network n;
		size_t hosts = 0;

		snprintf(text, sizeof(text), "preset:%s", p->name);
		n = list_of(text);
		while (p->hosts[hosts])
			hosts++;
		assert_int_equal(n.n, hosts);
		assert_string_equal(n.rules[0].preset, text);
		network_release(&n);
	}
}

/* What the list says about a host. */
static bool allows(const char *list, const char *host)
{
	struct network n = list_of(list);
	struct network h = list_of(host);
	const struct network_rule *rule;
	bool yes = network_allows(&n, &h.rules[0], &rule);

	network_release(&n);
	network_release(&h);
	return yes;
}

static void test_a_host_is_matched_as_a_whole(void **state)
{
	(void)state;
	assert_true(allows("a.example", "a.example"));
	assert_true(allows("*.a.example", "x.y.a.example"));
	assert_false(allows("*.a.example", "a.example"));
	assert_false(allows("*.a.example", "xa.example"));
	assert_false(allows("a.example", "a.example.evil.example"));
	assert_false(allows("a.example", "b.a.example"));
	assert_true(allows("a.example", "a.example:80"));
	assert_false(allows("a.example", "a.example:22"));
	assert_true(allows("a.example:22", "a.example:22"));
	assert_false(allows("a.example:22", "a.example:443"));
	assert_true(allows("10.0.0.0/8", "10.1.2.3:5432"));
	assert_false(allows("10.0.0.0/9", "10.128.0.1"));
	assert_false(allows("full !*.a.example", "x.a.example"));
	assert_true(allows("full !*.a.example", "a.example"));
	assert_false(allows("*.a.example !x.a.example", "x.a.example"));
	assert_true(allows("full", "1.2.3.4"));
	assert_false(allows("none", "a.example"));
}

static bool is_within(const char *list, const char *ceiling)
{
	struct network n = list_of(list);
	struct network c = list_of(ceiling);
	const struct network_rule *beyond;
	bool yes = network_within(&n, &c, &beyond);

	network_release(&n);
	network_release(&c);
	return yes;
}

static void test_nothing_may_exceed_a_ceiling(void **state)
{
	(void)state;
	assert_true(is_within("a.example", "a.example b.example"));
	assert_true(is_within("none", "a.example"));
	assert_true(is_within("full", "full"));
	assert_true(is_within("x.a.example *.y.a.example", "*.a.example"));
	assert_true(is_within("a.example:443", "a.example"));
	assert_true(is_within("10.1.0.0/16 10.2.3.4:22", "10.0.0.0/8"));
	assert_true(is_within("full !a.example !b.example", "full !a.example"));
	assert_true(is_within("full !*.a.example", "full !x.a.example"));
	assert_true(is_within("b.example", "full !a.example"));
	assert_false(is_within("full", "a.example"));
	assert_false(is_within("full !a.example", "a.example"));
	assert_false(is_within("full", "none"));
	assert_false(is_within("a.example", "none"));
	assert_false(is_within("c.example", "a.example"));
	assert_false(is_within("*.a.example", "a.example"));
	assert_false(is_within("a.example", "*.a.example"));
	assert_false(is_within("a.example", "a.example:443"));
	assert_false(is_within("a.example:22", "a.example"));
	assert_false(is_within("10.0.0.0/8", "10.0.0.0/9"));
	assert_false(is_within("full", "full !a.example"));
	assert_false(is_within("a.example", "full !a.example"));
	assert_false(is_within("*.b.example", "full !a.b.example"));
	assert_false(is_within("*.a.example", "*.a.example !x.a.example"));
	assert_true(is_within("*.a.example !x.a.example",
			      "*.a.example !x.a.example"));
}

static const char *fault(const char *list, struct network_limits limits)
{
	static struct error err;
	struct network n = list_of(list);
	int rc;

	err = (struct error){ 0 };
	rc = network_check(&n, &limits, "acme", &err);
	network_release(&n);
	return rc < 0 ? err.message : "";
}

static void test_what_cannot_be_enforced_is_named(void **state)
{
	const struct network_limits names = { 0 };
	const struct network_limits all = {
		.can = NETWORK_CAN_PORTS | NETWORK_CAN_ADDRESSES |
		       NETWORK_CAN_NETWORKS | NETWORK_CAN_IPV6 |
		       NETWORK_CAN_DENY_NAMES | NETWORK_CAN_DENY_ADDRESSES |
		       NETWORK_CAN_MIX
	};
	struct network_limits some = all;
	struct network n = list_of("a.example");
	struct error err = { 0 };

	(void)state;
	assert_string_equal(fault("a.example *.b.example", names), "");
	assert_non_null(strstr(fault("a.example:22", names), "a.example:22"));
	assert_non_null(strstr(fault("1.2.3.4", names), "1.2.3.4"));
	assert_non_null(strstr(fault("full !a.example", names), "!a.example"));
	assert_string_equal(
		fault("a.example:22 !b.example 10.0.0.0/8 ::/0", all), "");
	some.can &= ~(unsigned)NETWORK_CAN_MIX;
	assert_non_null(strstr(fault("a.example !b.example", some), "deny"));
	some = names;
	some.can = NETWORK_WILD_HAS_APEX;
	assert_non_null(strstr(fault("*.a.example", some), "*.a.example"));
	assert_string_equal(fault("*.a.example a.example", some), "");
	some.can = NETWORK_TLS_ONLY;
	assert_string_equal(fault("a.example:443 b.example", some), "");
	assert_non_null(strstr(fault("a.example:80", some), "443"));
	some.names = 1;
	assert_non_null(strstr(fault("a.example b.example", some), "at most"));
	some = all;
	some.can |= NETWORK_NAMES_OR_ADDRESSES;
	assert_non_null(strstr(fault("a.example 1.2.3.4", some), "not both"));
	assert_int_equal(network_check(&n, NULL, "acme", &err), -1);
	assert_non_null(strstr(err.message, "cannot filter by host"));
	network_release(&n);
}

static void test_a_host_is_added_to_a_list_only(void **state)
{
	struct network n = list_of("a.example");
	struct network copy = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(network_add(&n, STR("b.example"), &err), 0);
	assert_int_equal(network_add(&n, STR("b.example"), &err), 0);
	network_copy(&copy, &n);
	network_release(&n);
	assert_int_equal(copy.n, 2);
	assert_string_equal(copy.rules[1].host, "b.example");
	network_release(&copy);
	n = list_of("none");
	assert_int_equal(network_add(&n, STR("b.example"), &err), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_list_prints_as_it_is_written),
		cmocka_unit_test(test_any_other_spelling_is_refused),
		cmocka_unit_test(test_an_empty_list_is_none_and_not_full),
		cmocka_unit_test(test_every_preset_is_a_list),
		cmocka_unit_test(test_a_host_is_matched_as_a_whole),
		cmocka_unit_test(test_nothing_may_exceed_a_ceiling),
		cmocka_unit_test(test_what_cannot_be_enforced_is_named),
		cmocka_unit_test(test_a_host_is_added_to_a_list_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
