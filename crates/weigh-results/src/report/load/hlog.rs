//! The intervals of a load in HdrHistogram's log format, version 1.3 with V2 histograms.
//!
//! Every tool of that family reads it (HistogramLogProcessor, HistogramLogAnalyzer, hdrhistogram in Python, Go, C).
//! Values are nanoseconds, time stamps seconds since the start of the load; `Interval_Max` is in milliseconds.

use std::time::{Duration, UNIX_EPOCH};

use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::IntervalLogWriterBuilder;

use crate::model::histogram::{HistogramError, decode};
use crate::model::load::LoadRecord;

/// `Interval_Max` is divided by this: nanoseconds to milliseconds, as other tools do.
const MAX_DIVISOR: f64 = 1e6;

/// Why a log could not be made.
#[derive(Debug, thiserror::Error)]
pub enum HlogError {
    /// A stored histogram is not readable.
    #[error(transparent)]
    Histogram(#[from] HistogramError),
    /// The writer refused something.
    #[error("no HDR log can be written: {0}")]
    Write(String),
}

/// The log's bytes. The drain of an open loop is its last interval.
///
/// # Errors
/// When an interval's histogram is not readable.
pub fn render(record: &LoadRecord) -> Result<Vec<u8>, HlogError> {
    let refused = |error: &dyn std::fmt::Debug| HlogError::Write(format!("{error:?}"));
    let mut bytes = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let began = humantime::parse_rfc3339(&record.started_at).unwrap_or(UNIX_EPOCH);
    let mut builder = IntervalLogWriterBuilder::new();
    builder
        .add_comment("[Histogram log format version 1.3]")
        .add_comment(&format!(
            "weigh {}: {}",
            record.weigh_version,
            record.asked.url.replace(['\n', '\r'], " ")
        ))
        .add_comment("response times in nanoseconds")
        .with_start_time(began)
        .with_base_time(began)
        .with_max_value_divisor(MAX_DIVISOR);
    let mut writer = builder.begin_log_with(&mut bytes, &mut serializer).map_err(|error| refused(&error))?;
    for interval in &record.intervals {
        let Some(text) = &interval.response else { continue };
        let histogram: Histogram<u64> = decode(text)?;
        let length = Duration::from_secs_f64((interval.end_s - interval.begin_s).max(0.0));
        let begin = Duration::from_secs_f64(interval.begin_s.max(0.0));
        writer.write_histogram(&histogram, begin, length, None).map_err(|error| refused(&error))?;
    }
    Ok(bytes)
}
