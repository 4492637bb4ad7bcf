//! Least squares with a handful of columns.

/// Columns of a regression, ready for many right-hand sides.
#[derive(Clone)]
pub(crate) struct Design {
    columns: Vec<Vec<f64>>,
    /// The inverse of the columns' products, row by row.
    inverse: Vec<Vec<f64>>,
}

impl Design {
    /// `None` if the columns are not independent.
    pub fn new(columns: Vec<Vec<f64>>) -> Option<Design> {
        let products = columns.iter().map(|a| columns.iter().map(|b| dot(a, b)).collect()).collect();
        let inverse = invert(products)?;
        Some(Design { columns, inverse })
    }

    /// The columns that it was made of.
    pub fn columns(&self) -> &[Vec<f64>] {
        &self.columns
    }

    /// The coefficient of each column.
    pub fn coefficients(&self, y: &[f64]) -> Vec<f64> {
        let products: Vec<f64> = self.columns.iter().map(|column| dot(column, y)).collect();
        self.inverse.iter().map(|row| dot(row, &products)).collect()
    }

    /// What the columns leave of `y`.
    pub fn residuals(&self, y: &[f64]) -> Vec<f64> {
        let mut left = y.to_vec();
        for (column, coefficient) in self.columns.iter().zip(self.coefficients(y)) {
            subtract(&mut left, coefficient, column);
        }
        left
    }

    /// The variance of the coefficient of a column, for residuals of variance 1.
    pub fn variance(&self, column: usize) -> f64 {
        self.inverse[column][column].max(0.0)
    }
}

/// The sum of products.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Takes `times` times `column` from `y`.
pub(crate) fn subtract(y: &mut [f64], times: f64, column: &[f64]) {
    for (y, x) in y.iter_mut().zip(column) {
        *y -= times * x;
    }
}

/// The inverse of a symmetric positive matrix (Gauss and Jordan with the largest pivot); `None` if it has none.
fn invert(mut a: Vec<Vec<f64>>) -> Option<Vec<Vec<f64>>> {
    let n = a.len();
    for (i, row) in a.iter_mut().enumerate() {
        row.extend((0..n).map(|j| f64::from(u8::from(i == j))));
    }
    let scale: f64 = (0..n).map(|i| a[i][i].abs()).fold(0.0, f64::max);
    for column in 0..n {
        let pivot = (column..n).max_by(|&i, &j| a[i][column].abs().total_cmp(&a[j][column].abs()))?;
        a.swap(column, pivot);
        let head = a[column][column];
        if !head.is_finite() || head.abs() <= 1e-12 * scale {
            return None;
        }
        for x in &mut a[column] {
            *x /= head;
        }
        let row = a[column].clone();
        for (i, other) in a.iter_mut().enumerate() {
            if i != column {
                let factor = other[column];
                subtract(other, factor, &row);
            }
        }
    }
    Some(a.into_iter().map(|row| row[n..].to_vec()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coefficients_come_back_and_nothing_is_left() {
        let t: Vec<f64> = (0..10).map(f64::from).collect();
        let squares: Vec<f64> = t.iter().map(|t| t * t).collect();
        let y: Vec<f64> = t.iter().map(|t| 2.0 - 3.0 * t + 0.5 * t * t).collect();
        let design = Design::new(vec![vec![1.0; 10], t, squares]).unwrap();
        for (found, known) in design.coefficients(&y).into_iter().zip([2.0, -3.0, 0.5]) {
            assert!((found - known).abs() < 1e-9);
        }
        assert!(design.residuals(&y).iter().all(|r| r.abs() < 1e-9));
    }

    #[test]
    fn dependent_columns_are_refused() {
        assert!(Design::new(vec![vec![1.0, 2.0], vec![2.0, 4.0]]).is_none());
    }
}
