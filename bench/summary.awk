# Raw measurements and goals to a summary, all separated by tabs.
#
# usage: awk -f summary.awk GOALS RAW
#
# GOALS: id, title, variant, the head line after "-- target"
# RAW, a line a run: id, title, variant, role, contender, rows, ms, WAL bytes, growth, deadlocks
#
# Prints for each scenario, variant and contender
#	row id title variant role contender rounds rows ms min max WAL growth deadlocks ratio
# (medians; the ratio is its time by ours), and for each goal
#	goal id title variant what target reached yes|no
BEGIN {
	FS = OFS = "\t"
}

FILENAME == ARGV[1] {
	goal[++goals] = $0
	next
}

{
	run = $1 FS $2 FS $3
	key = run FS $5
	if (!(run in runs))
		order[++scenarios] = run
	runs[run]
	if (!(key in rounds)) {
		contender[run, ++contenders[run]] = $5
		role[key] = $4
		rows[key] = $6
		if ($4 == "ours")
			ours[run] = key
	}
	n = ++rounds[key]
	ms[key, n] = $7
	wal[key, n] = $8
	growth[key, n] = $9
	deadlocks[key] += $10
}

# The n-th smallest of a contender's values.
function nth(values, key, n,	i, j, sorted, count, value) {
	count = rounds[key]
	for (i = 1; i <= count; i++) {
		value = values[key, i]
		for (j = i - 1; j >= 1 && sorted[j] > value; j--)
			sorted[j + 1] = sorted[j]
		sorted[j + 1] = value
	}
	if (n == "median")
		return (sorted[int((count + 1) / 2)] + sorted[int(count / 2) + 1]) / 2
	return sorted[n == "max" ? count : 1]
}

# The fastest rival of a run.
function fastest(run,	i, key, best) {
	for (i = 1; i <= contenders[run]; i++) {
		key = run FS contender[run, i]
		if (role[key] == "rival" && (best == "" || nth(ms, key, "median") < nth(ms, best, "median")))
			best = key
	}
	return best
}

function name(key,	part, n) {
	n = split(key, part, FS)
	return part[n]
}

function by(a, b) {
	return b == 0 ? (a == 0 ? 1 : 999) : a / b
}

function goal_done(what, target, reached, met) {
	print "goal", field[1], field[2], field[3], what, target, reached, met ? "yes" : "no"
}

END {
	for (s = 1; s <= scenarios; s++) {
		run = order[s]
		for (i = 1; i <= contenders[run]; i++) {
			key = run FS contender[run, i]
			median = nth(ms, key, "median")
			print "row", run, role[key], contender[run, i], rounds[key], rows[key], median, nth(ms, key, "min"), nth(ms, key, "max"), nth(wal, key, "median"), nth(growth, key, "median"), deadlocks[key], ours[run] ? by(median, nth(ms, ours[run], "median")) : ""
		}
	}
	for (g = 1; g <= goals; g++) {
		split(goal[g], field, FS)
		run = field[1] FS field[2] FS field[3]
		us = ours[run]
		target = text = field[4]
		sub(/^.*: */, "", target)
		if (us == "")
			continue
		if (text ~ /^of growth/) {
			if (!((field[1] FS field[2]) in first))
				first[field[1] FS field[2]] = run
			start = first[field[1] FS field[2]]
			them = fastest(run)
			# only over all variants, that is at the last one
			split(goal[g + 1], next_field, FS)
			if (next_field[1] == field[1] || them == "" || start == run)
				continue
			mine = by(nth(ms, us, "median"), nth(ms, ours[start], "median"))
			theirs = by(nth(ms, them, "median"), nth(ms, start FS name(them), "median"))
			goal_done(sprintf("time grows %.2f times, that of %s %.2f times", mine, name(them), theirs), "≤ " target, by(mine, theirs), mine <= theirs * target)
			continue
		}
		if (text ~ /^deadlocks/) {
			goal_done("deadlocks", "≤ " target, deadlocks[us], deadlocks[us] <= target + 0)
			continue
		}
		them = text
		if (sub(/^.*against /, "", them)) {
			sub(/:.*/, "", them)
			them = run FS them
		} else
			them = fastest(run)
		if (!(them in rounds))
			continue
		if (text ~ /^(WAL|growth) /) {
			field[1] = "S10"
			kind = text
			sub(/ .*/, "", kind)
			if (kind == "WAL")
				value = by(nth(wal, us, "median"), nth(wal, them, "median"))
			else
				value = by(nth(growth, us, "median"), nth(growth, them, "median"))
			goal_done("our " kind " ÷ that of " name(them), "≤ " target, value, value <= target + 0)
			continue
		}
		if (text ~ /^cost /) {
			value = by(nth(ms, us, "median"), nth(ms, them, "median"))
			goal_done("our time ÷ that of " name(them), "≤ " target, value, value <= target + 0)
			continue
		}
		value = by(nth(ms, them, "median"), nth(ms, us, "median"))
		if (split(target, bounds, " ± ") == 2)
			goal_done(name(them) " ÷ ours", target, value, value >= bounds[1] - bounds[2] && value <= bounds[1] + bounds[2])
		else
			goal_done(name(them) " ÷ ours", "≥ " target, value, value >= target + 0)
	}
}
