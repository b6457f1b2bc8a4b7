/* guard.h - the process between dcode and a server that it started. */
/* SPDX-License-Identifier: MIT */
#ifndef MCP_GUARD_H
#define MCP_GUARD_H

/*
 * `dcode --mcp-guard PROGRAM ARGV...` starts PROGRAM with its own first three
 * descriptors and kills it, with all that came of it, once the socket that is
 * descriptor 3 is closed at the other end: by dcode, or by the kernel however
 * dcode ended. A byte that comes there is SIGTERM for the program's process
 * group. It ends as the program does.
 */
#define MCP_GUARD_ARGUMENT "--mcp-guard"
enum { MCP_GUARD_FD = 3 };

int mcp_guard_main(int argc, char **argv);

#endif
