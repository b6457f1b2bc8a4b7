#!/bin/sh
# relay.sh - copies bytes between its standard streams and a local TCP port.
# SPDX-License-Identifier: MIT
#
# Variable: d_port. The first line of output is
#   framed      the output follows in frames: "LENGTH\n" and that many bytes; a
#               frame of 0 bytes ends the server's direction
#   raw         the output follows as it is
#   refused     nothing listens
#   none        there is no program that could do it
# The end of the input ends the client's direction (with bash: the connection).
# shellcheck disable=SC2154
if command -v python3 >/dev/null 2>&1; then
	exec python3 -c '
import os, socket, sys, threading
try:
    s = socket.create_connection(("localhost", int(sys.argv[1])), 5)
except OSError:
    print("refused")
    sys.exit(0)
s.settimeout(None)
def put(b):
    while b:
        b = b[os.write(1, b):]
def up():
    try:
        while True:
            b = os.read(0, 65536)
            if not b:
                break
            s.sendall(b)
        s.shutdown(socket.SHUT_WR)
    except OSError:
        pass
put(b"framed\n")
t = threading.Thread(target=up, daemon=True)
t.start()
while True:
    try:
        b = s.recv(65536)
    except OSError:
        break
    put(b"%d\n" % len(b) + b)
    if not b:
        break
t.join()
' "$d_port"
fi
if command -v perl >/dev/null 2>&1 &&
	perl -MIO::Socket::INET -e 1 2>/dev/null; then
	exec perl -MIO::Socket::INET -e '
my $s = IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $ARGV[0],
	Timeout => 5) or do { print "refused\n"; exit 0 };
$| = 1;
print "framed\n";
my $child = fork;
if (!$child) {
	my $b;
	while (sysread(STDIN, $b, 65536)) {
		for (my $at = 0; $at < length $b;) {
			my $n = syswrite($s, $b, length($b) - $at, $at);
			exit 0 unless $n;
			$at += $n;
		}
	}
	shutdown($s, 1);
	exit 0;
}
my $b;
while (my $n = sysread($s, $b, 65536)) { print "$n\n$b"; }
print "0\n";
waitpid $child, 0;
' "$d_port"
fi
if command -v nc >/dev/null 2>&1; then
	echo raw
	exec nc 127.0.0.1 "$d_port"
fi
if command -v busybox >/dev/null 2>&1; then
	echo raw
	exec busybox nc 127.0.0.1 "$d_port"
fi
if command -v bash >/dev/null 2>&1; then
	exec bash -c 'exec 3<>/dev/tcp/127.0.0.1/$0 || { echo refused; exit; }
echo raw
cat <&3 &
cat >&3
kill $!' "$d_port" 2>/dev/null
fi
echo none
