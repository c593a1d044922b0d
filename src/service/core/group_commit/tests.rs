use crate::domain::model::entry::EntryMeta;
use crate::domain::model::entry_type::EntryType;
use crate::domain::model::format::Format;
use crate::domain::model::shape::Shape;
use crate::service::core::group_commit::*;

fn write(tenant: u128, session: u128, entries: usize) -> WaitingWrite {
    let entry = NewEntry {
        head: EntryMeta {
            id: Uuid::nil(),
            seq: 0,
            depth: 0,
            kind: EntryType::Message,
            role: None,
            tokens: 0,
            path_tokens: 0,
            usage: None,
            shape: Shape::default(),
        },
        branch: 0,
        parent_id: None,
        path_result_tokens: 0,
        source_format: Format::Native,
        source_id: None,
        record: None,
        item: String::new(),
        created_at: DateTime::UNIX_EPOCH,
    };
    let write = OneWrite {
        tenant: Tenant(Uuid::from_u128(tenant)),
        session_id: Uuid::from_u128(session),
        version: 0,
        head: HeadRow::empty(),
        entries: vec![entry; entries].into(),
        branches: Vec::new(),
        now: DateTime::UNIX_EPOCH,
    };
    WaitingWrite { write, done: oneshot::channel().0 }
}

fn take(queue: &mut Queue) -> Vec<(u128, u128)> {
    let group = queue.take();
    group.iter().map(|waiting| (waiting.write.tenant.0.as_u128(), waiting.write.session_id.as_u128())).collect()
}

#[test]
fn a_group_is_of_one_tenant_and_keeps_the_order_of_arrival() {
    let writes = [(1, 1), (2, 2), (1, 3), (2, 4), (1, 5)];
    let waiting = writes.into_iter().map(|(tenant, session)| write(tenant, session, 1)).collect();
    let mut queue = Queue { waiting, ..Queue::default() };
    assert_eq!(take(&mut queue), [(1, 1), (1, 3), (1, 5)]);
    assert_eq!(take(&mut queue), [(2, 2), (2, 4)]);
    assert!(take(&mut queue).is_empty());
}

#[test]
fn two_writes_to_one_session_never_share_a_statement() {
    let mut queue =
        Queue { waiting: VecDeque::from([write(1, 1, 1), write(1, 1, 0), write(1, 2, 1)]), ..Queue::default() };
    assert_eq!(take(&mut queue), [(1, 1), (1, 2)]);
    assert_eq!(take(&mut queue), [(1, 1)]);
}

#[test]
fn a_large_append_goes_alone_and_holds_up_no_small_one() {
    let large = GROUP_ENTRIES * 2;
    let waiting = VecDeque::from([write(1, 1, 1), write(1, 2, large), write(1, 3, 1)]);
    let mut queue = Queue { waiting, ..Queue::default() };
    assert_eq!(take(&mut queue), [(1, 1), (1, 3)]);
    assert_eq!(take(&mut queue), [(1, 2)]);
}

#[test]
fn a_group_is_small_in_bytes_too() {
    let mut long = write(1, 2, 1);
    long.write.entries[0].item = "x".repeat(GROUP_BYTES);
    let mut queue = Queue { waiting: VecDeque::from([write(1, 1, 1), long, write(1, 3, 1)]), ..Queue::default() };
    queue.waiting[0].write.entries[0].item = "x".to_owned();
    assert_eq!(take(&mut queue), [(1, 1), (1, 3)]);
    assert_eq!(take(&mut queue), [(1, 2)]);
}
