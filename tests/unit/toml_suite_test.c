/* toml_suite_test.c - the official TOML suite, where it is at hand. */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "config/toml.h"

enum { LARGEST = 4 << 20 };

static const char suite[] = "../shared/toml-test";

static struct buf read_file(const char *path)
{
	struct buf text = BUF_INIT(LARGEST);
	struct error err = { 0 };

	if (path_read(path, &text, &err) < 0)
		fail_msg("%s", err.message);
	return text;
}

static bool same_value(const struct toml_value *v, const cJSON *want);

static bool same_table(const struct toml_value *v, const cJSON *want)
{
	if (v->kind != TOML_TABLE ||
	    v->n_items != (size_t)cJSON_GetArraySize(want))
		return false;
	for (size_t i = 0; i < v->n_items; i++) {
		const struct toml_value *item = &v->items[i];
		const cJSON *other = json_get(want, item->key);

		if (!other || !same_value(item, other))
			return false;
	}
	return true;
}

static bool same_array(const struct toml_value *v, const cJSON *want)
{
	const cJSON *other = want->child;

	if (v->kind != TOML_ARRAY)
		return false;
	for (size_t i = 0; i < v->n_items; i++) {
		if (!other || !same_value(&v->items[i], other))
			return false;
		other = other->next;
	}
	return other == NULL;
}

/* ".600" and ".6" are the same time: zeros at the end of the fraction go. */
static char *plain_date(const char *text)
{
	struct buf out = BUF_INIT(100);
	const char *dot = strchr(text, '.');
	size_t whole = dot ? (size_t)(dot - text) : strlen(text);
	size_t digits = dot ? strspn(dot + 1, "0123456789") : 0;
	const char *rest = dot ? dot + 1 + digits : "";

	buf_add(&out, text, whole);
	while (digits && dot[digits] == '0')
		digits--;
	if (digits)
		buf_add(&out, dot, digits + 1);
	buf_adds(&out, rest);
	return buf_detach(&out);
}

static bool same_date(const char *a, const char *b)
{
	char *left = plain_date(a);
	char *right = plain_date(b);
	bool same = strcmp(left, right) == 0;

	free(left);
	free(right);
	return same;
}

static bool same_float(double a, const char *text)
{
	double b = strtod(text, NULL);

	return isnan(a) ? isnan(b) : a == b && !signbit(a) == !signbit(b);
}

static bool same_scalar(const struct toml_value *v, const char *type,
			const char *text)
{
	static const struct {
		const char *type;
		enum toml_kind kind;
	} kinds[] = {
		{ "string", TOML_STRING },
		{ "integer", TOML_INT },
		{ "float", TOML_FLOAT },
		{ "bool", TOML_BOOL },
		{ "datetime", TOML_DATETIME },
		{ "datetime-local", TOML_LOCAL_DATETIME },
		{ "date-local", TOML_LOCAL_DATE },
		{ "time-local", TOML_LOCAL_TIME },
	};
	int64_t integer = 0;
	size_t k = 0;

	while (k < sizeof(kinds) / sizeof(kinds[0]) &&
	       strcmp(kinds[k].type, type))
		k++;
	if (k == sizeof(kinds) / sizeof(kinds[0]) || kinds[k].kind != v->kind)
		return false;
	switch (v->kind) {
	case TOML_STRING:
		/* cJSON ends a string at its first NUL, so compare up to it. */
		return !strcmp(v->text, text);
	case TOML_INT:
		return str_to_int(str_of(text), &integer) &&
		       integer == v->integer;
	case TOML_FLOAT:
		return same_float(v->real, text);
	case TOML_BOOL:
		return !strcmp(v->integer ? "true" : "false", text);
	default:
		return same_date(v->text, text);
	}
}

static bool same_value(const struct toml_value *v, const cJSON *want)
{
	const cJSON *type = json_get(want, "type");

	if (v->line < 1 || v->column < 1)
		return false;
	if (cJSON_IsArray(want))
		return same_array(v, want);
	if (cJSON_GetArraySize(want) == 2 && cJSON_IsString(type) &&
	    cJSON_IsString(json_get(want, "value")))
		return same_scalar(v, type->valuestring,
				   json_string(want, "value", ""));
	return same_table(v, want);
}

static void valid_case(void **state)
{
	const char *file = *state;
	char *toml = xasprintf("%s/%s", suite, file);
	char *json =
		xasprintf("%s/%.*s.json", suite, (int)strlen(file) - 5, file);
	struct buf text = read_file(toml);
	struct buf wanted = read_file(json);
	struct toml_value root = { 0 };
	struct error err = { 0 };
	cJSON *tree = json_parse(buf_str(&wanted));

	assert_non_null(tree);
	if (toml_parse(&root, buf_str(&text), file, &err) < 0)
		fail_msg("%s", err.message);
	assert_true(same_value(&root, tree));
	toml_release(&root);
	cJSON_Delete(tree);
	buf_release(&text);
	buf_release(&wanted);
	free(toml);
	free(json);
}

/* "name:line:column: what is wrong", the place being in the file. */
static void check_message(const char *message, const char *name, struct str all)
{
	size_t len = strlen(name);
	long lines = 1;
	char *rest = NULL;
	long line;
	long column;

	for (size_t i = 0; i < all.len; i++)
		lines += all.ptr[i] == '\n';
	assert_memory_equal(message, name, len);
	assert_int_equal(message[len], ':');
	line = strtol(message + len + 1, &rest, 10);
	assert_in_range(line, 1, lines);
	assert_int_equal(*rest, ':');
	column = strtol(rest + 1, &rest, 10);
	assert_in_range(column, 1, all.len + 1);
	assert_memory_equal(rest, ": ", 2);
	assert_true(strlen(rest + 2) > 8);
}

static void invalid_case(void **state)
{
	const char *file = *state;
	char *toml = xasprintf("%s/%s", suite, file);
	struct buf text = read_file(toml);
	struct toml_value root = { 0 };
	struct error err = { 0 };

	assert_int_equal(toml_parse(&root, buf_str(&text), file, &err), -1);
	assert_int_equal(err.code, ERR_CONFIG);
	check_message(err.message, file, buf_str(&text));
	if (getenv("TOML_SUITE_SHOW"))
		print_message("%s\n", err.message);
	toml_release(&root);
	buf_release(&text);
	free(toml);
}

static size_t add_cases(struct CMUnitTest *tests, size_t max, char *list)
{
	char *rest = NULL;
	size_t n = 0;

	for (char *file = strtok_r(list, "\n", &rest); file && n < max;
	     file = strtok_r(NULL, "\n", &rest)) {
		if (!str_ends(str_of(file), ".toml"))
			continue;
		tests[n].name = file;
		tests[n].initial_state = file;
		tests[n++].test_func = str_starts(str_of(file), "valid/")
					       ? valid_case
					       : invalid_case;
	}
	return n;
}

static void nothing(void **state)
{
	(void)state;
}

int main(void)
{
	static struct CMUnitTest tests[2000];
	const struct CMUnitTest absent[] = { cmocka_unit_test(nothing) };
	char *path = xasprintf("%s/files-toml-1.0.0", suite);
	struct buf list = BUF_INIT(LARGEST);
	struct error err = { 0 };
	size_t n;
	int failed;

	if (path_read(path, &list, &err) < 0) {
		printf("note: the official TOML suite is not at %s\n", suite);
		failed = cmocka_run_group_tests_name("toml suite", absent, NULL,
						     NULL);
	} else {
		n = add_cases(tests, sizeof(tests) / sizeof(tests[0]),
			      list.ptr);
		failed = _cmocka_run_group_tests("toml suite", tests, n, NULL,
						 NULL);
	}
	buf_release(&list);
	free(path);
	return failed;
}
