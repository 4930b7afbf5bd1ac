//! Small snippets before and after; `bb` is short for `::__perfunit_runtime::__private::black_box`.

use super::rewrite;
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use syn::visit::Visit;

#[track_caller]
fn check(before: &str, after: &str) {
    let body: TokenStream = before.parse().unwrap();
    let rewritten = rewrite(body.clone()).unwrap_or(body);
    let expected: TokenStream = after.replace("bb(", "::__perfunit_runtime::__private::black_box(").parse().unwrap();
    assert_eq!(without_spaces(&rewritten), without_spaces(&expected));
}

/// Parsed and generated tokens differ in their spacing.
fn without_spaces(tokens: &TokenStream) -> String {
    tokens.to_string().replace(' ', "").replace("::__perfunit_runtime::__private::black_box", "bb")
}

#[track_caller]
fn check_unchanged(body: &str) {
    let rewritten = rewrite(body.parse().unwrap());
    assert!(rewritten.is_none(), "{}", rewritten.unwrap());
}

#[test]
fn arguments_of_calls() {
    check("f(3)", "f(bb(3))");
    check("m::f::<u8>(x, -1, \"a\")", "m::f::<u8>(x, bb(-1), bb(\"a\"))");
    check("x.f(b\"a\", 'c', true)", "x.f(bb(b\"a\"), bb('c'), bb(true))");
    check("f(&[1, 2], [3, 4], (5, x))", "f(bb(&[1, 2]), bb([3, 4]), (bb(5), x))");
    check("f(u32::MAX, 1 << 4, 3 as u8, 0..10)", "f(bb(u32::MAX), bb(1 << 4), bb(3 as u8), bb(0..10))");
    check("f(g(1))", "f(g(bb(1)))");
}

#[test]
fn constructors_are_wrapped_only_by_value() {
    check("f(Some(3))", "f(bb(Some(3)))");
    check("f(&Some(3))", "f(bb(&Some(3)))");
    check("f(Foo(x, 3))", "f(Foo(x, bb(3)))");
    check("f(Foo { a: 1, b })", "f(Foo { a: bb(1), b })");
    check("f(Foo { a: 1, b: 2 })", "f(bb(Foo { a: 1, b: 2 }))");
    check_unchanged("f(&Foo(X, 3))");
    check_unchanged("x == Some(3)");
}

#[test]
fn mutable_borrows_wrap_scalars() {
    check("f(&mut [3, 1])", "f(&mut bb([3, 1]))");
    check_unchanged("f(&mut [b\"a\", b\"bc\"])");
    check_unchanged("f(&mut x)");
}

#[test]
fn receivers() {
    check("\"1\".parse::<u8>()", "bb(\"1\").parse::<u8>()");
    check("5u8.pow(2)", "(*bb(&5u8)).pow(bb(2))");
    check("(-5i8).abs()", "(*bb(&(-5i8))).abs()");
    check("[1, 2].iter()", "(*bb(&[1, 2])).iter()");
    check("(0..9).map(f)", "bb((0..9)).map(f)");
    check("x.f(1).expect(\"text\")", "x.f(bb(1)).expect(\"text\")");
    check_unchanged("[2, 1].sort()");
    check_unchanged("Some(3).map(f)");
    check_unchanged("[Some(3)].iter()");
}

#[test]
fn bindings() {
    check("let x = 5;", "let x = bb(5);");
    check("let mut x: &[u8] = &[1, 2];", "let mut x: &[u8] = bb(&[1, 2]);");
    check("let (a, _) = (1, x);", "let (a, _) = (bb(1), x);");
    check("let p = P { x: 1, y: q };", "let p = P { x: bb(1), y: q };");
    check("let x = &mut 5;", "let x = &mut bb(5);");
    check_unchanged("let x = &Some(3);");
    check_unchanged("let x = Some(&Some(3));");
    check_unchanged("let ref x = 5;");
    check_unchanged("let NONE = 5;");
    check_unchanged("let x = [0; 64];");
    check_unchanged("let [a, b] = [1, 2];");
}

#[test]
fn loops() {
    check("for i in 0..10 { f(i) }", "for i in bb(0..10) { f(i) }");
    check("for x in [(1, \"a\")] {}", "for x in (*bb(&[(1, \"a\")])) {}");
    check("for x in &[1, 2] {}", "for x in bb(&[1, 2]) {}");
    check("for x in [1, 2].iter() {}", "for x in (*bb(&[1, 2])).iter() {}");
}

#[test]
fn macros_of_std() {
    check("assert!(f(3), \"{}\", g(4));", "assert!(f(bb(3)), \"{}\", g(4));");
    check("assert_eq!(f(3), 9, \"{}\", g(4));", "assert_eq!(f(bb(3)), 9, \"{}\", g(4));");
    check("std::assert_ne!(9, f(3),);", "std::assert_ne!(9, f(bb(3)),);");
    check("if matches!(f(3), Some(3) if g(4)) {}", "if matches!(f(bb(3)), Some(3) if g(4)) {}");
    check("let v = vec![1, 2];", "let v = bb(vec![1, 2]);");
    check("f(&vec![1; n])", "f(&bb(vec![1; n]))");
    check("vec![f(1), x]", "vec![f(bb(1)), x]");
    check_unchanged("let v = vec![];");
    check_unchanged("println!(\"{}\", f(3));");
    check_unchanged("my::check!(f(3));");
}

/// Checks that an assertion keeps its message.
#[track_caller]
fn check_message(before: &str, after: &str) {
    check(&format!("assert!({before});"), &format!("assert!({after}, \"assertion failed: {before}\");"));
}

#[test]
fn assertions_keep_their_messages() {
    check_message("f(3)", "f(bb(3))");
    check_message("!x.f(3).g::<u8>().h[i].0", "!x.f(bb(3)).g::<u8>().h[i].0");
    check_message("a::f::<u8>(&[1, 2]) == Some(-3) && *b", "a::f::<u8>(bb(&[1, 2])) == Some(-3) && *b");
    check_message("f((1, x), 'a', true, 3 as u8)?", "f((bb(1), x), bb('a'), bb(true), bb(3 as u8))?");
    check("assert!(f(3),);", "assert!(f(bb(3)), \"assertion failed: f(3)\",);");
    check("debug_assert!(f(3));", "debug_assert!(f(bb(3)), \"assertion failed: f(3)\");");
    // The way rustc prints these is not implemented.
    for condition in ["f(|| 3)", "f(3, S { a: 1 })", "m!(3) == f(3)", "f(3).await", "f::<[u8; 2]>(3)"] {
        check_unchanged(&format!("assert!({condition});"));
    }
    check_unchanged(&format!("assert!(f({}));", vec!["1"; 40].join(", ")));
}

/// Returns the tokens with each `@(..)` as an invisible group, as if `macro_rules` had put a fragment there.
fn with_fragments(code: &str) -> TokenStream {
    fn group_fragments(tokens: TokenStream) -> TokenStream {
        let mut seen: Vec<TokenTree> = Vec::new();
        for tree in tokens {
            let TokenTree::Group(group) = tree else {
                seen.push(tree);
                continue;
            };
            let is_fragment = matches!(seen.last(), Some(TokenTree::Punct(at)) if at.as_char() == '@');
            let delimiter = if is_fragment { Delimiter::None } else { group.delimiter() };
            if is_fragment {
                seen.pop();
            }
            seen.push(Group::new(delimiter, group_fragments(group.stream())).into());
        }
        seen.into_iter().collect()
    }
    group_fragments(code.parse().unwrap())
}

#[track_caller]
fn check_fragments(before: &str, after: &str) {
    let body = with_fragments(before);
    let rewritten = rewrite(body.clone()).unwrap_or(body);
    let expected = with_fragments(&after.replace("bb(", "::__perfunit_runtime::__private::black_box("));
    assert_eq!(without_spaces(&rewritten), without_spaces(&expected), "{rewritten}");
}

#[test]
fn fragments_get_parentheses_where_code_is_inserted() {
    check_fragments("let x = @(1 + y) * 2; f(3);", "let x = (1 + y) * 2; bb(f(bb(3)));");
    check_fragments("let x = -@(1 + y); f(3)", "let x = -(1 + y); f(bb(3))");
    check_fragments("@(|a| a + 1)(2)", "(|a| a + 1)(bb(2))");
    check_fragments("f(@(1 + 2), @(x + 2))", "f(bb(1 + 2), (x + 2))");
    check_fragments("f(@(@(1 + 2)))", "f(bb(@(1 + 2)))");
    check_fragments("@(-5).pow(2)", "(*bb(&-5)).pow(bb(2))");
    check_fragments("let x: &@(dyn A + B) = g(3) as &@(dyn A);", "let x: &(dyn A + B) = g(bb(3)) as &(dyn A);");
    check_fragments("f(g(3), @(x + h(4)))", "f(g(bb(3)), (x + h(bb(4))))");
    check_fragments("@(if a { 1 } else { 2 }); f(3)", "if a { 1 } else { 2 }; f(bb(3))");
}

#[test]
fn fragments_that_mean_the_same_without_a_group_lose_it() {
    check_fragments("@(x)(3, @(y))", "x(bb(3), y)");
    check_fragments("@(a::B)(f(3))", "a::B(f(bb(3)))");
    check_fragments("@(Vec::<Vec<u8>>::with)(g(3))", "Vec::<Vec<u8>>::with(g(bb(3)))");
    check_fragments("let x: @(Vec<Vec<u8>>) = g(3);", "let x: Vec::<Vec<u8>> = g(bb(3));");
    check_fragments("if f(3) @({ a }) else @({ b })", "if f(bb(3)) { a } else { b }");
    check_fragments("@(let x = f(3)); x", "let x = f(bb(3)); x");
}

#[test]
fn levels_without_insertions_keep_their_fragments() {
    check_fragments("f(3, { @(1 + x) * 2 })", "f(bb(3), { @(1 + x) * 2 })");
    check_fragments("g! { @(1 + 2) * 2 } f(3)", "g! { @(1 + 2) * 2 } f(bb(3))");
    check_fragments("let y: [u8; @(1 + N) * 2] = f(3);", "let y: [u8; @(1 + N) * 2] = f(bb(3));");
}

#[test]
fn levels_whose_fragments_must_stay_get_no_insertions() {
    let check_same = |body| check_fragments(body, body);
    // A pattern, a macro that may be a statement, and blocks at the start of an expression.
    check_same("let &@(mut x) = y; f(3); { g(4) }");
    check_same("@(m!(x)); f(3)");
    check_same("h({ @(match a { _ => 1 }) * f(2) }, 3)");
    check_same("h({ @({ 1 }) as u8 * f(2) }, 3)");
    // syn parses this as comparisons.
    check_same("@(Vec<Vec<u8>>::with)(g(3))");
    check_fragments("h({ let &@(mut x) = y; f(2) }, 3)", "h({ let &@(mut x) = y; f(2) }, bb(3))");
}

#[test]
fn thrown_away_results() {
    check("f(x);", "bb(f(x));");
    check("x.f();", "bb(x.f());");
    check("let _ = f(x);", "let _ = bb(f(x));");
    check("let _y = x.f();", "let _y = bb(x.f());");
    check("let _: u8 = x.f();", "let _: u8 = bb(x.f());");
    check("#[cfg(a)] f(x);", "#[cfg(a)] bb(f(x));");
    check_unchanged("f(x)");
    check_unchanged("f(x)?;");
    check_unchanged("Foo(x);");
    check_unchanged("let y = f(x);");
    check_unchanged("hint::black_box(3);");
}

#[test]
fn const_contexts_and_items_are_left_alone() {
    check_unchanged("const X: u8 = f(3); static Y: u8 = f(3); fn g() { f(3); }");
    check_unchanged("let x = [0; f(3)];");
    check_unchanged("let x: [u8; f(3)] = y;");
    check_unchanged("let x = const { f(3) };");
    check_unchanged("let x = g::<{ f(3) }>;");
    check_unchanged("match x { 3 => y, _ => z }");
    check_unchanged("macro_rules! m { () => { f(3); } }");
    check_unchanged("let x = _mm_shuffle_epi32(a, 1);");
    check_unchanged("let x = vshrq_n_u8(a, 4);");
}

#[test]
fn closures_and_blocks_are_looked_into() {
    check("let g = |x: u8| f(x, 3);", "let g = |x: u8| f(x, bb(3));");
    check("async { f(3).await }", "async { f(bb(3)).await }");
    check("if f(1) { g(2) } else { unsafe { h(3) } }", "if f(bb(1)) { g(bb(2)) } else { unsafe { h(bb(3)) } }");
    check("#![allow(unused)] f(1)", "#![allow(unused)] f(bb(1))");
}

#[test]
fn long_constants_are_not_copied() {
    let list = vec!["1"; 65].join(", ");
    check_unchanged(&format!("f([{list}])"));
    check(&format!("f(&[{list}])"), &format!("f(bb(&[{list}]))"));
    check(&format!("let x = [{list}];"), &format!("let x = (*bb(&[{list}]));"));
    check_unchanged(&format!("let x: [u8; 65] = [{list}];"));
    check(&format!("vec![{list}]"), &format!("bb(vec![{list}])"));
}

/// Removes our insertions.
fn without_insertions(tokens: TokenStream) -> TokenStream {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    let mut kept = Vec::new();
    let mut at = 0;
    while at < trees.len() {
        let rest = &trees[at..];
        let (inside, taken) = match (opaque(rest), place(rest)) {
            (Some(value), _) => (Some(value), OPAQUE.len() + 1),
            (None, place) => (place, 1),
        };
        match (inside, &rest[0]) {
            (Some(inside), _) => kept.extend(without_insertions(inside)),
            (None, TokenTree::Group(group)) => {
                let inside = without_insertions(without_message(group.stream()));
                kept.push(Group::new(group.delimiter(), inside).into());
            }
            (None, tree) => kept.push(tree.clone()),
        }
        at += taken;
    }
    kept.into_iter().collect()
}

const OPAQUE: [&str; 9] = [":", ":", "__perfunit_runtime", ":", ":", "__private", ":", ":", "black_box"];

/// Returns the value that these tokens make opaque.
fn opaque(trees: &[TokenTree]) -> Option<TokenStream> {
    let TokenTree::Group(value) = trees.get(OPAQUE.len())? else { return None };
    OPAQUE.iter().zip(trees).all(|(word, tree)| tree.to_string() == *word).then(|| value.stream())
}

/// Returns the place that `(*black_box(&place))` makes opaque.
fn place(trees: &[TokenTree]) -> Option<TokenStream> {
    let TokenTree::Group(group) = &trees[0] else { return None };
    let inside: Vec<TokenTree> = group.stream().into_iter().collect();
    if inside.first()?.to_string() != "*" || inside.len() != OPAQUE.len() + 2 {
        return None;
    }
    Some(opaque(&inside[1..])?.into_iter().skip(1).collect())
}

/// Removes the message that we add to an assertion from its arguments.
fn without_message(tokens: TokenStream) -> TokenStream {
    let mut trees: Vec<TokenTree> = tokens.into_iter().collect();
    let is_ours =
        |two: &[TokenTree]| two[0].to_string() == "," && two[1].to_string().starts_with("\"assertion failed: ");
    if let Some(comma) = trees.windows(2).position(is_ours) {
        trees.drain(comma..comma + 2);
    }
    trees.into_iter().collect()
}

/// Bodies of the tests in a file.
#[derive(Default)]
struct Bodies {
    bodies: Vec<TokenStream>,
}

impl<'ast> Visit<'ast> for Bodies {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        if function.attrs.iter().any(|attribute| attribute.path().is_ident("test")) {
            let stmts = &function.block.stmts;
            self.bodies.push(quote::quote!(#(#stmts)*));
        }
    }
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Number of bodies to check if no folder is given.
const FEW: usize = 2000;

/// Checks tests of some crates that cargo has unpacked, or of all crates in the folder `PERFUNIT_SOURCES`.
#[test]
fn bodies_of_real_tests_keep_their_tokens() {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo"))).unwrap_or_default();
    let named = std::env::var_os("PERFUNIT_SOURCES").map(PathBuf::from);
    let most = if named.is_some() { usize::MAX } else { FEW };
    let folder = named.unwrap_or_else(|| home.join("registry/src"));
    let mut files = Vec::new();
    rust_files(&folder, &mut files);
    files.sort();
    let (mut bodies, mut rewritten, mut crates) = (0, 0, BTreeSet::new());
    for path in files {
        if bodies >= most {
            break;
        }
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let Ok(file) = (if text.contains("#[test]") { syn::parse_file(&text) } else { continue }) else { continue };
        let mut found = Bodies::default();
        found.visit_file(&file);
        bodies += found.bodies.len();
        for body in found.bodies {
            let Some(opaque) = rewrite(body.clone()) else { continue };
            rewritten += 1;
            let kept = without_insertions(opaque);
            assert_eq!(kept.to_string(), without_insertions(body).to_string(), "{}", path.display());
        }
        crates.extend(path.strip_prefix(&folder).ok().and_then(|path| path.iter().nth(1)).map(ToOwned::to_owned));
    }
    eprintln!("{rewritten} of {bodies} bodies in {} crates below {} were rewritten", crates.len(), folder.display());
    // If dependencies are vendored, there are no sources.
    assert!(bodies == 0 || rewritten * 3 > bodies, "only {rewritten} of {bodies} bodies were rewritten");
}
