/* command.c - Slurm's own programs, run where they are. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/proc_output.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "providers/slurm/slurm.h"
#include "sandbox/quote.h"

enum {
	LINE_BYTES = 1 << 20,
	SCRIPT_FAILED = 3, /* exit status of slurm_step.sh */
};

void slurm_program(struct buf *line, const char *name)
{
	static const char *const unset[] = {
		"SLURM_CLUSTERS",    "SBATCH_CLUSTERS",     "SQUEUE_ACCOUNT",
		"SQUEUE_LICENSES",   "SQUEUE_NAMES",        "SQUEUE_PARTITION",
		"SQUEUE_QOS",        "SQUEUE_SORT",         "SCANCEL_ACCOUNT",
		"SCANCEL_BATCH",     "SCANCEL_INTERACTIVE", "SCANCEL_NAME",
		"SCANCEL_PARTITION", "SCANCEL_QOS",         "SCANCEL_STATE",
		"SCANCEL_USER",      "SCANCEL_WCKEY",
	};

	buf_adds(line, "env");
	for (size_t i = 0; i < sizeof(unset) / sizeof(*unset); i++)
		buf_addf(line, " -u %s", unset[i]);
	buf_addf(line, " %s", name);
}

static int run_here(struct slurm *s, struct str line, struct buf *out,
		    const struct stop *stop, struct error *err)
{
	struct buf text = BUF_INIT(LINE_BYTES);
	char *argv[] = { "sh", "-c", NULL, NULL };
	int status;

	buf_adds(&text, "exec 2>&1\n");
	buf_addstr(&text, line);
	argv[2] = text.ptr;
	status = buf_check(&text, "the command", err);
	if (status == 0)
		status = proc_output("/bin/sh", argv, s->env, out, stop, err);
	buf_release(&text);
	return status;
}

/* Takes the status off the end of what a line printed there. */
static int take_status(struct buf *said, struct buf *out, struct error *err)
{
	static const char mark[] = "\n@status:";
	struct str text = buf_str(said);
	int64_t status = 0;

	for (size_t i = text.len; i-- > 0;) {
		struct str end = str_skip(text, i);

		if (!str_starts(end, mark))
			continue;
		if (!str_to_int(str_skip(end, sizeof(mark) - 1), &status) ||
		    status < 0 || status > 255)
			break;
		buf_add(out, text.ptr, i);
		return (int)status;
	}
	return error_set(err, ERR_PROTOCOL,
			 "the login node's answer is incomplete");
}

static int run_there(struct slurm *s, struct str line, struct buf *out,
		     const struct stop *stop, struct error *err)
{
	struct held *login = ssh_held(s->login.priv, s->via, err);
	struct buf text = BUF_INIT(LINE_BYTES);
	struct buf said = BUF_INIT(out->max + 64);
	int status = login ? 0 : -1;

	buf_adds(&text, "(\n");
	buf_addstr(&text, line);
	buf_adds(&text, "\n) 2>&1\nprintf '\\n@status:%d\\n' $?\n");
	if (status == 0)
		status = buf_check(&text, "the command", err);
	if (status == 0)
		status = held_call(login, buf_str(&text), 0, &said, stop, err);
	if (status == 0)
		status = take_status(&said, out, err);
	buf_release(&text);
	buf_release(&said);
	return status;
}

int slurm_command(struct slurm *s, struct str line, struct buf *out,
		  const struct stop *stop, struct error *err)
{
	return s->via ? run_there(s, line, out, stop, err)
		      : run_here(s, line, out, stop, err);
}

/* srun ended before our loop's first word. */
static void explain(void *arg, int status, struct str said, struct error *err)
{
	(void)arg;
	if (!said.len)
		said = STR("failed without a message");
	if (status == SCRIPT_FAILED)
		error_set(err, ERR_REMOTE, "the job: %.*s", (int)said.len,
			  said.ptr);
	else
		error_set(err, ERR_NETWORK, "srun: %.*s", (int)said.len,
			  said.ptr);
}

struct held *slurm_stream(struct slurm *s, const struct slurm_job *job,
			  struct error *err)
{
	struct buf line = BUF_INIT(4096);
	struct buf script = BUF_INIT(LINE_BYTES);
	char *argv[] = { "sh", "-c", NULL, NULL };
	struct held_program program = { .path = "/bin/sh",
					.argv = argv,
					.env = s->env,
					.name = "the job",
					.start_ms = s->ready_ms,
					.failed = explain };
	struct held *h;

	/* --export=NONE has no PATH: hence the whole path. */
	buf_adds(&line, "exec ");
	slurm_program(&line, "srun");
	buf_addf(&line,
		 " --jobid=%s --overlap --export=NONE --quiet --nodes=1 "
		 "--ntasks=1 --chdir=/ --mpi=none",
		 job->id);
	if (s->container) {
		buf_adds(&line, " --container=");
		quote_word(&line, str_of(s->container));
	}
	buf_adds(&line, " /bin/sh");
	argv[2] = line.ptr;
	slurm_step_script(job->label, &script);
	program.script = script.ptr;
	h = s->via ? ssh_stream(s->login.priv, s->via, line.ptr, &program, err)
		   : held_new(&program);
	buf_release(&line);
	buf_release(&script);
	return h;
}

int slurm_refused(const char *what, int status, struct str printed,
		  struct error *err)
{
	struct buf clean = BUF_INIT(512);
	struct str line = { 0 };
	struct str item;

	while (str_split(&printed, '\n', &item))
		if (str_trim(item).len)
			line = str_trim(item);
	if (line.len > 300)
		line.len = 300;
	sanitize_line(line, &clean);
	if (status == 127)
		error_set(err, ERR_CONFIG, "%s: not found", what);
	else
		error_set(err, ERR_REMOTE, "%s: %s", what,
			  clean.len ? clean.ptr : "failed without a message");
	if (status == 127)
		error_hint(err, "Run dcode where Slurm's programs are, or set "
				"via = \"user@login\" in "
				"[sandboxes.providers.slurm.params].");
	buf_release(&clean);
	return -1;
}
