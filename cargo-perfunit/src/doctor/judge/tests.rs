use super::*;
use perfunit_model::{MeasuringLinker, NoLayout};

/// Returns the facts of an ideal machine.
fn good() -> Facts {
    Facts {
        platform: ("linux".to_owned(), "x86_64".to_owned()),
        cpu: "a processor".to_owned(),
        toolchain: Ok("rustc 1.95.0".to_owned()),
        linking: Some(Linking::Ordered(MeasuringLinker::Project)),
        allowed: vec![0, 1, 2, 3],
        online: 4,
        pinning: true,
        fixed_addresses: true,
        tracing: Ok(()),
        virtual_machine: None,
        steal: 0.0,
        limit: None,
        governor: Some("performance".to_owned()),
        turbo: Some(false),
        smt: Some(false),
        counters: Ok(()),
        valgrind: None,
    }
}

/// Checks the findings that are not `Ok`.
#[track_caller]
fn check(examined: &Facts, expected: &[(&str, Level)]) {
    let findings = facts(examined);
    let found: Vec<_> = findings.iter().filter(|finding| finding.level != Level::Ok).collect();
    assert_eq!(found.iter().map(|finding| (finding.what, finding.level)).collect::<Vec<_>>(), expected);
    for finding in findings {
        assert_eq!(finding.advice.is_some(), finding.level != Level::Ok, "{finding:?}");
        assert!(!finding.value.is_empty() && !finding.why.is_empty(), "{finding:?}");
    }
}

#[test]
fn a_good_machine_has_no_remarks() {
    check(&good(), &[]);
    let unknown = Facts { governor: None, turbo: None, smt: None, ..good() };
    check(&unknown, &[]);
}

#[test]
fn a_container_is_told_what_it_refuses() {
    let container = Facts {
        allowed: vec![3],
        pinning: false,
        fixed_addresses: false,
        tracing: Err(Untraceable::Refused),
        limit: Some(1.5),
        ..good()
    };
    let expected = ["tracing", "address-space", "pinning", "cores", "cpu-limit"].map(|what| (what, Level::Warn));
    check(&container, &expected);
}

#[test]
fn a_laptop_is_told_what_its_clock_does() {
    let laptop = Facts { governor: Some("powersave".to_owned()), turbo: Some(true), smt: Some(true), ..good() };
    check(&laptop, &["frequency", "turbo", "smt"].map(|what| (what, Level::Warn)));
}

#[test]
fn a_shared_host_is_told_by_its_steal_and_not_by_being_virtual() {
    check(&Facts { virtual_machine: Some("QEMU".to_owned()), ..good() }, &[]);
    check(&Facts { steal: 0.03, ..good() }, &[("steal", Level::Warn)]);
}

#[test]
fn without_a_toolchain_or_linker_nothing_works() {
    let bare = Facts { toolchain: Err(Error::setup("cannot run rustc")), linking: None, ..good() };
    check(&bare, &[("toolchain", Level::Bad)]);
    check(&Facts { linking: Some(Linking::Failed("no cc".to_owned())), ..good() }, &[("linker", Level::Bad)]);
    check(&Facts { linking: Some(Linking::Plain(NoLayout::Disobeyed)), ..good() }, &[("linker", Level::Warn)]);
    let other = Facts { platform: ("macos".to_owned(), "aarch64".to_owned()), ..good() };
    check(&other, &[("platform", Level::Bad)]);
}

#[track_caller]
fn check_noise(lost: f64, spread: f64, itself: Result<AgainstItself, Error>, expected: [Level; 3]) {
    let core = CoreNoise { core: 1, gaps_per_second: 612.4, lost, longest_ns: 410_000.0 };
    let measured = Noise { cores: vec![core], work_spread: Some(spread), against_itself: Some(itself) };
    let levels: Vec<Level> = noise(&measured).iter().map(|finding| finding.level).collect();
    assert_eq!(levels, expected);
}

fn itself(verdict: Verdict, detectable: f64) -> AgainstItself {
    AgainstItself { core: 1, verdict, pairs: 8, detectable, ns: 10_600.0, seconds: 0.14 }
}

#[test]
fn measured_noise_is_graded() {
    use Level::{Bad, Ok as Fine, Warn};
    check_noise(0.02, 0.004, Ok(itself(Verdict::Same, 0.011)), [Fine, Fine, Fine]);
    check_noise(0.3, 0.05, Ok(itself(Verdict::Same, 0.07)), [Warn, Warn, Warn]);
    check_noise(0.8, 0.4, Ok(itself(Verdict::Inconclusive, 0.3)), [Warn, Bad, Bad]);
    check_noise(0.02, 0.004, Err(Error::setup("cannot start")), [Fine, Fine, Bad]);
}

#[test]
fn a_false_alarm_is_bad_and_a_small_change_is_chance() {
    let level = |verdict| against_itself(&Ok(itself(verdict, 0.01))).level;
    assert_eq!(level(Verdict::Slower), Level::Bad);
    assert_eq!(level(Verdict::ChangedBelowThreshold), Level::Ok);
}

#[test]
fn values_are_sentences_with_figures() {
    let core = CoreNoise { core: 1, gaps_per_second: 612.4, lost: 0.0218, longest_ns: 410_000.0 };
    assert_eq!(quiet(&core).value, "core 1: 2.2 % of the time lost, in 612 gaps per second of up to 0.4 ms");
    let value = against_itself(&Ok(itself(Verdict::Same, 0.011))).value;
    assert_eq!(value, "unchanged after 8 pairs in 0.1 s on core 1; smallest detectable change 1.1 %");
}
