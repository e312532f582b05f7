//! Short loads on key-value stores, and a server that says what it is told to.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use weigh_drivers::{CommandOperation, Endpoint};
use weigh_load::generator::GeneratorSpec;
use weigh_load::{Driver, LoadError, LoadReport, LoadSpec, Operation, start};

use super::load::{ms, spec};

/// One operation as its driver and as the engine see it.
#[derive(Clone)]
pub struct Call {
    pub command: CommandOperation,
    pub load: Operation,
}

pub fn call(name: &str, command: &str, parameters: Vec<GeneratorSpec>) -> Call {
    let command = CommandOperation {
        name: name.into(),
        command: command.into(),
        parameters: parameters.len(),
        rows: 1,
        expect: None,
    };
    Call { command, load: Operation { name: name.into(), weight: 1, parameters } }
}

impl Call {
    pub fn expecting(mut self, expect: &str) -> Self {
        self.command.expect = Some(expect.into());
        self
    }
}

pub fn commands(calls: &[Call]) -> Vec<CommandOperation> {
    calls.iter().map(|call| call.command.clone()).collect()
}

pub fn uniform(min: i64, max: i64) -> GeneratorSpec {
    GeneratorSpec::Uniform { min, max }
}

pub fn load_spec(clients: usize, pipeline: usize, calls: &[Call]) -> LoadSpec {
    let operations = calls.iter().map(|call| call.load.clone()).collect();
    LoadSpec { operations, measure: ms(200), settle: ms(50), ..spec(clients, pipeline, &[]) }
}

pub fn load(
    driver: impl Driver + 'static,
    clients: usize,
    pipeline: usize,
    calls: &[Call],
) -> Result<LoadReport, LoadError> {
    start(&load_spec(clients, pipeline, calls), Arc::new(driver))?.finish()
}

/// A load on a server whose answers cannot be: what the errors are. Nothing counts as done, and nobody waits long.
pub fn broken(driver: impl Driver + 'static, calls: &[Call]) -> Vec<String> {
    let begun = Instant::now();
    let report = load(driver, 1, 1, calls).unwrap();
    assert!(begun.elapsed() < ms(2500), "{:?}", begun.elapsed());
    assert_eq!(report.operations_total, 0);
    report.errors.into_keys().collect()
}

/// A server that answers whatever it reads with these texts in turn, the last one for ever.
pub fn scripted(answers: &[&[u8]]) -> Endpoint {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let answers: Arc<[Vec<u8>]> = answers.iter().map(|answer| answer.to_vec()).collect();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let answers = Arc::clone(&answers);
            thread::spawn(move || answer(stream.unwrap(), &answers));
        }
    });
    Endpoint::Tcp { host: "127.0.0.1".into(), port }
}

fn answer(mut stream: TcpStream, answers: &[Vec<u8>]) {
    let mut buffer = [0; 4096];
    let mut next = answers.iter();
    let mut current = answers.last().unwrap();
    while stream.read(&mut buffer).is_ok_and(|length| length > 0) {
        current = next.next().unwrap_or(current);
        if stream.write_all(current).is_err() {
            return;
        }
    }
}
