# muse: see README.md. All targets work on a clean clone with Go, cargo, python3
# and the usual tools; `deps` builds the native parts once and caches them.
SHELL      := /bin/bash
GO         ?= go
VERSION    ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS    := -s -w -X main.version=$(VERSION)
FUZZTIME   ?= 20s
# The race detector and the native tests' "skip is a failure" belong to CI; both
# can be asked for by hand: make test RACE=-race REQUIRE_NATIVE=1.
RACE       ?= $(if $(CI),-race,)
TESTFLAGS  ?= -shuffle=on

export CGO_ENABLED := 1

.PHONY: all deps build viewer demo test test-fast test-native check bench fuzz clean

all: build

deps: ## native libraries and MiniLM into .deps (idempotent)
	@bash scripts/deps.sh

build: deps ## bin/muse with the native parts
	@mkdir -p bin
	$(GO) build -tags native -trimpath -ldflags '$(LDFLAGS)' -o bin/muse ./cmd/muse

viewer: ## bin/muse-viewer (the window) and bin/viewer-web (the browser's); no native parts
	@bash scripts/viewer.sh '$(LDFLAGS)'

demo: build ## the whole loop on a few tasks, in minutes
	./bin/muse demo

test: deps check test-fast test-native ## everything CI runs

check: ## formatting, vet with and without the tag
	@bad="$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go'))"; \
	  if [ -n "$$bad" ]; then echo "gofmt: run gofmt -w on:" >&2; echo "$$bad" >&2; exit 1; fi
	$(GO) vet ./...
	$(GO) vet -tags native ./...

test-fast: ## pure Go, no native library, no network
	$(GO) test $(RACE) $(TESTFLAGS) ./...

test-native: deps ## packages with native code; a skipped native test is a failure
	REQUIRE_NATIVE=1 $(GO) test -tags native $(TESTFLAGS) \
	  $$(bash scripts/native-packages.sh)

bench: build ## environment and decision benchmarks as JSON
	./bin/muse bench textworld --json
	./bin/muse bench decision --json

fuzz: ## every fuzz target for FUZZTIME
	@bash scripts/fuzz.sh $(FUZZTIME)

clean:
	rm -rf bin
