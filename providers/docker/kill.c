/* kill.c - ends all processes of a command, and checks that with the engine. */
/* SPDX-License-Identifier: MIT */
/*
 * A command that was cancelled or timed out may have started any processes.
 * Begin with end_call(), which does three things:
 *
 * 1. It runs a shell in the container that kills the command's processes, with
 * the script that every other provider uses, too (run_killer()). The shell gets
 * no more rights than the command had, because the command may have replaced
 * the shell's program. For the same reason its output is not read.
 *
 * 2. It reads from the engine which processes run (GET /containers/ID/top), and
 * decides which of them belong to the command (top_belongs()), from process
 * ids, parents and ages. A program in the container cannot choose these.
 *
 * 3. If some still live after two seconds, it restarts a container that dcode
 * created. In other containers it only reports their names.
 *
 * The kill takes up to 2 seconds and a restart. As on every provider,
 * src/sandbox/exec.c runs it on a thread, lets the caller of a cancelled
 * command continue meanwhile, and makes the next command wait.
 *
 * Other providers only do step 1. Steps 2 and 3 are possible here because the
 * engine can be asked from outside of the container, and can restart a
 * container that a command controls. Commands themselves cannot run under the
 * supervisor: see exec.c.
 *
 * The first half of the file is the engine's list of processes, the second half
 * ends them. THREAT_MODEL.md, 3a, describes the attacks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "providers/docker/docker.h"
#include "providers/docker/engine.h"
#include "sandbox/quote.h"

/* One process in the engine's list. A program in the container can forge the
 * text of command, but no other field. */
struct top_process {
	int64_t pid, parent; /* as numbered in the engine's answer */
	int64_t host_pid; /* pid of the same process on the engine's machine */
	int64_t age_ms;   /* accurate to two seconds; -1 unknown */
	bool zombie;
	const char *command; /* borrowed from top.answer */
};

struct top {
	cJSON *answer;
	struct top_process *list; /* owned, sorted by pid */
	size_t n;
};

/* The command whose processes are searched ("the call"). Pids are those of the
 * engine's machine; 0 unknown. */
struct top_call {
	int64_t init; /* the container's first process */
	int64_t root; /* the first process of the call's exec */
	/* pid of dcode's killer (run_killer()) if it did not end in time */
	int64_t killer;
	int64_t age_ms;  /* ms since the call was sent */
	bool init_reaps; /* init reaps every orphan as soon as it has ended */
};

enum {
	/* ms for a kill; then a container that dcode created is restarted */
	KILL_MS = 2000,
	RESTART_MS = 30000,
	STAYS_MS = 100, /* pause before a restarted container is inspected */
	ASK_MS = 5000,  /* for one request to the engine */
	COUNT_PAUSE_MS = 100,
	NAMES_BYTES = 400, /* bytes of names in a notice */
	PROCESSES_MAX = 1 << 16,
	/* Ages are inexact: Podman 4.3 shows up to two seconds too many, and ps
	 * is off by up to one second. */
	AGE_MORE_MS = 2500,
	AGE_LESS_MS = 1500,
	DEPTH_MAX = 64,
	NAMED_MAX = 5,
	NAME_MAX_BYTES = 60,
};

/* Docker passes ps_args to the ps of its own machine. Podman lists processes
 * itself only if the words are its own column names; for all others it runs the
 * container's ps, which a command can replace. So Podman's names are tried
 * first (20.10 and 4.3, 2026-11). */
static const char *const queries[] = {
	/* Podman's names of columns */
	"/top?ps_args=hpid,pid,ppid,state,etime,args",
	/* for every ps that Docker may run */
	"/top?ps_args=-o%20pid,ppid,stat,etime,args",
};

/* Parses "[[DD-]HH:]MM:SS", the format of ps. Returns milliseconds, or -1. */
static int64_t parse_clock_age(struct str text)
{
	struct str days = { text.ptr, str_find(text, '-') };
	struct str part;
	int64_t total = 0;
	int64_t n = 0;

	if (days.len < text.len) {
		if (!str_to_int(days, &n))
			return -1;
		text = str_skip(text, days.len + 1);
	}
	while (str_split(&text, ':', &part)) {
		int64_t value;

		if (!str_to_int(part, &value) || value < 0 || value > 99)
			return -1;
		total = total * 60 + value;
	}
	return n < 0 || n > 100000 ? -1 : (n * 86400 + total) * 1000;
}

/* Parses a duration as Go prints it: "1h2m3.5s", "812.1ms". Returns
 * milliseconds, or -1. */
static int64_t parse_go_age(const char *text)
{
	static const struct {
		const char *unit;
		double ms;
	} units[] = { { "h", 3600000 },     { "ms", 1 },    { "m", 60000 },
		      { "s", 1000 },        { "ns", 1e-6 }, { "us", 1e-3 },
		      { "\xc2\xb5s", 1e-3 } };
	double total = 0;

	while (*text) {
		char *end;
		double n = strtod(text, &end);
		size_t i = 0;

		while (i < sizeof(units) / sizeof(*units) &&
		       strncmp(end, units[i].unit, strlen(units[i].unit)) != 0)
			i++;
		if (end == text || i == sizeof(units) / sizeof(*units) ||
		    !(n >= 0 && n < 1e9))
			return -1;
		total += n * units[i].ms;
		text = end + strlen(units[i].unit);
	}
	return (int64_t)total;
}

/* Parses an age in either format. Returns milliseconds; -1 unknown. */
static int64_t parse_age(const char *text)
{
	if (!*text)
		return -1;
	return strchr(text, ':') ? parse_clock_age(str_of(text))
				 : parse_go_age(text);
}

static int find_title(const cJSON *titles, const char *name)
{
	const cJSON *title;
	int i = 0;

	cJSON_ArrayForEach (title, titles) {
		if (cJSON_IsString(title) && !strcmp(title->valuestring, name))
			return i;
		i++;
	}
	return -1;
}

/* Returns the text of row in the first column whose title is one of these, or
 * "". */
static const char *find_cell(const cJSON *titles, const cJSON *row,
			     const char *const *names)
{
	for (; *names; names++) {
		const cJSON *cell;
		int i = find_title(titles, *names);

		if (i < 0)
			continue;
		cell = cJSON_GetArrayItem(row, i);
		return cJSON_IsString(cell) ? cell->valuestring : "";
	}
	return "";
}

/* True if the state is that of a dead process. "Zl" does not count: its first
 * thread has ended, but others run. */
static bool is_zombie(const char *state)
{
	return (state[0] == 'Z' || state[0] == 'X') && !strchr(state, 'l');
}

/* Parses one row. False if a number is missing. */
static bool parse_process(const cJSON *titles, const cJSON *row,
			  struct top_process *p)
{
	static const char *const pid[] = { "PID", NULL };
	static const char *const parent[] = { "PPID", NULL };
	static const char *const host[] = { "HPID", "PID", NULL };
	static const char *const age[] = { "ELAPSED", NULL };
	static const char *const state[] = { "STATE", "STAT", "S", NULL };
	static const char *const command[] = { "COMMAND", "CMD", "ARGS", NULL };

	*p = (struct top_process){
		.age_ms = parse_age(find_cell(titles, row, age)),
		.zombie = is_zombie(find_cell(titles, row, state)),
		.command = find_cell(titles, row, command),
	};
	return str_to_int(str_of(find_cell(titles, row, pid)), &p->pid) &&
	       str_to_int(str_of(find_cell(titles, row, parent)), &p->parent) &&
	       str_to_int(str_of(find_cell(titles, row, host)), &p->host_pid);
}

static int compare_pids(const void *a, const void *b)
{
	const struct top_process *left = a;
	const struct top_process *right = b;

	return (left->pid > right->pid) - (left->pid < right->pid);
}

static int fail_invalid_list(struct error *err)
{
	return error_set(err, ERR_PROTOCOL,
			 "the engine's list of processes is invalid");
}

/* Frees the list and leaves it empty. */
static void top_release(struct top *top)
{
	cJSON_Delete(top->answer);
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): NULL once it was freed */
	free(top->list);
	*top = (struct top){ 0 };
}

/* Parses the engine's answer, which top then owns. ERR_PROTOCOL if it is
 * unusable or empty: a running container has at least one process. */
static int top_parse(struct top *top, cJSON *answer, struct error *err)
{
	const cJSON *rows = json_get(answer, "Processes");
	int n = cJSON_GetArraySize(rows);
	struct top_process *list;
	const cJSON *row;
	size_t got = 0;

	*top = (struct top){ 0 };
	if (n <= 0 || n > PROCESSES_MAX) {
		cJSON_Delete(answer);
		return fail_invalid_list(err);
	}
	list = xcalloc((size_t)n, sizeof(*list));
	cJSON_ArrayForEach (row, rows)
		if (parse_process(json_get(answer, "Titles"), row, &list[got]))
			got++;
	*top = (struct top){ .answer = answer, .list = list, .n = got };
	if (got == (size_t)n) {
		qsort(list, got, sizeof(*list), compare_pids);
		return 0;
	}
	top_release(top);
	return fail_invalid_list(err);
}

/* Reads GET /containers/ID/top. The query that worked is stored for the next
 * call. */
static int top_read(struct engine *e, const char *container, struct top *top,
		    const struct stop *stop, struct error *err)
{
	int rc = -1;

	*top = (struct top){ 0 };
	for (int i = atomic_load(&e->top_words); i < 2; i++) {
		struct engine_ask ask = { .http.method = "GET",
					  .http.path = "/containers/",
					  .id = container,
					  .action = queries[i],
					  .http.what = "listing processes" };
		struct error why = { 0 };
		cJSON *answer = NULL;

		rc = engine_json(e, &ask, &answer, stop, &why);
		if (rc == 0)
			rc = top_parse(top, answer, &why);
		if (rc == 0)
			atomic_store(&e->top_words, i);
		else
			*err = why;
		if (rc == 0 || why.code == ERR_CANCELLED ||
		    why.code == ERR_TIMEOUT || why.code == ERR_NOT_FOUND)
			break;
	}
	return rc;
}

static const struct top_process *find_process(const struct top *top,
					      int64_t pid)
{
	struct top_process key = { .pid = pid };

	return bsearch(&key, top->list, top->n, sizeof(key), compare_pids);
}

/* True if the process began after the call's first process. Its age decides if
 * the difference is clear. Otherwise the pid decides: pids grow, but wrap
 * around at some time. */
static bool is_younger(const struct top_process *p, const struct top_call *call)
{
	if (p->age_ms >= 0 && p->age_ms - AGE_MORE_MS > call->age_ms)
		return false;
	if (p->age_ms >= 0 && p->age_ms + AGE_LESS_MS < call->age_ms)
		return true;
	return call->root && p->host_pid > call->root;
}

/* True for the container's first process. If its pid is unknown, that is the
 * process with the lowest pid. */
static bool is_init(const struct top *top, const struct top_process *p,
		    const struct top_call *call)
{
	return call->init ? p->host_pid == call->init : p == top->list;
}

/* True if the process is dead: a zombie without running threads. Podman also
 * shows a zombie if threads of it still run. Two cases can be told apart,
 * because a dead process would have been reaped by now: the parent is an init
 * that reaps at once, or it is not in the list (then this is the first process
 * of an exec, which the engine reaps). */
static bool has_ended(const struct top *top, const struct top_process *p,
		      const struct top_call *call)
{
	const struct top_process *parent = find_process(top, p->parent);

	return p->zombie && parent &&
	       !(call->init_reaps && is_init(top, parent, call));
}

/* True if list[i] belongs to the call: it descends from root or killer, or it
 * is a child of init that began after root, because its parent has ended.
 * Processes of other running commands, and those that earlier commands left
 * running, do not belong to the call. */
static bool top_belongs(const struct top *top, size_t i,
			const struct top_call *call)
{
	const struct top_process *p = &top->list[i];
	const struct top_process *below = NULL;

	if (has_ended(top, p, call))
		return false;
	for (int depth = 0; p && depth < DEPTH_MAX; depth++) {
		if (is_init(top, p, call))
			return below && is_younger(below, call);
		if (p->host_pid == call->root || p->host_pid == call->killer)
			return true;
		below = p;
		p = p->parent == p->pid ? NULL : find_process(top, p->parent);
	}
	/* The walk to the first process did not end there. p is NULL: a parent
	 * is not in the list, so this belongs to another exec. Otherwise the
	 * tree is deeper than any normal one. */
	return p && is_younger(&top->list[i], call);
}

/* True if an earlier command left the process running. The oldest child of the
 * container's first process does not count: it is that process's own sleep. */
static bool is_background(const struct top *top, size_t i,
			  const struct top_call *call)
{
	const struct top_process *p = &top->list[i];
	const struct top_process *parent = find_process(top, p->parent);

	if (!parent || !is_init(top, parent, call) || p->zombie ||
	    top_belongs(top, i, call))
		return false;
	for (size_t k = 0; k < top->n; k++) {
		const struct top_process *other = &top->list[k];

		if (other->parent == parent->pid &&
		    (other->age_ms > p->age_ms ||
		     (other->age_ms == p->age_ms &&
		      other->host_pid < p->host_pid)))
			return true;
	}
	return false;
}

/* Appends the process as "12 sleep 60", sanitized and shortened. */
static void add_name(const struct top_process *p, struct buf *out)
{
	struct buf name = BUF_INIT(1 << 20);
	struct str text;

	sanitize_line(str_of(p->command), &name);
	text = buf_str(&name);
	if (text.len > NAME_MAX_BYTES) {
		text.len = NAME_MAX_BYTES;
		text.len = str_utf8_prefix(text);
	}
	buf_addf(out, "%lld ", (long long)p->pid);
	buf_addstr(out, text);
	if (text.len < name.len)
		buf_adds(out, "...");
	buf_release(&name);
}

/* Appends "12 sleep 60, 14 x and 3 more": the processes of the call or, with
 * background, those that earlier commands left running. Returns their
 * number. */
static size_t top_names(const struct top *top, const struct top_call *call,
			bool background, struct buf *out)
{
	size_t found = 0;

	for (size_t i = 0; i < top->n; i++) {
		if (background ? !is_background(top, i, call)
			       : !top_belongs(top, i, call))
			continue;
		if (++found > NAMED_MAX)
			continue;
		if (found > 1)
			buf_adds(out, ", ");
		add_name(&top->list[i], out);
	}
	if (found > NAMED_MAX)
		buf_addf(out, " and %zu more", found - NAMED_MAX);
	return found;
}

static const unsigned char kill_sh[] = {
#include "scripts/sandbox/supervise_kill.sh.inc"
};

static const unsigned char kill_tree_sh[] = {
#include "scripts/sandbox/supervise_kill_tree.sh.inc"
};

/* State while one command's processes are ended. */
struct kill_job {
	struct docker_box *box;
	const struct docker_call *call;
	struct top_call seen;
	char notice[SANDBOX_NOTICE];
};

/* Appends a sentence to a notice. */
static void add_notice(char notice[SANDBOX_NOTICE], const char *text)
{
	size_t len = strlen(notice);

	if (*text)
		snprintf(notice + len, SANDBOX_NOTICE - len, "%s%s",
			 len ? " " : "", text);
}

/* Writes the body of the request for the killer's exec. The killer runs the
 * container's own sh, which a command may have replaced. So it gets only the
 * user and the rights that commands have, never "Privileged" or another user: a
 * replaced /bin/sh would get all capabilities at the next timeout. Its output
 * is not trusted. */
static void describe_killer(const char *token, struct buf *body)
{
	struct buf script = BUF_INIT(16 << 10);

	quote_script(&script, SCRIPT(kill_sh));
	quote_script(&script, SCRIPT(kill_tree_sh));
	buf_adds(body, "{\"AttachStdout\":true,\"AttachStderr\":true,"
		       "\"WorkingDir\":\"/\",\"Cmd\":[\"/bin/sh\",\"-c\",");
	json_quote(body, buf_str(&script));
	buf_release(&script);
	buf_adds(body, ",\"sh\",");
	json_quote(body, str_of(token));
	buf_adds(body, "]}");
}

/* Runs the killer until its output ends. If that takes too long, reads the
 * killer's pid, so that it counts as a process of the command. */
static void run_killer(struct kill_job *job, const struct stop *stop)
{
	struct engine *e = &job->box->docker->engine;
	struct stop brief = stop_cleanup(ASK_MS);
	struct buf body = BUF_INIT(64 << 10);
	struct exec_link link = { 0 };
	struct exec_state state = { 0 };
	struct error ignored = { 0 };
	char room[512];
	char *id = NULL;
	int64_t n = 1;

	describe_killer(job->call->token, &body);
	if (exec_create(e, job->call->container, buf_str(&body), &id, stop,
			&ignored) == 0 &&
	    exec_start(e, id, false, &link, stop, &ignored) == 0)
		while (n > 0)
			n = conn_recv(link.conn, room, sizeof(room), stop,
				      &ignored);
	if (n != 0 && link.sent &&
	    exec_inspect(e, id, &state, &brief, &ignored) == 0)
		job->seen.killer = state.pid;
	exec_link_release(&link);
	buf_release(&body);
	free(id);
}

/* For engines without a list of processes: returns 1 if the call's first
 * process runs. */
static size_t count_exec(struct kill_job *job, const struct stop *stop,
			 struct buf *names)
{
	struct exec_state state = { 0 };
	struct error ignored = { 0 };

	if (exec_inspect(&job->box->docker->engine, job->call->exec, &state,
			 stop, &ignored) < 0 ||
	    !state.running)
		return 0;
	buf_adds(names, "the command itself");
	return 1;
}

/* Returns how many processes of the call live according to the engine. names
 * receives their names, others the names of processes that earlier commands
 * left running. */
static size_t count_survivors(struct kill_job *job, struct buf *names,
			      struct buf *others)
{
	struct engine *e = &job->box->docker->engine;
	struct stop stop = stop_cleanup(ASK_MS);
	struct error why = { 0 };
	cJSON *inspected = NULL;
	struct top top = { 0 };
	const cJSON *state;
	size_t n = 0;

	buf_clear(names);
	buf_clear(others);
	if (engine_inspect(e, job->call->container, &inspected, &stop, &why) <
	    0)
		return why.code == ERR_NOT_FOUND
			       ? 0
			       : count_exec(job, &stop, names);
	state = json_get(inspected, "State");
	job->seen.init = json_int(state, "Pid", 0);
	job->seen.age_ms = clock_ms() - job->call->sent_ms;
	if (!json_bool(state, "Running", true)) {
		; /* all processes end with the first one */
	} else if (top_read(e, job->call->container, &top, &stop, &why) < 0) {
		n = count_exec(job, &stop, names);
	} else {
		n = top_names(&top, &job->seen, false, names);
		(void)top_names(&top, &job->seen, true, others);
	}
	top_release(&top);
	cJSON_Delete(inspected);
	return n;
}

/* Restarts the container. 0 when it runs again with another first process. */
static int restart_container(struct kill_job *job, struct error *err)
{
	struct engine *e = &job->box->docker->engine;
	struct stop stop = stop_cleanup(RESTART_MS);
	cJSON *inspected = NULL;
	int rc;

	pthread_mutex_lock(&job->box->lock);
	job->box->restarts++;
	pthread_mutex_unlock(&job->box->lock);
	rc = engine_post(e, job->call->container, "/restart?t=0",
			 "restarting the container", &stop, err);
	if (rc == 0)
		rc = stop_sleep(&stop, STAYS_MS, err);
	if (rc == 0)
		rc = engine_inspect(e, job->call->container, &inspected, &stop,
				    err);
	if (rc == 0) {
		docker_box_set_init(job->box, inspected);
		if (!json_bool(json_get(inspected, "State"), "Running", false))
			rc = error_set(err, ERR_GONE,
				       "its first process, /bin/sh, ended at "
				       "once");
		else
			rc = docker_network_open(job->box, inspected, &stop,
						 err);
	}
	cJSON_Delete(inspected);
	return rc;
}

/* Restarts the container and adds a notice that names the ended processes. */
static void end_by_restart(struct kill_job *job, const struct buf *names,
			   const struct buf *others)
{
	struct error err = { 0 };
	char *text;

	if (restart_container(job, &err) < 0)
		text = xasprintf(
			"The command left processes running (%s). dcode could "
			"not restart the container to end them: %s.",
			names->ptr, err.message);
	else
		text = xasprintf(
			"The container was restarted, because the command left "
			"processes running (%s). Files are kept, except in "
			"tmpfs mounts.%s%s%s",
			names->ptr,
			others->len ? " These background processes ended with "
				      "it: "
				    : " Background processes ended with it",
			others->len ? others->ptr : "", ".");
	add_notice(job->notice, text);
	free(text);
}

/* Adds a notice about living processes. An attached container may be in use by
 * somebody else, so it is not restarted. */
static void report_survivors(struct kill_job *job, const struct buf *names)
{
	char *text =
		xasprintf("The command left processes running, and dcode does "
			  "not restart a container that it did not create: %s.",
			  names->ptr);

	add_notice(job->notice, text);
	free(text);
}

/* Ends all processes of one command, in the steps described at the top of the
 * file. */
static void end_call(struct kill_job *job)
{
	struct stop limit = stop_cleanup(KILL_MS);
	struct buf names = BUF_INIT(NAMES_BYTES);
	struct buf others = BUF_INIT(NAMES_BYTES);
	struct exec_state state = { 0 };
	struct error ignored = { 0 };
	size_t living;

	if (exec_inspect(&job->box->docker->engine, job->call->exec, &state,
			 &limit, &ignored) == 0)
		job->seen.root = state.pid;
	job->seen.init_reaps = job->box->created;
	run_killer(job, &limit);
	do {
		living = count_survivors(job, &names, &others);
	} while (living && stop_sleep(&limit, COUNT_PAUSE_MS, &ignored) == 0);
	if (living && job->box->created)
		end_by_restart(job, &names, &others);
	else if (living)
		report_survivors(job, &names);
	buf_release(&names);
	buf_release(&others);
}

void docker_kill(struct docker_box *box, const struct docker_call *call)
{
	struct kill_job job = { .box = box, .call = call };

	end_call(&job);
	pthread_mutex_lock(&box->lock);
	add_notice(box->notice, job.notice);
	pthread_mutex_unlock(&box->lock);
}

struct docker_box *docker_box_new(struct docker *docker, bool created)
{
	struct docker_box *box = xcalloc(1, sizeof(*box));

	box->docker = docker;
	box->created = created;
	pthread_mutex_init(&box->opening, NULL);
	pthread_mutex_init(&box->lock, NULL);
	return box;
}

void docker_box_free(struct docker_box *box)
{
	if (!box)
		return;
	egress_end(box->egress);
	pthread_mutex_destroy(&box->opening);
	pthread_mutex_destroy(&box->lock);
	free(box);
}

void docker_box_set_init(struct docker_box *box, const cJSON *inspected)
{
	pthread_mutex_lock(&box->lock);
	box->init = json_int(json_get(inspected, "State"), "Pid", 0);
	pthread_mutex_unlock(&box->lock);
}

void docker_box_take_notice(struct docker_box *box, char notice[SANDBOX_NOTICE])
{
	pthread_mutex_lock(&box->lock);
	add_notice(notice, box->notice);
	box->notice[0] = '\0';
	if (box->egress && !notice[0])
		egress_report(box->egress, notice, SANDBOX_NOTICE);
	pthread_mutex_unlock(&box->lock);
}

unsigned docker_box_restarts(struct docker_box *box)
{
	unsigned restarts;

	pthread_mutex_lock(&box->lock);
	restarts = box->restarts;
	pthread_mutex_unlock(&box->lock);
	return restarts;
}

/* Returns the pid of the first process, and waits for a restart in progress. 0
 * if the container does not run within ms. */
static int64_t running_init(struct docker *d, const char *container, int64_t ms)
{
	struct stop stop = stop_cleanup(ms);
	struct error ignored = { 0 };
	int64_t init = 0;

	do {
		cJSON *inspected = NULL;
		const cJSON *state;

		if (engine_inspect(&d->engine, container, &inspected, &stop,
				   &ignored) < 0)
			return 0;
		state = json_get(inspected, "State");
		if (json_bool(state, "Running", false))
			init = json_int(state, "Pid", 0);
		cJSON_Delete(inspected);
	} while (!init && stop_sleep(&stop, COUNT_PAUSE_MS, &ignored) == 0);
	return init;
}

bool docker_box_restarted(struct docker_box *box, const char *container,
			  unsigned restarts)
{
	int64_t init;
	bool changed;

	if (docker_box_restarts(box) != restarts)
		return true;
	init = running_init(box->docker, container, KILL_MS);
	pthread_mutex_lock(&box->lock);
	changed = init && box->init && box->init != init;
	if (init)
		box->init = init;
	pthread_mutex_unlock(&box->lock);
	return changed;
}
