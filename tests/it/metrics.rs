//! `/metrics`: which families there are and how they are recorded, what a scrape of the real binary shows after real work,
//! what stands behind the figures over all sessions and jobs, and who may read it.

mod census;
mod families;
mod figures;
mod million;
mod scrape;

use std::collections::{BTreeMap, BTreeSet};

/// A scrape, taken apart.
pub struct Scrape {
    pub kinds: BTreeMap<String, String>,
    pub helps: BTreeMap<String, String>,
    pub samples: Vec<Sample>,
}

/// One line that is no comment.
#[derive(Debug)]
pub struct Sample {
    pub name: String,
    pub labels: BTreeMap<String, String>,
    pub value: f64,
}

impl Scrape {
    /// Reads the text format, and panics where it is none.
    pub fn read(text: &str) -> Scrape {
        let (mut kinds, mut helps, mut samples) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        for line in text.lines().filter(|line| !line.is_empty()) {
            let words =
                |rest: &str| rest.split_once(' ').map(|(name, rest)| (name.to_owned(), rest.to_owned())).unwrap();
            if let Some(rest) = line.strip_prefix("# HELP ") {
                let (name, help) = words(rest);
                assert!(helps.insert(name, help).is_none(), "{line}: twice");
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = words(rest);
                assert!(kinds.insert(name, kind).is_none(), "{line}: twice");
            } else {
                samples.push(sample(line));
            }
        }
        Scrape { kinds, helps, samples }
    }

    /// The family that a sample is of: histograms have three names for their samples.
    pub fn family(&self, sample: &Sample) -> String {
        let bare = ["_bucket", "_sum", "_count"].iter().find_map(|end| sample.name.strip_suffix(end));
        match bare {
            Some(bare) if self.kinds.get(bare).is_some_and(|kind| kind == "histogram") => bare.to_owned(),
            _ => sample.name.clone(),
        }
    }

    /// The value of the sample with exactly these labels.
    pub fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let wanted: BTreeMap<String, String> =
            labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let found = self.samples.iter().find(|sample| sample.name == name && sample.labels == wanted);
        found.map(|sample| sample.value)
    }

    /// The names of the labels of a family, those of the format itself aside.
    pub fn labels(&self, family: &str) -> BTreeSet<String> {
        let of = self.samples.iter().filter(|sample| self.family(sample) == family);
        of.flat_map(|sample| sample.labels.keys().filter(|label| *label != "le").cloned()).collect()
    }
}

fn sample(line: &str) -> Sample {
    let (series, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line:?}"));
    let value = if value == "+Inf" { f64::INFINITY } else { value.parse().unwrap_or_else(|_| panic!("{line:?}")) };
    let Some((name, rest)) = series.split_once('{') else {
        return Sample { name: series.to_owned(), labels: BTreeMap::new(), value };
    };
    let rest = rest.strip_suffix('}').unwrap_or_else(|| panic!("{line:?}"));
    let pairs = rest.split("\",").map(|pair| pair.trim_end_matches('"').split_once("=\"").unwrap());
    let labels = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    Sample { name: name.to_owned(), labels, value }
}
