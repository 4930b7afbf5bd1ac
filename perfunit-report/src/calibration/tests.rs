use super::*;
use crate::text::TextOptions;
use perfunit_model as model;
use perfunit_model::format::without_escapes;

fn tally(experiments: usize, slower: usize) -> Tally {
    Tally {
        experiments,
        slower,
        faster: 0,
        inconclusive: 1,
        pairs: 16 * experiments,
        seconds: 0.25 * experiments as f64,
    }
}

fn calibration(compared: Vec<model::Compared>) -> Calibration {
    let change = Some(model::Change { estimate: 0.0034, low: 0.0033, high: 0.0035 });
    let cell = |name: &str, found, wrong| Cell {
        workload: name.to_owned(),
        change,
        equal_change: change.map(|change| model::Change { estimate: 0.0, ..change }),
        changed: tally(50, found),
        equal: tally(100, wrong),
    };
    let level = model::Level {
        base_operations: 300,
        operations: 301,
        threshold: 0.003,
        cells: vec![cell("add", 50, 0), cell("print", 45, 1)],
        compared,
    };
    Calibration {
        circumstances: model::Circumstances {
            date: "2026-11-21 19:24 UTC".to_owned(),
            tool: "0.1.0".to_owned(),
            rustc: "rustc 1.95.0".to_owned(),
            cpu: "A CPU".to_owned(),
            kernel: "Linux 6.1".to_owned(),
            core: 1,
            paired_address_space: true,
            load_before: Some(1.0),
            load_after: None,
        },
        terms: model::Terms { quick: false, seed: 1, alpha: 0.01, confirmation_alpha: 0.001, verdict_seconds: 10.0 },
        levels: vec![level],
        seconds: 400.0,
        interrupted: false,
    }
}

fn text(calibration: &Calibration, width: usize) -> String {
    let options = TextOptions { width, ..TextOptions::default() };
    without_escapes(&render(&Document::from(calibration), &options))
}

#[test]
fn the_table_shows_rates_with_their_intervals() {
    let text = text(&calibration(Vec::new()), 0);
    let expected = [
        "  effect   test   measured  if equal  F1                   missed                  false alarms           s changed  s equal",
        "  +0.33 %  add    +0.34 %   +0.00 %   100 % [93.5, 100]    0/50  0 % [0, 7.1]      0/100  0 % [0, 3.6]    0.25       0.25",
        "           print  +0.34 %   +0.00 %   94.2 % [83.7, 98.6]  5/50  10 % [3.3, 21.8]  1/100  1 % [0, 5.4]    0.25       0.25",
        "           all                        97.2 % [91.9, 99.3]  5/100  5 % [1.6, 11.3]  1/200  0.5 % [0, 2.8]  0.25       0.25",
    ];
    let table: Vec<&str> = text.lines().skip(4).take(4).collect();
    assert_eq!(table, expected);
    assert!(text.contains("load 1.0 before measuring, - at the end"), "{text}");
    assert!(text.contains("threshold 90 % of the effect, error probability 1 %"), "{text}");
}

#[test]
fn a_narrow_terminal_shows_rates_without_intervals() {
    let text = text(&calibration(Vec::new()), 100);
    assert!(text.contains("  +0.33 %  add    100 % [93.5, 100]    0/50  0 %   0/100  0 %"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn a_comparison_has_a_row_for_each_rule() {
    let compared = model::Compared {
        rule: DecisionRule::MannWhitney,
        processes: Processes::Sequential,
        found: Share { count: 1, of: 4 },
        false_alarms: Share { count: 0, of: 4 },
    };
    let text = text(&calibration(vec![compared]), 0);
    assert!(text.contains("Mann-Whitney        sequential  40 % (75 %, 0 %)"), "{text}");
}

#[test]
fn all_kinds_of_work_together_are_a_row_of_the_document() {
    let document = Document::from(&calibration(Vec::new()));
    assert_eq!(document.levels[0].workloads.len(), 3);
    assert_eq!(document.levels[0].workloads[2].found, Rate::from(Share { count: 95, of: 100 }));
}
