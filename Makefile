# The developers' commands. What they need is in README.md.

CARGO ?= cargo

.DEFAULT_GOAL := all

.PHONY: all
all: build ## The same as build.

.PHONY: build
build: ## Build every program of the workspace.
	$(CARGO) build --workspace

.PHONY: test
test: ## Everything that must hold before a change is merged; it needs no network once all is built.
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	$(CARGO) xtask tools
	$(CARGO) test --workspace
	$(CARGO) xtask generate --check
	$(MAKE) deny

.PHONY: test-load
test-load: ## What takes minutes: the webhook server under heavy load and ten thousand malformed requests.
	$(CARGO) test --release --package task-conversion --test server -- --ignored --nocapture --test-threads=1

.PHONY: bench
bench: ## Measure the conversion of one object and of 500, beside serde_json::Value and memcpy.
	$(CARGO) bench -p task-conversion --bench convert

.PHONY: test-restarts
test-restarts: ## What takes minutes: 50 restarts of the webhook server, and 20 rotations of its certificates, while clients read and write Tasks.
	TASK_RESTARTS=50 $(CARGO) test --package task-tests --test never_a_failed_request -- --nocapture
	ROTATIONS=20 $(CARGO) test --package task-tests --test certificates -- --nocapture rotate

.PHONY: test-upgrade
test-upgrade: ## What takes minutes: a live cluster with 2,000 Tasks goes from v1alpha1 to v1, back from the middle, and forward again.
	TASK_UPGRADE=2000 $(CARGO) test --package task-tests --test upgrade -- --nocapture --test-threads=1

.PHONY: bench-migrate
bench-migrate: ## Measure the rate and the memory of kubectl task migrate with 10,000 Tasks.
	TASK_MIGRATE=10000 $(CARGO) test --release --package kubectl-task --test cluster many_tasks -- --nocapture

.PHONY: test-kills
test-kills: export KILLS ?= 500
test-kills: ## What takes long: the controller is killed KILLS times while operations start and end; one operation for each Task.
	$(CARGO) test --package task-tests --test operation_kills -- --nocapture

.PHONY: test-messages
test-messages: export MESSAGES ?= 10000
test-messages: ## What takes long: MESSAGES messages of a queue for as many Tasks, every tenth twice; each is applied once.
	$(CARGO) test --package task-tests --test operations many_messages -- --nocapture

.PHONY: test-faults
test-faults: ## What takes a quarter of an hour: replicas of the controller that are killed, cut off and robbed of their Leases while Tasks change.
	TASK_FAULTS=10 $(CARGO) test --package task-tests --test replicas -- --nocapture

.PHONY: test-at-rest
test-at-rest: ## What takes minutes: 1,000 Tasks at rest for 5 minutes, in which the controller must not ask the API server for anything.
	TASKS_AT_REST=1000 SECONDS_AT_REST=300 $(CARGO) test --package task-tests --test first_light at_rest -- --nocapture

.PHONY: test-refused
test-refused: ## What takes minutes: 1,000 Tasks whose children the API server refuses, beside one whose children it does not.
	TASKS_REFUSED=1000 $(CARGO) test --package task-tests --test controller refused -- --nocapture

.PHONY: bench-server
bench-server: ## Measure the webhook server over HTTPS, beside the server at PEER_URL if that is set.
	$(CARGO) bench --package task-conversion --bench server

.PHONY: bench-controller
bench-controller: ## Measure the controller with 1,000 Tasks created at once, and at rest, beside the operator at PEER_BIN if that is set.
	$(CARGO) bench --package task-tests --bench controller

CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/task-operator
CARGO_FUZZ_VERSION := 0.13.2
CARGO_FUZZ := $(CACHE)/cargo-fuzz-$(CARGO_FUZZ_VERSION)/bin/cargo-fuzz
FUZZ_SECONDS ?= 300

$(CARGO_FUZZ):
	$(CARGO) install --root $(CARGO_FUZZ:/bin/cargo-fuzz=) --version $(CARGO_FUZZ_VERSION) --locked cargo-fuzz

CARGO_DENY_VERSION := 0.20.2
CARGO_DENY := $(CACHE)/cargo-deny-$(CARGO_DENY_VERSION)/bin/cargo-deny
CARGO_AUDITABLE_VERSION := 0.7.7
CARGO_AUDITABLE := $(CACHE)/cargo-auditable-$(CARGO_AUDITABLE_VERSION)/bin/cargo-auditable
CARGO_CYCLONEDX_VERSION := 0.5.9
CARGO_CYCLONEDX := $(CACHE)/cargo-cyclonedx-$(CARGO_CYCLONEDX_VERSION)/bin/cargo-cyclonedx

$(CARGO_DENY):
	$(CARGO) install --root $(CARGO_DENY:/bin/cargo-deny=) --version $(CARGO_DENY_VERSION) --locked cargo-deny

$(CARGO_AUDITABLE):
	$(CARGO) install --root $(CARGO_AUDITABLE:/bin/cargo-auditable=) --version $(CARGO_AUDITABLE_VERSION) --locked cargo-auditable

$(CARGO_CYCLONEDX):
	$(CARGO) install --root $(CARGO_CYCLONEDX:/bin/cargo-cyclonedx=) --version $(CARGO_CYCLONEDX_VERSION) --locked cargo-cyclonedx

# `make deny CHECKS=advisories` asks the RustSec database, for which it takes GitHub.
CHECKS ?= licenses bans sources

.PHONY: deny
deny: $(CARGO_DENY) ## Check the licences and the origin of all dependencies.
	$(CARGO_DENY) --locked check $(CHECKS)

.PHONY: sbom
sbom: $(CARGO_CYCLONEDX) ## Write a bill of materials (CycloneDX) beside each program's Cargo.toml.
	$(CARGO_CYCLONEDX) cyclonedx --format json --describe binaries --target $(MUSL)

# The code has nothing unsafe for a sanitizer to find.
FUZZ = cd conversion && $(CARGO_FUZZ) fuzz run --sanitizer none $(1) fuzz/found/$(1) fuzz/corpus/$(1) $(2) -- -max_total_time=$(FUZZ_SECONDS) -dict=fuzz/task.dict

.PHONY: fuzz
fuzz: export RUSTUP_TOOLCHAIN = nightly
fuzz: $(CARGO_FUZZ) ## Feed the conversion whatever a fuzzer comes up with, FUZZ_SECONDS for each target.
	mkdir -p conversion/fuzz/found/review conversion/fuzz/found/round_trip
	$(call FUZZ,review,tests/reviews/pass tests/reviews/fail)
	$(call FUZZ,round_trip)

.PHONY: up
up: ## Start a local control plane with the operator in it, or bring it up to date.
	@$(CARGO) xtask up

.PHONY: down
down: ## Stop what `make up` started.
	@$(CARGO) xtask down

.PHONY: generate
generate: ## Write the CustomResourceDefinition and its reference from the API types, and the manifest from the chart.
	$(CARGO) xtask generate

IMG ?= task-operator:0.1.0
ARCH := $(shell uname -m)
MUSL := $(ARCH)-unknown-linux-musl
IMAGE := $(or $(CARGO_TARGET_DIR),target)/image
# Debian's and most others' file of authorities.
AUTHORITIES ?= /etc/ssl/certs/ca-certificates.crt
BUILDER ?= $(if $(shell command -v buildah),buildah,docker)
BUILD_IMAGE = $(if $(filter buildah,$(BUILDER)),buildah build --isolation chroot,$(BUILDER) build)

.PHONY: docker-build
docker-build: $(CARGO_AUDITABLE) ## Build the image IMG, of the three programs, with buildah (which needs no daemon) or else docker.
	CC_$(subst -,_,$(MUSL))=musl-gcc $(CARGO_AUDITABLE) auditable build --release --target $(MUSL) --package task-conversion --package task-controller --package kubectl-task
	mkdir -p $(IMAGE)
	cp $(or $(CARGO_TARGET_DIR),target)/$(MUSL)/release/task-conversion $(or $(CARGO_TARGET_DIR),target)/$(MUSL)/release/task-controller $(or $(CARGO_TARGET_DIR),target)/$(MUSL)/release/kubectl-task $(IMAGE)
	cp $(AUTHORITIES) $(IMAGE)/ca-certificates.crt
	$(BUILD_IMAGE) --tag $(IMG) --file deploy/Containerfile $(IMAGE)

.PHONY: docker-push
docker-push: ## Push the image IMG.
	$(BUILDER) push $(IMG)

KUBECTL ?= kubectl

.PHONY: deploy
deploy: ## Install the operator, as the image IMG, into the cluster that kubectl talks to.
	sed 's|image: task-operator:.*|image: $(IMG)|' deploy/install.yaml | $(KUBECTL) apply --server-side --filename -

# While there are Tasks their webhooks have to be there, too: without them nobody writes one, and none goes.
.PHONY: undeploy
undeploy: ## Delete all Tasks, their definition and the operator from the cluster that kubectl talks to.
	@echo 'This deletes, in this order, in the cluster of the context:'
	@$(KUBECTL) config current-context
	@echo '1. these Tasks, with their Deployments, Services and ConfigMaps:'
	@if $(KUBECTL) get customresourcedefinition tasks.task.example.io >/dev/null 2>&1; then $(KUBECTL) get tasks.v1.task.example.io --all-namespaces; fi
	@echo '2. the CustomResourceDefinition tasks.task.example.io'
	@echo '3. the webhooks, the operator and all else in the namespace task-system'
	@if $(KUBECTL) get customresourcedefinition tasks.task.example.io >/dev/null 2>&1; then \
		$(KUBECTL) delete tasks.v1.task.example.io --all --all-namespaces --timeout 10m; fi
	$(KUBECTL) delete customresourcedefinition tasks.task.example.io --ignore-not-found --timeout 5m
	# It may not have heard yet that the definition is gone.
	$(KUBECTL) delete validatingadmissionpolicybinding task-operator-guard --ignore-not-found
	$(KUBECTL) delete --filename deploy/install.yaml --ignore-not-found --timeout 5m

.PHONY: help
help: ## Tell what the targets do.
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(firstword $(MAKEFILE_LIST))
