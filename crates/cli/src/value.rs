//! Values on the command line that the units of pitot-meter do not cover.

/// `0,2-3`: CPU numbers.
pub(crate) fn cpus(text: &str) -> Result<Cpus, String> {
    let number = |n: &str| n.trim().parse::<usize>().map_err(|_| format!("`{n}` is not the number of a CPU"));
    let mut cpus = Vec::new();
    for part in text.split(',') {
        match part.split_once('-') {
            None => cpus.push(number(part)?),
            Some((first, last)) => {
                let (first, last) = (number(first)?, number(last)?);
                if first > last || last - first > 4096 {
                    return Err(format!("`{part}` is not a range of CPUs, such as 0-3"));
                }
                cpus.extend(first..=last);
            }
        }
    }
    Ok(Cpus(cpus))
}

/// A list of CPUs. (A plain vector would be taken for an option that may be given several times.)
#[derive(Clone, Debug, Default)]
pub(crate) struct Cpus(pub(crate) Vec<usize>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_lists() {
        assert_eq!(cpus("0,2-4").unwrap().0, [0, 2, 3, 4]);
        for wrong in ["", "a", "3-1", "0-99999999"] {
            assert!(cpus(wrong).is_err(), "{wrong}");
        }
    }
}
