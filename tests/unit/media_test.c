/* media_test.c - what the bytes of a file say, and what is made of them. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "media_files.h"
#include "model/catalog.h"
#include "model/message.h"
#include "model/wire.h"
#include "unit.h"

static void expect_line(struct str bytes, const char *want)
{
	struct buf line = BUF_INIT(1 << 12);

	media_describe("a.x", bytes, NULL, &line);
	assert_string_equal(line.ptr, want);
	buf_release(&line);
}

static void a_type_is_told_by_the_first_bytes(void **state)
{
	(void)state;
	assert_string_equal(media_type(PNG_3X2), "image/png");
	assert_string_equal(media_type(GIF_7X5), "image/gif");
	assert_string_equal(media_type(JPEG_640X480), "image/jpeg");
	assert_string_equal(media_type(WEBP_16X9), "image/webp");
	assert_string_equal(media_type(PDF_2_PAGES), "application/pdf");
	assert_null(media_type(STR("")));
	assert_null(media_type((struct str){ 0 }));
	assert_null(media_type(STR("\x89PNG")));
	assert_null(media_type(STR("<svg xmlns=\"x\"/>")));
	assert_null(media_type(STR(" %PDF-1.4")));
	assert_null(media_type(STR("RIFF\x16\0\0\0WAVE")));
}

static void a_line_names_type_pixels_and_size(void **state)
{
	(void)state;
	expect_line(PNG_3X2, "[image a.x 3x2 29 bytes]");
	expect_line(GIF_7X5, "[image a.x 7x5 13 bytes]");
	expect_line(JPEG_640X480, "[image a.x 640x480 31 bytes]");
	expect_line(WEBP_16X9, "[image a.x 16x9 30 bytes]");
	expect_line(STR("%PDF-1.7"), "[PDF a.x 8 bytes]");
}

/* Every prefix, and every byte set to 0 and 255: under ASan. */
static void broken_headers_are_read_within_their_bytes(void **state)
{
	const struct str files[] = { PNG_3X2, GIF_7X5, JPEG_640X480, WEBP_16X9,
				     PDF_2_PAGES };
	uint32_t w;
	uint32_t h;

	(void)state;
	for (size_t f = 0; f < 5; f++)
		for (size_t n = 0; n <= files[f].len; n++)
			for (int set = -1; set < 256; set += 128) {
				char *copy = malloc(n + 1);
				struct str s = { copy, n };

				memcpy(copy, files[f].ptr, n);
				if (set >= 0 && n)
					copy[n - 1] = (char)set;
				copy = realloc(copy, n ? n : 1);
				s.ptr = copy;
				(void)media_dimensions(s, &w, &h);
				(void)media_max_tokens("gemini", "x", s);
				free(copy);
			}
}

static void a_bomb_of_pixels_costs_nothing_here(void **state)
{
	struct str bomb = STR("\x89PNG\r\n\x1A\n\0\0\0\x0DIHDR\xFF\xFF\xFF\xFF"
			      "\xFF\xFF\xFF\xFF\x08\x02\0\0\0");

	(void)state;
	expect_line(bomb, "[image a.x 4294967295x4294967295 29 bytes]");
	assert_int_equal(media_max_tokens("anthropic", "claude-opus-5", bomb),
			 4784);
	assert_true(media_max_tokens("gemini", "gemini-3-pro", bomb) > 0);
}

static void tokens_are_at_most_what_the_vendor_documents(void **state)
{
	struct str png = STR("\x89PNG\r\n\x1A\n\0\0\0\x0DIHDR\0\0\4\0\0\0\3\0"
			     "\x08\x02\0\0\0"); /* 1024x768 */

	(void)state;
	assert_int_equal(media_max_tokens("anthropic", "m", png), 37 * 28);
	assert_int_equal(media_max_tokens("bedrock", "m", png), 37 * 28);
	assert_int_equal(media_max_tokens("openai-chat", "gpt-4o", png), 6404);
	assert_int_equal(media_max_tokens("openai-chat", "gpt-4o-mini", png),
			 48169);
	assert_int_equal(media_max_tokens("gemini", "gemini-2.5-pro", png),
			 2240);
	assert_int_equal(media_max_tokens("anthropic", "m", PDF_2_PAGES),
			 2 * 7784);
	/* pages may be hidden: as many as a request may have */
	assert_int_equal(media_max_tokens("anthropic", "m",
					  STR("%PDF-1.5 /Type/ObjStm")),
			 600 * 7784);
	assert_int_equal(media_max_tokens("anthropic", "m",
					  STR("%PDF-1.5 /Type/P#61ge")),
			 600 * 7784);
	assert_int_equal(media_max_tokens("anthropic", "m", STR("text")), 0);
}

static void what_is_usual_is_never_more_than_the_most(void **state)
{
	static const char *const wires_[] = { "anthropic", "bedrock", "gemini",
					      "openai-chat",
					      "openai-responses" };
	const struct str files[] = { PNG_3X2,      GIF_7X5,
				     JPEG_640X480, WEBP_16X9,
				     PDF_2_PAGES,  STR("%PDF-1.5 /ObjStm") };

	(void)state;
	for (size_t w = 0; w < 5; w++)
		for (size_t f = 0; f < 6; f++) {
			int64_t usual =
				media_usual_tokens(wires_[w], "m", files[f]);

			assert_true(usual > 0);
			assert_true(usual <=
				    media_max_tokens(wires_[w], "m", files[f]));
		}
	assert_int_equal(media_usual_tokens("anthropic", "m", JPEG_640X480),
			 23 * 18);
	assert_int_equal(media_usual_tokens("anthropic", "m", PDF_2_PAGES),
			 2 * 3100);
	assert_int_equal(media_usual_tokens("gemini", "m", STR("text")), 0);
}

static struct message read_back(const struct message *m)
{
	struct message again;
	struct error err = { 0 };
	struct buf json = BUF_INIT(1 << 20);

	message_to_json(m, &json);
	assert_int_equal(message_from_json(&again, buf_str(&json), &err), 0);
	buf_release(&json);
	return again;
}

static void a_file_is_stored_and_read_back(void **state)
{
	struct message m = { .role = ROLE_USER };
	struct message again;

	(void)state;
	add_media(&m, "dir/\x1B[31ma\n.jpg", PNG_3X2);
	again = read_back(&m);
	assert_int_equal(again.n, 1);
	assert_string_equal(again.parts[0].type, "image/png");
	assert_int_equal(again.parts[0].n_bytes, PNG_3X2.len);
	assert_memory_equal(again.parts[0].bytes, PNG_3X2.ptr, PNG_3X2.len);
	assert_string_equal(again.parts[0].text,
			    "[image dir/a .jpg 3x2 29 bytes]");
	message_release(&m);
	message_release(&again);
}

static void what_is_no_media_is_not_read_as_a_file(void **state)
{
	static const char *const bad[] = {
		"", "!", "PHN2Zy8+", /* <svg/> */
	};
	struct message m;
	struct error err;
	char json[200];

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		snprintf(json, sizeof(json),
			 "{\"role\":\"user\",\"parts\":[{\"kind\":\"media\","
			 "\"name\":\"a.png\",\"data\":\"%s\"}]}",
			 bad[i]);
		assert_int_equal(message_from_json(&m, str_of(json), &err), -1);
	}
}

static void a_mask_leaves_the_bytes_alone(void **state)
{
	struct mask *mask = mask_new();
	struct message m = { .role = ROLE_USER };
	struct message masked;

	(void)state;
	mask_add(mask, "KEY", STR("IHDR\0\0\0\x03"));
	mask_add(mask, "KEY", STR("s3cretname"));
	add_media(&m, "s3cretname.png", PNG_3X2);
	message_mask(mask, &m, &masked);
	assert_memory_equal(masked.parts[0].bytes, PNG_3X2.ptr, PNG_3X2.len);
	assert_null(strstr(masked.parts[0].text, "s3cret"));
	assert_null(strstr(masked.parts[0].name, "s3cret"));
	message_release(&m);
	message_release(&masked);
	mask_free(mask);
}

/* What a wire makes of a user's image, and of one that a tool has read. */
static char *push_both(const struct wire *w, unsigned lacks)
{
	struct history h = { .bytes = BUF_INIT(1 << 20), .lacks = lacks };
	struct message user = { .role = ROLE_USER };
	struct message tool = { .role = ROLE_TOOL };
	struct part *result;

	add_media(&user, "a.png", PNG_3X2);
	message_add(&user, PART_TEXT)->text = xstrdup("see");
	result = message_add(&tool, PART_TOOL_RESULT);
	result->id = xstrdup("c1");
	result->name = xstrdup("read_file");
	result->text = xstrdup("here");
	add_media(&tool, "b.pdf", PDF_2_PAGES);
	add_media(&tool, "c.gif", GIF_7X5);
	wire_push(w, &h, "o", &user);
	wire_push(w, &h, "o", &tool);
	message_release(&user);
	message_release(&tool);
	return buf_detach(&h.bytes);
}

static void a_model_that_takes_none_gets_a_line_of_text(void **state)
{
	(void)state;
	for (size_t i = 0; wires[i]; i++) {
		char *all = push_both(wires[i], 0);
		char *none = push_both(wires[i],
				       MODEL_TAKES_IMAGES | MODEL_TAKES_PDF);
		char *no_pdf = push_both(wires[i], MODEL_TAKES_PDF);

		assert_non_null(strstr(all, "iVBORw0KGgo"));
		assert_non_null(strstr(all, "JVBERi0xLjQ"));
		assert_null(strstr(none, "iVBORw0KGgo"));
		assert_null(strstr(none, "JVBERi0xLjQ"));
		assert_non_null(strstr(none, "[image a.png 3x2 29 bytes, not "
					     "shown to this model]"));
		assert_non_null(strstr(none, "here\\n[PDF b.pdf "));
		assert_non_null(strstr(no_pdf, "iVBORw0KGgo"));
		assert_null(strstr(no_pdf, "JVBERi0xLjQ"));
		/* Gemini takes no GIF */
		assert_int_equal(strstr(all, "R0lGODlh") == NULL,
				 strcmp(wires[i]->name, "gemini") == 0);
		free(all);
		free(none);
		free(no_pdf);
	}
}

static int64_t pages(struct str pdf)
{
	return media_max_tokens("anthropic", "m", pdf) /
	       media_max_tokens("anthropic", "m",
				STR("%PDF-1.4\n/Type /Page\n"));
}

/* A file of the sandbox that shows one page many times, or hides them, passes
 * no cap. */
static void hidden_pages_of_a_pdf_are_counted(void **state)
{
	(void)state;
	assert_int_equal(pages(STR("%PDF-1.4\n/Type/Pages/Kids[3 0 R 4 0 R]"
				   "/Type /Page /Type/Page")),
			 2);
	assert_int_equal(pages(STR("%PDF-1.4\n/Kids [3 0 R\n4 0 R 5 0 R]"
				   "/Type /Page")),
			 3);
	assert_int_equal(pages(STR("%PDF-1.4\n/Kids[3 0 R 3 0 R]/Type/Page")),
			 600);
	assert_int_equal(pages(STR("%PDF-1.4\n/Kids[3 0 R]/Kids[3 0 R]"
				   "/Type/Page")),
			 600);
	assert_int_equal(pages(STR("%PDF-1.4\n/Kids 9 0 R /Type/Page")), 600);
	assert_int_equal(pages(STR("%PDF-1.4\n/Kids[3 0 R")), 600);
	assert_int_equal(pages(STR("%PDF-1.4\n/Kids[99999999999999999999 0 R]"
				   "/Type/Page")),
			 600);
	assert_int_equal(pages(STR("%PDF-1.4\n/Type/Page /Type          "
				   "              /Page")),
			 2);
	assert_int_equal(pages(STR("%PDF-1.4\n/Type/Page /Type%c\n/Page")),
			 600);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_type_is_told_by_the_first_bytes),
		cmocka_unit_test(a_line_names_type_pixels_and_size),
		cmocka_unit_test(broken_headers_are_read_within_their_bytes),
		cmocka_unit_test(a_bomb_of_pixels_costs_nothing_here),
		cmocka_unit_test(what_is_usual_is_never_more_than_the_most),
		cmocka_unit_test(tokens_are_at_most_what_the_vendor_documents),
		cmocka_unit_test(hidden_pages_of_a_pdf_are_counted),
		cmocka_unit_test(a_file_is_stored_and_read_back),
		cmocka_unit_test(what_is_no_media_is_not_read_as_a_file),
		cmocka_unit_test(a_mask_leaves_the_bytes_alone),
		cmocka_unit_test(a_model_that_takes_none_gets_a_line_of_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
