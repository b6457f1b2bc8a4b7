/* front_matter_fuzz.c - any front matter gives fields of bounded size. */
/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "skills/front_matter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool fact)
{
	if (!fact)
		abort();
}

static void check(const struct front_matter *f)
{
	size_t bytes = 0;

	for (size_t i = 0; i < f->n; i++) {
		const struct front_field *field = &f->fields[i];
		char *text = front_text(f, field->key, 100);
		char *words = front_words(f, field->key, 100);

		require(field->kind >= FRONT_TEXT && field->kind <= FRONT_MAP);
		require(front_matter_field(f, field->key) == field);
		for (size_t k = 0; k < field->n; k++)
			bytes += strlen(field->items[k]);
		require(!text || str_find(str_of(text), '\n') == strlen(text));
		free(text);
		free(words);
	}
	require(bytes <= 4 * FRONT_MATTER_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf text = BUF_INIT(1 << 20);
	struct front_matter f = { 0 };
	struct error err = { 0 };

	buf_adds(&text, "---\n");
	buf_add(&text, data, size);
	buf_adds(&text, "\n---\n");
	if (front_matter_read(&f, buf_str(&text), &err) == 0)
		check(&f);
	else
		require(err.message[0] && !f.n);
	front_matter_release(&f);
	buf_release(&text);
	return 0;
}
