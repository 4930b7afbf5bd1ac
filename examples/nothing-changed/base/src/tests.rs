use super::*;

#[test]
fn divides_both() {
    assert_eq!(greatest_common_divisor(1071, 462), 21);
}
