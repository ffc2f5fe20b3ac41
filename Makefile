# Everything is a target here; `make help` lists them. Downloads and builds go to one cache outside the checkout.
SHELL := /bin/bash
.ONESHELL:
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

export FAIRTRIAL_CACHE ?= $(HOME)/.cache/fairtrial
export UV_PYTHON_DOWNLOADS := never
export UV_CACHE_DIR := $(FAIRTRIAL_CACHE)/uv-cache
UV_VERSION := 0.13.9
UV := $(FAIRTRIAL_CACHE)/uv-$(UV_VERSION)/bin/uv
RUN := $(UV) run --frozen --quiet
SOURCES := src operator/src gateway/src runner_image/src evaluator_image/src analysis/src

.PHONY: help setup check generate test test-slow test-unit test-integration test-e2e up down demo try images prune bench

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

$(UV):
	@echo "  install uv $(UV_VERSION) into the cache" >&2
	python3 -m venv --help >/dev/null 2>&1 && python3 -c 'import ensurepip' 2>/dev/null \
	  || (apt-get update -qq && apt-get install -y -qq --no-install-recommends python3-venv)
	rm -rf $(FAIRTRIAL_CACHE)/uv-$(UV_VERSION)
	python3 -m venv $(FAIRTRIAL_CACHE)/uv-$(UV_VERSION)
	$(FAIRTRIAL_CACHE)/uv-$(UV_VERSION)/bin/pip install --quiet --no-cache-dir --disable-pip-version-check uv==$(UV_VERSION)

setup: $(UV) ## make the development environment in .venv
	@$(UV) sync --frozen --quiet

check: setup ## format, lint, types, layers, generated files
	$(RUN) ruff format --check .
	$(RUN) ruff check .
	$(RUN) mypy $(SOURCES) local_cluster examples/demo
	$(RUN) lint-imports
	$(RUN) python -m fairtrial.generate --check

generate: setup ## CRDs, schemas and the chart's copy of them, from the models
	$(RUN) python -m fairtrial.generate
	$(RUN) ruff format --quiet . && $(RUN) ruff check --fix --quiet .

test: setup ## unit, integration (real API server, real S3) and end-to-end (real pods) tests; those that take minutes each: test-slow
	$(RUN) python -m local_cluster up
	$(RUN) pytest tests

test-unit: setup ## no network, no cluster, under a minute
	$(RUN) pytest tests/unit -n auto --dist worksteal  # neighbours stay together: what a file makes once is made once

test-integration: setup ## against the local cluster's API server and S3
	$(RUN) python -m local_cluster up
	$(RUN) pytest tests/integration

test-e2e: setup ## real pods on the local cluster
	$(RUN) python -m local_cluster up
	$(RUN) pytest tests/e2e

test-slow: setup ## what takes minutes each: a cohort of 100 runs with faults, Kueue, a second S3 server
	$(RUN) python -m local_cluster up
	$(RUN) pytest tests -m slow --timeout=3600

up: setup ## start the local cluster and the S3 server
	$(RUN) python -m local_cluster up

down: setup ## stop exactly what `up` started
	$(RUN) python -m local_cluster down

images: setup ## build the images and print their digests
	$(RUN) python -m local_cluster images

prune: setup ## remove from the cache what this checkout no longer describes; everything else stays
	$(RUN) python -m local_cluster prune

demo: setup ## example tasks and runs on a real cluster, from nothing to records (CONTEXT=… uses yours; AGENT=pi: a real agent; COHORT=paired: a cohort, to its verdict)
	$(RUN) python -m examples.demo $(if $(CONTEXT),--context $(CONTEXT)) $(if $(VALUES),--values $(VALUES)) $(if $(AGENT),--agent $(AGENT)) $(if $(COHORT),--cohort $(COHORT))

try: setup ## a first taste without a cluster: not isolated, not evidence
	$(RUN) python -m examples.demo --try

bench: setup ## measured claims, with ratios, into benchmarks/results
	$(RUN) python -m local_cluster up
	$(RUN) python -m benchmarks
