# The summary as docs/benchmarks.md, but for machine and settings.
#
# usage: awk -v notes=FILE -f report.awk SUMMARY
#
# FILE: id, variant, a line of the scenario's comment.
BEGIN {
	FS = "\t"
	while ((getline line < notes) > 0) {
		split(line, field, FS)
		note[field[1], field[2]] = note[field[1], field[2]] (note[field[1], field[2]] == "" ? "" : "\n") field[3]
	}
}

function scenario(id, title, variant) {
	return id " " title (variant == "" ? "" : ", " variant)
}

function seconds(ms) {
	return sprintf(ms >= 100000 ? "%.0f" : ms >= 10000 ? "%.1f" : ms >= 1000 ? "%.2f" : "%.3f", ms / 1000)
}

function thousands(number,	text) {
	text = sprintf("%.0f", number)
	while (match(text, /[0-9][0-9][0-9][0-9]($|,)/))
		text = substr(text, 1, RSTART) "," substr(text, RSTART + 1)
	return text
}

$1 == "goal" {
	if (!heading_done++) {
		print "## Goals"
		print ""
		print "| scenario | compared | target | reached | met |"
		print "|---|---|---|---|---|"
	}
	printf("| %s | %s | %s | %s | %s |\n", scenario($2, $3, $4), $5, $6, $5 == "deadlocks" ? $7 : sprintf("%.2f", $7), $8 == "yes" ? "yes" : "**no**")
	next
}

$1 == "row" {
	row[++rows] = $0
}

END {
	print ""
	print "## All measurements"
	for (i = 1; i <= rows; i++) {
		split(row[i], f, FS)
		here = scenario(f[2], f[3], f[4])
		if (here != last) {
			printf "\n### %s\n\n", here
			if ((f[2], f[4]) in note)
				printf "%s\n\n", note[f[2], f[4]]
			print "| | rounds | seconds | from – to | rows a second | ÷ ours | WAL, MB | growth, MB |"
			print "|---|--:|--:|--:|--:|--:|--:|--:|"
			last = here
		}
		strong = f[5] == "ours" ? "**" : ""
		remark = f[14] > 0 ? sprintf(" (%d deadlocks)", f[14]) : ""
		printf("| %s%s%s%s | %d | %s | %s – %s | %s | %s | %.1f | %.1f |\n", strong, f[6], strong, remark, f[7], seconds(f[9]), seconds(f[10]), seconds(f[11]), thousands(f[8] / f[9] * 1000), f[5] == "ours" ? "" : sprintf("%.2f", f[15]), f[12] / 1e6, f[13] / 1e6)
	}
}
