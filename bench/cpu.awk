# The milliseconds of CPU that a process has used (first = 14), or all its
# former children (first = 16).
#
# usage: awk -v tick="$(getconf CLK_TCK)" -v first=14 -f cpu.awk /proc/PID/stat
{
	sub(/^.*\) /, "")
	print "@cpu|" ($(first - 2) + $(first - 1)) * 1000 / tick
}
