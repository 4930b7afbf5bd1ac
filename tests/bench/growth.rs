//! Does `--growth` find work that grows with another power, and nothing else? Plants work with different laws on base
//! and head into all functions of a clone whose first argument with a length is a slice or a string.
//!
//! `cargo bench --bench growth -- FOLDER... [OPTIONS] [-- OPTIONS OF THE TOOL]`

mod comparison;
mod copy;
mod invocation;
#[expect(dead_code, reason = "no repositories are created")]
mod repository;
#[expect(dead_code, reason = "this calls `diff`, not `list`")]
mod tool;

use clap::Parser;
use comparison::Answer;
use invocation::Place;
use perfunit_decide as decide;
use perfunit_model::Function;
use perfunit_report::json::Document;
use perfunit_report::wire::Interval;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use syn::visit::{self, Visit};
use syn::{Attribute, Block, FnArg, Pat, Signature, Type};
use tool::Tool;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Folders of code that no test of the crate runs, or that is test code.
const LEFT_ALONE: [&str; 6] = ["tests", "benches", "examples", "fuzz", "fuzz_targets", "testdata"];

// All except the constants do the same amount of work at a length of 16.
const NOTHING: &str = "0";
const CONSTANT: &str = "200";
const LOGARITHM: &str = "13 * (64 - n.leading_zeros() as u64)";
const LINEAR: &str = "4 * n";
const LOGLINEAR: &str = "4 * n * (64 - n.leading_zeros() as u64) / 5";
const SQUARE: &str = "n * n / 4";
const CUBE: &str = "n * n * n / 64";

/// Planted work on base and head; for a changed power, the exponents in the order of [`OF`], `None` where the work is
/// not a power.
const CHANGES: [(&str, &str, &str, Option<Powers>); 11] = [
    ("n to n^2", LINEAR, SQUARE, Some([Some(1.0), Some(2.0), Some(2.0)])),
    ("n to n + 0.1 n^2", LINEAR, "4 * n + n * n / 40", Some([Some(1.0), None, Some(2.0)])),
    ("n log n to n^2", LOGLINEAR, SQUARE, Some([None, Some(2.0), Some(2.0)])),
    ("n^2 to n^3", SQUARE, CUBE, Some([Some(2.0), Some(3.0), Some(3.0)])),
    ("log n to n", LOGARITHM, LINEAR, Some([None, Some(1.0), Some(1.0)])),
    ("nothing to n^2", NOTHING, SQUARE, Some([None, Some(2.0), Some(2.0)])),
    ("n to n log n", LINEAR, LOGLINEAR, None),
    ("n to 3 n", LINEAR, "12 * n", None),
    ("n^2 to 3 n^2", SQUARE, "3 * n * n / 4", None),
    ("n to n + constant", LINEAR, "4 * n + 200", None),
    ("nothing to constant", NOTHING, CONSTANT, None),
];

type Powers = [Option<f64>; 3];

/// Plant changes of exponent and changes of factor.
#[derive(Debug, Parser)]
#[command(name = "growth", max_term_width = 100)]
struct Arguments {
    /// Clones to take the code from; they are copied, never changed
    #[arg(required = true)]
    clones: Vec<PathBuf>,
    /// Only changes with this text in their name
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    #[command(flatten)]
    place: Place,
}

/// Results for the functions with planted work.
#[derive(Debug, Clone, Copy, Default)]
struct Row {
    planted: usize,
    found: usize,
    /// Functions without a result, or that no test calls.
    unseen: usize,
    /// Named functions without planted work.
    others: usize,
}

fn main() -> Result<()> {
    invocation::arguments("growth -- FOLDER... [OPTIONS]").map_or(Ok(()), |arguments| run(&arguments))
}

fn run(arguments: &Arguments) -> Result<()> {
    let place = arguments.place.work()?;
    let tool = arguments.place.tool(&["--growth".to_owned()])?;
    let mut totals: BTreeMap<&str, Row> = BTreeMap::new();
    let mut fitted: BTreeMap<&str, Vec<Fitted>> = BTreeMap::new();
    println!("{:<16}{:<24}{HEADING}", "crate", "change");
    for clone in &arguments.clones {
        let clone = copy::typed(clone);
        let name = clone.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let tree = copy::of(&clone, &place.as_ref().join(&name))?;
        let commit = copy::git(&tree, &["rev-parse", "HEAD"])?;
        for (change, base, head, planted) in &CHANGES {
            if arguments.only.as_ref().is_some_and(|only| !change.contains(only.as_str())) {
                continue;
            }
            copy::git(&tree, &["checkout", "--quiet", "--force", "--detach", &commit])?;
            match plant(&tool, &tree, base, head)? {
                Ok(said) => {
                    println!("{name:<16}{change:<24}{}", cells(said.row));
                    for place in said.missed {
                        println!("    {place}: missed");
                    }
                    totals.entry(change).or_default().add(said.row);
                    for (place, exponents) in said.exponents {
                        let [base, head, more] = exponents.map(|of| of.estimate.unwrap_or(f64::NAN));
                        println!("    {place}: {base:.2} to {head:.2}, {more:.2} more");
                        for ((of, exponent), planted) in OF.iter().zip(exponents).zip(planted.unwrap_or_default()) {
                            let planted = planted.and_then(|planted| Fitted::of(exponent, planted));
                            fitted.entry(of).or_default().extend(planted);
                        }
                    }
                }
                Err(why) => println!("{name:<16}{change:<24}{why}"),
            }
        }
    }
    println!();
    for (change, _, _, other_power) in &CHANGES {
        let Some(row) = totals.get(change) else { continue };
        println!("{:<16}{change:<24}{}", if other_power.is_some() { "to be found" } else { "to be left" }, cells(*row));
    }
    println!(
        "(not known: lengths over less than four octaves, or not called; missed: at most so many, for functions that are"
    );
    println!("compared are counted and not named)");
    for (of, fitted) in fitted {
        println!("{}", errors(of, &fitted));
    }
    Ok(())
}

/// Values with an exponent.
const OF: [&str; 3] = ["base", "head", "what head does more"];

const HEADING: &str = " planted   found not known    missed   others";

fn cells(row: Row) -> String {
    let missed = row.planted - row.found - row.unseen;
    format!("{:>8}{:>8}{:>10}{missed:>10}{:>9}", row.planted, row.found, row.unseen, row.others)
}

/// The fitted exponent of a function with a planted power.
struct Fitted {
    error: f64,
    /// True if the planted exponent is in the interval.
    is_held: bool,
}

impl Fitted {
    fn of(fitted: Interval, planted: f64) -> Option<Self> {
        let is_held = fitted.low? <= planted && planted <= fitted.high?;
        Some(Self { error: fitted.estimate? - planted, is_held })
    }
}

/// Formats the errors of fitted exponents.
fn errors(of: &str, fitted: &[Fitted]) -> String {
    let mut sizes: Vec<f64> = fitted.iter().map(|fitted| fitted.error.abs()).collect();
    let mut at = |part| decide::quantile(&mut sizes, part);
    let mean = fitted.iter().map(|fitted| fitted.error).sum::<f64>() / fitted.len().max(1) as f64;
    let held = fitted.iter().filter(|fitted| fitted.is_held).count();
    format!(
        "exponents of {of}: {}, error {:.3} in the median, {:.3} at 90 %, {mean:+.3} in the mean, in the interval {held}",
        fitted.len(),
        at(0.5),
        at(0.9),
    )
}

/// Results for a version with planted work.
struct Said {
    row: Row,
    /// Places of functions that may have been missed.
    missed: Vec<String>,
    /// Exponents of the found functions, with their places, in the order of [`OF`].
    exponents: Vec<(String, [Interval; 3])>,
}

impl Row {
    fn add(&mut self, more: Self) {
        self.planted += more.planted;
        self.found += more.found;
        self.unseen += more.unseen;
        self.others += more.others;
    }
}

/// Compares a version with one law in all functions with a version with another. Fails with the reason if this is
/// impossible.
fn plant(tool: &Tool, tree: &Path, base: &str, head: &str) -> Result<std::result::Result<Said, String>> {
    let paths = copy::git(tree, &["ls-files", "*.rs"])?;
    let sources: Vec<(&str, String)> = paths
        .lines()
        .filter(|path| !Path::new(path).iter().any(|part| LEFT_ALONE.iter().any(|left| part == *left)))
        .filter_map(|path| Some((path, fs::read_to_string(tree.join(path)).ok()?)))
        .collect();
    let mut planted: BTreeSet<(String, usize)> = BTreeSet::new();
    for (law, message) in [(base, "base"), (head, "head")] {
        for (path, text) in &sources {
            let (edited, lines) = with_work(text, law);
            fs::write(tree.join(path), edited)?;
            if message == "head" {
                planted.extend(lines.into_iter().map(|line| ((*path).to_owned(), line)));
            }
        }
        repository::commit(tree, message)?;
    }
    let document = match comparison::compare::<Document>(tool, tree, "HEAD~1..HEAD", &["--seed", "1"])? {
        Answer::Compared(document) => document,
        Answer::Refused(why) => return Ok(Err(why)),
    };
    let Some(growth) = document.growth else { return Ok(Err("no word of growth".to_owned())) };
    let place = |function: &Function| (function.file.clone(), function.line);
    let found: BTreeSet<(String, usize)> = growth.findings.iter().map(|finding| place(&finding.function)).collect();
    let unseen: BTreeSet<(String, usize)> = growth.unseen.iter().map(|unseen| place(&unseen.unseen.function)).collect();
    let silent: Vec<_> = planted.iter().filter(|place| !found.contains(*place) && !unseen.contains(*place)).collect();
    // Functions that no test calls have no result and are not compared.
    let missed = silent.len().min(growth.compared.saturating_sub(growth.findings.len()));
    let found_here = planted.intersection(&found).count();
    let row = Row {
        planted: planted.len(),
        found: found_here,
        unseen: planted.len() - found_here - missed,
        others: found.difference(&planted).count(),
    };
    let places = if missed == 0 { Vec::new() } else { silent };
    let of_planted = growth.findings.into_iter().filter(|finding| planted.contains(&place(&finding.function)));
    Ok(Ok(Said {
        row,
        missed: places.into_iter().map(|(file, line)| format!("{file}:{line}")).collect(),
        exponents: of_planted
            .map(|finding| {
                let Function { file, line, .. } = &finding.function;
                (format!("{file}:{line}"), [finding.exponent.base, finding.exponent.head, finding.added])
            })
            .collect(),
    }))
}

/// Adds work to each function with a length. Returns the text and the lines of their names.
fn with_work(text: &str, law: &str) -> (String, Vec<usize>) {
    // The parser skips both, so its offsets would differ from those of the text.
    let is_cut = text.starts_with('\u{feff}') || text.starts_with("#!/");
    let Some(file) = syn::parse_str::<syn::File>(text).ok().filter(|_| !is_cut) else {
        return (text.to_owned(), Vec::new());
    };
    let mut finder = Finder::default();
    finder.visit_file(&file);
    finder.found.sort_unstable();
    let (mut edited, mut done) = (String::with_capacity(2 * text.len()), 0);
    for (start, argument, _) in &finder.found {
        edited.push_str(&text[done..*start]);
        let count = format!("let n = {argument}.len() as u64; let mut i = 0_u64;");
        let _ = write!(edited, " {{ {count} while i < {law} {{ ::core::hint::black_box(i); i += 1; }} }}");
        done = *start;
    }
    edited.push_str(&text[done..]);
    (edited, finder.found.into_iter().map(|(_, _, line)| line).collect())
}

/// Functions with a length: offset of the body, the argument, and the line of the name.
#[derive(Default)]
struct Finder {
    found: Vec<(usize, String, usize)>,
}

impl Finder {
    fn function(&mut self, attributes: &[Attribute], signature: &Signature, block: &Block) {
        let is_plain = signature.constness.is_none() && signature.asyncness.is_none();
        let is_test =
            attributes.iter().any(|attribute| attribute.path().segments.iter().any(|part| part.ident == "test"));
        // Functions that return an iterator do their work later, unlike the planted work.
        let argument = signature.inputs.iter().find_map(sized).filter(|_| is_plain && !is_test);
        if let Some(argument) = argument {
            let start = block.brace_token.span.open().byte_range().end;
            self.found.push((start, argument, signature.ident.span().start().line));
        }
    }
}

/// Returns the name of an argument that is a slice or a string.
fn sized(argument: &FnArg) -> Option<String> {
    let FnArg::Typed(typed) = argument else { return None };
    let (Pat::Ident(name), Type::Reference(reference)) = (&*typed.pat, &*typed.ty) else { return None };
    let has_length = match &*reference.elem {
        Type::Slice(_) => true,
        Type::Path(path) => path.path.is_ident("str"),
        _ => false,
    };
    has_length.then(|| name.ident.to_string())
}

impl<'ast> Visit<'ast> for Finder {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.attrs, &item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.attrs, &item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    /// Test code is the same on both sides.
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let is_test = item.attrs.iter().any(|attribute| {
            attribute.path().is_ident("cfg")
                && attribute.meta.require_list().is_ok_and(|list| list.tokens.to_string() == "test")
        });
        if !is_test {
            visit::visit_item_mod(self, item);
        }
    }
}
