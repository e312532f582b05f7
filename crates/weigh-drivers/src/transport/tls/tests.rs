//! The engine's side of TLS against a server of `rustls`, byte by byte.

use std::io::{BufRead, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use nix::sys::socket::{MsgFlags, recv};
use proptest::prelude::*;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection};
use weigh_load::generator::{ParameterStream, Parameters};
use weigh_load::{Connection, Decoded, Operation, Outcome, SocketClient};

use super::{TlsClient, TlsConfig, TlsConnector, TlsSession, Verify};
use crate::transport::client::Protocol;
use crate::transport::wire::Socket;

/// One line is one reply. A request is `size` bytes.
struct Lines {
    size: usize,
}

impl Protocol for Lines {
    fn encode(&mut self, _: usize, _: &mut Parameters<'_>, out: &mut Vec<u8>) {
        out.resize(out.len() + self.size, b'q');
    }

    fn decode(&mut self, received: &[u8]) -> Decoded {
        match received.iter().position(|byte| *byte == b'\n') {
            Some(at) => Decoded::finished(at + 1, Outcome::Success),
            None => Decoded::more(0),
        }
    }

    fn farewell(&self) -> &'static [u8] {
        b"bye"
    }
}

/// A server after its handshake.
struct Server {
    connection: ServerConnection,
    stream: UnixStream,
}

impl Server {
    /// What the client gets to see when the server says this in records of at most so many bytes.
    fn say(&mut self, text: &[u8], record: usize) -> Vec<u8> {
        for part in text.chunks(record.max(1)) {
            self.connection.writer().write_all(part).unwrap();
        }
        self.sealed()
    }

    fn sealed(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        while self.connection.wants_write() {
            self.connection.write_tls(&mut bytes).unwrap();
        }
        bytes
    }

    /// What the server understands of what the client sends.
    fn hear(&mut self, mut sealed: &[u8]) -> Vec<u8> {
        let mut heard = Vec::new();
        while !sealed.is_empty() {
            self.connection.read_tls(&mut sealed).unwrap();
            self.connection.process_new_packets().unwrap();
            let mut reader = self.connection.reader();
            while let Ok(chunk) = reader.fill_buf() {
                if chunk.is_empty() {
                    break;
                }
                heard.extend_from_slice(chunk);
                let length = chunk.len();
                reader.consume(length);
            }
        }
        heard
    }
}

fn connected(size: usize) -> (Box<dyn SocketClient>, Server) {
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(["h".to_owned()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let server = thread::spawn(move || {
        let (mut connection, mut stream) = (ServerConnection::new(Arc::new(config)).unwrap(), theirs);
        connection.set_buffer_limit(None);
        connection.complete_io(&mut stream).unwrap();
        Server { connection, stream }
    });
    let tls = TlsConfig { verify: Verify::Nothing, ..TlsConfig::default() };
    let connector = TlsConnector::new(&tls).unwrap();
    let mut socket = Socket::Unix(ours);
    let session =
        TlsSession::handshake(&connector, &mut socket, Duration::from_secs(5), "h", &[b"lines"]).unwrap();
    let Connection::Socket(mut client) = TlsClient::connection(socket, session, Lines { size }) else {
        panic!("a socket")
    };
    let server = server.join().unwrap();
    // Whatever follows a handshake (tickets).
    let mut rest = vec![0; 16 << 10];
    let length = recv(client.socket(), &mut rest, MsgFlags::empty()).unwrap();
    assert_eq!(decode_all(&mut *client, rest[..length].chunks(1)), []);
    (client, server)
}

/// As the engine does it.
fn decode_all<'a>(client: &mut dyn SocketClient, pieces: impl Iterator<Item = &'a [u8]>) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    for piece in pieces {
        let mut used = 0;
        while used < piece.len() || client.has_more() {
            let decoded = client.decode(&piece[used..]);
            used += decoded.consumed;
            let Some(outcome) = decoded.finished else { break };
            outcomes.push(outcome);
        }
        assert_eq!(used, piece.len());
    }
    outcomes
}

fn request(client: &mut dyn SocketClient) -> Vec<u8> {
    let operations = [Operation { name: "a".into(), weight: 1, parameters: vec![] }];
    let mut stream = ParameterStream::new(&operations, 1, 0, 1, 0);
    let mut out = Vec::new();
    client.encode(0, &mut stream.parameters(0), &mut out);
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn replies_are_found_however_records_and_reads_are_cut(
        lines in prop::collection::vec(0_usize..3000, 1..20),
        record in 1_usize..2000,
        read in 1_usize..5000,
    ) {
        let (mut client, mut server) = connected(1);
        let text: Vec<u8> = lines.iter().flat_map(|length| [vec![b'x'; *length], vec![b'\n']].concat()).collect();
        let sealed = server.say(&text, record);
        let outcomes = decode_all(&mut *client, sealed.chunks(read));
        prop_assert_eq!(outcomes, vec![Outcome::Success; lines.len()]);
    }

    #[test]
    fn garbage_is_broken_and_no_panic(bytes in prop::collection::vec(any::<u8>(), 1..300), read in 1_usize..50) {
        let (mut client, mut server) = connected(1);
        let mut sealed = server.say(b"one\n", 4);
        sealed.extend_from_slice(&bytes);
        let outcomes = decode_all(&mut *client, sealed.chunks(read));
        prop_assert_eq!(&outcomes[0], &Outcome::Success);
        prop_assert!(outcomes[1..].iter().all(|outcome| matches!(outcome, Outcome::Broken(_))), "{outcomes:?}");
    }
}

#[test]
fn a_changed_byte_is_noticed() {
    let (mut client, mut server) = connected(1);
    let mut sealed = server.say(b"one\ntwo\n", 4);
    let last = sealed.len() - 1;
    sealed[last] ^= 1;
    let outcomes = decode_all(&mut *client, [&sealed[..]].into_iter());
    let Outcome::Broken(message) = &outcomes[1] else { panic!("{outcomes:?}") };
    assert_eq!((outcomes.len(), &outcomes[0]), (2, &Outcome::Success));
    assert!(message.starts_with("TLS with `h` failed: "), "{message}");
}

#[test]
fn a_close_comes_behind_the_replies_before_it() {
    let (mut client, mut server) = connected(1);
    let mut sealed = server.say(b"one\ntwo\nthr", 100);
    server.connection.send_close_notify();
    sealed.extend(server.sealed());
    let outcomes = decode_all(&mut *client, [&sealed[..]].into_iter());
    assert_eq!(outcomes, [Outcome::Success, Outcome::Success]);
    // The engine finds the end when it reads on.
    assert_eq!(recv(client.socket(), &mut [0; 10], MsgFlags::empty()), Ok(0));
}

#[test]
fn requests_of_any_size_arrive_and_keys_may_change() {
    let (mut client, mut server) = connected(100_000);
    let ahead = request(&mut *client);
    // The server asks for new keys while a request is sealed and not sent.
    server.connection.refresh_traffic_keys().unwrap();
    let sealed = server.say(b"one\n", 100);
    assert_eq!(decode_all(&mut *client, sealed.chunks(7)), [Outcome::Success]);
    assert_eq!(server.hear(&ahead), vec![b'q'; 100_000]);
    let with_answer = request(&mut *client);
    assert_eq!(server.hear(&with_answer), vec![b'q'; 100_000]);
    let sealed = server.say(b"two\n", 100);
    assert_eq!(decode_all(&mut *client, [&sealed[..]].into_iter()), [Outcome::Success]);
}

#[test]
fn leave_is_taken_where_nothing_is_out_of_order() {
    let (client, mut server) = connected(1);
    drop(client);
    let mut sent = Vec::new();
    server.stream.set_nonblocking(false).unwrap();
    server.stream.read_to_end(&mut sent).unwrap();
    assert_eq!(server.hear(&sent), b"bye");
    let (mut client, mut server) = connected(1);
    request(&mut *client);
    drop(client);
    server.stream.set_nonblocking(false).unwrap();
    let mut sent = Vec::new();
    server.stream.read_to_end(&mut sent).unwrap();
    assert!(sent.is_empty(), "a request before it may not have been sent");
}

#[test]
fn what_does_not_speak_tls_is_one_line() {
    for (answer, expected) in [
        (&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], "what answers at `h` does not speak TLS on this port"),
        (b"", "`h` closed the connection during the TLS handshake: does it speak TLS on this port?"),
    ] {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let server = thread::spawn(move || {
            let mut hello = [0; 1024];
            assert!(theirs.read(&mut hello).unwrap() > 0);
            theirs.write_all(answer).unwrap();
        });
        let connector = TlsConnector::new(&TlsConfig { verify: Verify::Nothing, ..TlsConfig::default() });
        let limit = Duration::from_secs(5);
        let error = TlsSession::handshake(&connector.unwrap(), &mut Socket::Unix(ours), limit, "h", &[]);
        assert_eq!(error.unwrap_err().to_string(), expected);
        server.join().unwrap();
    }
    let (ours, _silent) = UnixStream::pair().unwrap();
    let limit = Duration::from_millis(50);
    ours.set_read_timeout(Some(limit)).unwrap();
    let connector = TlsConnector::new(&TlsConfig { verify: Verify::Nothing, ..TlsConfig::default() });
    let error =
        TlsSession::handshake(&connector.unwrap(), &mut Socket::Unix(ours), limit, "h", &[]).unwrap_err();
    assert!(error.to_string().starts_with("`h` did not finish the TLS handshake within 50ms"), "{error}");
}
