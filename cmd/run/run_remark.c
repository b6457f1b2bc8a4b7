/* run_remark.c - an answer that did not end as an answer should. */
/* SPDX-License-Identifier: MIT */
#include "cmd/run/run_remark.h"

#include <string.h>

#include "base/json.h"
#include "base/str.h"

bool run_remark_add(const struct run *r, struct buf *out)
{
	static const char *const words[] = {
		[FINISH_LENGTH] = "the answer was cut at the model's output "
				  "limit; raise max_tokens with --model-params",
		[FINISH_WINDOW] = "the answer was cut where the model's "
				  "context window ends; begin a new "
				  "conversation",
		[FINISH_REFUSAL] = "the model refused to answer; the request "
				   "was taken out of the conversation: word it "
				   "differently, or choose another model",
	};
	enum finish finish = r->agent.finish;

	if (finish == FINISH_REFUSAL && r->agent.reason[0] &&
	    strcmp(r->agent.reason, "refusal") != 0)
		buf_addf(out,
			 "the vendor's filter stopped the answer (%s); the "
			 "request was taken out of the conversation: word it "
			 "differently, or choose another model",
			 r->agent.reason);
	else if (finish < sizeof(words) / sizeof(words[0]) && words[finish])
		buf_adds(out, words[finish]);
	else if (!r->agent.answer.len && !r->agent.hook_ended)
		buf_adds(out, "the model ended its turn without a word: send "
			      "the message again, or choose another model");
	return out->len > 0;
}

void run_remark(const struct run *r)
{
	struct buf line = BUF_INIT(1 << 10);

	if (!r->options.quiet && run_remark_add(r, &line))
		app_warn("%s", line.ptr);
	buf_release(&line);
}

void run_remark_json(const struct run *r, bool failed, struct buf *out)
{
	static const char *const names[] = {
		[FINISH_STOP] = "stop",     [FINISH_TOOLS] = "tools",
		[FINISH_LENGTH] = "length", [FINISH_REFUSAL] = "refusal",
		[FINISH_WINDOW] = "window",
	};
	enum finish finish = r->agent.finish;

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
