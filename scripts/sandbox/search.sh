#!/bin/sh
# search.sh - selects the files that glob.sh and grep.sh search.
# SPDX-License-Identifier: MIT
# Sent before these scripts.
# Leaves out files that git ignores, and never enters a .git, unless the
# directory to search is ignored or a .git itself. An awk program implements the
# patterns of gitignore(5): from .gitignore in each directory, info/exclude of
# each repository, and the user's exclude file. Tracked files count even if a
# pattern matches. Only git knows which they are. It runs with a temporary
# repository around the index, because the settings of the searched repository
# may name programs to run. Without git, tracked files that match are left out.
# Without awk, and in "/", no file is left out.
# shellcheck disable=SC1007,SC2016,SC2034,SC2086,SC2089,SC2090,SC2154
nl='
'

# Sets awk to the program to use. Sets whole_awk if it treats NUL as an ordinary
# character; that of busybox does not.
find_awk() {
	awk=$(path_or_box awk) whole_awk=
	case $(printf 'a\0b\n' | $awk '{ n = n length($0) } END { print n }') in
	3) whole_awk=1 ;;
	11 | 1) ;;
	*) awk= ;;
	esac
}

# Prints how another shell must call the program $1. It has no functions of
# need(), and no applets, which this shell has if it is busybox.
path_or_box() {
	dirs=$PATH:
	while [ -n "$dirs" ]; do
		if [ -x "${dirs%%:*}/$1" ]; then
			printf %s "$1"
			return
		fi
		dirs=${dirs#*:}
	done
	printf %s "busybox $1"
}

# Finds the git directory of the work tree $top; .git may be a file. Sets common
# (the directory with info/exclude) and index, or leaves both empty.
find_data='
data=$top/.git common= index=
if [ -f "$data" ]; then
	IFS= read -r to <"$data"
	case $to in
	"gitdir: /"*) data=${to#gitdir: } ;;
	"gitdir: "*) data=$top/${to#gitdir: } ;;
	esac
fi
if [ -f "$data/HEAD" ] || [ -L "$data/HEAD" ]; then
	common=$data index=$data/index
	if [ -f "$data/commondir" ]; then
		IFS= read -r to <"$data/commondir"
		case $to in
		/*) common=$to ;;
		*) common=$data/$to ;;
		esac
	fi
fi'

# Prints those tracked files that match a pattern, one a line, with \001 for a
# line break. r: path of the repository below the root; empty: the repository
# around the root. Prints "//" if git cannot say.
tracked='
[ -z "$r" ] || top=$here/$r
eval "$find_data"
[ -f "$index" ] || exit 0
command -v git >/dev/null || { echo //; exit; }
umask 077
box=
trap "rm -rf \"\$box\"" EXIT
trap "exit 1" HUP INT TERM
for at in "${TMPDIR:-/tmp}" /tmp /var/tmp /dev/shm; do
	box=${at%/}/.dcode-$nonce
	mkdir "$box" && break
	box=
done
[ -n "$box" ] || { echo //; exit; }
mkdir "$box/objects" "$box/refs" "$box/info"
echo "ref: refs/heads/x" >"$box/HEAD"
[ ! -f "$common/info/exclude" ] ||
	head -c 1048576 "$common/info/exclude" >"$box/info/exclude"
if grep -qi "objectformat *= *sha256" "$common/config"; then
	echo "[core]${nl}repositoryformatversion = 1" >"$box/config"
	echo "[extensions]${nl}objectformat = sha256" >>"$box/config"
fi
cd "$here/$r" && env -i PATH="$PATH" HOME="$HOME" LC_ALL=C GIT_DIR="$box" \
	${XDG_CONFIG_HOME:+XDG_CONFIG_HOME="$XDG_CONFIG_HOME"} \
	GIT_WORK_TREE="$top" GIT_INDEX_FILE="$index" GIT_OPTIONAL_LOCKS=0 \
	git -c core.fsmonitor=false ls-files -z -ci --exclude-standard \
	>"$box/list" || echo //
tr "\0\n" "\n\001" <"$box/list"'

# True if the repository in $top may decide what is ignored. Attack: another
# user puts a .git into a directory above, for example /tmp. So all directories
# from there to the searched one must belong to the superuser or to the owner of
# the searched one, and must not be writable by others.
is_trusted() {
	d=$here
	while :; do
		set -- "${d:-/}" "$@"
		[ "$d" != "$top" ] || break
		d=${d%/*}
	done
	set -- "$@" "$top/.git"
	fields=$(ls -Lldn -- "$here" && ls -ldn -- "$@") || return 1
	mine=
	while read -r mode links owner others; do
		case $mode in
		[dl-][r-][w-]*) ;;
		*) continue ;;
		esac
		mine=${mine:-$owner}
		[ "$owner" = 0 ] || [ "$owner" = "$mine" ] || return 1
		case $mode in
		d???????w*) return 1 ;;
		esac
	done <<-EOT
		$fields
	EOT
	return 0
}

# Sets top to the topmost directory whose patterns count: that of the repository
# around the searched directory, else the working directory $1 if that is around
# it, else the searched directory.
find_top() {
	top=$here common= index=
	while [ -n "$top" ]; do
		if [ -e "$top/.git" ]; then
			eval "$find_data"
			[ -z "$common" ] || break
		fi
		top=${top%/*}
	done
	[ -z "$common" ] || ! is_trusted || return 0
	top=$here common= index=
	case $here/ in
	"${1%/}"/*) [ -z "${1%/}" ] || top=${1%/} ;;
	esac
}

# Sets above to the numbers of those directories between top and the searched
# one that have a .gitignore (1: top).
find_above() {
	below=${here#"$top"}
	below=${below#/}
	above= n=1 d=$top rest=$below
	while [ -n "$rest" ]; do
		[ -f "$d/.gitignore" ] && ! [ -L "$d/.gitignore" ] &&
			above="$above $n"
		d=$d/${rest%%/*} n=$((n + 1))
		case $rest in
		*/*) rest=${rest#*/} ;;
		*) rest= ;;
		esac
	done
}

# Reads the names from find, for at most $seconds, so that there is time left to
# use them. Prints "LEFT HOW" and $form, then the names that are not ignored, or
# the output of $act for them.
ignore_awk='
# Returns the character c as a regular expression.
function literal(c) {
	return index("\\.[]()*+?{}^$|", c) ? "\\" c : c
}
function is_in(c, name) {
	if (name == "alpha") return c ~ /^[A-Za-z]$/
	if (name == "digit") return c ~ /^[0-9]$/
	if (name == "alnum") return c ~ /^[A-Za-z0-9]$/
	if (name == "upper") return c ~ /^[A-Z]$/
	if (name == "lower") return c ~ /^[a-z]$/
	if (name == "xdigit") return c ~ /^[A-Fa-f0-9]$/
	if (name == "blank") return c == " " || c == "\t"
	if (name == "space") return index(" \t\n\v\f\r", c)
	if (name == "cntrl") return ord[c] < 32 || ord[c] == 127
	if (name == "print") return ord[c] > 31 && ord[c] < 127
	if (name == "graph") return ord[c] > 32 && ord[c] < 127
	if (name == "punct")
		return ord[c] > 32 && ord[c] < 127 && c !~ /^[A-Za-z0-9]$/
	return 0
}
# Parses the bracket expression of the pattern p whose "[" is before position i.
# Sets re to a regular expression, and chars to the characters that it matches.
# Returns the position after it, or 0.
function class(p, i,   not, first, c, hi, k, name, set, out, rest) {
	not = substr(p, i, 1) ~ /[!^]/
	i += not
	split("", set)
	for (first = 1; (c = substr(p, i, 1)) != "]" || first; first = 0) {
		if (c == "") return 0
		if (c == "[" && substr(p, i + 1, 1) == ":") {
			k = index(substr(p, i + 2), "]")
			if (!k) return 0
			name = substr(p, i + 2, k - 1)
			if (name ~ /:$/) {
				sub(/:$/, "", name)
				for (k = 1; k < 256; k++)
					if (is_in(chr[k], name)) set[k]
				i += length(name) + 4
				continue
			}
		}
		if (c == "\\") c = substr(p, ++i, 1)
		if (c == "") return 0
		i++
		hi = c
		if (substr(p, i, 1) == "-" && substr(p, i + 1, 1) != "]") {
			hi = substr(p, ++i, 1)
			if (hi == "\\") hi = substr(p, ++i, 1)
			if (hi == "") return 0
			i++
		}
		for (k = ord[c]; k <= ord[hi]; k++) set[k]
	}
	chars = ""
	for (k = 1; k < 256; k++) {
		if (((k in set) ? 1 : 0) == not || chr[k] == "/") continue
		chars = chars chr[k]
		if (index("\\][^-", chr[k])) rest = rest "|" literal(chr[k])
		else out = out chr[k]
	}
	if (out != "") re = "([" out "]" rest ")"
	else if (rest == "") return 0
	else re = "(" substr(rest, 2) ")"
	return i + 1
}
# Splits a component of a pattern at each "*" into the segments segment[c, 1] to
# [c, parts[c]]. width[c, k] is their length in characters. fixed[c, k] is set
# if they are text and not a regular expression; else any[c, k, n] has what the
# nth character may be, or "" for all. parts[c] is 0 if the component cannot
# match anything.
function compile(c,   i, k, x, text, out, n, plain) {
	k = plain = 1
	for (i = 1; i <= length(c) + 1; ) {
		x = substr(c, i++, 1)
		if (x == "*" || x == "") {
			segment[c, k] = plain ? text : out
			width[c, k] = n + 0
			fixed[c, k] = plain
			if (x == "") break
			while (substr(c, i, 1) == "*") i++
			k++
			text = out = ""
			n = 0
			plain = 1
			continue
		}
		n++
		if (x == "?") {
			plain = 0
			out = out "[^/]"
			any[c, k, n] = ""
		} else if (x == "[") {
			plain = 0
			if (!(i = class(c, i))) return parts[c] = 0
			out = out re
			any[c, k, n] = chars
		} else {
			if (x == "\\" && (x = substr(c, i++, 1)) == "")
				return parts[c] = 0
			text = text x
			out = out literal(x)
			any[c, k, n] = x
		}
	}
	return parts[c] = k
}
# True if a segment is the text s, which has its length. (A regular expression
# for each of many patterns would be slow: some awk look it up in a list.)
function is_segment(c, k, s,   n) {
	if (fixed[c, k]) return s == segment[c, k]
	for (n = width[c, k]; n > 0; n--)
		if (any[c, k, n] != "" &&
		    !index(any[c, k, n], substr(s, n, 1)))
			return 0
	return 1
}
# True if the component c of a pattern matches the whole name s. Each segment
# matches as early as possible, so that the time is length(c) * length(s).
function matches(c, s,   n, k, w, p) {
	if (!(c in parts)) compile(c)
	n = parts[c]
	w = width[c, 1]
	if (n < 2) return n && length(s) == w && is_segment(c, 1, s)
	if (length(s) < w || !is_segment(c, 1, substr(s, 1, w))) return 0
	s = substr(s, w + 1)
	w = width[c, n]
	if (length(s) < w) return 0
	if (!is_segment(c, n, substr(s, length(s) - w + 1))) return 0
	s = substr(s, 1, length(s) - w)
	for (k = 2; k < n; k++) {
		if (fixed[c, k]) p = index(s, segment[c, k])
		else p = match(s, segment[c, k])
		if (!p) return 0
		s = substr(s, p + width[c, k])
	}
	return 1
}
# True if a pattern with "/" matches the path. "**" stands for any number of
# components, at its end for one or more. Git compares the text before the first
# special character apart, so that "**" in "a**/b" begins a component, too.
function matches_path(pattern, path,   a, b, n, m, i, k, star, from) {
	if (pattern ~ /^[^*?[\\]*[^*?[\\\/]\*\*+(\/|$)/) {
		n = index(pattern, "*")
		if (substr(path, 1, n - 1) != substr(pattern, 1, n - 1))
			return 0
		path = substr(path, n)
		pattern = substr(pattern, n)
		if (pattern ~ /^\*+$/) return 1
	}
	n = split(pattern, a, "/")
	m = split(path, b, "/")
	if (a[n] ~ /^\*\*+$/) {
		a[n] = "*"
		a[++n] = "**"
	}
	for (i = k = 1; k <= m; ) {
		if (over()) return 0
		if (i <= n && a[i] ~ /^\*\*+$/) {
			star = i++
			from = k
		} else if (i <= n && matches(a[i], b[k])) {
			i++
			k++
		} else if (star) {
			i = star + 1
			k = ++from
		} else
			return 0
	}
	while (i <= n && a[i] ~ /^\*\*+$/) i++
	return i > n
}
function trim(s,   i, c, cut) {
	for (i = 1; i <= length(s); i++) {
		c = substr(s, i, 1)
		if (c != " ") cut = 0
		else if (!cut) cut = i
		if (c == "\\") i++
	}
	return cut ? substr(s, 1, cut - 1) : s
}
# True if the time for patterns is over. Then no more files are left out.
function over() {
	if (++steps % 2000 == 0 && now() - began > ENVIRON["seconds"]) slow = 1
	return slow
}
# Adds pattern p to those of the list that are tried for names with this key.
function add(key, p) {
	found[key, ++found[key]] = p
}
# Adds pattern p to those that are tried if the literal text at its start, or at
# its end, is that of the name. Only the length of that text is kept: the names
# that it is compared with have all of them.
function add_wild(id, w, s, p,   n) {
	n = match(s, /[*?\\[]/) - 1
	if (n > 0) {
		if (n > 8) n = 8
		if (!((id, w, "^", n) in has_length)) {
			has_length[id, w, "^", n]
			lengths[id, w] = lengths[id, w] " " n
		}
		add(id SUBSEP w SUBSEP "^" substr(s, 1, n), p)
		return
	}
	match(s, /[^]*?\\[\/]*$/)
	n = RLENGTH > 8 ? 8 : RLENGTH
	if (!((id, w, "$", n) in has_length)) {
		has_length[id, w, "$", n]
		lengths[id, w] = lengths[id, w] " -" n
	}
	add(id SUBSEP w SUBSEP "$" substr(s, length(s) - n + 1), p)
}
# Reads the patterns of a file as the list id. They apply below the path base.
function load(file, base, id,   s, n, p, w) {
	from[id] = base == "" ? 1 : length(base) + 2
	while (!over() && (getline s < file) > 0) {
		if (!n++ && substr(s, 1, 3) == "\357\273\277") s = substr(s, 4)
		sub(/\r$/, "", s)
		if (s ~ /^#/) continue
		s = trim(s)
		p = ++count[id]
		no[id, p] = s ~ /^!/
		if (no[id, p]) s = substr(s, 2)
		dir[id, p] = s ~ /\/$/
		if (dir[id, p]) s = substr(s, 1, length(s) - 1)
		w = index(s, "/") > 0
		sub(/^\//, "", s)
		like[id, p] = s
		if (s == "" || length(s) > 4096) count[id]--
		else if (s !~ /[*?\\[]/) add(id SUBSEP w SUBSEP "=" s, p)
		else add_wild(id, w, s, p)
	}
	close(file)
}
# Returns the last pattern of a list that matches, but at least `best`, of those
# with this key. They need not be matched if it is the whole name.
function last_of(id, key, w, s, isdir, best, whole,   k, p) {
	for (k = found[key]; k > 0 && (p = found[key, k]) > best; k--) {
		if (over()) return 0
		if (dir[id, p] && !isdir) continue
		if (whole) return p
		if (w ? matches_path(like[id, p], s) : matches(like[id, p], s))
			return p
	}
	return best
}
# The same of all patterns with (w) or without a "/".
function last_match(id, w, s, isdir, best,   n, i, list, key) {
	key = id SUBSEP w SUBSEP
	if ((key "=" s) in found)
		best = last_of(id, key "=" s, w, s, isdir, best, 1)
	n = split(lengths[id, w], list, " ")
	for (i = 1; i <= n; i++) {
		key = list[i] > 0 ? "^" substr(s, 1, list[i]) : \
			"$" substr(s, length(s) + list[i] + 1)
		key = id SUBSEP w SUBSEP key
		if (key in found) best = last_of(id, key, w, s, isdir, best)
	}
	return best
}
# True if a chain of lists ignores the path, whose last component is name. The
# first match decides, from the end of each list.
function ignored(path, name, isdir, chain,   lists, n, i, id, p) {
	n = split(chain, lists, " ")
	for (i = 1; i <= n && !slow; i++) {
		id = lists[i]
		p = last_match(id, 0, name, isdir, 0)
		p = last_match(id, 1, substr(path, from[id]), isdir, p)
		if (p && !slow) return !no[id, p]
	}
	return 0
}

function full(path) {
	return root == "" ? path : path == "" ? root : root "/" path
}
function add_list(file, base) {
	load(file, base, ++lists_n)
	return count[lists_n] ? lists_n " " : ""
}
function real(path) {
	gsub(/\001/, "\n", path)
	return path == "" ? "." : "./" path
}
function quoted(s) {
	gsub(/\047/, "\047\\\047\047", s)
	gsub(/\001/, "\047\"$nl\"\047", s)
	return "\047" s "\047"
}
function parent(path) {
	return match(path, "/[^/]*$") ? substr(path, 1, RSTART - 1) : ""
}
function last(path) {
	return match(path, "/[^/]*$") ? substr(path, RSTART + 1) : path
}
# If the directory d has a repository, starts a chain with its exclude file.
function is_repo(d,   cmd, file) {
	cmd = "top=$here/" quoted(d) "; eval \"$find_data\";" \
		" [ -n \"$common\" ] &&" \
		" { [ ! -f \"$common/info/exclude\" ] ||" \
		" printf %s \"$common/info/exclude\"; echo; }"
	if ((cmd | getline file) < 1) file = "no"
	close(cmd)
	if (file == "no") return 0
	chain[d] = file == "" ? "" : add_list(file, full(d))
	repo[d] = d
	return 1
}
# Sets chain and repo of a directory. False: the directory is ignored.
function enter(d,   up) {
	if (d in seen) return seen[d]
	up = parent(d)
	if (!enter(up) || ignored(full(d), last(d), 1, chain[up]))
		return seen[d] = 0
	if (!(d in git) || !is_repo(d)) {
		chain[d] = chain[up]
		repo[d] = repo[up]
	}
	if (d in has)
		chain[d] = add_list(real(d) "/.gitignore", full(d)) chain[d]
	return seen[d] = 1
}
# Returns the repository of a directory; an ignored one has that of its parent.
function repo_of(d) {
	while (!(d in repo)) d = parent(d)
	return repo[d]
}
function take(path,   name) {
	name = substr(path, at + 1)
	if (substr(path, 1, at) != before || index(name, "/")) {
		where = parent(path)
		at = where == "" ? 0 : length(where) + 1
		before = substr(path, 1, at)
		name = substr(path, at + 1)
	}
	if (name == ".git") {
		if (at) git[where]
	} else if (name == ".gitignore" && !(where in has)) {
		has[where]
	} else {
		names[++n] = path
		base[n] = name
		dir_of[n] = where
	}
}
function ask_git(r,   cmd, path) {
	cmd = "r=" quoted(r) "; eval \"$tracked\""
	while ((cmd | getline path) > 0) {
		if (path == "//") how = "p"
		else was[r == "" ? path : r "/" path]
	}
	close(cmd)
}
function begin(   n, parts, i, path, file, numbers, above, lists, conf, home) {
	for (i = 1; i < 256; i++) {
		chr[i] = sprintf("%c", i)
		ord[chr[i]] = i
	}
	root = ENVIRON["below"]
	home = ENVIRON["HOME"]
	conf = ENVIRON["XDG_CONFIG_HOME"]
	if (conf == "") conf = home "/.config"
	file = conf "/git/ignore"
	file = named(conf "/git/config", file)
	file = named(home "/.gitconfig", file)
	lists = add_list(file, "")
	if (ENVIRON["exclude"] != "")
		lists = add_list(ENVIRON["exclude"], "") lists
	n = split(ENVIRON["above"], numbers, " ")
	for (i = 1; i <= n; i++) above[numbers[i]]
	n = split(root, parts, "/")
	for (i = 1; i <= n; i++) {
		file = ENVIRON["top"] "/" path (i > 1 ? "/" : "") ".gitignore"
		if (i in above) lists = add_list(file, path) lists
		path = path (i > 1 ? "/" : "") parts[i]
		if (ignored(path, parts[i], 1, lists)) whole_root = 1
	}
	chain[""] = lists
	repo[""] = ""
	seen[""] = 1
}
# Returns the exclude file that a git configuration file names, else `before`.
function named(file, before,   s) {
	while ((getline s < file) > 0)
		if (tolower(s) ~ /^[ \t]*excludesfile[ \t]*=/) {
			sub(/^[^=]*=[ \t]*/, "", s)
			sub(/[ \t\r]*$/, "", s)
			gsub(/"/, "", s)
			if (s ~ /^~\//) s = ENVIRON["HOME"] substr(s, 2)
			before = s
		}
	close(file)
	return before
}
# Returns the time: srand() returns the previous seed, and that is the time
# after srand() without an argument.
function now() {
	srand()
	return srand()
}
BEGIN {
	began = now()
	begin()
}
$0 == "//" { bad = 1; next }
/^\.\/\/\.\// {
	if (held) take(path)
	if (NR % 512 == 0 && now() - began > ENVIRON["seconds"]) {
		bad = 1
		exit
	}
	path = substr($0, 6)
	held = 1
	next
}
{ path = path "\001" $0 }
END {
	if (held) take(path)
	how = "g"
	if ("" in has) chain[""] = add_list("./.gitignore", root) chain[""]
	for (i = 1; !whole_root && i <= n; i++) {
		d = dir_of[i]
		if (enter(d) && !ignored(full(names[i]), base[i], 0, chain[d]))
			continue
		out[i]
		left++
		asked[repo_of(d)]
	}
	for (r in asked) ask_git(r)
	for (i in out)
		if (names[i] in was) {
			delete out[i]
			left--
		}
	if (slow) how = "s"
	printf "%d %s%s\n%s", left, how, bad ? "!" : "", ENVIRON["form"]
	act = ENVIRON["act"]
	for (i = 1; i <= n; i++) {
		if (i in out) continue
		if (act == "") {
			gsub(/\001/, "\n", names[i])
			print ".//./" names[i]
			continue
		}
		words = words " " quoted(".//./" names[i])
		if (length(words) > 90000) run()
	}
	if (words != "") run()
}
function run() {
	fflush()
	if (!stop) stop = system("set --" words "; eval \"$act\"") > 128
	words = ""
}'

# Searches below the current directory. Prints "LEFT HOW" and $form, then the
# output of the command $1 (without apostrophes), which gets the files as "$@";
# $1 empty: prints their names. $2: the working directory. $3 not empty: leave
# nothing out. $4 $5: a test of find, or empty. $6 not empty: skip hidden
# directories. $7: more arguments of find, which print further names.
search_files() {
	is=$4 like=$5 also=${7-} test= hide= exclude= act=$1 each=-print
	export is like
	[ -z "$is" ] || test='"$is" "$like"'
	[ -z "$6" ] || hide='-o -type d -name ".?*" -prune'
	here=$(pwd -P && printf x)
	here=${here%x}
	here=${here%"$nl"}
	[ -z "$act" ] || each="-exec sh -c '$act' sh {} +"
	all=$3
	[ "$here" != / ] && [ -n "$awk" ] || all=1
	case $here/ in
	*/.git/*) all=1 ;;
	esac
	if [ -n "$all" ]; then
		printf '0 n\n%s' "$form"
		export act
		eval "find .//. -name .git -prune $hide -o -type f $test $each \
			$also" || [ -n "$act" ] || echo //
		return
	fi
	find_top "$2"
	find_above
	[ -z "$common" ] || [ ! -f "$common/info/exclude" ] ||
		exclude=$common/info/exclude
	export nl seconds nonce here top below above exclude act form
	export find_data tracked
	{
		eval "find .//. -name .git -prune -print $hide -o \
			-type f \\( \
				-name .gitignore -print \
				\\( $test -print -o -type f \\) \
			-o $test -print \\) $also" || [ -n "$act" ] || echo //
	} | $awk "$ignore_awk"
}
