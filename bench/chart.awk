# The summary as a chart: for each scenario the fastest rival's time by ours.
#
# usage: awk -f chart.awk SUMMARY
BEGIN {
	FS = "\t"
	LEFT = 330
	WIDTH = 360
	STEP = 30
	TOP = 58
	max = 2
}

function escaped(text) {
	gsub(/&/, "\\&amp;", text)
	gsub(/</, "\\&lt;", text)
	return text
}

# A reference counts where there is no rival, ours without something never.
$1 == "row" && $5 != "ours" && $5 != "baseline" {
	key = $2 FS $3 FS $4
	if (!(key in ratio)) {
		order[++n] = key
		rank[key] = ""
	}
	if (rank[key] == "" || ($5 == "rival" && (rank[key] != "rival" || $15 < ratio[key]))) {
		ratio[key] = $15
		name[key] = $6
		rank[key] = $5
	}
}

$1 == "goal" && $2 != "S10" && $6 ~ /^≥/ {
	split($6, word, " ")
	rival = $5
	sub(/ ÷ ours$/, "", rival)
	target[$2 FS $3 FS $4 FS rival] = word[2]
}

END {
	for (i = 1; i <= n; i++) {
		if (ratio[order[i]] > max)
			max = ratio[order[i]]
		goal = target[order[i] FS name[order[i]]]
		if (goal > max)
			max = goal
	}
	max = max > 8 ? 8 : max
	unit = WIDTH / max
	height = TOP + n * STEP + 34
	print "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 820 " height "\" width=\"820\" height=\"" height "\" role=\"img\" aria-labelledby=\"title\" font-family=\"system-ui, sans-serif\" font-size=\"13\">"
	print "<title id=\"title\">Time of the fastest rival by merge_engine's</title>"
	print "<style>"
	print "text { fill: #1f2328; stroke: #ffffff; stroke-width: 3px; paint-order: stroke; stroke-linejoin: round } .page { fill: #ffffff } .quiet { fill: #59636e } .axis { stroke: #8c959f } .bar { fill: #1a7f64 } .slower { fill: #bc4c00 } .target { stroke: #1f2328 }"
	print "@media (prefers-color-scheme: dark) { text { fill: #e6edf3; stroke: #0d1117 } .page { fill: #0d1117 } .quiet { fill: #9198a1 } .axis { stroke: #6e7681 } .bar { fill: #3fb68b } .slower { fill: #f0883e } .target { stroke: #e6edf3 } }"
	print "</style>"
	print "<rect class=\"page\" width=\"820\" height=\"" height "\" rx=\"6\"/>"
	print "<text x=\"10\" y=\"22\" font-size=\"15\" font-weight=\"600\">Time of the fastest rival ÷ merge_engine's</text>"
	print "<text x=\"10\" y=\"41\" class=\"quiet\">longer is better; left of the line at 1 the rival is faster; short strokes are the targets</text>"
	for (tick = 0; tick <= max; tick++) {
		x = LEFT + tick * unit
		printf("<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" class=\"axis\" stroke-width=\"%s\"%s/>\n", x, TOP - 4, x, height - 30, tick == 1 ? "1.5" : "0.5", tick > 1 ? " stroke-dasharray=\"2 4\"" : "")
		printf "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\" class=\"quiet\">%d</text>\n", x, height - 12, tick
	}
	for (i = 1; i <= n; i++) {
		key = order[i]
		split(key, part, FS)
		y = TOP + (i - 1) * STEP
		label = part[1] " " short_title(part[2], part[3])
		width = (ratio[key] > max ? max : ratio[key]) * unit
		printf "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", LEFT - 10, y + 16, escaped(label)
		printf "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"18\" rx=\"2\" class=\"%s\"/>\n", LEFT, y + 3, width, ratio[key] < 0.97 ? "slower" : "bar"
		goal = target[key FS name[key]]
		if (goal != "")
			printf "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" class=\"target\" stroke-width=\"2\"/>\n", LEFT + goal * unit, y, LEFT + goal * unit, y + 24
		x = LEFT + width
		if (goal != "" && goal * unit > width - 2)
			x = goal * unit - width < 50 ? LEFT + goal * unit : x
		printf "<text x=\"%.1f\" y=\"%d\">%.2f <tspan class=\"quiet\">%s</tspan></text>\n", x + 8, y + 16, ratio[key], escaped(name[key])
	}
	print "</svg>"
}

# What fits to the left of a bar.
function short_title(title, variant,	text) {
	text = title
	if (variant != "") {
		sub(/[,:].*/, "", text)
		text = text ", " variant
	}
	if (length(text) > 46) {
		sub(/,[^,]*$/, "", text)
		if (length(text) > 46)
			sub(/,[^,]*$/, "", text)
	}
	return text
}
