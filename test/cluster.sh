# A private cluster in a temporary folder, for the demo, the tests and the
# benchmarks.  Source it from bash:
#
#	. test/cluster.sh		# also installs what is missing, see test/setup
#	cluster_install			# build, and copy the server with the extension
#	cluster_start [SETTING...]	# initdb and start; lines of postgresql.conf
#	psql -c 'SELECT 1'		# PATH and PGHOST, PGPORT, PGUSER, PGDATABASE are set
#	cluster_stop			# also happens when the script ends, however it ends
#
# Nothing outside the temporary folder is written (but for the object files of
# the build), so neither an installed server nor a running one is touched.
# PostgreSQL refuses to run as root: then the server runs as postgres or nobody.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
"$ROOT/test/setup" || exit 1
# by its path, as the copy of the server has one as well
PG_CONFIG=$(command -v "${PG_CONFIG:-pg_config}")
export PG_CONFIG
unset MAKEFLAGS MAKELEVEL MFLAGS
unset PGDATABASE PGHOST PGHOSTADDR PGPORT PGUSER PGSERVICE PGOPTIONS PGDATA PGPASSWORD PGTZ

# A unix socket's path must be short, whatever TMPDIR says.
WORK=$(mktemp -d /tmp/merge_engine.XXXXXX) || exit 1
chmod 755 "$WORK"
SERVER_LOG=$WORK/server.log

SERVER_USER=$(id -un)
if [ "$(id -u)" -eq 0 ]; then
	SERVER_USER=nobody
	! id postgres >/dev/null 2>&1 || SERVER_USER=postgres
	chown "$SERVER_USER" "$WORK"
fi

trap cluster_end EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# Run a command as the user of the server.
as_server_user() {
	if [ "$(id -u)" -eq 0 ]; then
		(cd "$WORK" && HOME=$WORK exec setpriv --reuid="$SERVER_USER" --regid="$(id -g "$SERVER_USER")" --init-groups "$@")
	else
		(cd "$WORK" && exec "$@")
	fi
}

# Build, and make a copy of the installed server that has the extension.
# PostgreSQL finds its files from where its programs lie, so programs are
# copied; everything else is a link.
cluster_install() {
	local dir
	make -s -C "$ROOT" -j"$(nproc)" with_llvm=no all >"$WORK/build.log" 2>&1 ||
		{ cat "$WORK/build.log" >&2; return 1; }
	PGBIN=$WORK/server$("$PG_CONFIG" --bindir)
	for dir in $("$PG_CONFIG" --pkglibdir) $("$PG_CONFIG" --sharedir); do
		mkdir -p "$WORK/server$dir"
		cp -rs "$dir/." "$WORK/server$dir/"
	done
	mkdir -p "$PGBIN"
	cp "$("$PG_CONFIG" --bindir)"/* "$PGBIN/"
	find "$WORK/server" -depth -name 'merge_engine*' -exec rm -rf {} +
	make -s -C "$ROOT" with_llvm=no install DESTDIR="$WORK/server" >"$WORK/build.log" 2>&1 ||
		{ cat "$WORK/build.log" >&2; return 1; }
	export PGBIN PATH="$PGBIN:$PATH"
}

# Make a cluster and start it.  Arguments are lines for postgresql.conf.
cluster_start() {
	as_server_user initdb -D "$WORK/data" -A trust -U postgres -E UTF8 --locale=C.UTF-8 --no-sync >"$WORK/initdb.log" 2>&1 ||
		{ cat "$WORK/initdb.log" >&2; return 1; }
	as_server_user tee -a "$WORK/data/postgresql.conf" >/dev/null <<-CONF
listen_addresses = ''
unix_socket_directories = '$WORK'
log_line_prefix = '%m [%p] %q%d '
$(printf '%s\n' "$@")
CONF
	export PGHOST=$WORK PGPORT=5432 PGUSER=postgres PGDATABASE=postgres
	as_server_user pg_ctl -D "$WORK/data" -l "$SERVER_LOG" -w -s start ||
		{ tail -n 20 "$SERVER_LOG" >&2; return 1; }
}

# Stop the cluster, if one runs.
cluster_stop() {
	[ ! -f "$WORK/data/postmaster.pid" ] || as_server_user pg_ctl -D "$WORK/data" -m fast -w -s stop
}

# What happens when the script ends: nothing is left running, nothing is left.
cluster_end() {
	local status=$?
	trap - EXIT
	cluster_stop || as_server_user pg_ctl -D "$WORK/data" -m immediate -w -s stop
	rm -rf "$WORK"
	exit $status
}
