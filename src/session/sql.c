/* sql.c - the text of every statement. */
/* SPDX-License-Identifier: MIT */
#include "session/session_impl.h"

#define THREAD_COLUMNS                                                         \
	"no, id, title, model, provider, sandbox, label, cwd, branch,"         \
	" created, updated, messages, input, output, pid, started, place,"     \
	" imported, origin, (SELECT sum(s.cost) FROM spend s"                  \
	" WHERE s.thread=thread.no), (SELECT min(s.priced) FROM spend s"       \
	" WHERE s.thread=thread.no), agent"
#define LEDGER_COLUMNS                                                         \
	"label, provider, id, endpoint, state, created, ends, pid, started,"   \
	" place, note, kept, thread"

const char *const store_texts[SQL_COUNT] = {
	[SQL_BEGIN] = "BEGIN IMMEDIATE",
	[SQL_COMMIT] = "COMMIT",
	[SQL_ROLLBACK] = "ROLLBACK",
	[SQL_START_DIR] =
		"SELECT value FROM meta WHERE key='start/'||?1||'/'||?2",
	[SQL_SET_START_DIR] = "INSERT OR REPLACE INTO meta(key, value)"
			      " VALUES('start/'||?1||'/'||?2, ?3)",
	[SQL_DROP_START_DIR] =
		"DELETE FROM meta WHERE key=(SELECT 'start/'||provider||'/'||id"
		" FROM ledger WHERE label=?1)",
	[SQL_OWNER] = "SELECT value FROM meta WHERE key='owner'",
	[SQL_SIZE] = "SELECT (c.page_count - f.freelist_count) * p.page_size"
		     " FROM pragma_page_count c, pragma_freelist_count f,"
		     " pragma_page_size p",
	[SQL_THREAD_ADD] = "INSERT INTO thread(id, created, model, sandbox,"
			   " cwd, provider, label, branch, title, pid, started,"
			   " place, updated, agent) VALUES(?1, ?2, ?3, ?4,"
			   " ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?2, ?13)",
	[SQL_THREAD_IMPORT] = "INSERT INTO thread(id, created, updated, model,"
			      " sandbox, cwd, provider, title, origin,"
			      " imported)"
			      " VALUES(?1, ?2, ?3, '', ?4, ?5, ?6, ?7, ?8, 1)",
	[SQL_THREAD_SET] = "UPDATE thread SET model=?2, sandbox=?3, cwd=?4,"
			   " provider=?5, label=?6, branch=?7, agent=?8"
			   " WHERE no=?1",
	[SQL_THREAD_PLACE] = "UPDATE thread SET provider=?2, sandbox=?3,"
			     " label=?4 WHERE id=?1",
	[SQL_THREAD_LIST] = "SELECT " THREAD_COLUMNS " FROM thread"
			    " WHERE (?1='' OR cwd=?1) AND (?2='' OR branch=?2)"
			    " AND (?5='' OR agent=?5 OR (agent='' AND"
			    " ?5='agent'))"
			    " AND (?6='' OR cwd=?6"
			    " OR substr(cwd,1,length(rtrim(?6,'/'))+1)="
			    " rtrim(?6,'/')||'/')"
			    " ORDER BY CASE WHEN ?3 THEN created ELSE updated"
			    " END DESC, no DESC LIMIT ?4",
	[SQL_THREAD_FIND] = "SELECT " THREAD_COLUMNS " FROM thread"
			    " WHERE substr(id,1,length(?1))=lower(?1)"
			    " ORDER BY length(id), no DESC LIMIT 2",
	[SQL_THREAD_LATEST] = "SELECT " THREAD_COLUMNS " FROM thread"
			      " WHERE (?1='' OR cwd=?1)"
			      " AND (?2='' OR agent=?2 OR (agent='' AND"
			      " ?2='agent'))"
			      " ORDER BY updated DESC, no DESC LIMIT 1",
	[SQL_THREAD_TITLE] = "UPDATE thread SET title=?2 WHERE no=?1",
	[SQL_THREAD_OWNER] = "SELECT pid, started, place FROM thread"
			     " WHERE no=?1",
	[SQL_THREAD_LOCK] = "UPDATE thread SET pid=?2, started=?3, place=?4"
			    " WHERE no=?1",
	[SQL_THREAD_UNLOCK] = "UPDATE thread SET pid=0, started=0, place=''"
			      " WHERE no=?1 AND pid=?2 AND started=?3",
	[SQL_THREAD_DELETE] = "DELETE FROM thread WHERE no=?1",
	[SQL_MESSAGE_DELETE] = "DELETE FROM message WHERE thread=?1",
	[SQL_MESSAGE_COPY] = "INSERT INTO message(thread, created, input,"
			     " output, cache_read, cache_write, body)"
			     " SELECT ?1, created, input, output, cache_read,"
			     " cache_write, body FROM message WHERE thread=?2"
			     " ORDER BY no",
	[SQL_MESSAGE_EACH] = "SELECT no, created, input, output, cache_read,"
			     " cache_write, body FROM message WHERE thread=?1"
			     " ORDER BY no LIMIT -1 OFFSET ?2",
	[SQL_MESSAGE_ADD] = "INSERT INTO message(thread, created, input,"
			    " output, cache_read, cache_write, body)"
			    " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
	[SQL_DRAFT_SET] = "UPDATE message SET body=?2 WHERE no=?1",
	[SQL_DRAFT_UNCOUNT] = "UPDATE thread SET messages=messages-1 WHERE no="
			      "(SELECT thread FROM message WHERE no=?1)",
	[SQL_DRAFT_DROP] = "DELETE FROM message WHERE no=?1",
	[SQL_COMPACTION_ADD] = "INSERT INTO compaction(thread, created, input,"
			       " output, cache_read, cache_write, body, after)"
			       " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7,"
			       " (SELECT count(*) FROM message"
			       "  WHERE thread=?1))",
	[SQL_COMPACTION_CLEAR] = "UPDATE compaction SET body=''"
				 " WHERE thread=?1",
	[SQL_COMPACTION_COPY] = "INSERT INTO compaction(thread, created,"
				" after, input, output, cache_read,"
				" cache_write, body) SELECT ?1, created, after,"
				" input, output, cache_read, cache_write, body"
				" FROM compaction WHERE thread=?2 ORDER BY no",
	[SQL_COMPACTION_GET] = "SELECT after, body FROM compaction"
			       " WHERE thread=?1 ORDER BY no DESC LIMIT 1",
	[SQL_COMPACTION_LIST] = "SELECT after, created FROM compaction"
				" WHERE thread=?1 ORDER BY no",
	[SQL_LEDGER_ADD] = "INSERT INTO ledger(label, provider, endpoint,"
			   " state, created, ends, changed, pid, started,"
			   " place)"
			   " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?5, ?7, ?8, ?9)",
	[SQL_LEDGER_CREATED] = "UPDATE ledger SET state=?2, changed=?3, id=?4"
			       " WHERE label=?1",
	[SQL_LEDGER_STATE] = "UPDATE ledger SET state=?2, changed=?3"
			     " WHERE label=?1",
	[SQL_LEDGER_NOTE] = "UPDATE ledger SET note=?2 WHERE label=?1",
	[SQL_LEDGER_KEEP] = "UPDATE ledger SET state=?2, changed=?3, ends=?4,"
			    " kept=1, thread=coalesce(?5, thread)"
			    " WHERE label=?1",
	[SQL_LEDGER_KEPT] = "UPDATE ledger SET state=?2, changed=?3, ends=?4,"
			    " kept=1, pid=0, note='' WHERE label=?1",
	/* Only as it was when it was read: another may be claiming it. */
	[SQL_LEDGER_CLAIM] = "UPDATE ledger SET state=?2, changed=?3,"
			     " ends=max(ends, ?4), pid=?5, started=?6,"
			     " place=?7, note='' WHERE label=?1 AND"
			     " state=?8 AND pid=?9",
	[SQL_LEDGER_CLAIM_REMOVAL] = "UPDATE ledger SET state=?2, changed=?3"
				     " WHERE label=?1 AND state=?4 AND"
				     " pid=?5",
	[SQL_LEDGER_EACH] = "SELECT " LEDGER_COLUMNS " FROM ledger"
			    " WHERE ?1 OR state<>?2 ORDER BY no DESC",
	/* Best first: whole names before prefixes, the living before the
	 * gone, the newest before the old. */
	[SQL_LEDGER_FIND] = "SELECT " LEDGER_COLUMNS ","
			    " label=?1 OR label='dcode-'||?1 OR id=?1 AS whole"
			    " FROM ledger WHERE whole OR"
			    " (length(?1)>=4 AND substr(id,1,length(?1))=?1)"
			    " ORDER BY whole DESC, state=?2, no DESC",
	[SQL_ATTACHED_ADD] = "INSERT INTO attached(provider, endpoint, id,"
			     " name, pid, started, place)"
			     " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
	[SQL_ATTACHED_TRIM] = "DELETE FROM attached WHERE no <="
			      " (SELECT max(no) FROM attached) - 500",
	[SQL_ATTACHED_FIND] = "SELECT provider, endpoint, id, pid, started,"
			      " place, id=?1 OR name=?1 AS whole"
			      " FROM attached WHERE whole OR (length(?1)>=4"
			      " AND substr(id,1,length(?1))=?1)"
			      " ORDER BY whole DESC, no DESC",
	[SQL_CONSENT_GET] = "SELECT allowed FROM consent"
			    " WHERE root=?1 AND provider=?2",
	[SQL_CONSENT_SET] = "INSERT OR REPLACE INTO consent(root, provider,"
			    " allowed) VALUES(?1, ?2, ?3)",
	[SQL_LABEL_EACH] = "SELECT l.label, l.provider, l.cwd, l.branch, t.id"
			   " FROM thread_label l JOIN thread t"
			   " ON t.no=l.thread WHERE (?1=0 OR l.thread=?1)"
			   " AND (?2='' OR l.label=?2) ORDER BY l.no DESC",
	[SQL_SPEND_ADD] = "INSERT INTO spend(thread, name, sandbox, priced,"
			  " input, output, cache_read, cache_write, calls, cut,"
			  " ms, cost, unclear) VALUES(?1, ?2, ?3, ?4, ?5, ?6,"
			  " ?7, ?8, ?9, ?10, ?11, ?12, ?13)"
			  " ON CONFLICT DO UPDATE SET"
			  " priced=min(priced, excluded.priced),"
			  " input=input+excluded.input,"
			  " output=output+excluded.output,"
			  " cache_read=cache_read+excluded.cache_read,"
			  " cache_write=cache_write+excluded.cache_write,"
			  " calls=calls+excluded.calls, cut=cut+excluded.cut,"
			  " ms=ms+excluded.ms, cost=cost+excluded.cost,"
			  " unclear=unclear+excluded.unclear",
	[SQL_LEDGER_PRICE] = "UPDATE ledger SET usd_s=?2 WHERE label=?1",
	[SQL_SPEND_EACH] = "SELECT name, sandbox, priced, input, output,"
			   " cache_read, cache_write, calls, cut, ms, cost,"
			   " unclear FROM spend WHERE thread=?1"
			   " ORDER BY sandbox, cost DESC, name",
	[SQL_JOB_ADD] = "INSERT INTO job(thread, provider, sandbox, job,"
			" command, begun, number) SELECT ?1, ?2, ?3, ?4, ?5,"
			" ?6, max(?7, 1 + coalesce(max(number), 0)) FROM job"
			" WHERE (?3<>'' AND provider=?2 AND sandbox=?3)"
			" OR thread=?1"
			" RETURNING no, number",
	[SQL_JOB_UPDATE] = "UPDATE job SET read=?2, started=?3, told=?4"
			   " WHERE no=?1",
	[SQL_JOB_EACH] = "SELECT j.no, j.thread, j.provider, j.sandbox, j.job,"
			 " j.command, j.number, j.read, j.started, j.told,"
			 " coalesce(t.pid, 0), t.started, t.place"
			 " FROM job j LEFT JOIN thread t ON t.id=j.thread"
			 " WHERE (?2<>'' AND j.provider=?1 AND j.sandbox=?2)"
			 " OR (j.thread=?3 AND NOT j.told) ORDER BY j.number",
	[SQL_JOB_TRIM] = "DELETE FROM job WHERE begun < ?2"
			 " OR (told AND begun < ?1)",
};
