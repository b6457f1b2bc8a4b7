/* shell_argument.c - a shell command as JSON strings that fit into arguments.
 */
/* SPDX-License-Identifier: MIT */
#include "providers/kit/shell_argument.h"

#include "base/json.h"
#include "base/str.h"

enum { ARGUMENT_MAX = 120000 };

static const char join[] = "IFS=;set -- \"$*\";unset IFS;eval \"$1\"";

void shell_argument_add(struct buf *json, struct str command)
{
	if (command.len <= ARGUMENT_MAX) {
		json_quote(json, command);
		return;
	}
	json_quote(json, str_of(join));
	buf_adds(json, ",\"sh\"");
	while (command.len) {
		size_t n =
			command.len < ARGUMENT_MAX ? command.len : ARGUMENT_MAX;

		buf_addc(json, ',');
		json_quote(json, (struct str){ command.ptr, n });
		command = str_skip(command, n);
	}
}
