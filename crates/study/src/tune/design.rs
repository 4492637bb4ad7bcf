//! Which combinations of settings are measured.
//!
//! A **screening design** examines k settings of two levels in about k combinations (Plackett and Burman, "The design of
//! optimum multifactorial experiments", Biometrika 33, 1946). All four combinations of any two settings occur equally
//! often, so each effect is estimated from all combinations, as precisely as if it were the only one. The price: main
//! effects are confounded with interactions. So the design is **folded over** (Box and Wilson 1951): each combination is
//! followed by its mirror image, with the other level of every setting. Interactions of two settings are the same in both
//! and cancel in their difference; so does the drift of the machine, since the two are measured next to each other.

/// One combination: for each setting, whether it is as wanted (true) or as found (false).
pub type Combination = Vec<bool>;

/// A combination and its mirror image, which are measured next to each other.
pub type Pair = (Combination, Combination);

/// The most settings that are screened.
pub const SETTINGS_MAX: usize = 47;

/// The most settings that are crossed: sixteen combinations.
pub const CROSSED_MAX: usize = 4;

/// A Plackett-Burman design of `runs` combinations of `runs` - 1 settings. `None` where this construction has none.
///
/// Where q = `runs` - 1 is a prime of the form 4n + 3, a row is the one before moved on by one place, and the first has
/// a plus at 0 and at the squares modulo q; a row of minuses is added (Paley 1933). These are the tables that Plackett
/// and Burman print for 8, 12, 20 and 24. Other sizes are doubled from half of it (Sylvester 1867).
fn plackett_burman(runs: usize) -> Option<Vec<Combination>> {
    if runs == 2 {
        return Some(vec![vec![true], vec![false]]);
    }
    let q = runs.checked_sub(1)?;
    if !runs.is_multiple_of(4) {
        return None;
    }
    if is_prime(q) {
        let mut first = vec![false; q];
        (0..q).for_each(|root| first[root * root % q] = true);
        let row = |moved: usize| (0..q).map(|column| first[(column + q - moved) % q]).collect();
        return Some((0..q).map(row).chain([vec![false; q]]).collect());
    }
    let half = plackett_burman(runs / 2)?;
    // Rows of a Hadamard matrix: the design with a column of pluses before it.
    let doubled = |row: &Combination, turned: bool| {
        let old = row.iter().copied();
        let new = std::iter::once(true).chain(row.iter().copied()).map(|level| level != turned);
        old.chain(new).collect()
    };
    let (upper, lower) = (half.iter().map(|r| doubled(r, false)), half.iter().map(|r| doubled(r, true)));
    Some(upper.chain(lower).collect())
}

fn is_prime(number: usize) -> bool {
    number > 1 && (2..number).take_while(|d| d * d <= number).all(|d| !number.is_multiple_of(d))
}

/// The screening design of `settings` settings, folded over: a pair for each of its combinations. `None` for more than
/// [`SETTINGS_MAX`], or none.
pub fn screening(settings: usize) -> Option<Vec<Pair>> {
    if !(1..=SETTINGS_MAX).contains(&settings) {
        return None;
    }
    let design = (settings + 1..).find_map(plackett_burman)?;
    Some(design.iter().map(|row| with_mirror(row[..settings].to_vec())).collect())
}

/// All combinations of `settings` settings, each once: a full factorial design, as pairs of mirror images.
pub fn factorial(settings: usize) -> Vec<Pair> {
    let rows = 0..1usize << settings.saturating_sub(1);
    rows.map(|row| with_mirror((0..settings).map(|at| row >> at & 1 == 1).collect())).collect()
}

/// The combination with all settings as found, and the one with these settings as wanted.
pub fn against_start(winner: Combination) -> Pair {
    (vec![false; winner.len()], winner)
}

fn with_mirror(row: Combination) -> Pair {
    let mirror = row.iter().map(|level| !level).collect();
    (row, mirror)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sign(level: bool) -> i32 {
        if level { 1 } else { -1 }
    }

    fn rows(pairs: &[Pair]) -> Vec<&Combination> {
        pairs.iter().flat_map(|(row, mirror)| [row, mirror]).collect()
    }

    #[test]
    fn the_design_of_twelve_is_the_published_one() {
        // Plackett and Burman 1946, N = 12: ++-+++---+-, moved on by one place for each row, and a row of minuses.
        let published: Combination = "++-+++---+-".chars().map(|c| c == '+').collect();
        let design = plackett_burman(12).unwrap();
        for (moved, row) in design[..11].iter().enumerate() {
            let mut expected = published.clone();
            expected.rotate_right(moved);
            assert_eq!(row, &expected);
        }
        assert_eq!(design[11], [false; 11]);
    }

    #[test]
    fn the_first_rows_are_the_published_ones() {
        for (runs, row) in [(8, "+++-+--"), (20, "++--++++-+-+----++-"), (24, "+++++-+-++--++--+-+----")] {
            let first: String =
                plackett_burman(runs).unwrap()[0].iter().map(|&l| if l { '+' } else { '-' }).collect();
            assert_eq!(first, row, "N = {runs}");
        }
    }

    #[test]
    fn settings_are_balanced_and_any_two_are_orthogonal() {
        for runs in [4, 8, 12, 16, 20, 24, 32, 40, 44, 48] {
            let design = plackett_burman(runs).unwrap();
            assert_eq!(design.len(), runs);
            for a in 0..runs - 1 {
                assert_eq!(design[0].len(), runs - 1);
                assert_eq!(design.iter().map(|row| sign(row[a])).sum::<i32>(), 0, "N = {runs}");
                for b in a + 1..runs - 1 {
                    let product: i32 = design.iter().map(|row| sign(row[a]) * sign(row[b])).sum();
                    assert_eq!(product, 0, "N = {runs}: {a}, {b}");
                }
            }
        }
        assert_eq!((plackett_burman(10), plackett_burman(28)), (None, None));
    }

    #[test]
    fn what_two_settings_do_together_moves_no_effect_of_a_screen() {
        for settings in 1..=SETTINGS_MAX {
            let pairs = screening(settings).unwrap();
            assert!(pairs.len() > settings && pairs.len() <= (2 * settings).max(settings + 8), "{settings}");
            let rows = rows(&pairs);
            for (a, b, c) in [(0, 1, 2), (2, 0, 1), (settings - 1, 0, settings / 2)] {
                if a.max(b).max(c) >= settings || a == b || b == c || a == c {
                    continue;
                }
                let sum: i32 = rows.iter().map(|r| sign(r[a]) * sign(r[b]) * sign(r[c])).sum();
                assert_eq!(sum, 0, "{settings}: {a}, {b} x {c}");
            }
        }
        assert_eq!((screening(0), screening(SETTINGS_MAX + 1)), (None, None));
    }

    #[test]
    fn a_factorial_has_every_combination_once() {
        for settings in 1..=CROSSED_MAX {
            let pairs = factorial(settings);
            let mut rows = rows(&pairs);
            rows.sort_unstable();
            rows.dedup();
            assert_eq!(rows.len(), 1 << settings);
            assert!(pairs.iter().all(|(row, mirror)| row.iter().zip(mirror).all(|(a, b)| a != b)));
        }
    }
}
