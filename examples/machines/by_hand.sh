#!/bin/bash
# A program on this machine, and on others where ssh leads: by_hand.sh 10.0.0.1:7777 "node1 node2" program.py:Main --fast
# The address is this machine's, as the others see it. What goes between them is encrypted.
set -eu

address=$1 hosts=($2)
shift 2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
openssl rand -hex 32 > "$folder/token"
for who in own "${!hosts[@]}"; do
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj "/CN=reactors" \
        -addext "subjectAltName=IP:${address%:*}" -keyout "$folder/$who.key" -out "$folder/$who.pem" 2> /dev/null
done

for n in "${!hosts[@]}"; do
    tar -C "$folder" -c token own.pem "$n.pem" "$n.key" | ssh "${hosts[n]}" "
        set -eu
        umask 077
        folder=\$(mktemp -d)
        trap 'rm -rf \"\$folder\"' EXIT
        tar -C \"\$folder\" -x
        reactors join $address --token-file \"\$folder/token\" --ca \"\$folder/own.pem\" \
            --certificate \"\$folder/$n.pem\" --key \"\$folder/$n.key\"" &
done
reactors run "$@" --machines $((${#hosts[@]} + 1)) --listen "$address" --token-file "$folder/token" \
    --certificate "$folder/own.pem" --key "$folder/own.key"
wait
