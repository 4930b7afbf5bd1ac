use super::*;

const WORDS: [&str; 8] = ["fog", "comes", "on", "little", "cat", "feet", "over", "harbor"];

#[test]
fn case_does_not_matter() {
    assert_eq!(checksum(&WORDS), checksum(&["FOG", "COMES", "ON", "Little", "Cat", "FEET", "OVER", "Harbor"]));
}

#[test]
fn order_matters() {
    assert_ne!(checksum(&WORDS), checksum(&["city", "fog"]));
}
