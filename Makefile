# numapin. Start with `make run`, then `make test`.

PYTHON ?= python3
BIN := .venv/bin
ENGINE ?= podman
IMAGE ?= numapin:latest

export PYTHON

.PHONY: help run test lab proof engine lint bench image setup clean

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /\1|/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "make %-6s %s\n", $$1, $$2}'

run: setup ## the main job for real: bind a small HTTP server on this machine, and ask it
	@$(BIN)/python tools/demo.py

test: setup lint ## every test that this machine can run, the quick ones first
	@tools/setup tests || [ -z "$$CI" ]  # by hand, the tests that lack their tools say so and are skipped
	$(BIN)/pytest -n auto --ignore tests/containers --ignore tests/lab
	$(BIN)/pytest tests/containers
	@tools/lab || [ -z "$$CI" ]
	$(BIN)/pytest tests/lab

lab: setup ## the emulated computers alone: kernels with several NUMA nodes, under QEMU
	@tools/setup tests
	@tools/lab
	$(BIN)/pytest tests/lab

proof: setup ## before and after: a server misplaced, then aligned, on an emulated computer with two nodes
	@tools/setup tests
	@tools/lab
	@$(BIN)/python tools/before_after.py

engine: setup ## the real vLLM, on the CPU, behind the entry point: where its threads are (3.4 GB the first time)
	@tools/engine
	@$(BIN)/python tools/engine_proof.py

lint: setup ## ruff and mypy
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

bench: setup ## start-up time against bare Python, what the keeper costs, our bench beside others
	@$(BIN)/python tools/bench.py
	@$(BIN)/python tools/bench_keeper.py
	@$(BIN)/python tools/bench_memory.py

image: ## IMAGE made of BASE_IMAGE by ENGINE (default: podman, and the vLLM image that the Dockerfile names)
	$(ENGINE) build $(foreach name,BASE_IMAGE BUILD_IMAGE,$(if $($(name)),--build-arg $(name)=$($(name)))) --tag $(IMAGE) .

setup: ## what is missing: compiler, libnuma, .venv
	@tools/setup

clean: ## everything that setup and the tools made here
	rm -rf .venv build dist *.egg-info numapin/_native*.so numapin/_bench*.so .mypy_cache .pytest_cache .ruff_cache .hypothesis
