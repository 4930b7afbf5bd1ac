use super::*;

/// Returns `setup` and `call` for each call of the function in a crate of these files, or the reason for none.
fn found(files: &[(&str, &str)], wanted: &str) -> Vec<String> {
    let files: BTreeMap<String, String> =
        files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    let function = find(&files, wanted);
    let features = BTreeSet::new();
    let sources = CrateSources { files: &files, root: "src/lib.rs", name: "sample", features: Some(&features) };
    let (calls, without) = calls(&sources, &[function]);
    let mut found: Vec<String> = calls.iter().map(|call| format!("{} => {}", call.setup, call.call)).collect();
    found.extend(without.iter().map(|(_, reason)| format!("{reason:?}")));
    found
}

#[track_caller]
fn check(files: &[(&str, &str)], wanted: &str, expected: &[&str]) {
    let found = found(files, wanted);
    let text = found.join("\n");
    assert!(expected.iter().all(|expected| found.iter().any(|line| line == expected)), "{text}");
    assert_eq!(expected.is_empty(), found.is_empty(), "{text}");
}

fn find(files: &BTreeMap<String, String>, name: &str) -> Function {
    let marker = format!("fn {name}");
    let (file, line) = files
        .iter()
        .find_map(|(path, text)| {
            let line = text.lines().position(|line| line.contains(&marker))?;
            Some((path.clone(), line + 1))
        })
        .expect("the function is in the files");
    Function { package: "sample".to_owned(), file, line, name: name.to_owned() }
}

#[test]
fn texts_come_from_tests() {
    check(
        &[
            ("src/lib.rs", "pub fn parse(text: &str, strict: bool) -> u8 {\n    0\n}"),
            ("tests/parse.rs", "#[test]\nfn test() { assert_eq!(sample::parse(\"1h 2m\", true), 3); }"),
        ],
        "parse",
        &[
            "{ ((true,), (std::string::String::from(\"1h 2m\").repeat(n / 5 + 1),)) } => super::parse(lent.0.as_str(), input.0)",
        ],
    );
}

const LIST: &str = "pub struct List<T> { items: Vec<T> }
impl<T: Ord> List<T> {
    pub fn new() -> Self { Self { items: Vec::new() } }
    pub fn push(&mut self, item: T) { self.items.push(item) }
    pub fn find(&self, item: &T) -> Option<usize> { None }
}";

#[test]
fn a_receiver_is_made_by_its_constructor_and_filled() {
    let filled = "{ let mut made = <List<u64>>::new(); \
                  for i in 0..n { let _ = (i, <List<u64>>::push(&mut made, ((i % 1000) as u64))); } made }";
    check(
        &[("src/lib.rs", LIST)],
        "find",
        &[&format!("{{ ((), ({filled}, 12345u64)) }} => <List<u64>>::find(&lent.0, &lent.1)")],
    );
}

#[test]
fn bounds_decide_what_a_type_parameter_is() {
    let text = "pub fn all<I: IntoIterator<Item = u8>, F>(items: I, mut keep: F) -> usize
where F: FnMut(&u8) -> bool { 0 }";
    let texts = "std::string::String::from(\"the quick brown fox\").repeat(n / 19 + 1).into_bytes()";
    check(&[("src/lib.rs", text)], "all", &[&format!("{{ (({texts},), ()) }} => super::all(input.0, |_| true)")]);
}

#[test]
fn what_relies_on_its_module_is_reached_through_callers() {
    let text = "pub fn sum(items: &[u64]) -> u64 {
    unchecked(items, items.len())
}
fn unchecked(items: &[u64], count: usize) -> u64 {
    (0..count).map(|at| unsafe { *items.get_unchecked(at) }).sum()
}
fn lonely(at: *const u8) -> bool {
    true
}
unsafe fn raw() {}";
    let items = "std::iter::Iterator::collect::<std::vec::Vec<_>>((0..n).map(|i: usize| ((i % 1000) as u64)))";
    check(&[("src/lib.rs", text)], "unchecked", &[&format!("{{ ((), ({items},)) }} => super::sum(lent.0.as_slice())")]);
    check(&[("src/lib.rs", text)], "lonely", &["ReliesOnInvariants"]);
    check(&[("src/lib.rs", text)], "raw", &["Unsafe"]);
}

#[test]
fn private_fields_are_not_set_beside_unsafe_code() {
    let text = "pub struct Index { at: usize }
impl Index {
    pub fn get(&self) -> u8 { 0 }
}";
    check(&[("src/lib.rs", text)], "get", &["{ ((), (Index { at: (n / 2) },)) } => Index::get(&lent.0)"]);
    let with_unsafe = format!("{text}\npub fn read() -> u8 {{ unsafe {{ *DATA.as_ptr() }} }}");
    check(&[("src/lib.rs", &with_unsafe)], "get", &["NoValue { of: \"&Index\" }"]);
}

#[test]
fn what_only_the_crate_can_call_is_not_called_if_it_leads_to_unsafe_code() {
    let text = "fn at(texts: &[u8], at: usize) -> u8 { unsafe { *texts.get_unchecked(at) } }
fn last(texts: &[u8], length: usize) -> u8 { at(texts, length - 1) }
pub fn first(texts: &[u8]) -> u8 { if texts.is_empty() { 0 } else { last(texts, 1) } }";
    check(
        &[("src/lib.rs", text)],
        "last",
        &[
            "{ ((), (std::string::String::from(\"the quick brown fox\").repeat(n / 19 + 1).into_bytes(),)) } => super::first(lent.0.as_slice())",
            "{ ((), ((0..n).map(|i| (i % 251) as u8).collect::<std::vec::Vec<u8>>(),)) } => super::first(lent.0.as_slice())",
        ],
    );
    let of_hidden = "struct Raw { start: usize }
impl Read for Raw { fn read(&self, at: usize) -> u8 { unsafe { *((self.start + at) as *const u8) } } }
pub trait Read { fn read(&self, at: usize) -> u8; }";
    check(&[("src/lib.rs", of_hidden)], "read", &["ReliesOnInvariants"]);
}

#[test]
fn what_unsafe_code_relies_on_is_not_made_up() {
    let text = |body: &str| {
        format!(
            "pub mod cursor {{
    pub(crate) enum Place {{ At(usize) }}
    impl Place {{ pub(crate) fn next(&self) -> u8 {{ 0 }} }}
}}
fn read(place: &cursor::Place) -> u8 {{ {body} }}"
        )
    };
    check(&[("src/lib.rs", &text("0"))], "next", &["{ ((), (Place::At((n as usize)),)) } => Place::next(&lent.0)"]);
    let of_unsafe = text("match place { cursor::Place::At(at) => unsafe { *DATA.as_ptr().add(*at) } }");
    check(&[("src/lib.rs", &of_unsafe)], "next", &["NoValue { of: \"&Place\" }"]);
}

#[test]
fn what_macros_of_the_crate_write_may_be_unsafe_code() {
    let text = |body: &str| {
        format!(
            "macro_rules! at {{ ($items:expr, $at:expr) => {{ {body} }} }}
macro_rules! first {{ ($items:expr, $count:expr) => {{ at!($items, $count) }} }}
fn head(items: &[u64]) -> u64 {{ first!(items, 1) }}
macro_rules! slots {{ ($name:ident) => {{ fn slot(of: &$name) -> u64 {{ at!(of.items, of.at) }} }} }}
slots!(Place);
pub struct Place {{ at: usize }}
impl Place {{ pub fn next(&self) -> usize {{ 0 }} }}"
        )
    };
    let (safe, not) = (text("$items[$at]"), text("unsafe { *$items.get_unchecked($at) }"));
    let items = "std::iter::Iterator::collect::<std::vec::Vec<_>>((0..n).map(|i: usize| ((i % 1000) as u64)))";
    check(&[("src/lib.rs", &safe)], "head", &[&format!("{{ ((), ({items},)) }} => super::head(lent.0.as_slice())")]);
    check(&[("src/lib.rs", &not)], "head", &["ReliesOnInvariants"]);
    check(&[("src/lib.rs", &safe)], "next", &["{ ((), (Place { at: (n / 2) },)) } => Place::next(&lent.0)"]);
    check(&[("src/lib.rs", &not)], "next", &["NoValue { of: \"&Place\" }"]);
}

#[test]
fn private_fields_are_not_set_that_unsafe_code_elsewhere_relies_on() {
    let text = |body: &str| {
        format!(
            "mod span {{
    #[derive(Clone)]
    pub struct Span {{ start: usize }}
    impl Span {{ pub fn twice(&self) -> usize {{ 0 }} }}
}}
pub use span::Span;
mod text {{
    pub struct Text {{ of: crate::Span }}
    impl Text {{ pub fn read(&self) -> u8 {{ {body} }} }}
}}
pub use text::Text;"
        )
    };
    check(&[("src/lib.rs", &text("0"))], "twice", &["{ ((), (Span { start: (n / 2) },)) } => Span::twice(&lent.0)"]);
    let of_unsafe = text("unsafe { *DATA.as_ptr() }");
    check(&[("src/lib.rs", &of_unsafe)], "twice", &["NoValue { of: \"&Span\" }"]);
}

#[test]
fn formatting_goes_through_a_string() {
    let text = "pub struct Name(pub &'static str);
impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str(self.0) }
}";
    check(
        &[("src/lib.rs", text)],
        "fmt",
        &["{ ((), (Name(\"the quick brown fox\"),)) } => std::format!(\"{}\", &lent.0)"],
    );
}

#[test]
fn a_parser_gets_several_texts() {
    let files = [
        (
            "src/lib.rs",
            "mod time;
pub use time::Time;
pub fn show(time: Time) -> u8 { 0 }",
        ),
        (
            "src/time.rs",
            "pub struct Time(u8);
impl std::str::FromStr for Time {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> { Err(()) }
}",
        ),
        ("tests/it.rs", "fn test() { Time::from_str(\"1h\"); Time::from_str(\"2m\"); }"),
    ];
    let parsed = "[\"1h\", \"2m\"].iter().copied().find_map(|text: &'static str| \
                  <Time as std::str::FromStr>::from_str(text).ok()).unwrap()";
    check(&files, "show", &[&format!("{{ (({parsed},), ()) }} => super::show(input.0)")]);
}

#[test]
fn a_type_of_another_crate_may_have_a_default() {
    let text = "use other::Thing;
pub fn take(thing: &Thing) {}
pub struct Holder { thing: Thing }
impl Holder {
    pub fn with(thing: Thing) -> Self { Self { thing } }
    pub fn get(&self) {}
}
pub fn read(from: *const u8) {}";
    check(&[("src/lib.rs", text)], "take", &["{ ((), (std::default::Default::default(),)) } => super::take(&lent.0)"]);
    let holder = "Holder::with(std::default::Default::default())";
    check(&[("src/lib.rs", text)], "get", &[&format!("{{ ((), ({holder},)) }} => Holder::get(&lent.0)")]);
    check(&[("src/lib.rs", text)], "read", &["NoValue { of: \"a raw pointer\" }"]);
}

#[test]
fn a_type_of_another_crate_is_made_as_the_crate_does() {
    let text = "use other::Thing;
pub type Place<T> = other::Point<T>;
pub fn take(thing: &Thing) {}
pub fn thing(from: u8) -> Thing { todo!() }
pub fn put(place: &Place<u8>) {}
#[test]
fn test() { let place = Place::new(3, 4); }";
    check(&[("src/lib.rs", text)], "take", &["{ ((), (super::thing(b'a'),)) } => super::take(&lent.0)"]);
    check(&[("src/lib.rs", text)], "put", &["{ ((), (::other::Point::new(3 , 4),)) } => super::put(&lent.0)"]);
}

#[test]
fn a_trait_that_leaves_nothing_to_implement_is_implemented() {
    let text = "pub trait Visit { fn enter(&mut self) {} }
pub fn walk<V: Visit>(visit: &mut V) {}
#[cfg(test)]
mod tests { struct Count; impl super::Visit for Count {} }";
    let made = "{ #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)] struct Implementor; \
                impl Visit for Implementor {} Implementor }";
    check(&[("src/lib.rs", text)], "walk", &[&format!("{{ ((), ({made},)) }} => super::walk(&mut lent.0)")]);
}

#[test]
fn lazy_results_are_drained() {
    let text = "pub fn count(to: u8) -> impl Iterator<Item = u8> { 0..to }";
    let items = "std::iter::Iterator::take(super::count(input.0), 4096)";
    let call = format!("std::iter::Iterator::count(std::iter::Iterator::map({items}, std::hint::black_box))");
    check(&[("src/lib.rs", text)], "count", &[&format!("{{ ((b'a',), ()) }} => {call}")]);
}

#[test]
fn a_function_of_a_macro_is_not_in_the_source() {
    let text = "macro_rules! make { () => {
        fn made() {}
    } }";
    check(&[("src/lib.rs", text)], "made", &["NotInSource"]);
}

#[test]
fn closures_stand_where_their_types_are_known() {
    let text = "pub fn each(items: &[u8], keep: &mut dyn FnMut(&u8) -> bool) {}";
    check(
        &[("src/lib.rs", text)],
        "each",
        &["{ ((\"the quick brown fox\".as_bytes(),), ()) } => super::each(input.0, &mut |_| false)"],
    );
}

#[test]
fn fields_that_are_not_compiled_are_not_set() {
    let text = "pub struct Options { pub depth: u8, #[cfg(feature = \"more\")] pub more: u8 }
pub fn run(options: Options) {}";
    check(&[("src/lib.rs", text)], "run", &["{ ((Options { depth: b'a' },), ()) } => super::run(input.0)"]);
}

#[test]
fn implementors_that_a_macro_writes_are_guessed() {
    let text = "pub trait Number {}
impls! { u64 u8 }
pub fn print<N: Number>(number: N) {}";
    check(&[("src/lib.rs", text)], "print", &["{ ((12345u64,), ()) } => super::print(input.0)"]);
}

#[test]
fn an_item_is_named_by_a_path_that_its_module_can_see() {
    let files = [
        ("src/built.rs", "pub const TABLE: [u8; 1] = [0];"),
        ("src/lib.rs", "include!(\"built.rs\");\nmod inner;\nmod user;\npub use inner::deep::Depth as D;"),
        ("src/inner/mod.rs", "pub(crate) mod deep;"),
        ("src/inner/deep.rs", "#[derive(Default)] pub struct Depth { at: u8 }"),
        (
            "src/user.rs",
            "use crate::inner::deep::Depth;\nfn go(depth: &Depth) {}\nmod below { pub fn far(depth: &super::super::D) {} }",
        ),
    ];
    check(&files, "go", &["{ ((), (<Depth as std::default::Default>::default(),)) } => super::go(&lent.0)"]);
    check(&files, "far", &["{ ((), (<crate::D as std::default::Default>::default(),)) } => super::far(&lent.0)"]);
}

#[test]
fn what_is_called_in_a_special_way_is_called_so() {
    let text = "pub struct Count(pub u8);
impl Iterator for Count {
    type Item = u8;
    fn next(&mut self) -> Option<u8> { None }
}
impl Drop for Count {
    fn drop(&mut self) {}
}
pub async fn wait(count: u8) -> u8 { count }
pub fn write(f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { Ok(()) }";
    let next = "{ let mut count = 0usize; while count < 4096 && \
                std::hint::black_box(<Count as std::iter::Iterator>::next(&mut lent.0)).is_some() { count += 1; } count }";
    check(&[("src/lib.rs", text)], "next", &[&format!("{{ ((), (Count(b'a'),)) }} => {next}")]);
    check(&[("src/lib.rs", text)], "drop", &["{ ((Count(b'a'),), ()) } => std::mem::drop(input.0)"]);
    let polled = "{ struct Idle; impl std::task::Wake for Idle { fn wake(self: std::sync::Arc<Self>) {} } \
                  let waker = std::task::Waker::from(std::sync::Arc::new(Idle)); \
                  let mut context = std::task::Context::from_waker(&waker); \
                  let mut future = std::boxed::Box::pin(super::wait(input.0)); \
                  loop { if let std::task::Poll::Ready(made) = \
                  std::future::Future::poll(future.as_mut(), &mut context) { break made; } } }";
    check(&[("src/lib.rs", text)], "wait", &[&format!("{{ ((b'a',), ()) }} => {polled}")]);
    let shown = "{ struct Shown<F>(std::cell::Cell<std::option::Option<F>>); \
                 impl<F: FnOnce(&mut std::fmt::Formatter<'_>)> std::fmt::Display for Shown<F> { \
                 fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { \
                 if let std::option::Option::Some(call) = self.0.take() { call(formatter); } std::result::Result::Ok(()) } } \
                 let shown = Shown(std::cell::Cell::new(std::option::Option::Some(|formatter: &mut std::fmt::Formatter<'_>| { \
                 std::hint::black_box(super::write(formatter)); }))); std::format!(\"{}\", shown) }";
    check(&[("src/lib.rs", text)], "write", &[&format!("{{ ((), ()) }} => {shown}")]);
}

#[test]
fn a_function_may_have_the_name_of_a_variable() {
    let check = |name: &str| {
        let text = format!("pub fn {name}(made: &mut [u8], i: u8) -> u8 {{ 0 }}");
        let items = "std::string::String::from(\"the quick brown fox\").repeat(n / 19 + 1).into_bytes()";
        let call = format!("{{ ((b'a',), ({items},)) }} => super::{name}(lent.0.as_mut_slice(), input.0)");
        check(&[("src/lib.rs", &text)], name, &[&call]);
    };
    check("input");
    check("lent");
    check("n");
}

#[test]
fn bounds_of_impl_blocks_hold() {
    // A pair of numbers is not an iterator, so its items must not be taken.
    check(
        &[(
            "src/lib.rs",
            "pub struct Pair<A, B> { pub a: A, pub b: B }
impl<A, B> Pair<A, B> {
    pub fn flip(self) -> Pair<B, A> { Pair { a: self.b, b: self.a } }
}
impl<A: Iterator, B: Iterator> Iterator for Pair<A, B> {
    type Item = A::Item;
    fn next(&mut self) -> Option<A::Item> { self.a.next() }
    fn last(self) -> Option<A::Item> { self.a.last() }
}",
        )],
        "flip",
        &["{ ((Pair { a: 12345u64, b: 12345u64 },), ()) } => <Pair<u64, u64>>::flip(input.0)"],
    );
}

#[test]
fn traits_of_other_crates_have_implementors() {
    let stream = "use other::Stream;
wrap! { pub struct Numbers { pub left: usize } }
impl Stream for Numbers { }
pub fn drain<S: Stream>(stream: S) -> usize { let count = 0; count }
pub fn distance<T: Clone + other::Signed>(from: T) -> T { from }";
    let file = &[("src/lib.rs", stream)];
    check(file, "drain", &["{ ((Numbers { left: (n as usize) },), ()) } => super::drain(input.0)"]);
    check(file, "distance", &["{ ((12345i64,), ()) } => super::distance(input.0)"]);
}

#[test]
fn what_references_are_put_into_is_younger_than_what_they_refer_to() {
    check(
        &[(
            "src/lib.rs",
            "#[derive(Clone, Copy, Default)]
pub struct Header<'a> { name: &'a str }
pub fn parse<'a>(text: &'a [u8], headers: &mut Vec<Header<'a>>) -> usize { headers.len() }",
        )],
        "parse",
        &["{ ((std::iter::Iterator::collect::<std::vec::Vec<_>>((0..n).map(|i: usize| \
             <Header as std::default::Default>::default())),), \
             ((0..n).map(|i| (i % 251) as u8).collect::<std::vec::Vec<u8>>(),)) } => \
             { let mut headers_4 = input.0; let made = super::parse(lent.0.as_slice(), &mut headers_4); made }"],
    );
}

#[test]
fn a_call_that_needs_its_size_has_it() {
    let text = "pub struct View<'a> { text: &'a str, size: usize }
impl<'a> View<'a> { pub fn new(text: &'a str, size: usize) -> Self { Self { text, size } } }
pub fn read(view: &View<'_>) -> usize { view.size }";
    let calls = found(&[("src/lib.rs", text)], "read");
    let has_size = |call: &String| call.contains("((n,), (") && call.contains("=> { let n = input.0; let view_");
    assert!(calls.iter().any(has_size), "{calls:?}");
}

#[test]
fn adapters_of_adapters_take_no_time() {
    let adapter = |number: usize| {
        format!(
            "pub struct Adapter{number}<S> {{ pub inner: S }}\nimpl<S: Stream> Stream for Adapter{number}<S> {{ fn poll(&mut self) -> usize {{ 0 }} }}\n"
        )
    };
    let adapters: String = (0..40).map(adapter).collect();
    let text = format!(
        "pub trait Stream {{ fn poll(&mut self) -> usize; }}
{adapters}pub struct Numbers {{ pub left: usize }}
impl Stream for Numbers {{ fn poll(&mut self) -> usize {{ self.left }} }}
pub fn drain<S: Stream>(stream: S) -> usize {{ let count = 0; count }}"
    );
    let calls = found(&[("src/lib.rs", &text)], "drain");
    assert!(calls.iter().any(|call| call.contains("Numbers { left: (n as usize) }")), "{calls:?}");
}

#[test]
fn the_size_is_no_field_and_no_path() {
    let names_size = super::candidates::names_size;
    assert!(names_size("(0..n).map(f)") && names_size("f(n)") && names_size("n"));
    assert!(!names_size("a.n") && !names_size("super::n(a)") && !names_size("\"\\n\"") && !names_size("len_n"));
}

#[test]
fn numbers_fit_the_traits_of_other_crates_behind_those_of_ours() {
    let text = "pub trait Number: Copy + num_traits::Signed {}
impl<S> Number for S where S: Copy + num_traits::Signed {}
pub trait Point { type Scalar: Number; }
impl<S, const N: usize> Point for [S; N] where S: Number { type Scalar = S; }
pub struct Square<P> where P: Point { lower: P }
impl<P> Square<P> where P: Point {
    pub fn new(lower: P) -> Self { Self { lower } }
    pub fn area(&self) -> P::Scalar { todo!() }
}";
    let lower = "std::array::from_fn::<_, 8, _>(|i: usize| { let _ = i; ((i % 1000) as i64) })";
    let square = format!("<Square<[i64; 8]>>::new({lower})");
    let call = format!("{{ ((), ({square},)) }} => <Square<[i64; 8]>>::area(&lent.0)");
    check(&[("src/lib.rs", text)], "area", &[&call]);
}

#[test]
fn functions_of_builds_with_and_without_debug_assertions_have_calls() {
    // The profile decides which one is compiled: `dev` has debug assertions, `bench` has none.
    let both = "#[cfg(debug_assertions)]\npub fn checked(x: u64) -> u64 { x }\n#[cfg(not(debug_assertions))]\n\
                pub fn quick(x: u64) -> u64 { x }";
    for name in ["checked", "quick"] {
        let found = found(&[("src/lib.rs", both)], name);
        assert!(found.iter().any(|call| call.contains(&format!("super::{name}("))), "{found:?}");
    }
}

#[test]
fn a_module_is_the_file_that_its_declaration_stands_for() {
    let files = [
        ("src/lib.rs", "#[cfg(windows)] #[path = \"a.rs\"] pub mod os; #[cfg(unix)] #[path = \"b.rs\"] pub mod os;"),
        ("src/a.rs", "pub fn length(x: u64) -> u64 { x }"),
        ("src/b.rs", "\n\npub fn width(x: u64) -> u64 { x }"),
    ];
    let found = found(&files, "width");
    assert!(found.iter().any(|call| call.contains("super::width(")), "{found:?}");
}
