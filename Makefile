# Vedette. `make` alone prints what there is.

BIN     := bin/vedette
TOOLS   := bin/tools
GOLANGCI_VERSION := 2.15.0

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT  := $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
# The commit's own time, so that the same commit builds to the same bytes.
DATE    := $(shell git log -1 --format=%cI 2>/dev/null || echo unknown)
LDFLAGS := -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT) -X main.date=$(DATE)

# Where threads meet: these run a second time under the race detector.
RACE ?= ./internal/infra/netguard/... ./internal/core/audit/... ./internal/infra/blob/... ./internal/infra/queue/... ./internal/core/hook/... \
        ./internal/engine ./internal/engine/flow ./internal/engine/templates ./internal/engine/proto/... ./internal/engine/workflow ./internal/discover/... ./internal/agent/... ./internal/core/model/... \
        ./internal/core/asset/... ./internal/core/finding/... ./internal/core/scan/... ./internal/core/enumeration/... ./internal/core/extension/... ./internal/core/task/... ./internal/jobs/...
# What computes there for long in one thread, and has nothing to be watched.
UNWATCHED := ^(TestLongInstructions|TestTheLibraryNamesTheSame)$$
# What `make test` hands to go test, such as TESTFLAGS=-short or TESTFLAGS='-run Webhook'.
TESTFLAGS ?=
FUZZTIME  ?= 10s
BENCH     ?= .
# What `make seed` fills, and with how much.
DATABASE  ?= sqlite:data/vedette.db
FINDINGS  ?= 1000000
SCANS     ?= 10000
ASSETS    ?= 0

# Debian keeps nginx and others where an ordinary user's PATH does not look.
export PATH := $(PATH):/usr/sbin:/sbin

.DEFAULT_GOAL := help
.PHONY: help build run demo test race fuzz kill bench lab seed lint fmt fmt-check vet architecture gen drift oracle bench-oracle check clean

help: ## print this list
	@echo "Vedette: make TARGET"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/vedette
	@scripts/need go
	CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/vedette

run: build ## build and serve on 127.0.0.1:8080, data in ./data
	$(BIN) serve --listen 127.0.0.1:8080 --data-dir data

demo: build ## watch one task find real weaknesses in a site of its own, under a minute
	$(BIN) demo --once

test: ## run every test (as root on Debian, installs what it needs when missing)
	@scripts/need go postgres nginx
	@scripts/need --wish poppler libreoffice redis openssh apache2 chromium postfix
	@scripts/test $(TESTFLAGS) ./...

# SQLite in Go shares none of our memory between threads, and is five times as slow when it is watched.
race: ## run the tests of the concurrent packages under the race detector
	@scripts/need go postgres nginx cc
	@CGO_ENABLED=1 scripts/test -race -gcflags='modernc.org/...=-race=false' -skip '$(UNWATCHED)' $(TESTFLAGS) $(RACE)

# A search by chance that is the better the longer it takes, so it is no part of check. What it found
# before is in testdata/fuzz, and `make test` runs all of that.
fuzz: ## look for new inputs with every Fuzz target for FUZZTIME each (10s), before a release
	@scripts/need go
	@scripts/fuzz $(FUZZTIME)

kill: ## kill a run of the agent between any two entries of its journal and an enumeration at each step, on both databases (some minutes)
	@scripts/need go postgres nginx
	@scripts/need --wish redis openssh apache2 chromium postfix
	VEDETTE_KILL_EVERYWHERE=1 go test -count=1 -timeout 60m -v -run 'TestKilledBetweenAnyTwoEntries|TestEnumerationFindsTheStreet' ./e2e

bench: ## run the benchmarks; BENCH=regexp picks some
	@scripts/need go postgres nginx
	@scripts/need --wish nmap dnsperf nsd
	go test -run '^$$' -bench '$(BENCH)' -benchmem -timeout 0 ./...

lab: ## a task on each of ten weak applications and a clean one: recall, precision, cost (docs/lab.md)
	@scripts/need go
	@mkdir -p bin
	@cd e2e && LAB=$(CURDIR)/bin/lab.json go test -count=1 -timeout 0 -run '^TestLabReport$$'

seed: ## fill DATABASE with FINDINGS findings in SCANS scans, and ASSETS assets, of seed@example.com
	@scripts/need go
	go run ./scripts/seed --database '$(DATABASE)' --findings $(FINDINGS) --scans $(SCANS) --assets $(ASSETS)

lint: $(TOOLS)/golangci-lint-$(GOLANGCI_VERSION) ## run the linters of .golangci.yml
	$< run --allow-parallel-runners ./...

$(TOOLS)/golangci-lint-$(GOLANGCI_VERSION):
	@scripts/need go
	@echo "building golangci-lint $(GOLANGCI_VERSION), once (some minutes)"
	GOBIN=$(CURDIR)/$(TOOLS) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v$(GOLANGCI_VERSION)
	mv $(TOOLS)/golangci-lint $@

fmt: ## format the code
	gofmt -s -w $$(git ls-files -co --exclude-standard '*.go')

fmt-check:
	@scripts/need go
	@unformatted=$$(gofmt -s -l $$(git ls-files -co --exclude-standard '*.go')); \
	if [ -n "$$unformatted" ]; then echo "not formatted (make fmt):"; echo "$$unformatted"; exit 1; fi

vet:
	go vet ./...

architecture: ## check imports and sizes against the tables of ARCHITECTURE.md
	go test -count=1 -run '^TestArchitecture' .

gen: build ## write api/*.openapi.yaml from the code
	mkdir -p api
	$(BIN) openapi agent > api/agent.openapi.yaml
	$(BIN) openapi platform > api/platform.openapi.yaml

drift: build
	@for surface in agent platform; do \
		$(BIN) openapi $$surface | diff -u api/$$surface.openapi.yaml - || \
		{ echo "api/$$surface.openapi.yaml is not what the code says (make gen)"; exit 1; }; \
	done

oracle: ## compare findings with nuclei's, template by template (see oracle/README.md)
	@scripts/need go
	@oracle/run agree

bench-oracle: ## the same beside nuclei and ffuf: requests, CPU, memory, findings
	@scripts/need go nginx ffuf
	@oracle/run bench

check: fmt-check vet architecture test race drift lint ## all that CI runs

clean: ## remove what was built (not ./data)
	rm -rf bin
