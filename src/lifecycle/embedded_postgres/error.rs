//! Why the embedded server could not be started.

#[derive(Debug, Clone, thiserror::Error)]
pub enum StartError {
    #[error(
        "no PostgreSQL was found, and contextd never downloads one. Any of these helps:\n\
         \x20 - set DATABASE_URL to a PostgreSQL server that you run;\n\
         \x20 - install PostgreSQL 15 or newer (Debian, Ubuntu: apt-get install postgresql);\n\
         \x20 - set CONTEXTD_PG_BIN to a folder that holds `postgres` and `initdb`;\n\
         \x20 - put one into {data_dir}/pg or into `pg` beside the contextd executable (`dev/setup` does that).\n\
         Looked in: {looked}"
    )]
    NoBinaries { data_dir: String, looked: String },
    #[error(
        "the database in {directory} was made by PostgreSQL {cluster}, and only {found} was found: \
         install PostgreSQL {cluster} or name its folder in CONTEXTD_PG_BIN"
    )]
    OtherVersion { directory: String, cluster: u32, found: String },
    #[error("{what}: {cause}")]
    Io { what: String, cause: String },
    #[error("initdb failed: {0}")]
    InitDb(String),
    #[error("PostgreSQL did not become ready within {seconds} s: {cause}")]
    NotReady { seconds: u64, cause: String },
}

impl StartError {
    pub(super) fn io(what: impl Into<String>, cause: impl std::fmt::Display) -> Self {
        Self::Io { what: what.into(), cause: cause.to_string() }
    }
}
