use std::fmt;
use std::io::Read as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};

use crate::Nanos;

/// How many samples had which duration: an HdrHistogram with three significant digits, from one nanosecond to an hour.
///
/// Its memory is fixed (about 270 KiB), recording is a handful of instructions and allocates nothing, and two of them
/// add up without loss, so that each thread keeps its own and percentiles are never averaged. The price is that every
/// value read from it is rounded by up to one part in a thousand. Longer durations than an hour count as an hour.
#[derive(Clone)]
pub struct Histogram(pub(crate) hdrhistogram::Histogram<u64>);

/// The longest duration that is distinguished.
const MAX: Nanos = Nanos::from_secs(3600);
const DIGITS: u8 = 3;

/// The first word of a histogram in the V2 encoding that is deflated. Its length follows, then the stream.
const COOKIE_DEFLATED: u32 = 0x1c84_9314;
/// What precedes the counts of one that is not: cookie, length, offset, digits, bounds and ratio.
const HEADER_BYTES: usize = 40;
/// Pitot's histograms have at most 34,000 counts of up to nine bytes; others may be finer.
const INFLATED_BYTES_MAX: u64 = 4 << 20;

impl Histogram {
    /// A histogram without samples.
    pub fn new() -> Histogram {
        let empty = hdrhistogram::Histogram::new_with_bounds(1, MAX.0, DIGITS);
        Histogram(empty.expect("the bounds are constants within the limits of HdrHistogram"))
    }

    /// Counts one sample.
    #[inline]
    pub fn record(&mut self, duration: Nanos) {
        self.0.saturating_record(duration.0);
    }

    /// Adds all samples of `other`.
    pub fn merge(&mut self, other: &Histogram) {
        self.0.add(&other.0).expect("all histograms have the same bounds");
    }

    /// Forgets all samples and keeps the memory.
    pub fn clear(&mut self) {
        self.0.reset();
    }

    /// The number of samples.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The shortest sample; zero without samples.
    pub fn min(&self) -> Nanos {
        Nanos(self.0.min())
    }

    /// The longest sample; zero without samples.
    pub fn max(&self) -> Nanos {
        Nanos(self.0.max())
    }

    /// The mean; zero without samples.
    pub fn mean(&self) -> Nanos {
        if self.0.is_empty() { Nanos::ZERO } else { Nanos(self.0.mean() as u64) }
    }

    /// The standard deviation; zero without samples.
    pub fn stdev(&self) -> Nanos {
        if self.0.is_empty() { Nanos::ZERO } else { Nanos(self.0.stdev() as u64) }
    }

    /// The duration that the fraction `quantile` (0 to 1) of all samples did not exceed; zero without samples.
    pub fn at(&self, quantile: f64) -> Nanos {
        Nanos(self.0.value_at_quantile(quantile))
    }

    /// Samples of at least this duration (to the resolution of the histogram).
    pub fn count_from(&self, duration: Nanos) -> u64 {
        self.0.count_between(duration.0.min(MAX.0), u64::MAX)
    }

    /// Samples from `low` up to, and without, `high` (to the resolution of the histogram).
    pub fn count_within(&self, low: Nanos, high: Nanos) -> u64 {
        self.count_from(low) - self.count_from(high)
    }

    /// The HdrHistogram V2 encoding, deflated, in base64: what every HdrHistogram library and log reads.
    pub fn encode(&self) -> String {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new()
            .serialize(&self.0, &mut bytes)
            .expect("writing to memory does not fail and the bounds are valid");
        STANDARD.encode(bytes)
    }

    /// Reads what [`Histogram::encode`] or another HdrHistogram library has written.
    ///
    /// # Errors
    /// The text is not base64, not a V2 histogram, or has durations beyond an hour.
    pub fn decode(text: &str) -> Result<Histogram, DecodeError> {
        let bytes = inflated(&STANDARD.decode(text).map_err(|_| DecodeError)?).ok_or(DecodeError)?;
        let read: hdrhistogram::Histogram<u64> =
            Deserializer::new().deserialize(&mut bytes.as_slice()).map_err(|_| DecodeError)?;
        let mut histogram = Histogram::new();
        histogram.0.add(&read).map_err(|_| DecodeError)?;
        Ok(histogram)
    }
}

/// A histogram without its compression, if it is as long as it claims: the library would make as much room as that first.
fn inflated(bytes: &[u8]) -> Option<Vec<u8>> {
    let word = |bytes: &[u8], at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let plain = match word(bytes, 0)? {
        COOKIE_DEFLATED => {
            let mut plain = Vec::new();
            ZlibDecoder::new(bytes.get(8..)?).take(INFLATED_BYTES_MAX).read_to_end(&mut plain).ok()?;
            plain
        }
        _ => bytes.to_vec(),
    };
    let is_whole = word(&plain, 4)? as usize == plain.len().checked_sub(HEADER_BYTES)?;
    (word(&plain, 0)? != COOKIE_DEFLATED && is_whole).then_some(plain)
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram::new()
    }
}

impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Histogram({} samples, p50 {}, max {})", self.count(), self.at(0.5), self.max())
    }
}

/// The text is not an encoded histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeError;

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not an HdrHistogram of durations up to an hour (V2, deflated, base64)")
    }
}

impl std::error::Error for DecodeError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(range: std::ops::Range<u64>) -> Histogram {
        let mut h = Histogram::new();
        for micros in range {
            h.record(Nanos::from_micros(micros));
        }
        h
    }

    #[test]
    fn merged_histograms_equal_one_that_saw_everything() {
        let mut merged = filled(1..500);
        merged.merge(&filled(500..1001));
        assert_eq!(merged.0, filled(1..1001).0);
        assert_eq!(merged.count(), 1000);
    }

    #[test]
    fn percentiles_are_within_a_thousandth() {
        let h = filled(1..10_001);
        for (quantile, micros) in [(0.5, 5_000.0), (0.99, 9_900.0), (0.9999, 9_999.0)] {
            let seen = h.at(quantile).0 as f64 / 1e3;
            assert!((seen / micros - 1.0).abs() < 0.0011, "{quantile}: {seen}");
        }
        assert!((h.count_from(h.at(0.99)) as i64 - 100).abs() <= 10);
    }

    #[test]
    fn an_encoded_histogram_comes_back_whole() {
        let h = filled(1..3_000);
        assert_eq!(Histogram::decode(&h.encode()).unwrap().0, h.0);
        assert_eq!(Histogram::decode(&Histogram::new().encode()).unwrap().count(), 0);
        assert_eq!(Histogram::decode("AAAA").unwrap_err(), DecodeError);
        assert_eq!(Histogram::decode("not base64!").unwrap_err(), DecodeError);
    }

    #[test]
    fn a_histogram_is_given_no_more_room_than_it_needs() {
        let text = |plain: &[u8]| {
            let mut bytes = COOKIE_DEFLATED.to_be_bytes().to_vec();
            let mut stream = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
            std::io::Write::write_all(&mut stream, plain).unwrap();
            let stream = stream.finish().unwrap();
            bytes.extend((stream.len() as u32).to_be_bytes());
            bytes.extend(stream);
            STANDARD.encode(bytes)
        };
        let plain = inflated(&STANDARD.decode(filled(1..9).encode()).unwrap()).unwrap();
        assert_eq!(Histogram::decode(&text(&plain)).unwrap().count(), 8);
        // It claims four gigabytes, and has none.
        let mut claims = plain.clone();
        claims[4..8].fill(0xff);
        assert_eq!(Histogram::decode(&text(&claims)).unwrap_err(), DecodeError);
        assert_eq!(Histogram::decode(&STANDARD.encode(&claims)).unwrap_err(), DecodeError);
        // It has 256 MiB of counts in a quarter of a megabyte.
        let mut bomb = plain[..HEADER_BYTES].to_vec();
        bomb[4..8].copy_from_slice(&(256_u32 << 20).to_be_bytes());
        bomb.resize(HEADER_BYTES + (256 << 20), 0);
        let bomb = text(&bomb);
        assert!(bomb.len() < 1 << 20);
        assert_eq!(Histogram::decode(&bomb).unwrap_err(), DecodeError);
        assert!(inflated(&STANDARD.decode(bomb).unwrap()).is_none());
        assert_eq!(
            Histogram::decode(&text(&STANDARD.decode(text(&plain)).unwrap())).unwrap_err(),
            DecodeError
        );
    }

    #[test]
    fn what_is_longer_than_an_hour_counts_as_an_hour() {
        let mut h = Histogram::new();
        h.record(Nanos::from_secs(100_000));
        assert_eq!(h.count(), 1);
        assert!(h.max() >= MAX && h.max().0 < MAX.0 / 1000 * 1002);
    }

    #[test]
    fn an_empty_histogram_has_no_values() {
        let h = Histogram::new();
        assert_eq!(
            (h.min(), h.max(), h.mean(), h.stdev(), h.at(0.99)),
            (Nanos::ZERO, Nanos::ZERO, Nanos::ZERO, Nanos::ZERO, Nanos::ZERO)
        );
    }
}
