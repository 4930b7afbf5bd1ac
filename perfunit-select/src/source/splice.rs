//! Combines the code of one version of a file with the test code of another.
//!
//! Text is cut and pasted by spans and never reprinted, so everything else keeps its bytes.

use super::attributes::{is_test, is_test_only, outer_attributes};
use super::macros::{makes_tests, take_functions};
use super::modules::without_first_line_script;
use super::normalise::Code;
use super::parse::parse;
use quote::ToTokens;
use std::collections::BTreeMap;
use std::ops::Range;
use syn::{ImplItem, Item, ItemImpl, ItemMacro};

/// Replaces the test items in `code` by those in `tests`. Returns `None` if nothing needs to change: the test items are
/// the same, or one of the files cannot be parsed.
///
/// Test items are tests, macro calls that contain only tests, and everything below a `#[cfg]` that only test builds
/// satisfy, at the top of the file, in inline modules, and in impl blocks. An inline module or impl block that only one
/// of the files has stays unchanged, because the other has no place for its test items.
pub(super) fn splice(code: &str, tests: &str) -> Option<String> {
    let (ours, theirs) = (Parsed::of(code)?, Parsed::of(tests)?);
    if ours.code == theirs.code {
        // Apart from test code only comments differ; with the same lines, the program is also the same.
        return (ours.test_tokens() != theirs.test_tokens()).then(|| tests.to_owned());
    }
    let mut edits: Vec<Edit> = Vec::new();
    for (key, place) in &ours.places {
        let Some(other) = theirs.places.get(key) else { continue };
        if !place.tokens().eq(other.tokens()) {
            edits.extend(place.replaced_by(other, tests));
        }
    }
    if edits.is_empty() {
        return None;
    }
    edits.sort_by_key(|edit| edit.range.start);
    let mut text = code.to_owned();
    for edit in edits.iter().rev() {
        text.replace_range(edit.range.clone(), &edit.text);
    }
    // Verify the result, because the caller relies on it.
    (Parsed::of(&text)?.code == ours.code).then_some(text)
}

/// A file split into code and test items.
struct Parsed {
    /// Places by the names of the enclosing inline modules and impl blocks; the top of the file has none.
    places: BTreeMap<Vec<String>, Place>,
    /// Tokens of the file without its test items.
    code: String,
}

/// The top of a file, an inline module, or the impl blocks with one header.
#[derive(Default)]
struct Place {
    items: Vec<TestItem>,
    /// Position for another item, if there is none yet.
    end: usize,
}

struct TestItem {
    /// Kind and name. An item with the same label is another version of this one.
    label: String,
    tokens: String,
    /// Byte range, including documentation and attributes.
    range: Range<usize>,
}

struct Edit {
    range: Range<usize>,
    text: String,
}

impl Parsed {
    fn of(text: &str) -> Option<Self> {
        let rust = without_first_line_script(text);
        let mut file = parse(rust)?;
        let mut finder = Finder { offset: text.len() - rust.len(), key: Vec::new(), places: BTreeMap::new() };
        finder.place(text.len() - finder.offset, |finder| finder.items(&mut file.items));
        Some(Self { places: finder.places, code: Code::of(file).text })
    }

    fn test_tokens(&self) -> Vec<(&Vec<String>, Vec<&str>)> {
        let tokens = self.places.iter().map(|(key, place)| (key, place.tokens().collect::<Vec<_>>()));
        tokens.filter(|(_, tokens)| !tokens.is_empty()).collect()
    }
}

impl Place {
    fn tokens(&self) -> impl Iterator<Item = &str> {
        self.items.iter().map(|item| item.tokens.as_str())
    }

    /// Returns the edits that replace our items by the other file's. Each goes where its own version was, or after the
    /// item that it follows if it is new. Macros in test code must stay above their uses.
    fn replaced_by(&self, other: &Place, text: &str) -> Vec<Edit> {
        let mut slots: Vec<Vec<&str>> = vec![Vec::new(); self.items.len()];
        let mut taken = vec![false; self.items.len()];
        let (mut leading, mut last) = (Vec::new(), None);
        for item in &other.items {
            let own = (0..self.items.len()).find(|slot| !taken[*slot] && self.items[*slot].label == item.label);
            if let Some(own) = own {
                taken[own] = true;
                last = Some(own);
            }
            let of_item = &text[item.range.clone()];
            match last {
                Some(slot) => slots[slot].push(of_item),
                None => leading.push(of_item),
            }
        }
        if self.items.is_empty() {
            let text = format!("\n{}\n", leading.join("\n\n"));
            return vec![Edit { range: self.end..self.end, text }];
        }
        let first = taken.iter().position(|taken| *taken).unwrap_or_default();
        slots[first].splice(0..0, leading);
        let edits = self.items.iter().zip(slots);
        edits.map(|(item, texts)| Edit { range: item.range.clone(), text: texts.join("\n\n") }).collect()
    }
}

/// Collector that removes test items from a syntax tree and records their positions.
struct Finder {
    /// Number of bytes before the parsed text.
    offset: usize,
    key: Vec<String>,
    places: BTreeMap<Vec<String>, Place>,
}

impl Finder {
    /// Collects the items inside a place that ends here.
    fn place(&mut self, end: usize, inside: impl FnOnce(&mut Self)) {
        let end = end + self.offset;
        self.places.entry(self.key.clone()).or_insert_with(|| Place { items: Vec::new(), end });
        inside(self);
    }

    fn items(&mut self, items: &mut Vec<Item>) {
        items.retain_mut(|item| {
            let is_test_item = match &*item {
                Item::Fn(item) => is_test(&item.attrs),
                Item::Macro(item) => spells_out_only_tests(item),
                _ => false,
            };
            if is_test_item || is_test_only(&outer_attributes(item)) {
                self.note(label(item), item);
                return false;
            }
            match item {
                Item::Mod(item) => {
                    if let Some((brace, items)) = &mut item.content {
                        self.key.push(format!("mod {}", item.ident));
                        self.place(brace.span.close().byte_range().start, |finder| finder.items(items));
                        self.key.pop();
                    }
                }
                Item::Impl(item) => self.impl_block(item),
                _ => {}
            }
            true
        });
    }

    fn impl_block(&mut self, item: &mut ItemImpl) {
        let mut inside = std::mem::take(&mut item.items);
        self.key.push(Code::of(&*item).text);
        self.place(item.brace_token.span.close().byte_range().start, |finder| {
            inside.retain(|item| {
                let is_test_item = is_test_only(&outer_attributes(item));
                if is_test_item {
                    finder.note(member_label(item), item);
                }
                !is_test_item
            });
        });
        self.key.pop();
        item.items = inside;
    }

    fn note(&mut self, label: String, item: &dyn ToTokens) {
        let mut trees = item.to_token_stream().into_iter();
        let Some(first) = trees.next() else { return };
        let start = first.span().byte_range().start;
        let end = trees.last().unwrap_or(first).span().byte_range().end;
        let range = start + self.offset..end + self.offset;
        let item = TestItem { label, tokens: Code::of(item.to_token_stream()).text, range };
        self.places.entry(self.key.clone()).or_default().items.push(item);
    }
}

/// Checks for `proptest! { #[test] fn .. }` and `quickcheck! { fn .. }`.
fn spells_out_only_tests(item: &ItemMacro) -> bool {
    if item.ident.is_some() {
        return false;
    }
    let all_tests = makes_tests(&item.mac.path);
    let (functions, _) = take_functions(item.mac.tokens.clone());
    !functions.is_empty() && functions.iter().all(|function| all_tests || is_test(&function.attributes))
}

fn label(item: &Item) -> String {
    let (kind, name) = match item {
        Item::Fn(item) => ("fn", &item.sig.ident),
        Item::Mod(item) => ("mod", &item.ident),
        Item::Const(item) => ("const", &item.ident),
        Item::Static(item) => ("static", &item.ident),
        Item::Struct(item) => ("type", &item.ident),
        Item::Enum(item) => ("type", &item.ident),
        Item::Type(item) => ("type", &item.ident),
        Item::Trait(item) => ("trait", &item.ident),
        Item::Macro(ItemMacro { ident: Some(ident), .. }) => ("macro", ident),
        Item::Macro(ItemMacro { mac, .. }) => return format!("{}!", mac.path.to_token_stream()),
        Item::Impl(item) => {
            let mut header = item.clone();
            header.items.clear();
            return Code::of(header).text;
        }
        other => return Code::of(other).text,
    };
    format!("{kind} {name}")
}

fn member_label(item: &ImplItem) -> String {
    match item {
        ImplItem::Fn(item) => format!("fn {}", item.sig.ident),
        ImplItem::Const(item) => format!("const {}", item.ident),
        other => Code::of(other).text,
    }
}

#[cfg(test)]
mod tests;
