/* message.c - a message of the conversation, in vendor-neutral form. */
/* SPDX-License-Identifier: MIT */
/*
 * A message is a list of parts. Wires (wire.h) write messages into requests,
 * and a draft becomes a message when an answer is complete. message_to_json()
 * and message_from_json() convert to and from the form in which threads are
 * stored. message_mask() makes a copy without secrets, for output.
 *
 * media_type() decides by a file's first bytes whether the file can be shown to
 * a model. The second half of that part computes how many tokens a vendor
 * counts for a file: an upper bound for the spending cap (media_max_tokens())
 * and an estimate for the context window (media_usual_tokens()). Only file
 * headers are read; pixels are never decoded.
 */
#include "model/message.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/mask/mask.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"

static const char *const roles[] = {
	[ROLE_USER] = "user",
	[ROLE_ASSISTANT] = "assistant",
	[ROLE_TOOL] = "tool",
};

static const char *const kinds[] = {
	[PART_TEXT] = "text",           [PART_THINKING] = "thinking",
	[PART_TOOL_CALL] = "tool_call", [PART_TOOL_RESULT] = "tool_result",
	[PART_MEDIA] = "media",
};

enum {
	N_ROLES = sizeof(roles) / sizeof(roles[0]),
	N_KINDS = sizeof(kinds) / sizeof(kinds[0]),
};

static int name_index(const char *const *names, int n, const char *name)
{
	for (int i = 1; i < n; i++)
		if (strcmp(names[i], name) == 0)
			return i;
	return 0;
}

static void part_release(struct part *p)
{
	free(p->text);
	free(p->id);
	free(p->name);
	free(p->args);
	free(p->replay);
	free(p->change);
	free(p->bytes);
}

struct part *message_add(struct message *m, enum part_kind kind)
{
	struct part *p;

	/* The capacity is n rounded up to a power of two, so it need not be
	 * stored. */
	if (!(m->n & (m->n - 1)))
		m->parts = xrealloc(m->parts, m->n ? m->n * 2 : 1, sizeof(*p));
	p = &m->parts[m->n++];
	*p = (struct part){ .kind = kind };
	return p;
}

struct part *message_add_media(struct message *m, const char *name,
			       struct buf *bytes)
{
	const char *type = media_type(buf_str(bytes));
	struct buf clean = BUF_INIT(MEDIA_NAME_MAX);
	struct buf text = BUF_INIT(MEDIA_NAME_MAX + 128);
	struct part *p;

	if (!type)
		return NULL;
	sanitize_line(str_of(name), &clean);
	clean.len = str_utf8_prefix(buf_str(&clean));
	if (!clean.len)
		buf_adds(&clean, "file");
	clean.ptr[clean.len] = '\0';
	p = message_add(m, PART_MEDIA);
	p->type = type;
	p->n_bytes = bytes->len;
	p->bytes = buf_detach(bytes);
	p->name = buf_detach(&clean);
	media_describe(p->name, (struct str){ p->bytes, p->n_bytes }, NULL,
		       &text);
	p->text = buf_detach(&text);
	return p;
}

void message_move(struct message *to, struct part *from)
{
	struct part moved = *from;

	*from = (struct part){ .kind = moved.kind };
	*message_add(to, moved.kind) = moved;
}

size_t message_count_media(const struct message *m, size_t i)
{
	size_t n = 0;

	while (i + 1 + n < m->n && m->parts[i + 1 + n].kind == PART_MEDIA)
		n++;
	return n;
}

size_t message_media_bytes(const struct message *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n; i++)
		n += m->parts[i].n_bytes;
	return n;
}

void message_release(struct message *m)
{
	for (size_t i = 0; i < m->n; i++)
		part_release(&m->parts[i]);
	free(m->parts);
	free(m->origin);
	*m = (struct message){ 0 };
}

static char *copy_text(const char *text)
{
	return text ? xstrdup(text) : NULL;
}

/* Returns a message like m without parts and origin. */
static struct message copy_head(const struct message *m)
{
	return (struct message){ .role = m->role,
				 .refused = m->refused,
				 .cut = m->cut,
				 .summary = m->summary,
				 .steering = m->steering };
}

struct message message_copy(const struct message *m)
{
	struct message copy = copy_head(m);

	copy.origin = copy_text(m->origin);
	for (size_t i = 0; i < m->n; i++) {
		const struct part *from = &m->parts[i];
		struct part *p = message_add(&copy, from->kind);

		*p = *from;
		p->text = copy_text(from->text);
		p->id = copy_text(from->id);
		p->name = copy_text(from->name);
		p->args = copy_text(from->args);
		p->replay = copy_text(from->replay);
		p->change = copy_text(from->change);
		p->bytes = NULL;
		if (from->bytes) {
			p->bytes = xcalloc(1, from->n_bytes + 1);
			memcpy(p->bytes, from->bytes, from->n_bytes);
		}
	}
	return copy;
}

char *message_text(const struct message *m)
{
	struct buf out = BUF_INIT(SIZE_MAX / 2);

	for (size_t i = 0; i < m->n; i++)
		if (m->parts[i].kind == PART_TEXT && m->parts[i].text)
			buf_adds(&out, m->parts[i].text);
	return buf_detach(&out);
}

const char *message_bridge(const struct message *m)
{
	return m && m->steering ? "(the user sends a message)"
				: "(interrupted)";
}

/* Drops one note of dcode from the front. False: there is none. */
static bool drop_note(struct str *text)
{
	static const char *const notes[] = {
		MESSAGE_NOTE_PLAN, MESSAGE_NOTE_PLAN_OVER, MESSAGE_NOTE_MOVED,
		MESSAGE_NOTE_MOVED_WORK, MESSAGE_NOTE_MOVED_HERE
	};
	size_t len = 0;

	for (size_t i = 0; i < sizeof(notes) / sizeof(*notes); i++)
		if (str_starts(*text, notes[i]))
			len = strlen(notes[i]);
	if (str_starts(*text, MESSAGE_NOTE_UNDO) ||
	    str_starts(*text, MESSAGE_NOTE_SHELL))
		len = str_find(*text, '\n') + 1;
	if (!len || len > text->len)
		return false;
	*text = str_skip(*text, len);
	if (str_starts(*text, "\n"))
		*text = str_skip(*text, 1);
	return true;
}

char *message_with_commands(const struct message *m)
{
	char *all = message_text(m);
	struct str typed = str_of(all);
	char *own;

	while (drop_note(&typed))
		;
	own = xstrndup(typed.len ? typed.ptr : "", typed.len);
	free(all);
	return own;
}

/* Takes the text up to a mark from the front, and drops the mark. */
static bool take_until(struct str *text, struct str mark, struct str *taken)
{
	size_t at = str_search(*text, mark);

	if (at == text->len)
		return false;
	*taken = (struct str){ text->ptr, at };
	*text = str_skip(*text, at + mark.len);
	return true;
}

bool message_take_command(struct str *text, struct str *command,
			  struct str *result)
{
	struct str rest = str_skip(*text, strlen(MESSAGE_OWN_COMMAND));

	if (!str_starts(*text, MESSAGE_OWN_COMMAND) ||
	    !take_until(&rest, STR(MESSAGE_OWN_RESULT), command) ||
	    !take_until(&rest, STR(MESSAGE_OWN_END), result))
		return false;
	*text = rest;
	return true;
}

char *message_typed(const struct message *m)
{
	char *all = message_with_commands(m);
	struct str typed = str_of(all);
	struct str ignored[2];
	char *own;

	while (message_take_command(&typed, &ignored[0], &ignored[1]))
		;
	typed.len = str_search(typed, STR(MESSAGE_FILES));
	own = xstrndup(typed.len ? typed.ptr : "", typed.len);
	free(all);
	return own;
}

static void media_to_json(const struct part *p, struct buf *out)
{
	json_member(out, "name", str_of(p->name));
	buf_adds(out, ",\"data\":\"");
	json_base64(out, (struct str){ p->bytes, p->n_bytes });
	buf_adds(out, "\"}");
}

static void part_to_json(const struct part *p, struct buf *out)
{
	buf_addc(out, '{');
	json_member(out, "kind", str_of(kinds[p->kind]));
	if (p->kind == PART_MEDIA) {
		buf_addc(out, ',');
		media_to_json(p, out);
		return;
	}
	json_add_member(out, "text", p->text);
	json_add_member(out, "id", p->id);
	json_add_member(out, "name", p->name);
	json_add_member(out, "args", p->args);
	json_add_member(out, "replay", p->replay);
	json_add_member(out, "change", p->change);
	if (p->bad_args)
		buf_adds(out, ",\"bad_args\":true");
	if (p->failed)
		buf_adds(out, ",\"failed\":true");
	buf_addc(out, '}');
}

void message_to_json(const struct message *m, struct buf *out)
{
	buf_addc(out, '{');
	json_member(out, "role", str_of(roles[m->role]));
	json_add_member(out, "origin", m->origin);
	if (m->refused)
		buf_adds(out, ",\"refused\":true");
	if (m->cut)
		buf_adds(out, ",\"cut\":true");
	if (m->summary)
		buf_adds(out, ",\"summary\":true");
	if (m->steering)
		buf_adds(out, ",\"steering\":true");
	buf_adds(out, ",\"parts\":[");
	for (size_t i = 0; i < m->n; i++) {
		if (i)
			buf_addc(out, ',');
		part_to_json(&m->parts[i], out);
	}
	buf_adds(out, "]}");
}

static int media_from_json(struct message *m, const cJSON *item)
{
	struct buf bytes = BUF_INIT(MEDIA_MAX_BYTES);
	struct str data = str_of(json_string(item, "data", ""));
	const struct part *p = NULL;

	if (json_decode_base64(&bytes, data) && !bytes.over)
		p = message_add_media(m, json_string(item, "name", ""), &bytes);
	buf_release(&bytes);
	return p ? 0 : -1;
}

static int part_from_json(struct message *m, const cJSON *item)
{
	int kind = name_index(kinds, N_KINDS, json_string(item, "kind", ""));
	struct part *p;

	if (!kind)
		return -1;
	if (kind == PART_MEDIA)
		return media_from_json(m, item);
	p = message_add(m, (enum part_kind)kind);
	p->text = xstrdup(json_string(item, "text", NULL));
	p->id = xstrdup(json_string(item, "id", NULL));
	p->name = xstrdup(json_string(item, "name", NULL));
	p->args = xstrdup(json_string(item, "args", NULL));
	p->replay = xstrdup(json_string(item, "replay", NULL));
	p->change = xstrdup(json_string(item, "change", NULL));
	p->bad_args = json_bool(item, "bad_args", false);
	p->failed = json_bool(item, "failed", false);
	return 0;
}

int message_from_json(struct message *m, struct str json, struct error *err)
{
	cJSON *tree = json_parse(json);
	const cJSON *parts = json_get(tree, "parts");
	const cJSON *item;
	int role = name_index(roles, N_ROLES, json_string(tree, "role", ""));
	int rc = role && cJSON_IsArray(parts) ? 0 : -1;

	*m = (struct message){
		.role = (enum role)role,
		.origin = xstrdup(json_string(tree, "origin", NULL)),
		.refused = json_bool(tree, "refused", false),
		.cut = json_bool(tree, "cut", false),
		.summary = json_bool(tree, "summary", false),
		.steering = json_bool(tree, "steering", false),
	};
	if (rc == 0)
		cJSON_ArrayForEach (item, parts)
			if (rc == 0)
				rc = part_from_json(m, item);
	cJSON_Delete(tree);
	if (rc == 0)
		return 0;
	message_release(m);
	return error_set(err, ERR_PROTOCOL, "stored message is damaged");
}

static char *masked_text(const struct mask *mask, const char *text)
{
	struct buf out = BUF_INIT(SIZE_MAX / 4);

	if (!text)
		return NULL;
	mask_text(mask, str_of(text), &out);
	return buf_detach(&out);
}

char *message_masked_args(const struct mask *mask, const struct part *call)
{
	struct buf out = BUF_INIT(SIZE_MAX / 4);

	if (!call->args || !call->args[0] || call->bad_args)
		return masked_text(mask, call->args);
	mask_json(mask, str_of(call->args), &out);
	return buf_detach(&out);
}

/* Copies a file and masks its name. Its bytes are not masked: that would break
 * the file. */
static void mask_media(const struct mask *mask, const struct part *from,
		       struct message *out)
{
	char *name = masked_text(mask, from->name);
	struct buf bytes = BUF_INIT(SIZE_MAX / 4);

	buf_add(&bytes, from->bytes, from->n_bytes);
	(void)message_add_media(out, name, &bytes);
	buf_release(&bytes);
	free(name);
}

bool message_admit(const struct mask *mask, struct message *m)
{
	bool found = false;

	for (size_t i = 0; i < m->n; i++) {
		struct part *p = &m->parts[i];

		found |= mask_string(p->exempt ? mask_values(mask) : mask,
				     &p->text);
		found |= mask_string(mask, p->kind == PART_MEDIA ? &p->name
								 : &p->change);
	}
	return found;
}

void message_mask(const struct mask *mask, const struct message *m,
		  struct message *out)
{
	*out = copy_head(m);
	for (size_t i = 0; i < m->n; i++) {
		const struct part *from = &m->parts[i];
		struct part *to;

		if (from->kind == PART_MEDIA) {
			mask_media(mask, from, out);
			continue;
		}
		to = message_add(out, from->kind);
		to->text = masked_text(mask, from->text);
		to->id = masked_text(mask, from->id);
		to->name = masked_text(mask, from->name);
		to->args = message_masked_args(mask, from);
		to->change = masked_text(mask, from->change);
		to->bad_args = from->bad_args;
		to->failed = from->failed;
	}
}

/* Images and PDF files: type, size and token counts. */

static int64_t min_tokens(int64_t a, int64_t b);

static const char png[] = "image/png";

static const char jpeg[] = "image/jpeg";

static const char gif[] = "image/gif";

static const char webp[] = "image/webp";

static const char pdf[] = "application/pdf";

static bool has_at(struct str bytes, size_t at, struct str magic)
{
	return bytes.len >= at + magic.len &&
	       memcmp(bytes.ptr + at, magic.ptr, magic.len) == 0;
}

const char *media_type(struct str bytes)
{
	if (has_at(bytes, 0, STR("\x89PNG\r\n\x1A\n")) &&
	    has_at(bytes, 12, STR("IHDR")))
		return png;
	if (has_at(bytes, 0, STR("\xFF\xD8\xFF")))
		return jpeg;
	if (has_at(bytes, 0, STR("GIF87a")) || has_at(bytes, 0, STR("GIF89a")))
		return gif;
	if (has_at(bytes, 0, STR("RIFF")) && has_at(bytes, 8, STR("WEBP")))
		return webp;
	return has_at(bytes, 0, STR("%PDF-")) ? pdf : NULL;
}

bool media_is_pdf(const char *type)
{
	return strcmp(type, pdf) == 0;
}

static uint32_t byte_at(struct str b, size_t at)
{
	return (unsigned char)b.ptr[at];
}

static uint32_t read_big16(struct str b, size_t at)
{
	return byte_at(b, at) << 8 | byte_at(b, at + 1);
}

static uint32_t read_little16(struct str b, size_t at)
{
	return byte_at(b, at + 1) << 8 | byte_at(b, at);
}

static uint32_t read_little24(struct str b, size_t at)
{
	return byte_at(b, at + 2) << 16 | read_little16(b, at);
}

/* True for the markers SOF0 to SOF15. DHT, JPG and DAC are in the same range
 * but are not frames. */
static bool is_frame(uint32_t marker)
{
	return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 &&
	       marker != 0xC8 && marker != 0xCC;
}

/* Finds the size in the frame header of a JPEG file. */
static bool jpeg_dimensions(struct str b, uint32_t *width, uint32_t *height)
{
	size_t at = 2;

	while (at + 9 <= b.len && byte_at(b, at) == 0xFF) {
		uint32_t marker = byte_at(b, at + 1);

		if (marker == 0xFF) { /* a fill byte */
			at++;
			continue;
		}
		if (is_frame(marker)) {
			*height = read_big16(b, at + 5);
			*width = read_big16(b, at + 7);
			return true;
		}
		if (read_big16(b, at + 2) < 2)
			return false;
		at += 2 + read_big16(b, at + 2);
	}
	return false;
}

/* Reads the size of a WebP image
 * (developers.google.com/speed/webp/docs/riff_container, RFC 6386 section 9.1,
 * RFC 9649 section 3.4; read 2026-11-23). */
static bool webp_dimensions(struct str b, uint32_t *width, uint32_t *height)
{
	if (has_at(b, 12, STR("VP8X")) && b.len >= 30) {
		*width = read_little24(b, 24) + 1;
		*height = read_little24(b, 27) + 1;
		return true;
	}
	if (has_at(b, 12, STR("VP8L")) && b.len >= 25) {
		*width = (read_little16(b, 21) & 0x3FFF) + 1;
		*height = ((read_little24(b, 22) >> 6) & 0x3FFF) + 1;
		return true;
	}
	if (!has_at(b, 12, STR("VP8 ")) || b.len < 30)
		return false;
	*width = read_little16(b, 26) & 0x3FFF;
	*height = read_little16(b, 28) & 0x3FFF;
	return true;
}

static bool read_dimensions(const char *type, struct str b, uint32_t *width,
			    uint32_t *height)
{
	if (type == png && b.len >= 24) {
		*width = read_big16(b, 16) << 16 | read_big16(b, 18);
		*height = read_big16(b, 20) << 16 | read_big16(b, 22);
		return true;
	}
	if (type == gif && b.len >= 10) {
		*width = read_little16(b, 6);
		*height = read_little16(b, 8);
		return true;
	}
	if (type == jpeg)
		return jpeg_dimensions(b, width, height);
	return type == webp && webp_dimensions(b, width, height);
}

bool media_dimensions(struct str bytes, uint32_t *width, uint32_t *height)
{
	return read_dimensions(media_type(bytes), bytes, width, height) &&
	       *width && *height;
}

void media_describe(const char *name, struct str bytes, const char *note,
		    struct buf *out)
{
	uint32_t width;
	uint32_t height;
	const char *type = media_type(bytes);
	char size[32];

	str_format_size((int64_t)bytes.len, size);
	buf_addf(out, "[%s %.*s", type && media_is_pdf(type) ? "PDF" : "image",
		 MEDIA_NAME_MAX, name);
	if (media_dimensions(bytes, &width, &height))
		buf_addf(out, " %ux%u", width, height);
	buf_addf(out, " %s%s%s]", size, note ? ", " : "", note ? note : "");
}

/* Upper bounds. Those without a source are dcode's own and are high on purpose.
 * Sources were read on 2026-11-23. */

enum {
	MOST_PAGES = 1000, /* largest number of pages in rates[] */
	HIDDEN_SHARE =
		32, /* bytes per token of a PDF whose page count is hidden */
};

/* How many tokens a vendor counts for a file. A row applies if the wire's name
 * starts with `wire` and the model's name contains `model`. */
struct media_rates {
	const char *wire, *model;
	int64_t side;    /* side of a patch or tile, in pixels */
	int64_t hundred; /* tokens per hundred patches or tiles */
	/* the maximum of an image is at least and at most this; most 0: no
	 * bound */
	int64_t least, most;
	int64_t usual; /* typical tokens of a large image */
	/* maximum tokens per PDF page, its text included; pages per request */
	int64_t page, pages;
	int64_t page_usual;
};

/* Sources of the rows. Claude: a patch of 28x28 pixels is a token, and larger
 * images are scaled down (platform.claude.com/docs, "Images and vision"),
 * usually to some 1,600 tokens; the bound of 4784, for 2576 pixels, is dcode's.
 * OpenAI: patches of 32x32 pixels, times up to 2.46, or tiles, 85 and 170
 * tokens each (community.openai.com, topic 1344040, quotes the vendor's page);
 * the minimum, and the values for gpt-4o-mini and Llama servers, are dcode's
 * bounds. Gemini: generation 3 counts 1120 tokens for an image unless the
 * request asks for more, and accepts 1000 pages per file
 * (docs.cloud.google.com, "Image understanding", "Document understanding"); for
 * its tiles dcode assumes a bound. A PDF page counts up to 3000 tokens of text
 * besides its image. That and the typical values of pages are dcode's. */
static const struct media_rates rates[] = {
	{ "openai-", "4o-mini", 32, 246, 2833 + 8 * 5667, 2833 + 8 * 5667,
	  25501, 3000 + 2833 + 8 * 5667, 1000, 25501 + 1000 },
	{ "openai-", "", 32, 246, 6404, 24600, 1600, 3000 + 6404, 1000, 2600 },
	{ "gemini", "", 384, 25800, 2240, 0, 1120, 3000 + 2240, 1000, 1120 },
	{ "", "", 28, 100, 0, 4784, 1600, 3000 + 4784, 600, 3100 },
};

/* numbers of the objects that the page lists (/Kids) of a PDF refer to */
struct kids {
	int64_t list[MOST_PAGES];
	int64_t n;
};

static const struct media_rates *find_rates(const char *wire, const char *model)
{
	const struct media_rates *r = rates;

	while (!str_starts(str_of(wire), r->wire) || !strstr(model, r->model))
		r++;
	return r;
}

/* Returns the tokens of an image by its size in pixels. Returns `unknown` if
 * the size cannot be read. */
static int64_t count_tiles(const struct media_rates *r, struct str bytes,
			   int64_t unknown)
{
	int64_t side = r->side;
	uint32_t width;
	uint32_t height;

	if (!media_dimensions(bytes, &width, &height))
		return unknown;
	/* In each row this is below 2^55: the multiplication by a hundred
	 * cannot overflow. */
	return (((width + side - 1) / side) * ((height + side - 1) / side) *
			r->hundred +
		99) /
	       100;
}

static int64_t min_tokens(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Skips PDF white space, but not comments. */
static struct str skip_space(struct str s)
{
	while (s.len && memchr(" \t\r\n\f", s.ptr[0], 6))
		s = str_skip(s, 1);
	return s;
}

static bool parse_number(struct str *s, int64_t *n)
{
	size_t digits = 0;

	while (digits < s->len && s->ptr[digits] >= '0' &&
	       s->ptr[digits] <= '9')
		digits++;
	if (digits > 10 || !str_to_int((struct str){ s->ptr, digits }, n))
		return false;
	*s = skip_space(str_skip(*s, digits));
	return true;
}

/* Adds the objects in "/Kids [1 0 R 2 0 R]". False if the list has another
 * form, has more objects than fit, or has an object that is already there: such
 * a page is shown twice. */
static bool add_kids(struct kids *k, struct str s)
{
	int64_t object;
	int64_t generation;

	s = skip_space(s);
	if (!s.len || s.ptr[0] != '[')
		return false;
	s = skip_space(str_skip(s, 1));
	while (s.len && s.ptr[0] != ']') {
		if (k->n == MOST_PAGES || !parse_number(&s, &object) ||
		    !parse_number(&s, &generation) || !s.len || s.ptr[0] != 'R')
			return false;
		s = skip_space(str_skip(s, 1));
		for (int64_t i = 0; i < k->n; i++)
			if (k->list[i] == object)
				return false;
		k->list[k->n++] = object;
	}
	return s.len > 0;
}

/* Returns at least the number of pages: the number of page objects, or of
 * objects in page lists if that is higher. Older versions of a page count too.
 * Returns `most` if pages may be hidden (in an object stream, or shown several
 * times) or if no page is found. */
static int64_t count_pages(struct str bytes, int64_t most)
{
	struct kids kids = { .n = 0 };
	struct str rest = bytes;
	int64_t n = 0;

	if (str_search(bytes, STR("/ObjStm")) < bytes.len ||
	    str_search(bytes, STR("#")) < bytes.len)
		return most;
	while (rest.len) {
		struct str name;

		rest = str_skip(rest, str_find(rest, '/'));
		name = skip_space(str_skip(rest, strlen("/Type")));
		if (str_starts(rest, "/Kids") &&
		    !add_kids(&kids, str_skip(rest, strlen("/Kids"))))
			return most;
		if (str_starts(rest, "/Type") && name.len && name.ptr[0] == '%')
			return most;
		n += str_starts(rest, "/Type") && str_starts(name, "/Page") &&
		     !str_starts(name, "/Pages");
		rest = str_skip(rest, 1);
	}
	if (kids.n > n)
		n = kids.n;
	return n ? min_tokens(n, most) : most;
}

static int64_t most_of_image(const struct media_rates *r, struct str bytes)
{
	int64_t n = count_tiles(r, bytes, r->most);

	if (r->most)
		n = min_tokens(n, r->most);
	return n > r->least ? n : r->least;
}

int64_t media_max_tokens(const char *wire, const char *model, struct str bytes)
{
	const char *type = media_type(bytes);
	const struct media_rates *r = find_rates(wire, model);

	if (!type)
		return 0;
	if (media_is_pdf(type))
		return count_pages(bytes, r->pages) * r->page;
	return most_of_image(r, bytes);
}

static int64_t usual_of_pdf(const struct media_rates *r, struct str bytes)
{
	int64_t pages = count_pages(bytes, r->pages);
	int64_t n = (int64_t)bytes.len / HIDDEN_SHARE;

	/* count_pages() returned its upper bound: pages may be hidden, so
	 * estimate by size */
	if (pages == r->pages)
		return n > r->page_usual ? n : r->page_usual;
	return pages * r->page_usual;
}

int64_t media_usual_tokens(const char *wire, const char *model,
			   struct str bytes)
{
	const char *type = media_type(bytes);
	const struct media_rates *r = find_rates(wire, model);

	if (!type)
		return 0;
	if (media_is_pdf(type))
		return usual_of_pdf(r, bytes);
	return min_tokens(count_tiles(r, bytes, r->usual), r->usual);
}
