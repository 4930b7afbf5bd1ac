//! Which functions call each other in a circle: the strongly connected components (Tarjan) of the graph of calls.

use super::groups::Grouped;

/// By function, the number of its component.
pub(super) fn components(groups: &[Grouped]) -> Vec<usize> {
    let count = groups.len();
    let mut search = Search {
        groups,
        order: vec![None; count],
        lowest: vec![0; count],
        waiting: Vec::new(),
        component: vec![None; count],
        next: 0,
    };
    (0..count).for_each(|function| search.from(function));
    search.component.into_iter().map(Option::unwrap_or_default).collect()
}

struct Search<'a> {
    groups: &'a [Grouped],
    /// When it was found.
    order: Vec<Option<usize>>,
    /// The earliest that can be reached from it.
    lowest: Vec<usize>,
    /// Found, and not yet in a component.
    waiting: Vec<usize>,
    component: Vec<Option<usize>>,
    next: usize,
}

impl Search<'_> {
    /// Finds everything below a function, without recursion: chains of calls can be long.
    fn from(&mut self, start: usize) {
        if self.order[start].is_some() {
            return;
        }
        self.find(start);
        let mut way = vec![(start, 0)];
        while let Some((at, done)) = way.last_mut() {
            let at = *at;
            if let Some((_, call)) = self.groups[at].calls.get(*done) {
                *done += 1;
                match self.order[call.callee] {
                    None => {
                        self.find(call.callee);
                        way.push((call.callee, 0));
                    }
                    Some(order) if self.component[call.callee].is_none() => {
                        self.lowest[at] = self.lowest[at].min(order);
                    }
                    Some(_) => {}
                }
                continue;
            }
            way.pop();
            if let Some((caller, _)) = way.last() {
                self.lowest[*caller] = self.lowest[*caller].min(self.lowest[at]);
            }
            if self.order[at] == Some(self.lowest[at]) {
                self.close(at);
            }
        }
    }

    fn find(&mut self, function: usize) {
        self.order[function] = Some(self.next);
        self.lowest[function] = self.next;
        self.next += 1;
        self.waiting.push(function);
    }

    fn close(&mut self, first: usize) {
        while let Some(member) = self.waiting.pop() {
            self.component[member] = Some(first);
            if member == first {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::profile::Call;
    use super::*;

    #[test]
    fn circles_are_found() {
        let calls = |callees: &[usize]| Grouped {
            parts: Vec::new(),
            calls: callees.iter().map(|callee| (0, Call { at: 0, callee: *callee, count: 1, inclusive: 1 })).collect(),
        };
        // 0 calls 1; 1 and 2 call each other; 2 calls 3, which calls itself.
        let groups = [calls(&[1]), calls(&[2]), calls(&[1, 3]), calls(&[3])];
        let found = components(&groups);
        assert!(found[1] == found[2] && found[0] != found[1] && found[3] != found[1], "{found:?}");
    }
}
