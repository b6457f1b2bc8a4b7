/* fs_tools.c - --allow-fs-tools: which file tools the model has. */
/* SPDX-License-Identifier: MIT */
#include "cmd/session/fs_tools.h"

#include <string.h>

#include "base/str.h"

enum { ALL = 0, NAMES_BYTES = 200 };

/* Bit n + 1 stands for the nth. */
static const char *const names[] = { "ls",        "read_file", "write_file",
				     "edit_file", "delete",    "glob",
				     "grep",      "execute" };
enum { N_NAMES = sizeof(names) / sizeof(*names) };

static unsigned bit_of(struct str name)
{
	for (unsigned i = 0; i < N_NAMES; i++)
		if (str_is_nocase(name, names[i]))
			return 1u << (i + 1);
	return 0;
}

static int refuse_unknown(const struct buf *unknown, struct error *err)
{
	struct buf valid = BUF_INIT(NAMES_BYTES);

	for (size_t i = 0; i < N_NAMES; i++)
		buf_addf(&valid, "%s%s", i ? ", " : "", names[i]);
	error_set(err, ERR_USAGE,
		  "--allow-fs-tools has unknown tool name(s): %s. Valid "
		  "names: %s",
		  unknown->ptr, valid.ptr);
	buf_release(&valid);
	return -1;
}

/* Reads the names; *n: how many, *all: "all" is one of them. */
static unsigned read_names(const char *text, size_t *n, bool *all,
			   struct buf *unknown)
{
	struct str rest = str_of(text);
	struct str name;
	unsigned tools = 0;

	while (str_split(&rest, ',', &name)) {
		name = str_trim(name);
		if (!name.len)
			continue;
		(*n)++;
		if (str_is_nocase(name, "all")) {
			*all = true;
		} else if (!bit_of(name)) {
			buf_adds(unknown, unknown->len ? ", " : "");
			buf_addstr(unknown, name);
		}
		tools |= bit_of(name);
	}
	return tools;
}

int fs_tools_parse(const char *text, unsigned *tools, struct error *err)
{
	struct buf unknown = BUF_INIT(NAMES_BYTES);
	bool all = false;
	size_t n = 0;
	int rc = 0;

	*tools = ALL;
	if (!text)
		return 0;
	*tools = read_names(text, &n, &all, &unknown);
	if (!str_trim(str_of(text)).len)
		rc = error_set(err, ERR_USAGE,
			       "--allow-fs-tools requires a value");
	else if (!n)
		rc = error_set(err, ERR_USAGE,
			       "--allow-fs-tools list must contain at least "
			       "one non-empty tool name");
	else if (all && n > 1)
		rc = error_set(err, ERR_USAGE,
			       "--allow-fs-tools: 'all' cannot be combined "
			       "with other tool names");
	else if (unknown.len)
		rc = refuse_unknown(&unknown, err);
	else if (!all && !(*tools & bit_of(STR("read_file"))))
		rc = error_set(err, ERR_USAGE,
			       "--allow-fs-tools must include 'read_file': "
			       "long results are read with it");
	if (all)
		*tools = ALL;
	buf_release(&unknown);
	return rc;
}

bool fs_tools_permit(unsigned tools, const char *name)
{
	unsigned bit = bit_of(str_of(name));

	return tools == ALL || !bit || tools & bit;
}
