/* name.h - which names a sandbox may have written below a tree's root. */
/* SPDX-License-Identifier: MIT */
#ifndef TREE_NAME_H
#define TREE_NAME_H

#include "base/buf.h"

enum { /* git's modes of what a tree holds */
       NAME_FILE = 0100644,
       NAME_PROGRAM = 0100755,
       NAME_LINK = 0120000,
};

/*
 * Why something of this mode must not be written at path, relative to the
 * tree's root; NULL: it may be. Static text that goes on after the path:
 * "is inside .git". Refused are names that leave the tree, .git in any spelling
 * that HFS+ or NTFS take for it, a link named .gitmodules, other modes than
 * the three above (setuid, devices, submodules), and what no file system or
 * listing can hold.
 */
const char *name_refuse(struct str path, unsigned mode);
/* The same for the target of a link at path: it must stay in the tree and
 * outside .git. Dots after a name are refused, too: behind another link they
 * may lead out. */
const char *name_refuse_target(struct str path, struct str target);
/*
 * The names that never come in unasked, whatever brings them (apply, a patch, a
 * copy out of a sandbox): git runs what the config and hooks of a .git say.
 * Returns how many bytes of path end with the first such name, in any spelling
 * that git refuses (".GIT", "git~1", with what HFS+ ignores); 0: none.
 */
size_t name_find_git(struct str path);
/* Whether some file system takes a name, without slashes, for other: without
 * case, and as .git above. */
bool name_reads_as(struct str name, const char *other);

#endif
