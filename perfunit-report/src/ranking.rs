//! Hot functions over all tests by the score of Zhou and Li: lines for people, a list for programs.

use super::explanations;
use super::impact::{self, Spread};
use super::terminal::{DIM, INDENT, STRONG, Screen, Text};
use super::text::TextOptions;
use super::wire::{SCHEMA_VERSION, finite, pretty};
use perfunit_model::{Engine, Forest, Function, Ranked, format};
use serde::{Deserialize, Serialize};

/// Functions shown without `--verbose`.
const SHOWN: usize = 20;

/// Formats the ranking, then the merged trees of all tests.
pub fn text(ranking: &[Ranked], trees: &Forest, options: &TextOptions) -> String {
    let mut screen = Screen::new(options.width, options.glyphs);
    let tests = trees.nodes.first().map_or(0, |root| root.tests);
    let text = format!("{} of {}", format::count(ranking.len(), "function"), format::count(tests, "test"));
    screen.status("Hot", STRONG, &Text::plain(text));
    let width = format::cost_width(trees.engine);
    let header = format!(
        "{:>6} {:>6} {:>9}  {:>width$} {:>width$} {:>width$}  {:>5}  function",
        "score", "R", "deviation", "max", "mean", "min", "tests"
    );
    screen.line(&Text::default().pad(INDENT).with(DIM, header));
    let shown = options.detail.limit(SHOWN);
    for ranked in ranking.iter().take(shown) {
        let row = row(ranked, trees.engine, &screen);
        screen.line(&row);
    }
    screen.more(INDENT, ranking.len().saturating_sub(shown));
    impact::write_forest(trees, &mut screen);
    screen.finish()
}

fn row(ranked: &Ranked, engine: Engine, screen: &Screen) -> Text {
    let [max, mean, min] = [ranked.self_cost.max, ranked.self_cost.mean, ranked.self_cost.min]
        .map(|cost| format::cost(cost, engine, screen.glyphs()));
    let (score, width) = (ranked.score, format::cost_width(engine));
    let figures = format!(
        "{:>6.3} {:>6.3} {:>9.3}  {max:>width$} {mean:>width$} {min:>width$}  {:>5}  ",
        score.value, score.distance, score.deviation, ranked.tests
    );
    Text::default().pad(INDENT).and(figures).join(impact::name(&ranked.function))
}

/// Returns ranking and trees as a JSON document.
pub fn json(ranking: &[Ranked], trees: &Forest) -> String {
    let document = Document {
        schema_version: SCHEMA_VERSION,
        unit: explanations::unit(trees.engine).to_owned(),
        ranking: ranking.iter().map(Place::from).collect(),
        functions: trees.functions.clone(),
        nodes: impact::nodes(trees),
    };
    pretty(&document)
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Document {
    pub schema_version: u32,
    /// Unit of all costs: `ns` or `instructions`.
    pub unit: String,
    /// The functions, the hottest first.
    pub ranking: Vec<Place>,
    /// The functions in the tree.
    pub functions: Vec<Function>,
    /// The merged trees of all tests; the first node is the tests themselves.
    pub nodes: Vec<impact::Node>,
}

/// A function's place in the ranking.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Place {
    pub function: Function,
    /// `r` minus the standard deviation.
    pub score: Option<f64>,
    /// Quadratic mean of the function's own share of cost in the tests that call it.
    pub r: Option<f64>,
    /// Standard deviation of these shares.
    pub deviation: Option<f64>,
    /// The function's own cost per run, over these tests.
    pub self_cost: Spread,
    /// Number of tests that call the function.
    pub tests: usize,
}

impl From<&Ranked> for Place {
    fn from(ranked: &Ranked) -> Self {
        Self {
            function: ranked.function.clone(),
            score: finite(ranked.score.value),
            r: finite(ranked.score.distance),
            deviation: finite(ranked.score.deviation),
            self_cost: ranked.self_cost.into(),
            tests: ranked.tests,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::Detail;
    use perfunit_explain::{forest, ranking};
    use perfunit_model::format::{Glyphs, without_escapes};
    use perfunit_model::samples::explanation;
    use perfunit_model::{Profiles, Side};

    const ASCII: TextOptions = TextOptions { width: 0, detail: Detail::Brief, glyphs: Glyphs::Ascii };

    fn profiles() -> Profiles {
        let mut other = explanation();
        other.test.name = "parser::tests::short".into();
        Profiles::of(Engine::Probes, [&explanation(), &other], Side::Base)
    }

    #[test]
    fn the_ranking_stands_above_the_tree() {
        let shown = text(&ranking(&profiles()), &forest(&profiles()), &ASCII);
        let expected = "         Hot  2 functions of 2 tests
               score      R deviation        max      mean       min  tests  function
               0.500  0.500     0.000     500 ns    500 ns    500 ns      2  lexer::word (src/lexer.rs:12)
               0.400  0.400     0.000     400 ns    400 ns    400 ns      2  parser::Parser::line (src/parser.rs:88)
       Trees  all tests merged, one run of each
             100.0 %   2.00 us      2  (the tests)
              90.0 %   1.80 us      2    parser::Parser::line (src/parser.rs:88) x2
              50.0 %   1.00 us      2      lexer::word (src/lexer.rs:12) x6
";
        assert_eq!(without_escapes(&shown), expected);
    }

    #[test]
    fn the_document_can_be_read_again() {
        let document: Document = serde_json::from_str(&json(&ranking(&profiles()), &forest(&profiles()))).unwrap();
        assert_eq!(document.ranking[0].function.name, "lexer::word");
        assert_eq!((document.nodes.len(), document.nodes[0].function, document.nodes[1].share), (3, None, Some(0.9)));
    }
}
