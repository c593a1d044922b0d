use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;
use uuid::Uuid;

use super::fitted::{fitted, portable};
use super::*;
use crate::model::compaction::{CompactionRecord, FileLists};
use crate::model::framed::is_framed;

const TENANT: Uuid = Uuid::from_u128(7);

fn key(id: u32) -> SealingKey {
    SealingKey { id, secret: [id as u8; 32] }
}

/// A record with some of everything.
fn record(size: usize) -> CompactionRecord {
    CompactionRecord {
        summary: Some(format!("Notes:\n\n<context-summary>\n{}\n</context-summary>", "body ".repeat(size))),
        summary_body: Some("body ".repeat(size)),
        details: FileLists {
            read_files: (0..size).map(|at| format!("src/a_{at}.rs")).collect(),
            modified_files: vec!["src/lib.rs".to_owned()],
        },
        ..CompactionRecord::default()
    }
}

fn sealed(record: &CompactionRecord) -> String {
    seal(record, TENANT, &key(1), [3; 12]).unwrap()
}

#[test]
fn what_is_sealed_opens_again() {
    let record = CompactionRecord { first_kept_entry_id: "x".to_owned(), tokens_before: 9, ..record(5) };
    let handle = sealed(&record);
    assert!(handle.starts_with("ctxd1.1."), "{handle}");
    let opened = open(&handle, TENANT, &[key(2), key(1)]).unwrap();
    assert_eq!(opened, portable(&record));
    assert!(opened.by_handle && opened.first_kept_entry_id.is_empty() && opened.tokens_before == 0);
    assert_eq!(key_of(&handle), Ok(1));
    assert_ne!(handle, seal(&record, TENANT, &key(1), [4; 12]).unwrap());
    assert!(handle.len() < serde_json::to_string(&record).unwrap().len(), "it is deflated");
}

#[test]
fn a_change_anywhere_is_seen() {
    let handle = sealed(&record(5));
    let (head, sealed) = handle.rsplit_once('.').unwrap();
    let bytes = URL_SAFE_NO_PAD.decode(sealed).unwrap();
    // The nonce, what is encrypted, and the tag at the end.
    for at in 0..bytes.len() {
        for bit in [1, 128] {
            let mut changed = bytes.clone();
            changed[at] ^= bit;
            let forged = format!("{head}.{}", URL_SAFE_NO_PAD.encode(changed));
            assert_eq!(open(&forged, TENANT, &[key(1)]), Err(HandleFault::Refused), "byte {at}");
        }
    }
    let keys = [key(1), key(2), SealingKey { id: 2, ..key(1) }];
    for head in ["ctxd1.2", "ctxd1.+1", "ctxd1.01"] {
        let forged = format!("{head}.{sealed}");
        assert_eq!(open(&forged, TENANT, &keys), Err(HandleFault::Refused), "{head}");
    }
    let renumbered = format!("ctxd1.2.{sealed}");
    assert_eq!(open(&renumbered, TENANT, &[SealingKey { id: 2, ..key(1) }]), Err(HandleFault::Refused));
}

#[test]
fn what_is_cut_off_is_no_handle() {
    let handle = sealed(&record(2));
    for end in 0..handle.len() {
        let cut = open(&handle[..end], TENANT, &[key(1)]);
        assert!(matches!(cut, Err(HandleFault::Malformed | HandleFault::Refused)), "{end}: {cut:?}");
    }
    for odd in ["ctxd", "ctxd2.1.AAAA", "ctxd1.1.", "ctxd1..AAAA", "ctxd1.x.AAAA", "ctxd1.1.****", "ctxd1.1.AAAA"] {
        assert_eq!(open(odd, TENANT, &[key(1)]), Err(HandleFault::Malformed), "{odd}");
    }
    let endless = format!("ctxd1.1.{}", "A".repeat(4 * MOST_BYTES));
    assert_eq!(open(&endless, TENANT, &[key(1)]), Err(HandleFault::Malformed));
}

#[test]
fn nobody_else_opens_it() {
    let handle = sealed(&record(2));
    assert_eq!(open(&handle, Uuid::from_u128(8), &[key(1)]), Err(HandleFault::Refused));
    assert_eq!(open(&handle, TENANT, &[SealingKey { id: 1, secret: [9; 32] }]), Err(HandleFault::Refused));
    assert_eq!(open(&handle, TENANT, &[key(2)]), Err(HandleFault::UnknownKey));
    assert_eq!(open(&handle, TENANT, &[]), Err(HandleFault::UnknownKey));
}

#[test]
fn a_record_of_any_size_fits() {
    for size in [10, 1_000, 5_000, 20_000] {
        let whole = record(size);
        let text = fitted(portable(&whole), MOST_BYTES);
        assert!(text.len() <= MOST_BYTES, "{size}: {}", text.len());
        let opened = open(&sealed(&whole), TENANT, &[key(1)]).unwrap();
        assert_eq!(serde_json::to_string(&opened).unwrap().len(), text.len(), "{size}");
        assert!(is_framed(opened.summary.as_deref().unwrap()), "{size}");
    }
}

#[test]
fn the_summary_goes_last() {
    let whole = portable(&record(200));
    let size = serde_json::to_string(&whole).unwrap().len();
    for share in [100, 95, 70, 50, 40, 30, 20, 10, 5, 2] {
        let left: CompactionRecord = serde_json::from_str(&fitted(whole.clone(), size * share / 100)).unwrap();
        let files = left.details.read_files.len() + left.details.modified_files.len();
        // What there is of each, and of how much, in the order in which they go.
        let parts = [
            (files, 201),
            (usize::from(left.summary_body.is_some()), 1),
            (left.summary.as_ref().map_or(0, String::len), whole.summary.as_ref().map_or(0, String::len)),
        ];
        for pair in parts.windows(2) {
            assert!(pair[1].0 == pair[1].1 || pair[0].0 == 0, "{share}: {parts:?}");
        }
        assert_eq!(share == 100, parts.iter().all(|(there, all)| there == all), "{share}: {parts:?}");
        assert!(is_framed(left.summary.as_deref().unwrap()), "{share}");
    }
}

#[test]
fn handles_are_found_among_items() {
    let handle = sealed(&record(1));
    let items = [
        json!({"role": "user", "content": "what is encrypted_content, ctxd1.1.AAAA?"}),
        json!({"type": "compaction", "id": "cmp_1", "encrypted_content": handle}),
        json!({"type": "compaction", "encrypted_content": "gAAAAABctxd"}),
        json!({"type": "compaction_summary", "encrypted_content": "ctxd9.broken"}),
        json!({"type": "reasoning", "encrypted_content": handle}),
        json!({"type": "compaction", "encrypted_content": 7, "x": "ctxd"}),
    ]
    .map(|item| item.to_string());
    let found = found(items.iter().map(String::as_str));
    let places: Vec<usize> = found.iter().map(|one| one.place).collect();
    assert_eq!(places, [1, 3]);
    assert_eq!(found[0].text, handle);
}

#[test]
fn every_fault_has_words_of_its_own() {
    use HandleFault::*;
    let words: BTreeSet<String> =
        [Malformed, UnknownKey, Refused, Unreadable].iter().map(|fault| fault.to_string()).collect();
    assert_eq!(words.len(), 4);
}
