//! Finds the tests that can reach machine code that differs, target by target.

use super::code::{self, ChangedCode, Code, Unreadable, What};
use super::functions;
use super::selection_cache::SelectionCache;
use super::source::ChangedItem;
use super::target_code::{Place, ProgramCode, TargetCode, TestCode, Units, Unlocated};
use super::test_inputs::{self, Libraries};
use object::Object as _;
use object::read::NameOrOrdinal;
use perfunit_build::{BuiltSides, CompiledFiles, LinkRecord, SideBuild, TestExecutable};
use perfunit_model::error::{Result, Stop, Tried, apart};
use perfunit_model::{ChangedFunction, OtherInput, Side, Sides, Start, TargetId, Uncompared};
use perfunit_project::cargo::Context;
use perfunit_system::fs;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Comparer for the executables of two sides.
pub struct Comparer<'a> {
    sides: &'a Sides<SideBuild>,
    files: Sides<CompiledFiles>,
    units: Units,
    /// Functions that changed in the source.
    functions: Vec<&'a ChangedItem>,
    /// True if both sides use the same toolchain. Otherwise the standard library differs, which is not compared.
    one_toolchain: bool,
    /// Cached results of earlier runs and of this one.
    pub cache: SelectionCache,
}

impl<'a> Comparer<'a> {
    /// Creates a comparer for built sides.
    pub fn new(context: &Context, built: &'a BuiltSides, functions: Vec<&'a ChangedItem>) -> Result<Self> {
        let cache = SelectionCache::load(&context.ours, &built.sides)?;
        let files = built.sides.as_ref().try_map(|_, side| CompiledFiles::load(&side.folder))?;
        let one_toolchain = context.base_cargo.is_none();
        Ok(Self { sides: &built.sides, files, units: Units::default(), functions, one_toolchain, cache })
    }

    /// Compares the machine code that these tests of a target can reach.
    pub fn target(
        &mut self,
        target: &TargetId,
        executables: Sides<&TestExecutable>,
        tests: &BTreeSet<String>,
    ) -> Result<TargetCode> {
        if let Some(known) = self.cache.target(target, tests, &self.functions) {
            return Ok(known);
        }
        if !self.one_toolchain {
            return Ok(TargetCode::unknown(Uncompared::Toolchains));
        }
        let paths = executables.map(|executable| executable.path.as_path());
        let libraries = Libraries::of(self.sides, paths)?;
        let links = executables.map(|executable| executable.link.as_deref());
        let binary = self.changed_programs()?.first().map(|program| program.name.clone());
        let is_told_of_binaries = target.kind.is_told_of_binaries();
        let mut code = match apart(self.programs(links, &libraries))? {
            Ok(programs) => {
                let known_as = |test: &String| executables.head.known_as(test).to_owned();
                let known: BTreeSet<String> = tests.iter().map(known_as).collect();
                let mut code = target_code(match executables.head.harness.starts() {
                    Start::Function => code::compare(&programs, &known),
                    Start::Main => compare_mains(&programs, &known),
                });
                if let Some(binary) = &binary {
                    code.note_starting(&programs, &known, binary);
                }
                code.note_restarting(&programs, &known, &target.name);
                code.rename(tests, &known_as);
                code.functions = self.functions_in(&programs, &code.places);
                code
            }
            Err(why) => TargetCode::unknown(why),
        };
        code.in_libraries = !libraries.links.base.is_empty();
        let others = &mut code.others;
        others.extend(self.changed_libraries(libraries)?.into_iter().map(|name| OtherInput::Library { name }));
        let variables = test_inputs::variables(self.sides, executables)?;
        others.extend(variables.into_iter().map(|name| OtherInput::Variable { name }));
        let made = test_inputs::build_script_files(self.sides, executables)?;
        others.extend(made.into_iter().map(|path| OtherInput::OutDirFile { path }));
        others.extend(binary.filter(|_| is_told_of_binaries).map(|name| OtherInput::Binary { name }));
        self.cache.insert(target, &code);
        Ok(code)
    }

    /// Finds the changed functions in a program.
    fn functions_in(&self, programs: &Sides<code::Program>, places: &[Place]) -> BTreeMap<String, code::FunctionCode> {
        let names: Vec<_> = self.functions.iter().map(|item| functions::name(item)).collect();
        let places: Vec<&BTreeSet<String>> = places.iter().map(|place| &place.head).collect();
        let keys = self.functions.iter().map(|item| functions::key(item));
        keys.zip(code::functions(programs, &names, &places)).collect()
    }

    /// Reads both programs and the libraries that they load from their link records. Returns a reason if they cannot be
    /// compared.
    fn programs(
        &mut self,
        links: Sides<Option<&Path>>,
        libraries: &Libraries,
    ) -> Tried<Sides<code::Program>, Uncompared> {
        let (Some(base), Some(head)) = (links.base, links.head) else {
            return Err(Stop::Because(Uncompared::UnknownInputs));
        };
        let links = Sides { base: LinkRecord::load(base)?, head: LinkRecord::load(head)? };
        if let Some(why) = links.base.incomparable(&links.head)? {
            return Err(Stop::Because(why));
        }
        let programs = self.read_programs(&links, libraries.links.as_ref().map(Vec::as_slice));
        programs.map_err(|stop| stop.map(|why| Uncompared::Unreadable { why: why.to_string() }))
    }

    fn read_programs(
        &mut self,
        links: &Sides<LinkRecord>,
        libraries: Sides<&[LinkRecord]>,
    ) -> Tried<Sides<code::Program>, Unreadable> {
        let mut program = |side: Side| {
            let all = std::iter::once(links.get(side)).chain(*libraries.get(side));
            self.units.program(all, self.files.get(side))
        };
        Ok(Sides { base: program(Side::Base)?, head: program(Side::Head)? })
    }

    /// Returns the names of the libraries that count as changed. A test may call any exported symbol of a library that
    /// it opens at run time.
    fn changed_libraries(&mut self, libraries: Libraries) -> Result<Vec<String>> {
        let mut changed = libraries.changed;
        for (name, paths, links) in libraries.opened {
            let shown = paths.try_map(|_, path| exports(&path))?;
            let symbols: Vec<&str> = shown.base.union(&shown.head).map(String::as_str).collect();
            let programs = apart(self.read_programs(&links, Sides::default()))?;
            let same = programs.is_ok_and(|programs| code::compare_symbols(&programs, &symbols) == Code::Same);
            if !same {
                changed.push(name);
            }
        }
        Ok(changed)
    }

    /// Returns the binaries of the workspace with different machine code.
    pub fn changed_programs(&mut self) -> Result<Vec<ProgramCode>> {
        if let Some(known) = self.cache.programs() {
            return Ok(known.clone());
        }
        let binaries = self.sides.as_ref().try_map(|_, side| side.binaries())?;
        let by_name = |paths: Vec<PathBuf>| -> BTreeMap<String, PathBuf> {
            let name = |path: &PathBuf| Some(path.file_name()?.to_string_lossy().into_owned());
            paths.into_iter().filter_map(|path| Some((name(&path)?, path))).collect()
        };
        let binaries = binaries.map(by_name);
        let names: BTreeSet<&String> = binaries.base.keys().chain(binaries.head.keys()).collect();
        let mut changed = Vec::new();
        for name in names {
            let places = match (binaries.base.get(name), binaries.head.get(name)) {
                (Some(base), Some(head)) => self.differences(Sides { base, head })?,
                _ => Err(Unlocated::OneVersionOnly),
            };
            if places.as_ref().is_ok_and(Vec::is_empty) {
                continue;
            }
            changed.push(ProgramCode { name: name.clone(), places });
        }
        self.cache.insert_programs(changed.clone());
        Ok(changed)
    }

    /// Returns the functions at which the versions of a binary can start to differ; none if they do not.
    fn differences(
        &mut self,
        Sides { base, head }: Sides<&Path>,
    ) -> Result<std::result::Result<Vec<Place>, Unlocated>> {
        let libraries = Libraries::of(self.sides, Sides { base, head })?;
        if fs::same_content(base, head)? && libraries.is_empty() {
            return Ok(Ok(Vec::new()));
        }
        let links = Sides { base: self.sides.base.binary_link(base), head: self.sides.head.binary_link(head) };
        let loads_others = !libraries.links.base.is_empty();
        let code = match apart(self.programs(links.as_ref().map(Option::as_deref), &libraries))? {
            Ok(programs) => code::compare_symbols(&programs, &["main"]),
            Err(why) => return Ok(Err(Unlocated::Uncompared(why.to_string()))),
        };
        let places: Vec<Place> = match code {
            Code::Same => Vec::new(),
            Code::Changed(changed) => changed.frontier.iter().map(|place| describe(place)).collect(),
            Code::Unknown { .. } => return Ok(Err(Unlocated::Uncompared("it has no main function".to_owned()))),
        };
        let is_unused = |place: &Place| place.base.is_empty() && place.head.is_empty();
        Ok(match places {
            _ if !self.changed_libraries(libraries)?.is_empty() => Err(Unlocated::Libraries),
            places if !places.is_empty() && loads_others => Err(Unlocated::Libraries),
            places if places.iter().any(is_unused) => Err(Unlocated::NoFunction),
            places => Ok(places),
        })
    }
}

/// Returns the symbols that a library exports.
fn exports(library: &Path) -> Result<BTreeSet<String>> {
    let bytes = fs::read(library)?;
    let Ok(file) = object::File::parse(&*bytes) else { return Ok(BTreeSet::new()) };
    let names = file.exports().into_iter().flatten().flatten().filter_map(|export| match export.name() {
        NameOrOrdinal::Name(name) => Some(String::from_utf8_lossy(name).into_owned()),
        NameOrOrdinal::Ordinal(_) => None,
    });
    Ok(names.collect())
}

/// Compares tests that all start from `main`. Each of them can reach everything that `main` can.
fn compare_mains(programs: &Sides<code::Program>, tests: &BTreeSet<String>) -> code::Comparison {
    let code = code::compare_symbols(programs, &["main"]);
    code::Comparison { tests: tests.iter().map(|test| (test.clone(), code.clone())).collect() }
}

/// Numbers the places, because many tests share them.
fn target_code(comparison: code::Comparison) -> TargetCode {
    let mut numbers = BTreeMap::new();
    let mut code = TargetCode::default();
    for (name, answer) in comparison.tests {
        let test = match answer {
            Code::Same => TestCode::Same,
            Code::Unknown { .. } => TestCode::Unknown,
            Code::Changed(changed) => {
                let places = changed.frontier.iter().map(|place| {
                    *numbers.entry(std::sync::Arc::as_ptr(place)).or_insert_with(|| {
                        code.places.push(describe(place));
                        code.places.len() - 1
                    })
                });
                TestCode::Changed { places: places.collect(), path: changed.path }
            }
        };
        code.tests.insert(name, test);
    }
    code
}

fn describe(place: &ChangedCode) -> Place {
    let data = match &place.what {
        What::Code => None,
        What::Data(name) => Some(name.clone()),
        What::Added => Some("it is new".to_owned()),
        What::Removed => Some("it is gone".to_owned()),
    };
    Place {
        function: ChangedFunction { name: place.name.clone(), data },
        base: place.symbols.base.clone(),
        head: place.symbols.head.clone(),
    }
}
