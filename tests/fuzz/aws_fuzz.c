/* aws_fuzz.c - AWS's files and command lines: any bytes. */
/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "aws/credentials.h"
#include "base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool good)
{
	if (!good)
		abort();
}

/* Each word in single quotes gives the same words again. */
static void words_again(char **words)
{
	struct buf line = BUF_INIT(1 << 20);
	char **again;
	size_t i = 0;

	for (; words[i]; i++) {
		buf_adds(&line, " '");
		for (const char *c = words[i]; *c; c++) {
			if (*c == '\'')
				buf_adds(&line, "'\\''");
			else
				buf_addc(&line, *c);
		}
		buf_adds(&line, "'");
	}
	again = aws_words(buf_str(&line));
	must(again);
	for (i = 0; words[i]; i++)
		must(again[i] && strcmp(words[i], again[i]) == 0);
	must(!again[i]);
	aws_words_free(again);
	buf_release(&line);
}

static void profile(struct str text, bool config)
{
	struct aws_profile p = { 0 };

	aws_profile_read(text, "default", config, &p);
	must(p.found || (!p.id && !p.secret && !p.token && !p.process));
	must(!p.id || (*p.id && !strchr(p.id, '\n')));
	aws_profile_release(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = { (const char *)data, size };
	char **words;

	if (size > 1 << 16)
		return 0;
	profile(text, false);
	profile(text, true);
	words = aws_words(text);
	if (words)
		words_again(words);
	aws_words_free(words);
	return 0;
}
