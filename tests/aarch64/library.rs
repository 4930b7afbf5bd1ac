//! The library of the smoke set: one function for each way in which code refers to other code or data.

use std::hint::black_box;
pub trait Shape {
    fn area(&self) -> u64;
}
pub struct Square(pub u64);
pub struct Disc(pub u64);
impl Shape for Square {
    #[inline(never)]
    fn area(&self) -> u64 {
        (0..self.0).fold(0, |sum, one| black_box(sum + one % 7))
    }
}
impl Shape for Disc {
    #[inline(never)]
    fn area(&self) -> u64 {
        (0..self.0).fold(1, |sum, one| black_box(sum ^ one << 3))
    }
}
#[inline(never)]
pub fn largest<T: PartialOrd + Copy>(list: &[T]) -> T {
    let mut best = list[0];
    for one in list {
        if *one > best {
            best = *one
        }
    }
    best
}
static TABLE: [u64; 4] = [11, 22, 33, 44];
#[inline(never)]
pub fn looked_up(at: usize) -> u64 {
    TABLE[at & 3]
}
#[inline(never)]
pub fn mix(seed: u64, rounds: u64) -> u64 {
    (0..rounds).fold(seed, |state, round| black_box(state.rotate_left(5) ^ round))
}
#[inline(never)]
pub fn slow(seed: u64) -> u64 {
    (0..200).fold(seed, |state, round| black_box(state.rotate_left(5) ^ round))
}
#[inline(never)]
pub fn checked(x: u64) -> u64 {
    assert!(x < 1000, "too large");
    mix(x, 50)
}

#[cfg(test)]
mod tests {
    use super::*;
    macro_rules! made { ($($name:ident $number:literal)*) => { $(#[test] fn $name() { assert_ne!(mix(black_box($number), 90), 1); })* } }
    made! { made_0 0 made_1 1 made_2 2 made_3 3 made_4 4 }
    #[test]
    fn by_vtable() {
        let all: Vec<Box<dyn Shape>> = vec![Box::new(Square(99))];
        assert_ne!(black_box(all)[0].area(), 1);
    }
    #[test]
    fn of_discs() {
        let all: Vec<Box<dyn Shape>> = vec![Box::new(Disc(99))];
        assert_ne!(black_box(all)[0].area(), 0);
    }
    #[test]
    fn generic() {
        assert_eq!(largest(black_box(&[1_u32, 5, 2])), 5);
    }
    #[test]
    fn by_table() {
        assert_eq!(looked_up(black_box(2)), 33);
    }
    #[test]
    fn uses_slow() {
        assert_ne!(slow(black_box(3)), 1);
    }
    #[test]
    #[should_panic(expected = "too large")]
    fn panics() {
        checked(black_box(5000));
    }
    #[test]
    fn with_a_result() -> Result<(), String> {
        if checked(black_box(5)) == 1 {
            Err("one".into())
        } else {
            Ok(())
        }
    }
    #[test]
    fn in_threads() {
        let all: Vec<_> = (0..2).map(|at| std::thread::spawn(move || mix(at, 500))).collect();
        for one in all {
            one.join().unwrap();
        }
    }
    #[test]
    fn allocates() {
        let text: String = (0..black_box(40)).map(|at| char::from(b'a' + at % 26)).collect();
        assert_eq!(text.len(), 40);
    }
    #[test]
    fn starts_a_program() {
        assert!(std::process::Command::new("true").status().unwrap().success());
    }
    #[test]
    #[ignore]
    fn is_ignored() {}
    mod deeper {
        #[test]
        fn nested() {
            assert_ne!(crate::mix(std::hint::black_box(8), 70), 1);
        }
    }
}
