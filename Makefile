# The project's tasks. `make demo` and `make test` need Python 3.11 or newer (and Node for its clients); they make .venv.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
MODEL  ?= simulated

.PHONY: demo test test-agents lint picture bench bench-trace nodes typescript clean

$(VENV)/ready: pyproject.toml tools/install-dev
	$(PYTHON) -m venv $(VENV)
	tools/install-dev $(BIN)/python
	touch $@

demo: $(VENV)/ready        ## a real agent recorded, replayed, changed, traced, rewound, kept as a test
	@$(if $(filter local,$(MODEL)),tools/install-local-model $(BIN)/python,true)
	@$(BIN)/rerail demo --model $(MODEL)

.typescript/ready: tools/install-typescript
	tools/install-typescript .typescript

test: lint .typescript/ready ## the suite that CI runs
	$(BIN)/python -m pytest

test-agents: $(VENV)/ready ## real coding agents from their registries, recorded and replayed (minutes)
	tools/install-agents .agents
	RERAIL_AGENTS=.agents $(BIN)/python -m pytest tests/real_agents --timeout 600

lint: $(VENV)/ready        ## ruff, mypy (strict), import-linter
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

typescript: .typescript/ready ## the native TypeScript compiler for the tests, with npm

nodes: $(VENV)/ready       ## Node 20, 22 and 24 for the tests, whatever is on the PATH
	tools/install-nodes $(BIN)/python

picture: $(VENV)/ready     ## docs/nine-in-the-morning.svg, from a session that is really typed
	$(BIN)/python tools/picture

bench: $(VENV)/ready .typescript/ready ## speed and size, side by side with a peer
	$(BIN)/python -m bench

bench-trace: $(VENV)/ready ## what the detectors see in public runs: make bench-trace RERAIL_TRACE_DATA=FOLDER
	@$(BIN)/python -m bench.trace "$(RERAIL_TRACE_DATA)"

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache
