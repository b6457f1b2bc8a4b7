/* settings.c - what is asked of the cluster. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "config/settings_env.h"
#include "providers/slurm/slurm.h"
#include "sandbox/quote.h"

static const char group[] = "slurm";

const struct setting slurm_settings[] = {
	{ .key = "via",
	  .example = "\"me@login.example.org\"",
	  .type = SETTING_STRING,
	  .help = "\"user@login\": login node with Slurm's programs, used over "
		  "ssh; not set: this machine" },
	{ .key = "partition",
	  .example = "\"short\"",
	  .type = SETTING_STRING,
	  .field = "--partition=",
	  .help = "partition of the job" },
	{ .key = "account",
	  .example = "\"proj42\"",
	  .type = SETTING_STRING,
	  .field = "--account=",
	  .help = "account that the job is charged to" },
	{ .key = "qos",
	  .example = "\"normal\"",
	  .type = SETTING_STRING,
	  .field = "--qos=",
	  .help = "quality of service of the job" },
	{ .key = "cpus",
	  .unit = "CPUs",
	  .example = "4",
	  .type = SETTING_INT,
	  .field = "--cpus-per-task=",
	  .help = "processors" },
	{ .key = "memory",
	  .unit = "size",
	  .example = "\"8G\"",
	  .type = SETTING_STRING,
	  .field = "--mem=",
	  .help = "memory, as for sbatch: \"8G\"" },
	{ .key = "gpus",
	  .example = "\"a100:2\"",
	  .type = SETTING_STRING,
	  .field = "--gres=gpu:",
	  .help = "GPUs: \"1\" or \"a100:2\"" },
	{ .key = "time",
	  .example = "\"8:00:00\"",
	  .type = SETTING_STRING,
	  .field = "--time=",
	  .help = "time limit, as for sbatch: \"8:00:00\"; not set: four "
		  "hours" },
	{ .key = "constraint",
	  .example = "\"avx512\"",
	  .type = SETTING_STRING,
	  .field = "--constraint=",
	  .help = "features that the node must have" },
	{ .key = "container",
	  .example = "\"/shared/images/base\"",
	  .type = SETTING_STRING,
	  .field = "--container=",
	  .help = "directory of an OCI bundle that the job runs in" },
	{ .key = "apptainer",
	  .example = "\"docker://python:3\"",
	  .type = SETTING_STRING,
	  .help = "Apptainer image that commands run in, if the node has "
		  "Apptainer: a file, or \"docker://...\"" },
	{ .key = "options",
	  .example = "[\"--reservation=course\"]",
	  .type = SETTING_LIST,
	  .help = "more options of sbatch: [\"--reservation=x\"]" },
	{ .key = "requeue",
	  .type = SETTING_BOOL,
	  .fallback = "false",
	  .help = "true: Slurm may restart the job on another node, but what "
		  "ran in it is lost anyway" },
	{ .key = "root",
	  .type = SETTING_STRING,
	  .fallback = "\"~/dcode\"",
	  .help = "directory on the node for the sandbox's own directory" },
	{ .key = "wait",
	  .unit = "seconds",
	  .type = SETTING_INT,
	  .fallback = "3600",
	  .help = "seconds that the job may wait in the queue (0: no limit)" },
	{ 0 },
};

/* A value of sbatch is one line, and is given to no shell unquoted. */
static int check_text(const char *key, const char *value, struct error *err)
{
	for (; *value; value++)
		if ((unsigned char)*value < ' ' || *value == 0x7f)
			return error_set(
				err, ERR_CONFIG,
				"%s of [sandboxes.providers.slurm.params] "
				"contains a control character",
				key);
	return 0;
}

static int read_text(const struct settings *set, const char *key,
		     const char **value, struct error *err)
{
	*value = NULL;
	if (settings_string(set, group, key, value, err) < 0)
		return -1;
	if (*value && !**value)
		*value = NULL;
	return *value ? check_text(key, *value, err) : 0;
}

/* "-oProxyCommand=..." would be an option of ssh, which runs it. */
static int check_login(const char *via, struct error *err)
{
	if (via && via[0] == '-')
		return error_set(err, ERR_CONFIG,
				 "via = \"%.100s\" is not a login node: it "
				 "begins with a \"-\"",
				 via);
	return 0;
}

static int check_root(const char *root, struct error *err)
{
	if (root &&
	    (root[0] == '/' || !strcmp(root, "~") || !strncmp(root, "~/", 2)))
		return 0;
	return error_set(err, ERR_CONFIG,
			 "root = \"%.100s\" is not an absolute path: "
			 "\"/scratch/me\" or \"~/dcode\"",
			 root ? root : "");
}

int slurm_settings_read(struct slurm *s, const struct settings *set,
			struct error *err)
{
	s->settings = set;
	if (read_text(set, "via", &s->via, err) < 0 ||
	    check_login(s->via, err) < 0 ||
	    read_text(set, "root", &s->root, err) < 0 ||
	    check_root(s->root, err) < 0 ||
	    read_text(set, "container", &s->container, err) < 0 ||
	    read_text(set, "apptainer", &s->image, err) < 0 ||
	    settings_int(set, group, "wait", &s->wait_s, err) < 0)
		return -1;
	if (s->wait_s < 0)
		return error_set(err, ERR_CONFIG, "wait = %lld is below zero",
				 (long long)s->wait_s);
	return 0;
}

static void add_word(struct buf *words, const char *option, struct str value)
{
	struct buf word = BUF_INIT(1 << 16);

	buf_adds(&word, option);
	buf_addstr(&word, value);
	buf_addc(words, ' ');
	quote_word(words, buf_str(&word));
	buf_release(&word);
}

/* A row that is an option of sbatch. */
static int add_row(const struct settings *set, const struct setting *row,
		   struct buf *words, struct error *err)
{
	const char *text = NULL;
	char number[24];
	int64_t n = 0;

	if (row->type == SETTING_STRING) {
		if (read_text(set, row->key, &text, err) < 0)
			return -1;
	} else {
		if (settings_int(set, group, row->key, &n, err) < 0)
			return -1;
		snprintf(number, sizeof(number), "%lld", (long long)n);
		text = n > 0 ? number : NULL;
	}
	if (text)
		add_word(words, row->field, str_of(text));
	return 0;
}

/* squeue, scancel and srun would ask another one. */
static bool names_cluster(const char *option)
{
	static const char constraint[] = "--cluster-constraint";

	return !strncmp(option, "-M", 2) ||
	       (!strncmp(option, "--cluster", strlen("--cluster")) &&
		strncmp(option, constraint, sizeof(constraint) - 1) != 0);
}

static int refuse_cluster(const char *option, struct error *err)
{
	error_set(err, ERR_CONFIG,
		  "options: \"%.100s\" would make jobs of another cluster",
		  option);
	return error_hint(err, SLURM_OTHER_CLUSTER);
}

static int add_options(const struct settings *set, struct buf *words,
		       struct error *err)
{
	const char *const *list = NULL;
	size_t n = 0;

	if (settings_list(set, group, "options", &list, &n, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		if (list[i][0] != '-')
			return error_set(
				err, ERR_CONFIG,
				"options: not an option of sbatch: \"%.100s\"",
				list[i]);
		if (names_cluster(list[i]))
			return refuse_cluster(list[i], err);
		if (check_text("options", list[i], err) < 0)
			return -1;
		add_word(words, "", str_of(list[i]));
	}
	return 0;
}

int slurm_settings_words(const struct slurm *s, const struct sandbox_spec *spec,
			 struct buf *words, struct error *err)
{
	const struct setting *row;
	const char *time = NULL;
	bool requeue = false;

	if (read_text(s->settings, "time", &time, err) < 0 ||
	    settings_bool(s->settings, group, "requeue", &requeue, err) < 0)
		return -1;
	buf_adds(words, requeue ? " --requeue" : " --no-requeue");
	if (!time) /* in minutes, rounded up */
		buf_addf(words, " --time=%lld",
			 (long long)((spec->lifetime_s + 59) / 60));
	for (row = slurm_settings; row->key; row++)
		if (row->field && add_row(s->settings, row, words, err) < 0)
			return -1;
	return add_options(s->settings, words, err);
}
