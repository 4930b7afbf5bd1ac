use super::*;

#[test]
fn adds_the_tax() {
    assert_eq!(with_tax(1000, "DE"), 1190);
    assert_eq!(with_tax(1000, "SE"), 1250);
    assert_eq!(with_tax(1000, "XX"), 1000);
}
