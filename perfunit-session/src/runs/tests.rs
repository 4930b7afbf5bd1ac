use super::*;
use perfunit_model::error::ExitCode;
use perfunit_model::samples;
use perfunit_model::{Measured, Reason};

fn record(run: Run) -> Record {
    Record::new(Options::default(), Sides { base: "1".to_owned(), head: "2".to_owned() }, run)
}

/// Saves a run with this id.
fn save_run(ours: &Path, id: &str) -> Record {
    let mut record = record(samples::run(Vec::new()));
    id.clone_into(&mut record.id);
    keep(ours, &mut record).unwrap();
    record
}

#[test]
fn a_run_reads_back_as_it_was() {
    let ours = tempfile::tempdir().unwrap();
    let mut kept = record(samples::whole());
    kept.profiles.insert(samples::test("a"), samples::explanation());
    let path = keep(ours.path(), &mut kept).unwrap();
    let found = read(&path).unwrap();
    assert_eq!((&found.run, &found.profiles, &found.id), (&kept.run, &kept.profiles, &kept.id));
    assert_eq!(found.contents, kept.contents);
}

#[test]
fn a_file_without_a_run_is_a_usage_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(FILE);
    let error = |said: &str| {
        let error = read(&path).unwrap_err();
        assert_eq!(error.code(), ExitCode::Usage);
        assert!(error.to_string().contains(said) && error.to_string().contains("hint: "), "{error}");
    };
    error("no saved run at ");
    fs::write(&path, "{}").unwrap();
    error("is not a saved run");
}

#[test]
fn figures_that_are_no_numbers_read_back_as_such() {
    let ours = tempfile::tempdir().unwrap();
    let mut run = samples::whole();
    let nothing = f64::INFINITY;
    let outcome = &mut run.outcomes[2];
    let explanation = outcome.explanation.as_mut().unwrap();
    (explanation.distortion, explanation.cost.base) = (nothing, nothing);
    explanation.responsible[0].calls_each = Some(Sides { base: nothing, head: 1.0 });
    let measured = outcome.measured.as_mut().unwrap();
    *measured = Measured { head_ns: nothing, p_value: nothing, ..measured.clone() };
    measured.sample.estimates.push(nothing);
    measured.sample.batches.head.push(nothing);
    run.outcomes[7].reason = Some(Reason::TooLong { seconds: 1.0, needed_seconds: nothing, ns: None });
    let path = keep(ours.path(), &mut record(run)).unwrap();
    let found = read(&path).unwrap().run;
    let explanation = found.outcomes[2].explanation.as_ref().unwrap();
    assert!(explanation.distortion.is_nan() && explanation.cost.base.is_nan());
    assert!(explanation.responsible[0].calls_each.unwrap().base.is_nan());
    let measured = found.outcomes[2].measured.as_ref().unwrap();
    assert!(measured.head_ns.is_nan() && measured.sample.batches.head.last().unwrap().is_nan());
    let Some(Reason::TooLong { needed_seconds, .. }) = found.outcomes[7].reason else { panic!("another reason") };
    assert!(needed_seconds.is_nan());
}

#[test]
fn ids_sort_by_time() {
    let moments = [0, 1, 999, 1000, 1001, 59_000, 3_600_000].map(Duration::from_millis).map(|time| UNIX_EPOCH + time);
    let ids = moments.map(id);
    assert!(ids.is_sorted() && ids.iter().all(|id| is_id(id)), "{ids:?}");
    assert_eq!(ids[0], "19700101T000000Z-0000");
    assert!(!is_id("00000000001732260600000.json") && !is_id("notes"));
}

#[test]
fn two_runs_of_one_moment_have_two_ids() {
    let ours = tempfile::tempdir().unwrap();
    let mut first = record(samples::run(Vec::new()));
    let mut second = first.clone();
    keep(ours.path(), &mut first).unwrap();
    keep(ours.path(), &mut second).unwrap();
    assert!(first.id < second.id);
    assert_eq!(last(ours.path()).unwrap().1.id, second.id);
}

#[test]
fn runs_are_found_by_the_beginning_of_their_id() {
    let ours = tempfile::tempdir().unwrap();
    let now = id(SystemTime::now());
    let ids = [format!("{}0001", &now[..17]), format!("{}0002", &now[..17])];
    for id in &ids {
        drop(save_run(ours.path(), id));
    }
    assert_eq!(last(ours.path()).unwrap().1.id, ids[1]);
    assert_eq!(find_run(ours.path(), &ids[0]).unwrap().1.id, ids[0]);
    let error = |name: &str| find_run(ours.path(), name).unwrap_err().to_string();
    assert!(error(&now[..10]).contains("is ambiguous (2 matches)"), "{}", error(&now[..10]));
    assert!(error("xyz").contains("no saved run with ID `xyz`"), "{}", error("xyz"));
}

#[test]
fn old_runs_go_but_never_the_last() {
    let ours = tempfile::tempdir().unwrap();
    save_run(ours.path(), "20200101T000000Z-0000");
    // It was the last run when it was saved.
    assert_eq!(all(ours.path()).unwrap().len(), 1);
    std::fs::write(folder(ours.path()).join("notes.txt"), "mine").unwrap();
    let now = id(SystemTime::now());
    for count in 0..25 {
        save_run(ours.path(), &format!("{}{count:04x}", &now[..17]));
    }
    let kept = all(ours.path()).unwrap();
    assert_eq!((kept.len(), id_of(&kept[19])), (20, format!("{}0018", &now[..17])));
    assert!(folder(ours.path()).join("notes.txt").is_file());
}

#[test]
fn a_folder_without_a_run_is_none() {
    let ours = tempfile::tempdir().unwrap();
    let kept = save_run(ours.path(), "20260101T000000Z-0000");
    std::fs::create_dir(folder(ours.path()).join("20270101T000000Z-0000")).unwrap();
    assert_eq!(last(ours.path()).unwrap().1.id, kept.id);
}

#[track_caller]
fn check(text: &str, expected: &str) {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let error = read(file.path()).unwrap_err().to_string();
    assert!(error.contains(expected) && error.contains("hint: "), "{error}");
}

#[test]
fn what_cannot_be_read_says_why_and_what_to_do() {
    let ours = tempfile::tempdir().unwrap();
    assert!(last(ours.path()).unwrap_err().to_string().contains("no saved runs"));
    let whole = serde_json::to_string(&record(samples::whole())).unwrap();
    check(&whole[..whole.len() / 2], "is damaged: EOF while parsing");
    check(&whole.replace("\"outcomes\"", "\"outcome\""), "is damaged: missing field `outcomes`");
    check("", "is damaged");
    check("{\"schema_version\": 1}", "is not a saved run of cargo-perfunit: missing field `format`");
    check("\"run\"", "is not a saved run");
    let older = "{\"format\": 2, \"tests\": []}";
    check(older, "was written by another version of cargo-perfunit, in format 2; this one reads format 12");
    let newer = whole.replacen("\"format\":12", "\"format\":13", 1).replace("0.1.0", "0.9.0");
    check(&newer, "was written by version 0.9.0 of cargo-perfunit, in format 13");
}
