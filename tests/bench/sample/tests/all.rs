use sample::shapes::{clamp_all, guarded, total, Circle, Shape, Square, Triangle};
use sample::state::{deeper, operate, primes, remember};
use std::hint::black_box;

#[test]
fn table_of_the_build_script() {
    assert!(sample::square(black_box(5)) > 0);
}

#[test]
fn generic_of_the_dependency() {
    assert!(sample::longest(black_box(&["a", "bcd"])) > 0);
}

#[test]
fn function_of_the_dependency() {
    assert!(sample::melody(black_box(&[1, 5, 9])) > 0);
}

#[test]
fn generated_by_a_macro() {
    assert!(sample::twos(black_box(20)) > 0);
}

#[test]
fn generated_by_the_same_macro() {
    assert!(sample::threes(black_box(20)) > 0);
}

#[test]
fn through_a_symbol() {
    assert!(sample::checksum(black_box(9)) > 0);
}

#[test]
fn through_vtables() {
    let shapes: Vec<Box<dyn Shape>> = vec![Box::new(Square(black_box(3))), Box::new(Triangle(4, 5))];
    assert!(total(&shapes) > 0);
}

#[test]
fn without_a_vtable() {
    assert!(Circle(black_box(7)).area() > 0);
}

#[test]
fn drops() {
    assert!(guarded(black_box(4)) > 0);
}

#[test]
fn generic_helper() {
    let mut values = black_box([1.5, -3.0, 99.0]);
    clamp_all(&mut values, 0.0, 10.0);
    assert!(values[0] > 1.0);
}

#[test]
fn global_state() {
    assert!(remember(black_box(4)) > 0);
}

#[test]
fn thread_local_state() {
    assert!(deeper() > 0);
}

#[test]
fn first_use() {
    assert!(primes().len() > 3);
}

#[test]
fn table_of_functions() {
    assert!(operate(black_box(1), 5) < 100);
}

#[test]
fn in_a_thread() {
    let handle = std::thread::spawn(|| sample::square(black_box(2)));
    assert!(handle.join().unwrap() > 0);
}

#[test]
fn nothing_of_the_crate() {
    assert!(black_box(1) > 0);
}
