# Two commands do all the set-up: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= auto
OP_SAMPLES ?= 2
PYTEST := $(BIN)/python -m pytest -q compat_tests -n $(WORKERS) $(PYTEST_ARGS)

# The tests compare numbers, not speed: one thread each is quicker on few cores.
export OMP_NUM_THREADS ?= 1

.PHONY: demo test bench lint clean

demo: $(VENV)/examples.stamp
	$(BIN)/python -m torchish examples/oscillator.py --plot oscillator.png

# With PyTorch in the environment the same tests first prove themselves on it, and its op_db is compared as well.
test: $(VENV)/test.stamp
	@if $(BIN)/python -c "import torch" 2>/dev/null; then \
		echo "== the tests on PyTorch itself"; $(PYTEST) --backend torch || exit 1; \
		echo "== the tests on torchish"; $(PYTEST) --op-samples $(OP_SAMPLES); \
	else $(PYTEST); fi

bench: $(VENV)/test.stamp
	$(BIN)/python benchmarks/run.py $(BENCH_ARGS)

lint: $(VENV)/test.stamp
	$(BIN)/ruff check .
	$(BIN)/lint-imports

clean:
	rm -rf $(VENV)

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# A stamp says which extra is installed, and goes stale with pyproject.toml.
$(VENV)/%.stamp: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install -q -e '.[$*]'
	touch $@
