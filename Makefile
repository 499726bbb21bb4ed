# Everything a developer or a curious user runs. `make help` lists the targets.
PYTHON ?= python3
VENV ?= .venv
DEMO ?= demo
BIN := $(VENV)/bin
# Two processes side by side is what a small machine bears; each framework process takes one core.
JOBS ?= 2
# A file of tests is one unit of work: its tests share what they prepare. In the order of collection
# the small files of tests/unit come last and keep all processes busy until the end.
PARALLEL := --numprocesses $(JOBS) --dist loadfile --no-loadscope-reorder
QUICK := $(PARALLEL) -m "not exhaustive"
JOURNAL := build/test-all.jsonl
# Flags of tests/fuzz/run.py.
FUZZ ?= --examples 300
# Flags of run.py, clean.py and causes.py in tests/mutants.
MUTANTS ?= --docs
ALARMS ?= --docs
CAUSES ?= --docs
# Flags of tests/drift/run.py.
DRIFT ?=
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# The tests start thousands of processes; without bytecode each one compiles what it imports again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test quick test-all check unit rule template level probes drift fuzz mutants causes kills index \
  past false-alarms nightly self-test package release-check generate docs bench slurm clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' \
	  || { echo "crosscast needs Python 3.11 to 3.13; choose one: make PYTHON=python3.11"; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.all: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[all]'
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[all,dev]'
	# It asks for the distribution tensorflow by name; tensorflow-cpu is the same.
	$(BIN)/pip install --quiet --constraint constraints.txt --no-deps tf_keras
	@touch $@ $(VENV)/.all

$(VENV)/.docs: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[docs]'
	@touch $@

$(VENV)/.bench: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[bench]'
	@touch $@ $(VENV)/.all

demo: $(VENV)/.all ## Train BERT-small with all three emitted scripts and write the report
	$(BIN)/crosscast parity examples/bert-small/demo.yaml \
	  --to torch,tensorflow,paddle --check model --windows 60 --jobs $(JOBS) --output $(DEMO)

# Checks and tests side by side: a single check leaves a core idle.
test: $(VENV)/.dev ## Lint, types, and every feature once on all four frameworks
	@$(MAKE) --no-print-directory --jobs=2 check quick

quick: $(VENV)/.dev ## The tests of `make test` alone
	$(BIN)/pytest tests $(QUICK)

test-all: check ## Everything, with fresh examples; goes on where it was cut off
	XLA_FLAGS= $(BIN)/pytest tests $(PARALLEL) --hypothesis-profile fresh --journal $(JOURNAL)
	PYTHONPATH=tests $(BIN)/python tests/tier_table.py $(JOURNAL)

check: $(VENV)/.dev ## Lint, format, types, unused code
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	mkdir -p build && $(BIN)/python tests/template_paths.py > build/template_names.py
	$(BIN)/vulture

unit: $(VENV)/.dev ## The tests of `make test` that need no framework
	$(BIN)/pytest tests/unit $(QUICK)

rule: $(VENV)/.dev ## Examples, readings and tests of one rule: make rule RULE=CL523
	PYTHONPATH=tests $(BIN)/python -m short_loop rule $(RULE)

template: $(VENV)/.dev ## Kept files of one template and their style: make template T=paddle/scaler.j2
	PYTHONPATH=tests $(BIN)/python -m short_loop template $(T)

level: $(VENV)/.dev ## Tests of one level of the comparison, with stand-ins: make level LEVEL=L3
	PYTHONPATH=tests $(BIN)/python -m short_loop level $(LEVEL)

probes: $(VENV)/.dev ## The probes behind the tables, all of them
	$(BIN)/pytest tests/probes $(PARALLEL)

drift: $(VENV)/.dev ## What changed between releases of the frameworks; installs each (gigabytes)
	PYTHONPATH=tests $(BIN)/python -m drift.run $(DRIFT)

INDEX := $(BIN)/python -m crosscast_migrate.binding.make_index
index: $(VENV)/.dev ## The public names of the installed releases, which programs are bound to
	$(INDEX) backends/crosscast_torch/names/index.json.xz torch
	$(INDEX) backends/crosscast_paddle/names/index.json.xz paddle
	$(INDEX) backends/crosscast_tensorflow/names/index.json.xz tensorflow keras
	TF_USE_LEGACY_KERAS=1 $(INDEX) backends/crosscast_tensorflow/names/with_tf_keras.json.xz \
	  tensorflow keras tf_keras

PAST := $(BIN)/python -m crosscast_migrate.binding.make_past
past: $(VENV)/.dev ## The names that earlier releases had; downloads these (a gigabyte)
	$(PAST) backends/crosscast_torch/names
	$(PAST) backends/crosscast_paddle/names
	$(PAST) backends/crosscast_tensorflow/names

fuzz: $(VENV)/.dev ## Drawn recipes: emitted steps of all frameworks against the reference
	PYTHONPATH=tests $(BIN)/python -m fuzz.run $(FUZZ)

mutants: $(VENV)/.dev ## Plant translation bugs in the emitted files; which level catches which
	PYTHONPATH=tests $(BIN)/python -m mutants.run --jobs $(JOBS) $(MUTANTS)

causes: $(VENV)/.dev ## Are causes named? By --bisect, and on the toy those of bugs that act late
	PYTHONPATH=tests $(BIN)/python -m mutants.causes --jobs $(JOBS) $(CAUSES)

kills: $(VENV)/.dev ## Kill comparisons at random moments; resumed, they must come to the same report
	PYTHONPATH=tests $(BIN)/python -m mutants.kills --jobs $(JOBS)

false-alarms: $(VENV)/.dev ## Compare over a hundred pairs of correct programs; none may be accused
	PYTHONPATH=tests $(BIN)/python -m mutants.clean --jobs $(JOBS) $(ALARMS)

nightly: $(VENV)/.all ## All levels with BERT-small, three seeds in three types, ten paired seeds
	$(BIN)/crosscast parity examples/bert-small/recipe.yaml --to torch,tensorflow,paddle \
	  --stress --check nightly --jobs $(JOBS) --output build/nightly

self-test: $(VENV)/.all ## Plant a bug for every level; each must see its own
	$(BIN)/crosscast parity examples/bert-small/recipe.yaml --to torch,tensorflow,paddle,jax \
	  --self-test --jobs $(JOBS) --output build/self-test

slurm: $(VENV)/.dev ## Start a SLURM of two nodes on this host, sweep and train on it (needs slurm-wlm, munge)
	$(BIN)/pytest tests/slurm --capture no

package: $(VENV)/.dev ## Build sdist and wheel
	$(BIN)/python -m build --outdir dist

release-check: $(VENV)/.dev ## Wheel and sdist in empty environments of every Python
	PYTHONPATH=tests $(BIN)/python -m package.release_check

generate: $(VENV)/.dev ## Write what is generated: schema, docs pages, compiled examples
	$(BIN)/python docs/generate.py

docs: $(VENV)/.docs ## Build the documentation site into build/site
	PYTHONPATH=docs $(BIN)/python -m website.build

bench: $(VENV)/.bench ## Measure cold start, recipes per second, and steps of the emitted loops
	$(BIN)/python benchmarks/compile_speed.py
	$(BIN)/python benchmarks/step_time.py --rounds 5 --processes 1

clean: ## Remove what the targets made
	rm -rf $(VENV) $(DEMO) dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
