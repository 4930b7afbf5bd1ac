//! Normalizes code: the tokens of an item as one string, so that equal strings mean equal code.

use proc_macro2::{Delimiter, Group, Ident, Spacing, TokenStream, TokenTree};
use quote::ToTokens;

/// The relevant tokens of an item, and the names among them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Code {
    /// Tokens, separated by spaces, without comments and optional commas, and with documentation only if a macro may
    /// read it.
    pub text: String,
    /// Identifiers except keywords, each once, sorted.
    pub names: Vec<String>,
}

impl Code {
    /// Normalizes a syntax tree or token stream.
    pub fn of(tokens: impl ToTokens) -> Self {
        Writer::default().write(tokens)
    }

    /// Normalizes tokens including documentation, for input of macros: clap's derives turn it into help texts.
    pub fn with_documentation(tokens: impl ToTokens) -> Self {
        Writer { documentation: Documentation::Counts, ..Writer::default() }.write(tokens)
    }

    pub fn push(&mut self, other: Code) {
        self.text.push_str(&other.text);
        self.names.extend(other.names);
        self.names.sort_unstable();
        self.names.dedup();
    }

    /// Checks whether the code contains the identifier.
    pub fn mentions(&self, ident: &str) -> bool {
        self.names.binary_search_by(|name| name.as_str().cmp(ident)).is_ok()
    }
}

/// Delimiter of a token list, which decides about a trailing comma.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Enclosing {
    /// Brackets, braces or the parentheses of a call: `f(a,)` equals `f(a)`.
    List,
    /// Other parentheses: `(a,)` is a tuple, `(a)` is not.
    Parentheses,
    /// No delimiter, or one in which commas matter.
    Other,
}

/// Treatment of documentation.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Documentation {
    #[default]
    Ignored,
    Counts,
}

#[derive(Default)]
struct Writer {
    text: String,
    names: Vec<String>,
    documentation: Documentation,
}

impl Writer {
    fn write(mut self, tokens: impl ToTokens) -> Code {
        self.stream(tokens.into_token_stream(), Enclosing::Other);
        self.names.sort_unstable();
        self.names.dedup();
        Code { text: self.text, names: self.names }
    }

    fn stream(&mut self, tokens: TokenStream, enclosing: Enclosing) {
        let trees: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < trees.len() {
            let documentation = documentation(&trees[at..]);
            if documentation > 0 && self.documentation == Documentation::Ignored {
                at += documentation;
            } else {
                if !is_idle_comma(&trees, at, enclosing) {
                    self.tree(&trees, at);
                }
                at += 1;
            }
        }
    }

    fn tree(&mut self, trees: &[TokenTree], at: usize) {
        match &trees[at] {
            TokenTree::Group(group) => self.group(group, &trees[..at]),
            TokenTree::Ident(ident) => {
                let ident = bare(ident);
                self.text.push_str(&ident);
                self.text.push(' ');
                if !is_keyword(&ident) {
                    self.names.push(ident);
                }
            }
            TokenTree::Punct(punct) => {
                self.text.push(punct.as_char());
                // `a & &b` differs from `a && b`, but `,-` equals `, -`.
                if punct.spacing() == Spacing::Alone || matches!(punct.as_char(), ',' | ';') {
                    self.text.push(' ');
                }
            }
            TokenTree::Literal(literal) => {
                self.text.push_str(&literal.to_string());
                self.text.push(' ');
            }
        }
    }

    fn group(&mut self, group: &Group, before: &[TokenTree]) {
        let is_in_macro = is_in_macro(before);
        let (open, close) = match group.delimiter() {
            Delimiter::Parenthesis => ("( ", ") "),
            Delimiter::Brace => ("{ ", "} "),
            Delimiter::Bracket => ("[ ", "] "),
            Delimiter::None => ("", ""),
        };
        let enclosing = match group.delimiter() {
            Delimiter::Parenthesis if !is_called(before.last()) => Enclosing::Parentheses,
            Delimiter::None => Enclosing::Other,
            // A custom macro may distinguish a trailing comma.
            _ if is_in_macro && !is_of_std(before) => Enclosing::Other,
            _ => Enclosing::List,
        };
        let outside = self.documentation;
        if is_in_macro {
            self.documentation = Documentation::Counts;
        }
        self.text.push_str(open);
        self.stream(group.stream(), enclosing);
        self.text.push_str(close);
        self.documentation = outside;
    }
}

/// Returns an identifier without `r#`.
pub fn bare(ident: &Ident) -> String {
    let ident = ident.to_string();
    ident.strip_prefix("r#").map_or(ident.clone(), str::to_owned)
}

/// Checks whether a group after these tokens contains the arguments or the definition of a macro.
fn is_in_macro(before: &[TokenTree]) -> bool {
    match before {
        [.., TokenTree::Ident(_), bang] => is_punct(Some(bang), '!'),
        [.., TokenTree::Ident(word), _, TokenTree::Ident(_)] => word == "macro_rules",
        _ => false,
    }
}

/// Checks for macros of the standard library, which ignore a trailing comma.
fn is_of_std(before: &[TokenTree]) -> bool {
    const KNOWN: [&str; 25] = [
        "assert",
        "assert_eq",
        "assert_ne",
        "cfg",
        "concat",
        "dbg",
        "debug_assert",
        "debug_assert_eq",
        "debug_assert_ne",
        "env",
        "eprint",
        "eprintln",
        "format",
        "format_args",
        "include_bytes",
        "include_str",
        "matches",
        "panic",
        "print",
        "println",
        "todo",
        "unreachable",
        "vec",
        "write",
        "writeln",
    ];
    matches!(before, [.., TokenTree::Ident(name), _] if KNOWN.contains(&bare(name).as_str()))
}

/// Checks whether parentheses after this token contain arguments.
fn is_called(before: Option<&TokenTree>) -> bool {
    match before {
        Some(TokenTree::Ident(ident)) => !is_keyword(&bare(ident)),
        Some(TokenTree::Punct(punct)) => punct.as_char() == '!',
        _ => false,
    }
}

fn is_punct(tree: Option<&TokenTree>, char: char) -> bool {
    matches!(tree, Some(TokenTree::Punct(punct)) if punct.as_char() == char)
}

fn is_brace(tree: Option<&TokenTree>) -> bool {
    matches!(tree, Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace)
}

/// Checks for a comma that the formatter may add or remove.
fn is_idle_comma(trees: &[TokenTree], at: usize, enclosing: Enclosing) -> bool {
    if !is_punct(trees.get(at), ',') {
        return false;
    }
    let before = |distance: usize| at.checked_sub(distance).and_then(|at| trees.get(at));
    let after = trees.get(at + 1);
    let last = match enclosing {
        Enclosing::List => after.is_none(),
        // A tuple with two elements stays a tuple.
        Enclosing::Parentheses => after.is_none() && trees[..at].iter().any(|tree| is_punct(Some(tree), ',')),
        Enclosing::Other => false,
    };
    // `<A, B,>`; `where T: Copy, {`; `where T: Copy, ;`; `A => {}, B`.
    let ends_generics = is_punct(after, '>');
    let ends_bounds = is_brace(after) || is_punct(after, ';');
    let ends_arm = is_brace(before(1)) && is_punct(before(2), '>') && is_punct(before(3), '=');
    last || ends_generics || ends_bounds || ends_arm
}

/// Returns the number of tokens of a documentation attribute at the start: `#[doc ..]`, `#![doc ..]`, `#[cfg_attr(..,
/// doc ..)]`.
fn documentation(trees: &[TokenTree]) -> usize {
    if !is_punct(trees.first(), '#') {
        return 0;
    }
    let at = if is_punct(trees.get(1), '!') { 2 } else { 1 };
    match trees.get(at) {
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Bracket && is_doc(group.stream()) => at + 1,
        _ => 0,
    }
}

fn is_doc(meta: TokenStream) -> bool {
    let mut trees = meta.into_iter();
    let Some(TokenTree::Ident(ident)) = trees.next() else { return false };
    if ident == "doc" {
        return true;
    }
    match trees.next() {
        Some(TokenTree::Group(group)) if ident == "cfg_attr" => holds_only_doc(group.stream()),
        _ => false,
    }
}

/// Checks whether all attributes in the arguments of a `cfg_attr` are documentation.
fn holds_only_doc(arguments: TokenStream) -> bool {
    let trees: Vec<TokenTree> = arguments.into_iter().collect();
    let attributes: Vec<_> =
        trees.split(|tree| is_punct(Some(tree), ',')).skip(1).filter_map(<[TokenTree]>::first).collect();
    !attributes.is_empty() && attributes.iter().all(|first| matches!(first, TokenTree::Ident(ident) if ident == "doc"))
}

/// Checks for words that never name an item.
fn is_keyword(word: &str) -> bool {
    matches!(
        word,
        "as" | "async"
            | "await"
            | "break"
            | "const"
            | "continue"
            | "crate"
            | "dyn"
            | "else"
            | "enum"
            | "extern"
            | "false"
            | "fn"
            | "for"
            | "if"
            | "impl"
            | "in"
            | "let"
            | "loop"
            | "match"
            | "mod"
            | "move"
            | "mut"
            | "pub"
            | "ref"
            | "return"
            | "self"
            | "Self"
            | "static"
            | "struct"
            | "super"
            | "trait"
            | "true"
            | "type"
            | "unsafe"
            | "use"
            | "where"
            | "while"
            | "yield"
            | "_"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(source: &str) -> Code {
        Code::of(source.parse::<TokenStream>().unwrap())
    }

    #[track_caller]
    fn same(left: &str, right: &str) {
        assert_eq!(code(left).text, code(right).text);
    }

    #[track_caller]
    fn differ(left: &str, right: &str) {
        assert_ne!(code(left).text, code(right).text);
    }

    #[test]
    fn comments_and_white_space_do_not_count() {
        same("fn f() { 1 + 2 }", "// why\nfn f()\n{ /* one */ 1\n + 2 }");
    }

    #[test]
    fn documentation_does_not_count() {
        same("struct S { a: u8 }", "/// S\n#[doc(hidden)] struct S { /** a */ a: u8 }");
        same("mod m {}", "mod m { //! m\n }");
        same("fn f() {}", "#[cfg_attr(docsrs, doc(cfg(feature = \"x\")))] fn f() {}");
    }

    #[test]
    fn documentation_counts_where_a_macro_may_read_it() {
        differ("m! { struct S { a: u8 } }", "m! { struct S { /** a */ a: u8 } }");
        differ("macro_rules! m { () => { struct S; } }", "macro_rules! m { () => { /** S */ struct S; } }");
        same("fn f() { m!(a); struct S; }", "fn f() { m!(a); /** S */ struct S; }");
        let documented = |source: &str| Code::with_documentation(source.parse::<TokenStream>().unwrap()).text;
        assert_ne!(documented("enum E { A }"), documented("enum E { /** A */ A }"));
        assert_eq!(documented("enum E { /** A */ A }"), documented("enum E {\n    #[doc = \" A \"]\n    A,\n}"));
    }

    #[test]
    fn other_attributes_count() {
        differ("fn f() {}", "#[inline] fn f() {}");
        differ("fn f() {}", "#[cfg_attr(docsrs, doc(hidden), inline)] fn f() {}");
    }

    #[test]
    fn commas_of_the_formatter_do_not_count() {
        same("f(a, b,)", "f(a, b)");
        same("f(a,)", "f(a)");
        same("[a, b,]", "[a, b]");
        same("match a { b => {}, c => d, }", "match a { b => {} c => d }");
        same("struct S<A, B,>(A, B,);", "struct S<A, B>(A, B);");
        same("fn f<T>() where T: Copy, {}", "fn f<T>() where T: Copy {}");
        same("assert_eq!(a,-1)", "assert_eq!(a, -1,)");
    }

    #[test]
    fn own_macros_may_have_a_case_for_a_comma_at_the_end() {
        differ("n!(a)", "n!(a,)");
        same("n!(f(a))", "n!(f(a,))");
    }

    #[test]
    fn a_tuple_of_one_is_not_a_parenthesis() {
        differ("let a = (b,);", "let a = (b);");
        differ("return (b,);", "return (b);");
    }

    #[test]
    fn operators_keep_their_spacing() {
        differ("a & &b", "a && b");
    }

    #[test]
    fn values_count() {
        differ("const A: u8 = 1;", "const A: u8 = 2;");
        differ("f(\"a\")", "f(\"a \")");
    }

    #[test]
    fn names_are_the_identifiers_also_inside_macros() {
        let code = code("fn f() { assert_eq!(r#type::parse(self), \"none\") }");
        assert_eq!(code.names, ["assert_eq", "f", "parse"]);
        assert!(code.mentions("parse") && !code.mentions("none"));
    }
}
