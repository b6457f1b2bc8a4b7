/* html_diff.h - changes of files, coloured by line. */
/* SPDX-License-Identifier: MIT */
#ifndef UI_HTML_DIFF_H
#define UI_HTML_DIFF_H

#include "ui/html.h"

/* A unified diff, masked. */
void html_diff(struct html *h, struct str text);
/* What replaces one text by another; lines that both begin or end with are
 * shown as context, three at most. */
void html_diff_edit(struct html *h, struct str before, struct str after);

#endif
