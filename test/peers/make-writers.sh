#!/bin/sh
# make-writers.sh CORPUS: write CORPUS/writers and its manifest with the real libraries, each at one version.
#
# Needs a network, python3, cargo, go, javac, mvn and node, and 4 GB for the libraries. The versions are here, in the
# Cargo.toml, go.mod, pom.xml and package.json of writers/, and nowhere else.
set -eu

corpus=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)/writers
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
export PYTHONDONTWRITEBYTECODE=1
cp -R "$here" "$work/src"
mkdir "$work/out"

python3 -m venv "$work/arrays"
"$work/arrays/bin/pip" install --quiet gguf==0.19.0 numpy==2.4.6 safetensors==0.8.0 ml_dtypes==0.6.0 \
    mlx==0.32.4 mlx-cpu==0.32.4 jax==0.10.2 jaxlib==0.10.2 keras==3.15.1 h5py==3.16.0 onnx==1.23.2
"$work/arrays/bin/python" "$work/src/arrays.py" "$work/out" >"$work/lines"

python3 -m venv "$work/torch"
"$work/torch/bin/pip" install --quiet torch==2.15.0 torchao==0.18.0 transformers==5.24.0 peft==0.21.2 \
    pnnx==20261020 ml_dtypes==0.6.0
"$work/torch/bin/python" "$work/src/tensors.py" "$work/out" >>"$work/lines"

cargo run --quiet --manifest-path "$work/src/candle/Cargo.toml" -- "$work/out" >>"$work/lines"

(cd "$work/src/go" && go run . "$work/out") >>"$work/lines"

mvn -q -B -f "$work/src/djl/pom.xml" dependency:copy-dependencies -DoutputDirectory="$work/jars" >&2
javac -cp "$work/jars/*" -d "$work/classes" "$work/src/djl/Djl.java"
java -cp "$work/jars/*:$work/classes" Djl "$work/out" >>"$work/lines"

(cd "$work/src/node" && npm install --silent >&2 && node main.mjs "$work/out") >>"$work/lines"

rm -rf "$corpus/writers"
cp -R "$work/out" "$corpus/writers"
chmod -R u=rwX,go=rX "$corpus/writers"
python3 "$here/collect.py" "$corpus/manifest-writers.ndjson" <"$work/lines"
