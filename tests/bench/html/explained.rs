//! An explanation like the tool's, with a responsible function, another one that became faster, and a cause outside of
//! the code.

use perfunit_model::{
    CallNode, Cause, ChangeKind, Changed, Difference, Engine, Explanation, ExplanationNote, Function, Responsibility,
    ResponsibleFunction, Sides, Strategy, TestId, Unprobed,
};
use std::collections::BTreeMap;

/// Half width of the intervals of certain differences, as a fraction.
const UNCERTAIN: f64 = 0.05;

/// Functions by name, file and line.
const FUNCTIONS: [(&str, &str, usize); 6] = [
    ("parser::Parser::line", "src/parser.rs", 88),
    ("lexer::word", "src/lexer.rs", 12),
    ("lexer::Cursor::<'a>::advance", "src/lexer/cursor.rs", 140),
    ("intern::Pool::get_or_insert", "src/intern.rs", 31),
    ("<Vec<Token> as Extend<&Token>>::extend", "src/token.rs", 77),
    ("checksum", "src/lib.rs", 5),
];

/// Function, calls, self time on both sides, children.
type Node = (Option<usize>, [f64; 2], [f64; 2], &'static [usize]);

const NODES: [Node; 8] = [
    (None, [0.0, 0.0], [40.0, 41.0], &[1, 6, 7]),
    (Some(0), [12.0, 12.0], [260.0, 262.0], &[2, 4, 5]),
    (Some(1), [48.0, 48.0], [310.0, 660.0], &[3]),
    (Some(2), [480.0, 720.0], [150.0, 225.0], &[]),
    (Some(3), [48.0, 48.0], [190.0, 140.0], &[]),
    (Some(4), [12.0, 12.0], [60.0, 60.5], &[]),
    (Some(5), [1.0, 1.0], [90.0, 91.0], &[]),
    (None, [0.0, 0.0], [6.0, 6.0], &[]),
];

/// Returns the explanation of a test.
pub fn of(test: &TestId) -> Explanation {
    let sides = |[base, head]: [f64; 2]| Sides { base, head };
    let nodes: Vec<CallNode> = NODES
        .iter()
        .enumerate()
        .map(|(index, (function, calls, own, children))| {
            let total = total(index);
            CallNode {
                function: *function,
                calls: sides(*calls),
                self_cost: sides(*own),
                total_cost: sides(total),
                self_change: difference(own[1] - own[0]),
                total_change: difference(total[1] - total[0]),
                children: children.to_vec(),
            }
        })
        .collect();
    let function = |(name, file, line): &(&str, &str, usize)| Function {
        package: "mycrate".into(),
        file: (*file).into(),
        line: *line,
        name: (*name).into(),
    };
    Explanation {
        test: test.clone(),
        engine: Engine::Probes,
        strategy: Strategy::Complete,
        seconds: 1.5,
        pairs: 16,
        cost: nodes[0].total_cost,
        change: nodes[0].total_change,
        distortion: 1.08,
        probe_cost: sides([40.0, 45.0]),
        functions: FUNCTIONS.iter().map(function).collect(),
        nodes,
        responsible: responsible(),
        causes: vec![Cause {
            changed: Changed::Dependency {
                package: "memchr".into(),
                base: vec!["2.7.4".into()],
                head: vec!["2.8.0".into()],
            },
            share: 0.12,
        }],
        code_changed: Some(true),
        instructions: None,
        without_probe: BTreeMap::from([(Unprobed::Const, 3), (Unprobed::InMacro, 2)]),
        notes: vec![ExplanationNote::NoRoom { calls: 12 }],
    }
}

fn responsible() -> Vec<ResponsibleFunction> {
    let named = |function, how, change: f64, calls: [f64; 2], each: Option<[f64; 2]>, changed: Option<ChangeKind>| {
        ResponsibleFunction {
            function,
            how,
            change: difference(change),
            share: change / 378.5,
            calls: Sides { base: calls[0], head: calls[1] },
            calls_each: each.map(|[base, head]| Sides { base, head }),
            changed,
            not_apart: Vec::new(),
        }
    };
    vec![
        named(1, Responsibility::ItsOwn, 350.0, [48.0, 48.0], None, Some(ChangeKind::Changed)),
        named(1, Responsibility::CallsOf(2), 75.0, [48.0, 48.0], Some([10.0, 15.0]), Some(ChangeKind::Changed)),
        named(3, Responsibility::ItsOwn, -50.0, [48.0, 48.0], None, None),
    ]
}

/// Returns the time in a node and all nodes below it.
fn total(index: usize) -> [f64; 2] {
    let (_, _, own, children) = NODES[index];
    children.iter().map(|child| total(*child)).fold(own, |sum, part| [sum[0] + part[0], sum[1] + part[1]])
}

/// Returns a difference that is certain from 3 ns.
fn difference(estimate: f64) -> Difference {
    let half = (estimate.abs() * UNCERTAIN).max(1.5);
    Difference { estimate, low: estimate - half, high: estimate + half }
}
