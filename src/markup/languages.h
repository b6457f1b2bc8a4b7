/* languages.h - what the lines of programming languages are made of. */
/* SPDX-License-Identifier: MIT */
#ifndef MARKUP_LANGUAGES_H
#define MARKUP_LANGUAGES_H

#include <stdbool.h>

struct language {
	const char *names;    /* separated by blanks, lower case: of fences and
				 the suffixes of files */
	const char *keywords; /* separated by blanks */
	const char *line[2];  /* what begins a comment up to the line's end */
	const char *block[2]; /* what begins and what ends a longer one */
	const char *quotes;   /* each ends a string that it begins */
	const char *across;   /* those of them whose strings hold line ends */
	bool triple;          /* a quote written three times does so, too */
	bool any_case;        /* keywords in lower and upper case */
	bool raw;             /* a backslash is a character like others */
};

extern const struct language languages[]; /* ends where names is NULL */

#endif
