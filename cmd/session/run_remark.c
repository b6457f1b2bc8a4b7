/* run_remark.c - an answer that did not end as an answer should. */
/* SPDX-License-Identifier: MIT */
#include "cmd/session/run_remark.h"

#include <string.h>

#include "base/json.h"
#include "base/str.h"

static bool has_answer(const struct run *r)
{
	return str_trim(buf_str(&r->agent.answer)).len > 0;
}

bool run_remark_add(const struct run *r, struct buf *out)
{
	static const char *const words[] = {
		[FINISH_LENGTH] = "the answer was cut at the model's output "
				  "limit; raise max_tokens with --model-params",
		[FINISH_WINDOW] = "the answer was cut: the model's context "
				  "window is full; start a new conversation",
		[FINISH_REFUSAL] = "the model refused to answer; dcode removed "
				   "the request from the conversation: "
				   "rephrase it, or choose another model",
	};
	enum finish finish = r->agent.finish;

	if (finish == FINISH_REFUSAL && r->agent.reason[0] &&
	    strcmp(r->agent.reason, "refusal") != 0)
		buf_addf(out,
			 "the vendor's filter stopped the answer (%s); dcode "
			 "removed the request from the conversation: rephrase "
			 "it, or choose another model",
			 r->agent.reason);
	else if (finish < sizeof(words) / sizeof(words[0]) && words[finish])
		buf_adds(out, words[finish]);
	else if (!has_answer(r) && !r->agent.hook_ended)
		buf_adds(out, "the model returned an empty answer: send the "
			      "message again, or choose another model");
	return out->len > 0;
}

void run_remark(const struct run *r)
{
	struct buf line = BUF_INIT(1 << 10);

	if (!r->options.quiet && run_remark_add(r, &line))
		app_warn("%s", line.ptr);
	buf_release(&line);
}

int run_remark_outcome(const struct run *r, const char **status,
		       struct error *why)
{
	const struct agent *a = &r->agent;
	struct buf line = BUF_INIT(1 << 10);
	unsigned acts = a->acts;

	if (a->finish != FINISH_REFUSAL && acts && a->refused_acts == acts) {
		*status = "refused";
		(void)error_set(why, ERR_REFUSED,
				"%s to write or run something %s refused",
				acts == 1 ? "the one call" : "all calls",
				acts == 1 ? "was" : "were");
		(void)error_hint(why, "-y allows all, -S LIST some commands; "
				      "--sandbox NAME runs them in a sandbox.");
		error_topic(why, "approvals");
		return STATUS_REFUSED;
	}
	if (a->hook_ended || (a->finish != FINISH_REFUSAL && has_answer(r)))
		return 0;
	*status = "no_answer";
	if (a->finish != FINISH_REFUSAL && a->thought)
		buf_adds(&line, "the model thought but gave no answer: send "
				"the message again, or choose another model");
	else
		(void)run_remark_add(r, &line);
	if (!line.len)
		buf_adds(&line, "the model gave no answer");
	(void)error_set(why, ERR_REMOTE, "%s", line.ptr);
	buf_release(&line);
	return STATUS_NO_ANSWER;
}

void run_remark_json(const struct run *r, bool failed, const char *reason,
		     struct buf *out)
{
	static const char *const names[] = {
		[FINISH_STOP] = "stop",     [FINISH_TOOLS] = "tools",
		[FINISH_LENGTH] = "length", [FINISH_REFUSAL] = "refusal",
		[FINISH_WINDOW] = "window",
	};
	enum finish finish = r->agent.finish;

	buf_addf(out, ",\"refused\":%u,\"reason\":",
		 r->agent.refused_acts + (!failed && finish == FINISH_REFUSAL));
	if (reason)
		json_quote(out, str_of(reason));
	else
		buf_adds(out, "null");
	if (failed || !finish || finish >= sizeof(names) / sizeof(names[0])) {
		buf_adds(out, ",\"finish\":null,\"finish_reason\":null");
		return;
	}
	buf_addf(out, ",\"finish\":\"%s\",\"finish_reason\":", names[finish]);
	if (r->agent.reason[0])
		json_quote(out, str_of(r->agent.reason));
	else
		buf_adds(out, "null");
}
