//! Inserts code into tokens that a macro received, without rebuilding the tokens around.
//!
//! `macro_rules` passes a fragment (`$e:expr`) in an invisible group. rustc respects this group, but ignores invisible
//! groups made by a procedural macro. Taking a stream apart rebuilds the groups of that level: `$e * 2` with `1 + 2`
//! becomes `1 + 2 * 2`. Therefore a stream without insertions is passed on as received. On a level with insertions each
//! invisible group is replaced by parentheses or proven superfluous; if neither is possible, the level keeps its tokens
//! and gets no insertions.
//!
//! The positions come from a syntax tree: [`Insertions::mark`] marks an expression, the tree is printed, and
//! [`Insertions::splice`] compares the printed tokens with the received ones. The insertions are made only if both are
//! equal apart from marks and invisible groups.

use crate::paths;
use proc_macro2::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};
use quote::{quote, ToTokens};
use std::cmp::Reverse;
use syn::{Expr, Path, PathArguments, Type};

/// Word that identifies a mark among printed tokens.
const MARK: &str = "__perfunit_mark";

/// An insertion at an expression.
pub enum Insertion {
    /// `black_box(expr)`.
    Value,
    /// `(*black_box(&expr))`.
    Place,
    /// The message of an assertion, after its condition.
    Message(String),
}

impl Insertion {
    fn around(&self, expr: &TokenStream, span: Span) -> TokenStream {
        match self {
            Self::Value => paths::black_box(expr, span),
            Self::Place => paths::black_box_place(expr, span),
            Self::Message(text) => quote!(#expr, #text),
        }
    }
}

/// Insertions into a piece of code.
#[derive(Default)]
pub struct Insertions {
    all: Vec<Insertion>,
}

impl Insertions {
    /// Returns the tokens of an expression with a mark; nested marks are allowed.
    pub fn mark(&mut self, expr: &impl ToTokens, insertion: Insertion) -> TokenStream {
        let (word, number) = (Ident::new(MARK, Span::call_site()), Literal::usize_unsuffixed(self.all.len()));
        self.all.push(insertion);
        let marked = Group::new(Delimiter::None, quote!(#word #number (#expr)));
        marked.to_token_stream()
    }

    /// Returns the number of insertions.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns `original` with the insertions marked in `printed`; `None` if that changes nothing, or if `printed` is
    /// other code.
    pub fn splice(&self, original: TokenStream, printed: TokenStream) -> Option<TokenStream> {
        self.level(original, printed, Delimiter::Brace).ok()?
    }

    /// Splices a level and the levels below; `None` if it stays unchanged.
    fn level(
        &self,
        original: TokenStream,
        printed: TokenStream,
        around: Delimiter,
    ) -> Result<Option<TokenStream>, Differs> {
        let (received, marked) = (Flat::of_received(original)?, Flat::of_printed(printed)?);
        let mut atoms = Vec::with_capacity(received.atoms.len());
        if received.atoms.len() != marked.atoms.len() {
            return Err(Differs);
        }
        for (ours, theirs) in received.atoms.iter().zip(&marked.atoms) {
            let atom = match (ours, theirs) {
                (TokenTree::Group(ours), TokenTree::Group(theirs)) if ours.delimiter() == theirs.delimiter() => self
                    .level(ours.stream(), theirs.stream(), ours.delimiter())?
                    .map(|stream| regroup(ours, stream).into()),
                (TokenTree::Ident(ours), TokenTree::Ident(theirs)) if ours == theirs => None,
                (TokenTree::Punct(ours), TokenTree::Punct(theirs)) if ours.as_char() == theirs.as_char() => None,
                (TokenTree::Literal(ours), TokenTree::Literal(theirs)) if ours.to_string() == theirs.to_string() => {
                    None
                }
                _ => return Err(Differs),
            };
            atoms.push(Atom { changed: atom.is_some(), tree: atom.unwrap_or_else(|| ours.clone()) });
        }
        if marked.parts.iter().all(Part::is_invisible) && !atoms.iter().any(|atom| atom.changed) {
            return Ok(None);
        }
        let seen =
            |start, end| marked.parts.iter().any(|part| (part.start, part.end) == (start, end) && part.is_invisible());
        let mut parts: Vec<Part> = marked.parts.iter().filter(|part| !part.is_invisible()).cloned().collect();
        parts.extend(received.parts.into_iter().map(|part| Part { parsed: seen(part.start, part.end), ..part }));
        parts.retain(|part| part.start < part.end);
        // Outer parts come first. A mark is outside of an invisible group of the same extent.
        parts.sort_by_key(|part| (part.start, Reverse(part.end), part.is_invisible()));
        let level = Level { insertions: self, atoms, has_statements: around == Delimiter::Brace };
        Ok(level.emit((0, level.atoms.len()), &parts, false))
    }
}

/// Returns the tokens of a level that a macro received, parsed as `T`, so that they can be placed wherever a `T` may
/// be. Returns `None` if a fragment among them would be parsed differently there.
pub fn visible<T: ToTokens>(received: TokenStream, read: &T) -> Option<TokenStream> {
    let (received, printed) = (Flat::of_received(received).ok()?, Flat::of_printed(read.to_token_stream()).ok()?);
    if received.atoms.len() != printed.atoms.len() {
        return None;
    }
    let seen = |part: &Part| printed.parts.iter().any(|other| (other.start, other.end) == (part.start, part.end));
    let mut parts: Vec<Part> = received.parts.into_iter().filter(|part| part.start < part.end).collect();
    for part in &mut parts {
        part.parsed = seen(part);
    }
    parts.sort_by_key(|part| (part.start, Reverse(part.end)));
    let atoms: Vec<Atom> = received.atoms.into_iter().map(|tree| Atom { changed: false, tree }).collect();
    let range = (0, atoms.len());
    Level { insertions: &Insertions::default(), atoms, has_statements: false }.emit(range, &parts, false)
}

/// Returns the token trees of an item up to its body, so that they can be passed on one by one. Returns `None` if a
/// fragment among them may then be parsed differently.
pub fn visible_item(trees: Vec<TokenTree>) -> Option<Vec<TokenTree>> {
    let mut seen = Vec::with_capacity(trees.len());
    for tree in trees {
        match tree {
            TokenTree::Group(group) if group.delimiter() == Delimiter::None => {
                let inside: Vec<TokenTree> = group.stream().into_iter().collect();
                if inside.len() < 2 || is_visibility(&inside) {
                    seen.extend(visible_item(inside)?);
                } else if is_plain_path(&inside) {
                    seen.extend(visible_item(with_turbofish(inside).into_iter().collect())?);
                } else if syn::parse2::<Type>(group.stream()).is_ok() {
                    seen.push(Group::new(Delimiter::Parenthesis, group.stream()).into());
                } else {
                    return None;
                }
            }
            tree => seen.push(tree),
        }
    }
    Some(seen)
}

/// Checks whether each fragment in these tokens, on all levels, means the same without its invisible group.
pub fn is_free_of_fragments(tokens: TokenStream) -> bool {
    tokens.into_iter().all(|tree| match tree {
        TokenTree::Group(group) if group.delimiter() == Delimiter::None => {
            let trees: Vec<TokenTree> = group.stream().into_iter().collect();
            (trees.len() < 2 || is_visibility(&trees) || is_plain_path(&trees)) && is_free_of_fragments(group.stream())
        }
        TokenTree::Group(group) => is_free_of_fragments(group.stream()),
        _ => true,
    })
}

/// Error: the printed tokens differ from the received ones.
struct Differs;

/// A part of a level: an invisible group or a mark.
#[derive(Clone)]
struct Part {
    start: usize,
    end: usize,
    kind: PartKind,
    /// For an invisible group: whether the parser saw a whole expression or type in it.
    parsed: bool,
}

#[derive(Clone)]
enum PartKind {
    /// An invisible group with its tokens.
    Invisible(TokenStream),
    /// A mark with the index of its insertion.
    Mark(usize),
}

impl Part {
    fn is_invisible(&self) -> bool {
        matches!(self.kind, PartKind::Invisible(_))
    }
}

/// Tokens of a level without invisible groups.
#[derive(Default)]
struct Flat {
    atoms: Vec<TokenTree>,
    /// Parts, each before those inside of it.
    parts: Vec<Part>,
}

impl Flat {
    fn of_received(tokens: TokenStream) -> Result<Self, Differs> {
        let mut flat = Self::default();
        flat.add(tokens, false)?;
        Ok(flat)
    }

    fn of_printed(tokens: TokenStream) -> Result<Self, Differs> {
        let mut flat = Self::default();
        flat.add(tokens, true)?;
        Ok(flat)
    }

    fn add(&mut self, tokens: TokenStream, has_marks: bool) -> Result<(), Differs> {
        for tree in tokens {
            let group = match tree {
                TokenTree::Group(group) if group.delimiter() == Delimiter::None => group,
                atom => {
                    self.atoms.push(atom);
                    continue;
                }
            };
            let (inside, kind) = match parse_mark(&group.stream()).filter(|_| has_marks) {
                Some((number, inside)) => (inside, PartKind::Mark(number)),
                None => (group.stream(), PartKind::Invisible(group.stream())),
            };
            let (place, start) = (self.parts.len(), self.atoms.len());
            self.parts.push(Part { start, end: start, kind, parsed: false });
            self.add(inside, has_marks)?;
            self.parts[place].end = self.atoms.len();
        }
        Ok(())
    }
}

/// Parses a mark.
fn parse_mark(tokens: &TokenStream) -> Option<(usize, TokenStream)> {
    let mut trees = tokens.clone().into_iter();
    let (word, number, inside) = (trees.next()?, trees.next()?, trees.next()?);
    match (word, number, inside) {
        (TokenTree::Ident(word), TokenTree::Literal(number), TokenTree::Group(inside)) if word == MARK => {
            Some((number.to_string().parse().ok()?, inside.stream()))
        }
        _ => None,
    }
}

/// A token of a level, or a group with visible delimiters.
struct Atom {
    tree: TokenTree,
    /// True if there are insertions inside.
    changed: bool,
}

/// A level to rebuild.
struct Level<'a> {
    insertions: &'a Insertions,
    atoms: Vec<Atom>,
    has_statements: bool,
}

impl Level<'_> {
    /// Returns the tokens of a range with its parts; `None` if a part must stay invisible. `enclosed` means that the
    /// range is between our delimiters.
    fn emit(&self, (start, end): (usize, usize), parts: &[Part], enclosed: bool) -> Option<TokenStream> {
        let (mut tokens, mut at, mut rest) = (TokenStream::new(), start, parts);
        while let Some((part, later)) = rest.split_first() {
            if part.end > end {
                return None;
            }
            tokens.extend(self.trees(at, part.start));
            let (inside, after) = later.split_at(later.partition_point(|other| other.start < part.end));
            let is_enclosed = enclosed && (part.start, part.end) == (start, end);
            tokens.extend(self.part(part, inside, is_enclosed)?);
            (at, rest) = (part.end, after);
        }
        tokens.extend(self.trees(at, end));
        Some(tokens)
    }

    fn trees(&self, start: usize, end: usize) -> impl Iterator<Item = TokenTree> + '_ {
        self.atoms[start..end].iter().map(|atom| atom.tree.clone())
    }

    fn part(&self, part: &Part, inside: &[Part], enclosed: bool) -> Option<TokenStream> {
        let range = (part.start, part.end);
        let stream = match &part.kind {
            PartKind::Mark(number) => {
                let span = Span::call_site().located_at(self.atoms[part.start].tree.span());
                return Some(self.insertions.all.get(*number)?.around(&self.emit(range, inside, true)?, span));
            }
            PartKind::Invisible(stream) => stream,
        };
        // Received tokens have their own invisible groups.
        let is_unchanged =
            inside.iter().all(Part::is_invisible) && !self.atoms[part.start..part.end].iter().any(|atom| atom.changed);
        let content = |enclosed| if is_unchanged { Some(stream.clone()) } else { self.emit(range, inside, enclosed) };
        if enclosed {
            return content(true);
        }
        let trees: Vec<TokenTree> = self.trees(part.start, part.end).collect();
        let begins_statement = self.has_statements && self.begins_statement(part.start);
        let is_let = matches!(&trees[0], TokenTree::Ident(word) if word == "let");
        if is_let || begins_statement && is_block_like(&trees) {
            // Braces end a statement, an invisible group does not.
            return if begins_statement && self.ends_statement(part.end) { content(false) } else { None };
        }
        if begins_statement && is_macro_call(&trees) {
            // A macro call may expand to statements in statement position, but not as an expression.
            return None;
        }
        if trees.len() == 1 || is_visibility(&trees) {
            return content(false);
        }
        if is_plain_path(&trees) {
            return Some(with_turbofish(trees));
        }
        if !part.parsed {
            return None;
        }
        let mut parentheses = Group::new(Delimiter::Parenthesis, content(true)?);
        parentheses.set_span(Span::mixed_site().located_at(trees[0].span()));
        Some(parentheses.to_token_stream())
    }

    fn begins_statement(&self, start: usize) -> bool {
        let Some(before) = start.checked_sub(1) else { return true };
        match &self.atoms[before].tree {
            TokenTree::Punct(punct) => punct.as_char() == ';',
            // After a block or an attribute.
            TokenTree::Group(group) => group.delimiter() != Delimiter::Parenthesis,
            _ => false,
        }
    }

    /// Checks whether the following code must be a new statement.
    fn ends_statement(&self, end: usize) -> bool {
        match self.atoms.get(end).map(|atom| &atom.tree) {
            None | Some(TokenTree::Literal(_)) => true,
            Some(TokenTree::Punct(punct)) => punct.as_char() == ';',
            Some(TokenTree::Ident(word)) => word != "as",
            Some(TokenTree::Group(group)) => group.delimiter() == Delimiter::Brace,
        }
    }
}

/// Builds a copy of a user's group with other content.
pub fn regroup(group: &Group, stream: TokenStream) -> Group {
    // The origin of a block decides which edition's rules apply to dropping its temporaries.
    let mut made = Group::new(group.delimiter(), stream);
    made.set_span(group.span());
    made
}

/// Checks whether an expression statement of these tokens ends with its braces.
fn is_block_like(trees: &[TokenTree]) -> bool {
    let ends_with_braces =
        matches!(trees.last(), Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace);
    let is_one = |expr: Expr| {
        use Expr::{Block, Const, ForLoop, If, Loop, Match, TryBlock, Unsafe, While};
        matches!(
            expr,
            Block(_) | Const(_) | ForLoop(_) | If(_) | Loop(_) | Match(_) | TryBlock(_) | Unsafe(_) | While(_)
        )
    };
    ends_with_braces && syn::parse2::<Expr>(trees.iter().cloned().collect()).is_ok_and(is_one)
}

fn is_macro_call(trees: &[TokenTree]) -> bool {
    matches!(trees, [.., TokenTree::Ident(_), TokenTree::Punct(bang), TokenTree::Group(_)] if bang.as_char() == '!')
}

/// Checks for the tokens of `pub(..)`.
fn is_visibility(trees: &[TokenTree]) -> bool {
    matches!(trees, [TokenTree::Ident(word), TokenTree::Group(group)]
        if word == "pub" && group.delimiter() == Delimiter::Parenthesis)
}

/// Checks for the tokens of a path, possibly with generic arguments, that means the same wherever a path may be.
fn is_plain_path(trees: &[TokenTree]) -> bool {
    let path = syn::parse2::<Path>(trees.iter().cloned().collect());
    path.is_ok_and(|path| {
        path.segments.iter().all(|segment| !matches!(segment.arguments, PathArguments::Parenthesized(_)))
    })
}

/// Adds `::` before the generic arguments of a path, which expressions need and types may have.
fn with_turbofish(trees: Vec<TokenTree>) -> TokenStream {
    let mut path: Vec<TokenTree> = Vec::with_capacity(trees.len() + 2);
    let mut depth = 0;
    for tree in trees {
        match punct(Some(&tree)) {
            Some('<') => {
                if depth == 0 && punct(path.last()) != Some(':') {
                    path.push(Punct::new(':', Spacing::Joint).into());
                    path.push(Punct::new(':', Spacing::Alone).into());
                }
                depth += 1;
            }
            // Arrows occur in types only.
            Some('>') if punct(path.last()) != Some('-') => depth -= 1,
            _ => {}
        }
        path.push(tree);
    }
    path.into_iter().collect()
}

fn punct(tree: Option<&TokenTree>) -> Option<char> {
    match tree {
        Some(TokenTree::Punct(punct)) => Some(punct.as_char()),
        _ => None,
    }
}
