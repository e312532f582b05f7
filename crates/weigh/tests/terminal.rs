//! What a run shows while it goes on, on a real pseudo-terminal and in a pipe.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::builder::commands;
use crate::home::Home;

/// Two commands that differ, quick enough to be decided within a few seconds.
const RUN: [&str; 6] = ["commands", "sleep 0.01", "sleep 0.03", "--budget", "20s", "--color=always"];

/// A terminal of a size of its own, with somebody who looks at it.
struct Terminal {
    leader: File,
    follower: OwnedFd,
    screen: vt100::Parser,
    /// What was on the screen after every piece of output.
    seen: Vec<String>,
}

impl Terminal {
    fn new(columns: u16, lines: u16) -> Terminal {
        let leader = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&leader).unwrap();
        unlockpt(&leader).unwrap();
        let name = ptsname(&leader, Vec::new()).unwrap();
        let follower = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        let terminal = Terminal {
            leader: File::from(leader),
            follower,
            screen: vt100::Parser::new(lines, columns, 1_000),
            seen: Vec::new(),
        };
        terminal.size(columns, lines);
        terminal
    }

    fn size(&self, columns: u16, lines: u16) {
        let size = Winsize { ws_row: lines, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.leader, size).unwrap();
    }

    fn resize(&mut self, columns: u16, lines: u16) {
        self.size(columns, lines);
        self.screen.screen_mut().set_size(lines, columns);
    }

    /// Gives the command this terminal to write to, and starts it.
    fn start(&self, command: &mut Command) -> Child {
        let end = || Stdio::from(self.follower.try_clone().unwrap());
        command.env("TERM", "xterm-256color").stdout(end()).stderr(end()).spawn().unwrap()
    }

    /// Watches until the program has ended or the screen is as asked.
    fn watch(&mut self, child: &mut Child, until: impl Fn(&str) -> bool) {
        let began = Instant::now();
        loop {
            let ended = child.try_wait().unwrap().is_some();
            while self.has_more() {
                let mut piece = [0; 65_536];
                let length = self.leader.read(&mut piece).unwrap();
                self.screen.process(&piece[..length]);
                let now = self.screen.screen().contents();
                let found = until(&now);
                self.seen.push(now);
                if found {
                    return;
                }
            }
            if ended {
                return;
            }
            assert!(began.elapsed() < Duration::from_secs(60), "{}", self.screen.screen().contents());
        }
    }

    fn has_more(&self) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let mut waiting = [PollFd::new(&self.leader, PollFlags::IN)];
        let wait = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
        poll(&mut waiting, Some(&wait)).unwrap() > 0
    }
}

#[test]
fn the_live_table_is_drawn_and_cleaned_away() {
    let home = Home::new();
    let mut terminal = Terminal::new(80, 50);
    let mut child = terminal.start(&mut home.weigh(&RUN));
    terminal.watch(&mut child, |_| false);
    assert_eq!(child.wait().unwrap().code(), Some(0), "{:?}", terminal.seen.last());
    let drawn = |what: &str| terminal.seen.iter().any(|screen| screen.contains(what));
    for what in ["trial 2 of 3", "not looked at yet", "A/A check", "left"] {
        assert!(drawn(what), "`{what}` was never seen: {:#?}", terminal.seen);
    }
    let tables: Vec<&String> = terminal.seen.iter().filter(|screen| screen.contains("trial ")).collect();
    assert!(tables.len() > 10, "redrawn {} times", tables.len());
    // In place: the table is on the screen once, with nothing of an earlier one left.
    for screen in tables {
        assert!(screen.matches("against sleep").count() <= 1, "{screen}");
        assert_eq!(screen.matches("trial ").count(), 1, "{screen}");
    }
    let last = terminal.screen.screen().contents();
    assert!(!last.contains("trial 2 of 3") && !last.contains("not looked at yet"), "{last}");
    assert_eq!(last.matches("Which command is faster?").count(), 1, "{last}");
    assert!(last.contains("logarithmic") && last.contains("next "), "{last}");
}

#[test]
fn a_window_that_is_resized_gets_lines_that_fit() {
    let home = Home::new();
    let mut terminal = Terminal::new(120, 40);
    let mut child = terminal.start(&mut home.weigh(&RUN));
    terminal.watch(&mut child, |screen| screen.contains("A/A check"));
    terminal.resize(40, 12);
    terminal.seen.clear();
    terminal.watch(&mut child, |_| false);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let tables: Vec<&String> = terminal.seen.iter().filter(|screen| screen.contains("trial ")).collect();
    // One drawing may still have been on its way when the window became smaller.
    for screen in tables.iter().skip(2) {
        let from = screen.rfind("Which command is faster?").unwrap_or(0);
        assert_eq!(screen[from..].matches("round ").count(), 1, "{screen}");
    }
    assert!(tables.len() > 5, "{}", tables.len());
}

#[test]
fn a_pipe_gets_plain_lines_and_quiet_gets_none() {
    let home = Home::new();
    let args = ["commands", "true", "sleep 0.02", "--budget", "20s"];
    let done = home.run(&args);
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(!done.err.contains('\u{1b}') && !done.out.contains('\u{1b}'), "{}{}", done.err, done.out);
    assert!(
        done.err.lines().any(|line| line.starts_with("round 1, ") && line.ends_with(" left")),
        "{}",
        done.err
    );
    assert!(done.err.contains("final after "), "{}", done.err);
    let quiet = home.run(&[&args[..], &["--quiet"]].concat());
    assert_eq!((quiet.code, quiet.err.as_str()), (0, ""));
}

#[test]
fn the_other_forms_of_a_stored_run() {
    let home = Home::new();
    home.keep(&commands());
    let markdown = home.run(&["show", "--markdown"]).ok();
    assert!(
        markdown.starts_with("### Which is faster?\n") && markdown.contains("| `xz -1 <f` |"),
        "{markdown}"
    );
    let trials = home.run(&["show", "last", "--csv"]).ok();
    assert!(trials.starts_with("sequence,round,epoch,position,variant,"), "{trials}");
    assert_eq!(trials.lines().count(), 1 + 3 * 10);
    assert_eq!(home.run(&["show", "--csv", "trials", "last"]).ok(), trials);
    let summary = home.run(&["show", "last", "--csv", "summary"]).ok();
    assert!(summary.contains("xz -1 <f,false,time,s,true,"), "{summary}");
    let both = home.run(&["compare", "last", "last", "--markdown"]).ok();
    assert_eq!(both.matches("### Which is faster?").count(), 2, "{both}");
    for forms in [["--json", "--csv"], ["--markdown", "--json"], ["--csv=summary", "--markdown"]] {
        let error = home.run(&[&["show", "last"][..], &forms].concat()).fails(2);
        assert!(error.contains("cannot be used with"), "{error}");
    }
    let error = home.run(&["show", "--csv", "last"]).fails(2);
    assert!(error.contains("trials") && error.contains("summary"), "{error}");
}
