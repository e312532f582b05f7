//! Finds documents by `_id` with the official driver: so many tasks on one thread, each waiting for its reply before it
//! asks again, on a pool of as many connections.
//!
//! `mongodb-official PORT DATABASE CLIENTS SECONDS IDS` prints operations, seconds, and the CPU time of this process, all
//! without connecting and a warm-up. A document that is not found ends it.

use std::cell::Cell;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::{Duration, Instant};

use mongodb::bson::{RawDocumentBuf, doc};
use mongodb::options::ClientOptions;
use mongodb::{Client, Collection};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use tokio::task::LocalSet;

const WARM_UP: Duration = Duration::from_millis(500);

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime.map_err(Failure::from).and_then(|runtime| LocalSet::new().block_on(&runtime, run())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [port, database, clients, seconds, ids] = arguments.as_slice() else {
        return Err("usage: mongodb-official PORT DATABASE CLIENTS SECONDS IDS".into());
    };
    let (clients, seconds, ids): (u32, u64, u64) = (clients.parse()?, seconds.parse()?, ids.parse()?);
    let url = format!("mongodb://127.0.0.1:{port}/?directConnection=true&retryReads=false");
    let mut options = ClientOptions::parse(url).await?;
    (options.max_pool_size, options.min_pool_size) = (Some(clients), Some(clients));
    // The raw type: what the driver does least for.
    let collection: Collection<RawDocumentBuf> =
        Client::with_options(options)?.database(database).collection("c");

    let count = Rc::new(Cell::new(0_u64));
    let ends = Instant::now() + WARM_UP + Duration::from_secs(seconds);
    let tasks: Vec<_> = (0..clients)
        .map(|number| {
            tokio::task::spawn_local(find(collection.clone(), number.into(), ids, ends, Rc::clone(&count)))
        })
        .collect();
    tokio::time::sleep(WARM_UP).await;
    let (before, begun, counted) = (getrusage(UsageWho::RUSAGE_SELF)?, Instant::now(), count.get());
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    let (after, took, operations) =
        (getrusage(UsageWho::RUSAGE_SELF)?, begun.elapsed(), count.get() - counted);
    for task in tasks {
        task.await?.map_err(|error| error.to_string())?;
    }
    let user_us = (after.user_time() - before.user_time()).num_microseconds();
    let system_us = (after.system_time() - before.system_time()).num_microseconds();
    println!(
        "operations {operations} seconds {} user_us {user_us} system_us {system_us}",
        took.as_secs_f64()
    );
    Ok(())
}

async fn find(
    collection: Collection<RawDocumentBuf>,
    number: u64,
    ids: u64,
    ends: Instant,
    count: Rc<Cell<u64>>,
) -> Result<(), mongodb::error::Error> {
    // xorshift64: any uniform draw will do.
    let mut state = 0x9E37_79B9_7F4A_7C15_u64 ^ (number + 1);
    while Instant::now() < ends {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let id = i64::try_from(1 + (state >> 11) % ids).unwrap_or(1);
        if collection.find_one(doc! {"_id": id}).await?.is_none() {
            return Err(mongodb::error::Error::custom(format!("no document {id}")));
        }
        count.set(count.get() + 1);
    }
    Ok(())
}
