//! A function's machine code by the source functions that its instructions are from.

use super::entries::{Places, entries};
use super::owners::{Owner, Owners};
use super::profile::{Call, Counted};
use perfunit_select::code::{Inlining, Operations};
use std::collections::HashMap;
use std::rc::Rc;

/// An executable and whose its functions are.
pub struct Code {
    /// Its path, as callgrind writes it.
    object: String,
    inlining: Rc<Inlining>,
    operations: Rc<Operations>,
    /// By origin of the debug information.
    of_origin: Vec<Owner>,
    owners: Owners,
}

impl Code {
    /// Settles whose everything is.
    pub fn new(object: String, inlining: Rc<Inlining>, operations: Rc<Operations>, mut owners: Owners) -> Self {
        let of_origin = inlining.origins.iter().map(|origin| owners.of_origin(origin)).collect();
        Self { object, inlining, operations, of_origin, owners }
    }

    /// The functions that were found, by their keys.
    pub fn functions(self) -> std::collections::BTreeMap<u64, perfunit_model::Function> {
        self.owners.into_functions()
    }
}

/// A function of the source in a function of the machine code: itself, or a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    pub owner: Owner,
    /// What it was copied into; the first is its own.
    pub caller: usize,
    /// How often execution entered it; of the first 0, for its calls are counted.
    pub entries: u64,
    pub own: u64,
}

/// A function of the machine code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Grouped {
    /// The first is the function itself; callers stand before what was copied into them. Whose code is its caller's has no
    /// part of its own, unless it is the first.
    pub parts: Vec<Part>,
    /// What each part calls.
    pub calls: Vec<(usize, Call)>,
}

pub(super) fn grouped(counted: &Counted, code: &mut Code) -> Grouped {
    let mut parts = Vec::new();
    let mut places: HashMap<usize, usize> = HashMap::new();
    let mut of_address: HashMap<u64, usize> = HashMap::new();
    let is_ours = counted.object == code.object;
    let from = counted.instructions.keys().copied();
    let addresses = from.chain(counted.calls.iter().map(|call| call.at)).chain(counted.jumps.iter().map(|it| it.from));
    for address in addresses {
        if of_address.contains_key(&address) {
            continue;
        }
        let innermost = if is_ours { code.inlining.innermost(address) } else { None };
        let place = match innermost {
            Some(frame) => place(frame, code, &mut parts, &mut places),
            None => symbols_part(&counted.symbol, code, &mut parts),
        };
        of_address.insert(address, place);
    }
    if parts.is_empty() {
        symbols_part(&counted.symbol, code, &mut parts);
    }
    let callers: Vec<usize> = parts.iter().map(|part| part.caller).collect();
    let frame_of = |address: u64| of_address.get(&address).copied().unwrap_or(0);
    let kind_of = |address: u64| Some((code.inlining.innermost(address)?, code.operations.at(address)?));
    let entered = entries(counted, &Places { frame_of: &frame_of, kind_of: &kind_of, callers: &callers });
    for (part, entered) in parts.iter_mut().zip(entered) {
        part.entries = entered;
    }
    for (address, count) in &counted.instructions {
        parts[frame_of(*address)].own += count;
    }
    let calls = counted.calls.iter().map(|call| (frame_of(call.at), *call)).collect();
    Grouped { parts, calls }
}

/// The part that a frame of the debug information belongs to, made if it is new.
fn place(frame: usize, code: &Code, parts: &mut Vec<Part>, places: &mut HashMap<usize, usize>) -> usize {
    if let Some(place) = places.get(&frame) {
        return *place;
    }
    let found = &code.inlining.frames[frame];
    let owner = code.of_origin[found.origin];
    let caller = found.caller.map(|caller| place(caller, code, parts, places));
    let at = match caller {
        Some(caller) if owner == Owner::Caller => caller,
        // Code of two functions at one place, as merging leaves it, is the first one's.
        None if !parts.is_empty() => 0,
        caller => {
            parts.push(Part { owner, caller: caller.unwrap_or(0), entries: 0, own: 0 });
            parts.len() - 1
        }
    };
    places.insert(frame, at);
    at
}

/// The function itself, where only its name is known.
fn symbols_part(symbol: &str, code: &mut Code, parts: &mut Vec<Part>) -> usize {
    if parts.is_empty() {
        let owner = code.owners.of_symbol(symbol);
        parts.push(Part { owner, caller: 0, entries: 0, own: 0 });
    }
    0
}
