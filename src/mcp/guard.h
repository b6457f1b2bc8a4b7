/* guard.h - the process between dcode and a server that it started. */
/* SPDX-License-Identifier: MIT */
#ifndef MCP_GUARD_H
#define MCP_GUARD_H

/* `dcode --mcp-guard PROGRAM ARGV...` starts PROGRAM, which inherits the
 * guard's descriptors 0 to 2. The guard kills PROGRAM and all its descendants
 * once the other end of the socket on descriptor 3 is closed. dcode closes it,
 * or the kernel does when dcode ends in any way. A byte received on the socket
 * sends SIGTERM to the program's process group. The guard exits with the
 * program's status. */
#define MCP_GUARD_ARGUMENT "--mcp-guard"
enum { MCP_GUARD_FD = 3 };

int mcp_guard_main(int argc, char **argv);

#endif
