# Vedette. `make` alone lists the targets.

BIN     := bin/vedette
TOOLS   := bin/tools
GOLANGCI_VERSION := 2.15.0

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT  := $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
# The commit's own time, so that the same commit builds to the same bytes.
DATE    := $(shell git log -1 --format=%cI 2>/dev/null || echo unknown)
LDFLAGS := -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT) -X main.date=$(DATE)

# Compilers that collect less often take a fifth less of the processor's time, and more memory.
COMPILER_GOGC ?= 400

# Concurrent packages: their tests run a second time under the race detector.
RACE ?= ./internal/infra/netguard/... ./internal/core/audit/... ./internal/infra/blob/... ./internal/infra/queue/... ./internal/infra/list/... ./internal/core/hook/... \
        ./internal/engine ./internal/engine/flow ./internal/engine/board ./internal/engine/tasks ./internal/engine/sender ./internal/engine/templates ./internal/engine/proto/... ./internal/engine/workflow ./internal/discover/... ./internal/agent/... ./internal/core/model/... ./internal/core/run/... \
        ./internal/core/asset/... ./internal/core/finding/... ./internal/core/scan/... ./internal/core/enumeration/... ./internal/core/extension/... ./internal/core/task/... ./internal/jobs/...
# Long single-threaded tests, which the race detector would only slow down, and those that measure memory, of which the
# detector needs several times as much.
UNWATCHED := ^(TestLongInstructions|TestTheLibraryNamesTheSame|TestHostileTemplates|TestHostileServers|TestHostileProtocols|TestMemoryIsFlatInTargets|TestListsAreTrue|TestLargeSorts|TestErrorsNameTheLine|TestNoPatternMatchesWithoutItsLiterals|TestBombs)$$
# Flags of `make test` for go test, such as TESTFLAGS=-short or TESTFLAGS='-run Webhook'.
TESTFLAGS ?=
FUZZTIME  ?= 10s
# Of `make lab-web` and `make lab-debian`, such as LABFLAGS='-stacks php -testers vedette -prove'.
LABFLAGS  ?=
# Of `make chaos`. The test prints its seed.
ROUNDS    ?= 100
SEED      ?=
BENCH     ?= .
# What `make seed` fills, with how many rows.
DATABASE  ?= sqlite:data/vedette.db
FINDINGS  ?= 1000000
SCANS     ?= 10000
ASSETS    ?= 0

# Debian installs nginx and others outside an ordinary user's PATH.
export PATH := $(PATH):/usr/sbin:/sbin

.DEFAULT_GOAL := help
.PHONY: help build web web-check web-test dist dist-check run demo picture test race fuzz kill chaos bench lab lab-web lab-debian seed lint fmt fmt-check vet architecture gen drift oracle oracle-services bench-oracle check clean

help: ## list the targets
	@echo "Vedette: make TARGET"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/vedette
	@scripts/need go
	CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/vedette

web: ## build the console from web/ into internal/api/console/dist, which is committed (needs Node 20)
	@scripts/need node npm
	@scripts/web build

web-check: # the committed build is what web/ builds
	@scripts/need --wish node npm
	@scripts/web check

web-test: build ## drive the console in a browser, screen by screen, on both databases (needs Node 20 and Chromium; DATABASE=sqlite: on one)
	@scripts/need --wish node npm chromium postgres
	@scripts/web test

# Seconds of the commit, the time of all files of a release.
EPOCH := $(shell git log -1 --format=%ct 2>/dev/null || echo 0)

dist: ## build the release into dist: static binaries, packages, SBOMs and checksums, signed with the SSH key SIGN_KEY
	@scripts/need go
	scripts/dist '$(VERSION)' '$(LDFLAGS)' '$(EPOCH)' dist $(ARCHS)
	$(if $(SIGN_KEY),scripts/sign '$(SIGN_KEY)' dist)

dist-check: dist ## build the release again from a copy elsewhere; its bytes must be the same
	@copy=$$(mktemp -d) && trap 'rm -rf "$$copy"' EXIT && git ls-files -z | tar --null -T - -cf - | tar -C "$$copy" -xf - && \
	cd "$$copy" && scripts/dist '$(VERSION)' '$(LDFLAGS)' '$(EPOCH)' dist $(ARCHS) && \
	diff dist/SHA256SUMS '$(CURDIR)/dist/SHA256SUMS' && echo "the release is reproducible"

run: build ## build and serve on 127.0.0.1:8080, data in ./data
	$(BIN) serve --listen 127.0.0.1:8080 --data-dir data

picture: build ## draw docs/demo.svg, the README's picture, from a real run of the demo
	go run ./scripts/picture -out docs/demo.svg $(BIN) demo --once

demo: build ## one task against a deliberately weak local site, under a minute
	$(BIN) demo --once

# Compiled as `make dist` compiles, and before the tests begin: some of them build the binary or read what the compiler
# writes, and would compile the same packages again at the same time. `make vet` vets.
test: ## run every test (as root on Debian, first installs what is missing)
	@scripts/need go postgres nginx
	@scripts/need --wish poppler libreoffice redis openssh apache2 chromium postfix curl jq openssl rsync mariadbd smbd krb5kdc slapd ip bwrap socat python3 node
	@GOGC=$(COMPILER_GOGC) CGO_ENABLED=0 go build -trimpath -buildvcs=false ./...
	@CGO_ENABLED=0 GOFLAGS='-trimpath $(GOFLAGS)' scripts/test -vet=off $(TESTFLAGS) ./...

# SQLite (in Go) is excluded: it shares no memory between threads, and the detector makes it five times slower. What the
# detector sees does not depend on what a property draws: a fifth of the rounds is enough, and `make test` has them all.
race: ## run the tests of the concurrent packages under the race detector
	@scripts/need go postgres nginx cc
	@packages=$$(scripts/concurrent $(RACE)) && CGO_ENABLED=1 RAPID_CHECKS=20 scripts/test -race -vet=off \
		-gcflags='modernc.org/...=-race=false' -skip '$(UNWATCHED)' $(TESTFLAGS) $$packages

# Fuzzing is random and takes as long as it gets, so it is not part of check. Inputs that it found before
# are in testdata/fuzz, and `make test` runs them.
fuzz: ## run every Fuzz target for FUZZTIME each (10s)
	@scripts/need go
	@scripts/fuzz $(FUZZTIME)

kill: ## kill an agent's run between any two journal entries, and an enumeration at each step (some minutes)
	@scripts/need go postgres nginx
	@scripts/need --wish redis openssh apache2 chromium postfix
	VEDETTE_KILL_EVERYWHERE=1 go test -count=1 -timeout 60m -v -run 'TestKilledBetweenAnyTwoEntries|TestEnumerationFindsTheLab' ./e2e

chaos: ## kill processes for ROUNDS rounds (100), with a hostile team beside an honest one; SEED repeats those of a run
	@scripts/need go postgres
	VEDETTE_CHAOS_ROUNDS=$(ROUNDS) VEDETTE_CHAOS_SEED=$(SEED) go test -count=1 -timeout 0 -v -run '^TestChaos$$' ./e2e

bench: ## run the benchmarks; BENCH=regexp selects some
	@scripts/need go postgres nginx
	@scripts/need --wish nmap dnsperf nsd
	go test -run '^$$' -bench '$(BENCH)' -benchmem -timeout 0 ./...

lab: ## run a task on each of ten weak applications and a clean one: recall, precision, cost (docs/contribute/lab.md)
	@scripts/need go
	@mkdir -p bin
	@cd e2e && LAB=$(CURDIR)/bin/lab.json go test -count=1 -timeout 0 -run '^TestLabReport$$'

# The stacks are not needed by the tests: what cannot be installed is left out, with a message.
lab-web: build ## test the web lab's real stacks with `vedette webtest`, and with wapiti: recall, false findings, cost
	@scripts/need --wish apache2 libphp mariadbd postgres tomcat node python3-venv chromium
	@go run ./scripts/labweb -vedette $(CURDIR)/$(BIN) -python bin/labweb/bin -out bin/labweb-results $(LABFLAGS)

lab-debian: build ## test ten web applications of Debian with `vedette webtest`, and what that changes in them (as root on Debian 12)
	@lab/debian/run $(LABFLAGS)

seed: ## fill DATABASE with FINDINGS findings in SCANS scans and ASSETS assets, for seed@example.com
	@scripts/need go
	go run ./scripts/seed --database '$(DATABASE)' --findings $(FINDINGS) --scans $(SCANS) --assets $(ASSETS)

lint: $(TOOLS)/golangci-lint-$(GOLANGCI_VERSION) ## run the linters of .golangci.yml
	$< run --allow-parallel-runners ./...

$(TOOLS)/golangci-lint-$(GOLANGCI_VERSION):
	@scripts/need go
	@echo "building golangci-lint $(GOLANGCI_VERSION), once (some minutes)"
	GOGC=$(COMPILER_GOGC) GOBIN=$(CURDIR)/$(TOOLS) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v$(GOLANGCI_VERSION)
	mv $(TOOLS)/golangci-lint $@

fmt: ## format the code
	gofmt -s -w $$(git ls-files -co --exclude-standard '*.go')

fmt-check:
	@scripts/need go
	@unformatted=$$(gofmt -s -l $$(git ls-files -co --exclude-standard '*.go')); \
	if [ -n "$$unformatted" ]; then echo "not formatted (make fmt):"; echo "$$unformatted"; exit 1; fi

# Checks compile all libraries with the flags of `make test`; with others they would be compiled once more.
vet lint architecture vulncheck: export CGO_ENABLED := 0
vet lint architecture vulncheck: export GOFLAGS := -trimpath $(GOFLAGS)

vet:
	go vet ./...

architecture: ## check imports and sizes against the tables of ARCHITECTURE.md
	go test -count=1 -run '^TestArchitecture' .

gen: build ## write api/*.openapi.yaml and the pages that are made from the code
	mkdir -p api
	$(BIN) openapi agent > api/agent.openapi.yaml
	$(BIN) openapi platform > api/platform.openapi.yaml
	CGO_ENABLED=0 go test -trimpath -vet=off ./internal/app -run TestConfigurationPage -update

drift: build web-check
	@go mod tidy -diff
	@for surface in agent platform; do \
		$(BIN) openapi $$surface | diff -u api/$$surface.openapi.yaml - || \
		{ echo "api/$$surface.openapi.yaml differs from the code (run make gen)"; exit 1; }; \
	done

vulncheck: ## look for known vulnerabilities in the libraries (needs their database; VULNDB names a copy)
	@scripts/need go
	@scripts/vulncheck $(VULNDB)

oracle: ## compare findings with nuclei's, template by template (see oracle/README.md)
	@scripts/need go
	@oracle/run census || true # a wrong template is named there
	@oracle/run agree

oracle-services: ## compare findings of other protocols with nuclei's, on real servers (as root)
	@scripts/need go openssl nginx
	@oracle/run services

bench-oracle: ## compare requests, CPU, memory and findings with nuclei and ffuf
	@scripts/need go nginx ffuf
	@oracle/run bench

# lint has the analyzers of vet, and test the test of architecture.
check: fmt-check test race drift web-test lint vulncheck ## all that CI runs

clean: ## remove build results (not ./data)
	rm -rf bin
