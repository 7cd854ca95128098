#!/bin/bash
# usage: run.sh PSQL_CONNINFO [DIR]
#
# Runs every NNN_name.sql of DIR (default: core/ beside this script) in its own
# fresh schema (each file creates sNNN; it is dropped before and after) and
# compares psql's standard output with NNN_name.expected.
# Prints one line per failing case, with the first lines of the difference, and
# ends with "N passed, M failed".  Exit status 0 only when nothing failed.
#
# The database must have, or be able to CREATE, the extension merge_engine.
# KEEP_SCHEMAS leaves the schemas where they are, to be looked at afterwards.
# DOOR=trigger runs the cases on heap tables with a merge trigger (as_trigger).
# PSQL names another psql; CASE_TIMEOUT is the limit of one case in seconds (60).
set -u
if [ $# -lt 1 ] || [ $# -gt 2 ]; then
    sed -n '2,15p' "$0" | sed 's/^# \{0,1\}//' >&2
    exit 2
fi
conn=$1
dir=${2:-$(cd "$(dirname "$0")" && pwd)/core}
psql=${PSQL:-$(command -v psql || echo /usr/lib/postgresql/15/bin/psql)}
limit=${CASE_TIMEOUT:-60}
export PGDATESTYLE="ISO, MDY" PGCLIENTENCODING=UTF8 LC_ALL=C.UTF-8
unset PGTZ
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT

quiet() { PGOPTIONS="${PGOPTIONS:-} -c client_min_messages=error" timeout "$limit" "$psql" -XAtq -d "$conn" -c "$1"; }

if ! quiet "SELECT 1" >/dev/null 2>"$tmp/err"; then
    cat "$tmp/err" >&2
    exit 2
fi
quiet "CREATE EXTENSION IF NOT EXISTS merge_engine" >/dev/null 2>"$tmp/err" ||
    echo "warning: CREATE EXTENSION merge_engine: $(head -n 1 "$tmp/err")" >&2

passed=0
failed=0
for sql in "$dir"/[0-9][0-9][0-9]_*.sql; do
    [ -e "$sql" ] || { echo "no cases in $dir" >&2; exit 2; }
    name=$(basename "$sql" .sql)
    schema=s${name:0:3}
    want=$dir/$name.expected
    quiet "DROP SCHEMA IF EXISTS $schema CASCADE" >/dev/null 2>&1
    if [ "${DOOR:-table}" = trigger ]; then
        "$(dirname "$0")/as_trigger" <"$sql" >"$tmp/case.sql" || exit 2
        sql=$tmp/case.sql
    fi
    timeout "$limit" "$psql" -XAtq -v ON_ERROR_STOP=0 -d "$conn" -f "$sql" >"$tmp/out" 2>"$tmp/err"
    rc=$?
    if [ -f "$want" ] && diff "$want" "$tmp/out" >"$tmp/diff"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        [ -f "$want" ] || echo "no $name.expected" >"$tmp/diff"
        line=$(grep -E '^(<|>|no )' "$tmp/diff" | head -n 4 | cut -c 1-100 |
            sed 's/^</want/; s/^>/got/' | paste -sd ';' | sed 's/;/ ; /g')
        [ $rc -eq 124 ] && line="$line | timed out after ${limit}s"
        err=$(grep -m 1 -E 'ERROR|FATAL|PANIC|server closed|connection' "$tmp/err" |
            sed 's/^psql:[^ ]*:\([0-9]*\): /line \1: /' | cut -c 1-160)
        [ -n "$err" ] && line="$line | $err"
        echo "FAIL $name: $line"
        # give a server that went down the time to come back
        for _ in $(seq 30); do
            quiet "SELECT 1" >/dev/null 2>&1 && break
            sleep 1
        done
    fi
    [ -n "${KEEP_SCHEMAS:-}" ] || quiet "DROP SCHEMA IF EXISTS $schema CASCADE" >/dev/null 2>&1
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
