/* message.h - a message of the conversation, in vendor-neutral form. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_MESSAGE_H
#define MODEL_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/mask/mask.h"

enum {
	/* Limit in bytes of one file. Every vendor accepts files of that size.
	 * Bedrock: 3.75 MB per image and 4.5 MB per document
	 * (docs.aws.amazon.com, API_runtime_Message). Anthropic: 10 MB of
	 * base64 per image, 5 MB on Bedrock and Google Cloud, 32 MB per request
	 * (platform.claude.com/docs, "Vision"). Google Cloud: 7 MB per file
	 * (docs.cloud.google.com, "Image understanding"). Gemini: 100 MB per
	 * request since 2026-01, 20 MB before (blog.google,
	 * "gemini-api-new-file-limits"). OpenAI: 32 MB, as its guide on PDF
	 * files was quoted in 2025-03 (egoist/chatwise-releases issue 383). All
	 * read 2026-11-23. */
	MEDIA_MAX_BYTES = 3750000,
	MEDIA_MESSAGE_BYTES = 20000000, /* bytes of all files of one message */
	MEDIA_NAME_MAX = 200,           /* bytes */
};

enum role { ROLE_USER = 1, ROLE_ASSISTANT, ROLE_TOOL };
enum part_kind {
	PART_TEXT = 1,
	PART_THINKING,
	PART_TOOL_CALL,
	PART_TOOL_RESULT,
	/* An image or PDF file. Belongs to the user's message, or to the tool
	 * result before it. */
	PART_MEDIA,
};

struct part { /* every pointer is owned by the part; unused ones are NULL */
	enum part_kind kind;
	/* text, thinking, or the tool's result; for a file the line of
	 * media_describe() that can replace it */
	char *text;
	char *id; /* on calls and results: the call's id */
	/* on calls and results: the tool's name; on files: the file's */
	char *name;
	/* on calls: the arguments as the model wrote them; a JSON object unless
	 * bad_args */
	char *args;
	/* JSON that must be sent back to the vendor unchanged (a whole thinking
	 * block), or NULL */
	char *replay;
	/* On results of edits: what has changed in the file, as diff_store()
	 * writes it. Only for the user; a model does not get it. */
	char *change;
	bool bad_args; /* on calls: args is not a JSON object */
	bool failed;   /* on results: the tool failed */
	/* on results: only known values are masked ([redact] paths_off) */
	bool exempt;
	/* For files only: */
	const char *type; /* from media_type(), static */
	char *bytes;
	size_t n_bytes;
};

struct message {
	enum role role;
	struct part *parts; /* owned */
	size_t n;
	/* On answers: the wire and vendor that made it, see model_origin(). The
	 * replay of its parts is sent only to these. Owned; NULL: unknown. */
	char *origin;
	bool refused; /* on answers: the model refused to answer the prompt */
	bool cut; /* on answers: it is incomplete, and its calls were removed */
	bool summary; /* written by dcode: it replaces older messages */
	/* On the user's messages: sent into a running turn, so it follows the
	 * results of the turn's calls. */
	bool steering;
};

/* Appends a zeroed part of this kind. The pointer is valid until another part
 * is added. */
struct part *message_add(struct message *m, enum part_kind kind);
/* Appends a file and takes ownership of its bytes. NULL, with nothing appended,
 * if media_type() does not know its type. */
struct part *message_add_media(struct message *m, const char *name,
			       struct buf *bytes);
/* Moves a part from another message and zeroes it there. */
void message_move(struct message *to, struct part *from);
/* Counts the files that belong to the result parts[i]. */
size_t message_count_media(const struct message *m, size_t i);
/* Returns the size in bytes of all files of the message. */
size_t message_media_bytes(const struct message *m);
void message_release(struct message *m);
struct message message_copy(const struct message *m);
/* Returns all text parts, joined; owned. */
char *message_text(const struct message *m);
/* dcode adds to a prompt: a line with a note before the user's text, and the
 * files that it refers to after it. These are the notes. */
#define MESSAGE_NOTE_MOVED                                                     \
	"The tools act on another machine or sandbox than before, as the "     \
	"system prompt says: files that were written there are not here.\n"
#define MESSAGE_NOTE_MOVED_WORK                                                \
	"[The tools act in another sandbox than before, as the system prompt " \
	"says. The files of the working directory were moved there as they "   \
	"were. Not moved: files that git ignores, files elsewhere, running "   \
	"commands and, unless the user agreed, files that may hold "           \
	"secrets.]\n"
#define MESSAGE_NOTE_MOVED_HERE                                                \
	"[The tools act on the user's machine now, as the system prompt "      \
	"says, "                                                               \
	"and no longer in a sandbox. The changes to the working directory "    \
	"were "                                                                \
	"applied here. Not here: files that git ignores, files elsewhere and " \
	"running commands.]\n"
#define MESSAGE_NOTE_PLAN                                                      \
	"[Plan mode: read, search and ask, but change nothing. Calls that "    \
	"write files, run commands or use MCP servers are refused, in "        \
	"subagents too. Find out what the task needs. Ask with ask_user, if "  \
	"you have it, what only the user can decide. Then call present_plan "  \
	"with the plan: what to change, in which files, in which order, and "  \
	"how to check it. If you do not have that tool, your last answer "     \
	"must be the plan alone, under the heading \"Plan\". The user reads "  \
	"it, may edit it, and decides whether it is carried out. Just answer " \
	"a question that needs no plan, without either.]\n"
#define MESSAGE_NOTE_PLAN_OVER                                                 \
	"[Plan mode has ended: you have all your tools again.]\n"
/* Each note is one line: it begins with this text and ends at the first line
 * break. */
#define MESSAGE_NOTE_UNDO "[With `dcode undo` the user has "
#define MESSAGE_NOTE_SHELL "[The user worked in a shell in the sandbox "
/* dcode's own prompts after a yes to the plan. The second is followed by the
 * plan. */
#define MESSAGE_PLAN_ACCEPTED                                                  \
	"The user has accepted the plan. Carry it out now."
#define MESSAGE_PLAN_CHANGED                                                   \
	"The user has changed the plan and accepted it. Carry out this plan "  \
	"now:\n\n"
/* Marks around a command that the user ran, and its result. The next message
 * begins with them. */
#define MESSAGE_OWN_COMMAND "<user_shell_command>\n<command>"
#define MESSAGE_OWN_RESULT "</command>\n<result>\n"
#define MESSAGE_OWN_END "\n</result>\n</user_shell_command>\n"
#define MESSAGE_FILES "\n\n## Referenced Files\n"
/* Returns the text of the assistant message that dcode puts between tool
 * results and the user's message m for servers that refuse one right after the
 * other. m NULL: the user has sent none yet. Static. */
const char *message_bridge(const struct message *m);
/* Returns the user's text as it was typed, without what dcode added; owned. */
char *message_typed(const struct message *m);
/* Returns the user's text without dcode's notes but with the user's commands;
 * owned. */
char *message_with_commands(const struct message *m);
/* Takes a command and its result from the front of that text. False: there is
 * none. */
bool message_take_command(struct str *text, struct str *command,
			  struct str *result);
/* Convert a message to its stored form and back:
 * {"role":"assistant","parts":[{"kind":"text",...}]}. */
void message_to_json(const struct message *m, struct buf *out);
int message_from_json(struct message *m, struct str json, struct error *err);

/* Returns the arguments of a call with secrets masked. The result is valid JSON
 * unless bad_args. Owned; NULL if the call has none. */
char *message_masked_args(const struct mask *mask, const struct part *call);
/*
 * Masks secrets in a prompt, or in the results of an answer's calls, before
 * they are stored and sent to the model. Bytes of files stay as they are. True
 * if there was a secret.
 */
bool message_admit(const struct mask *mask, struct message *m);
/* Sets *out to a copy of m with secrets masked; arguments of calls stay valid
 * JSON. replay and origin are omitted: a replay cannot be masked, because only
 * the vendor can read it. The caller releases *out. */
void message_mask(const struct mask *mask, const struct message *m,
		  struct message *out);

/* Returns "image/png", "image/jpeg", "image/gif", "image/webp" or
 * "application/pdf". Looks only at the first bytes. NULL for other files. */
const char *media_type(struct str bytes);
bool media_is_pdf(const char *type);
/* Reads the size in pixels from an image's header. False if it has none. The
 * values are untrusted: never allocate memory by them. */
bool media_dimensions(struct str bytes, uint32_t *width, uint32_t *height);
/* Appends "[image a.png 640x480 120.3 kB]" or "[PDF a.pdf 1.2 MB]". note (may
 * be NULL) is added before the closing bracket. name: one sanitized line. */
void media_describe(const char *name, struct str bytes, const char *note,
		    struct buf *out);
/* Returns the most input tokens that the vendor counts for a file, according to
 * its documentation. May be more than the model's window. A PDF whose page
 * count is hidden counts as the largest number of pages that a request may
 * have. */
int64_t media_max_tokens(const char *wire, const char *model, struct str bytes);
/* Estimates the tokens of a file, to tell how full the context window is. Never
 * more than media_max_tokens(). */
int64_t media_usual_tokens(const char *wire, const char *model,
			   struct str bytes);

#endif
