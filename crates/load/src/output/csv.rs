use std::io::{self, Write};

use pitot_results::load::Second;

/// Writes the run by the second, with a line of names first.
///
/// # Errors
/// What `out` answers.
pub fn write_csv(out: &mut impl Write, series: &[Second]) -> io::Result<()> {
    writeln!(
        out,
        "t_s,completed,errors,missed,received_bytes,sent_bytes,open,p50_ns,p99_ns,max_ns,p95_ns,\
         status_2xx,status_3xx,status_4xx,status_5xx"
    )?;
    for s in series {
        writeln!(
            out,
            "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
            s.t_s,
            s.completed,
            s.errors,
            s.missed,
            s.received,
            s.sent,
            s.open,
            s.p50_ns,
            s.p99_ns,
            s.max_ns,
            s.p95_ns,
            s.status_2xx,
            s.status_3xx,
            s.status_4xx,
            s.status_5xx
        )?;
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_second_is_a_line_with_as_many_values_as_names() {
        let second = Second {
            t_s: 3,
            completed: 5,
            errors: 1,
            missed: 0,
            received: 10,
            sent: 20,
            open: 2,
            p50_ns: 1,
            p99_ns: 2,
            max_ns: 3,
            p95_ns: 4,
            status_2xx: 5,
            status_3xx: 6,
            status_4xx: 7,
            status_5xx: 8,
        };
        let mut text = Vec::new();
        write_csv(&mut text, &[second]).unwrap();
        let text = String::from_utf8(text).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "3,5,1,0,10,20,2,1,2,3,4,5,6,7,8");
        assert_eq!(lines[0].split(',').count(), lines[1].split(',').count());
    }
}
