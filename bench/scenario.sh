# Reads a scenario and runs it; for bench/run, where the format is described.

# What is compared before and after a run: position in the WAL, size of t, deadlocks.
STATE="SELECT '@state', pg_current_wal_insert_lsn() - '0/0', pg_total_relation_size('t'),
	(SELECT deadlocks FROM pg_stat_database WHERE datname = current_database());"

# The query for the rows of t, or what is compared of them, in a number, whatever their order.
result_query() {
	scenario_head compare:
	echo "SELECT '@result', count(*), sum(hashtextextended(${found[0]:+ROW(}${found[0]:-t}${found[0]:+)}::text, 0)) FROM t;"
}

# Read a scenario: its head and sections into section, contenders into roles and names.
scenario_read() {
	local line heading=head first='^-- (S[0-9]+): *([^'$'\n'']*)'
	declare -gA section=([head]=)
	roles=()
	names=()
	file=$1
	while IFS= read -r line; do
		if [[ $line != '--- '* ]]; then
			section[$heading]+=$line$'\n'
			continue
		fi
		heading=${line#--- }
		section[$heading]=
		case $heading in
			ours\ * | rival\ * | reference\ * | baseline\ *)
				[[ -z ${CONTENDERS:-} || ,$CONTENDERS, == *",${heading#* },"* ]] || continue
				roles+=("${heading%% *}")
				names+=("${heading#* }")
				;;
		esac
	done <"$file"
	[[ ${section[head]} =~ $first ]] || fail "$file: the first line must be -- S…: title"
	id=${BASH_REMATCH[1]}
	title=${BASH_REMATCH[2]}
}

# Put the head's lines of a kind into the array found, without the kind itself.
scenario_head() {
	local line
	found=()
	while IFS= read -r line; do
		[[ $line != "-- $1"* ]] || { line=${line#"-- $1"}; found+=("${line# }"); }
	done <<<"${section[head]%%$'\n--\n'*}"
}

# Set a variable of the scenario: NAME = EXPRESSION.
variable_set() {
	local name expression value
	IFS='= ' read -r name expression <<<"$1"
	case $name in
		rows | keys | clients)
			value=$((expression))
			printf -v "$name" %d $((value > 0 ? value : 1))
			;;
		synchronous_commit) synchronous_commit=$expression ;;
		*) fail "$file: unknown variable $name" ;;
	esac
}

# The settings of a contender as options for its session: SCHEMA.
session_options() {
	local setting found
	printf '%s' "-c search_path=$1,input -c client_min_messages=error"
	[[ $1 == c* ]] || return 0
	scenario_head "session ${names[${1#c}]}:"
	for setting in "${found[@]}"; do
		printf ' -c %s' "${setting// /}"
	done
}

# psql on a script from standard input, with the variables of the scenario: SCHEMA.
run_psql() {
	PGOPTIONS="$(session_options "$1")" \
		psql -XqAt -d bench -v ON_ERROR_STOP=1 -v bench="$here" -v file="$tmp/files/rows" \
		-v rows="$rows" -v keys="$keys" -v round="$round" -f -
}

# pgbench on a contender's script; prints its time as psql would: SCHEMA SCRIPT.
run_pgbench() {
	local transactions=$((rows / pgbench / clients))
	echo "$2" >"$tmp/script"
	PGOPTIONS="$(session_options "$1") -c synchronous_commit=$synchronous_commit" \
		pgbench -n -M prepared -c "$clients" -j "$clients" -t "$((transactions > 0 ? transactions : 1))" \
		--random-seed="$round" --max-tries=1000 -D n=0 -D keys="$keys" -f "$tmp/script" bench >"$tmp/pgbench" 2>&1 &&
		! grep -q 'number of failed transactions: [1-9]' "$tmp/pgbench" || { cat "$tmp/pgbench" >&2; return 1; }
	awk '/transactions actually processed/ { sub("/.*", "", $NF); n = $NF }
		/^tps = / { print "Time:", n / $3 * 1000 }' "$tmp/pgbench"
}

# Print the SQL that makes input and tables.
script_tables() {
	local i using
	echo 'DROP SCHEMA IF EXISTS input CASCADE; CREATE SCHEMA input;'
	echo "${section[input]:-}"
	for i in "${!names[@]}"; do
		using=
		scenario_head using:
		[[ ${roles[i]} != ours && ${roles[i]} != baseline ]] || using=${found[0]:-}
		echo "CREATE SCHEMA c$i; SET search_path = c$i, input;"
		echo "\\set using '${using//\'/\'\'}'"
		echo "${section[table]}${section[table ${names[i]}]:-}"
	done
	echo "\\set using"
}

# Run a contender once, by its number. Prints milliseconds, WAL, growth,
# deadlocks and, in the first round, the result.
run_contender() {
	local before="${section[before]:-}CHECKPOINT; $STATE" after=$STATE script=${section[${roles[$1]} ${names[$1]}]}
	local cpu=: cpu_of="awk -f $here/cpu.awk -v tick=$(getconf CLK_TCK)"
	[ "$round" -ne 1 ] || after+=$(result_query)
	if [ -n "$pgbench" ]; then
		[ "$CLOCK" = wall ] || cpu="$cpu_of -v first=16 /proc/$(head -n 1 "$WORK/data/postmaster.pid")/stat"
		run_psql "c$1" <<<"$before" && $cpu && run_pgbench "c$1" "$script" && $cpu && run_psql "c$1" <<<"$after"
	else
		[ "$CLOCK" = wall ] || cpu="$cpu_of -v first=14 /proc/\$PID/stat"
		run_psql "c$1" <<<"$before
SELECT pg_backend_pid() AS pid \\gset
\\setenv PID :pid
\\o /dev/null
\\! $cpu
\\timing on
$script
\\timing off
\\! $cpu
\\o
$after"
	fi >"$tmp/out" || return 1
	awk -F'|' -v OFS='\t' '
		/^Time: / { split($0, word, " "); wall += word[2] }
		$1 == "@cpu" { cpu = $2 - started; started = $2 }
		$1 == "@state" { for (i = 2; i <= 4; i++) { delta[i] = $i - last[i]; last[i] = $i } }
		$1 == "@result" { result = $2 " " $3 }
		END { print started ? cpu : wall, delta[2], delta[3], delta[4], result }' "$tmp/out"
}

# Run every contender once, with as few programs as it takes, and compare.
variant_check() {
	local i results
	{
		script_tables
		for i in "${!names[@]}"; do
			echo "SET search_path = c$i, input;${section[before]:-}"
			[ -n "$pgbench" ] || printf '\\o /dev/null\n%s\n\\o\n%s\n' "${section[${roles[i]} ${names[i]}]}" "$(result_query)"
		done
	} | run_psql input >"$tmp/out" || fail "$file failed"
	if [ -n "$pgbench" ]; then
		for i in "${!names[@]}"; do
			run_pgbench "c$i" "${section[${roles[i]} ${names[i]}]}" >/dev/null || fail "$file: ${names[i]} failed"
		done
		for i in "${!names[@]}"; do
			echo "SET search_path = c$i; $(result_query)"
		done | run_psql input >"$tmp/out" || fail "$file failed"
	fi
	mapfile -t results < <(grep '^@result' "$tmp/out")
	[ ${#results[@]} -eq ${#names[@]} ] || fail "$file: no result"
	for i in "${!names[@]}"; do
		[ "${results[i]}" = "${results[0]}" ] ||
			fail "$file: ${names[i]} comes to another result than ${names[0]}: ${results[i]}, not ${results[0]}"
	done
}

# How many tenths of the fastest rival's time a rival may take: more if one of the
# goals names it. NAME
slow_of() {
	local goal
	for goal in "${targets[@]}"; do
		[[ $goal != *"against $1:"* ]] || { echo "$SLOW_IN_GOAL"; return; }
	done
	echo "$SLOW"
}

# Run all contenders alternately, and add their measurements to raw.
variant_measure() {
	local rounds i ms wal growth deadlocks rows_found expected= fastest times=() targets=()
	scenario_head rounds:
	rounds=${found[0]:-$ROUNDS}
	[ "$ROUNDS" -gt 1 ] && [ "$rounds" -gt "$ROUNDS" ] || rounds=$ROUNDS
	scenario_head target
	targets=("${found[@]}")
	script_tables | run_psql input >"$tmp/out" || fail "$file: input or tables failed"
	for ((round = 1; round <= rounds; round++)); do
		for i in "${!names[@]}"; do
			[ "${times[i]:-}" != rests ] || continue
			IFS=$'\t' read -r ms wal growth deadlocks rows_found < <(run_contender "$i") || fail "$file: ${names[i]} failed"
			printf '%s\t' "$id" "$title" "$variant" "${roles[i]}" "${names[i]}" "$rows" "$ms" "$wal" "$growth" >>"$raw"
			echo "$deadlocks" >>"$raw"
			printf '  %-28s %10.0f ms\n' "${names[i]}" "$ms"
			[ "$round" -eq 1 ] || continue
			times[i]=${ms%.*}
			expected=${expected:-$rows_found}
			[ "$rows_found" = "$expected" ] ||
				fail "$file: ${names[i]} comes to another result than ${names[0]}: $rows_found, not $expected"
		done
		[ "$round" -eq 1 ] || continue
		fastest=
		for i in "${!names[@]}"; do
			[ "${roles[i]}" != rival ] || [ "${times[i]}" -ge "${fastest:-1000000000}" ] || fastest=${times[i]}
		done
		for i in "${!names[@]}"; do
			[ "${roles[i]}" != rival ] || [ $((times[i] * 10)) -le $((fastest * $(slow_of "${names[i]}"))) ] || times[i]=rests
		done
	done
	for i in "${!targets[@]}"; do
		printf '%s\t%s\t%s\t%s\n' "$id" "$title" "$variant" "${targets[i]}" >>"$goals"
	done
}

# 1000000 as 1,000,000.
thousands() {
	sed -E ':a; s/([0-9])([0-9]{3})($|,)/\1,\2\3/; ta' <<<"$1"
}

# Run one variant: the line of the head, NAME: ASSIGNMENTS.
variant_run() {
	local rows=$ROWS keys=$ROWS clients=1 synchronous_commit=on round=1 pgbench variant=${1%%:*} assignment i
	scenario_head set
	for assignment in "${found[@]}"; do
		variable_set "$assignment"
	done
	IFS=, read -ra found <<<"${1#*:}"
	for assignment in "${found[@]}"; do
		variable_set "$assignment"
	done
	[[ $variant != *{keys}* ]] || variant=${variant//\{keys\}/$(thousands "$keys")}
	scenario_head pgbench:
	pgbench=${found[0]:-}
	echo "$id $title${variant:+, $variant}"
	if [ $checking ]; then
		variant_check
	else
		variant_measure
	fi
	for i in "${!names[@]}"; do
		echo "DROP SCHEMA c$i CASCADE;"
	done | run_psql public
}

# Run a scenario in all its variants (the first one only, when checking): FILE.
scenario_run() {
	local file id title roles names found variants i
	scenario_read "$1"
	[[ -z ${BENCH:-} || ,$BENCH, == *",$id,"* ]] || return 0
	scenario_head variant
	variants=("${found[@]}")
	[ ${#variants[@]} -gt 0 ] || variants=(:)
	[ ! $checking ] || variants=("${variants[@]: -1}")
	for i in "${!variants[@]}"; do
		variant_run "${variants[i]}"
	done
}

# Print a scenario's comment, for each variant: id, variant, a line. FILE.
scenario_notes() {
	local file id title roles names found line variant
	scenario_read "$1"
	[[ ${section[head]} == *$'\n--\n'* ]] || return 0
	scenario_head variant
	[ ${#found[@]} -gt 0 ] || found=(:)
	for variant in "${found[@]}"; do
		while IFS= read -r line; do
			[[ $line != '-- '* ]] || printf '%s\t%s\t%s\n' "$id" "${variant%%:*}" "${line#-- }"
		done <<<"${section[head]#*$'\n--\n'}"
	done
}
