#!/bin/sh
# run.sh BIN: compare the tools in BIN with the canonical Python libraries, bit for bit.
#
# The libraries go into a virtual environment: $AMN_PEERS_VENV, else amn-peers in the user's cache. They take
# several GB and a network the first time, which is why `make check` does not run this.
set -eu

bin=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
venv=${AMN_PEERS_VENV:-${XDG_CACHE_HOME:-$HOME/.cache}/amn-peers}
python=$venv/bin/python
export PYTHONDONTWRITEBYTECODE=1

[ -x "$python" ] || python3 -m venv "$venv"
if ! "$python" "$here/pinned.py" "$here/requirements.txt"; then
    echo "peers: installing into $venv" >&2
    "$python" -m pip install --quiet -r "$here/requirements.txt"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

status=0
for peer in "$here"/peer_*.py; do
    "$python" "$peer" "$bin" "$work" >"$work/log" || status=1
    cat "$work/log"
    tail -n 1 "$work/log" >>"$work/sums"
done
awk '/^[0-9]+ passed, [0-9]+ failed$/ { passed += $1; failed += $3; next } { broken++ }
    END { printf "peers: %d passed, %d failed%s\n", passed, failed, broken ? ", " broken " broken" : "" }' "$work/sums"
exit $status
