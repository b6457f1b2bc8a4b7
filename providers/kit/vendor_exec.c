/* vendor_exec.c - commands as supervised jobs over a vendor's requests. */
/* SPDX-License-Identifier: MIT */
#include "providers/kit/vendor.h"
#include "sandbox/supervise/supervise.h"

static bool is_listed(const int *statuses, int status)
{
	while (*statuses && *statuses != status)
		statuses++;
	return *statuses;
}

int vendor_exec_failed(struct sandbox *sb, int status, bool may_be_gone,
		       const struct stop *stop, struct error *err)
{
	const struct vendor *v = vendor_of(sb->client)->vendor;
	struct error why = { 0 };

	if (err->code == ERR_CANCELLED ||
	    (err->code == ERR_LIMIT && status != 429))
		return -1;
	may_be_gone = may_be_gone || is_listed(v->may_be_gone, status);
	if (may_be_gone && vendor_ensure_running(sb, stop, &why) < 0 &&
	    why.code != ERR_NETWORK && why.code != ERR_TIMEOUT) {
		*err = why;
		return -1;
	}
	if (may_be_gone || status == 408 || status == 429 || status >= 500)
		err->code = ERR_NETWORK;
	return -1;
}

int vendor_execute(struct sandbox *sb, const struct exec_request *req,
		   struct exec_result *res, const struct stop *stop,
		   struct error *err)
{
	const struct vendor *v = vendor_of(sb->client)->vendor;
	const struct supervisor s = { .call = v->call,
				      .arg = sb,
				      .max_command = v->max_command,
				      .max_answer = v->max_answer };

	return supervise_execute(sb, req, res, &s, stop, err);
}
