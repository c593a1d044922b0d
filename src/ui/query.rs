//! What a page is asked for: its address, its parameters, its form. What can't be is answered with a page.

use axum::Form;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use std::str::FromStr;

use super::fault::{Fault, Result};
use crate::service::core::page::PageRequest;

/// Rows of a list.
pub const ROWS: i64 = 50;

/// Parameters, as optional texts in a struct of the page.
pub struct Asked<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Asked<T> {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        let read = Query::<T>::try_from_uri(&parts.uri);
        read.map(|Query(asked)| Asked(asked)).map_err(|_| Fault::invalid("The address can't be read."))
    }
}

/// Ids in the path. What is no id names nothing.
pub struct Ids<T>(pub T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Ids<T> {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        let ids = Path::<T>::from_request_parts(parts, state).await;
        ids.map(|Path(ids)| Ids(ids)).map_err(|_| Fault::not_found("page"))
    }
}

/// The fields of a form; the gate has checked where it comes from.
pub struct Sent<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Sent<T> {
    type Rejection = Fault;

    async fn from_request(request: Request, state: &S) -> Result<Self> {
        let form = Form::<T>::from_request(request, state).await;
        form.map(|Form(fields)| Sent(fields)).map_err(|_| Fault::invalid("The form can't be read."))
    }
}

/// A parameter's text; a field left empty is none.
pub fn given(text: Option<&str>) -> Result<Option<&str>> {
    match text.map(str::trim) {
        None | Some("") => Ok(None),
        Some(text) if text.contains('\0') => Err(Fault::invalid("The address holds a character that can't be.")),
        text => Ok(text),
    }
}

/// A parameter that is a word of an enum, an id or a number.
pub fn parsed<T: FromStr>(name: &str, text: Option<&str>) -> Result<Option<T>> {
    let wrong = |_| Fault::invalid(format!("The address holds no {name} that is known."));
    given(text)?.map(|text| text.parse().map_err(wrong)).transpose()
}

/// A page of a list, from its cursor on.
pub fn list_page(after: Option<&str>) -> PageRequest {
    PageRequest { limit: ROWS, after: after.map(str::to_owned) }
}
