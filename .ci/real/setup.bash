# Read by each script beside it, with: . "$(dirname "$0")/setup.bash"
#
# $cache   where real software is installed, kept between runs
# $tmp     an empty directory of this run, removed at its end
# agentrec on PATH, built from this checkout
set -eu -o pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${AGENTREC_REAL_CACHE:-$HOME/.cache/agentrec-real}
deadline=${AGENTREC_REAL_DEADLINE:-$(($(date +%s) + ${AGENTREC_REAL_BUDGET:-1100}))}
tmp=$(mktemp -d)
mkdir -p "$cache" "$tmp/bin" "$tmp/home"

started=() # the processes that this script started and has to end
finish() {
  local pid
  for pid in ${started[@]+"${started[@]}"}; do
    kill "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  [ -n "${KEEP:-}" ] && echo "kept $tmp" || rm -rf "$tmp"
}
trap finish EXIT

(cd "$here/../.." && go build -o "$tmp/bin/agentrec" .)
PATH=$tmp/bin:$PATH

say() { printf -- '- %s\n' "$*"; }
fail() {
  printf 'FAILED: %s\n' "$*"
  exit 1
}

# skip REASON: this script can not do its work here, which is no failure.
skip() {
  printf 'skipped: %s\n' "$*"
  exit 0
}

left() { echo $((deadline - $(date +%s))); }

# need TOOL: skips the whole script where a toolchain is missing.
need() { command -v "$1" >/dev/null || skip "$1 is not installed"; }

# same NAME FILE FILE: two files must be equal.
same() { diff -u "$2" "$3" >"$tmp/diff" || { head -n 40 "$tmp/diff"; fail "$1 differs"; }; }

# absent TEXT FILE...: no file may hold the text, packed or not.
absent() {
  local text=$1
  shift
  if grep -aFl -- "$text" "$@"; then fail "the files above hold $text"; fi
}

# whole FILE: the recording proves itself, and $secret, if there is one, is in
# none of its files and frames.
whole() {
  local i
  for i in $(seq 50); do # a client may be gone before its agent and the proxy are
    agentrec check --only integrity "$1" >"$tmp/check" || break
    ! grep -q 'being recorded' "$tmp/check" || { sleep 0.1; continue; }
    break
  done
  grep -q 'closed cleanly' "$tmp/check" || { cat "$tmp/check"; fail "$1 is not whole"; }
  [ -n "${secret:-}" ] || return 0
  absent "$secret" "$1"*
  agentrec export --no-redact "$1" >"$tmp/frames" || fail "$1 can not be read"
  absent "$secret" "$tmp/frames"
}

# sound DATABASE DIALECT SHAPE: the recording is read as that dialect, ls has the
# SHAPE, nothing is found in it, and every frame has a label.
sound() {
  agentrec ls "$1" --json >"$tmp/ls"
  grep -q "\"dialect\":\"$2\"" "$tmp/ls" || { cat "$tmp/ls"; fail "$1 was not recognised as $2"; }
  grep -q -- "$3" "$tmp/ls" || { cat "$tmp/ls"; fail "$1: not $3"; }
  agentrec check --only protocol "$1" || fail "$1: findings in a sound conversation"
  agentrec stats --json "$1" >"$tmp/stats"
  ! grep -E '"label":"(json|text|empty)"' "$tmp/stats" || fail "$1: frames without a label"
}

# passed DIRECTORY, diverged DIRECTORY TEXT: what the reports in it say. Clients
# end their agent with a signal and ignore its status, so the verdict is there.
passed() {
  agentrec report --quiet "$1" || fail "a replay in $1 diverged"
}
diverged() {
  local status=0
  agentrec report "$1" >"$tmp/summary" || status=$?
  [ "$status" = 3 ] || { cat "$tmp/summary"; fail "a changed client went unnoticed in $1"; }
  grep -q -- "$2" "$1"/* || { cat "$1"/*; fail "no report in $1 names $2"; }
}

# mcp_sdk: installs the MCP SDK and its reference server; $sdk is their directory.
mcp_sdk() {
  sdk=$cache/mcp-1.32.2
  if [ ! -f "$sdk/installed" ]; then
    [ "$(left)" -gt 30 ] || skip 'no time left to install the MCP SDK'
    mkdir -p "$sdk"
    npm install --prefix "$sdk" --ignore-scripts --no-audit --no-fund --loglevel=error \
      @modelcontextprotocol/sdk@1.32.2 @modelcontextprotocol/server-everything@2026.8.31 >/dev/null
    : >"$sdk/installed"
  fi
}

# alone ARGS...: begins the calling script again where nothing but loopback can be
# reached, if the system lets us; what it installs must be there by now.
alone() {
  [ -z "${AGENTREC_REAL_ALONE:-}" ] || return 0
  if ! unshare -rn ip link set lo up 2>/dev/null; then
    say 'with the network: it can not be taken away here'
    return 0
  fi
  rm -rf "$tmp"
  export AGENTREC_REAL_ALONE=yes
  exec unshare -rn sh -c 'ip link set lo up && exec bash "$@"' sh "$0" "$@"
}

# answers: starts the scripted model; $model is its base URL and
# $tmp/model.log gets a line a request.
answers() {
  : >"$tmp/model.port"
  python3 "$here/model.py" "$tmp/model.port" >"$tmp/model.log" 2>&1 &
  started+=($!)
  model_pid=$!
  local i
  for i in $(seq 100); do
    [ -s "$tmp/model.port" ] && break
    sleep 0.1
  done
  [ -s "$tmp/model.port" ] || fail "the scripted model did not start: $(cat "$tmp/model.log")"
  model=http://127.0.0.1:$(cat "$tmp/model.port")/v1
}

# silence: ends the scripted model, so that nothing can ask it any more.
silence() {
  kill "$model_pid"
  wait "$model_pid" 2>/dev/null || true
}
