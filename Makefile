# make setup | run | test | results | mutants | bench | lint | format | clean        (PYTHON=python3.12 chooses another Python)
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.shoal-setup

# A ROS sourced in this shell, or a Python that started make, must not leak into the pinned environment.
unexport PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE LD_LIBRARY_PATH _ROS_WHEELS_BOOTSTRAP_COMPLETE

.PHONY: help setup run test results mutants fuzz tutorials bench pictures lint format lock system docs dist distcheck clean distclean
.DELETE_ON_ERROR:

help:  ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' Makefile

setup: $(STAMP)  ## .venv with pinned dependencies, ROS 2 wheels and all packages of src/, editable

$(STAMP): requirements.txt tools/setup.sh $(wildcard src/*/setup.py src/*/setup.cfg)
	@PYTHON='$(PYTHON)' tools/setup.sh
	@touch $@

run: setup  ## a fleet on ROS 2: the circle test for 60 s, recorded, judged, with a report
	@folder=runs/circle-$$(date +%Y%m%d-%H%M%S); \
	if $(BIN)/python -c 'import rclpy' 2>/dev/null; then \
	  $(BIN)/shoal up fosso2023_two --path circle --for 60 --ready 0 --record $$folder && \
	  $(BIN)/shoal bag report $$folder --plot $$folder/run.png; \
	else \
	  echo 'rclpy is not available here (its wheels are for x86-64 Linux): the same run in the simulator, without ROS.'; \
	  $(BIN)/shoal simulate --path circle --fleet fosso2023_two --out $$folder --plot $$folder/run.png; \
	fi && printf '%s\n' '' 'Next:' "  source .venv/bin/activate" \
	  "  shoal view $$folder --save $$folder/replay.gif    # the same run as a film" \
	  '  shoal simulate --path torus --condition current_025_waves --plot waves.png    # without ROS, faster than real time' \
	  '  shoal up three --path circle    # a fleet until Ctrl-C; shoal gui in a second terminal is the operator station'

test: setup  ## all tests; those without ROS on all cores, then the real processes one after the other
	@tools/setup.sh tests
	@# Both halves always run. Real processes on a shared machine: one that was starved gets another chance, a broken
	@# one fails thrice.
	@failed=0; \
	$(BIN)/python -m pytest -q -n auto --dist worksteal --durations 10 -m 'not ros' $(ARGS) || failed=1; \
	$(BIN)/python -m pytest -q --durations 10 -m ros --reruns 2 $(ARGS) || failed=1; \
	exit $$failed

results: setup  ## the campaigns behind docs/results and their tables; resumable; ARGS='--runs 2', '--estimate', names
	@$(BIN)/shoal results $(ARGS)

mutants: setup  ## switch one rule off at a time in a scratch copy, and see a test fail
	@$(BIN)/python tools/mutants.py $(ARGS)

fuzz: setup  ## 10 000 spoilt files of every kind through shoal check (hours; CASES=200 for minutes): never a traceback
	@SHOAL_FUZZ_CASES=$(or $(CASES),10000) $(BIN)/python -m pytest -q -n auto src/shoal_core/test/test_fuzz_files.py $(ARGS)

tutorials: setup  ## every command of README and the tutorials in a fresh clone, with its time; ARGS='--here docking' for some
	@$(BIN)/python tools/tutorials.py $(ARGS)

bench: setup  ## all benchmarks
	@$(BIN)/python -m shoal.cli bench all

pictures: setup  ## those of README and docs/
	@$(BIN)/shoal vehicle show bluerov2_heavy --picture docs/images/vehicle.png | tail -1
	@$(BIN)/shoal drop bluerov2_heavy --set wu2018 --plot docs/images/drop.png | tail -1
	@$(BIN)/shoal demo --plot docs/images/demo.png | tail -1
	@$(BIN)/shoal picture exchange --out docs/images/exchange.png | tail -1
	@$(BIN)/shoal picture ring --out docs/images/ring.png | tail -1
	@$(BIN)/shoal picture dock --seed 1000 --out docs/images/dock.png | tail -1
	@$(BIN)/shoal picture platform --seed 301 --out docs/images/platform.png | tail -1
	@$(BIN)/shoal simulate --path circle --duration 60 --plot docs/images/run.png | tail -1
	@$(BIN)/shoal gui --screenshots docs/images | tail -1
	@$(BIN)/python tools/rerun_pictures.py docs/images

lint: setup  ## ruff, mypy, the order of the rooms and the links between pages
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python tools/check_links.py

format: setup  ## put the code into ruff's form
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

docs: .venv-docs/.stamp  ## the pages as a site in site/, with the API; strict, readable offline
	@NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --quiet && echo 'docs: site/index.html'

.venv-docs/.stamp: requirements-docs.txt
	@$(PYTHON) -m venv .venv-docs
	@.venv-docs/bin/python -m pip --disable-pip-version-check --quiet install --no-deps -r requirements-docs.txt
	@touch $@

dist: setup  ## wheels of all packages in dist/, with configuration, models, templates and C sources
	@tools/dist.sh build

distcheck: dist  ## install those wheels into a new environment outside the checkout and use them (some minutes)
	@PYTHON='$(PYTHON)' tools/dist.sh check

lock:  ## requirements.txt from requirements.in (needs uv)
	@{ echo '# Made from requirements.in by `make lock`.'; \
	   uv pip compile --quiet --universal --python-version 3.10 --no-annotate --no-header requirements.in; } > requirements.new
	@mv requirements.new requirements.txt

system:  ## Debian packages that a window needs (as root)
	@tools/setup.sh system

clean:  ## remove what was built; .venv stays
	@rm -rf build dist site install log .pytest_cache .mypy_cache .ruff_cache .hypothesis src/*/build
	@find src tests launch -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean  ## clean, and .venv too
	@rm -rf .venv .venv-docs src/*/*.egg-info
