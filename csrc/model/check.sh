#!/usr/bin/env bash
# Checks the models with spin: each in every interleaving, then with errors planted, which must be found.
# check.sh [WORD]: only what has the word in its line, as `machines`, or `planted`.
# A search that was cut short counts as a failure. JOBS at a time, at most 5.6 GiB together.
set -euo pipefail
cd "$(dirname "$0")"
models=$PWD
out=$PWD/../../build/model
jobs=${JOBS:-2}

# check <sound|planted> <model> [-DNAME | -l]...; -l: a search for cycles, instead of deadlocks. Leaves a line of the
# table in <number>.row.
check() {
    local kind=$1 model=$2 dir; shift 2
    local names=${*//-D/} defines=() compile=(-DSAFETY) run=() optimize=-O2 verdict word
    [ "$kind" = sound ] || optimize=-O0       # what is planted is soon found, and compiling takes the time
    names=${names//-l/(no cycle)}
    for word in "$@"; do
        case $word in
            -l) compile=(-DNP) run=(-l) ;;
            *)  grep -qw -- "$(sed 's/^-D//; s/=.*//' <<<"$word")" "$models/$model.pml" || echo "no such name: $word" >>"$number.err"
                defines+=("$word") ;;
        esac
    done
    mkdir "$number" && cd "$number"
    if spin -a "${defines[@]}" "$models/$model.pml" >spin.log 2>&1 &&
        gcc -w $optimize "${compile[@]}" -DMEMLIM=$((5600 / jobs)) -o pan pan.c 2>gcc.log; then
        ./pan -w23 -m50000 "${run[@]}" >pan.log 2>&1 || true
        verdict=$(judge "$kind")
    else
        verdict="FAILED: does not compile"
    fi
    [ ! -e "../$number.err" ] || verdict="FAILED: $(<"../$number.err")"
    rm -f pan pan.[!l]*                       # the logs and the trail stay
    printf '%-9s %-38s %10s  %s\n' "$model" "${names:--}" "$(sed -n 's/^ *\([0-9]*\) states, stored.*/\1/p' pan.log)" "$verdict" >"../$number.row"
}

judge() {
    local found=$(sed -nE 's/^pan:1: (assertion violated|invalid end state|non-progress cycle|acceptance cycle).*/\1/p' pan.log)
    if [ "$1" = planted ]; then
        [ -n "$found" ] && echo "found: $found" || echo "FAILED: planted error not found"
    elif [ -n "$found" ]; then
        echo "FAILED: $found, see build/model/$number"
    elif grep -q 'errors: 0$' pan.log && grep -q '^Full statespace search' pan.log &&
        ! grep -qiE 'not completed|too small|hash-compact|bitstate|out of memory' pan.log; then
        echo "sound"
    else
        echo "FAILED: search not exhaustive, see build/model/$number"
    fi
}

rm -rf "$out"
mkdir -p "$out"
cd "$out"
count=0
while read -r line; do
    line=${line%%#*}
    [ -n "${line// /}" ] && [[ $line == *"${1:-}"* ]] || continue
    while (( $(jobs -rp | wc -l) >= jobs )); do wait -n || true; done
    printf -v number '%02d' $((++count))
    # shellcheck disable=SC2086
    check $line &
done <<'LIST'
    sound    frontier -DFEEDBACK              # the longest first
    sound    frontier -DPIPELINE
    sound    frontier -DREPLY
    sound    frontier -DCYCLE
    sound    frontier -DMIXED
    sound    frontier -DSTOP
    sound    frontier -DDELAY
    sound    frontier -DEXCHANGE
    sound    frontier -DEXCHANGE -l
    sound    frontier -DPIPELINE -DLATE=0
    sound    frontier -DREPLY    -DLATE=0
    sound    frontier -DMIXED    -DLATE=1
    sound    frontier -DSTOP     -DLATE=2
    sound    frontier -DDELAY    -DLATE=0
    sound    frontier -DONWARD   -DLATE=1
    sound    frontier -DONWARD   -DLATE=1 -l
    sound    frontier -DEXCHANGE -DLATE=0
    sound    frontier -DEXCHANGE -DLATE=0 -l
    sound    machines -DROUND    -DAWAY=2
    sound    machines -DRELAY    -DAWAY=1
    sound    machines -DPAIR     -DAWAY=1
    sound    machines -DCHAIN    -DAWAY=2
    sound    machines -DJOIN     -DAWAY=6
    sound    machines -DTWICE    -DAWAY=0
    sound    machines -DREPLY    -DAWAY=0
    sound    park
    sound    channel
    sound    channel  -DLINE
    planted  frontier -DPIPELINE -DHEAD_BEFORE_MESSAGE
    planted  frontier -DCYCLE    -DHEAD_LOWERED_LATE
    planted  frontier -DCYCLE    -DPASSED_EARLY
    planted  frontier -DCYCLE    -DNO_MATES
    planted  frontier -DFEEDBACK -DSINGLE_COLLECT
    planted  frontier -DDELAY    -DKEPT_MICROSTEP
    planted  frontier -DREPLY    -DBOUND_WITHOUT_ME
    planted  frontier -DMIXED    -DDRAINED_BEFORE_ONLY
    planted  frontier -DCYCLE    -DCOVERED_UNDRAINED
    planted  frontier -DEXCHANGE -DFULL_UNDRAINED
    planted  frontier -DEXCHANGE -DSILENT_POP
    planted  frontier -DSTOP     -DSTARVED_CACHE
    planted  frontier -DSTOP     -DSTARVED_READ_ONCE
    planted  frontier -DONWARD   -DLATE=1 -DUNTOLD_WHILE_WAITING
    planted  frontier -DFEEDBACK -DLATE=0 -DUNTOLD_AT_REST
    planted  machines -DTWICE    -DAWAY=0 -DNO_CUT
    planted  machines -DCHAIN    -DAWAY=0 -DNO_UNACKNOWLEDGED
    planted  machines -DCHAIN    -DAWAY=0 -DHEAD_LOWERED_LATE
    planted  machines -DJOIN     -DAWAY=0 -DNO_MATES
    planted  machines -DJOIN     -DAWAY=0 -DWAITS_UNSAID
    planted  machines -DREPLY    -DAWAY=0 -DEMPTIED_WHEN_SENT
    planted  machines -DCHAIN    -DAWAY=0 -DUNREAD_COUNTED
    planted  machines -DCHAIN    -DAWAY=1 -DSTATE_BEFORE_MESSAGES
    planted  machines -DCHAIN    -DAWAY=1 -DHALF_A_STATE
    planted  machines -DTWICE    -DAWAY=1 -DONE_LOOK
    planted  machines -DTWICE    -DAWAY=1 -DSLOW=4 -DALWAYS -DFIRST_AFTER_ACKED
    planted  park     -DBIT_AFTER_LOOK
    planted  park     -DBELL_READ_LATE
    planted  park     -DWANTS_ONCE
    planted  park     -DSLEEPERS_READ_EARLY
    planted  park     -DBIT_CLEARED_LATE
    planted  channel  -DTAIL_BEFORE_MESSAGE
    planted  channel  -DHEAD_BEFORE_TAKEN
    planted  channel  -DFULL_IGNORED
    planted  channel  -DONE_LOOK
    planted  channel  -DVERSION_INSTEAD
    planted  channel  -DLINE -DODD_IGNORED
LIST
wait

printf '%-9s %-38s %10s  %s\n' model variant states verdict
cat ./*.row
# every line of the list must have left a verdict
[ "$(cat ./*.row | wc -l)" = "$count" ] || { echo "a check did not end"; exit 1; }
! grep -h FAILED ./*.row >/dev/null || exit 1
