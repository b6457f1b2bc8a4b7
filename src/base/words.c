/* words.c - words of a line, as a shell splits it. */
/* SPDX-License-Identifier: MIT */
#include "base/words.h"

#include <ctype.h>

#include "base/str.h"

char *words_take(struct str *rest)
{
	struct buf word = BUF_INIT(SIZE_MAX / 2);
	char quote = '\0';

	*rest = str_trim(*rest);
	if (!rest->len)
		return NULL;
	for (; rest->len; *rest = str_skip(*rest, 1)) {
		char c = rest->ptr[0];

		if (!quote && isspace((unsigned char)c))
			break;
		if (quote ? c == quote : c == '"' || c == '\'') {
			quote = quote ? '\0' : c;
			continue;
		}
		if (c == '\\' && quote != '\'' && rest->len > 1) {
			*rest = str_skip(*rest, 1);
			c = rest->ptr[0];
		}
		buf_addc(&word, c);
	}
	return buf_detach(&word);
}
