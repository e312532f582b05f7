//! Private PostgreSQL servers that fail: versions that cannot be fetched, programs that are missing, a server that is
//! killed and a disk that is full while they are under load.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::home::{Done, Home};
use crate::lab::{assert_clean, home};

/// A loopback repository with two versions of a server, whose files are not what their sums say.
struct Repository {
    url: String,
}

const METADATA: &str = "<metadata><versioning><versions><version>16.4.0</version>\
                        <version>18.6.0</version></versions></versioning></metadata>";

impl Repository {
    fn open() -> Repository {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/maven2", listener.local_addr().unwrap());
        // Ends with the test's process.
        std::thread::spawn(move || listener.incoming().flatten().for_each(answer));
        Repository { url }
    }
}

fn answer(mut stream: std::net::TcpStream) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    let request = lines.next().unwrap_or_default();
    // The head ends with an empty line.
    lines.by_ref().find(String::is_empty);
    let path = request.split(' ').nth(1).unwrap_or_default();
    let (status, body) = if path.ends_with("maven-metadata.xml") {
        ("200 OK", METADATA)
    } else if path.ends_with(".jar") {
        ("200 OK", "not what was published")
    } else if path.ends_with(".sha256") {
        ("200 OK", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    } else {
        ("404 Not Found", "")
    };
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    stream.write_all(format!("{head}{body}").as_bytes()).ok();
}

fn asked(home: &Home, version: &str, repository: &str) -> Done {
    let file = home.path().join("asked.toml");
    let text = format!(
        "system = {{ name = \"postgres\", version = \"{version}\" }}\n\
         [[workload.operations]]\nname = \"read\"\nsql = \"SELECT 1\"\n[factors]\n\"load.clients\" = [1, 2]\n"
    );
    std::fs::write(&file, text).unwrap();
    let mut command = home.weigh(&["run", "asked.toml", "--budget", "2s", "--quiet"]);
    home.done(command.env("WEIGH_POSTGRES_REPOSITORY", repository).output().unwrap())
}

#[test]
fn a_version_that_cannot_be_had_says_why() {
    let home = home();
    let repository = Repository::open();
    let done = asked(&home, "99", &repository.url);
    assert_eq!(done.code, 3, "{}", done.err);
    assert!(done.err.contains("there is no postgres 99 to fetch; the nearest is 18.6"), "{}", done.err);

    // The host has no such minor version.
    let done = asked(&home, "16.4", &repository.url);
    assert_ne!(done.code, 0, "{}", done.err);
    assert!(done.err.contains("is not what was published: its checksum is"), "{}", done.err);
    let cache = home.path().join(".cache/weigh");
    let kept = std::fs::read_dir(&cache).map_or(0, Iterator::count);
    assert_eq!(kept, 0, "nothing of it is kept");

    // A port that nobody listens on.
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let done = asked(&home, "16.4", &format!("http://{closed}"));
    assert_eq!(done.code, 3, "{}", done.err);
    assert!(done.err.contains("postgres 16.4 is not on this host, and `http://127.0.0.1:"), "{}", done.err);
    assert!(done.err.contains("cannot be fetched") && done.err.contains("--bin-dir"), "{}", done.err);
    assert_clean(&home);
}

#[test]
fn a_missing_binary_is_named() {
    let home = home();
    let done = home.run(&["run", "postgres/durability", "--bin-dir", "/usr/share", "--budget", "2s"]);
    assert_eq!(done.code, 3, "{}", done.err);
    assert!(done.err.contains("`/usr/share` does not hold `postgres` and `initdb`"), "{}", done.err);
    assert_clean(&home);
}

/// Inserts large rows, as fast as they go.
const HOG: &str = "system = \"postgres\"\n[workload]\nsetup = [\"CREATE TABLE t (payload text)\", \
                   \"ALTER TABLE t ALTER COLUMN payload SET STORAGE EXTERNAL\"]\n\
                   [[workload.operations]]\nname = \"insert\"\n\
                   sql = \"INSERT INTO t SELECT repeat(md5(random()::text), 30000) FROM generate_series(1, 8)\"\n\
                   [settings]\nsynchronous_commit = \"off\"\nmax_wal_size = \"8GB\"\ncheckpoint_timeout = \"1h\"\n\
                   [factors]\n\"settings.jit\" = [\"on\", \"off\"]\n";

#[test]
fn a_server_that_is_killed_ends_the_run_with_its_last_words_and_keeps_what_was_measured() {
    let home = home();
    std::fs::write(home.path().join("some.toml"), HOG.replace("30000", "3").replace("8GB", "4GB")).unwrap();
    let args = ["run", "some.toml", "--budget", "60s", "--trial", "300ms", "--settle", "50ms", "--quiet"];
    let child = home.weigh(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let began = Instant::now();
    let trials = || home.store().load("last").map_or(0, |run| run.trials.len());
    while trials() < 3 {
        assert!(began.elapsed() < Duration::from_secs(30), "no trials");
        std::thread::sleep(Duration::from_millis(50));
    }
    let pid = postmaster(home.path()).expect("a server is running");
    assert!(Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap().success());
    let done = home.done(child.wait_with_output().unwrap());
    assert_ne!(done.code, 0);
    assert!(done.err.contains("the private server has ended (signal: 9 (SIGKILL))"), "{}", done.err);
    assert!(done.err.contains("database system is ready to accept connections"), "its log: {}", done.err);
    assert!(trials() >= 3, "what was measured is kept");
    let shown = home.run(&["show", "last"]);
    assert_eq!(shown.code, 0, "{}", shown.err);
    assert!(shown.out.contains("jit"), "{}", shown.out);
    assert_clean(&home);
}

/// The root of the servers below a directory: its parent is not one of them.
fn postmaster(dir: &Path) -> Option<u32> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| {
        std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(dir.join("work")))
    })
    .min()
}

/// A small file system in memory, unmounted when it is dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Takes root, as the tests of control groups do.
    fn mount(at: PathBuf, size: &str) -> SmallDisk {
        std::fs::create_dir_all(&at).unwrap();
        let args = ["-t", "tmpfs", "-o", &format!("size={size},mode=755"), "tmpfs"];
        let mounted = Command::new("mount").args(args).arg(&at).status().unwrap();
        assert!(mounted.success(), "a small file system can be mounted");
        SmallDisk(at)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        Command::new("umount").arg("-l").arg(&self.0).status().ok();
    }
}

#[test]
fn a_full_disk_is_said() {
    let home = home();
    // Room for the templates, a copy and the reserve that is asked for, and a little more.
    let disk = SmallDisk::mount(home.path().join("disk"), "420m");
    std::fs::write(home.path().join("hog.toml"), HOG).unwrap();
    let work_dir = disk.0.display().to_string();
    let args = ["run", "hog.toml", "--budget", "20s", "--trial", "2s", "--quiet", "--work-dir", &work_dir];
    let done = home.run(&args);
    let all = format!("{}{}", done.err, done.out);
    assert!(all.contains("No space left on device"), "{all}");
    if done.code != 0 && done.code != 4 {
        assert!(done.err.contains("disk is full"), "{}", done.err);
        assert!(done.err.contains("--work-dir"), "{}", done.err);
    }
    // Too small for a copy: said before anything is measured.
    drop(disk);
    let disk = SmallDisk::mount(home.path().join("disk"), "200m");
    let done = home.run(&args);
    assert_ne!(done.code, 0);
    assert!(done.err.contains("bytes free") && done.err.contains("--work-dir"), "{}", done.err);
    drop(disk);
}
