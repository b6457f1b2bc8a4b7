#!/bin/sh
# supervise_list.sh - describes jobs that outlive the dcode that started them.
# SPDX-License-Identifier: MIT
#
# Variables: s_jobs (names), s_o (send the output of the last job from this byte
# on; -1: none). Sets s_text to a line for each job, "JOB WORD CODE TOTAL FIRST
# FROM SECONDS": state, exit status, bytes so far, first byte that is stored,
# position of the output that follows the lines, and how long it has run.
# shellcheck disable=SC2034,SC2154

# Sets s_age to the seconds that the job has run.
s_lasted() {
	s_born=
	s_when=
	{
		read -r s_ s_born <"$s_dir/born"
		read -r s_ s_ s_ s_when <"$s_dir/done"
	} 2>/dev/null
	[ -n "$s_when" ] || s_when=$(date +%s)
	s_age=$((s_when - ${s_born:-$s_when}))
	[ $s_age -ge 0 ] || s_age=0
}

s_list() {
	s_want=$s_o
	s_o=0
	s_more=0
	s_nl='
'
	for s_job in $s_jobs; do
		if ! s_search; then
			s_text="$s_text$s_job gone -1 0 0 0 0$s_nl"
			continue
		fi
		s_orphan
		s_news
		s_find o 9000000000000000
		[ "$s_first" -ge 0 ] || s_first=$s_no
		s_lasted
		if [ "$s_want" -ge 0 ]; then
			s_o=$s_want
			[ "$s_o" -ge "$s_first" ] || s_o=$s_first
			[ "$s_o" -le "$s_no" ] || s_o=$s_no
			s_more=$((s_no - s_o))
		fi
		s_text="$s_text$s_job $s_word $s_code $s_no $s_first $s_o"
		s_text="$s_text $s_age$s_nl"
	done
	[ $((s_more + ${#s_text})) -le "$s_raw" ] ||
		s_more=$((s_raw - ${#s_text}))
	s_word=end
	s_code=0
	s_e=0
}
