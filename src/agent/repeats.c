/* repeats.c - calls that fail again and again in the same way. */
/* SPDX-License-Identifier: MIT */
#include "agent/repeats.h"

#include <stdio.h>

#include "base/json.h"
#include "base/sanitize.h"
#include "base/str.h"

enum { MOST_ARGS = 8 << 20 /* bytes */ };

static uint64_t add_hash(uint64_t hash, struct str text)
{
	for (size_t i = 0; i < text.len; i++)
		hash = (hash ^ (unsigned char)text.ptr[i]) * 0x100000001B3u;
	return hash;
}

/* FNV-1a of the name and of the arguments without their white space. */
static uint64_t hash_call(const struct part *call, enum call_end end)
{
	uint64_t hash = add_hash(0xCBF29CE484222325u, str_of(call->name));
	struct buf text = BUF_INIT(MOST_ARGS);
	cJSON *args;

	if (end == CALL_MALFORMED)
		return add_hash(hash, STR("\n"));
	args = json_parse(str_of(call->args));
	if (args)
		json_print(&text, args);
	hash = add_hash(hash, STR("\t"));
	hash = add_hash(hash, args ? buf_str(&text) : str_of(call->args));
	cJSON_Delete(args);
	buf_release(&text);
	return hash;
}

static struct repeated_call *find_call(struct repeats *r, uint64_t hash)
{
	struct repeated_call *c;

	for (size_t i = 0; i < REPEATS_KEPT; i++)
		if (r->list[i].failures && r->list[i].call == hash)
			return &r->list[i];
	c = &r->list[r->next];
	r->next = (r->next + 1) % REPEATS_KEPT;
	*c = (struct repeated_call){ .call = hash };
	return c;
}

void repeats_count(struct repeats *r, const struct tool *tool,
		   const struct part *call, enum call_end end,
		   struct buf *result)
{
	const unsigned harmless = TOOL_READS | TOOL_SESSION;
	struct repeated_call *c;

	if (end == CALL_DONE) {
		if (tool && !(tool->flags & harmless))
			*r = (struct repeats){ 0 };
		return;
	}
	c = find_call(r, hash_call(call, end));
	c->failures++;
	if (c->failures > r->worst) {
		r->worst = c->failures;
		snprintf(r->name, sizeof(r->name), "%s",
			 call->name ? call->name : "");
	}
	if (c->failures < REPEATS_NOTE)
		return;
	if (end == CALL_MALFORMED)
		buf_addf(result,
			 "\n\n[Calls of this tool could not be read %u times. "
			 "Write the arguments as one JSON object with the "
			 "members that the tool's description names, or take "
			 "another way.]",
			 c->failures);
	else
		buf_addf(result,
			 "\n\n[The same call has failed %u times. Repeating it "
			 "does not help: change it, or take another way.]",
			 c->failures);
}

bool repeats_over(const struct repeats *r, struct error *why)
{
	struct buf name = BUF_INIT(4 * sizeof(r->name));

	if (r->worst < REPEATS_END)
		return false;
	sanitize_line(str_of(r->name), &name);
	(void)error_set(
		why, ERR_LIMIT,
		"the model repeats a failing call (%.*s, %u times the same)",
		(int)name.len, name.ptr ? name.ptr : "", r->worst);
	snprintf(why->reason, sizeof(why->reason), REPEATS_REASON);
	(void)error_hint(
		why,
		"Tell it what to do instead, or choose another model (-M).");
	buf_release(&name);
	return true;
}
