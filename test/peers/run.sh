#!/bin/sh
# run.sh BIN: compare the tools in BIN with the canonical Python libraries, bit for bit.
#
# The libraries go into a virtual environment: $AMN_PEERS_VENV, else amn-peers in the user's cache. They take
# several GB and a network the first time, which is why `make check` does not run this. llama.cpp, which pip compiles, has a
# separate environment next to it, so that neither constrains the other's versions.
set -eu

bin=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
venv=${AMN_PEERS_VENV:-${XDG_CACHE_HOME:-$HOME/.cache}/amn-peers}
export PYTHONDONTWRITEBYTECODE=1

# environment FOLDER REQUIREMENTS OPTION...
environment() {
    [ -x "$1/bin/python" ] || python3 -m venv "$1"
    if ! "$1/bin/python" "$here/pinned.py" "$here/$2"; then
        echo "peers: installing into $1" >&2
        venv_of=$1 list=$2
        shift 2
        "$venv_of/bin/python" -m pip install --quiet "$@" -r "$here/$list"
    fi
}
environment "$venv" requirements.txt
environment "$venv" requirements-alone.txt --no-deps --no-build-isolation
environment "$venv-llama" requirements-llama.txt

# The converter of llama.cpp is in the source archive of llama-cpp-python.
llama=$(sed -n 's/^\(llama-cpp-python\)==/\1 /p' "$here/requirements-llama.txt")
export LLAMA_CPP="${LLAMA_CPP:-$venv-source/llama_cpp_python-${llama#* }/vendor/llama.cpp}"
if ! [ -d "$LLAMA_CPP/conversion" ]; then
    echo "peers: fetching the source of llama.cpp" >&2
    "$venv/bin/python" -m pip download --quiet --no-deps --no-binary "${llama% *}" -d "$venv-source" "${llama% *}==${llama#* }"
    tar -C "$venv-source" -xzf "$venv-source"/llama_cpp_python-*.tar.gz
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

status=0
for peer in "$here"/peer_*.py; do
    case $peer in */peer_blocks.py | */peer_hf.py | */peer_llama.py | */peer_quantize.py) python=$venv-llama/bin/python ;; *) python=$venv/bin/python ;; esac
    "$python" "$peer" "$bin" "$work" >"$work/log" || status=1
    cat "$work/log"
    tail -n 1 "$work/log" >>"$work/sums"
done
awk '/^[0-9]+ passed, [0-9]+ failed$/ { passed += $1; failed += $3; next } { broken++ }
    END { printf "peers: %d passed, %d failed%s\n", passed, failed, broken ? ", " broken " broken" : "" }' "$work/sums"
exit $status
