use super::*;

fn numbers() -> Vec<u32> {
    (0..3000).map(|number| number * 7919 % 1500).collect()
}

#[test]
fn keeps_the_first_of_each() {
    assert_eq!(unique(&numbers()).len(), 1500);
}

#[test]
fn adds_up() {
    assert_eq!(total(&numbers()), 2 * (0..1500).sum::<u64>());
}
