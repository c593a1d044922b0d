//! Query parameters and path ids.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use axum::extract::{FromRequestParts, Path, Query as AxumQuery};
use axum::http::request::Parts;
use chrono::{DateTime, Utc};
use serde::de::DeserializeOwned;
use strum::VariantArray;
use utoipa::IntoParams;

use super::body::segment;
use super::check::Faults;
use super::problem::{Problem, Result};
use crate::service::core::page::PageRequest;

const DEFAULT_LIMIT: i64 = 50;
const LIMITS: RangeInclusive<i64> = 1..=200;

/// The parameters of a list.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "describes the parameters; `Params::page` reads them")]
pub struct PageQuery {
    /// How many items at most.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<i64>,
    /// `next_cursor` of the page before.
    after: Option<String>,
}

/// Values that a handler reads from the query string. Unknown names and values out of range are refused with the
/// pointer `/query/{name}`.
pub trait FromQuery: Sized {
    /// `None` only where a fault was added.
    fn read(params: &mut Params) -> Option<Self>;
}

pub struct Query<T>(pub T);

/// The parameters not read yet, and what was wrong with those read.
pub struct Params {
    pairs: Vec<(String, String)>,
    faults: Faults,
}

impl Params {
    /// Takes a parameter as text; the last of several wins.
    pub fn text(&mut self, name: &str) -> Option<String> {
        let mut found = None;
        self.pairs.retain_mut(|(key, value)| {
            let matches = key == name;
            if matches {
                found = Some(std::mem::take(value));
            }
            !matches
        });
        if found.as_ref().is_some_and(|text| text.contains('\0')) {
            self.fault(name, "must not contain the character U+0000");
            return None;
        }
        found
    }

    /// Takes all parameters whose names begin with `prefix`, each with the rest of its name.
    pub fn with_prefix(&mut self, prefix: &str) -> Vec<(String, String)> {
        let mut found = Vec::new();
        self.pairs.retain_mut(|(name, value)| {
            let rest = name.strip_prefix(prefix).map(str::to_owned);
            let is_other = rest.is_none();
            found.extend(rest.map(|rest| (rest, std::mem::take(value))));
            is_other
        });
        found
    }

    /// Takes a parameter that can't be left out.
    pub fn required(&mut self, name: &str) -> Option<String> {
        let is_there = self.pairs.iter().any(|(key, _)| key == name);
        if !is_there {
            self.fault(name, "is needed");
        }
        self.text(name)
    }

    /// Takes a parameter of a type; `expected` names what it must be.
    pub fn value<T: FromStr>(&mut self, name: &str, expected: &str) -> Option<T> {
        self.parsed(name, expected, |text| text.parse().ok())
    }

    /// Takes a time. What RFC 3339 can't say, such as a fifth digit of the year, PostgreSQL may not know either.
    pub fn time(&mut self, name: &str) -> Option<DateTime<Utc>> {
        self.parsed(name, "a time in RFC 3339", |text| Some(DateTime::parse_from_rfc3339(text).ok()?.to_utc()))
    }

    /// Takes one of the words of an enum.
    pub fn word<T: FromStr + VariantArray + Copy + Into<&'static str>>(&mut self, name: &str) -> Option<T> {
        let words: Vec<&str> = T::VARIANTS.iter().map(|word| (*word).into()).collect();
        self.parsed(name, &format!("one of {}", words.join(", ")), |text| text.parse().ok())
    }

    pub fn parsed<T>(&mut self, name: &str, expected: &str, parse: impl FnOnce(&str) -> Option<T>) -> Option<T> {
        let text = self.text(name)?;
        let value = parse(&text);
        if value.is_none() {
            self.fault(name, format!("must be {expected}"));
        }
        value
    }

    pub fn in_range<T: FromStr + PartialOrd + Display + Copy>(
        &mut self,
        name: &str,
        range: RangeInclusive<T>,
    ) -> Option<T> {
        let value = self.value(name, "a whole number");
        self.faults.range(&pointer(name), value, range);
        value
    }

    pub fn fault(&mut self, name: &str, detail: impl Into<String>) {
        self.faults.add(pointer(name), detail);
    }

    pub fn page(&mut self) -> PageRequest {
        PageRequest { limit: self.in_range("limit", LIMITS).unwrap_or(DEFAULT_LIMIT), after: self.text("after") }
    }

    fn finish(mut self) -> Result<()> {
        for (name, _) in std::mem::take(&mut self.pairs) {
            self.fault(&name, "is not a parameter of this call");
        }
        self.faults.finish()
    }
}

fn pointer(name: &str) -> String {
    format!("/query{}", segment(name))
}

impl FromQuery for PageRequest {
    fn read(params: &mut Params) -> Option<Self> {
        Some(params.page())
    }
}

impl<T: FromQuery, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        let mut faults = Faults::default();
        let pairs = AxumQuery::<Vec<(String, String)>>::try_from_uri(&parts.uri).map(|AxumQuery(pairs)| pairs);
        let Ok(pairs) = pairs else {
            faults.add("/query", "is not a valid query string");
            return Err(faults.finish().err().unwrap_or_else(Problem::internal));
        };
        let mut params = Params { pairs, faults };
        let value = T::read(&mut params);
        params.finish()?;
        value.map(Query).ok_or_else(Problem::internal)
    }
}

/// Ids in the path. Anything that is not an id names nothing: 404.
pub struct Ids<T>(pub T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Ids<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        match Path::<T>::from_request_parts(parts, state).await {
            Ok(Path(ids)) => Ok(Ids(ids)),
            Err(_) => Err(Problem::not_found("resource")),
        }
    }
}
