# Two commands do everything on a fresh Debian or Ubuntu with Rust: `make demo` and `make test`.
# They install what they need with apt when run as root, and print the exact command otherwise.

WEIGH := target/release/weigh

.PHONY: demo test bench build lint setup setup-demo setup-bench screenshots install clean

demo: setup-demo build     ## weigh a durability setting on a private PostgreSQL (about two minutes)
	$(WEIGH) run postgres/durability

test: setup lint           ## lints, then every test, against real servers
	scripts/test

bench: setup-bench         ## our clients beside the best-known tools, the engine alone, the statistics: ratios, not times
	cargo bench --workspace

build:
	cargo build --release

lint:
	cargo fmt --all --check
	cargo clippy --release --workspace --all-targets -- -D warnings

setup:                     ## the servers and tools that tests and experiments need
	scripts/setup

setup-demo:
	scripts/setup demo

setup-bench:
	scripts/setup bench

screenshots: setup build   ## the pictures and outputs of README and docs, from real runs (about five minutes)
	scripts/screenshots

install: build             ## put `weigh` into ~/.cargo/bin
	cargo install --path crates/weigh

clean:
	cargo clean
