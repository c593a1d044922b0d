//! Between the service and its PostgreSQL: a proxy that understands just enough of the protocol to cut a connection
//! around the commit of a write.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use sqlx::postgres::PgConnectOptions;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio_util::sync::CancellationToken;

/// Statements after which a commit is worth a cut.
const WRITES: [&str; 4] = ["INSERT INTO entries", "UPDATE sessions", "INSERT INTO sessions", "INSERT INTO compactions"];

/// Where a connection is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// The server never hears of the commit.
    Before,
    /// The server has committed, and the answer is lost.
    After,
    /// At the same moment as the commit is handed on.
    Amid,
}

/// What is to be cut.
#[derive(Debug, Default)]
struct Orders {
    left: AtomicUsize,
    done: AtomicUsize,
    seen: AtomicUsize,
    /// After a cut nobody is let through.
    goes_down: AtomicBool,
    is_down: AtomicBool,
    only: Mutex<Option<Cut>>,
}

#[derive(Clone)]
pub struct CutProxy {
    port: u16,
    orders: Arc<Orders>,
}

impl CutProxy {
    /// In front of the server that these options lead to.
    pub async fn before(server: &PgConnectOptions) -> CutProxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let socket = server.get_socket().unwrap().join(format!(".s.PGSQL.{}", server.get_port()));
        let orders = Arc::<Orders>::default();
        let proxy = CutProxy { port, orders: Arc::clone(&orders) };
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if !orders.is_down.load(Ordering::SeqCst) {
                    tokio::spawn(connection(client, socket.clone(), Arc::clone(&orders)));
                }
            }
        });
        proxy
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Cuts so many of the writes to come, one in three.
    pub fn cut(&self, writes: usize) {
        self.orders.left.store(writes, Ordering::SeqCst);
    }

    /// Cuts every write to come in this way, until [`CutProxy::rest`].
    pub fn cut_every(&self, how: Cut) {
        *self.orders.only.lock().unwrap() = Some(how);
        self.cut(usize::MAX);
    }

    /// Cuts the next write, and lets nobody through from then on.
    pub fn go_down_after_the_next(&self, how: Cut) {
        self.orders.goes_down.store(true, Ordering::SeqCst);
        self.cut_every(how);
    }

    /// Lets everything through again.
    pub fn rest(&self) {
        self.cut(0);
        self.orders.goes_down.store(false, Ordering::SeqCst);
        self.orders.is_down.store(false, Ordering::SeqCst);
        *self.orders.only.lock().unwrap() = None;
    }

    pub fn cuts(&self) -> usize {
        self.orders.done.load(Ordering::SeqCst)
    }
}

impl Orders {
    /// Whether and how to cut this write.
    fn next(&self) -> Option<Cut> {
        let only = *self.only.lock().unwrap();
        let seen = self.seen.fetch_add(1, Ordering::SeqCst);
        if only.is_none() && !seen.is_multiple_of(3) {
            return None;
        }
        self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).ok()?;
        let nth = self.done.fetch_add(1, Ordering::SeqCst);
        if self.goes_down.load(Ordering::SeqCst) {
            self.is_down.store(true, Ordering::SeqCst);
        }
        Some(only.unwrap_or([Cut::After, Cut::Before, Cut::Amid, Cut::After][nth % 4]))
    }
}

/// What both directions of a connection know.
struct Shared {
    /// The transaction status that the server told last.
    status: AtomicU8,
    /// Answers are swallowed, and the next that ends a statement ends the connection.
    muted: AtomicBool,
    over: CancellationToken,
}

async fn connection(client: TcpStream, socket: PathBuf, orders: Arc<Orders>) {
    let Ok(server) = UnixStream::connect(socket).await else { return };
    let (from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let shared =
        Arc::new(Shared { status: AtomicU8::new(b'I'), muted: AtomicBool::new(false), over: CancellationToken::new() });
    let (over, told) = (shared.over.clone(), Arc::clone(&shared));
    let answers = async move {
        while let Some(message) = read_packet(&mut from_server, 1).await {
            if message[0] == b'Z' {
                told.status.store(message[5], Ordering::SeqCst);
                if told.muted.load(Ordering::SeqCst) {
                    return;
                }
            }
            if !told.muted.load(Ordering::SeqCst) && to_client.write_all(&message).await.is_err() {
                return;
            }
        }
    };
    let requests = async move {
        let _ = forward(from_client, &mut to_server, &shared, &orders).await;
        if shared.muted.load(Ordering::SeqCst) {
            // The server is to be heard to the end.
            shared.over.cancelled().await;
        }
    };
    tokio::select! {
        () = answers => {}
        () = requests => {}
        () = over.cancelled() => {}
    }
}

/// Hands on what the client says, up to the cut.
async fn forward(
    mut client: impl AsyncRead + Unpin,
    server: &mut (impl AsyncWriteExt + Unpin),
    shared: &Shared,
    orders: &Orders,
) -> Option<()> {
    // The start packet alone has no type.
    let start = read_packet(&mut client, 0).await?;
    server.write_all(&start).await.ok()?;
    let (mut writing_statements, mut is_write) = (HashSet::new(), false);
    loop {
        let message = read_packet(&mut client, 1).await?;
        if orders.is_down.load(Ordering::SeqCst) {
            return None;
        }
        let mut words = message[5..].split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
        let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let in_transaction = shared.status.load(Ordering::SeqCst) == b'T';
        let commits = match message[0] {
            b'P' => {
                if WRITES.iter().any(|w| second.contains(w)) {
                    writing_statements.insert(first);
                }
                false
            }
            b'B' => {
                is_write |= writing_statements.contains(&second);
                false
            }
            b'S' => is_write && !in_transaction,
            b'Q' => is_write && first.starts_with("COMMIT"),
            _ => false,
        };
        match if commits { orders.next() } else { None } {
            None => server.write_all(&message).await.ok()?,
            Some(Cut::Before) => return None,
            Some(Cut::Amid) => {
                server.write_all(&message).await.ok()?;
                return None;
            }
            Some(Cut::After) => {
                shared.muted.store(true, Ordering::SeqCst);
                server.write_all(&message).await.ok()?;
                return None;
            }
        }
        if message[0] == b'Q' || (message[0] == b'S' && !in_transaction) {
            is_write = false;
        }
    }
}

/// A packet of the protocol, whole: its type, of so many bytes, its length and what it says.
pub async fn read_packet(from: &mut (impl AsyncRead + Unpin), of_type: usize) -> Option<Vec<u8>> {
    let mut packet = vec![0; of_type + 4];
    from.read_exact(&mut packet).await.ok()?;
    let length = u32::from_be_bytes(packet[of_type..].try_into().ok()?) as usize;
    packet.resize(of_type + length, 0);
    from.read_exact(&mut packet[of_type + 4..]).await.ok()?;
    Some(packet)
}
