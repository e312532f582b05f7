//! Latency histograms as text: HdrHistogram V2, deflated, base64: the field's exchange format.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2DeflateSerializer};

/// Why a stored histogram cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("histogram is not readable: {0}")]
pub struct HistogramError(String);

/// The histogram (nanoseconds) as text.
pub fn encode(histogram: &Histogram<u64>) -> Result<String, HistogramError> {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(histogram, &mut bytes)
        .map_err(|error| HistogramError(error.to_string()))?;
    Ok(STANDARD.encode(bytes))
}

/// The histogram (nanoseconds) from its text.
pub fn decode(text: &str) -> Result<Histogram<u64>, HistogramError> {
    let bytes = STANDARD.decode(text).map_err(|error| HistogramError(error.to_string()))?;
    Deserializer::new()
        .deserialize(&mut std::io::Cursor::new(bytes))
        .map_err(|error| HistogramError(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let mut histogram = Histogram::<u64>::new_with_bounds(100, 3_600_000_000_000, 3).unwrap();
        for value in [1_500, 20_000, 20_000, 3_000_000_000] {
            histogram.record(value).unwrap();
        }
        let again = decode(&encode(&histogram).unwrap()).unwrap();
        assert_eq!(again.len(), 4);
        assert_eq!(again.value_at_quantile(0.5), histogram.value_at_quantile(0.5));
    }

    #[test]
    fn garbage_is_an_error() {
        assert!(decode("not base64 at all!").is_err());
        assert!(decode("AAAA").is_err());
    }
}
