# Sourced by start and test: a .venv beside this folder, with pinned and hashed requirements, and the system
# libraries that Qt needs; for the tests a Chromium besides, where there is no browser. Sets ROOT and PY. Safe to run
# again: what is there is not installed twice.
set -euo pipefail
ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
VENV="$ROOT/.venv"
PY="$VENV/bin/python"
export LITELLM_LOCAL_MODEL_COST_MAP=True PYTHONDONTWRITEBYTECODE="${PYTHONDONTWRITEBYTECODE:-}"

say() { printf '%s\n' "$*" >&2; }

has_browser() {
    local name
    for name in google-chrome-stable google-chrome chromium chromium-browser microsoft-edge-stable; do
        command -v "$name" >/dev/null && return 0
    done
    return 1
}

system_packages() {
    # Only Debian and its children are known by name; elsewhere Qt itself says what is missing.
    command -v dpkg-query >/dev/null || return 0
    local wanted=(libegl1 libgl1 libopengl0 libxkbcommon0 libxkbcommon-x11-0 libdbus-1-3 libfontconfig1 libglib2.0-0
        libxcb-cursor0 libxcb-icccm4 libxcb-image0 libxcb-keysyms1 libxcb-randr0 libxcb-render-util0 libxcb-shape0
        libxcb-xinerama0 libxcb-xkb1 fonts-dejavu-core)
    "$BASE" -c 'import ensurepip, venv' 2>/dev/null || wanted+=("python$("$BASE" -c 'import sys; print("%d.%d" % sys.version_info[:2])')-venv")
    # The tests of the browser tools drive a real one.
    [ "${1:-}" = dev ] && ! has_browser && wanted+=(chromium)
    local missing=() name
    for name in "${wanted[@]}"; do
        dpkg-query -W -f='${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || missing+=("$name")
    done
    [ ${#missing[@]} -eq 0 ] && return 0
    if [ "$(id -u)" -eq 0 ]; then
        say "Installing system libraries: ${missing[*]}"
        { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"; } >/dev/null
    else
        say "Some system libraries are missing. Install them once with:"
        say "    sudo apt-get install -y --no-install-recommends ${missing[*]}"
        say "and run this again."
        exit 3
    fi
}

find_python() {
    local name
    for name in python3.11 python3.12 python3.13 python3; do
        if command -v "$name" >/dev/null && "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            BASE="$(command -v "$name")"
            return 0
        fi
    done
    say "Python 3.11 or newer is needed, and none was found on PATH."
    exit 3
}

python_packages() {
    local files=("$ROOT/packaging/requirements.txt") stamp="$VENV/.installed" sum
    [ "${1:-}" = dev ] && files+=("$ROOT/packaging/requirements-dev.txt") && stamp="$VENV/.installed-dev"
    sum="$(cat "${files[@]}" "$ROOT/pyproject.toml" | sha256sum | cut -d' ' -f1) $ROOT"
    [ -x "$PY" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$sum" ] && return 0
    [ -x "$PY" ] || "$BASE" -m venv "$VENV"
    local file
    for file in "${files[@]}"; do
        say "Installing $(basename "$file") (pinned, hashed)"
        "$PY" -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r "$file"
    done
    "$PY" -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e "$ROOT"
    printf '%s' "$sum" > "$stamp"
}

find_python
system_packages "${1:-}"
python_packages "${1:-}"
