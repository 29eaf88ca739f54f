# Both verbs set up .venv from nothing; a second call finds it up to date and goes straight to work.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
# One thread each: two busy PyTorch processes with two threads apiece slow each other down tenfold.
ONE_THREAD := OMP_NUM_THREADS=1 MKL_NUM_THREADS=1

.PHONY: demo test slow lint docs clean

demo: $(READY)
	$(BIN)/loci demo

test: lint
	$(ONE_THREAD) $(BIN)/python -m pytest

slow: $(READY)
	$(ONE_THREAD) $(BIN)/python -m pytest -m slow

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/mypy
	tools/lint_js.sh

docs: $(READY)
	$(BIN)/mkdocs build --quiet
	@echo "The site is in build/docs: open build/docs/index.html."

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[train,data,app,export,docs,dev]'
	touch $(READY)

clean:
	rm -rf .venv build node_modules .pytest_cache .mypy_cache .ruff_cache .hypothesis
