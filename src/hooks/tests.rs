use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpStream};

use super::resolver::public;
use super::*;

#[test]
fn addresses_that_no_hook_may_have() {
    let client = Client::new(false);
    let inside = [
        "http://127.0.0.1/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://[::1]:8080/",
        "http://[::ffff:10.0.0.1]/",
        "http://169.254.169.254/latest/meta-data",
        "https://localhost/",
        "http://a.LOCALHOST./",
    ];
    for url in inside {
        assert_eq!(client.check_url(url), Err("is not in the public internet"), "{url}");
        assert_eq!(Client::new(true).check_url(url), Ok(()), "{url}");
    }
    for url in ["", "hooks", "ftp://example.org/", "file:///etc/passwd", "http://", "http://me:secret@example.org/"] {
        assert!(Client::new(true).check_url(url).is_err(), "{url}");
    }
    for url in ["https://example.org/hook?a=1", "http://8.8.8.8:8080/"] {
        assert_eq!(client.check_url(url), Ok(()), "{url}");
    }
}

#[test]
fn a_name_gives_its_public_addresses_only() {
    let found = |text: &[&str]| text.iter().map(|one| one.parse().unwrap()).collect::<Vec<SocketAddr>>();
    let mixed = found(&["10.0.0.1:0", "8.8.8.8:0", "[::1]:0"]);
    assert_eq!(public(mixed).unwrap().collect::<Vec<_>>(), found(&["8.8.8.8:0"]));
    assert!(public(found(&["127.0.0.1:0", "[fd00::1]:0"])).is_err());
    assert!(public(Vec::new()).is_err());
}

/// Of a name that the client can't judge by its looks, the resolver judges what it leads to.
#[tokio::test]
async fn a_name_that_leads_inside_is_refused_at_the_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    // The only name that leads inside everywhere. The client knows it, so it is asked behind the check of looks.
    let client = Client::new(false);
    let request = client.client(false).unwrap().get(format!("http://localhost:{port}/"));
    let sent = request.timeout(Duration::from_secs(5)).send().await;
    assert_eq!(transport(&sent.unwrap_err()), CallError::Refused);
    let own = TcpStream::connect(("localhost", port)).await.unwrap();
    let (_, first) = listener.accept().await.unwrap();
    assert_eq!(first, own.local_addr().unwrap(), "nothing came before");
}
