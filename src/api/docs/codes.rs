//! The codes of the API, each with its meaning: their own doc comments, told in the document and in `docs/CODES.md`.

use serde_json::{Value, json};
use strum::{EnumMessage, VariantArray};
use utoipa::ToSchema;

use crate::api::problem_code::ProblemCode;
use crate::domain::format::note_code::NoteCode;
use crate::domain::lint::ViolationCode;
use crate::service::ingest::append::WarningCode;

/// Every code of one schema, with its meaning.
struct CodeList {
    schema: String,
    codes: Vec<(&'static str, String)>,
}

fn all() -> [CodeList; 4] {
    let refusal = |code: ProblemCode| format!("{}. {}", code.status().as_u16(), meaning(code));
    [list(refusal), list(meaning::<NoteCode>), list(meaning::<WarningCode>), list(meaning::<ViolationCode>)]
}

fn list<C>(meaning: impl Fn(C) -> String) -> CodeList
where
    C: VariantArray + ToSchema + Copy + Into<&'static str>,
{
    CodeList { schema: C::name().into_owned(), codes: codes(meaning) }
}

fn codes<C>(meaning: impl Fn(C) -> String) -> Vec<(&'static str, String)>
where
    C: VariantArray + Copy + Into<&'static str>,
{
    C::VARIANTS.iter().map(|code| ((*code).into(), meaning(*code))).collect()
}

/// The doc comment of a code, on one line.
pub fn meaning<C: EnumMessage>(code: C) -> String {
    code.get_documentation().unwrap_or_default().lines().collect::<Vec<_>>().join(" ")
}

/// Lists every code in the description of its schema.
pub fn describe(document: &mut Value) {
    for CodeList { schema, codes } in all() {
        let about = &mut document["components"]["schemas"][&schema]["description"];
        let list: Vec<String> = codes.iter().map(|(code, meaning)| format!("- `{code}`: {meaning}")).collect();
        let growth = "Later versions may add some: `detail` says in words what an unknown one means.";
        *about = json!(format!("{}\n{growth}\n\n{}", about.as_str().unwrap_or_default(), list.join("\n")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codes_page::assert_listed;
    use crate::domain::compaction::fallback_reason::FallbackReason;

    /// Those of the document, and words that have no schema: others may stand beside them.
    fn told() -> Vec<CodeList> {
        let schema = "FallbackReason".to_owned();
        all().into_iter().chain([CodeList { schema, codes: codes(meaning::<FallbackReason>) }]).collect()
    }

    /// `docs/CODES.md` under the heading that names the schema, its rows in the order of the enum.
    #[test]
    fn the_page_lists_every_code_with_its_meaning() {
        for CodeList { schema, codes } in told() {
            assert_listed(&schema, codes);
        }
    }

    #[test]
    fn every_code_has_a_meaning() {
        for (code, meaning) in told().iter().flat_map(|list| &list.codes) {
            assert!(meaning.ends_with('.') && !meaning.contains('|'), "{code}: {meaning:?}");
        }
    }
}
