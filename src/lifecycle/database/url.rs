//! `DATABASE_URL`: one server or several, in libpq's notation. sqlx reads URLs of one host, so each gets its own.

use anyhow::{Context, bail};
use sqlx::postgres::PgConnectOptions;

/// Parameters that are answered here; all others are sqlx's.
const WHICH: &str = "target_session_attrs";
const HOSTS: &str = "host";
const PORTS: &str = "port";

/// Condition that a server must meet to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetSessionAttrs {
    /// One that can be written to goes before one that can't.
    Any,
    /// Only one that can be written to.
    Writable,
}

/// A server as it is connected to, and as it is told of.
#[derive(Debug, Clone)]
pub struct Host {
    pub options: PgConnectOptions,
    pub name: String,
}

/// The servers of a URL, in its order; never empty.
///
/// # Errors
/// Whatever is wrong with the URL, without the URL: it may hold a password.
pub fn parse(url: &str) -> anyhow::Result<(Vec<Host>, TargetSessionAttrs)> {
    let form = "it must look like postgres://user:password@host:5432/database";
    let (scheme, rest) = url.split_once("://").with_context(|| format!("it is no URL; {form}"))?;
    if !["postgres", "postgresql"].contains(&scheme) {
        bail!("its scheme is `{scheme}`; {form}");
    }
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, tail) = rest.split_at(end);
    let (path, query) = tail.split_once('?').unwrap_or((tail, ""));
    let (user, hosts) = authority.rsplit_once('@').map_or(("", authority), |(user, hosts)| (user, hosts));
    let user = if user.is_empty() { String::new() } else { format!("{user}@") };
    let (own, others): (Vec<_>, Vec<_>) =
        query.split('&').filter(|pair| !pair.is_empty()).partition(|pair| [WHICH, HOSTS, PORTS].contains(&name(pair)));
    let others = others.join("&");
    let mut found = Vec::new();
    for (host, port) in places(hosts, &own)? {
        let colon = if port.is_empty() { "" } else { ":" };
        let one = format!("{scheme}://{user}{host}{colon}{port}{path}?{others}");
        // sqlx names what it can't read, and never all of it.
        let options: PgConnectOptions = one.parse().with_context(|| format!("host `{host}{colon}{port}`"))?;
        let name =
            options.get_socket().map_or_else(|| options.get_host().to_owned(), |path| path.display().to_string());
        let name = format!("{name}, port {}", options.get_port());
        found.push(Host { options, name });
    }
    Ok((found, wanted(value(&own, WHICH).as_deref())?))
}

/// Host and port of each server, still percent-encoded.
fn places(hosts: &str, own: &[&str]) -> anyhow::Result<Vec<(String, String)>> {
    let mut places: Vec<(String, String)> = Vec::new();
    for host in hosts.split(',') {
        // The colons within the brackets of an IPv6 address part no port.
        let port_from = host.rfind(':').filter(|at| !host.get(*at..).is_some_and(|rest| rest.contains(']')));
        let (host, port) = port_from.map_or((host, ""), |at| (&host[..at], &host[at + 1..]));
        places.push((host.to_owned(), port.to_owned()));
    }
    if let Some(named) = value(own, HOSTS) {
        places = named.split(',').map(|host| (encoded_host(host), String::new())).collect();
    }
    if let Some(ports) = value(own, PORTS) {
        let ports: Vec<&str> = ports.split(',').collect();
        if ports.len() != 1 && ports.len() != places.len() {
            bail!("it names {} hosts and {} ports", places.len(), ports.len());
        }
        for (place, port) in places.iter_mut().zip(ports.iter().cycle()) {
            place.1 = (*port).to_owned();
        }
    }
    if places.len() > 1 && places.iter().any(|(host, _)| host.is_empty()) {
        bail!("one of its hosts has no name");
    }
    Ok(places)
}

/// A host of the query as it stands in a URL's authority: a folder of sockets and an IPv6 address are told apart there.
fn encoded_host(host: &str) -> String {
    if host.contains(':') && !host.starts_with(['/', '[']) { format!("[{host}]") } else { host.replace('/', "%2F") }
}

fn wanted(attributes: Option<&str>) -> anyhow::Result<TargetSessionAttrs> {
    match attributes {
        None | Some("any") => Ok(TargetSessionAttrs::Any),
        Some("read-write" | "primary") => Ok(TargetSessionAttrs::Writable),
        Some(other) => bail!("{WHICH} is `{other}`; contextd writes, so it takes read-write, primary or any"),
    }
}

fn name<'a>(pair: &&'a str) -> &'a str {
    pair.split('=').next().unwrap_or_default()
}

fn value(pairs: &[&str], of: &str) -> Option<String> {
    let pair = pairs.iter().rev().find(|pair| name(pair) == of)?;
    let value = pair.split_once('=').map_or("", |(_, value)| value);
    Some(decoded(value))
}

/// Without `%XX`; what is none stays.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|two| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok());
        match code.filter(|_| *first == b'%') {
            Some(code) => {
                bytes.push(code);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(url: &str) -> Vec<String> {
        parse(url).unwrap().0.into_iter().map(|host| host.name).collect()
    }

    #[test]
    fn several_hosts_are_read_as_libpq_reads_them() {
        let url = "postgresql://u:p%40ss@one:5433,two,[::1]:5434/db?target_session_attrs=read-write&application_name=x";
        let (hosts, wanted) = parse(url).unwrap();
        assert_eq!(wanted, TargetSessionAttrs::Writable);
        assert_eq!(names(url), ["one, port 5433", "two, port 5432", "[::1], port 5434"]);
        for host in hosts {
            assert_eq!((host.options.get_username(), host.options.get_database()), ("u", Some("db")));
            assert_eq!(host.options.get_application_name(), Some("x"));
        }
        assert_eq!(names("postgres://u@/db?host=a,b&port=1,2"), ["a, port 1", "b, port 2"]);
        assert_eq!(names("postgres://u@/db?host=a,b&port=7"), ["a, port 7", "b, port 7"]);
        assert_eq!(names("postgres://u@%2Ftmp%2Fs,%2Ftmp%2Ft:5/db"), ["/tmp/s, port 5432", "/tmp/t, port 5"]);
        assert_eq!(names("postgres://u@/db?host=%2Ftmp%2Fs"), ["/tmp/s, port 5432"]);
        assert_eq!(names("postgres://u@one"), ["one, port 5432"]);
    }

    #[test]
    fn what_is_wrong_is_named_and_the_password_is_not() {
        for (url, word) in [
            ("host=one user=u password=secret", "no URL"),
            ("mysql://u:secret@one/db", "mysql"),
            ("postgres://u:secret@one:port/db", "one:port"),
            ("postgres://u:secret@one,two/db?port=1,2,3", "3 ports"),
            ("postgres://u:secret@one,,two/db", "no name"),
            ("postgres://u:secret@one/db?target_session_attrs=standby", "standby"),
        ] {
            let told = format!("{:#}", parse(url).unwrap_err());
            assert!(told.contains(word) && !told.contains("secret"), "{told}");
        }
    }
}
