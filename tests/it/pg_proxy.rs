//! A TCP port in front of the tests' server, which can fall silent, cut what goes through it, refuse, and lead elsewhere.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, UnixStream};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::cut_proxy::read_packet;
use crate::patience::PATIENCE;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Pass,
    /// Takes connections and bytes, and passes nothing on.
    Silent,
    /// Ends every connection.
    Cut,
}

pub struct Proxy {
    pub port: u16,
    pub database: String,
    pub user: String,
    mode: Arc<watch::Sender<Mode>>,
    /// The database that connections to come are led to, where it is not the one that they name.
    elsewhere: Arc<Mutex<Option<String>>>,
    held_back: Arc<watch::Sender<usize>>,
}

impl Proxy {
    /// In front of a fresh, migrated database.
    pub async fn start() -> Proxy {
        let options = crate::pg::fresh().await;
        let folder = options.get_socket().unwrap().to_owned();
        let socket = folder.join(format!(".s.PGSQL.{}", options.get_port()));
        let (database, user) = (options.get_database().unwrap().to_owned(), options.get_username().to_owned());
        Proxy::to(socket, database, user).await
    }

    /// Another one, in front of the same database.
    pub async fn beside(&self) -> Proxy {
        let options = crate::pg::options().await;
        let socket = options.get_socket().unwrap().join(format!(".s.PGSQL.{}", options.get_port()));
        Proxy::to(socket, self.database.clone(), self.user.clone()).await
    }

    async fn to(socket: PathBuf, database: String, user: String) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let mode = Arc::new(watch::Sender::new(Mode::Pass));
        let (elsewhere, held_back) = (Arc::<Mutex<Option<String>>>::default(), Arc::<watch::Sender<usize>>::default());
        let proxy = Proxy { port, database, user, mode, elsewhere, held_back };
        let (mode, elsewhere, held_back) =
            (Arc::clone(&proxy.mode), Arc::clone(&proxy.elsewhere), Arc::clone(&proxy.held_back));
        let named = proxy.database.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (socket, named, mode, held) = (socket.clone(), named.clone(), mode.subscribe(), held_back.clone());
                let other = elsewhere.lock().unwrap().clone();
                tokio::spawn(async move {
                    let server = UnixStream::connect(socket).await.unwrap();
                    let (mut from_client, to_client) = client.into_split();
                    let (from_server, mut to_server) = server.into_split();
                    if let Some(other) = other
                        && start_elsewhere(&mut from_client, &mut to_server, &named, &other).await.is_none()
                    {
                        return;
                    }
                    tokio::select! {
                        () = carry(from_client, to_server, mode.clone(), &held) => {}
                        () = carry(from_server, to_client, mode, &held) => {}
                    }
                });
            }
        });
        proxy
    }

    pub fn set(&self, mode: Mode) {
        self.mode.send_replace(mode);
    }

    /// Leads connections to come to another database, whose name is as long; `None`: to the one that they name.
    pub fn lead_to(&self, other: Option<&str>) {
        assert!(other.is_none_or(|other| other.len() == self.database.len()));
        *self.elsewhere.lock().unwrap() = other.map(str::to_owned);
    }

    /// Waits until so much has been held back in silence, counted in what came in one piece.
    pub async fn until_held_back(&self, pieces: usize) {
        let mut held_back = self.held_back.subscribe();
        let held = timeout(PATIENCE, held_back.wait_for(|held| *held >= pieces)).await;
        held.unwrap_or_else(|_| panic!("never held back: {pieces} pieces")).unwrap();
    }

    pub fn url(&self) -> String {
        format!("postgres://{}@127.0.0.1:{}/{}?sslmode=disable", self.user, self.port, self.database)
    }
}

/// Carries bytes until an end or a cut; holds them back while there is silence.
async fn carry(
    mut from: impl AsyncReadExt + Unpin,
    mut to: impl AsyncWriteExt + Unpin,
    mut mode: watch::Receiver<Mode>,
    held_back: &watch::Sender<usize>,
) {
    let mut bytes = vec![0; 64 * 1024];
    loop {
        let read = tokio::select! {
            read = from.read(&mut bytes) => read.unwrap_or(0),
            _ = mode.wait_for(|mode| *mode == Mode::Cut) => 0,
        };
        if read > 0 && *mode.borrow() == Mode::Silent {
            held_back.send_modify(|held| *held += 1);
        }
        if read == 0 || *mode.wait_for(|mode| *mode != Mode::Silent).await.unwrap() == Mode::Cut {
            return;
        }
        if to.write_all(&bytes[..read]).await.is_err() {
            return;
        }
    }
}

/// Hands on the packet that a connection starts with, with the other database's name in place of the one in it.
async fn start_elsewhere(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    named: &str,
    other: &str,
) -> Option<()> {
    let mut packet = read_packet(from, 0).await?;
    let (parameter, named) = ("database\0", format!("database\0{named}\0"));
    let at = packet.windows(named.len()).position(|bytes| bytes == named.as_bytes())? + parameter.len();
    packet[at..at + other.len()].copy_from_slice(other.as_bytes());
    to.write_all(&packet).await.ok()
}
