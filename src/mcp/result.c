/* result.c - turns the result of a tool call into text for the model. */
/* SPDX-License-Identifier: MIT */
#include "mcp/result.h"

#include <string.h>

#include "base/sanitize.h"
#include "base/str.h"
#include "model/media.h"

enum {
	ITEMS_MAX = 4096, /* parts per result */
	MEDIA_MAX = 20,
	WORD_MAX = 200, /* bytes of a name or type in a note */
};

static void begin_item(struct buf *out)
{
	if (out->len && out->ptr[out->len - 1] != '\n')
		buf_addc(out, '\n');
}

static void add_word(const char *text, struct buf *out)
{
	struct str word = { text, strnlen(text, WORD_MAX) };

	word.len = str_utf8_prefix(word);
	sanitize_line(word, out);
}

static void add_text(const char *text, struct buf *out)
{
	begin_item(out);
	sanitize_text(str_of(text), out);
}

/* Approximate size in bytes of base64 data once decoded. */
static long long decoded_size(const char *data)
{
	return (long long)strlen(data) / 4 * 3;
}

static void note_hidden(const char *kind, const cJSON *item, const char *data,
			struct buf *out)
{
	begin_item(out);
	buf_addf(out, "[%s ", kind);
	add_word(json_string(item, "mimeType", "of unknown type"), out);
	buf_addf(out, ", %lld bytes: not shown]", decoded_size(data));
}

static bool show_image(const char *data, struct message *media)
{
	struct buf bytes = BUF_INIT(MEDIA_MAX_BYTES);
	bool shown = media && media->n < MEDIA_MAX &&
		     json_decode_base64(&bytes, str_of(data)) && !bytes.over &&
		     message_add_media(media, "image", &bytes);

	buf_release(&bytes);
	return shown;
}

static void add_image(const cJSON *item, struct message *media, struct buf *out)
{
	const char *data = json_string(item, "data", "");

	if (!show_image(data, media)) {
		note_hidden("image", item, data, out);
		return;
	}
	begin_item(out);
	buf_adds(out, "[image: shown after this result]");
}

/* Appends a line for a resource that the result only links to. */
static void add_link(const cJSON *item, struct buf *out)
{
	const char *type = json_string(item, "mimeType", NULL);
	const char *about = json_string(item, "description", NULL);

	begin_item(out);
	buf_adds(out, "[resource ");
	add_word(json_string(item, "name", ""), out);
	buf_adds(out, " <");
	sanitize_line(str_of(json_string(item, "uri", "")), out);
	buf_addc(out, '>');
	if (type) {
		buf_addc(out, ' ');
		add_word(type, out);
	}
	if (about) {
		buf_adds(out, ": ");
		add_word(about, out);
	}
	buf_addc(out, ']');
}

/* Appends an embedded resource: text, an image, or a note about it. */
static void add_resource(const cJSON *item, struct message *media,
			 struct buf *out)
{
	const cJSON *resource = json_get(item, "resource");
	const char *text = json_string(resource, "text", NULL);
	const char *blob = json_string(resource, "blob", NULL);

	add_link(resource, out);
	if (text)
		add_text(text, out);
	else if (blob && show_image(blob, media))
		buf_adds(out, "\n[shown after this result]");
	else if (blob)
		note_hidden("resource", resource, blob, out);
}

/* Appends one part of the result, by its type. */
static void add_item(const cJSON *item, struct message *media, struct buf *out)
{
	const char *type = json_string(item, "type", "");

	if (!strcmp(type, "text")) {
		add_text(json_string(item, "text", ""), out);
	} else if (!strcmp(type, "image")) {
		add_image(item, media, out);
	} else if (!strcmp(type, "audio")) {
		note_hidden("audio", item, json_string(item, "data", ""), out);
	} else if (!strcmp(type, "resource_link")) {
		add_link(item, out);
	} else if (!strcmp(type, "resource")) {
		add_resource(item, media, out);
	} else {
		begin_item(out);
		buf_adds(out, "[content of the unknown type ");
		add_word(type, out);
		buf_addc(out, ']');
	}
}

/* Appends structuredContent if the result has no text. Most servers repeat it
 * as text, for clients that know only text. */
static void add_structured(const cJSON *result, struct buf *out)
{
	const cJSON *value = json_get(result, "structuredContent");

	if (out->len || !value)
		return;
	json_print(out, value);
}

bool mcp_result_read(const cJSON *result, struct message *media,
		     struct buf *out)
{
	const cJSON *list = json_get(result, "content");
	const cJSON *item;
	int n = 0;

	if (!cJSON_IsArray(list))
		list = NULL;
	cJSON_ArrayForEach (item, list)
		if (n++ < ITEMS_MAX)
			add_item(item, media, out);
	if (n > ITEMS_MAX)
		buf_addf(out, "\n[%d more parts are left out]", n - ITEMS_MAX);
	add_structured(result, out);
	if (!out->len)
		buf_adds(out, "(the tool returned nothing)");
	return json_bool(result, "isError", false);
}
