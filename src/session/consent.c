/* consent.c - what the user answered about sending a tree to a provider. */
/* SPDX-License-Identifier: MIT */
#include "session/consent.h"

#include "session/session_impl.h"

int consent_get(struct store *s, const char *root, const char *provider,
		bool *asked, struct error *err)
{
	sqlite3_stmt *st = store_sql(s, SQL_CONSENT_GET, err);
	int allowed = 0;
	int rc;

	if (!st)
		return -1;
	store_bind(st, 1, root);
	store_bind(st, 2, provider);
	rc = sqlite3_step(st);
	*asked = rc == SQLITE_ROW;
	if (*asked)
		allowed = sqlite3_column_int(st, 0) != 0;
	return store_finish(s, st, rc, err) < 0 ? -1 : allowed;
}

int consent_set(struct store *s, const char *root, const char *provider,
		bool allowed, struct error *err)
{
	sqlite3_stmt *st = store_sql(s, SQL_CONSENT_SET, err);

	if (!st)
		return -1;
	store_bind(st, 1, root);
	store_bind(st, 2, provider);
	sqlite3_bind_int(st, 3, allowed);
	return store_run(s, st, err);
}
