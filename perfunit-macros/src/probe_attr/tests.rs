//! Token-by-token expansions, and functions that get no probe. `tests/probe.rs` checks that the results compile and
//! run.

use super::*;

const SITE: &str = "{ static __PERFUNIT_SITE: ::__perfunit_runtime::__private::Site =
    ::__perfunit_runtime::__private::Site::new(7u64); &__PERFUNIT_SITE }";

fn tokens(code: &str) -> TokenStream {
    code.parse().unwrap()
}

/// Parsed and generated tokens differ in their spacing.
fn without_spaces(tokens: &TokenStream) -> String {
    tokens.to_string().replace(' ', "")
}

/// Checks an expansion. In `expected`, SITE, SOME, NONE and `PRIVATE` stand for their paths.
#[track_caller]
fn check(item: &str, expected: &str) {
    let expected = expected
        .replace("SITE", SITE)
        .replace("SOME", "::__perfunit_runtime::__private::core::option::Option::Some")
        .replace("NONE", "::__perfunit_runtime::__private::core::option::Option::None")
        .replace("PRIVATE", "::__perfunit_runtime::__private");
    assert_eq!(without_spaces(&expand(&tokens("7u64"), &tokens(item))), without_spaces(&tokens(&expected)));
}

/// Checks a body that follows our first statements.
#[track_caller]
fn check_guarded(head: &str, before: &str, body: &str) {
    check_with_lengths(head, "", before, body);
}

/// Checks the body of a function whose arguments have lengths.
#[track_caller]
fn check_with_lengths(head: &str, lengths: &str, before: &str, body: &str) {
    let counted = format!(
        "{{
            use ::__perfunit_growth::{{Len as _, LenOfBytes as _, LenOfText as _, NoLen as _}};
            static __PERFUNIT_COUNTED: ::__perfunit_growth::Site = ::__perfunit_growth::Site::new(7u64);
            ::__perfunit_growth::Site::enter(&__PERFUNIT_COUNTED, &[{lengths}])
        }}"
    );
    check(
        &format!("{head} {{ {before} {body} }}"),
        &format!(
            "{head} {{ {before}
                #[cfg(not(perfunit_growth))] let __perfunit_guard = PRIVATE::Site::enter(SITE);
                #[cfg(perfunit_growth)] let __perfunit_guard = {counted};
            {body} }}"
        ),
    );
}

#[track_caller]
fn check_passes_through(item: &str) {
    check(item, item);
}

#[test]
fn a_guard_comes_before_the_body() {
    check_guarded("fn a()", "", "");
    check_with_lengths(
        "#[inline] #[doc = \"x\"] pub(crate) unsafe extern \"C\" fn a<'b, T: C>(self) -> ! where T: D",
        "(&&&&::__perfunit_growth::Of(&self)).perfunit_length()",
        "",
        "loop {}",
    );
    check_guarded("fn a()", "#![allow(x)] #![doc = \"y\"]", "#[z] let b = !c;");
}

#[test]
fn arguments_with_names_are_asked_for_their_lengths() {
    let length = |name: &str| format!("(&&&&::__perfunit_growth::Of(&{name})).perfunit_length()");
    check_with_lengths("fn a(b: u8) -> u8", &length("b"), "", "let c = b; c");
    let (text, none) = (length("text"), "::__perfunit_runtime::__private::core::option::Option::None");
    check_with_lengths(
        "fn a(&mut self, (b, c): (B, C), mut text: &str)",
        &format!("{}, {none}, {text}", length("self")),
        "",
        "b()",
    );
    check_with_lengths("fn a(#[cfg(x)] b: &str, &c: &u8, ref d: D)", &format!("{none}, {none}, {none}"), "", "");
}

#[test]
fn groups_of_macros_are_tolerated() {
    let group = |code| Group::new(Delimiter::None, tokens(code));
    let (visibility, pattern, ty, body) = (group("pub"), group("(a, b)"), group("(u8, u8)"), group("{ a + b }"));
    let grouped = expand(&tokens("7u64"), &quote!(#visibility fn a(#pattern: #ty) -> u8 #body));
    let plain = expand(&tokens("7u64"), &tokens("pub fn a((a, b): (u8, u8)) -> u8 { a + b }"));
    assert_eq!(without_spaces(&grouped), without_spaces(&plain));
    assert!(plain.to_string().contains("enter"));
}

#[test]
fn a_future_is_made_of_an_async_body() {
    check(
        "pub async fn a<T>(&self, b: T, mut c: u8) -> Result<T, E> { #![x] b? }",
        "pub async fn a<T>(&self, b: T, mut c: u8) -> Result<T, E> {
            #![x]
            PRIVATE::probed(SITE, async move {
                if let SOME(__perfunit_result) = NONE::<Result<T, E>> { return __perfunit_result; }
                let _ = &self;
                let b = b;
                let mut c = c;
                let __perfunit_result: Result<T, E> = { b? };
                __perfunit_result
            }).await
        }",
    );
}

#[test]
fn patterns_move_into_the_future() {
    check(
        "async fn a((b, _): (B, C), #[cfg(x)] #[y] _: D) { b }",
        "async fn a(__perfunit_arg0: (B, C), #[cfg(x)] #[y] __perfunit_arg1: D) {
            PRIVATE::probed(SITE, async move {
                if let SOME(__perfunit_result) = NONE::<()> { return __perfunit_result; }
                let mut __perfunit_arg0 = __perfunit_arg0;
                let (b, _) = __perfunit_arg0;
                #[cfg(x)] let mut __perfunit_arg1 = __perfunit_arg1;
                #[cfg(x)] let _ = __perfunit_arg1;
                let __perfunit_result: () = { b };
                __perfunit_result
            }).await
        }",
    );
}

#[test]
fn types_without_a_name_are_left_to_inference() {
    let body =
        |told: &str, inside: &str| format!("{{ PRIVATE::probed(SITE, async move {{ {told} {inside} }}).await }}");
    let check_output = |output: &str, told: &str, inside: &str| {
        let head = format!("async fn a() -> {output}");
        check(&format!("{head} {{ b() }}"), &(head + &body(told, inside)));
    };
    let result = "let __perfunit_result = { b() }; __perfunit_result";
    check_output("impl Iterator<Item = u8>", "", result);
    check_output("!", "", "{ b() }");
    check_output(
        "Result<(impl A, B), impl C<impl D>>",
        "if let SOME(__perfunit_result) = NONE::<Result<(_, B), _>> { return __perfunit_result; }",
        "let __perfunit_result: Result<(_, B), _> = { b() }; __perfunit_result",
    );
}

#[test]
fn a_function_that_only_makes_a_future_hands_out_a_probed_one() {
    check("fn a() -> impl F { async { b } }", "fn a() -> impl F { PRIVATE::probed(SITE, async { b }) }");
    check(
        "fn a() -> F { Box::pin(async move { b }) }",
        "fn a() -> F { Box::pin(PRIVATE::probed(SITE, async move { b })) }",
    );
    check(
        "fn a() -> F { ::std::boxed::Box::pin(async move { b }) }",
        "fn a() -> F { ::std::boxed::Box::pin(PRIVATE::probed(SITE, async move { b })) }",
    );
    check_guarded("fn a() -> F", "", "b(); Box::pin(async move { c })");
    check_guarded("fn a() -> F", "", "Box::pin(async move { b }, c)");
    check_guarded("fn a() -> F", "", "Box::pin(async move { b }.boxed())");
    check_guarded("fn a() -> F", "", "Box::new(async move { b })");
    check_guarded("fn a() -> F", "", "MyBox::pin(async move { b })");
    check_guarded("fn a() -> F", "", "|| async { b }");
}

#[test]
fn functions_left_out_pass_through() {
    check_passes_through("const fn a() {}");
    check_passes_through("pub const unsafe fn a() {}");
    check_passes_through("#[naked] fn a() {}");
    check_passes_through("#[unsafe(naked)] extern \"C\" fn a() {}");
    check_passes_through("fn a();");
    check_passes_through("#[test] fn a() {}");
    check_passes_through("#[tokio::test(flavor = \"x\")] async fn a() {}");
    check_passes_through("#[bench] fn a(b: &mut B) {}");
    check_passes_through("unsafe extern \"C\" fn a(b: u8, ...) {}");
    check_passes_through("gen fn a() {}");
    check_passes_through("async gen fn a() {}");
    check_passes_through("async fn a() -> impl Fn(&str) -> u8 { b }");
    check_passes_through("async fn a() -> (u8, impl Iterator<Item = impl FnMut(u8)>) { b }");
    check_passes_through("async fn a() -> b!() { c }");
}

#[test]
fn names_that_only_look_like_rules_do_not_count() {
    check_guarded("#[doc = \"naked\"] #[cfg(test)] #[test_case(1)] fn test()", "", "");
}

#[test]
fn what_is_not_understood_passes_through() {
    check_passes_through("");
    check_passes_through("struct A;");
    check_passes_through("struct A { b: u8 }");
    check_passes_through("fn a() {} fn b() {}");
    check_passes_through("impl A { fn b() {} }");
    check_passes_through("maker! {}");
    check_passes_through("fn a() -> [u8; { 3 }]");
    for key in ["", "x", "-1", "1, 2", "1.5", "\"1\"", "18446744073709551616u64"] {
        assert_eq!(expand(&tokens(key), &tokens("fn a() {}")).to_string(), tokens("fn a() {}").to_string(), "{key}");
    }
}

#[test]
fn unknown_syntax_in_a_body_does_not_matter() {
    check_guarded("fn a()", "", "f(3); become => 7");
}
