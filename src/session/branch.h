/* branch.h - the name of the git branch that a directory is on. */
/* SPDX-License-Identifier: MIT */
#ifndef SESSION_BRANCH_H
#define SESSION_BRANCH_H

enum { BRANCH_SIZE = 256 };
/* Reads HEAD of the repository that directory is in, without git. "" when there
 * is none, or no branch is checked out. For display: names are cut. */
void branch_read(const char *directory, char out[BRANCH_SIZE]);

#endif
