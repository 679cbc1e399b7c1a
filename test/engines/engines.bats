#!/usr/bin/env bats
# The scripts of contrib/ with the tools that they are for: `make check-engines` installs these, as root, and names the folder of
# Python packages in $AMN_ENGINES. Each output is killed at some point, continued, and then identical.
load ../behaviour/helper

setup_file() {
    contrib=$tests/../contrib
    models=$(mktemp -d "${TMPDIR:-/tmp}/amn-engines.XXXXXX")
    export contrib models
    AMN_BIN=$(cd "$AMN_BIN" && pwd)
    PATH=$AMN_BIN:$PATH:/usr/sbin
    export AMN_BIN PATH
    PYTHONPATH=$tests/helpers python3 - "$models/model.safetensors" <<'PYTHON'
import random, sys
from modelfile import write
rnd = random.Random(30)
def numbers(n):
    b = bytearray(rnd.randbytes(2 * n))
    b[1::2] = b[1::2].translate(bytes(i & 0x81 | 0x3C for i in range(256)))
    return bytes(b)
write(sys.argv[1], [("l.%02d.weight" % i, "BF16", [1024, 512], numbers(1 << 19)) for i in range(40)])
PYTHON
    # quantized, so that a part takes some time
    amn-forget -q --scheme iq4_xs --pure -o "$models/model.gguf" "$models/model.safetensors"
    amn-remember -q "$models/model.gguf" >"$models/want"
}

teardown_file() {
    rm -rf "$models"
}

setup() {
    begin
    daemons=()
    model=$models/model.gguf
}

teardown() {
    local pid
    for pid in "${daemons[@]}"; do kill "$pid" 2>/dev/null || :; done
    for pid in "${daemons[@]}"; do wait "$pid" 2>/dev/null || :; done
    cd /
    rm -rf "$dir"
}

# daemon COMMAND...: starts it, until the end of the test.
daemon() {
    "$@" >>daemons.log 2>&1 3>&- &
    daemons+=($!)
}

# until_ok COMMAND...: waits up to a minute until it succeeds.
until_ok() {
    local i
    for i in $(seq 300); do
        if "$@" >/dev/null 2>&1; then return; fi
        sleep 0.2
    done
    echo "never: $*"
    [ ! -e daemons.log ] || tail -n 20 daemons.log
    return 1
}

# slower: tools that take half a second longer, in the folder slow, so that a part can be killed: its process is in the file pid.
slower() {
    mkdir slow
    cat >slow/amn-remember <<SCRIPT
#!/bin/sh
case "\$*" in *--size* | *--parts*) ;; *) echo \$\$ >"$dir/pid.new"; mv "$dir/pid.new" "$dir/pid"; sleep 0.5 ;; esac
exec $AMN_BIN/amn-remember "\$@"
SCRIPT
    chmod +x slow/amn-remember
}

@test "no script has more than 40 lines" {
    [ "$(wc -l "$contrib"/* | awk '$2 != "total" && $1 > 40' | wc -l)" -eq 0 ]
}

@test "GNU parallel: killed three times, continued, and not again what is done" {
    slower
    for i in 3 8 12; do                 # when so many parts are done
        PATH=$dir/slow:$PATH setsid "$contrib/gnu-parallel" "$model" made 2M >said 2>&1 3>&- &
        pid=$!
        until_ok sh -c "[ \$(wc -l <made.joblog) -gt $i ]"
        kill -9 -- -$pid
        wait $pid || :
    done
    done=$(($(wc -l <made.joblog) - 1))
    try 0 "$contrib/gnu-parallel" "$model" made 2M -v
    [ "$(grep -c 'exec amn-remember' out)" -eq $(($(amn-remember --parts --part-size 2M "$model") - done)) ]
    cmp made "$models/want"
    [ ! -e made.joblog ]
}

@test "GNU parallel: a part that fails is repeated" {
    mkdir bad
    # the first try of each third part is killed in the middle
    cat >bad/amn-remember <<SCRIPT
#!/bin/sh
for last in "\$@"; do case "\$last" in 3 | 6 | 9) [ -e "$dir/tried.\$last" ] || { touch "$dir/tried.\$last"; kill -9 \$\$; } ;; esac; done
exec $AMN_BIN/amn-remember "\$@"
SCRIPT
    chmod +x bad/amn-remember
    for i in 1 2 3 4; do
        PATH=$dir/bad:$PATH "$contrib/gnu-parallel" "$model" made 2M >said 2>&1 && break
    done
    [ $i -gt 1 ]
    cmp made "$models/want"
}

# slurm: starts a cluster of this machine.
slurm() {
    mkdir -m 700 state spool run
    head -c 1024 /dev/urandom >run/key
    chmod 600 run/key
    host=$(hostname -s)
    cat >slurm.conf <<CONF
ClusterName=amn
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=16817
SlurmdPort=16818
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$dir/run/munge,cred_expire=5
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool
SlurmctldPidFile=$dir/run/slurmctld.pid
SlurmdPidFile=$dir/run/slurmd.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdLogFile=$dir/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=2,batch_sched_delay=0
ReturnToService=2
MpiDefault=none
JobRequeue=1
NodeName=$host NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=10 State=UP
CONF
    export SLURM_CONF=$dir/slurm.conf
    chmod 755 .
    daemon munged -F --force --socket="$dir/run/munge" --key-file="$dir/run/key" --pid-file="$dir/run/munge.pid" \
        --log-file="$dir/munge.log" --seed-file="$dir/run/seed"
    until_ok munge -n -S "$dir/run/munge"
    daemon slurmctld -D
    daemon slurmd -D
    until_ok sh -c 'sinfo -h -o %t | grep -qx idle'
}

# tasks STATE: prints the IDs of the tasks in this state, JOB_TASK.
tasks() { squeue -h -r -t "$1" -o %F_%K; }

@test "Slurm array: tasks killed and requeued" {
    slurm
    slower
    PATH=$dir/slow:$PATH try 0 "$contrib/slurm-array" "$model" "$dir/made" 2M --output="$dir/task.%a"
    job=$(sed -n 's/Submitted batch job //p' out)
    # three times: what runs is killed by requeueing it
    for i in 1 2 3; do
        until_ok sh -c 'squeue -h -t RUNNING -o %i | grep -q .'
        sleep 0.3
        for task in $(tasks RUNNING); do scontrol requeue "$task" || :; done
    done
    # and one process by a signal, which fails its task; the task is then requeued
    rm -f pid
    until_ok test -e pid
    kill -9 "$(cat pid)"
    failed() { scontrol show job "$job" | tr '\n' ' ' | sed 's/JobId=/\n&/g' | grep JobState=FAILED | sed 's/.*ArrayTaskId=\([0-9]*\) .*/\1/'; }
    until_ok eval '[ "$(failed | wc -l)" -ge 1 ]'
    for task in $(failed); do scontrol requeue "${job}_$task"; done
    until_ok sh -c "! squeue -h -j $job -o %i | grep -q ."
    [ "$(scontrol show job "$job" | grep -c 'Restarts=[1-9]')" -ge 3 ]
    cmp made "$models/want"
}

# s3: starts a server with a bucket, and names it in the environment.
s3() {
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    export AWS_ACCESS_KEY_ID=x AWS_SECRET_ACCESS_KEY=x AWS_DEFAULT_REGION=us-east-1 AWS_ENDPOINT_URL=http://127.0.0.1:$port
    PATH=$AMN_ENGINES/bin:$PATH
    daemon moto_server -H 127.0.0.1 -p "$port"
    until_ok curl -s "$AWS_ENDPOINT_URL"
    aws s3api create-bucket --bucket bucket >/dev/null
}

@test "S3 multipart: parts out of order by several processes, one killed and repeated" {
    s3
    slower
    upload() { "$contrib/s3-multipart" "$@"; }
    id=$(upload begin bucket model.safetensors)
    rm -f pid
    PATH=$dir/slow:$PATH setsid "$contrib/s3-multipart" part bucket model.safetensors "$id" "$model" 5M 4 >said 2>&1 3>&- &
    pid=$!
    until_ok test -e pid
    kill -9 -- -$pid
    wait $pid || :
    parts=$(amn-remember --parts --part-size 5M "$model")
    [ "$parts" -ge 8 ]
    seq "$parts" | grep -vx '[46]' | shuf | xargs -P 3 -I {} "$contrib/s3-multipart" part bucket model.safetensors "$id" "$model" 5M {}
    # a part of the wrong size is missing, too
    head -c 5000000 /dev/zero >wrong
    aws s3api upload-part --bucket bucket --key model.safetensors --upload-id "$id" --part-number 6 --body wrong >said
    try 1 upload end bucket model.safetensors "$id" "$model" 5M
    grep -qx 'missing parts: 4 6' err
    upload part bucket model.safetensors "$id" "$model" 5M 6
    upload part bucket model.safetensors "$id" "$model" 5M 4
    upload part bucket model.safetensors "$id" "$model" 5M 4
    try 0 upload end bucket model.safetensors "$id" "$model" 5M
    aws s3 cp --quiet s3://bucket/model.safetensors made
    cmp made "$models/want"
}

@test "the aws command of amn(7) fetches a model from the server" {
    s3
    aws s3 cp --quiet "$model" s3://bucket/folder/model.gguf
    command=$(python3 - "$tests/../man/amn.7" <<'PYTHON'
import re, sys
print(re.search(r"--fetch \\\(aq(aws.*?)\\\(aq", open(sys.argv[1]).read(), re.S)[1].replace("\\e\n", "").replace("\\-", "-"))
PYTHON
)
    export BUCKET=bucket
    amn-remember -q --fetch "$command" folder/model.gguf | cmp - "$models/want"
    amn-remember -q --fetch "$command" --range 30000000-40000000 folder/model.gguf |
        cmp - <(tail -c +30000001 "$models/want" | head -c 10000001)
    try 74 amn-inspect --fetch "$command" folder/none.gguf
    grep -q NoSuchKey err
}

@test "Kubernetes: the Job fits its schema, and its command makes the parts in any order" {
    validate() { "$AMN_ENGINES/bin/kubernetes-validate" --strict "$@"; }
    try 0 validate "$contrib/kubernetes-job.yaml"
    sed 's/completions:/completion:/' "$contrib/kubernetes-job.yaml" >bad.yaml
    try 1 validate bad.yaml
    slower
    export MODEL=$model OUTPUT=$dir/made PART_SIZE=3M
    "$AMN_ENGINES/bin/python" - "$contrib/kubernetes-job.yaml" <<'PYTHON'
import sys, yaml
job = yaml.safe_load(open(sys.argv[1]))
container = job["spec"]["template"]["spec"]["containers"][0]
assert {e["name"] for e in container["env"]} == {"MODEL", "OUTPUT", "PART_SIZE"} and container["command"] == ["sh", "-euc"]
open("command", "w").write(container["args"][0])
PYTHON
    pod() { JOB_COMPLETION_INDEX=$1 PATH=$dir/slow:$PATH exec sh -euc "$(cat command)"; }
    for i in 2 5; do                    # pods that are killed
        rm -f pid
        (pod $i) 3>&- &
        until_ok test -e pid
        kill -9 "$(cat pid)"
        wait || :
    done
    for i in $(seq 0 $(($(amn-remember --parts --part-size 3M "$model") - 1)) | shuf); do (pod "$i"); done
    cmp made "$models/want"
}
