#!/bin/sh
# DayTrader 8, the original of `pitot serve trade`, on Open Liberty, under the same scenario.
#
#   bench/daytrader.sh build                  fetches it at a pinned commit and builds it with Maven (once)
#   bench/daytrader.sh serve PORT DIR         runs it in the foreground, with its data below DIR
#   bench/daytrader.sh run [DURATION [PORT]]  all of it: builds, starts, loads, compares the actions with the mix, stops
#
# It needs git, Maven, a JDK, python3, pitot in PATH (or PITOT) and `pitot target install open-liberty --yes`. What it builds lies in
# DAYTRADER (~/.cache/pitot/daytrader if that is not set). `run` fails if a reply was wrong, or if an action is more than a point off the
# mix. bench/daytrader.toml compares it with Pitot's own brokerage.
set -eu

COMMIT=f511802
FROM=https://github.com/OpenLiberty/sample.daytrader8
CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/pitot
HERE=${DAYTRADER:-$CACHE/daytrader}
WLP=${WLP:-$CACHE/targets/open-liberty/wlp}
WAR=io.openliberty.sample.daytrader8.war
PITOT=${PITOT:-pitot}

fail() { echo "daytrader.sh: $*" >&2; exit 1; }

build() {
    [ -e "$HERE/target/$WAR" ] && return
    [ -d "$HERE/.git" ] || git clone -q "$FROM" "$HERE"
    git -C "$HERE" checkout -q "$COMMIT"
    # Its own version of the plugin for archives does not run on newer JDKs.
    (cd "$HERE" && mvn -q -B -C compile org.apache.maven.plugins:maven-war-plugin:3.4.0:war \
        dependency:copy-dependencies -DincludeArtifactIds=derby)
}

# The layout of a user directory of Open Liberty, in which the application comes with its data: 500 users and 1000 quotes.
lay_out() {
    server=$2/servers/daytrader
    mkdir -p "$server/apps" "$server/configDropins/overrides" "$2/shared/resources/DerbyLibs"
    cp "$HERE/src/main/liberty/config/server.xml" "$HERE/src/main/liberty/config/bootstrap.properties" \
        "$HERE/src/main/liberty/config/server.env" "$server"
    cp "$HERE/target/$WAR" "$server/apps"
    cp "$HERE"/target/dependency/derby-*.jar "$2/shared/resources/DerbyLibs"
    cp -r "$HERE/resources/data" "$2/shared/resources"
    cat > "$server/configDropins/overrides/port.xml" <<END
<server>
    <httpEndpoint id="defaultHttpEndpoint" host="127.0.0.1" httpPort="$1" httpsPort="-1"/>
    <applicationMonitor updateTrigger="disabled" dropinsEnabled="false"/>
    <config updateTrigger="disabled"/>
</server>
END
}

serve() {
    [ -e "$HERE/target/$WAR" ] || fail "it is not built; do that first: $0 build"
    [ -e "$WLP/bin/tools/ws-server.jar" ] ||
        fail "Open Liberty is not in $WLP; to install it: pitot target install open-liberty --yes"
    lay_out "$1" "$2"
    # What its script `server` would set.
    export WLP_USER_DIR="$2" WLP_OUTPUT_DIR="$2/output" LOG_DIR="$2/output/logs" X_LOG_DIR="$2/output/logs"
    export MAX_QUOTES=1000 MAX_USERS=500
    cd "$2/servers/daytrader"
    exec java -Xms1g -Xmx1g "@$WLP/lib/platform/java/java9.options" "-javaagent:$WLP/bin/tools/ws-javaagent.jar" \
        -Djava.awt.headless=true "-Djava.io.tmpdir=$2" -jar "$WLP/bin/tools/ws-server.jar" daytrader
}

run() {
    duration=${1:-3m}
    port=${2:-19080}
    build
    dir=$(mktemp -d)
    "$0" serve "$port" "$dir" > "$dir/log" 2>&1 &
    server=$!
    trap 'kill "$server" 2> /dev/null || :; wait "$server" || :; rm -rf "$dir"' EXIT
    trap 'exit 1' INT TERM
    waited=0
    until python3 -c "import urllib.request as u; u.urlopen('http://127.0.0.1:$port/daytrader/app', timeout=5)" 2> /dev/null; do
        kill -0 "$server" 2> /dev/null || { tail -n 20 "$dir/log"; fail "DayTrader has ended"; }
        [ "$waited" -lt 300 ] || { tail -n 20 "$dir/log"; fail "DayTrader is not ready after $waited s"; }
        sleep 1
        waited=$((waited + 1))
    done
    echo "DayTrader was ready after about $waited s"
    "$PITOT" load "trade://127.0.0.1:$port/?app=daytrader" -c 60 -d "$duration" --json "$dir/result.json" > /dev/null ||
        fail "the load has failed"
    python3 - "$dir/result.json" <<'END'
import json, sys

# The published mix, percent. A login belongs to every session besides.
MIX = {"quotes": 40, "home": 20, "portfolio": 12, "account": 10, "logout": 4, "buy": 4, "sell": 4, "update": 4, "register": 2}
result = json.load(open(sys.argv[1]))
steps = {step["step"]: step for step in result["sessions"]["steps"]}
done = sum(steps[name]["requests"] for name in MIX)
wrong = []
print(f"{result['requests']['ok']:,} replies in {result['duration_s']:.0f} s, {result['sessions']['completed']:,} sessions")
print(f"{'action':<12}{'percent':>8}{'mix':>5}{'errors':>8}{'p50 ms':>9}{'p99 ms':>9}")
for name, wanted in MIX.items():
    step = steps[name]
    percent = 100 * step["requests"] / done
    time = step["time_ns"]
    print(f"{name:<12}{percent:>8.2f}{wanted:>5}{step['errors']:>8}{time['p50'] / 1e6:>9.1f}{time['p99'] / 1e6:>9.1f}")
    if abs(percent - wanted) > 1:
        wrong.append(f"{name} is {percent:.2f}% of the actions, and should be {wanted}%")
wrong += [f"{error['count']} x {error['phase']} {error['kind']}" for error in result["errors"]]
for line in wrong:
    print(f"wrong: {line}", file=sys.stderr)
sys.exit(1 if wrong else 0)
END
}

case "${1:-}" in
build) build ;;
serve) [ $# -eq 3 ] || fail "serve PORT DIR"; serve "$2" "$3" ;;
run) shift; run "$@" ;;
*) fail "write build, serve PORT DIR or run [DURATION [PORT]]" ;;
esac
