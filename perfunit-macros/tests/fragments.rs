//! Checks that a rewritten test behaves like the original, whatever `macro_rules` fragments its body consists of, and
//! that its assertions fail with the same messages.
//!
//! Bodies are generated from a grammar: the content of a macro's definition, the fragments it is called with, and the
//! number of macros that pass them on. Each body is compiled twice, as a plain function and with our `#[test]`, and the
//! recorded values are compared.

mod compiled;

use compiled::{externs, rustc, succeed, FOLDER};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// Number of values to compare.
const CASES: usize = 10_500;
/// Cases in one body, each in its own block.
const CASES_OF_A_BODY: usize = 14;
/// Editions of the sources that contain the bodies.
const EDITIONS: [&str; 3] = ["2018", "2021", "2024"];

/// Code around the cases.
const PRELUDE: &str = r#"
#![allow(warnings)]
#[cfg(test)] #[macro_use(test)] extern crate perfunit_macros;
use std::cell::RefCell;
use std::fmt::Debug;

thread_local! { static NOTES: RefCell<Vec<(String, usize)>> = RefCell::new(Vec::new()); }
fn rec(value: impl Debug) { NOTES.with(|notes| notes.borrow_mut().push((format!("{value:?}"), __perfunit_runtime::opaque()))); }
fn taken() -> Vec<(String, usize)> { NOTES.with(|notes| notes.take()) }

/// Returns the panic message of a function. A message that is known at compile time is a `&str`.
fn message(f: impl FnOnce()) -> String {
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)) {
        Ok(()) => "passes".to_owned(),
        Err(payload) => match payload.downcast_ref::<&'static str>() {
            Some(message) => format!("str {message}"),
            None => format!("String {}", payload.downcast_ref::<String>().unwrap()),
        },
    }
}

const X: i64 = 7;
static Y: i64 = -4;
fn f(n: i64) -> i64 { n * 3 + 1 }
fn g(a: i64, b: i64) -> i64 { a * 2 - b }
fn some(n: i64) -> Option<i64> { Some(n) }
fn none(_: i64) -> Option<i64> { None }
macro_rules! id { ($e:expr) => { $e }; }
macro_rules! twice { ($($t:tt)*) => { 2 * ($($t)*) }; }
#[derive(Debug, Clone, Copy, PartialEq)]
struct S { v: i64 }
impl S { fn new(v: i64) -> i64 { v + 100 } const C: i64 = 9; }
#[derive(Debug)]
struct Gen<T>(T);
impl<T> Gen<T> { fn make(n: i64) -> i64 { n + std::mem::size_of::<T>() as i64 } }
trait Named { fn named(&self) -> i64; }
trait Other { const K: i64; fn other() -> i64 { Self::K } }
impl Named for i64 { fn named(&self) -> i64 { *self + 1000 } }
impl Named for S { fn named(&self) -> i64 { self.v + 2000 } }
macro_rules! others { ($($t:ty = $k:expr),*) => { $(impl Other for $t { const K: i64 = $k; })* } }
others!(i64 = 1, u8 = 2, (i64, u8) = 3, &'static str = 4, Vec<u8> = 5, [u8; 1 + 2] = 6, fn(i64) -> i64 = 7, S = 8);
fn h<T: ?Sized>(n: i64) -> i64 { n + std::any::type_name::<T>().len() as i64 }
"#;

/// A kind of fragment: its declaration, and possible arguments.
struct Kind {
    /// Letter that follows `$` in templates.
    letter: char,
    specifier: &'static str,
    draw: fn(&mut Draw) -> String,
}

const KINDS: [Kind; 21] = [
    Kind { letter: 'v', specifier: "vis", draw: |draw| draw.of(&["", "pub", "pub(crate)", "pub(self)"]) },
    Kind { letter: 'a', specifier: "expr", draw: |draw| draw.expr(2) },
    Kind { letter: 'b', specifier: "expr", draw: |draw| draw.expr(1) },
    // Never ends with a brace.
    Kind { letter: 'x', specifier: "expr", draw: |draw| tail(&draw.int(2)) },
    Kind { letter: 'c', specifier: "expr", draw: |draw| draw.bool(1) },
    Kind {
        letter: 'd',
        specifier: "ty",
        draw: |draw| {
            draw.of(&["dyn Named", "dyn Named + Send", "dyn Named + Send + Sync + 'static", "(dyn Named + Sync)"])
        },
    },
    Kind {
        letter: 'e',
        specifier: "expr",
        draw: |draw| {
            draw.of_exprs(&[
                "some(2)",
                "none(1)",
                "if X > 3 { some(1) } else { None }",
                "Some(X)",
                "some(1).or(none(2))",
                "match X { 7 => some(3), _ => None }",
                "{ some(5) }",
                "some(1).map(|y| -y)",
            ])
        },
    },
    Kind {
        letter: 'f',
        specifier: "expr",
        draw: |draw| {
            draw.of_exprs(&[
                "|a: i64, b: i64| a + b",
                "g",
                "|a: i64, b: i64| -> i64 { a * b }",
                "move |a: i64, b: i64| if a > b { a } else { b }",
                "i64::max",
                "{ g }",
                "if X > 0 { g } else { i64::min }",
                "|_: i64, b: i64| b - 1 ",
            ])
        },
    },
    Kind { letter: 'i', specifier: "ident", draw: |draw| draw.of(&["X", "Y"]) },
    Kind { letter: 'j', specifier: "tt", draw: |draw| draw.of(&["X", "5", "(1 + 2)", "-3"][..3]) },
    Kind {
        letter: 'k',
        specifier: "block",
        draw: |draw| {
            let value = tail(&draw.int(1));
            let before = draw.of(&["", "let y = f(2); rec(y);", "rec(1);", "#[allow(unused)] let z = 3;"]);
            format!("{{ {before} {value} }}")
        },
    },
    Kind { letter: 'l', specifier: "literal", draw: |draw| draw.of(&["5i64", "-5i64", "0i64", "-1i64", "7i64"]) },
    Kind {
        letter: 'm',
        specifier: "path",
        draw: |draw| {
            draw.of(&["f", "crate::f", "S::new", "Gen::<u8>::make", "Gen<u8>::make", "Gen<Vec<i64>>::make", "i64::abs"])
        },
    },
    Kind { letter: 'n', specifier: "ty", draw: |draw| draw.of(&["u8", "i64", "usize", "i16", "core::primitive::u32"]) },
    Kind { letter: 'o', specifier: "ty", draw: |draw| draw.of(&["S", "crate::S", "self::S"]) },
    Kind {
        letter: 'p',
        specifier: "pat",
        draw: |draw| {
            draw.of(&[
                if draw.or_patterns { "1 | 2" } else { "(1 | 2)" },
                "_",
                "-4..=10",
                "mut q",
                "q @ 0..=100",
                "X",
                "-4",
                "crate::X",
                "S::C",
                "1 ..= 9",
                "11..=40",
            ])
        },
    },
    Kind { letter: 'q', specifier: "lifetime", draw: |draw| draw.of(&["'a", "'outer"]) },
    Kind {
        letter: 'r',
        specifier: "expr",
        draw: |draw| draw.of(&["1..4", "0..=3", "X - 5..X", "2..f(1) + 1", "-1..1 + 1"]),
    },
    Kind {
        letter: 's',
        specifier: "stmt",
        draw: |draw| {
            draw.of(&[
                "rec(1)",
                "let _ = f(3)",
                "let mut y: i64 = f(3) + 1",
                "id!(rec(2))",
                "rec(X) ",
                "fn inner(n: i64) -> i64 { n }",
                "if X > 1 { rec(3) }",
                "rec(-f(2))",
            ])
        },
    },
    Kind {
        letter: 't',
        specifier: "ty",
        draw: |draw| {
            draw.of(&[
                "i64",
                "u8",
                "(i64, u8)",
                "&'static str",
                "Vec<u8>",
                "[u8; 1 + 2]",
                "fn(i64) -> i64",
                "crate::S",
                "<S as ToOwned>::Owned",
            ])
        },
    },
    Kind {
        letter: 'w',
        specifier: "expr",
        draw: |draw| {
            draw.of_exprs(&[
                "S { v: 3 }",
                "S { v: f(2) }",
                "if Y < 0 { S { v: 1 } } else { S { v: 2 } }",
                "*&S { v: X }",
                "id!(S { v: 5 })",
            ])
        },
    },
];

/// Possible content of a macro's definition. All groups except the last ones are expressions.
const EXPRESSIONS: &[&str] = &[
    "$a * 2 + f(3)",
    "2 * $a - f(3)",
    "-$a + f(3)",
    "!$a ^ f(3)",
    "$a.pow(2) + f(3)",
    "$a.abs().min(f(3))",
    "$a as u8 as i64 - f(3)",
    "f($a) - $b",
    "g($a, 3) - $b",
    "$a - $b - f(1)",
    "f(1) - $a",
    "f(3) << ($a & 3)",
    "[f(1), $a][1]",
    "[$a; 2][f(0) as usize]",
    "($a, f(3))",
    "S { v: $a }.v * f(2)",
    "S { v: f(3), ..$w }",
    "($a == $b) as i64 + f(1)",
    "$a < $b || f(3) < $a",
    "f(3) & $a == $b",
    "if $a < $b { f(1) } else { f(2) }",
    "if $a == X { f($b) } else if $c { 3 } else { g($a, 1) }",
    "match $a { 1 => f(2), y => y - f(3) }",
    "match $a { y if y < $b => f(2), _ => f(3) * $b }",
    "{ let y = $a; y * f(2) }",
    "{ let y = &$a; *y * f(2) }",
    "{ let y: i64 = $a; f(3) - y }",
    "{ let (y, z) = ($a, 3); y * z - f(1) }",
    "*&$a * f(2)",
    "&$a == &f(2)",
    "{ let mut y = f(1); y += $a; y -= $b; y *= 2; y }",
    "{ let mut y = 5; y = $a; f(y) }",
    "id!($a * 2) + f(3)",
    "twice!($a + 1) + f(3)",
    "id!(-$a) - f(3)",
    "vec![$a, f(3)].len()",
    "vec![$a * 2; 3]",
    "vec![1, 2].into_iter().map(|y| y * $a).sum::<i64>()",
    "assert_eq!($a * 2 - $a, $a + f(3) - f(3))",
    "assert!($a == $a && f(3) > 1)",
    "matches!(f(3) - $a, $p)",
    "(|| f(3) + $a)()",
    "(|y: i64| y - $a)(f(2))",
    "loop { break $a - f(1) }",
    "unsafe { f(3) + $a }",
    "(|| { if f(3) > 0 { return $a * 2; } $b })()",
    "{ $x; f(3) }",
    "{ f(3); $a }",
    "{ f(3); $x * 2 }",
    "{ rec(f(3)); $x + $b }",
    "f(f(f($a + 1) - $b) * 2)",
    "(f(1)..$a).count()",
    "{ let mut t = f(1); for y in $r { t += g(y, 2) } t }",
    "$r.map(|y| f(y) + 3).sum::<i64>()",
    "$r.contains(&f(3))",
    "$r.rev().take(2).last()",
    "$f(2, 3) + f(1)",
    "$f($a, 3) - f(1)",
    "(0..3).map(|y| $f(y, 1)).sum::<i64>() + f(2)",
    "$f(f(2), $b)",
    "id!($f)(f(2), 3)",
    "!$c && f(3) > 1",
    "{ let y = $c; y == (f(3) > 2) }",
    "$c as i64 * f(3)",
    "if $c { f(1) } else { f(2) }",
    "if !$c && f(1) == 4 { f(1) } else { f(2) }",
    "$c && g(1, 2) > 0 || f(3) == 3",
    "($c, f(3)).0",
    "(|| Some($e? + f(3)))()",
    "(|| { f(1); Some($e? * 2) })()",
    "match $e { Some(y) => y * f(2), None => f(3) }",
    "if let Some(y) = $e { f(y) } else { f(9) }",
    "$e.map(|y| y + f(3)).unwrap_or(5)",
    "(|| { let Some(y) = ($e) else { return f(3) }; f(y) })()",
    "h::<$t>(3)",
    "<$t>::other() + f(3)",
    "<$t as Other>::K - f(3)",
    "std::mem::size_of::<$t>() as i64 + f(3)",
    "(f(3) as $n) as i64 * 2",
    "(f(200) as $n) < 100",
    "$a as $n as i64 + f(1)",
    "{ let y: &$d = &f(3); y.named() }",
    "(&f(3) as &$d).named() + f(1)",
    "h::<&$d>(3) + h::<Box<$d>>(2)",
    "{ let y: Box<$d> = Box::new(S { v: f(3) }); y.named() }",
    "(|y: &$d| y.named() - f(2))(&f(3))",
    "{ let y: Option<$t> = None; y.is_some() as i64 + f(3) }",
    "{ fn inner(y: &$d) -> i64 { y.named() + f(2) } inner(&f(3)) }",
    "{ let y: $t; f(3) - 1 }",
    "$w.v * f(2)",
    "if $w == (S { v: 3 }) { f(1) } else { f(2) }",
    "match $w { S { v } => v - f(3) }",
];

const OTHER_EXPRESSIONS: &[&str] = &[
    "match $a { $p => f(1), _ => f(2) }",
    "match &$a { &$p => f(1), _ => f(2) }",
    "match ($a, 1) { ($p, 1) => f(1), (_, _) => f(2) }",
    "if let $p = $a { f(1) } else { f(2) }",
    "match f(3) { $p => 1 - $a, _ => $a }",
    "match [$a, 2] { [$p, ..] => f(1), _ => f(2) }",
    "matches!(Some($a), Some($p)) as i64 + f(1)",
    "{ let y = match (S { v: $a }) { S { v: $p } => 1, _ => f(2) }; y + f(1) }",
    "{ let y = $k; y * f(2) }",
    "(|| $k)() - f(2)",
    "if f(3) > 4 $k else $k",
    "match f(3) { 1 => $a, _ => $k }",
    "loop { f(1); break $k }",
    "(f(3), $k)",
    "f($k) * 2",
    "{ f(3); $k }",
    "{ rec(f(2)); $k }",
    "{ if f(1) > 3 $k else $k }",
    "{ f(3) + $k }",
    "{ $s; f(3) }",
    "{ f(3); $s; f(1) }",
    "{ if f(1) > 3 { $s; } f(2) }",
    "{ $s; { $s; } g(1, 2) }",
    "$m(3)",
    "$m(f(2)) - 1",
    "f($m(2) + $a)",
    "Some(f(3)).map($m)",
    "{ let y = $m; y(f(3)) }",
    "$m(-$b) * 2",
    "h::<$o>(3)",
    "{ let y: $o = S { v: f(2) }; y }",
    "<$o>::new(f(3)) - $a",
    "$l * 2 + f(1)",
    "-$l + f(1)",
    "$l.abs() + f(3)",
    "f($l)",
    "match f(3) - 3 { $l => f(1), _ => f(2) }",
    "$l - $l - f(2)",
    "$l.pow(2) * $a",
    "$q: loop { f(1); if f(3) > 0 { break $q $a * 2 } }",
    "{ $v fn inner() -> i64 { f(3) } inner() + f(2) }",
    "$j * 2 + f($j)",
    "$i * 2 - f($i)",
    "id!($i) + f($j)",
];

/// A stream of random choices, the same on every machine.
struct Draw {
    state: u64,
    /// True if `$p:pat` accepts `1 | 2`.
    or_patterns: bool,
    /// True if fragments may end with a brace. As a statement such a fragment ends there, so no operator may follow.
    block_like: bool,
}

impl Draw {
    /// Draws a number by splitmix64.
    fn number(&mut self, below: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % below as u64).unwrap()
    }

    fn of(&mut self, choices: &[&str]) -> String {
        choices[self.number(choices.len())].to_owned()
    }

    /// Draws an expression of type `i64`, with operators of every precedence.
    fn int(&mut self, depth: usize) -> String {
        if depth == 0 || self.number(8) == 0 {
            return self.of(&["1i64", "2i64", "5i64", "10i64", "X", "Y", "-3i64", "f(2)", "S::C", "g(4, 1)"]);
        }
        let (a, b) = (self.int(depth - 1), self.int(depth - 1));
        let c = self.bool(depth - 1);
        match self.number(26) {
            0 | 1 => format!("{a} + {b}"),
            2 => format!("{a} - {b}"),
            3 => format!("{a} * {b}"),
            4 => format!("{a} & {b}"),
            5 => format!("{a} | {b}"),
            6 => format!("{a} ^ {b}"),
            7 => format!("({a}) << 2"),
            8 => format!("{a} % 7"),
            9 => format!("({c}) as i64"),
            10 => format!("({a}) as u8 as i64"),
            11 => format!("if {c} {{ {} }} else {{ {} }}", tail(&a), tail(&b)),
            12 => format!("match ({a}) {{ 1 => {}, y => y + 1 }}", tail(&b)),
            13 => format!("{{ {} }}", tail(&a)),
            14 => format!("{{ let y = {a}; y - {b} }}"),
            15 => format!("({a}).min({b})"),
            16 => format!("[{a}, {b}][1]"),
            17 => format!("({a}, {b}).0"),
            18 => format!("S {{ v: {a} }}.v"),
            19 => format!("(|y: i64| y - {a})({b})"),
            20 => format!("loop {{ break {a} }}"),
            21 => format!("unsafe {{ {} }}", tail(&a)),
            22 => format!("-({a})"),
            23 => format!("id!({a} - {b})"),
            24 => format!("*&({a})"),
            _ => format!("!f({a})"),
        }
    }

    /// Draws an expression for a fragment.
    fn expr(&mut self, depth: usize) -> String {
        let expr = self.int(depth);
        if self.block_like {
            expr
        } else {
            tail(&expr)
        }
    }

    fn of_exprs(&mut self, choices: &[&str]) -> String {
        let expr = self.of(choices);
        if self.block_like {
            expr
        } else {
            tail(&expr)
        }
    }

    fn bool(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.of(&["true", "X > 3", "false", "Y == 2"]);
        }
        let (a, b) = (self.int(depth - 1), self.int(depth - 1));
        match self.number(6) {
            0 => format!("({a}) < ({b})"),
            1 => format!("({a}) == ({b})"),
            2 => format!("{} || {}", self.bool(depth - 1), self.bool(depth - 1)),
            3 => format!("{} && {}", self.bool(depth - 1), self.bool(depth - 1)),
            4 => format!("!({})", self.bool(depth - 1)),
            _ => format!("matches!({a}, 1 | 2)"),
        }
    }

    /// Formats the last expression of a block in a definition.
    fn tail(&self, expression: &str) -> String {
        if self.block_like && expression.starts_with('$') {
            format!("({expression})")
        } else {
            tail(expression)
        }
    }

    /// Draws a part of a body that records a value.
    fn case(&mut self) -> String {
        let number = self.number(EXPRESSIONS.len() + OTHER_EXPRESSIONS.len());
        let expression = EXPRESSIONS.get(number).unwrap_or_else(|| &OTHER_EXPRESSIONS[number - EXPRESSIONS.len()]);
        match self.number(4) {
            0 => format!("rec({expression});"),
            1 => format!("let y = {expression}; rec(y);"),
            2 => format!("rec({{ {} }});", self.tail(expression)),
            _ => format!("let y = {{ rec(1); {} }}; rec((y, 3));", self.tail(expression)),
        }
    }
}

/// Formats an expression so that it can be the last of a block.
fn tail(expression: &str) -> String {
    const STATEMENTS: [&str; 9] = ["if", "match", "loop", "unsafe", "{", "matches!", "id!", "twice!", "vec!"];
    let is_statement = STATEMENTS.iter().any(|word| expression.starts_with(word));
    if is_statement {
        format!("({expression})")
    } else {
        expression.to_owned()
    }
}

/// Draws a macro that defines both functions, and a call of it.
fn body(draw: &mut Draw, number: usize, text: &mut String) {
    let has_blocks = number % 4 != 0;
    draw.block_like = number % 2 == 0;
    let cases: Vec<String> = (0..CASES_OF_A_BODY).map(|_| draw.case()).collect();
    // Without blocks, fragments are statements of the body itself.
    let body = cases.iter().map(|case| if has_blocks { format!("{{ {case} }}\n") } else { format!("{case}\n") });
    let body: String = body.collect();
    let used: Vec<&Kind> = KINDS.iter().filter(|kind| body.contains(&format!("${}", kind.letter))).collect();
    let join = |parts: Vec<String>| parts.join(", ");
    let declared = join(used.iter().map(|kind| format!("${}:{}", kind.letter, kind.specifier)).collect());
    let given = join(used.iter().map(|kind| (kind.draw)(draw)).collect());
    // Pass the same fragments through another macro.
    let handed_on = join(used.iter().map(|kind| format!("${}", kind.letter)).collect());
    let called = if number % 3 == 0 { "outer" } else { "inner" };
    writeln!(
        text,
        "pub mod body_{number} {{ use super::*;
         macro_rules! inner {{ ({declared}) => {{
             pub fn original() {{ {body} }}
             #[test] pub fn rewritten() {{ {body} }}
         }} }}
         macro_rules! outer {{ ({declared}) => {{ inner!({handed_on}); }} }}
         {called}!({given}); }}"
    )
    .unwrap();
}

/// Builds the list element of one body.
fn call(number: usize) -> String {
    format!("({number}, body_{number}::original as fn(), body_{number}::rewritten as fn()),")
}

/// Builds the program that compares the functions of bodies. It prints how many values it compared, and how many of
/// them had opaque parts.
fn program(text: &str, calls: &str) -> String {
    format!(
        "{text}
        #[::core::prelude::v1::test]
        fn both_note_the_same() {{
            std::panic::set_hook(Box::new(|_| ()));
            let (mut values, mut opaque) = (0, 0);
            for (body, original, rewritten) in [{calls}] {{
                original();
                let expected = taken();
                let before = __perfunit_runtime::opaque();
                rewritten();
                let noted = taken();
                let of = |notes: &[(String, usize)]| notes.iter().map(|(value, _)| value.clone()).collect::<Vec<_>>();
                if of(&noted) != of(&expected) {{
                    let differs = noted.iter().zip(&expected).find(|(ours, theirs)| ours.0 != theirs.0);
                    println!(\"body {{body}} notes {{differs:?}}\");
                    std::process::exit(1);
                }}
                let counts = std::iter::once(before).chain(noted.iter().map(|(_, count)| *count)).collect::<Vec<_>>();
                opaque += counts.windows(2).filter(|pair| pair[1] > pair[0]).count();
                values += noted.len();
            }}
            println!(\"compared {{values}} {{opaque}}\");
        }}"
    )
}

/// Number of compared values, and of those with opaque parts.
struct ComparisonCounts {
    values: usize,
    opaque: usize,
}

/// Compiles and runs a program.
#[track_caller]
fn run(name: &str, edition: &str, text: &str) -> ComparisonCounts {
    let externs = externs().iter().map(String::as_str);
    let arguments: Vec<&str> = ["--test", "-C", "overflow-checks=off"].into_iter().chain(externs).collect();
    let source = Path::new(FOLDER).join(format!("{name}_{edition}.rs"));
    std::fs::write(&source, text).unwrap();
    let out = rustc(&source, edition, &arguments);
    let said = succeed(Command::new(out.join(format!("{name}_{edition}"))).args(["--nocapture", "both_note"]));
    let counts = said.lines().find_map(|line| line.split_once("compared ").map(|(_, counts)| counts)).expect(&said);
    let (values, opaque) = counts.split_once(' ').unwrap();
    ComparisonCounts { values: values.parse().unwrap(), opaque: opaque.parse().unwrap() }
}

#[test]
fn rewritten_tests_do_what_the_originals_do() {
    let bodies = CASES.div_ceil(CASES_OF_A_BODY * EDITIONS.len());
    let (mut values, mut opaque) = (0, 0);
    for (part, edition) in EDITIONS.into_iter().enumerate() {
        let mut draw = Draw { state: part as u64, or_patterns: edition != "2018", block_like: false };
        let (mut text, mut calls) = (PRELUDE.to_owned(), String::new());
        for number in 0..bodies {
            body(&mut draw, number, &mut text);
            calls += &call(number);
        }
        let compared = run("fragments", edition, &program(&text, &calls));
        values += compared.values;
        opaque += compared.opaque;
    }
    eprintln!("{values} values, {opaque} of them behind something opaque");
    assert!(values >= 10_000, "only {values} values were compared");
    assert!(opaque > values / 2, "only {opaque} of {values} values had something made opaque");
}

/// Conditions of assertions in addition to the random ones; `X` is 7.
const CONDITIONS: [&str; 30] = [
    "f(3) == 5",
    "f( 3 )==5",
    "!(f(3) == 10)",
    "! f(3).is_positive()",
    "f(3) as u8 == 1",
    "f(3)\n    == 5",
    "f(3)\n.abs()\n== 5",
    "matches!(f(3), 1 | 2)",
    "matches!(some(3), Some(n) if n > 3)",
    "some(2).is_none()",
    "[1, 2, 3].contains(&f(3))",
    "(1, f(3)).1 == 2",
    "S { v: 3 }.v == f(2)",
    "(S { v: f(2) }).v == 3",
    "g(1, 2) > f(3) && X == 7",
    "X == 7 && !(X == 7)",
    "f(3) == -5",
    "f(-3) == - 5",
    "*&f(3) == 5",
    "&f(3) == &5",
    "Gen::<u8>::make(3) == 3",
    "h::<Vec<u8>>(3) == 3",
    "\"a{}b\".len() == f(3) as usize",
    "\"a\\n\\\"b\".len() == f(3) as usize",
    "b\"ab\"[0] == f(3) as u8 && 'a' == '\\n'",
    "(|| f(3))() == 5",
    "{ f(3) } == 5",
    "if X == 7 { f(3) == 5 } else { true }",
    "0x1F == f(3) && 1_000 == f(3)",
    "(0..f(3)).contains(&20)",
];

#[test]
fn assertions_fail_with_the_same_messages() {
    let mut opaque = 0;
    for (part, edition) in EDITIONS.into_iter().enumerate() {
        let mut draw = Draw { state: 100 + part as u64, or_patterns: true, block_like: true };
        let drawn: Vec<String> =
            (0..300).map(|_| format!("f({}) == g({}, {}) - 1000", draw.int(1), draw.int(1), draw.int(0))).collect();
        let conditions = CONDITIONS.iter().copied().chain(drawn.iter().map(String::as_str));
        let asserts = conditions.map(|condition| {
            format!("rec(message(|| assert!({condition}))); rec(message(|| debug_assert!({condition},)));\n")
        });
        let body: String = asserts.collect();
        let module = format!(
            "pub mod body_0 {{ use super::*; pub fn original() {{ {body} }} #[test] pub fn rewritten() {{ {body} }} }}"
        );
        let compared = run("messages", edition, &program(&(PRELUDE.to_owned() + &module), &call(0)));
        assert_eq!(compared.values, 2 * (CONDITIONS.len() + drawn.len()));
        opaque += compared.opaque;
    }
    assert!(opaque > 200, "only {opaque} conditions had something made opaque");
}
