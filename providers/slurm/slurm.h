/* slurm.h - what the two rooms of the Slurm provider share. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_SLURM_SLURM_H
#define PROVIDERS_SLURM_SLURM_H

#include "providers/kit/lease.h"
#include "providers/ssh/ssh.h"
#include "sandbox/sandbox.h"

/*
 * A sandbox is a job of one node. Its batch script (scripts/sandbox/
 * slurm_batch.sh) waits for requests at the FIFO "door" of its control
 * directory and starts a shell for each. At the job's end it kills what those
 * shells started and removes both directories:
 *
 *   ROOT/LABEL   what the sandbox works in
 *   /tmp/.LABEL  the control directory: door, N.in and N.out, work (the
 *                former's path), failed, jobs of the supervisor
 *
 * dcode reaches the door by "srun --jobid=J --overlap", a step that only moves
 * bytes (slurm_step.sh). So what a command leaves behind belongs to the batch
 * step.
 *
 * Seen with Slurm 22.05.8 (Debian 12), 2026-11; newer versions by their
 * documentation (slurm.schedmd.com, read 2026-11).
 */
struct slurm { /* sandbox_client.priv */
	const struct settings *settings;
	char **env;      /* owned: of every program that is started */
	const char *via; /* user@login, or NULL: this machine */
	struct sandbox_client login; /* with via: of the ssh provider */
	const char *root;
	const char *container; /* an OCI bundle, or NULL */
	const char *image;     /* of Apptainer, or NULL */
	int64_t ready_ms;      /* from a running job to its first word */
	int64_t wait_s;        /* in the queue at most; 0: no limit */
	struct create_log sent;
};

/* queue.c */
#define SLURM_OTHER_CLUSTER                                                    \
	"For another cluster, set SLURM_CONF to its configuration or via "     \
	"= \"user@login\" to a login node of its own"
enum { SLURM_WORD = 64 };
struct slurm_job {
	char id[24];
	char state[SLURM_WORD];  /* "PENDING" */
	char reason[SLURM_WORD]; /* "Resources", or "None" */
	char nodes[SLURM_WORD];
	int64_t restarts;
	/* Unix seconds, 0 unknown; of a pending one start is an estimate. */
	int64_t submitted, start, end;
	/* "" when it is not ours. */
	char label[16];
	char owner[40];
};
/* Pure: one line of squeue, as slurm_queue() asks for it. */
bool slurm_job_parse(struct str line, struct slurm_job *job);
/* The user's jobs: all that the controller still knows, also ended ones.
 * name: only those of this name, or NULL. */
int slurm_queue(struct slurm *s, const char *name,
		void (*each)(void *arg, const struct slurm_job *job), void *arg,
		const struct stop *stop, struct error *err);
/* One job of ours: ERR_NOT_FOUND when there is none. */
int slurm_find(struct slurm *s, const char *id, struct slurm_job *job,
	       const struct stop *stop, struct error *err);
enum sandbox_state slurm_state(const struct slurm_job *job);
/* "job 7 was ended: TIMEOUT, ...": always ERR_GONE. */
int slurm_ended(const struct slurm_job *job, struct error *err);
int slurm_list(struct sandbox_client *client, const char *owner,
	       const struct info_sink *sink, const struct stop *stop,
	       struct error *err);
int slurm_info(struct sandbox_client *client, const char *id,
	       const struct info_sink *sink, const struct stop *stop,
	       struct error *err);
int slurm_remove(struct sandbox_client *client, const char *id,
		 const struct stop *stop, struct error *err);

/* The batch script of a new job. Nothing in it is secret: the administrators
 * can read it, and sites store it. */
void slurm_batch_script(const struct slurm *s, const char *label,
			struct buf *out);

/* Appends "env -u ... NAME": the program asks the default cluster about all
 * jobs, whatever the environment says. */
void slurm_program(struct buf *line, const char *name);
/* Runs a line of sh where Slurm's programs are, here or on the login
 * node, and appends what it prints on either stream. Returns its exit status,
 * or -1. */
int slurm_command(struct slurm *s, struct str line, struct buf *out,
		  const struct stop *stop, struct error *err);
/* The stream to a job's loop: starts nothing. The caller's. */
struct held *slurm_stream(struct slurm *s, const struct slurm_job *job,
			  struct error *err);
/* ERR_REMOTE with the last line that a program printed. */
int slurm_refused(const char *what, int status, struct str printed,
		  struct error *err);

extern const struct sandbox_provider slurm_provider;

#endif
