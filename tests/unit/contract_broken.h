/* contract_broken.h - a provider that keeps all its promises but one. */
/* SPDX-License-Identifier: MIT */
#ifndef UNIT_CONTRACT_BROKEN_H
#define UNIT_CONTRACT_BROKEN_H

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "contract_mutants.h"
#include "fake_box.h"
#include "providers/local/local.h"
#include "sandbox/transfer.h"

/* What breaks, and since when. */
static struct broken {
	const struct mutant *mutant;
	bool active;
	struct sandbox_client none;
	enum sandbox_network network[FAKE_MACHINES];
	int extended, snapshots; /* how often */
} broken;

static bool breaks(enum breach breach)
{
	return broken.active && broken.mutant->breach == breach;
}

struct relay {
	const struct exec_request *req;
	struct buf late;
	size_t seen;
	bool refused; /* the output, by dcode */
	bool pulled;  /* from the source of input */
};

/* The source of input without its first byte. */
static int64_t pull_less(void *arg, char *room, size_t len, struct error *err)
{
	struct relay *r = arg;
	int64_t n = r->req->source(r->req->source_arg, room, len, err);

	if (r->pulled || n < 2)
		return n;
	r->pulled = true;
	return n - 1;
}

static void spoil(const struct relay *r, char *bytes, size_t *len)
{
	size_t a = (size_t)broken.mutant->a;

	if (breaks(BYTE_LOST))
		for (size_t i = 0; i < *len; i++)
			if ((unsigned char)bytes[i] == a)
				bytes[i] = (char)broken.mutant->b;
	if (breaks(OUTPUT_FLIPPED) && r->seen <= a && a < r->seen + *len)
		bytes[a - r->seen] ^= 1;
	if (breaks(OUTPUT_CUT) && r->seen + *len > a)
		*len = r->seen > a ? 0 : a - r->seen;
}

static int relay_output(void *arg, enum exec_stream stream, struct str chunk,
			struct buf *reply, struct error *err)
{
	struct relay *r = arg;
	struct str mine = { memcpy(xcalloc(1, chunk.len + 1), chunk.ptr,
				   chunk.len),
			    chunk.len };
	bool again = breaks(OUTPUT_DOUBLED) &&
		     r->seen <= (size_t)broken.mutant->a &&
		     (size_t)broken.mutant->a < r->seen + chunk.len;
	size_t replied = reply ? reply->len : 0;
	int rc = 0;

	spoil(r, (char *)mine.ptr, &mine.len);
	r->seen += chunk.len;
	if (breaks(STREAMS_MERGED))
		stream = EXEC_STDOUT;
	if (breaks(OUTPUT_LATE) || breaks(TIMEOUT_SILENT) || breaks(MUTE))
		buf_addstr(&r->late, mine);
	else if (!breaks(STDERR_LOST) || stream == EXEC_STDOUT)
		rc = r->req->output(r->req->arg, stream, mine, reply, err);
	if (breaks(REPLY_CHANGED) && reply && reply->len > replied)
		reply->ptr[replied] = '5';
	r->refused = rc < 0;
	if (again && rc == 0)
		rc = r->req->output(r->req->arg, stream, mine, reply, err);
	free((char *)mine.ptr);
	return rc;
}

/* Sleeps as long as the command would have: the same mark. */
static void leave_running(struct sandbox *inner, struct str command)
{
	struct exec_request req = { .output = relay_output };
	struct exec_result res;
	struct error err = { 0 };
	struct stop stop = stop_cleanup(5000);
	struct relay r = { .req = &req, .late = BUF_INIT(1000) };
	char *line;

	if (!str_starts(command, "sleep "))
		return;
	line = xasprintf("setsid sleep %.9s >/dev/null & "
			 "until grep -q '^sleep' /proc/$!/cmdline; do :; done",
			 command.ptr + 6);
	req.command = str_of(line);
	req.arg = &r;
	(void)none_provider.ops->execute(inner, &req, &res, &stop, &err);
	free(line);
}

static void spoil_result(struct exec_result *res, struct sandbox *inner,
			 const struct exec_request *req, int *rc)
{
	if (breaks(CODE_CHANGES) && res->exit_code == broken.mutant->a)
		res->exit_code = broken.mutant->b;
	if (breaks(TIMEOUT_UNSAID) && res->timed_out)
		*res = (struct exec_result){ .exit_code = 137 };
	if (breaks(LEAVES_RUNNING) && (res->timed_out || *rc < 0))
		leave_running(inner, req->command);
}

/* Ends as soon as it was cancelled, as if by itself: a kill of more than some
 * milliseconds would be left to another thread, and this not be seen. */
static int end_unsaid(const struct exec_request *req, struct exec_result *res,
		      struct error *err)
{
	*res = (struct exec_result){ .exit_code = 0 };
	return req->output(req->arg, EXEC_STDOUT, STR("begun 9\n"), NULL, err);
}

/* As in a sandbox without the network, or with it although it should not. */
static bool is_cut_off(const struct sandbox *sb)
{
	int at = sb->id ? fake_find(sb->id) : -1;
	enum sandbox_network network =
		at < 0 ? NETWORK_DEFAULT : broken.network[at];

	return (network == NETWORK_NONE && !breaks(NETWORK_LEAKS)) ||
	       (network == NETWORK_FULL && breaks(NETWORK_DEAD));
}

static int broken_execute(struct sandbox *sb, const struct exec_request *req,
			  struct exec_result *res, const struct stop *stop,
			  struct error *err)
{
	struct sandbox inner = { .client = &broken.none,
				 .workdir = sb->workdir };
	struct relay r = { .req = req, .late = BUF_INIT(4 << 20) };
	struct exec_request mine = *req;
	struct buf command = BUF_INIT(1 << 20);
	int rc;

	if (breaks(REFUSES))
		return error_set(err, ERR_REMOTE, "no command today");
	if (breaks(CANCEL_UNSAID) && str_starts(req->command, "sleep "))
		return end_unsaid(req, res, err);
	if (is_cut_off(sb))
		buf_adds(&command, "for i in curl python3 bash nc wget; do"
				   " eval \"$i() { return 1; }\"; done; ");
	buf_addstr(&command, req->command);
	for (size_t i = 0; breaks(COMMAND_BYTE) && i < command.len; i++)
		if ((unsigned char)command.ptr[i] == broken.mutant->a)
			command.ptr[i] = (char)broken.mutant->b;
	if (breaks(COMMAND_SHORT) && command.len > (size_t)broken.mutant->a)
		memmove(command.ptr + 100, command.ptr + 101,
			command.len-- - 101);
	if (str_search(req->command, STR("& echo begun")) < req->command.len)
		buf_adds(&command, breaks(BACKGROUND_AWAITED) ? "\nwait"
				   : breaks(BACKGROUND_ENDED) ? "\nkill $!"
							      : "");
	mine.command = buf_str(&command);
	mine.output = relay_output;
	mine.arg = &r;
	if (breaks(STDIN_FILLED) && !req->input.len && !req->source)
		mine.input = STR("surprise\n");
	if (breaks(INPUT_SHORT) && mine.input.len)
		mine.input.len--;
	if (breaks(SOURCE_SHORT) && mine.source) {
		mine.source = pull_less;
		mine.source_arg = &r;
	}
	if (breaks(TIMEOUT_EARLY))
		mine.timeout_ms /= 20;
	if (breaks(STREAMS_APART))
		mine.merged = false;
	if (breaks(ENV_LOST) || (breaks(ENV_LOST_IF_PLAIN) && mine.plain))
		mine.env = NULL;
	if (breaks(CWD_LOST) ||
	    (breaks(CWD_UNCHECKED) && mine.cwd && access(mine.cwd, X_OK) < 0))
		mine.cwd = NULL;
	rc = none_provider.ops->execute(&inner, &mine, res, stop, err);
	if (breaks(CWD_UNNAMED) && rc < 0)
		error_set(err, ERR_NOT_FOUND, "no such directory");
	if (breaks(OUTPUT_LATE) && r.late.len)
		rc = req->output(req->arg, EXEC_STDOUT, buf_str(&r.late), NULL,
				 err);
	spoil_result(res, &inner, req, &rc);
	if (breaks(REFUSAL_UNSAID) && r.refused) {
		*res = (struct exec_result){ .exit_code = 0 };
		rc = 0;
	}
	buf_release(&r.late);
	buf_release(&command);
	return rc;
}

struct spoiled { /* a download on its way */
	struct transfer *theirs;
	struct buf held;
};

static int hold(void *arg, struct str chunk, struct error *err)
{
	struct spoiled *s = arg;

	(void)err;
	buf_addstr(&s->held, chunk);
	return 0;
}

static void spoil_file(struct spoiled *s, const struct transfer *t)
{
	bool big = (int)s->held.len >= broken.mutant->a;
	struct error ignored = { 0 };

	if (breaks(FILE_SHORT) && big)
		s->held.len--;
	if (breaks(FILE_FLIPPED) && big)
		s->held.ptr[s->held.len / 2] ^= 1;
	s->theirs->error = t->error;
	if (breaks(FILE_ERROR) && (int)t->error == broken.mutant->a)
		s->theirs->error = (enum file_error)broken.mutant->b;
	if (s->theirs->error == FILE_OK && s->held.len)
		s->theirs->write(s->theirs->arg, buf_str(&s->held), &ignored);
}

static int broken_download(struct sandbox *sb, struct transfer *files, size_t n,
			   const struct stop *stop, struct error *err)
{
	int rc = 0;

	for (size_t i = 0; i < n && rc == 0; i++) {
		struct spoiled s = { &files[i], BUF_INIT(16 << 20) };
		size_t at = breaks(FILES_SWAPPED) ? n - 1 - i : i;
		struct transfer t = { .path = files[at].path,
				      .write = hold,
				      .arg = &s };

		rc = transfer_download(sb, &t, 1, stop, err);
		if (breaks(ERROR_SPREADS) && i && files[i - 1].error != FILE_OK)
			t.error = files[i - 1].error;
		spoil_file(&s, &t);
		buf_release(&s.held);
	}
	return rc;
}

/* Leaves a part of a file beside it. */
static void part_left(const char *path)
{
	char *part = xasprintf("%s.part", path);
	FILE *f = fopen(part, "w");

	if (f)
		fclose(f);
	free(part);
}

static int broken_upload(struct sandbox *sb, struct transfer *files, size_t n,
			 const struct stop *stop, struct error *err)
{
	int rc;

	for (size_t i = 0; i < n; i++)
		if (breaks(MODE_LOST))
			files[i].mode = 0;
	rc = transfer_upload(sb, files, n, stop, err);
	if (breaks(PART_LEFT) && n == 1)
		part_left(files[0].path);
	for (size_t i = 0; i < n; i++)
		if (breaks(UPLOAD_ERROR) &&
		    (int)files[i].error == broken.mutant->a)
			files[i].error = (enum file_error)broken.mutant->b;
	for (size_t i = 0; i < n; i++)
		if (breaks(NAME_REFUSED) &&
		    strchr(files[i].path, broken.mutant->a))
			files[i].error = FILE_INVALID_PATH;
	return rc;
}

static int broken_create(struct sandbox *sb, const struct sandbox_spec *spec,
			 const struct stop *stop, struct error *err)
{
	if (breaks(CREATE_FAILS) ||
	    (breaks(SNAPSHOT_NO_START) && spec->snapshot))
		return error_set(err, ERR_REMOTE, "no room");
	if (fake_create(sb, spec, stop, err) < 0)
		return -1;
	broken.network[fake_find(sb->id)] = spec->network->mode;
	return 0;
}

static int broken_attach(struct sandbox *sb, const char *id,
			 const struct stop *stop, struct error *err)
{
	int rc;

	if (breaks(ATTACH_ANY) && fake_find(id) < 0) {
		sb->id = xstrdup(id);
		return 0;
	}
	if (breaks(ATTACH_FAILS))
		return error_set(err, ERR_NOT_FOUND, "no sandbox %s", id);
	if (breaks(ATTACH_GHOST)) {
		sb->id = xstrdup(id);
		return 0;
	}
	rc = fake_attach(sb, id, stop, err);
	if (rc == 0 && breaks(ATTACH_OTHER))
		sb->id[0]++;
	return rc;
}

static int broken_list(struct sandbox_client *client, const char *owner,
		       const struct info_sink *sink, const struct stop *stop,
		       struct error *err)
{
	struct sandbox_info ghost = {
		.id = "machine-1", .label = "", .owner = "", .image = ""
	};

	if (breaks(LIST_GHOST))
		info_emit(sink, &ghost);
	if (breaks(LIST_EMPTY))
		return 0;
	if (breaks(LIST_OF_ALL))
		owner = NULL;
	if (breaks(LIST_TWICE))
		(void)fake_list(client, owner, sink, stop, err);
	return fake_list(client, owner, sink, stop, err);
}

static int64_t broken_end(void)
{
	int64_t now = (int64_t)time(NULL);

	if (breaks(ENDED_BEFORE))
		return now - 5;
	return now + (breaks(ENDS_NEVER) ? 365 * 86400 : 3600);
}

static int broken_info(struct sandbox_client *client, const char *id,
		       const struct info_sink *sink, const struct stop *stop,
		       struct error *err)
{
	int at = fake_find(id);

	(void)client;
	(void)stop;
	if (at < 0 || breaks(INFO_FAILS))
		return error_set(err, ERR_NOT_FOUND, "no sandbox %s", id);
	info_emit(sink,
		  &(struct sandbox_info){
			  .id = breaks(ID_CHANGES) ? "other" : id,
			  .label = breaks(INFO_LABEL) ? ""
						      : fake.machines[at].label,
			  .owner = breaks(INFO_OWNER) ? "other"
						      : fake.machines[at].owner,
			  .state = breaks(INFO_STOPPED) ||
						   (fake.machines[at].stopped &&
						    !breaks(STOP_UNSAID))
					   ? STATE_STOPPED
					   : STATE_RUNNING,
			  .image = "",
			  .ends = broken_end(),
		  });
	return 0;
}

static int broken_extend(struct sandbox *sb, int64_t lifetime_s,
			 const struct stop *stop, struct error *err)
{
	(void)sb;
	(void)lifetime_s;
	(void)stop;
	return breaks(EXTEND_FAILS) ||
			       (breaks(EXTEND_ONCE) && broken.extended++)
		       ? error_set(err, ERR_REMOTE, "no")
		       : 0;
}

static int broken_snapshot(struct sandbox *sb, const char *name, bool replace,
			   const struct stop *stop, struct error *err)
{
	(void)sb;
	(void)name;
	(void)stop;
	if (broken.snapshots++ && !replace && !breaks(SNAPSHOT_REPLACED))
		return error_set(err, ERR_USAGE, "this name is taken");
	return breaks(SNAPSHOT_FAILS) ? error_set(err, ERR_REMOTE, "no") : 0;
}

static int broken_stop(struct sandbox_client *client, const char *id,
		       int64_t *keep_s, const struct stop *stop,
		       struct error *err)
{
	int at = fake_find(id);
	char pattern[128];
	glob_t found;

	if (breaks(STOP_FAILS) ||
	    (breaks(STOP_ONCE) && at >= 0 && fake.machines[at].stopped))
		return error_set(err, ERR_REMOTE, "no");
	snprintf(pattern, sizeof(pattern), "%s/*/kept", fake.workdir);
	if (breaks(STOP_LOSES_FILES) && glob(pattern, 0, NULL, &found) == 0) {
		for (size_t i = 0; i < found.gl_pathc; i++)
			unlink(found.gl_pathv[i]);
		globfree(&found);
	}
	return fake_stop(client, id, keep_s, stop, err);
}

static int broken_remove(struct sandbox_client *client, const char *id,
			 const struct stop *stop, struct error *err)
{
	if (breaks(REMOVE_FAILS))
		return error_set(err, ERR_REMOTE, "busy");
	if (breaks(REMOVE_STRICT) && fake_find(id) < 0)
		return error_set(err, ERR_NOT_FOUND, "no sandbox %s", id);
	return breaks(REMOVE_LIES) ? 0 : fake_remove(client, id, stop, err);
}

static const struct sandbox_ops broken_ops = {
	.create = broken_create,
	.attach = broken_attach,
	.list = broken_list,
	.info = broken_info,
	.extend = broken_extend,
	.snapshot = broken_snapshot,
	.execute = broken_execute,
	.upload = broken_upload,
	.download = broken_download,
	.stop = broken_stop,
	.remove = broken_remove,
	.discard = fake_discard,
};
static const struct sandbox_provider broken_provider = {
	.name = "broken",
	.summary = "keeps all its promises but one",
	.workdir = "/",
	.flags = SANDBOX_ATTACH | SANDBOX_LIVE | SANDBOX_STDIN | SANDBOX_LIST |
		 SANDBOX_SNAPSHOT | SANDBOX_NETWORK,
	.lifetime_s = 3600,
	.max_command = 120 << 10,
	.ops = &broken_ops,
};

#endif
