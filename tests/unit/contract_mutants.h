/* contract_mutants.h - promises, each broken, and the check that finds it. */
/* SPDX-License-Identifier: MIT */
#ifndef UNIT_CONTRACT_MUTANTS_H
#define UNIT_CONTRACT_MUTANTS_H

#include <stdbool.h>

#include "sandbox/sandbox.h"

enum breach {
	KEEPS_ALL, /* with a: but for the slow checks */
	CREATE_FAILS,
	ID_CHANGES,
	CODE_CHANGES, /* a becomes b */
	STREAMS_MERGED,
	STDERR_LOST,
	STREAMS_APART,  /* although they were to be merged */
	OUTPUT_CUT,     /* what comes after a bytes */
	OUTPUT_FLIPPED, /* at a */
	OUTPUT_DOUBLED, /* the chunk that a is in */
	BYTE_LOST,      /* a in the output becomes b */
	COMMAND_BYTE,   /* a in the command becomes b */
	COMMAND_SHORT,  /* of more than a bytes: one is missing */
	STDIN_FILLED,
	INPUT_SHORT, /* the last byte is missing */
	REPLY_CHANGED,
	SOURCE_SHORT, /* a byte is missing */
	ENV_LOST,
	ENV_LOST_IF_PLAIN,
	CWD_LOST,
	CWD_UNCHECKED,
	CWD_UNNAMED, /* the error does not name it */
	REFUSAL_UNSAID,
	BACKGROUND_AWAITED,
	BACKGROUND_ENDED,
	OUTPUT_LATE,
	TIMEOUT_UNSAID,
	TIMEOUT_SILENT,
	TIMEOUT_EARLY,
	LEAVES_RUNNING, /* after a timeout or a cancel */
	CANCEL_UNSAID,
	MODE_LOST,
	PART_LEFT,  /* beside the file */
	FILE_SHORT, /* of at least a bytes: the last is missing */
	FILE_FLIPPED,
	FILES_SWAPPED,
	NAME_REFUSED,
	FILE_ERROR, /* a becomes b */
	MUTE,
	REFUSES,
	UPLOAD_ERROR,  /* a becomes b */
	ERROR_SPREADS, /* to the next file of the call */
	ATTACH_FAILS,
	ATTACH_ANY,
	ATTACH_OTHER,
	ATTACH_GHOST,
	LIST_EMPTY,
	LIST_TWICE,
	LIST_GHOST,
	LIST_OF_ALL, /* whoever they belong to */
	INFO_FAILS,
	INFO_STOPPED,
	INFO_LABEL,
	INFO_OWNER,
	ENDED_BEFORE,
	ENDS_NEVER,
	EXTEND_FAILS,
	EXTEND_ONCE,
	NETWORK_LEAKS, /* none is as full */
	NETWORK_DEAD,  /* full is as none */
	SNAPSHOT_FAILS,
	SNAPSHOT_NO_START,
	SNAPSHOT_REPLACED, /* although it should not be */
	STOP_FAILS,
	STOP_UNSAID, /* it is said to run */
	STOP_LOSES_FILES,
	STOP_ONCE, /* a stopped one cannot be stopped */
	REMOVE_FAILS,
	REMOVE_STRICT, /* what is gone cannot be removed */
	REMOVE_LIES,
};

/* The longest first: they run side by side. */
static const struct mutant {
	enum breach breach;
	int a, b;
	const char *after; /* begins when this check has passed */
	const char *found; /* by this check, the first that fails */
	const char *only;  /* checks to run; NULL: that one */
} mutants[] = {
	{ KEEPS_ALL, 0, 0, "create", "", "output" },
	{ KEEPS_ALL, 0, 0, "create", "", "timeout" },
	{ KEEPS_ALL, 0, 0, "create", "", "cancel" },
	{ KEEPS_ALL, 0, 0, "create", "", "file of" },
	{ KEEPS_ALL, 0, 0, "create", "", "snapshot" },
	{ KEEPS_ALL, 0, 0, "create", "", "network" },
	{ BACKGROUND_ENDED, 0, 0, "create", "background process", NULL },
	{ KEEPS_ALL, 0, 0, "create", "", "background" },
	{ BACKGROUND_AWAITED, 0, 0, "create", "background process", NULL },
	{ NETWORK_LEAKS, 0, 0, "create", "network none and full", NULL },
	{ NETWORK_DEAD, 0, 0, "create", "network none and full", NULL },
	{ KEEPS_ALL, 1, 0, "create", "", "" },
	{ OUTPUT_LATE, 0, 0, "create", "live output", NULL },
	{ OUTPUT_CUT, 3, 0, "create", "live output", NULL },
	{ TIMEOUT_UNSAID, 0, 0, "create", "timeout", NULL },
	{ TIMEOUT_SILENT, 0, 0, "create", "timeout", NULL },
	{ TIMEOUT_EARLY, 0, 0, "create", "timeout", NULL },
	{ LEAVES_RUNNING, 0, 0, "create", "timeout", NULL },
	{ CODE_CHANGES, 124, 137, "create", "timeout", NULL },
	{ LEAVES_RUNNING, 0, 0, "create", "cancel", NULL },
	{ CANCEL_UNSAID, 0, 0, "create", "cancel", NULL },
	{ KEEPS_ALL, 0, 0, "create", "", "source" },
	{ SOURCE_SHORT, 0, 0, "create", "source of input", NULL },
	{ LEAVES_RUNNING, 0, 0, "create", "source of input", NULL },
	{ OUTPUT_CUT, 12000000, 0, "create", "12 MiB of output", NULL },
	{ OUTPUT_CUT, 60000000, 0, "create", "64 MiB of output", NULL },
	{ OUTPUT_FLIPPED, 67108863, 0, "create", "64 MiB of output", NULL },
	{ OUTPUT_DOUBLED, 33554432, 0, "create", "64 MiB of output", NULL },
	{ BYTE_LOST, '7', '1', "create", "8 in parallel", NULL },
	{ CODE_CHANGES, 5, 4, "create", "8 in parallel", NULL },
	{ STDERR_LOST, 0, 0, "create", "8 in parallel", NULL },
	{ FILE_FLIPPED, 10000000, 0, "create", "file of 10 MB", NULL },
	{ FILE_SHORT, 10000000, 0, "create", "file of 10 MB", NULL },
	{ KEEPS_ALL, 0, 0, "create", "", "errors of" },
	{ UPLOAD_ERROR, FILE_IS_DIRECTORY, FILE_OK, "create",
	  "file errors of 3 MiB", NULL },
	{ CREATE_FAILS, 0, 0, NULL, "create", NULL },
	{ CODE_CHANGES, 0, 1, NULL, "create", NULL },
	{ ID_CHANGES, 0, 0, "create", "id", NULL },
	{ CODE_CHANGES, 0, 1, "create", "exit status 0", NULL },
	{ CODE_CHANGES, 0, -1, "create", "exit status 0", NULL },
	{ CODE_CHANGES, 1, 0, "create", "exit status 1", NULL },
	{ CODE_CHANGES, 3, 1, "create", "exit status 3", NULL },
	{ CODE_CHANGES, 126, 1, "create", "exit status 126", NULL },
	{ CODE_CHANGES, 127, 126, "create", "exit status 127", NULL },
	{ STDERR_LOST, 0, 0, "create", "exit status 127", NULL },
	{ CODE_CHANGES, 137, 9, "create", "killed by a signal", NULL },
	{ CODE_CHANGES, 143, 15, "create", "killed by a signal", NULL },
	{ STREAMS_MERGED, 0, 0, "create", "stdout and stderr", NULL },
	{ OUTPUT_CUT, 1, 0, "create", "stdout and stderr", NULL },
	{ STREAMS_APART, 0, 0, "create", "both in order", NULL },
	{ OUTPUT_CUT, 1000000, 0, "create", "1 MB of output", NULL },
	{ OUTPUT_FLIPPED, 700000, 0, "create", "1 MB of output", NULL },
	{ BYTE_LOST, 0, ' ', "create", "NUL and no UTF-8", NULL },
	{ BYTE_LOST, 0377, '?', "create", "NUL and no UTF-8", NULL },
	{ OUTPUT_CUT, 999999, 0, "create", "NUL and no UTF-8", NULL },
	{ STDERR_LOST, 0, 0, "create", "NUL and no UTF-8", NULL },
	{ COMMAND_BYTE, '`', '\'', "create", "here-document", NULL },
	{ COMMAND_BYTE, '\n', ' ', "create", "here-document", NULL },
	{ COMMAND_BYTE, 1, ' ', "create", "every byte in argument", NULL },
	{ COMMAND_BYTE, 0377, '?', "create", "every byte in argument", NULL },
	{ COMMAND_SHORT, 100000, 0, "create", "longest command", NULL },
	{ INPUT_SHORT, 0, 0, "create", "input", NULL },
	{ REPLY_CHANGED, 0, 0, "create", "dialog", NULL },
	{ REFUSAL_UNSAID, 0, 0, "create", "output refused", NULL },
	{ STDIN_FILLED, 0, 0, "create", "stdin at its end", NULL },
	{ ENV_LOST, 0, 0, "create", "env and cwd", NULL },
	{ ENV_LOST_IF_PLAIN, 0, 0, "create", "env and cwd", NULL },
	{ CWD_UNNAMED, 0, 0, "create", "missing cwd", NULL },
	{ CWD_LOST, 0, 0, "create", "env and cwd", NULL },
	{ CWD_UNCHECKED, 0, 0, "create", "missing cwd", NULL },
	{ FILE_ERROR, FILE_OK, FILE_OTHER, "create", "file of 0 B", NULL },
	{ FILE_SHORT, 1, 0, "create", "file of 1 B", NULL },
	{ FILE_FLIPPED, 1, 0, "create", "file of 1 B", NULL },
	{ FILE_SHORT, 100000, 0, "create", "file of 100 kB", NULL },
	{ FILE_FLIPPED, 100000, 0, "create", "file of 100 kB", NULL },
	{ MODE_LOST, 0, 0, "create", "file modes", NULL },
	{ PART_LEFT, 0, 0, "create", "file modes", NULL },
	{ FILE_FLIPPED, 70000, 0, "create", "odd file names", NULL },
	{ NAME_REFUSED, '\n', 0, "create", "odd file names", NULL },
	{ NAME_REFUSED, '*', 0, "create", "odd file names", NULL },
	{ FILES_SWAPPED, 0, 0, "create", "odd file names", NULL },
	{ NAME_REFUSED, 0377, 0, "create", "odd file names", NULL },
	{ UPLOAD_ERROR, FILE_IS_DIRECTORY, FILE_OK, "create", "file errors",
	  NULL },
	{ UPLOAD_ERROR, FILE_INVALID_PATH, FILE_OTHER, "create", "file errors",
	  NULL },
	{ UPLOAD_ERROR, FILE_INVALID_PATH, FILE_OK, "create",
	  "path below a file", NULL },
	{ ERROR_SPREADS, 0, 0, "create", "file errors", NULL },
	{ FILE_ERROR, FILE_NOT_FOUND, FILE_OTHER, "create", "file errors",
	  NULL },
	{ FILE_ERROR, FILE_IS_DIRECTORY, FILE_OK, "create", "file errors",
	  NULL },
	{ FILE_ERROR, FILE_INVALID_PATH, FILE_NOT_FOUND, "create",
	  "file errors", NULL },
	{ FILE_ERROR, FILE_PERMISSION_DENIED, FILE_OTHER, "create",
	  "file errors", NULL },
	{ REFUSES, 0, 0, "create", "tool write_file", "tool" },
	{ REFUSES, 0, 0, "tool write_file", "tool read_file", "tool" },
	{ REFUSES, 0, 0, "tool read_file", "tool edit_file", "tool" },
	{ MUTE, 0, 0, "tool edit_file", "tool grep", "tool" },
	{ MUTE, 0, 0, "tool grep", "tool glob", "tool" },
	{ MUTE, 0, 0, "tool glob", "tool ls", "tool" },
	{ MUTE, 0, 0, "tool ls", "tool execute", "tool" },
	{ MUTE, 0, 0, "tool execute", "tool delete", "tool" },
	{ MUTE, 0, 0, "create", "attach by id", NULL },
	{ ATTACH_ANY, 0, 0, "create", "attach by id", NULL },
	{ ATTACH_FAILS, 0, 0, "create", "attach by id", NULL },
	{ ATTACH_OTHER, 0, 0, "create", "attach by id", NULL },
	{ LIST_EMPTY, 0, 0, "create", "list by label", NULL },
	{ LIST_TWICE, 0, 0, "create", "list by label", NULL },
	{ LIST_OF_ALL, 0, 0, "create", "list by label", NULL },
	{ INFO_FAILS, 0, 0, "create", "info", NULL },
	{ INFO_STOPPED, 0, 0, "create", "info", NULL },
	{ INFO_LABEL, 0, 0, "create", "info", NULL },
	{ INFO_OWNER, 0, 0, "create", "info", NULL },
	{ ID_CHANGES, 0, 0, "create", "info", NULL },
	{ ENDED_BEFORE, 0, 0, "create", "lifetime", NULL },
	{ ENDS_NEVER, 0, 0, "create", "lifetime", NULL },
	{ EXTEND_FAILS, 0, 0, "create", "extend", NULL },
	{ EXTEND_ONCE, 0, 0, "create", "extend", NULL },
	{ SNAPSHOT_FAILS, 0, 0, "create", "snapshot", NULL },
	{ SNAPSHOT_NO_START, 0, 0, "create", "snapshot", NULL },
	{ SNAPSHOT_REPLACED, 0, 0, "create", "snapshot", NULL },
	{ KEEPS_ALL, 0, 0, "create", "", "stop and start" },
	{ STOP_FAILS, 0, 0, "create", "stop and start", NULL },
	{ STOP_UNSAID, 0, 0, "create", "stop and start", NULL },
	{ STOP_LOSES_FILES, 0, 0, "create", "stop and start", NULL },
	{ STOP_ONCE, 0, 0, "create", "stop and start", NULL },
	{ ATTACH_FAILS, 0, 0, "create", "stop and start", NULL },
	{ ATTACH_OTHER, 0, 0, "create", "stop and start", NULL },
	{ REMOVE_FAILS, 0, 0, NULL, "remove", "id" },
	{ REMOVE_FAILS, 0, 0, "remove", "remove again", "id" },
	{ REMOVE_STRICT, 0, 0, NULL, "remove again", "id" },
	{ REMOVE_LIES, 0, 0, NULL, "nothing left", "id" },
	{ LIST_GHOST, 0, 0, "remove", "nothing left", "id" },
	{ ATTACH_GHOST, 0, 0, "remove", "nothing left", "id" },
};
enum { MUTANTS = sizeof(mutants) / sizeof(mutants[0]) };

#endif
