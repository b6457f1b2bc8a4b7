/* setup.h - a user's setup script: expanded here, run in the sandbox. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_SETUP_SETUP_H
#define SANDBOX_SETUP_SETUP_H

#include "sandbox/sandbox.h"

enum {
	SETUP_MAX = 1 << 20,          /* bytes of a script as written */
	SETUP_EXPANDED_MAX = 8 << 20, /* bytes after values are inserted */
};

/* Checks that the file exists and is readable. Does not read it: it may be a
 * pipe. */
int setup_check(const char *path, struct error *err);
/* Reads the file. ERR_NOT_FOUND: "Setup script not found: P". */
int setup_read(const char *path, struct buf *script, struct error *err);

struct setup_value {
	const char *text; /* borrowed; NULL: the variable is not set */
	/* the value comes from the project, so it is not trusted */
	bool foreign;
};
struct setup_values {
	/* Returns the value of NAME on this machine. */
	struct setup_value (*value)(void *arg, const char *name);
	/* Called once for each name whose value the script receives. */
	void (*used)(void *arg, const char *name,
		     const struct setup_value *value);
	/* Called with a warning for the user. */
	void (*note)(void *arg, const char *line);
	void *arg;
};
struct setup_script {
	struct buf text;    /* the script with values inserted */
	struct buf exports; /* lines "export NAME='value'" for sh */
};
/*
 * Appends the script to out->text and replaces ${NAME} and $<NAME>, whatever
 * the quoting, and $NAME unless the script assigns NAME. Unset names, names of
 * setup_machine_name(), $(...), ${X:-d}, $1 and $$ stay unchanged. Inserted
 * values are not expanded again. A foreign value with characters other than
 * letters, digits and _-./:@%+=, never becomes program text: it goes to
 * out->exports, and ${NAME} stays. If the first line is a shebang that ends in
 * CR LF, all line ends become LF. ERR_LIMIT if a buffer's max is exceeded.
 */
int setup_expand(struct str script, const struct setup_values *values,
		 struct setup_script *out, struct error *err);
void setup_script_init(struct setup_script *s);
/* Zeroes and frees both buffers. */
void setup_script_release(struct setup_script *s);
/* True for names whose value belongs to the machine that runs the script: HOME,
 * PATH, ... */
bool setup_machine_name(struct str name);

/*
 * A file in the sandbox with the variables that a successful script defined in
 * ~/.bashrc and ~/.profile (setup_env.sh). Every command except dcode's own
 * helpers reads it first, unless another user owns it. It stays in the sandbox
 * for later runs and snapshots. If sandboxes share a machine (DCODE_EXEC is
 * then JOB.OWNER), its name ends in .OWNER.
 */
#define SETUP_ENV_FILE "$HOME/.dcode-env"
#define SETUP_ENV_READ ". \"" SETUP_ENV_FILE "\""

struct setup_sink { /* the script's output as it arrives; may be NULL */
	void (*output)(void *arg, enum exec_stream stream, struct str chunk);
	void *arg;
};
/*
 * Runs an expanded script in the sandbox's working directory, with its exports
 * in the environment and an empty standard input. Its interpreter is that of
 * its shebang if it exists there, else bash, else sh. The script is sent as the
 * command's input, as a file, or, if the provider only runs commands,
 * enciphered with a pad that the sandbox made. When it runs, its text is in no
 * argument list and in no file; $0 is a path below /dev/fd or /proc. If a shell
 * script succeeds and ends in another directory, that becomes the sandbox's
 * workdir: sandbox_move(). -1 only if the script could not be run to its end;
 * then none of its files remain.
 */
int setup_run(struct sandbox *sb, const struct setup_script *script,
	      const struct setup_sink *sink, struct exec_result *res,
	      const struct stop *stop, struct error *err);

#endif
