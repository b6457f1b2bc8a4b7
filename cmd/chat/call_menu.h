/* call_menu.h - the list of a thread's tool calls that Ctrl+O opens. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_CALL_MENU_H
#define CMD_CHAT_CALL_MENU_H

/*
 * Newest first: the calls that run or are asked about, the finished ones of
 * this process, and those that the thread had before, which are read from the
 * database. The screen's thread owns it: the agent may work meanwhile. Begin
 * reading at call_menu_open().
 */
#include "base/mask/mask.h"
#include "editor/choices.h"
#include "session/store.h"
#include "ui/transcript.h"

/* Initialise with { 0 }. */
struct call_menu {
	/* Set by the caller. A connection that only this thread uses; owned by
	 * the caller. NULL: nothing is stored. */
	struct store *store;
	int64_t thread; /* row ID of the thread; 0: not stored */
	const struct mask *mask;
	char *workdir; /* where the tools run; owned by the caller, or NULL */
	const struct question *asked; /* the open question, or NULL; set by the
					 caller; borrowed */
	bool on; /* the list or the followed call is shown and gets the keys */
	/* private */
	struct selection_list list;
	struct list_view view;
	const struct transcript *transcript; /* borrowed */
	/* The call whose output is shown as it arrives, or NULL; ended: it has
	 * finished, and final has its texts. */
	const struct part *followed;
	bool ended;
	struct call_record final;
	struct call_menu_item {
		struct call_record call;
		struct call_entry entry; /* in the log; without its texts */
		bool unread; /* call has no texts: they are in the log */
		bool runs;
	} * calls; /* owned; newest first */
	struct fuzzy_item *items;
	struct buf texts; /* what the items point to */
	size_t n;
};

/* Opens the list. t must stay until call_menu_close(), and its log must not be
 * cleared. now: of the transcript's clock. Returns false if there are no calls.
 * err is set if those of the database could not be read; the others are still
 * listed. */
bool call_menu_open(struct call_menu *m, const struct transcript *t,
		    int64_t now, struct error *err);
/* Handles a key. Returns the call to open, which is valid until
 * call_menu_close(), or NULL. A call that still runs is followed first. */
const struct call_record *
call_menu_event(struct call_menu *m, const struct key_event *ev, int64_t now);
/* Draws the list, with the present state of the calls that ran, or the end of
 * the followed call's output. now: as for transcript_live(). */
void call_menu_render(struct call_menu *m, size_t columns, size_t max_rows,
		      int64_t now, struct rows *rows, size_t caret[2]);
/* Closes the list and frees its memory, but not the store. */
void call_menu_close(struct call_menu *m);

#endif
