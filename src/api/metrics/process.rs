//! The process in figures, under the names that all of Prometheus' clients give them. Read from `/proc`; where that is not
//! there, they are absent.

use std::fs;
use std::path::Path;

use super::text::head;
use crate::families::Kind;

/// A tick of `/proc/self/stat` on every architecture that Linux runs on with a modern C library.
const TICKS_PER_SECOND: f64 = 100.0;

/// Appends what can be read.
pub fn write(text: &mut String) {
    let figures = [
        (
            "process_cpu_seconds_total",
            Kind::Counter,
            "User and system time of this process, in seconds.",
            cpu_seconds(),
        ),
        ("process_resident_memory_bytes", Kind::Gauge, "Memory of this process that is resident.", resident_bytes()),
        ("process_open_fds", Kind::Gauge, "Files that this process has open.", open_files()),
        ("process_max_fds", Kind::Gauge, "Files that this process may have open.", most_files()),
        ("process_start_time_seconds", Kind::Gauge, "Unix time at which this process began.", start_seconds()),
    ];
    for (name, kind, help, figure) in figures {
        if let Some(figure) = figure {
            head(text, name, kind, help);
            text.push_str(&format!("{name} {figure}\n\n"));
        }
    }
}

/// The fields of `/proc/self/stat` behind the program's name, which may hold anything. The first is number 3 of its manual.
fn stat() -> Option<Vec<String>> {
    let text = fs::read_to_string("/proc/self/stat").ok()?;
    let (_, fields) = text.rsplit_once(") ")?;
    Some(fields.split_whitespace().map(str::to_owned).collect())
}

fn ticks(fields: &[String], number: usize) -> Option<f64> {
    fields.get(number - 3)?.parse().ok()
}

fn cpu_seconds() -> Option<f64> {
    let fields = stat()?;
    Some((ticks(&fields, 14)? + ticks(&fields, 15)?) / TICKS_PER_SECOND)
}

fn start_seconds() -> Option<f64> {
    let booted: f64 = number_of("/proc/stat", "btime ")?;
    Some(booted + ticks(&stat()?, 22)? / TICKS_PER_SECOND)
}

fn resident_bytes() -> Option<f64> {
    Some(number_of("/proc/self/status", "VmRSS:")? * 1_024.0)
}

fn most_files() -> Option<f64> {
    number_of("/proc/self/limits", "Max open files")
}

fn open_files() -> Option<f64> {
    // Reading the directory has it open.
    let open = fs::read_dir(Path::new("/proc/self/fd")).ok()?.count().saturating_sub(1);
    Some(open as f64)
}

/// The first number behind these words at the beginning of a line.
fn number_of(file: &str, words: &str) -> Option<f64> {
    let text = fs::read_to_string(file).ok()?;
    let rest = text.lines().find_map(|line| line.strip_prefix(words))?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn every_figure_is_read_and_can_be() {
        let mut text = String::new();
        write(&mut text);
        let value = |name: &str| -> f64 {
            let line = text.lines().find(|line| line.starts_with(&format!("{name} "))).unwrap();
            line.rsplit(' ').next().unwrap().parse().unwrap()
        };
        let now = crate::service::core::clock::now().timestamp() as f64;
        let started = value("process_start_time_seconds");
        assert!(started <= now + 1.0 && started > now - 30.0 * 86_400.0, "{started}");
        assert!(value("process_resident_memory_bytes") > 1e6 && value("process_cpu_seconds_total") >= 0.0);
        let (open, most) = (value("process_open_fds"), value("process_max_fds"));
        assert!(open >= 3.0 && open <= most, "{open} of {most}");
        assert_eq!(text.matches("# HELP process_").count(), 5);
        assert_eq!(text.matches("# TYPE process_").count(), 5);
    }
}
