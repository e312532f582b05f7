//! The store against everything that can happen to a file.

use std::path::{Path, PathBuf};

use weigh_results::model::{Event, FinishReason, Run};
use weigh_results::store::{
    EVENTS_FILE, EventStorage, FileStorage, MemoryStorage, Recorder, RunState, RunStore, StoreError,
};

use crate::builder::{Recipe, durability};

fn small() -> Recipe {
    Recipe { rounds: 2, ..durability() }
}

/// The bytes of a run as the recorder writes them.
fn recorded(recipe: &Recipe, store: &RunStore) -> PathBuf {
    let events = recipe.events();
    let mut recorder = store.create(&recipe.header()).unwrap();
    events[1..].iter().for_each(|event| recorder.append(event).unwrap());
    recorder.path().to_path_buf()
}

fn store() -> (tempfile::TempDir, RunStore) {
    let dir = tempfile::tempdir().unwrap();
    let store = RunStore::at(dir.path().join("runs"));
    (dir, store)
}

fn with_id(run_id: &'static str) -> Recipe {
    Recipe { run_id, rounds: 1, ..durability() }
}

#[test]
fn what_is_recorded_is_read_back() {
    let (_dir, store) = store();
    let path = recorded(&small(), &store);
    assert_eq!(store.load(path.parent().unwrap()).unwrap(), small().run());
}

/// The promise of the file: cut at any byte, every complete line is still there and nothing else is.
#[test]
fn a_file_cut_at_any_byte_gives_all_its_complete_lines() {
    let (_dir, store) = store();
    let bytes = std::fs::read(recorded(&small(), &store)).unwrap();
    let events = small().events();
    let mut complete = 0;
    let mut expected = Run::new(small().header());
    for cut in 0..=bytes.len() {
        let held = MemoryStorage { bytes: bytes[..cut].to_vec(), next_write_takes: None };
        if cut > 0 && bytes[cut - 1] == b'\n' {
            expected.apply(events[complete].clone());
            complete += 1;
        }
        match Recorder::resume(Box::new(held), "memory".into()) {
            Ok((_, run)) => assert!(run == expected, "cut at byte {cut}"),
            Err(error) => {
                assert!(
                    complete == 0 && matches!(error, StoreError::NoHeader { .. }),
                    "cut at byte {cut}: {error}"
                );
            }
        }
    }
    assert_eq!(complete, events.len());
}

/// Cut in the middle, reopened, finished: the torn line is gone and the rest is as if nothing had happened.
#[test]
fn a_torn_line_is_cut_off_before_anything_is_appended() {
    let (_dir, store) = store();
    let path = recorded(&small(), &store);
    let bytes = std::fs::read(&path).unwrap();
    let last_line = bytes[..bytes.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    for cut in [last_line + 1, bytes.len() - 1] {
        std::fs::write(&path, &bytes[..cut]).unwrap();
        let (mut recorder, run) = store.reopen(path.parent().unwrap()).unwrap();
        assert_eq!(run.finish, None);
        recorder.append(small().events().last().unwrap()).unwrap();
        drop(recorder);
        assert_eq!(std::fs::read(&path).unwrap(), bytes, "cut at {cut}");
    }
}

#[test]
fn zeros_behind_the_last_line_are_no_line() {
    let (_dir, store) = store();
    let path = recorded(&small(), &store);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.extend_from_slice(&[0, 0, b'\n', 0]);
    std::fs::write(&path, bytes).unwrap();
    assert_eq!(store.load(path.parent().unwrap()).unwrap(), small().run());
}

#[test]
fn a_full_disk_leaves_whole_lines_only() {
    /// Shares its bytes with the test.
    struct Shared(std::sync::Arc<std::sync::Mutex<MemoryStorage>>);
    impl EventStorage for Shared {
        fn read_all(&mut self) -> std::io::Result<Vec<u8>> {
            self.0.lock().unwrap().read_all()
        }
        fn append(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().append(bytes)
        }
        fn truncate(&mut self, len_bytes: u64) -> std::io::Result<()> {
            self.0.lock().unwrap().truncate(len_bytes)
        }
        fn sync(&mut self) -> std::io::Result<()> {
            self.0.lock().unwrap().sync()
        }
    }
    let memory = std::sync::Arc::new(std::sync::Mutex::new(MemoryStorage::default()));
    let events = small().events();
    let mut recorder =
        Recorder::begin(Box::new(Shared(memory.clone())), "memory".into(), &small().header()).unwrap();
    recorder.append(&events[1]).unwrap();
    let before = memory.lock().unwrap().bytes.clone();
    memory.lock().unwrap().next_write_takes = Some(17);
    let error = recorder.append(&events[2]).unwrap_err();
    assert_eq!(error.to_string(), "cannot append to `memory`");
    assert!(std::error::Error::source(&error).unwrap().to_string().starts_with("only 17 of "));
    assert_eq!(memory.lock().unwrap().bytes, before);
    recorder.append(&events[2]).unwrap();
    assert!(memory.lock().unwrap().bytes.ends_with(b"\n"));
}

#[test]
fn two_writers_of_one_run_are_impossible() {
    let (_dir, store) = store();
    let header = small().header();
    let recorder = store.create(&header).unwrap();
    let dir = recorder.path().parent().unwrap().to_path_buf();
    let error = store.reopen(&dir).unwrap_err();
    assert!(matches!(error, StoreError::Locked { .. }), "{error}");
    assert!(matches!(store.create(&header).unwrap_err(), StoreError::Exists { .. }));
    assert_eq!(store.list().unwrap().0[0].state, RunState::Running);
    drop(recorder);
    assert_eq!(store.list().unwrap().0[0].state, RunState::Killed);
    store.reopen(&dir).unwrap();
}

/// The lock is the process's, not the file's: a run whose writer was killed can be resumed.
#[test]
fn the_lock_goes_with_its_file_handle() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(EVENTS_FILE);
    let held = FileStorage::create(&path).unwrap();
    assert_eq!(FileStorage::open(&path).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    drop(held);
    FileStorage::open(&path).unwrap();
}

#[test]
fn a_newer_format_is_refused_in_one_line() {
    let (_dir, store) = store();
    let path = recorded(&small(), &store);
    let text = std::fs::read_to_string(&path).unwrap().replacen("\"format\":1", "\"format\":9", 1);
    std::fs::write(&path, text).unwrap();
    let error = store.load(path.parent().unwrap()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "run `20261121-214425-postgres-durability-k3f9` is in format 9; this weigh reads up to format 1"
    );
    let (runs, unreadable) = store.list().unwrap();
    assert!(runs.is_empty());
    assert_eq!(unreadable.len(), 1, "one bad run does not hide the others");
}

/// Even if everything else in it has changed shape.
#[test]
fn a_newer_format_is_refused_before_it_is_understood() {
    let held = MemoryStorage {
        bytes: b"{\"event\":\"begun\",\"format\":2,\"run_id\":\"x\"}\n".to_vec(),
        next_write_takes: None,
    };
    let error = Recorder::resume(Box::new(held), "memory".into()).unwrap_err();
    assert_eq!(error.to_string(), "run `x` is in format 2; this weigh reads up to format 1");
}

#[test]
fn a_damaged_line_is_named_and_nothing_is_cut() {
    let (_dir, store) = store();
    let path = recorded(&small(), &store);
    let text = std::fs::read_to_string(&path).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines[3] = "{\"event\":\"trial\",";
    let damaged = lines.join("\n") + "\n{\"event\":\"tri";
    std::fs::write(&path, &damaged).unwrap();
    let error = store.reopen(path.parent().unwrap()).unwrap_err();
    assert!(error.to_string().starts_with("line 4 of `"), "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), damaged);
}

fn found(store: &RunStore, selector: &str) -> Result<String, String> {
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    store.find(selector).map(|path| name(&path)).map_err(|error| error.to_string())
}

#[test]
fn runs_are_found_by_what_a_reader_types() {
    const OLD: &str = "20261120-080000-sqlite-durability-aaaa";
    const NEW: &str = "20261121-090000-postgres-durability-bbbb";
    const NEWEST: &str = "20261121-100000-postgres-bulk-cccc";
    let (_dir, store) = store();
    assert_eq!(
        found(&store, "last").unwrap_err(),
        "`last` asks for run number 1 counted from the newest, but there are 0 runs"
    );
    assert_eq!(found(&store, "x").unwrap_err(), "no run matches `x`: no runs are stored");
    for (id, at) in
        [(OLD, "2026-11-20T08:00:00Z"), (NEW, "2026-11-21T09:00:00Z"), (NEWEST, "2026-11-21T10:00:00Z")]
    {
        let mut header = with_id(id).header();
        header.started_at = at.into();
        store.create(&header).unwrap();
    }
    for (selector, id) in [
        (NEW, NEW),
        ("last", NEWEST),
        ("@1", NEWEST),
        ("@2", NEW),
        ("@3", OLD),
        ("20261120", OLD),
        ("sqlite", OLD),
        ("cccc", NEWEST),
        ("bulk", NEWEST),
    ] {
        assert_eq!(found(&store, selector), Ok(id.to_owned()), "{selector}");
    }
    assert_eq!(found(&store, store.root().join(OLD).to_str().unwrap()), Ok(OLD.to_owned()));
    assert_eq!(found(&store, store.root().join(OLD).join(EVENTS_FILE).to_str().unwrap()), Ok(OLD.to_owned()));
    assert_eq!(
        found(&store, "durability").unwrap_err(),
        format!("`durability` matches 2 runs: `{NEW}`, `{OLD}`")
    );
    assert_eq!(
        found(&store, "postgres-bluk").unwrap_err(),
        format!("no run matches `postgres-bluk`; nearest: `{NEWEST}`, `{NEW}`, `{OLD}`")
    );
    assert_eq!(
        found(&store, "@4").unwrap_err(),
        "`@4` asks for run number 4 counted from the newest, but there are 3 runs"
    );
    assert!(found(&store, "@0").unwrap_err().contains("run number 0"));
}

#[test]
fn the_list_says_how_far_each_run_got() {
    let (_dir, store) = store();
    let cases = [
        ("20261121-000001-a-aaaa", Some(FinishReason::Decided), RunState::Decided),
        ("20261121-000002-b-aaaa", Some(FinishReason::Failed("x".into())), RunState::Failed),
        ("20261121-000003-c-aaaa", Some(FinishReason::Interrupted), RunState::Interrupted),
        ("20261121-000004-d-aaaa", None, RunState::Killed),
    ];
    for (run_id, finish, _) in &cases {
        recorded(&Recipe { finish: finish.clone(), ..with_id(run_id) }, &store);
    }
    let (runs, unreadable) = store.list().unwrap();
    assert!(unreadable.is_empty());
    let mut expected: Vec<_> = cases.iter().map(|(id, _, state)| ((*id).to_owned(), *state, 1)).collect();
    expected.reverse();
    assert_eq!(
        runs.iter().map(|run| (run.run_id.clone(), run.state, run.rounds)).collect::<Vec<_>>(),
        expected
    );
    assert!(!RunState::Decided.can_be_resumed() && RunState::Killed.can_be_resumed());
    assert_eq!(runs[0].variants, ["on", "off", "local", "remote_apply"]);
}

/// A resumed run has an end again only when it is finished again.
#[test]
fn resuming_takes_the_end_back() {
    let (_dir, store) = store();
    let path = recorded(&Recipe { finish: Some(FinishReason::Interrupted), ..small() }, &store);
    let (mut recorder, _) = store.reopen(path.parent().unwrap()).unwrap();
    recorder.append(&Event::Resumed { at: "2026-11-21T22:00:00Z".into() }).unwrap();
    drop(recorder);
    assert_eq!(store.load(path.parent().unwrap()).unwrap().finish, None);
}

fn refusal(store: &RunStore, dir: &Path) -> String {
    store.delete(dir).unwrap_err().to_string().replace(&dir.display().to_string(), "IT")
}

#[test]
fn deleting_takes_the_run_and_nothing_else() {
    let (home, store) = store();
    let dir = recorded(&with_id("20261121-000000-a-aaaa"), &store).parent().unwrap().to_path_buf();
    let kept = recorded(&with_id("20261121-000001-b-bbbb"), &store);
    let outside = home.path().join("precious");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("thesis"), "years").unwrap();
    std::os::unix::fs::symlink(&outside, dir.join("link")).unwrap();
    std::os::unix::fs::symlink(outside.join("thesis"), dir.join("file-link")).unwrap();
    std::fs::create_dir(dir.join("logs")).unwrap();
    std::fs::write(dir.join("logs/server.log"), "x").unwrap();
    std::fs::write(dir.join("report.html"), "x").unwrap();

    store.delete(&dir).unwrap();
    assert!(!dir.exists());
    assert_eq!(std::fs::read_to_string(outside.join("thesis")).unwrap(), "years");
    assert!(kept.is_file());
    assert_eq!(store.list().unwrap().0.len(), 1);
    assert_eq!(refusal(&store, &dir), "cannot look at `IT`");
}

#[test]
fn what_is_no_run_is_not_deleted() {
    let (home, store) = store();
    let path = recorded(&with_id("20261121-000000-a-aaaa"), &store);
    let dir = path.parent().unwrap();
    let link = store.root().join("link");
    std::os::unix::fs::symlink(dir, &link).unwrap();
    // With a slash or a dot the system would follow it.
    for named in [link.clone(), link.join(""), link.join(".")] {
        assert!(refusal(&store, &named).contains("it is a symbolic link"), "{}", named.display());
    }
    assert!(refusal(&store, &path).contains("it is not a directory"));
    assert!(refusal(&store, home.path()).contains("it holds no file of events"));
    assert!(refusal(&store, store.root()).contains("it holds no file of events"));
    // Somebody else's file of the same name, outside of the directory of runs.
    for text in ["", "{}", "{\"event\":\"login\",\"user\":1,\"at\":2}\n"] {
        std::fs::write(home.path().join(EVENTS_FILE), text).unwrap();
        assert!(refusal(&store, home.path()).contains("is not from weigh"), "{text}");
    }
    assert!(path.is_file() && home.path().join(EVENTS_FILE).is_file());
}

#[test]
fn a_run_whose_events_are_a_link_is_not_deleted() {
    let (home, store) = store();
    let elsewhere = home.path().join("elsewhere");
    std::fs::write(&elsewhere, "x").unwrap();
    let dir = store.root().join("odd");
    std::fs::create_dir_all(&dir).unwrap();
    std::os::unix::fs::symlink(&elsewhere, dir.join(EVENTS_FILE)).unwrap();
    assert!(refusal(&store, &dir).contains("it holds no file of events"));
    assert!(elsewhere.is_file());
}

#[test]
fn a_run_that_is_being_recorded_is_not_deleted() {
    let (_home, store) = store();
    let recorder = store.create(&small().header()).unwrap();
    let dir = recorder.path().parent().unwrap().to_path_buf();
    std::fs::write(dir.join("report.html"), "x").unwrap();
    assert!(matches!(store.delete(&dir), Err(StoreError::Locked { .. })));
    assert!(dir.join("report.html").is_file() && recorder.path().is_file());
    drop(recorder);
    store.delete(&dir).unwrap();
    assert!(!dir.exists());
}

#[test]
fn damaged_runs_and_runs_elsewhere_can_be_deleted() {
    let (home, store) = store();
    let path = recorded(&with_id("20261121-000000-a-aaaa"), &store);
    std::fs::write(&path, "not an event\n").unwrap();
    store.delete(path.parent().unwrap()).unwrap();
    assert!(store.directories().unwrap().is_empty());

    let path = recorded(&with_id("20261121-000001-b-bbbb"), &store);
    let copy = home.path().join("copy");
    std::fs::rename(path.parent().unwrap(), &copy).unwrap();
    store.delete(&copy).unwrap();
    assert!(!copy.exists());
}
