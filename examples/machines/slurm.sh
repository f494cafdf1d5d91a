#!/bin/bash
# A program on all nodes of a job of Slurm's: sbatch --nodes=4 slurm.sh program.py:Main --fast
#SBATCH --job-name=reactors
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
set -eu

first=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
port=$((20000 + SLURM_JOB_ID % 10000))
address=$(getent ahostsv4 "$first" | awk 'NR == 1 { print $1 }'):$port
token=$PWD/.reactors-token-$SLURM_JOB_ID # in a folder that all nodes have
(umask 077 && openssl rand -hex 32 > "$token")
trap 'rm -f "$token"' EXIT

export address token workers=$((SLURM_JOB_NUM_NODES * SLURM_CPUS_PER_TASK))
srun --kill-on-bad-exit=0 bash -c '
    if [ "$SLURM_PROCID" = 0 ]; then
        exec reactors run "$@" --machines "$SLURM_NTASKS" --workers "$workers" --listen "$address" --token-file "$token"
    else
        exec reactors join "$address" --token-file "$token"
    fi' - "$@"
