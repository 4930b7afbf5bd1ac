if [ "$(cargo perfunit --version 2> /dev/null)" = "cargo perfunit $PERFUNIT_VERSION" ]; then
  exit 0
elif command -v cargo-binstall > /dev/null; then
  cargo binstall --no-confirm --force "cargo-perfunit@$PERFUNIT_VERSION" && exit 0
fi
cargo install --locked --force "cargo-perfunit@$PERFUNIT_VERSION" ||
  # Until this version is published.
  cargo install --locked --force --git https://github.com/cargo-perfunit/cargo-perfunit cargo-perfunit
