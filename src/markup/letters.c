/* letters.c - counts letters, to tell whether some were lost. */
/* SPDX-License-Identifier: MIT */
#include "markup/letters.h"

static bool is_letter(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

size_t letters_count(struct str text)
{
	size_t n = 0;

	for (size_t i = 0; i < text.len; i++)
		n += is_letter(text.ptr[i]);
	return n;
}

size_t letters_count_source(struct str text)
{
	size_t n = letters_count(text);
	struct str line;

	while (str_split(&text, '\n', &line)) {
		size_t digits = 0;

		for (size_t i = 0; i < line.len; i++) {
			char c = line.ptr[i];

			if (c >= '0' && c <= '9')
				digits++;
			else if (c == '.' || c == ')')
				n -= digits, digits = 0;
			else if (digits || (c != ' ' && c != '>' && c != '-' &&
					    c != '*' && c != '+' && c != '\t'))
				break;
		}
	}
	return n;
}
