/* files_calls.h - file operations with their arguments in a row, for tests. */
/* SPDX-License-Identifier: MIT */
#ifndef UNIT_FILES_CALLS_H
#define UNIT_FILES_CALLS_H

#include "sandbox/files/files.h"

#define READ(sb, path, offset, limit, binary, page, stop, err)                 \
	files_read(sb,                                                         \
		   &(struct files_window){ path, offset, limit, binary, 0 },   \
		   page, stop, err)
#define EDIT(sb, path, old, new, all, count, stop, err)                        \
	files_edit(sb,                                                         \
		   &(struct files_replacement){ path, old, new, all, false,    \
						NULL, NULL, NULL },            \
		   count, stop, err)
#define GREP(sb, root_, pattern_, glob_, cap_, list, stop, err)                \
	files_grep(sb,                                                         \
		   &(struct files_search){ .root = root_,                      \
					   .pattern = pattern_,                \
					   .glob = glob_,                      \
					   .cap = cap_ },                      \
		   list, stop, err)
#define GLOB(sb, root_, pattern_, list, stop, err)                             \
	files_glob(                                                            \
		sb,                                                            \
		&(struct files_search){ .root = root_, .pattern = pattern_ },  \
		list, stop, err)

#endif
