/* top.c - the processes of a container, as its engine sees them. */
/* SPDX-License-Identifier: MIT */
#include "providers/docker/top.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"

enum {
	PROCESSES_MAX = 1 << 16,
	/* Podman 4.3 shows up to two seconds too many, ps one more or less. */
	AGE_MORE_MS = 2500,
	AGE_LESS_MS = 1500,
	DEPTH_MAX = 64,
	NAMES_MAX = 5,
	NAME_MAX_BYTES = 60,
};

static const char *const queries[] = {
	"/top?ps_args=hpid,pid,ppid,state,etime,args", /* Podman */
	"/top?ps_args=-o%20pid,ppid,stat,etime,args",  /* Docker, any ps */
};

/* "[[DD-]HH:]MM:SS", what ps prints. */
static int64_t clock_age(struct str text)
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

/* "1h2m3.5s", "812.1ms": a duration as Go prints it. */
static int64_t go_age(const char *text)
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

static int64_t parse_age(const char *text)
{
	if (!*text)
		return -1;
	return strchr(text, ':') ? clock_age(str_of(text)) : go_age(text);
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

/* The text of a row's column that is called by one of the names. */
static const char *column(const cJSON *titles, const cJSON *row,
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

/* "Zl" is none: its first thread has ended, others run. */
static bool is_zombie(const char *state)
{
	return (state[0] == 'Z' || state[0] == 'X') && !strchr(state, 'l');
}

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
		.age_ms = parse_age(column(titles, row, age)),
		.zombie = is_zombie(column(titles, row, state)),
		.command = column(titles, row, command),
	};
	return str_to_int(str_of(column(titles, row, pid)), &p->pid) &&
	       str_to_int(str_of(column(titles, row, parent)), &p->parent) &&
	       str_to_int(str_of(column(titles, row, host)), &p->host_pid);
}

static int by_pid(const void *a, const void *b)
{
	const struct top_process *left = a;
	const struct top_process *right = b;

	return (left->pid > right->pid) - (left->pid < right->pid);
}

static int no_list(struct error *err)
{
	return error_set(err, ERR_PROTOCOL,
			 "the engine's list of processes is invalid");
}

int top_parse(struct top *top, cJSON *answer, struct error *err)
{
	const cJSON *rows = json_get(answer, "Processes");
	int n = cJSON_GetArraySize(rows);
	struct top_process *list;
	const cJSON *row;
	size_t got = 0;

	*top = (struct top){ 0 };
	if (n <= 0 || n > PROCESSES_MAX) {
		cJSON_Delete(answer);
		return no_list(err);
	}
	list = xcalloc((size_t)n, sizeof(*list));
	cJSON_ArrayForEach (row, rows)
		if (parse_process(json_get(answer, "Titles"), row, &list[got]))
			got++;
	*top = (struct top){ .answer = answer, .list = list, .n = got };
	if (got == (size_t)n) {
		qsort(list, got, sizeof(*list), by_pid);
		return 0;
	}
	top_release(top);
	return no_list(err);
}

void top_release(struct top *top)
{
	cJSON_Delete(top->answer);
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): NULL once it was freed */
	free(top->list);
	*top = (struct top){ 0 };
}

int top_read(struct engine *e, const char *container, struct top *top,
	     const struct stop *stop, struct error *err)
{
	int rc = -1;

	*top = (struct top){ 0 };
	for (int i = atomic_load(&e->top_words); i < 2; i++) {
		struct engine_ask ask = { .method = "GET",
					  .path = "/containers/",
					  .id = container,
					  .action = queries[i],
					  .what = "listing processes" };
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

static const struct top_process *find(const struct top *top, int64_t pid)
{
	struct top_process key = { .pid = pid };

	return bsearch(&key, top->list, top->n, sizeof(key), by_pid);
}

/* Began after the call's first process did. Process numbers grow, until they
 * begin anew: so the age has the last word. */
static bool is_younger(const struct top_process *p, const struct top_call *call)
{
	if (p->age_ms >= 0 && p->age_ms - AGE_MORE_MS > call->age_ms)
		return false;
	if (p->age_ms >= 0 && p->age_ms + AGE_LESS_MS < call->age_ms)
		return true;
	return call->root && p->host_pid > call->root;
}

/* Without the engine's word for it the first of all is taken for init. */
static bool is_init(const struct top *top, const struct top_process *p,
		    const struct top_call *call)
{
	return call->init ? p->host_pid == call->init : p == top->list;
}

/* Podman does not say whether a zombie still has threads. One that should have
 * been reaped has: the engine reaps the first process of an exec. */
static bool has_ended(const struct top *top, const struct top_process *p,
		      const struct top_call *call)
{
	const struct top_process *parent = find(top, p->parent);

	return p->zombie && parent &&
	       !(call->init_reaps && is_init(top, parent, call));
}

bool top_belongs(const struct top *top, size_t i, const struct top_call *call)
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
		p = p->parent == p->pid ? NULL : find(top, p->parent);
	}
	/* At the root of another exec; or deeper than any honest tree. */
	return p && is_younger(&top->list[i], call);
}

/* Left by an earlier command; but not what the first process itself waits
 * for, which is the oldest of its children. */
static bool is_background(const struct top *top, size_t i,
			  const struct top_call *call)
{
	const struct top_process *p = &top->list[i];
	const struct top_process *parent = find(top, p->parent);

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

size_t top_names(const struct top *top, const struct top_call *call,
		 bool background, struct buf *out)
{
	size_t found = 0;

	for (size_t i = 0; i < top->n; i++) {
		if (background ? !is_background(top, i, call)
			       : !top_belongs(top, i, call))
			continue;
		if (++found > NAMES_MAX)
			continue;
		if (found > 1)
			buf_adds(out, ", ");
		add_name(&top->list[i], out);
	}
	if (found > NAMES_MAX)
		buf_addf(out, " and %zu more", found - NAMES_MAX);
	return found;
}
