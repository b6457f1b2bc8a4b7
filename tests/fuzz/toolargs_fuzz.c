/* toolargs_fuzz.c - arguments from a model are checked, whatever they are. */
/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tool/args.h"
#include "tool/result.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct tool_arg *arg, const cJSON *args)
{
	const cJSON *item = json_get(args, arg->name);

	if (!item && arg->required)
		abort();
	if (item && arg->type == ARG_STRING && !cJSON_IsString(item))
		abort();
	if (item && arg->type == ARG_BOOL && !cJSON_IsBool(item))
		abort();
	if (item && arg->type == ARG_INT &&
	    (!cJSON_IsNumber(item) ||
	     item->valuedouble != (double)json_int(args, arg->name, -1) ||
	     (arg->positive && item->valuedouble < 1)))
		abort();
}

/* The first byte chooses the tool, the rest is what the model sent. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf out = BUF_INIT(RESULT_RAW_BYTES);
	struct part call = { .kind = PART_TOOL_CALL };
	size_t n = 0;
	cJSON *args;

	if (!size)
		return 0;
	while (tools[n])
		n++;
	n = data[0] % n;
	call.args = xstrndup((const char *)data + 1, size - 1);
	args = args_read(tools[n], &call, &out);
	if (!args == !out.len || out.len > TOOL_RESULT_BYTES)
		abort();
	for (const struct tool_arg *a = tools[n]->args; args && a->name; a++)
		check(a, args);
	cJSON_Delete(args);
	buf_release(&out);
	free(call.args);
	return 0;
}
