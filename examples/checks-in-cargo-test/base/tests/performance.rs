fn main() {
    perfunit_runtime::harness::main()
}
