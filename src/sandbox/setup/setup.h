/* setup.h - a user's setup script: expanded here, run in the sandbox. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_SETUP_SETUP_H
#define SANDBOX_SETUP_SETUP_H

#include "sandbox/sandbox.h"

enum {
	SETUP_MAX = 1 << 20,          /* bytes of a script as written */
	SETUP_EXPANDED_MAX = 8 << 20, /* bytes with the values in it */
};

/* Checks that there is a file that can be read, without reading it: it may be a
 * pipe. */
int setup_check(const char *path, struct error *err);
/* Reads the file; ERR_NOT_FOUND "Setup script not found: P". */
int setup_read(const char *path, struct buf *script, struct error *err);

struct setup_value {
	const char *text; /* borrowed; NULL: unset */
	bool foreign;     /* it comes with a project, not from the user */
};
struct setup_values {
	/* The value of NAME on this machine. */
	struct setup_value (*value)(void *arg, const char *name);
	/* Once for each name whose value the script receives. */
	void (*used)(void *arg, const char *name,
		     const struct setup_value *value);
	/* A line for the user about something likely to be unwanted. */
	void (*note)(void *arg, const char *line);
	void *arg;
};
struct setup_script {
	struct buf text;    /* with the values in it */
	struct buf exports; /* of the shell: "export NAME='value'" lines */
};
/*
 * Appends to out->text the script with values in place of ${NAME} and $<NAME>,
 * whatever the quoting, and of $NAME unless the script itself assigns NAME.
 * Unset names, names of setup_machine_name(), $(...), ${X:-d}, $1 and $$ stay
 * as they are; what is put in is not looked at again. A foreign value that
 * holds more than letters, digits and _-./:@%+=, is never program text: it goes
 * to out->exports, and ${NAME} stays. When the first line is a shebang that
 * ends in CR LF, all line ends become LF. ERR_LIMIT beyond a buffer's max.
 */
int setup_expand(struct str script, const struct setup_values *values,
		 struct setup_script *out, struct error *err);
void setup_script_init(struct setup_script *s);
/* Zeroes both parts. */
void setup_script_release(struct setup_script *s);
/* Names that belong to the machine the script runs on: HOME, PATH, ... */
bool setup_machine_name(struct str name);

/*
 * Where the variables are that the script left in ~/.bashrc and ~/.profile: in
 * the sandbox, written after a script that succeeded (setup_env.sh). Every
 * command but our own helpers reads it first; a file of somebody else's is
 * not read. It stays with the sandbox, for later runs and snapshots. Where
 * sandboxes share a machine (DCODE_EXEC is JOB.OWNER), its name ends in .OWNER.
 */
#define SETUP_ENV_FILE "$HOME/.dcode-env"
#define SETUP_ENV_READ ". \"" SETUP_ENV_FILE "\""

struct setup_sink { /* the script's output as it arrives; may be NULL */
	void (*output)(void *arg, enum exec_stream stream, struct str chunk);
	void *arg;
};
/*
 * Runs an expanded script, its exports in its environment, in the sandbox's
 * working directory by its shebang's program if that exists there, else by
 * bash, else by sh, with an empty standard input. It goes in as the command's
 * input, as a file, or, where only commands do, enciphered with a pad that the
 * sandbox made. Its text is in no argument list and in no file by the time it
 * runs; $0 is a path below /dev/fd or /proc. A shell's script that succeeds and
 * ends in another directory moves the sandbox there: sandbox_move(). -1 only
 * when the script could not be run to its end; then nothing of it stays.
 */
int setup_run(struct sandbox *sb, const struct setup_script *script,
	      const struct setup_sink *sink, struct exec_result *res,
	      const struct stop *stop, struct error *err);

#endif
