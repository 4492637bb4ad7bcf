//! What is asked whether it drifts, where faults were made: the intervals without one. An interval in which the server was
//! stopped, or was started anew, says nothing of how it ages.

use pitot_soak::record::Fault;

use super::series::Series;

/// An interval that begins so soon after a fault belongs to it, seconds: connections are opened again, and work is made up for.
const AFTER_S: f64 = 2.0;
/// Where less than this share of the intervals would be left, as of those of ten minutes that are old, all are asked.
const SHARE_MIN: f64 = 0.5;

/// The series without the intervals in which a fault of the server was under way.
pub(super) fn untouched(series: &[Series], faults: &[Fault], subject: i64) -> Vec<Series> {
    let own: Vec<(f64, f64)> = faults
        .iter()
        .filter(|fault| fault.subject == subject && fault.was_made)
        .map(|fault| (fault.at_s, fault.until_s.unwrap_or(f64::INFINITY) + AFTER_S))
        .collect();
    series.iter().map(|series| without(series, &own)).collect()
}

fn without(series: &Series, faults: &[(f64, f64)]) -> Series {
    let all = &series.points;
    let is_free = |index: &usize| {
        let (from, to) = series.stretch_s(*index);
        faults.iter().all(|(began, ended)| *ended <= from || *began >= to)
    };
    let free: Vec<(f64, f64)> = (0..all.len()).filter(is_free).map(|index| all[index]).collect();
    let are_enough = free.len() as f64 >= SHARE_MIN * all.len() as f64;
    Series {
        figure: series.figure,
        of: series.of.clone(),
        points: if are_enough { free } else { all.clone() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_with_a_fault_are_left_out_unless_there_are_no_others() {
        let series = Series {
            figure: pitot_soak::figure::find("rate").unwrap(),
            of: String::new(),
            points: (0..10).map(|n| (f64::from(n) * 10.0 + 5.0, f64::from(n))).collect(),
        };
        let left = |faults: &[(f64, f64)]| -> Vec<f64> {
            without(&series, faults).points.iter().map(|point| point.1).collect()
        };
        assert_eq!(left(&[(12.0, 14.0), (38.0, 41.0)]), [0.0, 2.0, 5.0, 6.0, 7.0, 8.0, 9.0]);
        assert_eq!(left(&[(12.0, f64::INFINITY)]).len(), 10);
        assert_eq!(left(&[]).len(), 10);
    }
}
