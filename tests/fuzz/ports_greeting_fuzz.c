/* ports_greeting_fuzz.c - only requests to this machine pass a forward. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"
#include "sandbox/ports/ports.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A decision about the first bytes must not change with more of them. */
static void check_prefixes(struct str all, enum ports_greeting decided)
{
	for (size_t n = 0; n <= all.len; n++) {
		enum ports_greeting g =
			ports_read_greeting((struct str){ all.ptr, n });

		if (g != GREETING_MORE && g != decided)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char evil[] = "\r\nHost: evil.example\r\n\r\n";
	struct str all = { (const char *)data, size };
	enum ports_greeting decided = ports_read_greeting(all);
	char head[4096];
	size_t line = 0;

	if (decided != GREETING_MORE && size < 512)
		check_prefixes(all, decided);
	/* any request line of a browser, with a foreign host */
	while (line < size && data[line] > ' ' && data[line] < 127)
		line++;
	if (!line || line > 2048 || memchr(data, ':', line))
		return 0;
	memcpy(head, "GET /", 5);
	memcpy(head + 5, data, line);
	memcpy(head + 5 + line, " HTTP/1.1", 9);
	memcpy(head + 14 + line, evil, sizeof(evil) - 1);
	if (ports_read_greeting((struct str){
		    head, 14 + line + sizeof(evil) - 1 }) != GREETING_REFUSED)
		abort();
	return 0;
}
