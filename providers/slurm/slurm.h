/* slurm.h - declarations shared by the files of the Slurm provider. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_SLURM_SLURM_H
#define PROVIDERS_SLURM_SLURM_H

#include "providers/kit/lease.h"
#include "providers/ssh/ssh.h"
#include "sandbox/sandbox.h"

/*
 * A sandbox is a job on one node. Its batch script
 * (scripts/sandbox/slurm_batch.sh) waits for requests at the FIFO "door" of its
 * control directory and starts a shell for each. At its end, the job kills the
 * processes of these shells and removes both directories:
 *
 * ROOT/LABEL   the working directory
 * /tmp/.LABEL  the control directory: door, N.in and N.out, work (the path
 *              of the working directory), failed, jobs of the supervisor
 *
 * dcode reaches the FIFO by "srun --jobid=J --overlap", a step of the job that
 * only transfers bytes (slurm_step.sh). So background processes of a command
 * belong to the batch script's step, and do not end with dcode's step.
 *
 * Seen with Slurm 22.05.8 (Debian 12), 2026-11; newer versions by their
 * documentation (slurm.schedmd.com, read 2026-11).
 */
struct slurm { /* sandbox_client.priv points to it */
	const struct settings *settings;
	char **env; /* owned: environment of all programs that are started */
	const char *via; /* user@login, or NULL: this machine */
	/* client of the ssh provider, if via is set */
	struct sandbox_client login;
	const char *root;
	const char *container; /* an OCI bundle, or NULL */
	const char *image;     /* an image for Apptainer, or NULL */
	/* ms from the job's start to the first line of its shell loop */
	int64_t ready_ms;
	int64_t wait_s; /* longest wait in the queue; 0: no limit */
	struct create_log sent;
};

/* queue.c */
#define SLURM_OTHER_CLUSTER                                                    \
	"For another cluster, set SLURM_CONF to its configuration or via "     \
	"= \"user@login\" to a login node of its own"
enum { SLURM_WORD = 64 };
struct slurm_job {
	char id[24];
	char state[SLURM_WORD];  /* such as "PENDING" */
	char reason[SLURM_WORD]; /* such as "Resources", or "None" */
	char nodes[SLURM_WORD];
	int64_t restarts;
	/* Unix time in seconds; 0 unknown. start is an estimate while the job
	 * is pending. */
	int64_t submitted, start, end;
	/* The label; "" if dcode did not create the job. */
	char label[16];
	char owner[40];
};
/* Parses one line of squeue, as slurm_queue() requests it. No side effects. */
bool slurm_job_parse(struct str line, struct slurm_job *job);
/* Calls each for all of the user's jobs that the controller knows, also those
 * that have ended. If name is not NULL, only for jobs with this name. */
int slurm_queue(struct slurm *s, const char *name,
		void (*each)(void *arg, const struct slurm_job *job), void *arg,
		const struct stop *stop, struct error *err);
/* Finds one of dcode's jobs. ERR_NOT_FOUND if there is none. */
int slurm_find(struct slurm *s, const char *id, struct slurm_job *job,
	       const struct stop *stop, struct error *err);
enum sandbox_state slurm_state(const struct slurm_job *job);
/* Reports "job 7 was ended: TIMEOUT, ...", always with ERR_GONE. */
int slurm_ended(const struct slurm_job *job, struct error *err);
int slurm_list(struct sandbox_client *client, const char *owner,
	       const struct info_sink *sink, const struct stop *stop,
	       struct error *err);
int slurm_info(struct sandbox_client *client, const char *id,
	       const struct info_sink *sink, const struct stop *stop,
	       struct error *err);
int slurm_remove(struct sandbox_client *client, const char *id,
		 const struct stop *stop, struct error *err);

/* Appends the batch script of a new job. It must not contain secrets:
 * administrators can read it, and sites store it. */
void slurm_batch_script(const struct slurm *s, const char *label,
			struct buf *out);

/* Appends "env -u ... NAME". The variables that it removes would make the
 * program NAME use another cluster or show only some jobs. */
void slurm_program(struct buf *line, const char *name);
/* Runs a line of sh where Slurm's programs are (on this machine, or on the
 * login node), and appends its output and error output to out. Returns its exit
 * status, or -1. */
int slurm_command(struct slurm *s, struct str line, struct buf *out,
		  const struct stop *stop, struct error *err);
/* Appends the command that runs /bin/sh as a step of the job. option: " --pty",
 * or "". */
void slurm_add_step(const struct slurm *s, const char *job, const char *option,
		    struct buf *line);
/* Reports ERR_REMOTE. The message contains the last line in printed, the output
 * of the program that failed. */
int slurm_refused(const char *what, int status, struct str printed,
		  struct error *err);

extern const struct sandbox_provider slurm_provider;

#endif
