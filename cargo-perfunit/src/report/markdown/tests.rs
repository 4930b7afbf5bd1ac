use super::*;
use crate::report::samples::full;

fn told(run: &Run) -> String {
    render(run, &Rendering::default())
}

#[test]
fn a_comment_reads_like_this() {
    let expected = "\
<!-- cargo-perfunit -->
### 2 tests got slower, 1 test got faster

`main` (`3f2a91c`) → `working tree` (`8d01e7b` with changes): 7 measured of 412 tests.

| slower | base | head | change | interval | to blame |
|---|--:|--:|--:|---|---|
| `mycrate parser::tests::long` | 1.21 µs | 1.58 µs | **+30.6 %** | +29.6 % to +31.6 % |  |
| `mycrate lexer::tests::tiny` | 8.20 ns | 9.40 ns | **+14.6 %** | +13.6 % to +15.6 % |  |

| faster | base | head | change | interval | to blame |
|---|--:|--:|--:|---|---|
| `mycrate cache::tests::first` | 2.05 ms | 1.56 ms | **-24.0 %** | -25.0 % to -23.0 % (first call) |  |

<details><summary>1 inconclusive</summary>

| inconclusive | base | head | change | interval | to blame |
|---|--:|--:|--:|---|---|
| `mycrate net::tests::roundtrip` | 48.3 µs | 49.8 µs | **+3.1 %** | +2.1 % to +4.1 % | `too noisy to tell within its budget (--per-test-budget)` |

</details>

<details><summary>Details and how to repeat it</summary>
";
    let text = told(&full());
    assert!(text.starts_with(expected), "{text}");
    let command = "cargo perfunit diff 3f2a91c0d4e5f60718293a4b5c6d7e8f90a1b2c3 --threshold 10%";
    assert!(text.ends_with(&format!("\n```sh\n{command}\n```\n\n</details>\n")), "{text}");
    assert!(text.lines().count() <= 50, "{text}");
}
