/* request.c - encodes requests about a job in a sandbox, decodes their
 * answers. */
/* SPDX-License-Identifier: MIT */

/*
 * A request is a command for the sandbox's sh: variable assignments followed by
 * the scripts of scripts/sandbox/supervise*.sh. Its answer is one frame
 * (sandbox/frame.h): the status consists of a word and numbers, the body is new
 * output. Nothing here does I/O; supervise.c sends and repeats requests. The
 * end of the file decides how large an answer may be after answers were cut
 * off.
 */
#include "sandbox/supervise/request.h"

#include <inttypes.h>
#include <string.h>

#include "base/sanitize.h"
#include "base/str.h"
#include "sandbox/exec.h"
#include "sandbox/frame.h"
#include "sandbox/quote.h"
#include "sandbox/setup/setup.h"

enum {
	SCRIPT_MAX = 64 << 10,
	RUN_MAX = 32 << 20,
	ARGUMENT_MAX = 100000, /* Linux allows 128 KiB per argument */
};

static const unsigned char request_sh[] = {
#include "scripts/sandbox/supervise.sh.inc"
};
static const unsigned char lib_sh[] = {
#include "scripts/sandbox/supervise_lib.sh.inc"
};
static const unsigned char kill_sh[] = {
#include "scripts/sandbox/supervise_kill.sh.inc"
};
static const unsigned char quick_sh[] = {
#include "scripts/sandbox/supervise_quick.sh.inc"
};
static const unsigned char list_sh[] = {
#include "scripts/sandbox/supervise_list.sh.inc"
};
static const unsigned char keep_sh[] = {
#include "scripts/sandbox/supervise_keep.sh.inc"
};

/* Shell expression for ".OWNER"; empty if the machine is not shared. */
#define OF_OWNER "${DCODE_EXEC#\"${DCODE_EXEC%%.*}\"}"

static void assign_script(struct buf *out, const char *name, struct str a,
			  struct str b)
{
	struct buf text = BUF_INIT(SCRIPT_MAX);

	quote_script(&text, a);
	quote_script(&text, b);
	quote_assign(out, name, buf_str(&text));
	buf_release(&text);
}

/* True if every sh can export the name. False for names that some shells
 * reserve: their variables may be read-only or numeric. */
static bool is_exportable(struct str name)
{
	static const char *const own[] = {
		"BASHOPTS", "BASH_VERSINFO", "EUID",    "LINENO",    "OPTIND",
		"PPID",     "RANDOM",        "SECONDS", "SHELLOPTS", "UID"
	};
	static const char rest[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "abcdefghijklmnopqrstuvwxyz_0123456789";

	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		if (str_is(name, own[i]))
			return false;
	return strspn(name.ptr, rest) >= name.len &&
	       (*name.ptr < '0' || *name.ptr > '9');
}

/* Exports the environment instead of passing it as arguments, which other users
 * of the machine can read. Only values whose names sh cannot export are passed
 * as arguments of env(1). */
static int add_env(struct buf *out, const char *const *env, struct error *err)
{
	struct buf odd = BUF_INIT(RUN_MAX);

	for (; env && *env; env++) {
		struct str name = str_of(*env);

		name.len = str_find(name, '=');
		if (!name.len || !(*env)[name.len] || **env == '-') {
			buf_release(&odd);
			return error_set(err, ERR_USAGE,
					 "a variable without a name: %.40s",
					 *env);
		}
		if (is_exportable(name)) {
			buf_addf(out, "\nexport %.*s=", (int)name.len,
				 name.ptr);
			quote_word(out, str_of(*env + name.len + 1));
		} else {
			buf_addc(&odd, ' ');
			quote_word(&odd, str_of(*env));
		}
	}
	buf_adds(out, "\nexec");
	if (odd.len) {
		buf_adds(out, " env");
		buf_addstr(out, buf_str(&odd));
	}
	buf_release(&odd);
	return 0;
}

/* Builds the script that runs the command. The command's text is an argument,
 * or is read from a file if it is too long for one; it is never part of this
 * script. */
static int add_run(struct buf *out, const struct job_request *ask,
		   struct error *err)
{
	bool long_one = ask->req->command.len > ARGUMENT_MAX;

	buf_adds(out, "cd -- ");
	quote_word(out, str_of(ask->cwd));
	buf_adds(out, " 2>/dev/null||{ :>\"$s_dir/nocwd\";exit 126;}\n");
	if (ask->req->aside)
		facts_add_script(out, ask->req->aside);
	if (long_one) {
		buf_adds(out, "printf %s ");
		quote_word(out, ask->req->command);
		buf_adds(out, " >\"$s_dir/x\"\n");
	}
	buf_adds(out, ask->req->plain
			      ? "set -- \"$(command -v sh)\"\n"
			      : "set -- \"$(command -v bash||command -v "
				"sh)\"\n");
	buf_adds(out, "set -- \"$1\" -c ");
	if (long_one)
		buf_adds(out, "'__dcode=$(cat \"$1\";echo x);eval "
			      "\"shift;unset __dcode;${__dcode%x}\"' "
			      "\"$1\" \"$s_dir/x\"");
	else
		quote_word(out, ask->req->command);
	if (!ask->req->plain)
		buf_adds(out, "\ns_env=" SETUP_ENV_FILE OF_OWNER
			      "\n[ ! -O \"$s_env\" ]||set -- \"$(command -v "
			      "sh)\" -c '. \"$0\";exec \"$@\"' \"$s_env\" "
			      "\"$@\"");
	if (ask->preloaded)
		buf_adds(out, "\nset -- $s_set \"$@\"");
	/* Look up the program first: a variable of the command may change
	 * PATH. */
	if (ask->preloaded && ask->req->env && ask->req->env[0])
		buf_adds(out, "\ns_set=$(command -v \"$1\");shift\n"
			      "set -- \"$s_set\" \"$@\"");
	if (add_env(out, ask->req->env, err) < 0)
		return -1;
	buf_adds(out, " \"$@\"\n");
	return buf_check(out, "the command", err);
}

static void assign_keeper(struct buf *out)
{
	assign_script(out, "s_lib", SCRIPT(lib_sh), SCRIPT(kill_sh));
	assign_script(out, "s_keep", SCRIPT(keep_sh), (struct str){ 0 });
}

void supervise_preload(struct buf *out)
{
	assign_keeper(out);
	buf_adds(out, "s_wrap=held_answer s_only=1 s_umask=$(umask)\n"
		      "s_base64=$(printf a | base64 2>/dev/null || echo no)\n"
		      "eval \"$s_lib\"\neval \"$s_keep\"\n"
		      "s_clock\ns_epoch=$(($(date +%s) - s_now / 100))\n");
	quote_script(out, SCRIPT(request_sh));
	quote_script(out, SCRIPT(quick_sh));
}

static int add_start(struct buf *out, const struct job_request *ask,
		     struct error *err)
{
	struct buf run = BUF_INIT(RUN_MAX);
	bool coded = false;
	int rc;

	buf_addf(out, "s_limit=%" PRId64 " s_cap=%d s_held=%d s_both=%s\n",
		 (ask->req->timeout_ms + 9) / 10,
		 ask->held ? SUPERVISE_HELD_CAP : SUPERVISE_CAP, ask->held,
		 ask->req->merged || ask->kept ? "1" : "");
	if (!ask->preloaded)
		assign_keeper(out);
	rc = add_run(&run, ask, err);
	quote_assign(out, "s_run", buf_str(&run));
	buf_release(&run);
	if (ask->input.len)
		coded = quote_content(out, ask->input, ask->base64);
	if (ask->input.len)
		buf_addf(out, "s_b64=%d\n", coded);
	if (!ask->preloaded)
		buf_adds(out, "eval \"$s_lib\"\n");
	return rc;
}

int supervise_compose(const struct job_request *ask, struct buf *command,
		      struct error *err)
{
	static const char *const ops[] = { "start", "follow", "kill",
					   "claim", "list",   "leave" };

	buf_addf(
		command,
		"s_op=%s s_job=%s s_nonce=%s s_o=%" PRId64 " s_e=%" PRId64
		" s_hold=%" PRId64 " s_gather=%" PRId64
		" s_max=%zu s_b64= s_forget='%s' s_at=%s%s s_place=%s s_ring=%d"
		" s_jobs='%s'\n",
		ops[ask->op], ask->job, ask->nonce, ask->out_at, ask->err_at,
		(ask->hold_ms + 9) / 10, (ask->gather_ms + 9) / 10, ask->max,
		ask->forget ? ask->forget : "", ask->owner ? "." : "",
		ask->owner ? ask->owner : "", ask->kept ? "jobs" : "exec",
		ask->kept ? SUPERVISE_RING : 0, ask->jobs ? ask->jobs : "");
	if (ask->op == JOB_START) {
		if (add_start(command, ask, err) < 0)
			return -1;
	} else if (!ask->preloaded) {
		quote_script(command, SCRIPT(lib_sh));
		if (ask->op == JOB_KILL)
			quote_script(command, SCRIPT(kill_sh));
	}
	if (ask->op == JOB_LIST)
		quote_script(command, SCRIPT(list_sh));
	if (ask->preloaded)
		buf_adds(command, "s_serve\n");
	else
		quote_script(command, SCRIPT(request_sh));
	return buf_check(command, "the request for the command", err);
}

struct parsing {
	struct supervise_answer *a;
	bool found;
};

static int on_body(void *arg, struct str bytes, struct error *err)
{
	struct parsing *p = arg;

	buf_addstr(&p->a->body, bytes);
	return buf_check(&p->a->body, "the answer", err);
}

bool supervise_number(struct str *rest, int64_t min, int64_t max, int64_t *n)
{
	struct str word;

	return str_split(rest, ' ', &word) && str_to_int(word, n) &&
	       *n >= min && *n <= max;
}

bool supervise_word(struct str word, enum job_word *w)
{
	static const char *const words[] = {
		[WORD_RUN] = "run",         [WORD_END] = "end",
		[WORD_LATE] = "late",       [WORD_KILLED] = "killed",
		[WORD_NOCWD] = "nocwd",     [WORD_FULL] = "full",
		[WORD_LOST] = "lost",       [WORD_GONE] = "gone",
		[WORD_NOWHERE] = "nowhere", [WORD_NOBASE64] = "nobase64",
		[WORD_NEVER] = "never",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (!str_is(word, words[i]))
			continue;
		*w = (enum job_word)i;
		return true;
	}
	return false;
}

static bool read_status(struct supervise_answer *a, struct str rest)
{
	const int64_t most = INT64_MAX / 4;
	int64_t len = (int64_t)a->body.len;
	struct str word = { 0 };
	int64_t n[5];

	if (!str_split(&rest, ' ', &word) || !supervise_word(word, &a->word) ||
	    !supervise_number(&rest, -1, 255, &n[0]) ||
	    !supervise_number(&rest, -1, most, &n[1]) ||
	    !supervise_number(&rest, 0, len, &n[2]) ||
	    !supervise_number(&rest, -1, most, &n[3]) ||
	    !supervise_number(&rest, 0, len, &n[4]) || rest.len)
		return false;
	if (n[2] + n[4] != len || (len && (n[1] < 0 || n[3] < 0)))
		return false;
	a->code = (int)n[0];
	a->out_at = n[1];
	a->out_len = (size_t)n[2];
	a->err_at = n[3];
	return true;
}

static int on_status(void *arg, const char *status, struct error *err)
{
	struct parsing *p = arg;

	p->found = read_status(p->a, str_of(status));
	/* Returns an error in both cases, so that parsing stops: the first
	 * complete answer counts. A vendor that ran a request twice sent
	 * two. */
	return error_set(err, ERR_PROTOCOL,
			 "unexpected server response: contradictory");
}

static void explain_answer(const struct frame *f, struct error *err)
{
	struct buf text = BUF_INIT(200);

	sanitize_text((struct str){ f->noise, f->noise_len }, &text);
	if (f->state || !text.len)
		buf_clear(&text);
	error_set(err, ERR_PROTOCOL, "unexpected server response: %s",
		  text.len   ? text.ptr
		  : f->state ? "it is cut short"
			     : "(empty)");
	buf_release(&text);
}

int supervise_parse(struct str raw, const char *nonce,
		    struct supervise_answer *a, struct error *err)
{
	struct parsing p = { .a = a };
	struct frame_sink sink = { on_body, on_status, &p };
	struct error why = { 0 };
	struct frame f;

	buf_clear(&a->body);
	frame_init(&f, nonce);
	(void)frame_feed(&f, raw, &sink, &why);
	if (!p.found && !why.code)
		explain_answer(&f, &why);
	frame_release(&f);
	if (p.found)
		return 0;
	*err = why;
	return -1;
}

enum {
	/* smallest piece after damaged answers */
	DAMAGED_MIN = 2048,
	/* largest piece after an answer was cut off; halved for each further
	 * one */
	CUT_MAX = 64 << 10,
	/* smallest piece after a cut: a request has about this size */
	CUT_MIN = 4096,
	/* pause after a failure; doubled for each further one */
	PAUSE_MS = 100,
	PAUSE_MAX_MS = 5000,
	/* An existing connection broke: the next may work, so pause less. */
	PAUSE_CUT_MS = 1000,
};

bool piece_shrink(struct answer_piece *p, bool cut)
{
	size_t max = p->max / 2;

	if (cut && max > CUT_MAX)
		max = CUT_MAX;
	if (max < (cut ? CUT_MIN : DAMAGED_MIN))
		return false;
	p->max = max;
	if (!cut)
		p->limit = max;
	return true;
}

void piece_grow(struct answer_piece *p)
{
	p->max = p->max < p->limit / 2 ? p->max * 2 : p->limit;
}

int64_t piece_pause_ms(unsigned failures, const struct error *why, bool smaller)
{
	bool cut = why->code == ERR_NETWORK && !why->http_status;
	int64_t most = cut ? PAUSE_CUT_MS : PAUSE_MAX_MS;
	int64_t pause = most;

	if (failures <= 6)
		pause = (int64_t)PAUSE_MS << (failures - 1);
	if (smaller)
		return PAUSE_MS;
	return pause < most ? pause : most;
}
