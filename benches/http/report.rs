//! The table.

/// Rows as they are measured.
#[derive(Debug, Default)]
pub struct Report {
    notes: Vec<String>,
    rows: Vec<[String; 5]>,
}

/// One round: the service's figure and the one it is compared with.
pub type Round = (f64, f64);

impl Report {
    pub fn note(&mut self, note: String) {
        println!("{note}");
        self.notes.push(note);
    }

    /// Adds a comparison. The ratio is taken round by round, so that what slows both sides down cancels out.
    pub fn compare(&mut self, what: &str, unit: &str, rounds: &[Round], target: &str) {
        let ratios = rounds.iter().map(|(ours, other)| ours / other).collect();
        let spread = |values: Vec<f64>, unit: &str| {
            let (middle, low, high) = (median(&values), low(&values), high(&values));
            format!("{} ({}-{}){unit}", short(middle), short(low), short(high))
        };
        self.push([
            what.to_owned(),
            spread(rounds.iter().map(|round| round.0).collect(), unit),
            spread(rounds.iter().map(|round| round.1).collect(), unit),
            spread(ratios, ""),
            target.to_owned(),
        ]);
    }

    /// Adds what both sides cost.
    pub fn costs(&mut self, what: &str, ours: String, other: String) {
        self.push([what.to_owned(), ours, other, String::new(), String::new()]);
    }

    /// Adds a figure that is compared with nothing.
    pub fn figure(&mut self, what: &str, value: String, target: &str) {
        self.push([what.to_owned(), value, String::new(), String::new(), target.to_owned()]);
    }

    fn push(&mut self, row: [String; 5]) {
        println!("{}", row.join(" | "));
        self.rows.push(row);
    }

    /// Prints everything as a Markdown table.
    pub fn print(&self) {
        println!("\n{}\n", self.notes.join("\n"));
        let head = ["measure", "contextd", "compared with", "ratio", "target"].map(str::to_owned);
        let rule = [(); 5].map(|()| "---".to_owned());
        for row in [&head, &rule].into_iter().chain(&self.rows) {
            println!("| {} |", row.join(" | "));
        }
    }
}

/// The value below which `share` (0-1) of the values lie; zero of none.
pub fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    sorted.get((last as f64 * share).round() as usize).copied().unwrap_or(0.0)
}

pub fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

fn low(values: &[f64]) -> f64 {
    quantile(values, 0.0)
}

fn high(values: &[f64]) -> f64 {
    quantile(values, 1.0)
}

fn short(value: f64) -> String {
    match value {
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}
