/* helper.c - runs a script of scripts/sandbox/ in one round trip. */
/* SPDX-License-Identifier: MIT */
#include "sandbox/helper.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/ids.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "sandbox/frame.h"
#include "sandbox/quote.h"

enum {
	COMMAND_MAX = 32 << 20,
	/* bytes: the longest script with its libraries and the lines around
	 * them */
	SCRIPTS_SIZE = 12 << 10,
};

static const unsigned char prelude_sh[] = {
#include "scripts/sandbox/prelude.sh.inc"
};
static const unsigned char put_sh[] = {
#include "scripts/sandbox/put.sh.inc"
};
static const unsigned char workspace_state_sh[] = {
#include "scripts/sandbox/workspace_state.sh.inc"
};
static const unsigned char workspace_send_sh[] = {
#include "scripts/sandbox/workspace_send.sh.inc"
};
static const unsigned char workspace_commit_sh[] = {
#include "scripts/sandbox/workspace_commit.sh.inc"
};
static const unsigned char workspace_sync_sh[] = {
#include "scripts/sandbox/workspace_sync.sh.inc"
};
static const unsigned char read_sh[] = {
#include "scripts/sandbox/read.sh.inc"
};
static const unsigned char ls_sh[] = {
#include "scripts/sandbox/ls.sh.inc"
};
static const unsigned char delete_sh[] = {
#include "scripts/sandbox/delete.sh.inc"
};
static const unsigned char write_sh[] = {
#include "scripts/sandbox/write.sh.inc"
};
static const unsigned char edit_sh[] = {
#include "scripts/sandbox/edit.sh.inc"
};
static const unsigned char search_sh[] = {
#include "scripts/sandbox/search.sh.inc"
};
static const unsigned char glob_sh[] = {
#include "scripts/sandbox/glob.sh.inc"
};
static const unsigned char grep_sh[] = {
#include "scripts/sandbox/grep.sh.inc"
};
static const unsigned char upload_sh[] = {
#include "scripts/sandbox/upload.sh.inc"
};
static const unsigned char download_sh[] = {
#include "scripts/sandbox/download.sh.inc"
};
static const unsigned char resolve_sh[] = {
#include "scripts/sandbox/resolve.sh.inc"
};

static const unsigned char private_dir_sh[] = {
#include "scripts/sandbox/private_dir.sh.inc"
};
static const unsigned char skills_send_sh[] = {
#include "scripts/sandbox/skills_send.sh.inc"
};
static const unsigned char workspace_scan_sh[] = {
#include "scripts/sandbox/workspace_scan.sh.inc"
};

#define ROW(array)                                                             \
	{                                                                      \
		(const char *)(array), sizeof(array)                           \
	}

static const struct {
	struct str text;
	/* other scripts to send before it, in addition to prelude.sh */
	struct str before[4];
} scripts[] = {
	[HELPER_READ] = { ROW(read_sh), { { 0 } } },
	[HELPER_LS] = { ROW(ls_sh), { { 0 } } },
	[HELPER_DELETE] = { ROW(delete_sh), { { 0 } } },
	[HELPER_WRITE] = { ROW(write_sh), { ROW(put_sh) } },
	[HELPER_EDIT] = { ROW(edit_sh), { ROW(put_sh) } },
	[HELPER_GLOB] = { ROW(glob_sh), { ROW(search_sh) } },
	[HELPER_GREP] = { ROW(grep_sh), { ROW(search_sh) } },
	[HELPER_UPLOAD] = { ROW(upload_sh), { ROW(put_sh) } },
	[HELPER_DOWNLOAD] = { ROW(download_sh), { { 0 } } },
	[HELPER_RESOLVE] = { ROW(resolve_sh), { ROW(put_sh) } },
	[HELPER_SCAN] = { ROW(workspace_scan_sh),
			  { ROW(put_sh), ROW(private_dir_sh),
			    ROW(workspace_state_sh) } },
	[HELPER_SEND] = { ROW(workspace_send_sh),
			  { ROW(put_sh), ROW(private_dir_sh),
			    ROW(workspace_state_sh),
			    ROW(workspace_commit_sh) } },
	[HELPER_COMMIT] = { ROW(workspace_commit_sh),
			    { ROW(private_dir_sh), ROW(workspace_state_sh) } },
	[HELPER_SYNC] = { ROW(workspace_sync_sh),
			  { ROW(put_sh), ROW(private_dir_sh),
			    ROW(workspace_state_sh) } },
	[HELPER_SKILLS] = { ROW(skills_send_sh),
			    { ROW(put_sh), ROW(private_dir_sh) } },
};

enum { BEFORE_MAX = sizeof(scripts[0].before) / sizeof(struct str) };

static bool has_stdin(const struct sandbox *sb)
{
	return sb->client->provider->flags & SANDBOX_STDIN;
}

/* Returns the value of the script's variable "src". It tells the script's
 * content() where to get the content from. */
static const char *choose_source(const struct sandbox *sb,
				 const struct helper *h)
{
	if (h->dialog)
		return "dialog";
	if (h->source)
		return h->source;
	return has_stdin(sb) ? "stdin" : "text";
}

/* Builds the command: variables, the arguments, the scripts and, without
 * standard input, the content. */
static int compose_command(const struct sandbox *sb, const struct helper *h,
			   const char *nonce, struct buf *cmd,
			   struct error *err)
{
	bool text = !h->dialog && !h->source && !has_stdin(sb);
	char name[] = "a0";

	/* Without SANDBOX_STDIN a provider may accept only text, so the answer
	 * is sent as base64. */
	buf_addf(cmd, "nonce=%s enc=%c exact=%s\n", nonce,
		 has_stdin(sb) ? 'r' : 'b', h->exact ? "1" : "");
	quote_assign(cmd, "src", str_of(choose_source(sb, h)));
	for (size_t i = 0; i < h->n_args; i++, name[1]++) {
		if (memchr(h->args[i].ptr ? h->args[i].ptr : "", 0,
			   h->args[i].len))
			return error_set(err, ERR_USAGE,
					 "a name or a pattern cannot contain a "
					 "NUL byte");
		quote_assign(cmd, name, h->args[i]);
	}
	if (text)
		quote_content(cmd, h->content, !h->no_base64);
	quote_script(cmd, SCRIPT(prelude_sh));
	for (size_t i = 0; i < BEFORE_MAX; i++)
		quote_script(cmd, scripts[h->script].before[i]);
	quote_script(cmd, scripts[h->script].text);
	buf_adds(cmd, "frame op");
	name[1] = '0';
	for (size_t i = 0; i < h->n_args; i++, name[1]++)
		buf_addf(cmd, " \"$%s\"", name);
	if (h->dialog)
		buf_adds(cmd, "\nchange \"$a0\"");
	buf_adds(cmd, "\nexit 0\n");
	return buf_check(cmd, "the helper's command", err);
}

struct helper_run {
	struct helper *h;
	struct frame frame;
	struct frame_sink sink;
	/* the callback's reply buffer; NULL outside of the provider's
	 * callback */
	struct buf *reply;
};

static int on_body(void *arg, struct str bytes, struct error *err)
{
	struct helper_run *r = arg;

	if (r->h->body)
		return r->h->body(r->h->arg, bytes, err);
	buf_addstr(&r->h->out, bytes);
	return buf_check(&r->h->out, "the answer", err);
}

static int on_status(void *arg, const char *status, struct error *err)
{
	struct helper_run *r = arg;
	int len = snprintf(r->h->status, sizeof(r->h->status), "%s", status);

	if (len < 0 || (size_t)len >= sizeof(r->h->status))
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: long status");
	if (!r->h->dialog || r->frame.done > 1)
		return 0;
	if (!r->reply)
		return error_set(err, ERR_PROTOCOL,
				 "the command cannot be answered");
	if (r->h->reply(r->h->arg, r->reply, err))
		return -1;
	return buf_check(r->reply, "the edit", err);
}

static int on_output(void *arg, enum exec_stream stream, struct str chunk,
		     struct buf *reply, struct error *err)
{
	struct helper_run *r = arg;

	if (stream != EXEC_STDOUT)
		return 0;
	r->reply = reply;
	return frame_feed(&r->frame, chunk, &r->sink, err);
}

/* Sets err for an answer without the expected frames: it quotes the noise
 * (bytes outside of frames), if there is any, or gives the exit code. */
static int explain_answer(struct helper_run *r, const struct exec_result *res,
			  struct error *err)
{
	struct buf text = BUF_INIT(200);

	sanitize_text((struct str){ r->frame.noise, r->frame.noise_len },
		      &text);
	if (r->frame.done || !text.len)
		error_set(err, ERR_PROTOCOL,
			  "unexpected server response: (empty), exit code %d",
			  res->exit_code);
	else
		error_set(err, ERR_PROTOCOL, "unexpected server response: %s",
			  text.ptr);
	buf_release(&text);
	return -1;
}

int helper_run(struct sandbox *sb, struct helper *h, const struct stop *stop,
	       struct error *err)
{
	struct buf cmd = BUF_INIT(COMMAND_MAX);
	struct helper_run r = { .h = h, .sink = { on_body, on_status, &r } };
	struct exec_request req = { .cwd = "/",
				    .plain = true,
				    .dialog = h->dialog,
				    .facts = true,
				    .timeout_ms = h->timeout_ms,
				    .output = on_output,
				    .arg = &r };
	struct exec_result res = { 0 };
	char nonce[17];
	int rc = -1;

	ids_random(nonce, 16);
	frame_init(&r.frame, nonce);
	h->timed_out = false;
	h->status[0] = '\0';
	if (compose_command(sb, h, nonce, &cmd, err))
		goto out;
	req.command = buf_str(&cmd);
	if (!h->dialog && !h->source && has_stdin(sb)) {
		req.input = h->content;
		req.source = h->pull;
		req.source_arg = h->arg;
	}
	if (sandbox_execute(sb, &req, &res, stop, err))
		goto out;
	h->timed_out = res.timed_out;
	if (!res.timed_out && (!r.frame.done || r.frame.state))
		explain_answer(&r, &res, err);
	else
		rc = 0;
out:
	frame_release(&r.frame);
	buf_release(&cmd);
	return rc;
}

size_t helper_room(const struct sandbox *sb)
{
	size_t most = sb->client->provider->max_command;

	if (!most)
		most = 64 << 10;
	return most > SCRIPTS_SIZE ? most - SCRIPTS_SIZE : 0;
}

bool helper_fits(const struct sandbox *sb, struct str content, bool base64)
{
	size_t room = helper_room(sb);

	if (has_stdin(sb))
		return true;
	return content.len <= room &&
	       quote_content_size(content, base64) <= room;
}

int64_t helper_number(const char **rest)
{
	struct str all = str_of(*rest);
	struct str word;
	int64_t n;

	all = str_trim(all);
	word = (struct str){ all.ptr, str_find(all, ' ') };
	*rest = all.len ? all.ptr + word.len : "";
	return str_to_int(word, &n) ? n : -1;
}

int helper_failed(const char *status, struct error *err)
{
	static const struct {
		const char *status;
		enum err_case exact;
		enum err code;
	} known[] = {
		{ "file_not_found", CASE_FILE_NOT_FOUND, ERR_NOT_FOUND },
		{ "path_not_found", CASE_PATH_NOT_FOUND, ERR_NOT_FOUND },
		{ "permission_denied", CASE_PERMISSION_DENIED, ERR_REMOTE },
		{ "not_a_file", CASE_NOT_A_FILE, ERR_REMOTE },
		{ "is_directory", CASE_IS_DIRECTORY, ERR_REMOTE },
		{ "not_a_text_file", CASE_NOT_TEXT, ERR_REMOTE },
		{ "string_not_found", CASE_STRING_NOT_FOUND, ERR_REMOTE },
		{ "multiple_occurrences", CASE_MULTIPLE_OCCURRENCES,
		  ERR_REMOTE },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(status, known[i].status) != 0)
			continue;
		return error_set_case(err, known[i].code, known[i].exact,
				      status);
	}
	return error_set_case(err, ERR_REMOTE, CASE_FILE_OTHER, status);
}

struct str helper_decimal(int64_t n, char room[24])
{
	int len = snprintf(room, 24, "%" PRId64, n);

	return (struct str){ room, (size_t)len };
}
